//! Parquet: batches as the file types them; the server casts where no value changes.

use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;

use super::columns::{ColumnPlan, TypeColumns};
use super::error::InputError;
use super::int96;
use super::meter::Meter;
use super::open::{bytes_of, open_file};
use super::rows::{Batches, ReadOptions, Table};

/// Opens a file and reads its footer.
pub(crate) fn open(
    file: &Path,
    of: &TypeColumns,
    options: &ReadOptions,
    meter: &Arc<Meter>,
) -> Result<Table, InputError> {
    let malformed = |source| InputError::MalformedParquet { file: file.to_owned(), source };
    let builder = ParquetRecordBatchReaderBuilder::try_new(open_file(file)?).map_err(malformed)?;
    let old_times = int96::roots(builder.parquet_schema());
    let builder = match old_times.is_empty() {
        true => builder,
        false => {
            let schema = int96::as_milliseconds(builder.schema(), &old_times);
            let read = ArrowReaderOptions::new().with_schema(schema);
            ParquetRecordBatchReaderBuilder::try_new_with_options(open_file(file)?, read).map_err(malformed)?
        }
    };
    let columns: Vec<String> = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
    let plan = ColumnPlan::new(file, &columns, of, &options.columns)?;
    let (order, schema) = (plan.places_in_file_order(), plan.sent_schema(builder.schema()));
    let taken = plan.taken.iter().map(|column| column.index);
    let checked: Vec<usize> = taken.clone().filter(|index| old_times.contains(index)).collect();
    let mut nanoseconds = Nanoseconds::open(file, &checked, options.batch_rows)?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), taken);
    let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
    let mut share = Share { bytes: bytes_of(file).unwrap_or(0), rows, rows_read: 0, bytes_counted: 0 };
    let reader = builder.with_projection(mask).with_batch_size(options.batch_rows).build().map_err(malformed)?;
    let (file, meter, yielded) = (file.to_owned(), Arc::clone(meter), Arc::clone(&schema));
    let batches: Batches = Box::new(reader.map(move |batch| {
        let malformed = |source| InputError::Malformed { file: file.clone(), source };
        let batch = batch.map_err(malformed)?;
        nanoseconds.check(&batch, &file, share.rows_read)?;
        let batch = batch.project(&order).map_err(malformed)?;
        meter.add_bytes(share.after(batch.num_rows() as u64));
        RecordBatch::try_new(Arc::clone(&yielded), batch.columns().to_vec()).map_err(malformed)
    }));
    Ok(Table { schema, batches })
}

/// A second reader of the old timestamps, which goes along with the first one batch by batch.
struct Nanoseconds(Option<ParquetRecordBatchReader>);

impl Nanoseconds {
    fn open(file: &Path, roots: &[usize], batch_rows: usize) -> Result<Self, InputError> {
        if roots.is_empty() {
            return Ok(Self(None));
        }
        let malformed = |source: ParquetError| InputError::MalformedParquet { file: file.to_owned(), source };
        let builder = ParquetRecordBatchReaderBuilder::try_new(open_file(file)?).map_err(malformed)?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), roots.iter().copied());
        builder
            .with_projection(mask)
            .with_batch_size(batch_rows)
            .build()
            .map(|reader| Self(Some(reader)))
            .map_err(malformed)
    }

    fn check(&mut self, batch: &RecordBatch, file: &Path, rows_before: u64) -> Result<(), InputError> {
        match self.0.as_mut().and_then(Iterator::next) {
            Some(Ok(nanoseconds)) => int96::check(batch, &nanoseconds, file, rows_before),
            Some(Err(source)) => Err(InputError::Malformed { file: file.to_owned(), source }),
            None => Ok(()),
        }
    }
}

/// The bytes of a file that some of its rows are counted as: a reader jumps about, so its reads say nothing about progress.
struct Share {
    bytes: u64,
    rows: u64,
    rows_read: u64,
    bytes_counted: u64,
}

impl Share {
    /// Bytes to count for the next `rows`.
    fn after(&mut self, rows: u64) -> u64 {
        self.rows_read += rows;
        let reached = u128::from(self.bytes) * u128::from(self.rows_read) / u128::from(self.rows.max(1));
        let reached = u64::try_from(reached).unwrap_or(u64::MAX);
        let more = reached.saturating_sub(self.bytes_counted);
        self.bytes_counted = reached;
        more
    }
}
