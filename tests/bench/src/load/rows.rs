//! The rows of a load: always the same ones, made as the stream is sent, so that no more than a batch is held.
//!
//! Keys are the row numbers sent through a bijection and written in hexadecimal: distinct, of one length, and in no order, so neither
//! compression nor an index gets help from them. All other columns repeat those of one batch, which makes the client cheap.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;

/// Rows of one batch.
pub(crate) const BATCH_ROWS: usize = 32_768;
/// Characters of a key.
const KEY_BYTES: usize = 16;
/// An odd number: multiplying by it permutes the 64-bit numbers.
const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

/// The graph that the rows fit.
pub(crate) const SCHEMA: &str = "node Item {\n  key: String @key\n  count: I64\n  score: F64\n  label: String\n  at: DateTime\n}\n\
                                 edge Link: Item -> Item {\n  weight: F64\n  kind: String\n  since: DateTime\n}\n";

/// Which columns a stream has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Columns {
    /// Those that a client of the database sends.
    Sent,
    /// Those that are stored in the end: with the id in front, which a writer without a graph cannot make.
    Stored,
}

/// What a stream holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Nodes of type `Item`.
    Nodes,
    /// Edges of type `Link`, between nodes of the same number of rows.
    Edges,
}

impl Rows {
    /// The type's name.
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Self::Nodes => "Item",
            Self::Edges => "Link",
        }
    }

    /// The schema of a stream.
    pub(crate) fn schema(self, columns: Columns) -> SchemaRef {
        let text = |name: &str| Field::new(name, DataType::Utf8, false);
        let time = |name: &str| Field::new(name, DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())), false);
        let float = |name: &str| Field::new(name, DataType::Float64, false);
        let fields = match self {
            Self::Nodes => {
                let count = Field::new("count", DataType::Int64, false);
                vec![text("key"), count, float("score"), text("label"), time("at")]
            }
            Self::Edges => vec![text("src"), text("dst"), float("weight"), text("kind"), time("since")],
        };
        let id = match columns {
            Columns::Sent => None,
            Columns::Stored => Some(text("id")),
        };
        Arc::new(Schema::new(id.into_iter().chain(fields).collect::<Vec<_>>()))
    }

    /// All `total` rows, batch by batch.
    pub(crate) fn batches(
        self,
        columns: Columns,
        total: u64,
    ) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static {
        let schema = self.schema(columns);
        let fixed = self.fixed_columns();
        let size = BATCH_ROWS as u64;
        (0..total.div_ceil(size)).map(move |batch| {
            let first = batch * size;
            // At most BATCH_ROWS, so it fits.
            let rows = (total - first).min(size) as usize;
            let numbers = first..first + rows as u64;
            let mut keys: Vec<ArrayRef> = match self {
                Self::Nodes => vec![keys(numbers.clone())?],
                Self::Edges => {
                    let ends = |salt: u64| keys(numbers.clone().map(move |row| scatter(row ^ salt) % total));
                    vec![ends(0)?, ends(ODD)?]
                }
            };
            if columns == Columns::Stored {
                let id = match self {
                    Self::Nodes => Arc::clone(&keys[0]),
                    Self::Edges => minted(numbers),
                };
                keys.insert(0, id);
            }
            let columns = keys.into_iter().chain(fixed.iter().map(|column| column.slice(0, rows)));
            RecordBatch::try_new(schema.clone(), columns.collect())
        })
    }

    /// The columns that every batch repeats.
    fn fixed_columns(self) -> Vec<ArrayRef> {
        let numbers = || (0..BATCH_ROWS as u64).map(scatter);
        let time: ArrayRef = Arc::new(
            TimestampMillisecondArray::from_iter_values(numbers().map(|n| 1_600_000_000_000 + (n >> 24) as i64))
                .with_timezone("UTC"),
        );
        let float: ArrayRef = Arc::new(Float64Array::from_iter_values(numbers().map(|n| (n >> 11) as f64 / 1e6)));
        let label: ArrayRef =
            Arc::new(StringArray::from_iter_values(numbers().map(|n| format!("label-{}", n % 1_000))));
        match self {
            Self::Nodes => {
                vec![Arc::new(Int64Array::from_iter_values(numbers().map(|n| n as i64))), float, label, time]
            }
            Self::Edges => vec![float, label, time],
        }
    }
}

/// A bijection of the 64-bit numbers without visible order.
fn scatter(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(ODD);
    mixed = (mixed ^ (mixed >> 32)).wrapping_mul(ODD);
    mixed ^ (mixed >> 29)
}

/// Ids as long as fresh ones, and like those of one moment.
fn minted(rows: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(rows.map(|row| format!("01JDQ{:016X}{:05}", scatter(row), row % 100_000))))
}

/// The keys of rows, as one text column without nulls.
fn keys(rows: impl Iterator<Item = u64>) -> Result<ArrayRef, ArrowError> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = Vec::with_capacity(BATCH_ROWS * KEY_BYTES);
    for row in rows {
        let key = scatter(row);
        text.extend((0..KEY_BYTES).map(|digit| DIGITS[(key >> (60 - 4 * digit)) as usize & 15]));
    }
    let count = text.len() / KEY_BYTES;
    // A batch holds half a MiB of key text.
    let offsets: Vec<i32> = (0..=count).map(|row| (row * KEY_BYTES) as i32).collect();
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok(Arc::new(StringArray::try_new(offsets, Buffer::from_vec(text), None)?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use arrow::array::AsArray;

    use super::*;

    fn column(rows: Rows, total: u64, name: &str) -> Vec<String> {
        let texts = |batch: RecordBatch| {
            let column = batch.column_by_name(name).unwrap().as_string::<i32>().clone();
            column.iter().map(|text| text.unwrap().to_owned()).collect::<Vec<_>>()
        };
        rows.batches(Columns::Sent, total).flat_map(|batch| texts(batch.unwrap())).collect()
    }

    #[test]
    fn every_key_is_new_and_every_end_is_a_key() {
        let total = BATCH_ROWS as u64 * 2 + 5;
        let keys = column(Rows::Nodes, total, "key");
        let distinct: BTreeSet<_> = keys.iter().cloned().collect();
        assert_eq!((keys.len() as u64, distinct.len() as u64), (total, total));
        for end in ["src", "dst"] {
            assert!(column(Rows::Edges, total, end).iter().all(|id| distinct.contains(id)));
        }
    }
}
