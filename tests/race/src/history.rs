//! The requests of clients and their answers: the only input of the checker.
//!
//! Every row carries a mark that names client, operation and row, so that each row read can be traced to the request that wrote it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use omnigraph_types::{BranchId, BranchName, CommitId, Effect, GraphName, OperationId};

/// The graph's schema: two node types, and edges between nodes of the first.
pub const SCHEMA: &str = "node Item { k: String @key  mark: String }\n\
     node Note { k: String @key  mark: String }\n\
     edge Link: Item -> Item { mark: String  @key(src, dst) }\n";

/// The graph of the race.
pub fn graph() -> GraphName {
    "race".parse().unwrap_or_else(|error| unreachable!("a legal name: {error}"))
}

/// Separates source and destination in the key of a link.
pub const LINK_ARROW: char = '>';

/// Microseconds since the run began.
pub type Moment = u64;

/// A type of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Nodes that links may join.
    Item,
    /// Nodes without links.
    Note,
    /// Edges between items.
    Link,
}

impl Kind {
    /// Every type.
    pub const ALL: [Self; 3] = [Self::Item, Self::Note, Self::Link];

    /// The type's name in the schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::Item => "Item",
            Self::Note => "Note",
            Self::Link => "Link",
        }
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Its key; of a link, source and destination with an arrow between them.
    pub key: String,
    /// Which client wrote it in which operation as which row.
    pub mark: String,
}

/// What a load does with keys that exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Refuses.
    Append,
    /// Replaces the row.
    Merge,
    /// Replaces every row of each type that the load holds.
    Overwrite,
}

/// How rows travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As text, of any number of types.
    Ndjson,
    /// As Arrow batches of one type.
    Arrow,
}

/// Whether a load is to commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It is.
    Commit,
    /// It is only to be checked.
    Validate,
}

/// Whose keys an operation writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// Keys that no other operation ever writes.
    Own,
    /// Keys that others write too.
    Shared,
}

/// A load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Its idempotency key.
    pub operation: OperationId,
    /// Where to.
    pub branch: BranchName,
    /// What it does with keys that exist.
    pub mode: Mode,
    /// How its rows travel.
    pub form: Form,
    /// Whether it is to commit.
    pub purpose: Purpose,
    /// Whose keys it writes.
    pub keys: Keys,
    /// The head that it asks for.
    pub expected_head: Option<CommitId>,
    /// Its rows, by type; no type without a row.
    pub rows: BTreeMap<Kind, Vec<Row>>,
}

/// Which state is read, or where a branch begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// The head of a branch.
    Branch(BranchName),
    /// A commit.
    Commit(CommitId),
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// A load.
    Load(Arc<Load>),
    /// Every row of a type.
    Read {
        /// Of which state.
        at: At,
        /// Of which type.
        kind: Kind,
    },
    /// A new branch.
    Create {
        /// The idempotency key.
        operation: OperationId,
        /// The name.
        name: BranchName,
        /// Where it begins.
        source: At,
    },
    /// The end of a branch.
    Delete {
        /// The idempotency key.
        operation: OperationId,
        /// The name.
        name: BranchName,
    },
    /// One branch.
    Get {
        /// The name.
        name: BranchName,
    },
    /// All branches.
    List,
}

impl Asked {
    /// The idempotency key of what changes something.
    pub fn operation(&self) -> Option<OperationId> {
        match self {
            Self::Load(load) => Some(load.operation),
            Self::Create { operation, .. } | Self::Delete { operation, .. } => Some(*operation),
            Self::Read { .. } | Self::Get { .. } | Self::List => None,
        }
    }
}

/// The facts that an answer states about a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchFact {
    /// Its name.
    pub name: BranchName,
    /// Its identity.
    pub id: BranchId,
    /// Its head.
    pub head: CommitId,
    /// The commit that it began at; none for `main`.
    pub source: Option<CommitId>,
}

/// The facts that an answer states about a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitFact {
    /// Its id.
    pub id: CommitId,
    /// Its parent; none for the graph's first.
    pub parent: Option<CommitId>,
    /// The name of the branch that it was made on.
    pub branch: BranchName,
    /// The operation that made it.
    pub operation: OperationId,
    /// Rows that each type it changed holds afterwards.
    pub totals: BTreeMap<Kind, u64>,
}

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The branch does not exist.
    NoBranch,
    /// The commit does not exist.
    NoCommit,
    /// The branch exists.
    BranchExists,
    /// A key exists.
    KeyConflict,
    /// A row breaks a rule.
    Constraint,
    /// The head is another.
    HeadMismatch,
    /// What an overwrite replaces has changed.
    ReadSetChanged,
    /// Others won every round.
    Contention,
    /// An interrupted write is in the way, or the own outcome is open.
    RecoveryRequired,
    /// The own write was interrupted and undone.
    RolledBack,
    /// The time was over.
    Deadline,
    /// The store, or the server, could not do it at that moment.
    Unavailable,
    /// The server is busy with as many loads as it takes.
    Busy,
    /// The call was interrupted, or no connection was made.
    Broken,
    /// A defect: no history of clients, kills and pauses explains it.
    Defect,
}

impl Reason {
    /// Whether the refusal means that the branch could not be written, not that this request does not fit its state.
    pub fn is_blocked(self) -> bool {
        match self {
            Self::Contention
            | Self::RecoveryRequired
            | Self::RolledBack
            | Self::Deadline
            | Self::Unavailable
            | Self::Broken => true,
            Self::NoBranch
            | Self::NoCommit
            | Self::BranchExists
            | Self::KeyConflict
            | Self::Constraint
            | Self::HeadMismatch
            | Self::ReadSetChanged
            | Self::Busy
            | Self::Defect => false,
        }
    }
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// The load is this commit.
    Committed(CommitId),
    /// The load made no commit, and was not to make one.
    Checked,
    /// The rows of one type, as they came, sorted.
    Rows {
        /// The commit that they were served from.
        commit: CommitId,
        /// The rows.
        rows: Arc<Vec<Row>>,
    },
    /// A branch.
    Branch(BranchFact),
    /// All branches.
    Branches(Vec<BranchFact>),
    /// The branch is deleted.
    Deleted,
    /// No.
    Refused {
        /// Why.
        reason: Reason,
        /// What is known of its effect.
        effect: Effect,
        /// In the server's words.
        text: String,
    },
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The client.
    pub client: usize,
    /// The server that it called.
    pub server: usize,
    /// When it called.
    pub call: Moment,
    /// When it was answered or abandoned.
    pub reply: Moment,
    /// Its deadline in microseconds.
    pub limit: Moment,
    /// What it asked.
    pub asked: Asked,
    /// What it was answered.
    pub answered: Answered,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, server, call, reply, .. } = self;
        write!(f, "{call:>11}..{reply:<11} client {client} server {server}: {:?} -> {:?}", self.asked, self.answered)
    }
}

/// What `GetOperation` reports about an operation once all is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// It is this commit.
    Committed(CommitId),
    /// It is done, and is no commit.
    Done,
    /// It was undone, or left no trace.
    Nothing,
    /// Still open.
    Open,
}

/// Everything that a run recorded.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// The calls, in any order.
    pub events: Vec<Event>,
    /// Every commit that an answer named, and its ancestors.
    pub commits: BTreeMap<CommitId, CommitFact>,
    /// Facts about one commit in which two answers differ.
    pub contradictions: Vec<(CommitFact, CommitFact)>,
    /// The outcome of operations whose answer was unknown.
    pub resolutions: BTreeMap<OperationId, Resolution>,
}
