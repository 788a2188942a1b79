//! What a caller is answered whose deadline passes while a request is held: true of every call of the contract that changes something, at its
//! first and at its last point.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use omnigraph_client::{
    Client, ClientOptions, CreateBranch, CreateGraph, DeleteBranch, DeleteGraph, LoadMode, LoadOptions, PageRequest,
    RetryPolicy, Timeout,
};
use omnigraph_types::{
    BranchName, Confirmation, Effect, Failure, OperationId, OperationState, Problem, Repair, RepairState,
};
use omnigraph_wire::FILE_DESCRIPTOR_SET;
use prost::Message;
use prost_types::FileDescriptorSet;
use prost_types::method_options::IdempotencyLevel;

use crate::support::{GRAPH, Server, client, graph_name, ndjson, refused, root, rows};

const SCHEMA: &str = "node P { k: String @key }\n";
const ROW: &str = "{\"type\":\"P\",\"data\":{\"k\":\"mine\"}}\n";
const OTHER_ROW: &str = "{\"type\":\"P\",\"data\":{\"k\":\"theirs\"}}\n";
/// The server's bound on a request, in milliseconds: long enough for a held one to reach its point. The client's own is far beyond it, so that
/// every answer is the server's.
const REQUEST_TIMEOUT_MS: &str = "4000";
const CLIENT_TIMEOUT: Duration = Duration::from_secs(60);
/// Rows of the table that run at once, each with a server of its own.
const AT_ONCE: usize = 4;

/// A request that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Call {
    LoadRows,
    CreateBranch,
    DeleteBranch,
    CreateGraph,
    DeleteGraph,
    Recover,
    Repair,
}

use Call::{CreateBranch as NewBranch, CreateGraph as NewGraph, DeleteBranch as NoBranch, DeleteGraph as NoGraph};

/// Every call, the point where it is held, and the effect that its caller is answered. A put that may decide comes between `None` and `Unknown`.
const TABLE: &[(Call, &str, Effect)] = &[
    (Call::LoadRows, "load.A.before", Effect::None),
    (Call::LoadRows, "load.A.after", Effect::Unknown),
    (Call::LoadRows, "load.C.before", Effect::Unknown),
    (Call::LoadRows, "load.D.after", Effect::Unknown),
    (NewBranch, "branch_create.A.before", Effect::None),
    (NewBranch, "branch_create.C.before", Effect::Unknown),
    (NewBranch, "branch_create.C.after", Effect::Unknown),
    (NoBranch, "branch_delete.C.before", Effect::None),
    (NoBranch, "branch_delete.C.after", Effect::Unknown),
    (NoBranch, "branch_remove.C.after", Effect::Committed),
    (NewGraph, "graph_create.C.before", Effect::None),
    (NewGraph, "graph_create.C.after", Effect::Committed),
    (NoGraph, "graph_delete.C.before", Effect::None),
    (NoGraph, "graph_delete.C.after", Effect::Unknown),
    (NoGraph, "graph_delete.D.after", Effect::Committed),
    (Call::Recover, "recover.C.before", Effect::None),
    (Call::Recover, "recover.C.after", Effect::Unknown),
    (Call::Recover, "settle.C.before", Effect::Unknown),
    (Call::Repair, "repair.C.before", Effect::None),
    (Call::Repair, "repair.C.after", Effect::Unknown),
];

/// Calls of the contract that change something and nothing that is stored.
const NOT_STORED: &[&str] = &["CancelQuery"];

/// Calls of the contract that change something and are declined by every server so far.
const DECLINED: &[&str] = &[
    "MergeBranch",
    "BeginLoad",
    "UploadPart",
    "CommitLoad",
    "AbortLoad",
    "EnsureIndices",
    "Optimize",
    "Cleanup",
    "Mutate",
    "ApplySchema",
];

#[test]
fn table_holds_every_call_of_the_contract_that_changes_something() {
    let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
    let calls = set.file.iter().filter(|file| file.package().starts_with("omnigraph.")).flat_map(|file| &file.service);
    let changing = calls.flat_map(|service| &service.method).filter(|call| {
        let level = call.options.as_ref().map(|options| options.idempotency_level());
        level != Some(IdempotencyLevel::NoSideEffects)
    });
    let changing: BTreeSet<String> = changing.map(|call| call.name().to_owned()).collect();
    let held = TABLE.iter().map(|(call, ..)| format!("{call:?}"));
    let known: BTreeSet<String> =
        held.chain(DECLINED.iter().chain(NOT_STORED).map(|name| (*name).to_owned())).collect();
    assert_eq!(changing, known);
}

fn dev() -> BranchName {
    "dev".parse().unwrap()
}

/// One row of the table on its way.
struct Held {
    call: Call,
    server: Server,
    root: tempfile::TempDir,
    release: PathBuf,
    _files: tempfile::TempDir,
    operation: OperationId,
    confirmation: String,
}

impl Held {
    /// A server that will hold the call, and the state that the call finds.
    async fn new(call: Call, point: &str) -> Self {
        let (root, files) = (root(), tempfile::tempdir().unwrap());
        let release = files.path().join("release");
        let server = server(root.path(), &format!("{GRAPH}/{point}=pause"), &release);
        let mut held = Self {
            call,
            server,
            root,
            release,
            _files: files,
            operation: Client::mint_operation_id(),
            confirmation: String::new(),
        };
        held.prepare().await;
        held
    }

    async fn prepare(&mut self) {
        let client = client(&self.server).await;
        if self.call != NewGraph {
            client.create_graph(CreateGraph::new(graph_name(), SCHEMA)).await.unwrap();
        }
        match self.call {
            Call::LoadRows | NewBranch | NewGraph => {}
            NoBranch | NoGraph => drop(client.create_branch(&graph_name(), CreateBranch::new(dev())).await.unwrap()),
            Call::Recover => {
                // Another server dies armed, with nothing changed.
                let dying = server(self.root.path(), &format!("{GRAPH}/load.A.after=kill"), &self.release);
                let options = LoadOptions::new(LoadMode::Append);
                ndjson(&crate::support::client(&dying).await, options, OTHER_ROW).await.unwrap_err();
            }
            Call::Repair => {
                ndjson(&client, LoadOptions::new(LoadMode::Append), OTHER_ROW).await.unwrap();
                tear_next_intent(self.root.path());
                let view = client.repair(&graph_name(), Repair::preview(BranchName::Main)).await.unwrap();
                self.confirmation = view.confirmation.expect("there is something to repair");
            }
        }
    }

    /// Sends the call, and returns what its caller is answered when the server's bound is over.
    async fn answered(&self) -> Failure {
        let timeout = Timeout::After(CLIENT_TIMEOUT);
        let options = ClientOptions { retry: RetryPolicy::never(), timeout, ..ClientOptions::default() };
        let client = Client::connect_with(&self.server.url, options).await.unwrap();
        let (graph, operation_id) = (graph_name(), Some(self.operation));
        match self.call {
            Call::LoadRows => {
                let options =
                    LoadOptions { operation_id: self.operation, timeout, ..LoadOptions::new(LoadMode::Append) };
                refused(ndjson(&client, options, ROW).await)
            }
            NewBranch => {
                refused(client.create_branch(&graph, CreateBranch { operation_id, ..CreateBranch::new(dev()) }).await)
            }
            NoBranch => {
                refused(client.delete_branch(&graph, DeleteBranch { operation_id, ..DeleteBranch::new(dev()) }).await)
            }
            NewGraph => {
                refused(client.create_graph(CreateGraph { operation_id, ..CreateGraph::new(graph, SCHEMA) }).await)
            }
            NoGraph => refused(client.delete_graph(DeleteGraph { operation_id, ..DeleteGraph::new(graph) }).await),
            Call::Recover => refused(client.recover(&graph, &BranchName::Main).await),
            Call::Repair => {
                let confirmation = Confirmation::Given(self.confirmation.clone());
                let repair = Repair { operation_id, confirmation, ..Repair::preview(BranchName::Main) };
                refused(client.repair(&graph, repair).await)
            }
        }
    }

    /// Lets the call go on, and waits until this server works on its operation no more.
    async fn release(&self) {
        std::fs::write(&self.release, b"").unwrap();
        let client = client(&self.server).await;
        loop {
            match client.get_operation(&graph_name(), &BranchName::Main, self.operation).await {
                Ok(operation) if matches!(operation.state, OperationState::InProgress) => {}
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Whether the call has done what it asked for, as another server finds.
    async fn is_done(&self) -> bool {
        let other = Server::start(self.root.path(), &[("OMNIGRAPH_RECOVERY_INTERVAL_MS", "0")]);
        let client = client(&other).await;
        let graph = graph_name();
        match self.call {
            Call::LoadRows => rows(&client, &["P"]).await["P"] == 1,
            NewBranch => client.get_branch(&graph, &dev()).await.is_ok(),
            NoBranch => client.get_branch(&graph, &dev()).await.is_err(),
            NewGraph => client.get_graph(&graph).await.is_ok(),
            NoGraph => client.get_graph(&graph).await.is_err(),
            Call::Recover => {
                let page = PageRequest { size: 10, token: String::new() };
                !client.list_recoveries(&graph, &BranchName::Main, page).await.unwrap().items.is_empty()
            }
            Call::Repair => {
                let view = client.repair(&graph, Repair::preview(BranchName::Main)).await.unwrap();
                view.state == RepairState::Nothing
            }
        }
    }
}

fn server(root: &Path, points: &str, release: &Path) -> Server {
    let variables = [
        ("OMNIGRAPH_FAILPOINTS", points),
        ("OMNIGRAPH_FAILPOINTS_RELEASE", release.to_str().unwrap()),
        ("OMNIGRAPH_RECOVERY_INTERVAL_MS", "0"),
        ("OMNIGRAPH_RECOVERY_GRACE_MS", "0"),
        ("OMNIGRAPH_REQUEST_TIMEOUT_MS", REQUEST_TIMEOUT_MS),
    ];
    Server::start(root, &variables)
}

/// Puts an intent that cannot be read behind the newest version of main, the only branch.
fn tear_next_intent(root: &Path) {
    let inside = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let graph = inside(root).find(|path| path.join("__recovery").is_dir()).unwrap();
    let branch = inside(&graph.join("__recovery")).next().unwrap();
    let version = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().parse::<u64>().unwrap();
    let newest = inside(&branch).map(version).max().unwrap();
    std::fs::write(branch.join(format!("{:020}.json", newest + 1)), b"torn").unwrap();
}

async fn held_past_its_deadline(call: Call, point: &str, expected: Effect) {
    let held = Held::new(call, point).await;
    let failure = held.answered().await;
    let log = held.server.log();
    assert!(
        log.contains(&format!("failpoint hit: {GRAPH}/{point} ")),
        "{call:?} did not reach {point}; {failure:?}\n{log}"
    );
    assert_eq!(failure.problem, Problem::DeadlineExceeded, "{call:?} at {point}");
    assert_eq!(failure.effect, expected, "{call:?} at {point}: {failure:?}");
    held.release().await;
    let is_done = held.is_done().await;
    match failure.effect {
        Effect::None => assert!(!is_done, "{call:?} at {point}: answered that nothing happened, and it did"),
        Effect::Committed => assert!(is_done, "{call:?} at {point}: answered that it is done, and it is not"),
        Effect::Unknown => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn call_that_is_held_past_its_deadline_is_answered_what_becomes_true() {
    let rows = stream::iter(TABLE).map(|(call, point, effect)| async move {
        tokio::spawn(held_past_its_deadline(*call, point, *effect)).await.unwrap();
    });
    rows.buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}
