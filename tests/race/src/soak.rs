//! One server under a steady mix of requests: its memory, files and threads must not grow, and the growth of the store is reported per commit.
//!
//! Tables are never compacted, so a table that only grew by small appends would lengthen its own manifests with every commit. Clients
//! therefore replace a table once it is larger than a bound, as the workload does in the race, and the store's growth per commit is flat.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::join_all;
use omnigraph_client::{Client, CreateGraph};
use omnigraph_e2e::server::Server;
use omnigraph_types::BranchName;

use crate::caller::Caller;
use crate::error::RaceError;
use crate::fleet::{Address, blocking};
use crate::heavy::{self, HeavyReport, Target};
use crate::history::{Answered, Asked, Event, Reason, SCHEMA, graph};
use crate::measure::Times;
use crate::record::Recorder;
use crate::sample::{Held, sizes};
use crate::workload::{Mix, Workload};

/// Clients at work.
const CLIENTS: usize = 4;
/// Time between two samples.
const SAMPLE_EVERY: Duration = Duration::from_secs(2);
/// The part of the run that is not measured: caches fill, threads start.
const WARM_UP_PART: f64 = 0.2;
/// Bytes that the server may cache, so few that the cache is full when the warm-up is over.
const CACHE_BYTES: &str = "16777216";
/// How much more memory the server may hold in the last third than in the first, in percent.
pub const MEMORY_GROWTH_PERCENT_MAX: u64 = 25;
/// How many more files it may hold open.
pub const FILES_GROWTH_MAX: u64 = 16;
/// How many more threads it may run.
pub const THREADS_GROWTH_MAX: u64 = 8;
/// How much more of the store a commit may take in the second half of the run than in the first, in percent.
pub const COMMIT_GROWTH_PERCENT_MAX: u64 = 50;
/// Failures that are printed in full.
const FAILURES_TOLD_MAX: usize = 20;

/// The settings of a soak.
#[derive(Debug, Clone)]
pub struct SoakOptions {
    /// How long it takes.
    pub time: Duration,
    /// What all draws begin with.
    pub seed: u64,
    /// A folder for the root.
    pub work: PathBuf,
}

/// What the store held at a moment.
#[derive(Debug, Clone, Default)]
pub struct Stored {
    /// Bytes by the kind of folder.
    pub bytes: BTreeMap<&'static str, u64>,
    /// Commits made until then.
    pub commits: u64,
}

impl Stored {
    /// All bytes.
    pub fn total(&self) -> u64 {
        self.bytes.values().sum()
    }

    /// Bytes per commit since an earlier moment.
    pub fn per_commit_since(&self, earlier: &Self) -> u64 {
        self.total().saturating_sub(earlier.total()) / self.commits.saturating_sub(earlier.commits).max(1)
    }
}

/// What a soak showed.
#[derive(Debug, Default)]
pub struct SoakReport {
    /// Calls made.
    pub operations: u64,
    /// What the server held in the first third after the warm-up.
    pub first: Held,
    /// What it held in the last third.
    pub last: Held,
    /// The store after the warm-up, half way from there, and at the end.
    pub stored: [Stored; 3],
    /// What queries that never end by themselves cost.
    pub heavy: HeavyReport,
    /// How long the calls of the clients beside them took.
    pub calls: Times,
    /// Figures that grew beyond their bounds, and failed calls.
    pub violations: Vec<String>,
}

#[derive(Debug, Default)]
struct Tally {
    operations: AtomicU64,
    commits: AtomicU64,
    over: AtomicBool,
    times: Mutex<Times>,
}

/// Runs a soak.
///
/// # Panics
///
/// If the server cannot be started or stopped.
pub async fn run(options: &SoakOptions) -> Result<SoakReport, RaceError> {
    let root = options.work.join("root");
    let server = {
        let root = root.clone();
        blocking(move || Server::start(&root, &[("OMNIGRAPH_CACHE_BYTES_MAX", CACHE_BYTES)])).await
    };
    let client = Client::connect(&server.url).await.map_err(RaceError::client("connect to the server"))?;
    let made = client.create_graph(CreateGraph::new(graph(), SCHEMA)).await;
    made.map_err(RaceError::client("make the graph"))?;
    heavy::prepare(&server.url).await?;
    let over = Arc::new(AtomicBool::new(false));
    let heavy = {
        let (url, over) = (server.url.clone(), Arc::clone(&over));
        tokio::spawn(heavy::run(Target::One(url), over))
    };
    let (tally, recorder) = (Arc::new(Tally::default()), Arc::new(Recorder::new()));
    let address = Address { server: 0, generation: 0, url: server.url.clone() };
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let workload = Workload::new(options.seed, number, Mix::Steady);
            let caller = Caller::new(number, Arc::clone(&recorder));
            tokio::spawn(work(caller, workload, address.clone(), Arc::clone(&tally)))
        })
        .collect();
    let mut report = SoakReport::default();
    watch(options, &server, &root, &recorder, &tally, &mut report).await;
    tally.over.store(true, Ordering::Relaxed);
    over.store(true, Ordering::Relaxed);
    report.heavy = heavy.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))?;
    for ended in join_all(clients).await {
        ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    }
    report.operations = tally.operations.load(Ordering::Relaxed);
    report.calls = std::mem::take(&mut tally.times.lock().unwrap_or_else(PoisonError::into_inner));
    forget(&recorder, &mut report);
    blocking(move || server.stop()).await;
    judge(&mut report);
    Ok(report)
}

async fn work(mut caller: Caller, mut workload: Workload, address: Address, tally: Arc<Tally>) {
    while !tally.over.load(Ordering::Relaxed) {
        let (asked, _) = workload.draw();
        let begun = Instant::now();
        let (event, fact) = caller.call(&address, asked).await;
        tally.times.lock().unwrap_or_else(PoisonError::into_inner).push(begun.elapsed());
        workload.learn(&event, fact.as_ref());
        tally.operations.fetch_add(1, Ordering::Relaxed);
        if matches!(event.answered, Answered::Committed(_)) {
            tally.commits.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Samples the server and the store until the time is over.
async fn watch(
    options: &SoakOptions,
    server: &Server,
    root: &Path,
    recorder: &Recorder,
    tally: &Tally,
    report: &mut SoakReport,
) {
    let begun = Instant::now();
    let warm = options.time.mul_f64(WARM_UP_PART);
    let third = (options.time - warm) / 3;
    let half_way = warm + (options.time - warm) / 2;
    let (mut first, mut last) = (Vec::new(), Vec::new());
    let stored = || Stored { bytes: sizes(root), commits: tally.commits.load(Ordering::Relaxed) };
    let mut moments = [warm, half_way].into_iter().enumerate().peekable();
    while begun.elapsed() < options.time {
        tokio::time::sleep(SAMPLE_EVERY).await;
        forget(recorder, report);
        let now = begun.elapsed();
        while let Some((at, _)) = moments.next_if(|(_, moment)| now >= *moment) {
            report.stored[at] = stored();
        }
        let held = Held::of(server.pid);
        if now >= warm && now < warm + third {
            first.push(held);
        } else if now >= warm + 2 * third {
            last.push(held);
        }
        let (operations, commits) = (tally.operations.load(Ordering::Relaxed), tally.commits.load(Ordering::Relaxed));
        eprintln!("{:>5} s  {operations:>7} operations  {commits:>6} commits  {held}", now.as_secs());
    }
    report.stored[2] = stored();
    (report.first, report.last) = (Held::middle(&first), Held::middle(&last));
}

/// Searches the calls recorded since the last time for failures, and drops them: a soak may last for days.
fn forget(recorder: &Recorder, report: &mut SoakReport) {
    let history = recorder.with(std::mem::take);
    let failed = history.events.iter().filter(|event| is_failure(event)).map(ToString::to_string);
    let room = FAILURES_TOLD_MAX.saturating_sub(report.violations.len());
    report.violations.extend(failed.take(room));
}

/// Whether an answer is a failure of one undisturbed server that has more permits for loads than clients.
fn is_failure(event: &Event) -> bool {
    let Answered::Refused { reason, .. } = &event.answered else { return false };
    match reason {
        // A branch may be deleted under a load; main is not.
        Reason::RolledBack => matches!(&event.asked, Asked::Load(load) if load.branch == BranchName::Main),
        Reason::NoCommit
        | Reason::RecoveryRequired
        | Reason::Deadline
        | Reason::Unavailable
        | Reason::Busy
        | Reason::Broken
        | Reason::Defect => true,
        Reason::NoBranch
        | Reason::BranchExists
        | Reason::KeyConflict
        | Reason::Constraint
        | Reason::HeadMismatch
        | Reason::ReadSetChanged
        | Reason::Contention => false,
    }
}

/// Finds what grew beyond its bound.
fn judge(report: &mut SoakReport) {
    let (first, last) = (report.first, report.last);
    let [warm, half_way, end] = &report.stored;
    let (early, late) = (half_way.per_commit_since(warm), end.per_commit_since(half_way));
    let bounds = [
        (
            "bytes of memory",
            first.memory_bytes,
            last.memory_bytes,
            grown(first.memory_bytes, MEMORY_GROWTH_PERCENT_MAX),
        ),
        ("open files", first.files, last.files, first.files + FILES_GROWTH_MAX),
        ("threads", first.threads, last.threads, first.threads + THREADS_GROWTH_MAX),
        ("bytes of the store per commit", early, late, grown(early, COMMIT_GROWTH_PERCENT_MAX)),
    ];
    for (what, first, last, most) in bounds {
        if last > most {
            report.violations.push(format!("{what}: {first} at first, {last} at last, at most {most}"));
        }
    }
}

fn grown(value: u64, percent: u64) -> u64 {
    value + value * percent / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(bytes: u64, commits: u64) -> Stored {
        Stored { bytes: BTreeMap::from([("data", bytes)]), commits }
    }

    #[test]
    fn growth_beyond_a_bound_is_found_and_growth_up_to_it_is_not() {
        let first = Held { memory_bytes: 100, files: 10, threads: 10 };
        let calm = || SoakReport {
            first,
            last: Held { memory_bytes: 125, files: 26, threads: 18 },
            stored: [stored(100, 10), stored(200, 20), stored(350, 30)],
            ..SoakReport::default()
        };
        let mut report = calm();
        judge(&mut report);
        assert_eq!(report.violations, Vec::<String>::new());
        for grow in [
            |report: &mut SoakReport| report.last.memory_bytes += 1,
            |report: &mut SoakReport| report.last.files += 1,
            |report: &mut SoakReport| report.last.threads += 1,
            |report: &mut SoakReport| report.stored[2] = stored(360, 30),
        ] {
            let mut report = calm();
            grow(&mut report);
            judge(&mut report);
            assert_eq!(report.violations.len(), 1);
        }
    }
}
