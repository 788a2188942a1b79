//! A whole state, and the base that holds the rows of its tables and branches where there are many.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::RecordBatch;
use omnigraph_types::{BranchId, CommitId, GraphId, GraphVersion, OperationId, TableId};
use serde::{Deserialize, Serialize};

use super::branch::{BranchBody, OwnIdsBody, RetentionBody, RetiredBody};
use super::lineage::{push_lineage, read_lineage};
use super::recovery::{RecoveryBody, UnsettledBody};
use super::table::TableBody;
use crate::error::CatalogError;
use crate::format::raw::{RawRows, Rows, check_stamp};
use crate::newer::{Newer, Noticed};
use crate::rows::{BranchRow, HistoryRow, TableRow};
use crate::stamp::STORAGE_FORMAT;
use crate::state::{State, own_ids_with};

/// Kinds of rows in a state.
const STATE_KINDS: [&str; 14] = [
    "graph",
    "schema",
    "head",
    "table",
    "commit",
    "publication",
    "unsettled",
    "recovery",
    "history",
    "own_ids",
    "branch",
    "base",
    "retired",
    "retention",
];

/// The row `graph`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GraphBody {
    format: u32,
    graph_id: GraphId,
    main_branch_id: BranchId,
    branch_id: BranchId,
}

/// The row `schema`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemaBody {
    hash: String,
}

/// The row `base`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BaseBody {
    fragment: u64,
}

/// The row `head`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadBody {
    commit_id: CommitId,
}

/// A row `history`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HistoryBody {
    fragment: u64,
    level: u32,
    operations: u64,
    version_min: GraphVersion,
    version_max: GraphVersion,
    operation_min: OperationId,
    operation_max: OperationId,
    commits: Option<(CommitId, CommitId)>,
}

impl From<&HistoryRow> for HistoryBody {
    fn from(row: &HistoryRow) -> Self {
        let HistoryRow { fragment, level, operations, version_min, version_max, operation_min, operation_max, commits } =
            row.clone();
        Self { fragment, level, operations, version_min, version_max, operation_min, operation_max, commits }
    }
}

impl From<HistoryBody> for HistoryRow {
    fn from(body: HistoryBody) -> Self {
        let HistoryBody {
            fragment,
            level,
            operations,
            version_min,
            version_max,
            operation_min,
            operation_max,
            commits,
        } = body;
        Self { fragment, level, operations, version_min, version_max, operation_min, operation_max, commits }
    }
}

/// The rows of a whole state. `Newer` for one that holds what this program cannot write.
pub(crate) fn encode_state(state: &State) -> Result<RecordBatch, CatalogError> {
    state.refuse_newer()?;
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
        rows.push("table", table.id.to_string(), &TableBody::from(table))?;
    }
    push_lineage(&mut rows, &state.commits, &state.publications)?;
    for row in &state.unsettled {
        rows.push("unsettled", format!("{}/{}", row.attempt_id, row.table), &UnsettledBody::from(row))?;
    }
    for row in &state.recoveries {
        rows.push("recovery", row.version.to_string(), &RecoveryBody::from(row))?;
    }
    for row in &state.history {
        rows.push("history", row.fragment.to_string(), &HistoryBody::from(row))?;
    }
    rows.push("own_ids", String::new(), &OwnIdsBody::from(state.own_ids))?;
    for row in state.branches.values().filter(|row| in_core(state.branches_changed.contains(&row.branch_id))) {
        rows.push("branch", row.branch_id.to_string(), &BranchBody::from(row))?;
    }
    if let Some(fragment) = state.base {
        rows.push("base", String::new(), &BaseBody { fragment })?;
    }
    if let Some(row) = &state.retired {
        rows.push("retired", String::new(), &RetiredBody::from(row))?;
    }
    if let Some(row) = &state.retention {
        rows.push("retention", String::new(), &RetentionBody::from(row))?;
    }
    rows.into_batch()
}

/// Reads a state of `version`. Fails with `Format` before it reads any other row of another format.
pub(crate) fn decode_state(batches: &[RecordBatch], version: GraphVersion) -> Result<State, CatalogError> {
    let rows = RawRows::read(batches, version)?;
    check_stamp(rows.one("graph")?)?;
    let graph: GraphBody = rows.one("graph")?;
    let mut noticed = Noticed::default();
    rows.notice_other_kinds(&STATE_KINDS, &mut noticed);
    let (commits, publications) = read_lineage(&rows, &mut noticed)?;
    let recoveries: Vec<RecoveryBody> = rows.all("recovery")?;
    let state = State {
        graph_id: graph.graph_id,
        main_branch_id: graph.main_branch_id,
        branch_id: graph.branch_id,
        version,
        schema_hash: rows.one::<SchemaBody>("schema")?.hash,
        head: rows.one::<HeadBody>("head")?.commit_id,
        tables: read_tables(&rows, &mut noticed)?,
        commits,
        publications,
        unsettled: rows.all::<UnsettledBody>("unsettled")?.into_iter().map(Into::into).collect(),
        recoveries: recoveries.into_iter().map(|body| body.read(&mut noticed)).collect(),
        history: rows.all::<HistoryBody>("history")?.into_iter().map(Into::into).collect(),
        own_ids: rows.one::<OwnIdsBody>("own_ids")?.into(),
        branches: read_branches(&rows)?,
        retired: rows.at_most_one::<RetiredBody>("retired")?.map(Into::into),
        retention: rows.at_most_one::<RetentionBody>("retention")?.map(Into::into),
        newer: noticed.into_newer(),
        base: rows.at_most_one::<BaseBody>("base")?.map(|body| body.fragment),
        tables_changed: BTreeSet::new(),
        branches_changed: BTreeSet::new(),
    };
    let newest_commit = state.commits.last().map(|commit| commit.id);
    let newest_publication = state.publications.last().map(|publication| publication.version);
    if newest_commit != Some(state.head) || newest_publication != Some(version) {
        return Err(rows.corrupt("a head that is its newest commit, and a publication of this very version"));
    }
    if state.publications.iter().fold(state.own_ids, own_ids_with) != state.own_ids {
        return Err(rows.corrupt("ranges of own ids that span those of its publications"));
    }
    Ok(state)
}

fn read_tables(rows: &RawRows<'_>, noticed: &mut Noticed) -> Result<BTreeMap<TableId, TableRow>, CatalogError> {
    let bodies: Vec<TableBody> = rows.all("table")?;
    rows.unique("table", bodies.into_iter().filter_map(|body| body.read(noticed)), |row| row.id)
}

fn read_branches(rows: &RawRows<'_>) -> Result<BTreeMap<BranchId, BranchRow>, CatalogError> {
    let bodies: Vec<BranchBody> = rows.all("branch")?;
    rows.unique("branch", bodies.into_iter().map(BranchRow::from), |row| row.branch_id)
}

/// The rows of a base.
#[derive(Debug)]
pub(crate) struct Registers {
    pub(crate) tables: BTreeMap<TableId, TableRow>,
    pub(crate) branches: BTreeMap<BranchId, BranchRow>,
    pub(crate) newer: Option<Newer>,
}

/// All rows of tables and branches: a base.
pub(crate) fn encode_registers(state: &State) -> Result<RecordBatch, CatalogError> {
    let mut rows = Rows::default();
    for table in state.tables.values() {
        rows.push("table", table.id.to_string(), &TableBody::from(table))?;
    }
    for branch in state.branches.values() {
        rows.push("branch", branch.branch_id.to_string(), &BranchBody::from(branch))?;
    }
    rows.into_batch()
}

/// Reads a base.
pub(crate) fn decode_registers(batches: &[RecordBatch], version: GraphVersion) -> Result<Registers, CatalogError> {
    let rows = RawRows::read(batches, version)?;
    let mut noticed = Noticed::default();
    rows.notice_other_kinds(&["table", "branch"], &mut noticed);
    let tables = read_tables(&rows, &mut noticed)?;
    Ok(Registers { tables, branches: read_branches(&rows)?, newer: noticed.into_newer() })
}
