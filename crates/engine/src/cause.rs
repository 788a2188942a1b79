//! Why data, a request or the program itself is at fault: one value per cause, and all its words.
//!
//! Invariant: each text names the thing, the place and the way out; nothing else in the crate words a refusal of this kind.

use thiserror::Error;

use crate::words::{list, quote};

/// Two parts of this program do not agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Defect {
    #[error("a stream of another load")]
    StreamOfAnotherLoad,
    #[error("a stream without its type")]
    StreamWithoutType,
    #[error("a table has a Blob column")]
    BlobColumn,
    #[error("a line has more values than its type has columns")]
    SurplusValues,
    #[error("a type of the schema has no table")]
    TypeWithoutTable,
    #[error("a type without rows is validated")]
    TypeWithoutRows,
    #[error("a finding was lost")]
    FindingLost,
    #[error("a node type is checked as an edge type")]
    NodeCheckedAsEdge,
    #[error("a violation was lost")]
    ViolationLost,
    #[error("rows were taken and not stored")]
    RowsNotStored,
    #[error("a load was published without a commit")]
    LoadWithoutCommit,
    #[error("a range on a column that is not numeric")]
    RangeNotNumeric,
    #[error("a branch that was found by name is not registered")]
    BranchNotRegistered,
    #[error("a graph exists and its first commit cannot be read")]
    FirstCommitUnreadable,
    #[error("a constraint names a property that does not exist")]
    ConstraintWithoutProperty,
    #[error("a stored @check does not compile")]
    CheckNotCompiled,
    #[error("the schema has no type of a table's id")]
    TableWithoutType,
}

/// What is wrong with data.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DataFault {
    #[error("line {line}: byte {byte} is no UTF-8: NDJSON is UTF-8 text")]
    NotUtf8 { line: u64, byte: usize },
    #[error("{type_name} has no column {}; it has: {}", quote(column), list(expected))]
    UnknownColumn { type_name: String, column: String, expected: Vec<String> },
    #[error("the column {} is there twice", quote(column))]
    RepeatedColumn { column: String },
    #[error(
        "column {} of {type_name} is {wanted}; no cast from {sent} keeps every value: cast it first",
        quote(column)
    )]
    NoCast { type_name: String, column: String, wanted: String, sent: String },
    #[error(
        "{type_name} needs the column {}; the stream has: {}; the type has: {}",
        quote(column),
        list(sent),
        list(expected)
    )]
    MissingColumn { type_name: String, column: String, sent: Vec<String>, expected: Vec<String> },
    #[error("a batch of {type_name} has other columns than the stream declared: send one schema per stream")]
    OtherColumns { type_name: String },
    #[error("{type_name}{}, column {}: {fault}", place(*row), quote(column))]
    Value { type_name: String, row: Option<u64>, column: String, fault: String },
    #[error(
        "{type_name} row {row}: id {} is not {}, the id that the key ({}) spells: send that, or leave the id out",
        found.as_deref().map_or("null".to_owned(), quote), quote(computed), key.join(", ")
    )]
    OtherId { type_name: String, row: u64, found: Option<String>, computed: String, key: Vec<String> },
}

/// What is wrong with the use of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LoadMisuse {
    /// The stream is another load's.
    #[error("the stream was opened by another load")]
    StreamOfAnotherLoad,
    /// Nothing can be added to the load.
    #[error("the load has failed or was interrupted before: begin a new one")]
    Over,
}

impl LoadMisuse {
    /// The field of the request that is at fault.
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::StreamOfAnotherLoad => "stream",
            Self::Over => "load",
        }
    }
}

fn place(row: Option<u64>) -> String {
    row.map_or(String::new(), |row| format!(" row {row}"))
}
