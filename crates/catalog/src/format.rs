//! How a version's rows are stored: storage format 1.
//!
//! A manifest row is `kind`, `key` and `body`, a JSON object. The `graph` row carries the format stamp and is read first: a lower format
//! is refused with the way to export, a higher one with the advice to upgrade. In format 1 a body is the serde form of the row type;
//! when a row type changes shape, its old shape moves here as a DTO that converts to the new one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use omnigraph_types::{BranchId, CommitId, GraphId, GraphVersion, TableId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::CatalogError;
use crate::rows::{BranchRow, CommitRow, OperationRow, TableRow};
use crate::state::State;

/// The storage format that this program reads and writes.
pub const STORAGE_FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct FormatStamp {
    format: u32,
}

#[derive(Serialize, Deserialize)]
struct GraphBody {
    format: u32,
    graph_id: GraphId,
    main_branch_id: BranchId,
    branch_id: BranchId,
}

#[derive(Serialize, Deserialize)]
struct SchemaBody {
    hash: String,
}

#[derive(Serialize, Deserialize)]
struct BaseBody {
    fragment: u64,
}

#[derive(Serialize, Deserialize)]
struct HeadBody {
    commit_id: CommitId,
}

/// Arrow schema of the manifest dataset.
pub(crate) fn manifest_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("kind", DataType::Utf8, false),
        Field::new("key", DataType::Utf8, false),
        Field::new("body", DataType::Utf8, false),
    ]))
}

/// Collects rows column by column.
#[derive(Default)]
struct Rows {
    kinds: Vec<&'static str>,
    keys: Vec<String>,
    bodies: Vec<String>,
}

impl Rows {
    fn push<T: Serialize>(&mut self, kind: &'static str, key: String, body: &T) -> Result<(), CatalogError> {
        let body = serde_json::to_string(body).map_err(|_| CatalogError::Corrupt {
            object: format!("manifest row {kind} {key}"),
            expected: "a value that can be written as JSON".to_owned(),
        })?;
        self.kinds.push(kind);
        self.keys.push(key);
        self.bodies.push(body);
        Ok(())
    }

    fn into_batch(self) -> Result<RecordBatch, CatalogError> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(self.kinds)),
            Arc::new(StringArray::from_iter_values(self.keys)),
            Arc::new(StringArray::from_iter_values(self.bodies)),
        ];
        RecordBatch::try_new(manifest_schema(), columns).map_err(|error| CatalogError::Corrupt {
            object: "manifest rows".to_owned(),
            expected: format!("columns of the manifest's schema ({error})"),
        })
    }
}

/// The rows of a whole state.
pub(crate) fn encode_state(state: &State) -> Result<RecordBatch, CatalogError> {
    let mut rows = Rows::default();
    let graph = GraphBody {
        format: STORAGE_FORMAT,
        graph_id: state.graph_id,
        main_branch_id: state.main_branch_id,
        branch_id: state.branch_id,
    };
    rows.push("graph", state.graph_id.to_string(), &graph)?;
    rows.push("schema", String::new(), &SchemaBody { hash: state.schema_hash.clone() })?;
    rows.push("head", String::new(), &HeadBody { commit_id: state.head })?;
    let in_core = |is_changed: bool| state.base.is_none() || is_changed;
    for table in state.tables.values().filter(|table| in_core(state.tables_changed.contains(&table.id))) {
        rows.push("table", table.id.to_string(), table)?;
    }
    push_lineage(&mut rows, &state.commits, &state.operations)?;
    for row in &state.unsettled {
        rows.push("unsettled", format!("{}/{}", row.attempt_id, row.table), row)?;
    }
    for row in &state.recoveries {
        rows.push("recovery", row.version.to_string(), row)?;
    }
    for row in &state.history {
        rows.push("history", row.fragment.to_string(), row)?;
    }
    for row in state.branches.values().filter(|row| in_core(state.branches_changed.contains(&row.branch_id))) {
        rows.push("branch", row.branch_id.to_string(), row)?;
    }
    if let Some(fragment) = state.base {
        rows.push("base", String::new(), &BaseBody { fragment })?;
    }
    if let Some(row) = &state.retired {
        rows.push("retired", String::new(), row)?;
    }
    rows.into_batch()
}

/// All rows of tables and branches: a base.
pub(crate) fn encode_registers(state: &State) -> Result<RecordBatch, CatalogError> {
    let mut rows = Rows::default();
    for table in state.tables.values() {
        rows.push("table", table.id.to_string(), table)?;
    }
    for branch in state.branches.values() {
        rows.push("branch", branch.branch_id.to_string(), branch)?;
    }
    rows.into_batch()
}

/// The rows of a base.
#[derive(Debug)]
pub(crate) struct Registers {
    pub(crate) tables: BTreeMap<TableId, TableRow>,
    pub(crate) branches: BTreeMap<BranchId, BranchRow>,
}

/// Reads a base.
pub(crate) fn decode_registers(batches: &[RecordBatch], version: GraphVersion) -> Result<Registers, CatalogError> {
    let rows = RawRows::read(batches, version)?;
    Ok(Registers {
        tables: rows.by_key("table", |row: &TableRow| row.id)?,
        branches: rows.by_key("branch", |row: &BranchRow| row.branch_id)?,
    })
}

/// The rows of a history fragment.
pub(crate) fn encode_lineage(commits: &[CommitRow], operations: &[OperationRow]) -> Result<RecordBatch, CatalogError> {
    let mut rows = Rows::default();
    push_lineage(&mut rows, commits, operations)?;
    rows.into_batch()
}

fn push_lineage(rows: &mut Rows, commits: &[CommitRow], operations: &[OperationRow]) -> Result<(), CatalogError> {
    for commit in commits {
        rows.push("commit", commit.id.to_string(), commit)?;
    }
    for operation in operations {
        rows.push("operation", operation.version.to_string(), operation)?;
    }
    Ok(())
}

/// Reads a state of `version`. Fails with `Format` before it reads any other row of another format.
pub(crate) fn decode_state(batches: &[RecordBatch], version: GraphVersion) -> Result<State, CatalogError> {
    let rows = RawRows::read(batches, version)?;
    let stamp: FormatStamp = rows.one("graph")?;
    if stamp.format != STORAGE_FORMAT {
        return Err(CatalogError::Format { found: stamp.format, supported: STORAGE_FORMAT });
    }
    let graph: GraphBody = rows.one("graph")?;
    let state = State {
        graph_id: graph.graph_id,
        main_branch_id: graph.main_branch_id,
        branch_id: graph.branch_id,
        version,
        schema_hash: rows.one::<SchemaBody>("schema")?.hash,
        head: rows.one::<HeadBody>("head")?.commit_id,
        tables: rows.by_key("table", |row: &TableRow| row.id)?,
        commits: rows.all("commit")?,
        operations: rows.all("operation")?,
        unsettled: rows.all("unsettled")?,
        recoveries: rows.all("recovery")?,
        history: rows.all("history")?,
        branches: rows.by_key("branch", |row: &BranchRow| row.branch_id)?,
        retired: rows.at_most_one("retired")?,
        base: rows.at_most_one::<BaseBody>("base")?.map(|body| body.fragment),
        tables_changed: BTreeSet::new(),
        branches_changed: BTreeSet::new(),
    };
    let newest_commit = state.commits.last().map(|commit| commit.id);
    let newest_operation = state.operations.last().map(|operation| operation.version);
    if newest_commit != Some(state.head) || newest_operation != Some(version) {
        return Err(rows.corrupt("a head that is its newest commit, and an operation of this very version"));
    }
    Ok(state)
}

/// Reads a history fragment.
pub(crate) fn decode_lineage(
    batches: &[RecordBatch],
    version: GraphVersion,
) -> Result<(Vec<CommitRow>, Vec<OperationRow>), CatalogError> {
    let rows = RawRows::read(batches, version)?;
    Ok((rows.all("commit")?, rows.all("operation")?))
}

/// The stored rows: kind and body, in stored order.
struct RawRows<'a> {
    version: GraphVersion,
    rows: Vec<(&'a str, &'a str)>,
}

impl<'a> RawRows<'a> {
    fn read(batches: &'a [RecordBatch], version: GraphVersion) -> Result<Self, CatalogError> {
        let mut read = Self { version, rows: Vec::new() };
        for batch in batches {
            let column =
                |name: &str| batch.column_by_name(name).and_then(|array| array.as_any().downcast_ref::<StringArray>());
            let (Some(kinds), Some(bodies)) = (column("kind"), column("body")) else {
                return Err(read.corrupt("text columns kind, key and body"));
            };
            if kinds.null_count() + bodies.null_count() > 0 {
                return Err(read.corrupt("rows without nulls"));
            }
            read.rows.extend((0..batch.num_rows()).map(|row| (kinds.value(row), bodies.value(row))));
        }
        Ok(read)
    }

    fn all<T: DeserializeOwned>(&self, kind: &str) -> Result<Vec<T>, CatalogError> {
        let bodies = self.rows.iter().filter(|(row_kind, _)| *row_kind == kind);
        bodies
            .map(|(_, body)| serde_json::from_str(body).map_err(|_| self.corrupt(&format!("a {kind} row of format 1"))))
            .collect()
    }

    fn one<T: DeserializeOwned>(&self, kind: &str) -> Result<T, CatalogError> {
        let mut rows = self.all(kind)?;
        match (rows.pop(), rows.len()) {
            (Some(row), 0) => Ok(row),
            _ => Err(self.corrupt(&format!("exactly one {kind} row"))),
        }
    }

    fn at_most_one<T: DeserializeOwned>(&self, kind: &str) -> Result<Option<T>, CatalogError> {
        let mut rows = self.all(kind)?;
        match (rows.pop(), rows.len()) {
            (row, 0) => Ok(row),
            _ => Err(self.corrupt(&format!("at most one {kind} row"))),
        }
    }

    fn by_key<T: DeserializeOwned, K: Ord>(
        &self,
        kind: &str,
        key: impl Fn(&T) -> K,
    ) -> Result<BTreeMap<K, T>, CatalogError> {
        let rows: Vec<T> = self.all(kind)?;
        let count = rows.len();
        let rows: BTreeMap<K, T> = rows.into_iter().map(|row| (key(&row), row)).collect();
        if rows.len() < count {
            return Err(self.corrupt(&format!("one {kind} row for each {kind}")));
        }
        Ok(rows)
    }

    fn corrupt(&self, expected: &str) -> CatalogError {
        CatalogError::Corrupt {
            object: format!("version {} of the graph's manifest", self.version),
            expected: expected.to_owned(),
        }
    }
}
