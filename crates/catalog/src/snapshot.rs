//! One published version of one branch, opened: immutable and cheap to clone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use omnigraph_storage::{Store, Table};
use omnigraph_types::{BranchId, BranchName, Clock, CommitId, GraphId, GraphVersion, Moment, TableId};

use crate::chain::Chain;
use crate::error::CatalogError;
use crate::rows::{CommitRow, TableRow};
use crate::state::State;

/// Age of an own publication up to which it is presumed to be the newest version.
const PRESUMED_AGE_MAX: Duration = Duration::from_secs(1);

/// The instant at which a process proved that a version was the newest, taken before the store was asked.
pub(crate) type Proof = Moment;

#[derive(Debug)]
struct Opened {
    store: Store,
    chain: Chain,
    table: Table,
    state: State,
    author: Author,
    tables: Mutex<HashMap<TableId, Table>>,
}

/// Who published a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    /// This very process.
    Here,
    /// Any process.
    Anywhere,
}

/// One published version of one branch. Everything read through it is of that version (I-1).
#[derive(Debug, Clone)]
pub struct Snapshot {
    opened: Arc<Opened>,
    proof: Proof,
}

impl Snapshot {
    pub(crate) fn new(
        store: Store,
        chain: Chain,
        (table, state): (Table, State),
        author: Author,
        proof: Proof,
    ) -> Self {
        let tables = Mutex::default();
        Self { opened: Arc::new(Opened { store, chain, table, state, author, tables }), proof }
    }

    /// Whether this process published the version moments ago.
    pub(crate) fn is_own_and_recent(&self, clock: &dyn Clock) -> bool {
        self.opened.author == Author::Here && self.proof_age(clock) <= PRESUMED_AGE_MAX
    }

    /// The same version, proven newest again.
    pub(crate) fn proven(&self, proof: Proof) -> Self {
        Self { opened: self.opened.clone(), proof }
    }

    /// Time since this version was last proven newest by this process.
    pub fn proof_age(&self, clock: &dyn Clock) -> Duration {
        self.proof.age(clock)
    }

    pub(crate) fn manifest(&self) -> &Table {
        &self.opened.table
    }

    /// Everything the version holds.
    pub fn state(&self) -> &State {
        &self.opened.state
    }

    /// The graph.
    pub fn graph_id(&self) -> GraphId {
        self.state().graph_id
    }

    /// The branch.
    pub fn branch_id(&self) -> BranchId {
        self.state().branch_id
    }

    /// The branch's chain.
    pub fn chain(&self) -> &Chain {
        &self.opened.chain
    }

    /// The name under which the branch was opened.
    pub fn branch_name(&self) -> &BranchName {
        &self.opened.chain.name
    }

    /// The version.
    pub fn version(&self) -> GraphVersion {
        self.state().version
    }

    /// The newest commit at this version.
    pub fn head(&self) -> CommitId {
        self.state().head
    }

    /// The newest commit at this version, whole.
    pub fn head_commit(&self) -> &CommitRow {
        self.state().head_commit()
    }

    /// Hash of the accepted contract, in hexadecimal.
    pub fn schema_hash(&self) -> &str {
        &self.state().schema_hash
    }

    /// The tables, by id.
    pub fn tables(&self) -> impl Iterator<Item = &TableRow> {
        self.state().tables.values()
    }

    /// One table.
    pub fn table(&self, id: TableId) -> Option<&TableRow> {
        self.state().tables.get(&id)
    }

    /// The row of a table that the schema names.
    ///
    /// # Errors
    /// `Corrupt` if there is none.
    pub fn row(&self, id: TableId) -> Result<&TableRow, CatalogError> {
        self.table(id).ok_or_else(|| CatalogError::Corrupt {
            object: format!("version {} of the graph's manifest", self.version()),
            expected: format!("a row for table {id}"),
        })
    }

    fn tables_opened(&self) -> MutexGuard<'_, HashMap<TableId, Table>> {
        self.opened.tables.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Keeps tables that are open already, as far as they are open at this version's pins.
    pub fn adopt(&self, tables: Vec<Table>) {
        let mut opened = self.tables_opened();
        for table in tables {
            let pin = table.pin();
            if let Some(row) = self.tables().find(|row| row.pin() == pin) {
                opened.insert(row.id, table);
            }
        }
    }

    /// The tables opened through this version so far.
    pub(crate) fn adopted(&self) -> Vec<Table> {
        self.tables_opened().values().cloned().collect()
    }

    /// Opens a table at its pin, once.
    pub async fn open_table(&self, id: TableId) -> Result<Table, CatalogError> {
        if let Some(table) = self.tables_opened().get(&id) {
            return Ok(table.clone());
        }
        let row = self.row(id)?;
        let table = self.opened.store.open_table(&row.pin()).await?;
        self.tables_opened().insert(id, table.clone());
        Ok(table)
    }
}
