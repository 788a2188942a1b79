//! The stored form of a version's rows, for programs that test the shipped reading with hostile rows.
//!
//! Nothing of the product calls this: it reads and writes through `Catalog`.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use omnigraph_types::{GraphName, GraphVersion};

use crate::error::CatalogError;
use crate::format::raw::manifest_schema;
use crate::format::v2;
pub use crate::history::MergeDue;
use crate::rows::{BranchRow, CommitRow, PublicationRow, TableRow};
use crate::state::State;
use crate::{history, names};

/// Columns of the manifest dataset.
pub fn schema() -> SchemaRef {
    manifest_schema()
}

/// Reads the rows of a version's own file.
///
/// # Errors
/// `Format` for the rows of another format, `Corrupt` for anything that is no state of `version`.
pub fn read_state(batches: &[RecordBatch], version: GraphVersion) -> Result<State, CatalogError> {
    v2::decode_state(batches, version)
}

/// The rows of a version's own file.
///
/// # Errors
/// `Newer` for a state that holds what only a newer program knows.
pub fn write_state(state: &State) -> Result<RecordBatch, CatalogError> {
    v2::encode_state(state)
}

/// Reads a base: the rows of tables and branches.
///
/// # Errors
/// `Corrupt` for anything else.
pub fn read_base(
    batches: &[RecordBatch],
    version: GraphVersion,
) -> Result<(Vec<TableRow>, Vec<BranchRow>), CatalogError> {
    let registers = v2::decode_registers(batches, version)?;
    Ok((registers.tables.into_values().collect(), registers.branches.into_values().collect()))
}

/// Reads a history fragment.
///
/// # Errors
/// `Corrupt` for anything else.
pub fn read_history(
    batches: &[RecordBatch],
    version: GraphVersion,
) -> Result<(Vec<CommitRow>, Vec<PublicationRow>), CatalogError> {
    let lineage = v2::decode_lineage(batches, version)?;
    Ok((lineage.commits, lineage.publications))
}

/// Reads an entry of a graph's name, and returns what it says as text.
///
/// # Errors
/// `Format` for an entry of another format, `Newer` for one of a newer program, `Corrupt` for anything else.
pub fn read_name_entry(name: &GraphName, bytes: &[u8]) -> Result<String, CatalogError> {
    names::read_entry(name, bytes).map(|entry| format!("{entry:?}"))
}

/// The fragments of a state's history that the next spill merges.
pub fn merge_due(state: &State) -> Option<MergeDue> {
    history::merge_due(&state.history)
}
