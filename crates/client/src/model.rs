//! The contract's messages as values: ids are checked, times are milliseconds, kinds are enums.

mod branch;
mod maintenance;
mod recovery;

use std::str::FromStr;

use omnigraph_types::{BranchName, CommitId, Failure, GraphId, GraphName, GraphVersion, OperationId};
use omnigraph_wire::v1;

use crate::ClientError;

pub use branch::BranchInfo;
pub use maintenance::{
    CheckFinding, CheckPart, CheckSeverity, CheckSummary, FoundTransaction, RepairReport, RepairState, TableDamage,
    TableToRepair, UnnamedFiles, UnreadableIntent,
};
pub use recovery::{RecoveredTable, Recovery, RecoveryOutcome};

/// Whether a type's rows are nodes or edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// Nodes.
    Node,
    /// Edges.
    Edge,
    /// A kind that this client does not know.
    Other,
}

/// What kind of publication made a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommitKind {
    /// The first commit of a graph.
    CreateGraph,
    /// A mutation query.
    Mutate,
    /// A load.
    Load,
    /// A schema change.
    SchemaApply,
    /// A merge of another branch.
    Merge,
    /// A kind that this client does not know.
    Other,
}

impl CommitKind {
    /// The kind as one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CreateGraph => "create_graph",
            Self::Mutate => "mutate",
            Self::Load => "load",
            Self::SchemaApply => "schema_apply",
            Self::Merge => "merge",
            Self::Other => "other",
        }
    }
}

/// Rows of one type that a commit changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeCounts {
    /// The type.
    pub type_name: String,
    /// Nodes or edges.
    pub kind: TypeKind,
    /// Rows added.
    pub inserted: u64,
    /// Rows whose id existed and that were written again.
    pub updated: u64,
    /// Rows removed.
    pub deleted: u64,
    /// Rows that the type holds afterwards.
    pub total: u64,
}

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: CommitId,
    /// The graph.
    pub graph: GraphName,
    /// The branch's name when the commit was made.
    pub branch: BranchName,
    /// Parents: none for a graph's first commit, two for a merge, else one.
    pub parents: Vec<CommitId>,
    /// Who made it.
    pub actor: String,
    /// When: milliseconds since 1970-01-01T00:00:00Z.
    pub time_ms: u64,
    /// The operation that made it.
    pub operation_id: OperationId,
    /// The kind of publication.
    pub kind: CommitKind,
    /// The version of the branch's chain that it is.
    pub version: GraphVersion,
    /// Hash of the schema in force.
    pub schema_hash: String,
    /// What it changed, by type.
    pub counts: Vec<TypeCounts>,
}

/// How a write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It made the receipt's commit.
    Committed,
    /// An earlier request with the same operation id did the work.
    Replayed,
    /// There was nothing to change, or nothing was to be committed.
    Unchanged,
}

/// What a write did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The operation.
    pub operation_id: OperationId,
    /// How it ended.
    pub outcome: Outcome,
    /// The commit it made, if any.
    pub commit: Option<Commit>,
    /// The branch's head: that commit, else the head that was found.
    pub head: CommitId,
    /// Rows changed by type.
    pub counts: Vec<TypeCounts>,
    /// For a load: rows that the server read. Else 0.
    pub rows_read: u64,
}

/// One graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphInfo {
    /// Its name.
    pub name: GraphName,
    /// Its id, never used again.
    pub id: GraphId,
    /// When it was made: milliseconds since 1970-01-01T00:00:00Z.
    pub created_ms: u64,
    /// Head of branch `main`.
    pub head: CommitId,
    /// Hash of the schema of branch `main`.
    pub schema_hash: String,
    /// The storage format it is written in.
    pub storage_format: u32,
}

/// A schema in force.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaInfo {
    /// The source text, as it was accepted.
    pub source: String,
    /// The canonical contract as JSON.
    pub contract_json: String,
    /// Its hash.
    pub hash: String,
    /// The types, nodes before edges, as the contract of the API describes them.
    pub types: Vec<v1::TypeSummary>,
    /// The commit that it was read from.
    pub commit: Commit,
}

/// One limit of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerLimit {
    /// Its name.
    pub name: String,
    /// The value in force.
    pub value: u64,
    /// The value without configuration.
    pub default: u64,
    /// `bytes`, `rows`, `milliseconds` or `count`.
    pub unit: String,
    /// What it bounds.
    pub description: String,
}

/// One feature of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// Whether it is offered, in the server's words.
    pub enabled: bool,
    /// What it is.
    pub description: String,
}

/// What a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// Its version.
    pub version: String,
    /// The storage format that it reads and writes.
    pub storage_format: u32,
    /// Every limit in force.
    pub limits: Vec<ServerLimit>,
    /// Every feature, offered or not.
    pub features: Vec<Feature>,
}

/// What is known about an operation.
#[derive(Debug, Clone)]
pub enum OperationState {
    /// No trace of it.
    Unknown,
    /// It is running.
    InProgress,
    /// It is committed, or had nothing to change.
    Committed(Box<Receipt>),
    /// It was interrupted and undone.
    RolledBack(Box<Failure>),
    /// It was interrupted and is not settled yet.
    InDoubt(Box<Failure>),
}

/// An operation.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Its id.
    pub id: OperationId,
    /// What is known about it.
    pub state: OperationState,
}

/// Which page of a list is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// Most items; 0 is the server's default.
    pub size: u32,
    /// `next` of the page before; empty for the first.
    pub token: String,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Token of the next page; empty on the last one.
    pub next: String,
}

/// Reads an id or a name, which the contract says is always right.
fn parsed<T: FromStr>(text: &str, what: &'static str) -> Result<T, ClientError> {
    text.parse().map_err(|_| ClientError::Answer { what })
}

/// A message that the contract says is always there.
pub(crate) fn present<T>(value: Option<T>, what: &'static str) -> Result<T, ClientError> {
    value.ok_or(ClientError::Answer { what })
}

fn milliseconds(time: Option<prost_types::Timestamp>) -> u64 {
    let Some(time) = time else { return 0 };
    let seconds = u64::try_from(time.seconds).unwrap_or(0);
    seconds.saturating_mul(1_000).saturating_add(u64::try_from(time.nanos / 1_000_000).unwrap_or(0))
}

fn counts(counts: Vec<v1::TypeCounts>) -> Vec<TypeCounts> {
    let one = |counts: v1::TypeCounts| TypeCounts {
        kind: match counts.kind() {
            v1::TypeKind::Node => TypeKind::Node,
            v1::TypeKind::Edge => TypeKind::Edge,
            v1::TypeKind::Unspecified => TypeKind::Other,
        },
        type_name: counts.r#type,
        inserted: counts.inserted,
        updated: counts.updated,
        deleted: counts.deleted,
        total: counts.total,
    };
    counts.into_iter().map(one).collect()
}

impl Commit {
    pub(crate) fn from_wire(commit: v1::Commit) -> Result<Self, ClientError> {
        let kind = match commit.kind() {
            v1::CommitKind::CreateGraph => CommitKind::CreateGraph,
            v1::CommitKind::Mutate => CommitKind::Mutate,
            v1::CommitKind::Load => CommitKind::Load,
            v1::CommitKind::SchemaApply => CommitKind::SchemaApply,
            v1::CommitKind::Merge => CommitKind::Merge,
            v1::CommitKind::Unspecified => CommitKind::Other,
        };
        let parents = commit.parent_commit_ids.iter().map(|id| parsed(id, "a parent's commit id"));
        Ok(Self {
            id: parsed(&commit.commit_id, "a commit id")?,
            graph: parsed(&commit.graph, "a commit's graph")?,
            branch: parsed(&commit.branch, "a commit's branch")?,
            parents: parents.collect::<Result<_, _>>()?,
            actor: commit.actor,
            time_ms: milliseconds(commit.create_time),
            operation_id: parsed(&commit.operation_id, "a commit's operation id")?,
            kind,
            version: GraphVersion(commit.graph_version),
            schema_hash: commit.schema_hash,
            counts: counts(commit.counts),
        })
    }

    /// A commit that must be there.
    pub(crate) fn expected(commit: Option<v1::Commit>) -> Result<Self, ClientError> {
        Self::from_wire(present(commit, "no commit")?)
    }
}

impl Receipt {
    pub(crate) fn from_wire(receipt: Option<v1::WriteReceipt>, rows_read: u64) -> Result<Self, ClientError> {
        let receipt = present(receipt, "no receipt")?;
        let commit = receipt.commit.map(Commit::from_wire).transpose()?;
        let outcome = match (&commit, receipt.replayed) {
            (_, true) => Outcome::Replayed,
            (Some(_), false) => Outcome::Committed,
            (None, false) => Outcome::Unchanged,
        };
        Ok(Self {
            operation_id: parsed(&receipt.operation_id, "a receipt's operation id")?,
            outcome,
            commit,
            head: parsed(&receipt.head, "a receipt's head")?,
            counts: counts(receipt.counts),
            rows_read,
        })
    }
}

impl GraphInfo {
    pub(crate) fn from_wire(graph: v1::Graph) -> Result<Self, ClientError> {
        Ok(Self {
            name: parsed(&graph.graph, "a graph's name")?,
            id: parsed(&graph.graph_id, "a graph's id")?,
            created_ms: milliseconds(graph.create_time),
            head: parsed(&graph.head, "a graph's head")?,
            schema_hash: graph.schema_hash,
            storage_format: graph.storage_format,
        })
    }
}

impl SchemaInfo {
    pub(crate) fn from_wire(response: v1::GetSchemaResponse) -> Result<Self, ClientError> {
        let schema = present(response.schema, "no schema")?;
        Ok(Self {
            source: schema.source,
            contract_json: schema.contract_json,
            hash: schema.hash,
            types: schema.types,
            commit: Commit::expected(response.commit)?,
        })
    }
}

impl ServerInfo {
    pub(crate) fn from_wire(info: v1::GetServerInfoResponse) -> Self {
        let limit = |limit: v1::Limit| ServerLimit {
            name: limit.name,
            value: limit.value,
            default: limit.default_value,
            unit: limit.unit,
            description: limit.description,
        };
        let feature = |feature: v1::Feature| Feature {
            name: feature.name,
            enabled: feature.enabled,
            description: feature.description,
        };
        Self {
            version: info.version,
            storage_format: info.storage_format,
            limits: info.limits.into_iter().map(limit).collect(),
            features: info.features.into_iter().map(feature).collect(),
        }
    }
}

impl Operation {
    pub(crate) fn from_wire(response: v1::GetOperationResponse) -> Result<Self, ClientError> {
        let operation = present(response.operation, "no operation")?;
        let state = operation.state();
        let failure = |status: Option<omnigraph_wire::google::rpc::Status>| {
            let status = present(status, "no reason of an operation that is not committed")?;
            Ok::<_, ClientError>(Box::new(omnigraph_wire::from_rpc_status(&status)))
        };
        let state = match state {
            v1::OperationState::Unknown => OperationState::Unknown,
            v1::OperationState::InProgress => OperationState::InProgress,
            v1::OperationState::Committed => {
                OperationState::Committed(Box::new(Receipt::from_wire(operation.receipt, 0)?))
            }
            v1::OperationState::RolledBack => OperationState::RolledBack(failure(operation.error)?),
            v1::OperationState::InDoubt => OperationState::InDoubt(failure(operation.error)?),
            v1::OperationState::Unspecified => return Err(ClientError::Answer { what: "an operation's state" }),
        };
        Ok(Self { id: parsed(&operation.operation_id, "an operation's id")?, state })
    }
}
