//! The end of a run: one fresh server settles every branch and reports every operation, commit and row.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use omnigraph_client::{
    Client, ClientError, ClientOptions, Operation, OperationState, PageRequest, RecoveryOutcome, Timeout,
};
use omnigraph_e2e::server::Server;
use omnigraph_types::{BranchName, CommitId, Effect, OperationId, Problem};

use crate::caller::{Caller, branches, commit_fact};
use crate::check::{Rule, Violation};
use crate::error::RaceError;
use crate::fleet::{Address, blocking};
use crate::history::{Answered, Asked, At, Kind, Resolution, graph};
use crate::record::Recorder;
use crate::store::{RaceStore, Tickets};
use crate::tickets::TicketWatch;

/// Recoveries of one branch before it must be settled.
const RECOVERIES_MAX: usize = 8;
/// What each of the last calls is given: a recovery may wait for the grace several times.
const LAST_LIMIT: Duration = Duration::from_secs(120);
/// Items on a page of a list.
const PAGE_SIZE: u32 = 500;
/// Pages of one list.
const PAGES_MAX: usize = 10_000;
/// Ancestors that are asked for one by one.
const ANCESTORS_MAX: usize = 100_000;

/// What the end showed.
#[derive(Debug, Default)]
pub struct Settled {
    /// Recoveries that live branches record, by what was decided.
    pub recoveries: BTreeMap<&'static str, usize>,
    /// Live branches.
    pub branches: usize,
    /// What was found beside the history.
    pub violations: Vec<Violation>,
}

/// Starts a fresh server, lets it settle every branch, and completes the history: the outcome of open operations, every commit, and every row.
pub async fn settle(store: &RaceStore, recorder: &Arc<Recorder>, reader: usize) -> Result<Settled, RaceError> {
    let (root, environment) = (store.root.clone(), store.environment.clone());
    let server = blocking(move || {
        let environment: Vec<(&str, &str)> =
            environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        Server::start(&root, &environment)
    })
    .await;
    let options = ClientOptions { timeout: Timeout::After(LAST_LIMIT), ..ClientOptions::default() };
    let client =
        Client::connect_with(&server.url, options).await.map_err(RaceError::client("connect to the last server"))?;
    let mut settled = Settled::default();
    let live = branches(&client).await.map_err(RaceError::client("list branches at the end"))?;
    settled.branches = live.len();
    let names: Vec<BranchName> = live.into_iter().map(|fact| fact.name).collect();
    for name in &names {
        recover(&client, name, &mut settled).await?;
        commits(&client, recorder, name).await?;
    }
    resolve(&client, recorder).await?;
    let address = Address { server: usize::MAX, generation: 0, url: server.url.clone() };
    let mut caller = Caller::new(reader, Arc::clone(recorder));
    caller.call(&address, Asked::List).await;
    for name in &names {
        caller.call(&address, Asked::Get { name: name.clone() }).await;
        for kind in Kind::ALL {
            let (event, _) = caller.call(&address, Asked::Read { at: At::Branch(name.clone()), kind }).await;
            if !matches!(event.answered, Answered::Rows { .. }) {
                settled.violations.push(Violation::new(Rule::Unsettled, format!("a last read failed: {event}"), []));
            }
        }
    }
    ancestors(&client, recorder).await?;
    if let Tickets::Folder(folder) = &store.tickets {
        let info = client.get_graph(&graph()).await.map_err(RaceError::client("get the graph"))?;
        let main = client.get_branch(&graph(), &BranchName::Main).await.map_err(RaceError::client("get main"))?;
        if let Some(version) = TicketWatch::new(folder, info.id, main.id).pending() {
            let text = format!("the intent of version {version} of main is pending after recovery");
            settled.violations.push(Violation::new(Rule::Unsettled, text, []));
        }
    }
    blocking(move || server.stop()).await;
    Ok(settled)
}

/// Recovers a branch until no operation is unsettled, and reads its recoveries.
async fn recover(client: &Client, name: &BranchName, settled: &mut Settled) -> Result<(), RaceError> {
    let mut rounds = 0;
    loop {
        let done = client.recover(&graph(), name).await.map_err(RaceError::client("recover a branch at the end"))?;
        rounds += 1;
        if done.is_empty() {
            break;
        }
        if rounds == RECOVERIES_MAX {
            let text = format!("branch {name} is not settled after {rounds} recoveries: {done:?}");
            settled.violations.push(Violation::new(Rule::Unsettled, text, []));
            break;
        }
    }
    let listed = pages(async |page| client.list_recoveries(&graph(), name, page).await).await;
    for recovery in listed.map_err(RaceError::client("list recoveries"))? {
        *settled.recoveries.entry(recovery.outcome.as_str()).or_default() += 1;
        if recovery.outcome == RecoveryOutcome::Newer {
            let text = format!("a recovery of branch {name} has an unknown decision: {recovery:?}");
            settled.violations.push(Violation::new(Rule::Defect, text, [recovery.operation_id]));
        }
    }
    Ok(())
}

/// Reads the commits of a branch, newest first, each the parent of the one before.
async fn commits(client: &Client, recorder: &Recorder, name: &BranchName) -> Result<(), RaceError> {
    let listed = pages(async |page| client.list_commits(&graph(), name, page).await).await;
    for commit in listed.map_err(RaceError::client("list commits"))? {
        recorder.note_commit(&commit_fact(&commit));
    }
    Ok(())
}

async fn pages<T>(
    list: impl AsyncFn(PageRequest) -> Result<omnigraph_client::Page<T>, ClientError>,
) -> Result<Vec<T>, ClientError> {
    let (mut items, mut token) = (Vec::new(), String::new());
    for _ in 0..PAGES_MAX {
        let page = list(PageRequest { size: PAGE_SIZE, token }).await?;
        items.extend(page.items);
        if page.next.is_empty() {
            break;
        }
        token = page.next;
    }
    Ok(items)
}

/// Requests the outcome of every operation without a certain answer.
async fn resolve(client: &Client, recorder: &Recorder) -> Result<(), RaceError> {
    let mut asked: BTreeMap<OperationId, BranchName> = BTreeMap::new();
    recorder.with(|history| {
        for event in &history.events {
            let open = matches!(event.answered, Answered::Refused { effect: Effect::Unknown | Effect::Committed, .. });
            // Operations on branches count within main.
            let within = match &event.asked {
                Asked::Load(load) => load.branch.clone(),
                _ => BranchName::Main,
            };
            if let Some(id) = event.asked.operation().filter(|_| open) {
                asked.insert(id, within);
            }
        }
    });
    for (id, within) in asked {
        let resolution = match client.get_operation(&graph(), &within, id).await {
            Ok(operation) => resolution(operation),
            // The name has no branch, and no branch of that name recorded the operation.
            Err(error) if matches!(error.problem(), Some(Problem::NotFound { .. })) => Resolution::Nothing,
            Err(error) => return Err(RaceError::client("ask for an operation")(error)),
        };
        if let Resolution::Committed(commit) = resolution {
            fetch(client, recorder, commit).await?;
        }
        recorder.with(|history| history.resolutions.insert(id, resolution));
    }
    Ok(())
}

fn resolution(operation: Operation) -> Resolution {
    match operation.state {
        OperationState::Committed(receipt) => {
            receipt.commit.map_or(Resolution::Done, |commit| Resolution::Committed(commit.id))
        }
        OperationState::Unknown | OperationState::RolledBack(_) => Resolution::Nothing,
        OperationState::InProgress | OperationState::InDoubt(_) => Resolution::Open,
    }
}

async fn fetch(client: &Client, recorder: &Recorder, commit: CommitId) -> Result<Option<CommitId>, RaceError> {
    match client.get_commit(&graph(), commit).await {
        Ok(commit) => {
            recorder.note_commit(&commit_fact(&commit));
            Ok(commit.parents.first().copied())
        }
        // The checker reports that it is missing.
        Err(error) if matches!(error.problem(), Some(Problem::NotFound { .. })) => Ok(None),
        Err(error) => Err(RaceError::client("get a commit")(error)),
    }
}

/// Requests every commit that an answer named and no answer described.
async fn ancestors(client: &Client, recorder: &Recorder) -> Result<(), RaceError> {
    let mut wanted: Vec<CommitId> = recorder.with(|history| {
        let parents = history.commits.values().filter_map(|fact| fact.parent);
        let named = history.events.iter().flat_map(|event| match &event.answered {
            Answered::Committed(commit) | Answered::Rows { commit, .. } => vec![*commit],
            Answered::Branch(fact) => [Some(fact.head), fact.source].into_iter().flatten().collect(),
            Answered::Branches(facts) => {
                facts.iter().flat_map(|fact| [Some(fact.head), fact.source]).flatten().collect()
            }
            Answered::Checked | Answered::Deleted | Answered::Refused { .. } => Vec::new(),
        });
        parents.chain(named).filter(|id| !history.commits.contains_key(id)).collect()
    });
    for _ in 0..ANCESTORS_MAX {
        let Some(id) = wanted.pop() else { break };
        if recorder.commit(id).is_none() {
            wanted.extend(fetch(client, recorder, id).await?);
        }
    }
    Ok(())
}
