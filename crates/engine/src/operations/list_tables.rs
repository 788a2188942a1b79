//! The tables of a commit: which version of which Lance dataset holds the rows of a type.

use futures::{StreamExt, TryStreamExt, stream};
use omnigraph_catalog::{Snapshot, TableRow};
use omnigraph_lang::schema::TypeDef;
use omnigraph_storage::Store;
use omnigraph_types::{LanceBranch, TableInfo, TableState, TypeChoice};

use crate::caller::Caller;
use crate::error::{EngineError, Result, is_damaged};
use crate::execute::{Access, Execute};
use crate::reads::Asked;
use crate::snapshot::GraphSnapshot;

/// Tables opened at once.
const CONCURRENCY: usize = 8;
/// Bytes that a list counts with: the manifests that it reads at once.
const LIST_MEMORY_BYTES: u64 = 16 * 1024 * 1024;
/// How the list of a server's queries shows it.
const LISTED_AS: &str = "list of tables";

/// Asks for the tables of a pinned commit: nodes before edges, each by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListTables {
    /// Which types.
    pub types: TypeChoice,
    /// Only types that follow the one of this name, if given.
    pub after: Option<String>,
    /// Most tables.
    pub most: usize,
}

impl Execute for ListTables {
    type Target = GraphSnapshot;
    type Answer = Vec<TableInfo>;
    const NAME: &'static str = "list_tables";
    const ACCESS: Access = Access::Read;

    async fn execute(&self, on: &GraphSnapshot, caller: &Caller) -> Result<Vec<TableInfo>> {
        let schema = on.schema();
        let mut defs: Vec<&TypeDef> = match &self.types {
            TypeChoice::All => schema.types_by_name(),
            TypeChoice::Named(name) => vec![&on.prepared.by_name(name)?.def],
        };
        if let Some(after) = &self.after {
            let skipped = defs.iter().position(|def| def.name == *after).map_or(defs.len(), |place| place + 1);
            defs.drain(..skipped);
        }
        let tables: Vec<Listed> =
            defs.into_iter().take(self.most).map(|def| listed(&on.snapshot, def)).collect::<Result<_>>()?;
        let asked = Asked { commit: on.commit(), text: LISTED_AS, memory_bytes: LIST_MEMORY_BYTES };
        let admitted = on.context.reads().admit(caller, asked).await?;
        let (snapshot, store) = (on.snapshot.clone(), on.context.store().clone());
        let work = async move {
            let infos = stream::iter(tables).map(|table| info(&snapshot, &store, table)).buffered(CONCURRENCY);
            infos.try_collect().await
        };
        admitted.answer(work).await
    }
}

/// A table before it is opened.
struct Listed {
    row: TableRow,
    key: Vec<String>,
}

fn listed(snapshot: &Snapshot, def: &TypeDef) -> Result<Listed> {
    let row = snapshot.row(def.id)?.clone();
    let key = def.key.as_deref().map(|members| def.columns(members)).unwrap_or_default();
    Ok(Listed { row, key: key.into_iter().map(str::to_owned).collect() })
}

async fn info(snapshot: &Snapshot, store: &Store, table: Listed) -> Result<TableInfo> {
    let Listed { row, key } = table;
    Ok(TableInfo {
        state: state(snapshot, &row).await?,
        dataset: store.dataset_uri(&row.path),
        branch: row.tree.map_or(LanceBranch::Main, LanceBranch::Named),
        type_name: row.type_name,
        kind: row.kind,
        key,
        row_count: row.row_count,
        version: row.version,
    })
}

/// Opens the version: one that cannot be opened is listed as damaged and hides no other.
async fn state(snapshot: &Snapshot, row: &TableRow) -> Result<TableState> {
    match snapshot.open_table(row.id).await.map_err(|error| error.failure()) {
        Ok(table) => Ok(TableState::Sound { base_paths: table.base_paths() }),
        Err(failure) if is_damaged(&failure) => {
            tracing::error!(table = %row.type_name, message = %failure.message, "a table cannot be opened");
            Ok(TableState::Damaged { reason: failure.message })
        }
        Err(failure) => Err(EngineError::from(failure)),
    }
}
