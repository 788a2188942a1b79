//! The id of every row: computed from the key, sent by the client, or minted.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer};
use omnigraph_columns::key::key_of_columns;
use omnigraph_columns::mapping::ID;
use omnigraph_types::Clock;
use omnigraph_types::mutant;
use ulid::{ULID_LEN, Ulid};

use crate::cause::DataFault;
use crate::error::{EngineError, Result};
use crate::load::columns::{AbsentIds, Mapped};
use crate::load::findings::RowNumbers;
use crate::schema::TypePlan;

/// The ids of a batch.
pub(crate) struct Ids {
    /// One per row, none null.
    pub(crate) column: StringArray,
    /// Those that others may refer to: the ids not minted here.
    pub(crate) known: Known,
}

/// Which ids of a batch are not minted here.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Known {
    /// All.
    All,
    /// None.
    None,
    /// Those of these rows.
    Some(Vec<usize>),
}

/// The ids of a batch without nulls in its key.
pub(crate) fn ids_of(plan: &TypePlan, mapped: &Mapped, rows: &RowNumbers, clock: &dyn Clock) -> Result<Ids> {
    // The column `id` is always there, all null where the client sent none.
    let row_count = mapped.columns[ID].len();
    let sent = mapped.sent_ids();
    if plan.is_keyed() {
        let key: Vec<&ArrayRef> = plan.key.iter().map(|&column| &mapped.columns[column]).collect();
        let column = key_of_columns(&key)?;
        if let Some(sent) = sent {
            must_equal(plan, (sent, mapped.absent_ids()), &column, rows)?;
        }
        return Ok(Ids { column, known: Known::All });
    }
    match sent {
        None => Ok(Ids { column: fresh(row_count, clock)?, known: Known::None }),
        Some(sent) if sent.null_count() == 0 => Ok(Ids { column: sent.clone(), known: Known::All }),
        Some(sent) if sent.null_count() == sent.len() => {
            Ok(Ids { column: fresh(row_count, clock)?, known: Known::None })
        }
        Some(sent) => {
            let minted = fresh(sent.null_count(), clock)?;
            let mut minted = minted.iter().flatten();
            let column = sent.iter().map(|id| id.or_else(|| minted.next())).collect();
            let known = (0..sent.len()).filter(|&row| sent.is_valid(row)).collect();
            Ok(Ids { column, known: Known::Some(known) })
        }
    }
}

fn must_equal(
    plan: &TypePlan,
    (sent, absent): (&StringArray, AbsentIds),
    computed: &StringArray,
    rows: &RowNumbers,
) -> Result<()> {
    if mutant!(171, sent.null_count() == 0 && sent == computed, true) {
        return Ok(());
    }
    let differs = |row: &usize| match sent.is_null(*row) {
        true => absent == AbsentIds::Refused,
        false => sent.value(*row) != computed.value(*row),
    };
    let Some(row) = (0..computed.len()).find(differs) else { return Ok(()) };
    let found = sent.is_valid(row).then(|| sent.value(row).to_owned());
    Err(EngineError::LoadInvalid {
        type_name: Some(plan.name().to_owned()),
        row: Some(rows.of(row)),
        column: Some("id".to_owned()),
        fault: DataFault::OtherId {
            type_name: plan.name().to_owned(),
            row: rows.of(row),
            found,
            computed: computed.value(row).to_owned(),
            key: plan.column_names(&plan.key),
        },
    })
}

/// Fresh ULIDs in ascending order: one random start per batch, then one after the other.
fn fresh(rows: usize, clock: &dyn Clock) -> Result<StringArray> {
    let mut next = clock.mint();
    let mut bytes = Vec::with_capacity(rows * ULID_LEN);
    let mut text = [0; ULID_LEN];
    for _ in 0..rows {
        bytes.extend_from_slice(next.array_to_str(&mut text).as_bytes());
        // The random part overflows once in 2^80 batches; a new random start serves as well.
        next = next.increment().unwrap_or_else(|| Ulid::from_parts(next.timestamp_ms(), clock.mint().random()));
    }
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(ULID_LEN, rows));
    StringArray::try_new(offsets, Buffer::from(bytes), None)
        .map_err(|source| EngineError::Arrow { action: "mint ids", source })
}

impl Ids {
    /// The column, shared.
    pub(crate) fn array(&self) -> ArrayRef {
        Arc::new(self.column.clone())
    }
}
