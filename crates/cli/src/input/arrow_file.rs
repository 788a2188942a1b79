//! Arrow IPC, the file or the stream format: batches as the file types them; the server casts where no value changes.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::reader::{FileReader, StreamReader};

use super::columns::{ColumnPlan, TypeColumns};
use super::error::InputError;
use super::meter::{Counted, Meter};
use super::open::open_file;
use super::rows::{Batches, ReadOptions, Table};

/// What a file of the file format begins with.
const FILE_MAGIC: &[u8] = b"ARROW1";

type ArrowBatches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// Opens a file and reads its schema.
pub(crate) fn open(
    file: &Path,
    of: &TypeColumns,
    options: &ReadOptions,
    meter: &Arc<Meter>,
) -> Result<Table, InputError> {
    let malformed = |source| InputError::Malformed { file: file.to_owned(), source };
    let read_failed = |source| InputError::Read { file: file.to_owned(), source };
    let mut opened = open_file(file)?;
    let mut magic = Vec::new();
    opened.by_ref().take(FILE_MAGIC.len() as u64).read_to_end(&mut magic).map_err(read_failed)?;
    opened.rewind().map_err(read_failed)?;
    let format = if magic == FILE_MAGIC { IpcFormat::File } else { IpcFormat::Stream };
    let (read_schema, reader) = read(opened, format, meter).map_err(malformed)?;

    let columns: Vec<String> = read_schema.fields().iter().map(|field| field.name().clone()).collect();
    let plan = ColumnPlan::new(file, &columns, of, &options.columns)?;
    let taken: Vec<usize> = plan.taken.iter().map(|column| column.index).collect();
    let schema = plan.sent_schema(&read_schema);
    let (file, yielded, rows_max) = (file.to_owned(), Arc::clone(&schema), options.batch_rows);
    let batches: Batches = Box::new(reader.flat_map(move |batch| {
        let malformed = |source| InputError::Malformed { file: file.clone(), source };
        let batch = batch.and_then(|batch| batch.project(&taken));
        let batch = batch.and_then(|batch| RecordBatch::try_new(Arc::clone(&yielded), batch.columns().to_vec()));
        match batch {
            Ok(batch) => slices(&batch, rows_max).into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(malformed(error))],
        }
    }));
    Ok(Table { schema, batches })
}

/// The two layouts of Arrow IPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IpcFormat {
    /// With an index at the end.
    File,
    /// One message after another.
    Stream,
}

fn read(file: File, format: IpcFormat, meter: &Arc<Meter>) -> Result<(SchemaRef, ArrowBatches), ArrowError> {
    match format {
        IpcFormat::File => {
            let reader = FileReader::try_new(BufReader::new(Counted::new(file, meter)), None)?;
            Ok((reader.schema(), Box::new(reader)))
        }
        IpcFormat::Stream => {
            let reader = StreamReader::try_new(BufReader::new(Counted::new(file, meter)), None)?;
            Ok((reader.schema(), Box::new(reader)))
        }
    }
}

/// Pieces of at most `rows_max` rows.
fn slices(batch: &RecordBatch, rows_max: usize) -> Vec<RecordBatch> {
    let starts = (0..batch.num_rows()).step_by(rows_max.max(1));
    starts.map(|start| batch.slice(start, rows_max.min(batch.num_rows() - start))).collect()
}
