//! Fingerprints of ids and of unique tuples: 128-bit SipHash under a key that is fresh for every load.
//!
//! The key is secret, so no client can choose values that collide; two of 2^40 values collide by chance with probability below 2^-48.
//! Tuples are encoded injectively before they are hashed: each member has a fixed width or carries its length.

use arrow::array::{Array, PrimitiveArray, RecordBatch};
use arrow::datatypes::ArrowPrimitiveType;
use omnigraph_columns::views::ScalarColumn;
use omnigraph_types::Clock;
use siphasher::sip128::SipHasher13;

use crate::error::Result;

/// Makes fingerprints. Those of one load compare with each other, those of two loads do not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fingerprinter {
    hasher: SipHasher13,
}

impl Fingerprinter {
    /// A fingerprinter with a fresh key.
    pub(crate) fn new(clock: &dyn Clock) -> Self {
        // The low 64 of a ULID's 80 random bits.
        let word = || u64::try_from(clock.mint().random() & u128::from(u64::MAX)).unwrap_or_default();
        Self { hasher: SipHasher13::new_with_keys(word(), word()) }
    }

    /// The fingerprint of an id.
    pub(crate) fn text(&self, text: &str) -> u128 {
        self.bytes(text.as_bytes())
    }

    fn bytes(&self, bytes: &[u8]) -> u128 {
        let hash = self.hasher.hash(bytes);
        u128::from(hash.h1) | u128::from(hash.h2) << 64
    }

    /// The fingerprints of the tuples of some columns, one per row; `None` where a member is null.
    pub(crate) fn tuples(&self, batch: &RecordBatch, columns: &[usize]) -> Result<Vec<Option<u128>>> {
        let members = columns.iter().map(|&column| ScalarColumn::of(batch.column(column).as_ref()));
        let members = members.collect::<Result<Vec<_>, _>>()?;
        let mut encoded = Vec::new();
        let tuple = |row| {
            encoded.clear();
            members.iter().try_for_each(|member| encode(*member, row, &mut encoded))?;
            Some(self.bytes(&encoded))
        };
        Ok((0..batch.num_rows()).map(tuple).collect())
    }
}

/// Appends a row's value, injectively within its type; `None` if it is null.
fn encode(column: ScalarColumn<'_>, row: usize, out: &mut Vec<u8>) -> Option<()> {
    match column {
        ScalarColumn::String(array) => {
            let text = array.is_valid(row).then(|| array.value(row))?;
            out.extend_from_slice(&(text.len() as u64).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        ScalarColumn::Bool(array) => out.push(u8::from(array.is_valid(row).then(|| array.value(row))?)),
        ScalarColumn::I32(array) => out.extend_from_slice(&value(array, row)?.to_le_bytes()),
        ScalarColumn::I64(array) => out.extend_from_slice(&value(array, row)?.to_le_bytes()),
        ScalarColumn::U32(array) => out.extend_from_slice(&value(array, row)?.to_le_bytes()),
        ScalarColumn::U64(array) => out.extend_from_slice(&value(array, row)?.to_le_bytes()),
        // Adding zero makes the two zeros one value: they compare as equal.
        ScalarColumn::F32(array) => out.extend_from_slice(&(value(array, row)? + 0.0).to_le_bytes()),
        ScalarColumn::F64(array) => out.extend_from_slice(&(value(array, row)? + 0.0).to_le_bytes()),
        ScalarColumn::Date(array) => out.extend_from_slice(&value(array, row)?.to_le_bytes()),
        ScalarColumn::DateTime(array) => out.extend_from_slice(&value(array, row)?.to_le_bytes()),
    }
    Some(())
}

fn value<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    array.is_valid(row).then(|| array.value(row))
}

/// Endpoints repeat: a small table of the endpoints seen last keeps most repetitions out of the sets.
#[derive(Debug)]
pub(crate) struct RecentlySeen {
    slots: Vec<u128>,
}

/// Slots of the table; 128 KiB.
const RECENT_SLOTS: usize = 8_192;

impl Default for RecentlySeen {
    fn default() -> Self {
        Self { slots: vec![0; RECENT_SLOTS] }
    }
}

impl RecentlySeen {
    /// Whether the fingerprint is not among those seen last. Adds it.
    pub(crate) fn is_news(&mut self, fingerprint: u128) -> bool {
        // The low bits fit in a usize on every machine.
        let slot = &mut self.slots[fingerprint as usize % RECENT_SLOTS];
        std::mem::replace(slot, fingerprint) != fingerprint
    }
}
