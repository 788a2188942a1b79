//! The state of a graph: rows through a server, and I-6 from the files alone.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use futures::TryStreamExt;
use omnigraph_catalog::{BranchRow, Graphs};
use omnigraph_client::{Client, ClientError, Columns, PageRequest, ReadAt, TypeScan};
use omnigraph_storage::{Store, StoreOptions};
use omnigraph_types::{BranchName, GraphName, Limits, OperationId, Problem, Resource, SystemClock};

use crate::error::Violation;
use crate::model::{Rows, Type};

/// Commits asked for in one page: more than a cell makes.
const COMMITS_MAX: u32 = 500;

/// Whether an error reports that the resource does not exist.
pub(crate) fn is_missing(error: &ClientError, what: Resource) -> bool {
    matches!(error.problem(), Some(Problem::NotFound { resource, .. }) if *resource == what)
}

/// The rows of a branch, all of one commit.
pub(crate) async fn rows(client: &Client, graph: &GraphName, branch: &BranchName) -> Result<Rows, Violation> {
    let refused = |error| Violation::refused("a read")(error);
    let head = client.get_branch(graph, branch).await.map_err(refused)?.head;
    let mut rows = Rows::default();
    for kind in [Type::P, Type::Q, Type::Knows] {
        let columns = Columns::Named(kind.columns().iter().map(|name| (*name).to_owned()).collect());
        let type_name = kind.name().to_owned();
        let scan = TypeScan { at: ReadAt::Commit(head), type_name, columns };
        let batches: Vec<RecordBatch> =
            client.scan_type(graph, &scan).await.map_err(refused)?.batches.try_collect().await.map_err(refused)?;
        for batch in &batches {
            let keys = batch.column(0).as_string::<i32>();
            let numbers = batch.column(1).as_primitive::<Int64Type>();
            for row in 0..batch.num_rows() {
                let key = keys.value(row);
                if rows.0.insert((kind, key.to_owned()), numbers.value(row)).is_some() {
                    return Err(Violation::Doubled { row: format!("{} {key}", kind.name()) });
                }
            }
        }
    }
    Ok(rows)
}

/// How many commits of a branch an operation made.
pub(crate) async fn commits_of(
    client: &Client,
    graph: &GraphName,
    branch: &BranchName,
    operation: OperationId,
) -> Result<usize, Violation> {
    let page = PageRequest { size: COMMITS_MAX, token: String::new() };
    let page = client.list_commits(graph, branch, page).await.map_err(Violation::refused("the list of commits"))?;
    Ok(page.items.iter().filter(|commit| commit.operation_id == operation).count())
}

/// I-6, read from the files alone, for every branch: no intent is pending, no table is unsettled, every owned tree's head is its pin.
pub(crate) async fn quiesced(root: &Path, graph: &GraphName) -> Result<(), Violation> {
    let store = Store::open(&root.to_string_lossy(), StoreOptions::default()).await.map_err(files)?;
    let graphs = Graphs::new(store.clone(), Arc::new(SystemClock), Arc::new(Limits::default()));
    let catalog = graphs.open(graph).await.map_err(files)?.1;
    let registry = catalog.registry().await.map_err(files)?;
    let chains = registry.state().live_branches().map(BranchRow::chain).chain([catalog.main_chain()]);
    let unquiet = |what: String| Err(Violation::Unquiet { what });
    for chain in chains {
        let newest = catalog.newest_of(&chain).await.map_err(files)?;
        if newest.state().retired.is_some() {
            return unquiet(format!("{} is removed and registered", chain.name));
        }
        if !newest.state().unsettled.is_empty() {
            return unquiet(format!("{} has unsettled rows: {:?}", chain.name, newest.state().unsettled));
        }
        let pending = catalog.paths().intent(newest.branch_id(), newest.version().next());
        if store.get(&pending).await.map_err(files)?.is_some() {
            return unquiet(format!("an intent of {} is pending for version {}", chain.name, newest.version().next()));
        }
        for row in newest.tables().filter(|row| row.owner == chain.branch_id) {
            let head = store.head(&row.tree_ref()).await.map_err(files)?;
            if head != Some(row.version) {
                let (name, pin) = (&row.type_name, row.version);
                return unquiet(format!("{name} of {}: the head is {head:?}, the pin {pin}", chain.name));
            }
        }
    }
    Ok(())
}

fn files(error: impl std::error::Error) -> Violation {
    let mut what = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        what.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    Violation::Files { what }
}
