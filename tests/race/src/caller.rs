//! Makes a request with the Rust client and records its outcome.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use futures::TryStreamExt;
use omnigraph_client::{
    BranchInfo, Client, ClientError, ClientOptions, Columns, Commit, CreateBranch, DeleteBranch, LoadMode, LoadOptions,
    LoadTarget, QueryRequest, ReadAt, RetryPolicy, Timeout, TypeScan, WriteMode, WriteReceipt,
};
use omnigraph_types::{Effect, Failure, Problem, Resource, Retry};

use crate::fleet::Address;
use crate::history::{
    Answered, Asked, At, BranchFact, CommitFact, Event, Form, Kind, LINK_ARROW, Load, Mode, Purpose, Reason, Row, graph,
};
use crate::record::Recorder;

/// Deadline that a client sets for each of its calls.
pub const CALL_LIMIT: Duration = Duration::from_secs(20);
/// How long a client waits for a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// When the race abandons a call that should have ended long before; the checker reports it as late.
const CALL_GIVEN_UP: Duration = Duration::from_secs(40);
/// Branches on a page of a list: more than exist.
const BRANCHES_MAX: u32 = 100;

/// One client with its connections.
#[derive(Debug)]
pub struct Caller {
    number: usize,
    recorder: Arc<Recorder>,
    connections: HashMap<usize, (u64, Client)>,
}

impl Caller {
    /// A client without connections.
    pub fn new(number: usize, recorder: Arc<Recorder>) -> Self {
        Self { number, recorder, connections: HashMap::new() }
    }

    /// The same client a second time, for a call beside another; it begins with the connections of the first.
    pub fn second(&self) -> Self {
        Self { number: self.number, recorder: Arc::clone(&self.recorder), connections: self.connections.clone() }
    }

    /// Connects to this server, or takes the existing connection.
    pub async fn connection(&mut self, address: &Address) -> Result<Client, ClientError> {
        if let Some((generation, client)) = self.connections.get(&address.server)
            && *generation == address.generation
        {
            return Ok(client.clone());
        }
        let options = ClientOptions {
            timeout: Timeout::After(CALL_LIMIT),
            retry: RetryPolicy::never(),
            connect_timeout: CONNECT_LIMIT,
            ..ClientOptions::default()
        };
        let client = Client::connect_with(&address.url, options).await?;
        self.connections.insert(address.server, (address.generation, client.clone()));
        Ok(client)
    }

    /// Makes a call and records it, with the facts that its answer states about its commit.
    pub async fn call(&mut self, address: &Address, asked: Asked) -> (Event, Option<CommitFact>) {
        let operation = asked.operation();
        if let Some(operation) = operation {
            self.recorder.sent(operation, address.server);
        }
        let call = self.recorder.now();
        let outcome = tokio::time::timeout(CALL_GIVEN_UP, async {
            let client = self.connection(address).await?;
            ask(&client, &asked).await
        });
        let outcome = outcome.await.unwrap_or_else(|_| Err(given_up()));
        let reply = self.recorder.now();
        let (answered, commit) = match outcome {
            Ok((answered, commit)) => (answered, commit),
            Err(error) => {
                if matches!(error, ClientError::Broken { .. } | ClientError::Connect { .. }) {
                    self.connections.remove(&address.server);
                }
                (refusal(&error), None)
            }
        };
        let known = !matches!(answered, Answered::Refused { effect: Effect::Unknown | Effect::Committed, .. });
        if let Some(operation) = operation.filter(|_| known) {
            self.recorder.answered(operation, address.server);
        }
        let limit = u64::try_from(CALL_LIMIT.as_micros()).unwrap_or(u64::MAX);
        let event = Event { client: self.number, server: address.server, call, reply, limit, asked, answered };
        let fact = commit.as_ref().map(commit_fact);
        self.recorder.record(&event, fact.as_ref());
        (event, fact)
    }
}

/// The failure of a call that did not end.
fn given_up() -> ClientError {
    let problem = Problem::DeadlineExceeded;
    ClientError::from(Failure::new(problem, "the client did not end the call").with_effect(Effect::Unknown))
}

type Answer = Result<(Answered, Option<Commit>), ClientError>;

async fn ask(client: &Client, asked: &Asked) -> Answer {
    let graph = graph();
    Ok(match asked {
        Asked::Load(load) => {
            let receipt = send(client, load).await?;
            match (receipt.commit, load.purpose) {
                (Some(commit), _) => (Answered::Committed(commit.id), Some(commit)),
                (None, Purpose::Validate) => (Answered::Checked, None),
                (None, Purpose::Commit) => return Err(ClientError::Answer { what: "a load of rows without a commit" }),
            }
        }
        Asked::Read { at: At::Branch(name), kind } => {
            let (commit, rows) = query(client, ReadAt::Branch(name.clone()), *kind).await?;
            (Answered::Rows { commit: commit.id, rows: Arc::new(rows) }, Some(commit))
        }
        Asked::Read { at: At::Commit(commit), kind } => {
            let rows = scan(client, ReadAt::Commit(*commit), *kind).await?;
            (Answered::Rows { commit: *commit, rows: Arc::new(rows) }, None)
        }
        Asked::Create { operation, name, source } => {
            let source = match source {
                At::Branch(name) => ReadAt::Branch(name.clone()),
                At::Commit(commit) => ReadAt::Commit(*commit),
            };
            let create = CreateBranch { source, operation_id: Some(*operation), ..CreateBranch::new(name.clone()) };
            let made = client.create_branch(&graph, create).await?.branch;
            let made = made.ok_or(ClientError::Answer { what: "a created branch without its description" })?;
            (Answered::Branch(branch_fact(made)), None)
        }
        Asked::Delete { operation, name } => {
            let delete = DeleteBranch { operation_id: Some(*operation), ..DeleteBranch::new(name.clone()) };
            client.delete_branch(&graph, delete).await?;
            (Answered::Deleted, None)
        }
        Asked::Get { name } => (Answered::Branch(branch_fact(client.get_branch(&graph, name).await?)), None),
        Asked::List => (Answered::Branches(branches(client).await?), None),
    })
}

/// Every branch of the graph.
pub async fn branches(client: &Client) -> Result<Vec<BranchFact>, ClientError> {
    let page = omnigraph_client::PageRequest { size: BRANCHES_MAX, ..Default::default() };
    let page = client.list_branches(&graph(), page).await?;
    Ok(page.items.into_iter().map(branch_fact).collect())
}

async fn send(client: &Client, load: &Load) -> Result<WriteReceipt, ClientError> {
    let mode = match load.mode {
        Mode::Append => LoadMode::Append,
        Mode::Merge => LoadMode::Merge,
        Mode::Overwrite => LoadMode::Overwrite,
    };
    let write_mode = match load.purpose {
        Purpose::Commit => WriteMode::Commit,
        Purpose::Validate => WriteMode::ValidateOnly,
    };
    let options = LoadOptions {
        operation_id: load.operation,
        expected_head: load.expected_head,
        write_mode,
        timeout: Timeout::After(CALL_LIMIT),
        ..LoadOptions::new(mode)
    };
    if let (Form::Arrow, Some((kind, rows))) = (load.form, load.rows.first_key_value()) {
        let batch = batch(*kind, rows)?;
        let (graph, branch, type_name) = (graph(), load.branch.clone(), kind.name().to_owned());
        let target = LoadTarget { graph, branch, type_name };
        let mut loader = client.load(target, batch.schema(), options).await?;
        loader.write(batch).await?;
        return loader.finish().await;
    }
    let mut loader = client.load_ndjson(&graph(), &load.branch, options).await?;
    loader.write(ndjson(load).into()).await?;
    loader.finish().await
}

/// The source and the destination of a link.
fn ends(key: &str) -> (&str, &str) {
    key.split_once(LINK_ARROW).unwrap_or((key, key))
}

fn ndjson(load: &Load) -> String {
    let mut text = String::new();
    for (kind, rows) in &load.rows {
        for Row { key, mark } in rows {
            let line = match kind {
                Kind::Item | Kind::Note => {
                    serde_json::json!({ "type": kind.name(), "data": { "k": key, "mark": mark } })
                }
                Kind::Link => {
                    let (from, to) = ends(key);
                    serde_json::json!({ "edge": kind.name(), "from": from, "to": to, "data": { "mark": mark } })
                }
            };
            text.push_str(&line.to_string());
            text.push('\n');
        }
    }
    text
}

fn batch(kind: Kind, rows: &[Row]) -> Result<RecordBatch, ClientError> {
    let column = |of: fn(&Row) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(of))) };
    let mark = column(|row| &row.mark);
    let columns = match kind {
        Kind::Item | Kind::Note => vec![("k", column(|row| &row.key)), ("mark", mark)],
        Kind::Link => {
            vec![("src", column(|row| ends(&row.key).0)), ("dst", column(|row| ends(&row.key).1)), ("mark", mark)]
        }
    };
    RecordBatch::try_from_iter(columns).map_err(|source| ClientError::Arrow { what: "make rows", source })
}

/// Every row of a type by a query, whose answer names the commit that it is served from.
async fn query(client: &Client, at: ReadAt, kind: Kind) -> Result<(Commit, Vec<Row>), ClientError> {
    let text = match kind {
        Kind::Item => "query all() { match { $a: Item } return { $a.k as key, $a.mark as mark } }",
        Kind::Note => "query all() { match { $a: Note } return { $a.k as key, $a.mark as mark } }",
        Kind::Link => {
            "query all() { match { $a: Item  $a $l:link $b } return { $a.k as src, $b.k as dst, $l.mark as mark } }"
        }
    };
    let result = client.query(&graph(), &QueryRequest::new(at, text)).await?;
    let batches = result.batches.try_collect::<Vec<_>>().await?;
    let key = if kind == Kind::Link { vec!["src", "dst"] } else { vec!["key"] };
    Ok((result.commit, rows(&batches, &key)?))
}

/// Every row of a type by a scan of its table.
async fn scan(client: &Client, at: ReadAt, kind: Kind) -> Result<Vec<Row>, ClientError> {
    let key = if kind == Kind::Link { vec!["src", "dst"] } else { vec!["k"] };
    let columns = Columns::Named(key.iter().chain(&["mark"]).map(|name| (*name).to_owned()).collect());
    let scan = TypeScan { at, type_name: kind.name().to_owned(), columns };
    let batches = client.scan_type(&graph(), &scan).await?.batches.try_collect::<Vec<_>>().await?;
    rows(&batches, &key)
}

/// Rows of batches whose columns `key` make the key, sorted.
fn rows(batches: &[RecordBatch], key: &[&str]) -> Result<Vec<Row>, ClientError> {
    let mut rows = Vec::new();
    for batch in batches {
        let text = |name: &str| {
            let column = batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
            column.ok_or(ClientError::Answer { what: "a requested column" })
        };
        let keys = key.iter().map(|name| text(name)).collect::<Result<Vec<_>, _>>()?;
        let marks = text("mark")?;
        for at in 0..batch.num_rows() {
            let parts: Vec<&str> = keys.iter().map(|column| column.value(at)).collect();
            rows.push(Row { key: parts.join(&LINK_ARROW.to_string()), mark: marks.value(at).to_owned() });
        }
    }
    rows.sort();
    Ok(rows)
}

/// The facts that an answer states about a commit.
pub fn commit_fact(commit: &Commit) -> CommitFact {
    let kind = |name: &str| Kind::ALL.into_iter().find(|kind| kind.name() == name);
    let totals = commit.counts.iter().filter_map(|counts| Some((kind(&counts.type_name)?, counts.row_count)));
    CommitFact {
        id: commit.id,
        parent: commit.parents.first().copied(),
        branch: commit.branch.clone(),
        operation: commit.operation_id,
        totals: totals.collect::<BTreeMap<_, _>>(),
    }
}

fn branch_fact(info: BranchInfo) -> BranchFact {
    BranchFact { name: info.name, id: info.id, head: info.head, source: info.source_commit }
}

/// Why a call failed.
fn refusal(error: &ClientError) -> Answered {
    let reason = match error {
        ClientError::Broken { .. } | ClientError::Connect { .. } => Reason::Broken,
        ClientError::Failed(failure) => match &failure.problem {
            Problem::NotFound { resource: Resource::Branch, .. } => Reason::NoBranch,
            Problem::NotFound { resource: Resource::Commit, .. } => Reason::NoCommit,
            Problem::AlreadyExists { resource: Resource::Branch, .. } => Reason::BranchExists,
            Problem::KeyConflict { .. } => Reason::KeyConflict,
            Problem::ConstraintViolation { .. } => Reason::Constraint,
            Problem::HeadMismatch { .. } => Reason::HeadMismatch,
            Problem::ReadSetChanged { .. } => Reason::ReadSetChanged,
            Problem::CommitContention { .. } => Reason::Contention,
            Problem::RecoveryRequired { .. } => Reason::RecoveryRequired,
            Problem::OperationRolledBack { .. } => Reason::RolledBack,
            Problem::DeadlineExceeded => Reason::Deadline,
            Problem::StorageUnavailable => Reason::Unavailable,
            Problem::Cancelled => Reason::Broken,
            Problem::ResourceLimit { .. } => match failure.retry {
                Retry::SameRequest => Reason::Busy,
                Retry::AfterReread | Retry::Never => Reason::Defect,
            },
            _ => Reason::Defect,
        },
        ClientError::Url { .. }
        | ClientError::OtherRoot { .. }
        | ClientError::Arrow { .. }
        | ClientError::Answer { .. } => Reason::Defect,
    };
    Answered::Refused { reason, effect: error.effect(), text: error.to_string() }
}
