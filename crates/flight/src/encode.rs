//! Record batches to Flight messages, one at a time.
//!
//! Arrow-flight's encoder measures a slice by the whole allocation behind it and encodes all pieces of a batch before it sends the first;
//! this one measures the slice itself and encodes a piece when the client has room for it.

use std::collections::VecDeque;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow_flight::FlightData;
use arrow_ipc::writer::{CompressionContext, DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use futures::{Stream, StreamExt, stream};
use omnigraph_engine::BatchStream;
use omnigraph_types::Failure;

use crate::FlightFault;

/// Bytes of the largest message sent, but for single rows that are larger. Clients decode at most 4 MiB by default.
const MESSAGE_BYTES_MAX: usize = 3 * 1024 * 1024;

/// The stream of messages of a stream of batches: the schema first, also if there are no rows.
pub(crate) fn messages(
    schema: &SchemaRef,
    batches: BatchStream,
) -> impl Stream<Item = Result<FlightData, Failure>> + use<> {
    let mut ipc = Ipc::new();
    let first = ipc.encode_schema(schema);
    let encoder = Encoder { batches, pieces: VecDeque::new(), ready: VecDeque::new(), ipc };
    let rest = stream::try_unfold(encoder, |mut encoder| async move {
        let message = encoder.next().await?;
        Ok(message.map(|message| (message, encoder)))
    });
    stream::iter([Ok(first)]).chain(rest)
}

struct Encoder {
    batches: BatchStream,
    pieces: VecDeque<RecordBatch>,
    ready: VecDeque<FlightData>,
    ipc: Ipc,
}

struct Ipc {
    generator: IpcDataGenerator,
    options: IpcWriteOptions,
    compression: CompressionContext,
    dictionaries: DictionaryTracker,
}

impl Ipc {
    fn new() -> Self {
        Self {
            generator: IpcDataGenerator::default(),
            options: IpcWriteOptions::default(),
            compression: CompressionContext::default(),
            // A batch may replace the dictionary of the one before it.
            dictionaries: DictionaryTracker::new(false),
        }
    }

    fn encode_schema(&mut self, schema: &Schema) -> FlightData {
        self.generator.schema_to_bytes_with_dictionary_tracker(schema, &mut self.dictionaries, &self.options).into()
    }

    /// Encodes one batch: its dictionaries, if there are any, and itself.
    fn encode(&mut self, batch: &RecordBatch) -> Result<VecDeque<FlightData>, ArrowError> {
        let (dictionaries, batch) =
            self.generator.encode(batch, &mut self.dictionaries, &self.options, &mut self.compression)?;
        Ok(dictionaries.into_iter().chain([batch]).map(FlightData::from).collect())
    }
}

impl Encoder {
    async fn next(&mut self) -> Result<Option<FlightData>, Failure> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(Some(message));
            }
            if let Some(piece) = self.pieces.pop_front() {
                self.ready = self.ipc.encode(&piece).map_err(|error| FlightFault::Encode(error).failure())?;
                continue;
            }
            match self.batches.next().await.transpose()? {
                Some(batch) => self.pieces = split_batch(batch, MESSAGE_BYTES_MAX),
                None => return Ok(None),
            }
        }
    }
}

/// Slices of a batch, in order, of at most `bytes_max` bytes each where rows are not larger. Copies nothing. An empty batch has none.
pub fn split_batch(batch: RecordBatch, bytes_max: usize) -> VecDeque<RecordBatch> {
    let mut done = VecDeque::new();
    let mut open = vec![batch];
    // Each step halves a slice or finishes it, so that there are fewer than twice as many steps as rows.
    while let Some(batch) = open.pop() {
        let rows = batch.num_rows();
        if rows == 0 {
            continue;
        }
        if rows == 1 || slice_bytes(&batch) <= bytes_max {
            done.push_back(batch);
        } else {
            let half = rows / 2;
            open.push(batch.slice(half, rows - half));
            open.push(batch.slice(0, half));
        }
    }
    done
}

fn slice_bytes(batch: &RecordBatch) -> usize {
    let column_bytes = |column: &arrow::array::ArrayRef| {
        column.to_data().get_slice_memory_size().unwrap_or_else(|_| column.get_buffer_memory_size())
    };
    batch.columns().iter().map(column_bytes).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, StringArray};

    use super::*;

    fn batch(lengths: &[usize]) -> RecordBatch {
        let texts: Vec<String> = lengths.iter().map(|&length| "x".repeat(length)).collect();
        RecordBatch::try_from_iter([("text", Arc::new(StringArray::from(texts)) as ArrayRef)]).unwrap()
    }

    #[test]
    fn batch_is_split_into_slices_within_the_bound_that_make_it_up() {
        let whole = batch(&[100; 1000]);
        let pieces = split_batch(whole.clone(), 4096);
        assert!(pieces.len() > 20 && pieces.len() < 64, "{} pieces", pieces.len());
        assert!(pieces.iter().all(|piece| slice_bytes(piece) <= 4096));
        let joined = arrow::compute::concat_batches(&whole.schema(), &pieces).unwrap();
        assert_eq!(joined, whole);
    }

    #[test]
    fn slice_of_a_large_batch_is_measured_alone() {
        let slice = batch(&[100; 1000]).slice(500, 10);
        assert_eq!(split_batch(slice, 4096).len(), 1);
    }

    #[test]
    fn row_larger_than_the_bound_travels_alone() {
        let pieces = split_batch(batch(&[1, 10_000, 1]), 4096);
        assert_eq!(pieces.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn empty_batch_has_no_slices() {
        assert!(split_batch(batch(&[]), 4096).is_empty());
    }
}
