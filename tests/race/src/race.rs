//! One run: servers, clients, hands that stop servers, the end, and the check.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::join_all;
use omnigraph_client::{Client, ClientError, CreateGraph};
use omnigraph_types::{BranchName, Effect};
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::caller::Caller;
use crate::chaos::{Chaos, Deeds};
use crate::check::{Findings, Rule, Violation, check};
use crate::error::RaceError;
use crate::fleet::{Fleet, blocking};
use crate::heavy::{self, HeavyReport, Target};
use crate::history::{Answered, Asked, Event, History, Moment, SCHEMA, graph};
use crate::measure;
use crate::record::Recorder;
use crate::settle::{self, Settled};
use crate::store::{RaceStore, Tickets};
use crate::tickets::TicketWatch;
use crate::workload::{Delivery, Mix, Workload};

/// How often a request about a branch, or a load that is sent on, is sent in all while its outcome is not known.
const SENDS_MAX: usize = 5;
/// Pause of a client after an interrupted call.
const BROKEN_PAUSE: Duration = Duration::from_millis(50);
/// Events of a concerned operation that are printed.
const EVENTS_PRINTED_MAX: usize = 40;

/// The settings of a run.
#[derive(Debug, Clone)]
pub struct RaceOptions {
    /// How long clients call.
    pub time: Duration,
    /// Servers; two at least, so that one can be stopped.
    pub servers: usize,
    /// Clients.
    pub clients: usize,
    /// What all draws begin with.
    pub seed: u64,
    /// Where the graph is.
    pub store: RaceStore,
    /// A folder for logs and, if something is found, the history.
    pub work: PathBuf,
    /// Write the history down even if nothing is found.
    pub keep: bool,
}

/// What a run showed.
#[derive(Debug)]
pub struct RaceReport {
    /// The violations.
    pub findings: Findings,
    /// How calls ended.
    pub table: measure::Table,
    /// Calls made.
    pub operations: usize,
    /// Loads, creations and deletions that were acknowledged, each once.
    pub acknowledged: usize,
    /// Operations with a call whose answer was not known.
    pub unknown: usize,
    /// The longest time in which a branch could not be written.
    pub block: measure::Block,
    /// The faults of the servers.
    pub deeds: Deeds,
    /// What the end showed.
    pub settled: Settled,
    /// What queries that never end by themselves cost.
    pub heavy: HeavyReport,
}

/// Runs a race.
///
/// # Panics
///
/// If a server process cannot be started, paused or killed.
pub async fn run(options: &RaceOptions) -> Result<RaceReport, RaceError> {
    if options.servers < 2 || options.clients == 0 {
        return Err(RaceError::TooFew);
    }
    let logs = options.work.join("logs");
    std::fs::create_dir_all(&logs).map_err(|source| RaceError::File {
        action: "make folder",
        path: logs.clone(),
        source,
    })?;
    let recorder = Arc::new(Recorder::new());
    let fleet = {
        let (store, logs, servers) = (options.store.clone(), logs.clone(), options.servers);
        let mut random = StdRng::seed_from_u64(options.seed);
        blocking(move || Fleet::start(store, logs, servers, &mut random)).await
    };
    let fleet = Arc::new(fleet);
    let watch = prepare(&fleet, &recorder, &options.store).await?;
    heavy::prepare(&fleet.address(0).url).await?;
    let over = Arc::new(AtomicBool::new(false));
    let heavy = tokio::spawn(heavy::run(Target::Several(Arc::clone(&fleet)), Arc::clone(&over)));
    let deeds = compete(options, &fleet, &recorder, watch, over).await;
    let heavy = heavy.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))?;
    let fleet = Arc::try_unwrap(fleet).unwrap_or_else(|_| unreachable!("all users of the servers have ended"));
    let complaints = blocking(move || fleet.stop()).await;
    let settled = settle::settle(&options.store, &recorder, options.clients).await?;
    let history = recorder.with(std::mem::take);
    let mut findings = check(&history);
    findings.violations.extend(settled.violations.iter().cloned());
    findings.violations.extend(complaints.into_iter().map(|text| Violation::new(Rule::Defect, text, [])));
    let report = RaceReport {
        table: measure::table(&history),
        operations: history.events.len(),
        acknowledged: distinct(&history, |event| !matches!(event.answered, Answered::Refused { .. })),
        unknown: distinct(&history, is_unknown),
        block: measure::longest_block(&history),
        findings,
        deeds,
        settled,
        heavy,
    };
    if !report.findings.violations.is_empty() || options.keep {
        write_down(&options.work, &history, &report)?;
    }
    Ok(report)
}

fn is_unknown(event: &Event) -> bool {
    matches!(event.answered, Answered::Refused { effect: Effect::Unknown | Effect::Committed, .. })
}

fn distinct(history: &History, which: impl Fn(&Event) -> bool) -> usize {
    let operations = history.events.iter().filter(|event| which(event)).filter_map(|event| event.asked.operation());
    operations.collect::<BTreeSet<_>>().len()
}

/// Makes the graph, and finds where its tickets are seen.
async fn prepare(fleet: &Fleet, recorder: &Recorder, store: &RaceStore) -> Result<Option<TicketWatch>, RaceError> {
    let connect = RaceError::client("connect to the first server");
    let client = Client::connect(&fleet.address(0).url).await.map_err(connect)?;
    let made = client.create_graph(CreateGraph::new(graph(), SCHEMA)).await;
    let undescribed = ClientError::Answer { what: "a created graph without its description" };
    let made = made.and_then(|made| Ok((made.graph.ok_or(undescribed)?, made.receipt)));
    let (info, receipt) = made.map_err(RaceError::client("make the graph"))?;
    if let Some(commit) = &receipt.commit {
        recorder.note_commit(&crate::caller::commit_fact(commit));
    }
    let main = client.get_branch(&graph(), &BranchName::Main).await.map_err(RaceError::client("get main"))?;
    Ok(match &store.tickets {
        Tickets::Folder(folder) => Some(TicketWatch::new(folder, info.id, main.id)),
        Tickets::FailPoints => None,
    })
}

/// Lets clients call and hands stop servers until the time is over, and sets `over` then.
async fn compete(
    options: &RaceOptions,
    fleet: &Arc<Fleet>,
    recorder: &Arc<Recorder>,
    watch: Option<TicketWatch>,
    over: Arc<AtomicBool>,
) -> Deeds {
    let deeds = Arc::new(Deeds::default());
    let watch = Arc::new(Mutex::new(watch));
    // One hand for each server that may be away at the same time, and no more than two: most of the time most servers serve.
    let hands: Vec<_> = (1..options.servers.min(3))
        .map(|hand| {
            let (fleet, recorder, deeds) = (Arc::clone(fleet), Arc::clone(recorder), Arc::clone(&deeds));
            let (watch, over, seed) = (Arc::clone(&watch), Arc::clone(&over), options.seed.wrapping_add(hand as u64));
            tokio::spawn(blocking(move || {
                let (fleet, recorder, deeds) = (&fleet, &recorder, &deeds);
                Chaos { fleet, recorder, deeds, watch: &watch, over: &over }.run(seed);
            }))
        })
        .collect();
    let end = Instant::now() + options.time;
    let clients = (0..options.clients).map(|number| {
        let client = Player {
            caller: Caller::new(number, Arc::clone(recorder)),
            workload: Workload::new(options.seed, number, Mix::Race),
            fleet: Arc::clone(fleet),
            recorder: Arc::clone(recorder),
        };
        tokio::spawn(client.play(end))
    });
    for ended in join_all(clients).await {
        ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    }
    over.store(true, Ordering::Relaxed);
    for ended in join_all(hands).await {
        ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    }
    Arc::try_unwrap(deeds).unwrap_or_else(|_| unreachable!("all hands have ended"))
}

/// A client at work.
struct Player {
    caller: Caller,
    workload: Workload,
    fleet: Arc<Fleet>,
    recorder: Arc<Recorder>,
}

impl Player {
    async fn play(mut self, end: Instant) {
        while Instant::now() < end && !self.recorder.is_full() {
            let (asked, delivery) = self.workload.draw();
            let event = match delivery {
                Delivery::Once => self.send(asked.clone()).await,
                Delivery::Twice => self.send_twice(asked.clone()).await,
                Delivery::Again => {
                    self.send(asked.clone()).await;
                    self.send(asked.clone()).await
                }
            };
            self.insist(event).await;
        }
    }

    /// Any server, but seldom one that is away: else all clients would soon wait for paused ones, and none would race.
    fn choose(&mut self) -> usize {
        let server = self.workload.below(self.fleet.size());
        if self.fleet.is_claimed(server) && self.workload.chance(90) {
            return self.workload.below(self.fleet.size());
        }
        server
    }

    async fn send(&mut self, asked: Asked) -> Event {
        let server = self.choose();
        let (event, fact) = self.caller.call(&self.fleet.address(server), asked).await;
        self.workload.learn(&event, fact.as_ref());
        event
    }

    /// Sends one operation to two servers at the same time.
    async fn send_twice(&mut self, asked: Asked) -> Event {
        let first = self.choose();
        let second = (first + 1) % self.fleet.size();
        let mut other = self.caller.second();
        let (first, second) = (self.fleet.address(first), self.fleet.address(second));
        let ((event, fact), (late, _)) =
            tokio::join!(self.caller.call(&first, asked.clone()), other.call(&second, asked));
        self.workload.learn(&event, fact.as_ref());
        if is_unknown(&event) { event } else { late }
    }

    /// Sends an operation again while its outcome is not known: always for branches, mostly for loads.
    async fn insist(&mut self, mut event: Event) {
        for _ in 1..SENDS_MAX {
            if !matches!(event.answered, Answered::Refused { .. }) || !is_unknown(&event) {
                return;
            }
            tokio::time::sleep(BROKEN_PAUSE).await;
            if matches!(event.asked, Asked::Load(_)) && !self.workload.chance(75) {
                return;
            }
            event = self.send(event.asked.clone()).await;
        }
    }
}

/// Writes the whole history into a file, and prints the events of the operations that violations concern.
fn write_down(work: &Path, history: &History, report: &RaceReport) -> Result<(), RaceError> {
    let path = work.join("history.txt");
    let mut events: Vec<&Event> = history.events.iter().collect();
    events.sort_by_key(|event| event.call);
    let mut lines: Vec<(Moment, String)> = events.iter().map(|event| (event.call, event.to_string())).collect();
    let deeds = report.deeds.log.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    lines.extend(deeds.iter().map(|(moment, text)| (*moment, format!("{moment:>11} {text}"))));
    lines.sort();
    let mut text: String = lines.into_iter().map(|(_, line)| line + "\n").collect();
    text.extend(history.commits.values().map(|fact| format!("{fact:?}\n")));
    text.extend(history.resolutions.iter().map(|(id, resolution)| format!("{id}: {resolution:?}\n")));
    std::fs::write(&path, text).map_err(|source| RaceError::File { action: "write", path: path.clone(), source })?;
    eprintln!("the whole history is {}", path.display());
    let concerned: BTreeSet<_> =
        report.findings.violations.iter().flat_map(|violation| &violation.operations).collect();
    let of_concern = |event: &&&Event| event.asked.operation().is_some_and(|id| concerned.contains(&id));
    for event in events.iter().filter(of_concern).take(EVENTS_PRINTED_MAX) {
        eprintln!("{event}");
    }
    Ok(())
}
