//! A query's result as it travels: typed rows for services without Arrow, or pieces of one Arrow IPC stream.
//!
//! Both are made batch by batch as the client takes them; a chunk or piece is about `CHUNK_BYTES` long.

use std::collections::VecDeque;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow_ipc::writer::StreamWriter;
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use omnigraph_columns::ColumnsError;
use omnigraph_engine::BatchStream;
use omnigraph_flight::{FlightFault, split_batch};
use omnigraph_types::{ColumnInfo, ColumnType, Failure, Problem, ScalarType};
use omnigraph_wire::v1 as wire;
use prost::Message;

use self::value::Cells;

mod value;

/// Bytes of one chunk or piece, but for single rows that are larger.
const CHUNK_BYTES: usize = 1024 * 1024;
/// Bytes that a row's place in a chunk takes besides the row.
const ROW_OVERHEAD_BYTES: usize = 6;

/// The columns as results describe them: an enum's values travel as text, and its names are in the schema.
pub(crate) fn columns(columns: Vec<ColumnInfo>) -> Vec<ColumnInfo> {
    let described = |column: ColumnInfo| match column.ty {
        ColumnType::Enum(_) => ColumnInfo { ty: ColumnType::Scalar(ScalarType::String), ..column },
        ColumnType::Scalar(_) | ColumnType::List(_) | ColumnType::Vector(_) | ColumnType::Node(_) => column,
    };
    columns.into_iter().map(described).collect()
}

fn unreadable(column: &str, error: ColumnsError) -> Failure {
    Failure::new(Problem::Internal, format!("column {column} of the result cannot be read")).with_source(error)
}

/// The rows of a result, in chunks.
pub(crate) fn row_chunks(
    columns: Vec<ColumnInfo>,
    batches: BatchStream,
) -> impl Stream<Item = Result<wire::RowChunk, Failure>> + use<> {
    let state = Chunks { columns, batches, batch: None };
    stream::try_unfold(state, |mut state| async move { Ok(state.next().await?.map(|chunk| (chunk, state))) })
}

struct Chunks {
    columns: Vec<ColumnInfo>,
    batches: BatchStream,
    /// The batch that is being taken apart, and its next row.
    batch: Option<(RecordBatch, usize)>,
}

impl Chunks {
    async fn next(&mut self) -> Result<Option<wire::RowChunk>, Failure> {
        loop {
            let (batch, row) = match self.batch.take() {
                Some(open) => open,
                None => match self.batches.next().await.transpose()? {
                    Some(batch) => (batch, 0),
                    None => return Ok(None),
                },
            };
            let (chunk, next_row) = self.chunk(&batch, row)?;
            if next_row < batch.num_rows() {
                self.batch = Some((batch, next_row));
            }
            if !chunk.rows.is_empty() {
                return Ok(Some(chunk));
            }
        }
    }

    /// The rows of a batch from `row` on that make a chunk, and the row after them.
    fn chunk(&self, batch: &RecordBatch, mut row: usize) -> Result<(wire::RowChunk, usize), Failure> {
        let mut chunk = wire::RowChunk::default();
        let mut bytes = 0;
        let cells = self.columns.iter().zip(batch.columns());
        let cells =
            cells.map(|(column, array)| Cells::of(array, column).map_err(|error| unreadable(&column.name, error)));
        let cells = cells.collect::<Result<Vec<_>, _>>()?;
        while row < batch.num_rows() && bytes < CHUNK_BYTES {
            let encoded = wire::Row { values: cells.iter().map(|cells| cells.value(row)).collect() };
            bytes += encoded.encoded_len() + ROW_OVERHEAD_BYTES;
            chunk.rows.push(encoded);
            row += 1;
        }
        Ok((chunk, row))
    }
}

/// The pieces of the Arrow IPC stream that a result makes: schema, batches, end of stream.
pub(crate) fn ipc_pieces(
    schema: &SchemaRef,
    batches: BatchStream,
) -> Result<impl Stream<Item = Result<Bytes, Failure>> + use<>, Failure> {
    let writer = StreamWriter::try_new(Vec::new(), schema).map_err(encode_failure)?;
    let state = Pieces { writer, batches, split: VecDeque::new(), ready: Bytes::new(), finished: false };
    Ok(stream::try_unfold(state, |mut state| async move { Ok(state.next().await?.map(|piece| (piece, state))) }))
}

fn encode_failure(error: ArrowError) -> Failure {
    FlightFault::Encode(error).failure()
}

struct Pieces {
    writer: StreamWriter<Vec<u8>>,
    batches: BatchStream,
    split: VecDeque<RecordBatch>,
    /// Bytes written and not sent.
    ready: Bytes,
    finished: bool,
}

impl Pieces {
    async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            if self.ready.is_empty() {
                self.ready = std::mem::take(self.writer.get_mut()).into();
            }
            if !self.ready.is_empty() {
                return Ok(Some(self.ready.split_to(self.ready.len().min(CHUNK_BYTES))));
            }
            if self.finished {
                return Ok(None);
            }
            self.write().await?;
        }
    }

    /// Writes the next part of the stream.
    async fn write(&mut self) -> Result<(), Failure> {
        if let Some(batch) = self.split.pop_front() {
            return self.writer.write(&batch).map_err(encode_failure);
        }
        match self.batches.next().await.transpose()? {
            Some(batch) => {
                self.split = split_batch(batch, CHUNK_BYTES);
                Ok(())
            }
            None => {
                self.finished = true;
                self.writer.finish().map_err(encode_failure)
            }
        }
    }
}
