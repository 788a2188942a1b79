//! Keeps a version flat in the number of tables and branches.
//!
//! Beyond `CORE_ROWS_MAX` the rows of tables and branches move into one immutable fragment, the base, and a version's own file holds only those
//! that have changed since. So a publication writes as much in a graph of a thousand tables as in one of two.

use arrow::array::RecordBatch;
use omnigraph_storage::Table;

use omnigraph_types::mutant;

use crate::error::CatalogError;
use crate::format::v2::{Registers, decode_registers, encode_registers};
use crate::history::read_rows;
use crate::snapshot::Snapshot;
use crate::state::State;

/// Rows of tables and branches that a version's own file holds.
const CORE_ROWS_MAX: usize = 64;

/// Moves the rows of `next` into a base, if there are too many for its own file, and returns the rows of the base. `fragment` is the id that
/// the base will get.
pub(crate) fn rebase(next: &mut State, fragment: u64) -> Result<Option<RecordBatch>, CatalogError> {
    let in_core = match next.base {
        Some(_) => next.tables_changed.len() + next.branches_changed.len(),
        None => next.tables.len() + next.branches.len(),
    };
    if in_core <= CORE_ROWS_MAX {
        return Ok(None);
    }
    let batch = encode_registers(next)?;
    next.base = Some(fragment);
    next.tables_changed.clear();
    next.branches_changed.clear();
    Ok(Some(batch))
}

/// Adds the rows of the base to a state that was read from a version's own file. `known` is another version of the same chain, whose rows
/// are used where the base is the same.
pub(crate) async fn complete(state: &mut State, table: &Table, known: Option<&Snapshot>) -> Result<(), CatalogError> {
    let Some(fragment) = state.base else { return Ok(()) };
    let usable = |known: &&State| {
        let is_older = mutant!(107, known.version <= state.version, true);
        known.base == state.base && is_older && known.newer.is_none()
    };
    let Registers { tables, branches, newer } = match known.map(Snapshot::state).filter(usable) {
        // Rows that have changed since the base are in the file itself, and in that of every later version.
        Some(known) => Registers { tables: known.tables.clone(), branches: known.branches.clone(), newer: None },
        None => decode_registers(&read_rows(table, &[fragment]).await?, state.version)?,
    };
    state.newer = state.newer.take().or(newer);
    state.tables_changed = state.tables.keys().copied().collect();
    state.branches_changed = state.branches.keys().copied().collect();
    for (id, row) in tables {
        state.tables.entry(id).or_insert(row);
    }
    // A branch inherits the rows of its source's base, and registers nothing itself.
    if mutant!(108, state.branch_id == state.main_branch_id, true) {
        for (id, row) in branches {
            state.branches.entry(id).or_insert(row);
        }
    }
    Ok(())
}
