//! Fingerprints of ids and of unique tuples: 128-bit SipHash under a key that is fresh for every load.
//!
//! The key is secret, so nobody can choose values that collide; by chance two of 2^40 values do so with probability below 2^-48.
//! Tuples are encoded injectively before they are hashed: each member has a fixed width or carries its length.

use arrow::array::{Array, AsArray, BooleanArray, PrimitiveArray, RecordBatch, StringArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMillisecondType,
    UInt32Type, UInt64Type,
};
use omnigraph_types::Clock;
use siphasher::sip128::SipHasher13;

use crate::error::{EngineError, Result};

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
        let members =
            columns.iter().map(|&column| Member::of(batch.column(column).as_ref())).collect::<Result<Vec<_>>>()?;
        let mut encoded = Vec::new();
        let tuple = |row| {
            encoded.clear();
            members.iter().try_for_each(|member| member.encode(row, &mut encoded))?;
            Some(self.bytes(&encoded))
        };
        Ok((0..batch.num_rows()).map(tuple).collect())
    }
}

/// One column of a tuple.
enum Member<'a> {
    Text(&'a StringArray),
    Bool(&'a BooleanArray),
    I32(&'a PrimitiveArray<Int32Type>),
    I64(&'a PrimitiveArray<Int64Type>),
    U32(&'a PrimitiveArray<UInt32Type>),
    U64(&'a PrimitiveArray<UInt64Type>),
    F32(&'a PrimitiveArray<Float32Type>),
    F64(&'a PrimitiveArray<Float64Type>),
    Date(&'a PrimitiveArray<Date32Type>),
    DateTime(&'a PrimitiveArray<TimestampMillisecondType>),
}

impl<'a> Member<'a> {
    fn of(array: &'a dyn Array) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Utf8 => Self::Text(array.as_string()),
            DataType::Boolean => Self::Bool(array.as_boolean()),
            DataType::Int32 => Self::I32(array.as_primitive()),
            DataType::Int64 => Self::I64(array.as_primitive()),
            DataType::UInt32 => Self::U32(array.as_primitive()),
            DataType::UInt64 => Self::U64(array.as_primitive()),
            DataType::Float32 => Self::F32(array.as_primitive()),
            DataType::Float64 => Self::F64(array.as_primitive()),
            DataType::Date32 => Self::Date(array.as_primitive()),
            DataType::Timestamp(arrow::datatypes::TimeUnit::Millisecond, _) => Self::DateTime(array.as_primitive()),
            _ => return Err(EngineError::Defect("a unique member of a type without equality")),
        })
    }

    /// Appends the row's value; `None` if it is null.
    fn encode(&self, row: usize, out: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Text(array) => {
                let text = array.is_valid(row).then(|| array.value(row))?;
                out.extend_from_slice(&(text.len() as u64).to_le_bytes());
                out.extend_from_slice(text.as_bytes());
            }
            Self::Bool(array) => out.push(u8::from(array.is_valid(row).then(|| array.value(row))?)),
            Self::I32(array) => out.extend_from_slice(&value(array, row)?.to_le_bytes()),
            Self::I64(array) => out.extend_from_slice(&value(array, row)?.to_le_bytes()),
            Self::U32(array) => out.extend_from_slice(&value(array, row)?.to_le_bytes()),
            Self::U64(array) => out.extend_from_slice(&value(array, row)?.to_le_bytes()),
            // Adding zero makes the two zeros one value, as comparison has them.
            Self::F32(array) => out.extend_from_slice(&(value(array, row)? + 0.0).to_le_bytes()),
            Self::F64(array) => out.extend_from_slice(&(value(array, row)? + 0.0).to_le_bytes()),
            Self::Date(array) => out.extend_from_slice(&value(array, row)?.to_le_bytes()),
            Self::DateTime(array) => out.extend_from_slice(&value(array, row)?.to_le_bytes()),
        }
        Some(())
    }
}

fn value<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    array.is_valid(row).then(|| array.value(row))
}

/// Endpoints repeat: a small table of those seen last keeps most repetitions out of the sets.
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
    /// Whether the fingerprint is not among those seen last; it is afterwards.
    pub(crate) fn is_news(&mut self, fingerprint: u128) -> bool {
        // The low bits fit in a usize on every machine.
        let slot = &mut self.slots[fingerprint as usize % RECENT_SLOTS];
        std::mem::replace(slot, fingerprint) != fingerprint
    }
}
