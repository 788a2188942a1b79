//! Reads: which state is read, and what results look like.

use crate::named::named_enum;
use crate::{BranchName, Commit, CommitId, GraphName, QueryId, TypeKind};

/// Which state of a graph a read sees, or a branch starts from. A read sees that one commit from its first row to its last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadAt {
    /// The branch's head when the read begins.
    Branch(BranchName),
    /// One commit.
    Commit(CommitId),
    /// The newest commit of a branch that is not younger than a moment.
    BranchAtTime {
        /// The branch.
        branch: BranchName,
        /// Milliseconds since 1970-01-01T00:00:00Z.
        time_ms: u64,
    },
}

/// One read query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryRequest {
    /// The state that it sees.
    pub at: ReadAt,
    /// The text of one or more queries.
    pub text: String,
    /// Which of the text's queries runs.
    pub name: QueryName,
    /// The parameters as a JSON object. The empty text is the same as `{}`.
    pub params_json: String,
}

impl QueryRequest {
    /// The only query of a text, without parameters.
    pub fn new(at: ReadAt, text: impl Into<String>) -> Self {
        Self { at, text: text.into(), name: QueryName::Only, params_json: "{}".to_owned() }
    }
}

/// Which query of a text runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum QueryName {
    /// The only one.
    #[default]
    Only,
    /// The one of this name.
    Named(String),
}

named_enum! {
    /// How far a read is.
    pub enum QueryState {
        /// It waits for its turn.
        Queued = "queued",
        /// It runs.
        Running = "running",
        /// It was answered or cancelled, and keeps its permit and memory until its operators have stopped.
        Ending = "ending",
        /// A state that only a newer program knows.
        Newer = "newer",
    }
}

/// One read that a server has not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningQuery {
    /// Its id.
    pub id: QueryId,
    /// The graph.
    pub graph: GraphName,
    /// The branch that the commit it reads was made on.
    pub branch: BranchName,
    /// Who asked for it.
    pub actor: String,
    /// The beginning of the query's text, or the type that is scanned.
    pub text: String,
    /// When it arrived, in milliseconds since 1970-01-01T00:00:00Z.
    pub started_ms: u64,
    /// Milliseconds since it arrived.
    pub age_ms: u64,
    /// How far it is.
    pub state: QueryState,
    /// Rows that were handed to the caller.
    pub rows_sent: u64,
    /// Bytes that its operators held when they were last asked.
    pub memory_bytes: u64,
}

named_enum! {
    /// How a result's rows travel.
    #[derive(Default)]
    pub enum ResultFormat {
        /// As typed values.
        #[default]
        Rows = "rows",
        /// As an Arrow IPC stream.
        ArrowIpc = "arrow_ipc",
    }
}

/// What precedes the rows of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryHeader {
    /// The columns.
    pub columns: Vec<ColumnInfo>,
    /// The commit that the result is served from.
    pub commit: Commit,
    /// The query that runs.
    pub name: QueryName,
}

/// Which columns of a type are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Columns {
    /// All but blobs, in the order of the schema.
    #[default]
    All,
    /// These, in this order.
    Named(Vec<String>),
}

/// A read of one type's rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeScan {
    /// The state that it sees.
    pub at: ReadAt,
    /// The node or edge type.
    pub type_name: String,
    /// Its columns.
    pub columns: Columns,
}

/// One node or edge type of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeInfo {
    /// Its name.
    pub name: String,
    /// Nodes or edges.
    pub kind: TypeKind,
    /// Its rows.
    pub row_count: u64,
}

named_enum! {
    /// The scalar types of the schema language, by their names there.
    pub enum ScalarType {
        /// UTF-8 text.
        String = "String",
        /// True or false.
        Bool = "Bool",
        /// 32-bit signed integer.
        I32 = "I32",
        /// 64-bit signed integer.
        I64 = "I64",
        /// 32-bit unsigned integer.
        U32 = "U32",
        /// 64-bit unsigned integer.
        U64 = "U64",
        /// 32-bit floating-point number.
        F32 = "F32",
        /// 64-bit floating-point number.
        F64 = "F64",
        /// Days since 1970-01-01.
        Date = "Date",
        /// Milliseconds since 1970-01-01T00:00:00Z.
        DateTime = "DateTime",
        /// Bytes.
        Blob = "Blob",
    }
}

/// The type of a property, or of a column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnType {
    /// A scalar.
    Scalar(ScalarType),
    /// A list of scalars.
    List(ScalarType),
    /// A vector of `F32` of this length.
    Vector(u32),
    /// One of these names, sorted.
    Enum(Vec<String>),
    /// A whole node of this type: its id and its properties without blobs.
    Node(String),
}

/// One column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub ty: ColumnType,
    /// Whether values may be null.
    pub nullable: bool,
}
