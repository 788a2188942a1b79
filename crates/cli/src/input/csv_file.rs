//! CSV and TSV: a header line, then rows of text that are read against the declared types.
//!
//! Why the cells are first taken as text: only so can `NA` stay text in a String column, an error name file, row and column, and lists be
//! read at all.
//!
//! A cell is null where it is empty, quoted or not, or one of the `null_values`.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::csv::ReaderBuilder;
use arrow::csv::reader::Format;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::columns::{ColumnPlan, TypeColumns};
use super::error::InputError;
use super::meter::{Counted, Meter};
use super::open::{is_standard_input, open_file};
use super::quotes::Quotes;
use super::rows::{Batches, ReadOptions, Table};
use super::text::{TextError, parse_column};

/// Bytes of the longest header line.
const HEADER_BYTES_MAX: usize = 1024 * 1024;
/// Bytes read from the file at once.
const BUFFER_BYTES: usize = 256 * 1024;
/// The mark that some programs write at the start of a UTF-8 file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Opens a file, or the standard input, and reads its header.
pub(crate) fn open(
    file: &Path,
    delimiter: u8,
    of: &TypeColumns,
    options: &ReadOptions,
    meter: &Arc<Meter>,
) -> Result<Table, InputError> {
    let reader: Box<dyn Read + Send> =
        if is_standard_input(file) { Box::new(io::stdin()) } else { Box::new(open_file(file)?) };
    let reader = BufReader::with_capacity(BUFFER_BYTES, Counted::new(reader, meter));
    read(reader, file, delimiter, of, options)
}

/// Reads a header, then yields the rows below it.
pub(crate) fn read(
    mut reader: impl BufRead + Send + 'static,
    file: &Path,
    delimiter: u8,
    of: &TypeColumns,
    options: &ReadOptions,
) -> Result<Table, InputError> {
    let malformed = |source| InputError::Malformed { file: file.to_owned(), source };
    let header = read_header(&mut reader, file)?;
    let format = Format::default().with_header(true).with_delimiter(delimiter);
    let (names, _) = format.infer_schema(header.as_slice(), Some(0)).map_err(malformed)?;
    let columns: Vec<String> = names.fields().iter().map(|field| field.name().clone()).collect();
    let plan = ColumnPlan::new(file, &columns, of, &options.columns)?;

    let text_fields: Vec<Field> = columns.iter().map(|name| Field::new(name, DataType::Utf8, true)).collect();
    let rows = ReaderBuilder::new(Arc::new(Schema::new(text_fields)))
        .with_delimiter(delimiter)
        .with_batch_size(options.batch_rows)
        .with_projection(plan.taken.iter().map(|column| column.index).collect())
        .build_buffered(Quotes::new(reader, delimiter, 1 + header.iter().filter(|&&byte| byte == b'\n').count() as u64))
        .map_err(malformed)?;
    let fields: Vec<Field> = plan
        .taken
        .iter()
        .map(|column| Field::new(column.declared.name(), column.declared.data_type().clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let mut typed = Typed { file: file.to_owned(), plan, schema, null_values: options.null_values.clone(), rows: 0 };
    let schema = Arc::clone(&typed.schema);
    let file = file.to_owned();
    let batches: Batches = Box::new(rows.map(move |batch| {
        let batch = batch.map_err(|source| InputError::Malformed { file: file.clone(), source })?;
        typed.convert(&batch)
    }));
    Ok(Table { schema, batches })
}

/// The bytes of the first record: up to a line end that is not inside quotes, without a byte-order mark.
fn read_header(reader: &mut impl BufRead, file: &Path) -> Result<Vec<u8>, InputError> {
    let read_failed = |source| InputError::Read { file: file.to_owned(), source };
    let mut header = Vec::new();
    loop {
        let before = header.len();
        let mut line = reader.by_ref().take((HEADER_BYTES_MAX - before) as u64 + 1);
        let read = line.read_until(b'\n', &mut header).map_err(read_failed)?;
        if header.len() > HEADER_BYTES_MAX {
            return Err(InputError::HeaderTooLong { file: file.to_owned(), bytes: HEADER_BYTES_MAX });
        }
        let quotes = header.iter().filter(|&&byte| byte == b'"').count();
        if read == 0 || quotes % 2 == 0 {
            break;
        }
    }
    if header.starts_with(BYTE_ORDER_MARK) {
        header.drain(..BYTE_ORDER_MARK.len());
    }
    if header.windows(2).any(|pair| pair[0] == b'\r' && pair[1] != b'\n') {
        return Err(InputError::LineEnds { file: file.to_owned() });
    }
    if header.iter().all(u8::is_ascii_whitespace) {
        return Err(InputError::HeaderMissing { file: file.to_owned() });
    }
    Ok(header)
}

/// Turns batches of text into batches of declared types, counting rows for errors.
struct Typed {
    file: PathBuf,
    plan: ColumnPlan,
    schema: SchemaRef,
    null_values: Vec<String>,
    rows: u64,
}

impl Typed {
    fn convert(&mut self, batch: &RecordBatch) -> Result<RecordBatch, InputError> {
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.plan.taken.len());
        for (place, column) in self.plan.taken.iter().enumerate() {
            let cells = batch.column(place).as_string::<i32>();
            let parsed = parse_column(cells, column.declared.data_type(), &self.null_values);
            columns.push(parsed.map_err(|error| self.place(error, &column.name, column.declared.data_type()))?);
        }
        self.rows += batch.num_rows() as u64;
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(|source| InputError::Malformed { file: self.file.clone(), source })
    }

    fn place(&self, error: TextError, column: &str, data_type: &DataType) -> InputError {
        let (file, column) = (self.file.clone(), column.to_owned());
        match error {
            TextError::Unsupported => InputError::TextUnsupported { file, column, data_type: data_type.to_string() },
            TextError::Cell { index, value, expected } => {
                InputError::Cell { file, row: self.rows + index as u64 + 1, column, value, expected }
            }
        }
    }
}
