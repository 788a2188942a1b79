//! One commit, pinned for reading.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::stream::BoxStream;
use omnigraph_types::Failure;

use crate::CommitInfo;

/// Rows, batch by batch.
pub type BatchStream = BoxStream<'static, Result<RecordBatch, Failure>>;

/// Whether a type holds nodes or edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// Nodes.
    Node,
    /// Edges.
    Edge,
}

/// One type of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeInfo {
    /// Its name.
    pub name: String,
    /// Nodes or edges.
    pub kind: TypeKind,
    /// Its rows.
    pub row_count: u64,
}

/// A query to run.
#[derive(Debug, Clone)]
pub struct QueryRequest {
    /// Text of one or more queries.
    pub text: String,
    /// Which of them; may be left out where there is one.
    pub name: Option<String>,
    /// The parameters, as one JSON object; empty means none.
    pub params_json: String,
}

/// One column of a query's result.
#[derive(Debug, Clone)]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// Whether it may hold nulls.
    pub nullable: bool,
}

/// A running query.
pub struct QueryStream {
    /// The Arrow schema of the batches.
    pub schema: SchemaRef,
    /// The columns in the words of the schema language.
    pub columns: Vec<ColumnInfo>,
    /// The rows.
    pub batches: BatchStream,
}

/// One commit, pinned: everything read through it is of that commit. Cheap to clone.
#[derive(Debug, Clone)]
pub struct GraphSnapshot {}

impl GraphSnapshot {
    /// The commit.
    pub fn commit(&self) -> &CommitInfo {
        todo!()
    }

    /// Its types, nodes first, each kind by name.
    pub fn types(&self) -> Vec<TypeInfo> {
        todo!()
    }

    /// Columns of a type: `id`, for edges `src` and `dst`, then its properties. `NotFound` if there is no such type.
    pub fn arrow_schema(&self, _type_name: &str) -> Result<SchemaRef, Failure> {
        todo!()
    }

    /// All rows of a type, in no particular order; no columns given means all.
    pub async fn scan_type(&self, _type_name: &str, _columns: Option<Vec<String>>) -> Result<BatchStream, Failure> {
        todo!()
    }

    /// Runs a read query.
    pub async fn query(&self, _request: QueryRequest) -> Result<QueryStream, Failure> {
        todo!()
    }
}
