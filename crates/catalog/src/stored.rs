//! The stored form of a version's rows, for programs that hold hostile rows against the shipped reading.
//!
//! Nothing of the product calls this: it reads and writes through `Catalog`.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use omnigraph_types::{GraphName, GraphVersion};

use crate::error::CatalogError;
pub use crate::history::MergeDue;
use crate::rows::{BranchRow, CommitRow, OperationRow, TableRow};
use crate::state::State;
use crate::{format, graphs, history};

/// Columns of the manifest dataset.
pub fn schema() -> SchemaRef {
    format::manifest_schema()
}

/// Reads the rows of a version's own file.
///
/// # Errors
/// `Format` for another program's rows, `Corrupt` for anything that is no state of `version`.
pub fn read_state(batches: &[RecordBatch], version: GraphVersion) -> Result<State, CatalogError> {
    format::decode_state(batches, version)
}

/// The rows of a version's own file.
///
/// # Errors
/// `Corrupt` if a row is nothing that JSON can hold.
pub fn write_state(state: &State) -> Result<RecordBatch, CatalogError> {
    format::encode_state(state)
}

/// Reads a base: the rows of tables and branches.
///
/// # Errors
/// `Corrupt` for anything else.
pub fn read_base(
    batches: &[RecordBatch],
    version: GraphVersion,
) -> Result<(Vec<TableRow>, Vec<BranchRow>), CatalogError> {
    let registers = format::decode_registers(batches, version)?;
    Ok((registers.tables.into_values().collect(), registers.branches.into_values().collect()))
}

/// Reads a history fragment.
///
/// # Errors
/// `Corrupt` for anything else.
pub fn read_history(
    batches: &[RecordBatch],
    version: GraphVersion,
) -> Result<(Vec<CommitRow>, Vec<OperationRow>), CatalogError> {
    format::decode_lineage(batches, version)
}

/// Reads an entry of a graph's name, and tells what is stored of it.
///
/// # Errors
/// `Format` for another program's entry, `Corrupt` for anything else.
pub fn read_name_entry(name: &GraphName, bytes: &[u8]) -> Result<String, CatalogError> {
    graphs::read_entry(name, bytes).map(|entry| format!("{entry:?}"))
}

/// The fragments of a state's history that the next spill merges.
pub fn merge_due(state: &State) -> Option<MergeDue> {
    history::merge_due(&state.history)
}
