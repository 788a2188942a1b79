//! What is stored and what the schema language says, in the words of the vocabulary.

use omnigraph_catalog::{CommitRow, PublicationKind, RecoveryRow, Snapshot, TableCounts};
use omnigraph_lang::schema::{PropertyType, Scalar};
use omnigraph_types::{
    BranchName, ColumnType, Commit, GraphName, RecoveredTable, Recovery, RecoveryOutcome, ScalarType, TypeCounts,
    WriterName,
};

/// The counts of a commit.
pub(crate) fn type_counts(counts: &[TableCounts]) -> Vec<TypeCounts> {
    let count = |count: &TableCounts| TypeCounts {
        type_name: count.type_name.clone(),
        kind: Some(count.kind),
        inserted: count.inserted,
        updated: count.updated,
        deleted: count.deleted,
        row_count: count.row_count,
    };
    let mut counts: Vec<TypeCounts> = counts.iter().map(count).collect();
    counts.sort_by(|a, b| a.type_name.cmp(&b.type_name));
    counts
}

/// A stored commit, with the name that its branch had.
pub(crate) fn commit(graph: &GraphName, row: CommitRow, branch: BranchName) -> Commit {
    Commit {
        operation_id: row.first_operation().operation_id,
        id: row.id,
        graph: graph.clone(),
        branch,
        parents: row.parents,
        actor: row.actor,
        time_ms: row.time_ms,
        kind: row.kind,
        version: row.version,
        schema_hash: row.schema_hash,
        counts: type_counts(&row.counts),
    }
}

/// The writer of a stored recovery. What is stored may be any text, and hides neither the recovery nor others.
fn writer(stored: &str) -> WriterName {
    stored.parse().unwrap_or(WriterName::UNKNOWN)
}

/// A recovery that a version of a branch records.
pub(crate) fn recovery(snapshot: &Snapshot, row: &RecoveryRow) -> Recovery {
    let name = |table| snapshot.table(table).map_or_else(|| table.to_string(), |row| row.type_name.clone());
    let table = |moved: &omnigraph_catalog::TableTransition| RecoveredTable {
        type_name: name(moved.table),
        from: moved.from,
        to: moved.to,
    };
    Recovery {
        operation_id: row.operation_id,
        branch: snapshot.branch_name().clone(),
        writer: writer(&row.writer),
        actor: row.original_actor.clone(),
        outcome: recovery_outcome(row.kind),
        tables: row.tables.iter().map(table).collect(),
        time_ms: row.time_ms,
        version: row.version,
    }
}

fn recovery_outcome(kind: PublicationKind) -> RecoveryOutcome {
    match kind {
        PublicationKind::Abort | PublicationKind::Repair => RecoveryOutcome::RolledBack,
        PublicationKind::Settle => RecoveryOutcome::Settled,
        PublicationKind::Commit
        | PublicationKind::BranchCreate
        | PublicationKind::Retire
        | PublicationKind::BranchDelete
        | PublicationKind::Index
        | PublicationKind::Optimize
        | PublicationKind::Retention
        | PublicationKind::LoadAbort => RecoveryOutcome::RolledForward,
        PublicationKind::Newer => RecoveryOutcome::Newer,
    }
}

/// The type of a property.
pub(crate) fn column_type(ty: &PropertyType) -> ColumnType {
    match ty {
        PropertyType::Scalar(scalar) => ColumnType::Scalar(scalar_type(*scalar)),
        PropertyType::List(scalar) => ColumnType::List(scalar_type(*scalar)),
        PropertyType::Vector(length) => ColumnType::Vector(*length),
        PropertyType::Enum(names) => ColumnType::Enum(names.clone()),
        PropertyType::Blob => ColumnType::Scalar(ScalarType::Blob),
    }
}

fn scalar_type(scalar: Scalar) -> ScalarType {
    match scalar {
        Scalar::String => ScalarType::String,
        Scalar::Bool => ScalarType::Bool,
        Scalar::I32 => ScalarType::I32,
        Scalar::I64 => ScalarType::I64,
        Scalar::U32 => ScalarType::U32,
        Scalar::U64 => ScalarType::U64,
        Scalar::F32 => ScalarType::F32,
        Scalar::F64 => ScalarType::F64,
        Scalar::Date => ScalarType::Date,
        Scalar::DateTime => ScalarType::DateTime,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_writer_of_any_text_is_described() {
        assert_eq!(writer("load"), WriterName::known("load"));
        for stored in ["Load", "", "a b"] {
            assert_eq!(writer(stored), WriterName::UNKNOWN, "{stored:?}");
        }
    }
}
