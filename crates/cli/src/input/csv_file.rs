//! CSV and TSV: a header line, then rows of text that are read against the declared types.
//!
//! Why the cells are first taken as text: only so can `NA` stay text in a String column, an error name file, line and column, and lists be
//! read at all.
//!
//! An empty cell is null, an empty cell in quotes is the empty text, and the texts of `null_values` are null however they are written. So
//! what the command line prints as CSV is read as the same values.

use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::columns::{ColumnPlan, TypeColumns};
use super::error::InputError;
use super::meter::Meter;
use super::open::open_stream;
use super::records::{Block, Quoting, RecordError, RecordRule, Records};
use super::rows::{Batches, ReadOptions, Table};
use super::text::{TextError, parse_column};

/// Bytes of the longest header line.
const HEADER_BYTES_MAX: usize = 1024 * 1024;
/// Bytes read from the file at once.
const BUFFER_BYTES: usize = 256 * 1024;
/// The mark that some programs write at the start of a UTF-8 file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// What separates cells in files of other programs.
const DELIMITERS: [char; 4] = [',', ';', '\t', '|'];

/// Opens a file, or the standard input, and reads its header.
pub(crate) fn open(
    file: &Path,
    delimiter: u8,
    of: &TypeColumns,
    options: &ReadOptions,
    meter: &Arc<Meter>,
) -> Result<Table, InputError> {
    let reader = BufReader::with_capacity(BUFFER_BYTES, open_stream(file, meter)?);
    read(reader, file, delimiter, of, options)
}

/// Reads a header, then yields the rows below it.
pub(crate) fn read(
    reader: impl BufRead + Send + 'static,
    file: &Path,
    delimiter: u8,
    of: &TypeColumns,
    options: &ReadOptions,
) -> Result<Table, InputError> {
    let (mut records, columns) = begin(reader, file, delimiter)?;
    suspect_delimiter(file, &columns, delimiter, of, options)?;
    let plan = ColumnPlan::new(file, &columns, of, &options.columns)?;
    let field =
        |column: &super::columns::Taken| Field::new(column.declared.name(), column.declared.data_type().clone(), true);
    let schema = Arc::new(Schema::new(plan.taken.iter().map(field).collect::<Vec<_>>()));
    let typed =
        Typed { file: file.to_owned(), plan, schema: Arc::clone(&schema), null_values: options.null_values.clone() };
    let rows_max = options.batch_rows;
    let mut next = move || -> Result<Option<RecordBatch>, InputError> {
        match records.block(rows_max).map_err(|error| broken(&typed.file, error))? {
            Some(block) => typed.convert(&block).map(Some),
            None => Ok(None),
        }
    };
    let batches: Batches = Box::new(std::iter::from_fn(move || next().transpose()));
    Ok(Table { schema, batches })
}

/// The lines of the file where rows begin; `rows` counts from 1 below the header, in ascending order. The result is shorter if the file has
/// fewer rows, or cannot be read once more.
pub(crate) fn lines_of(file: &Path, delimiter: u8, rows: &[u64]) -> Vec<u64> {
    let Ok(stream) = open_stream(file, &Arc::default()) else { return Vec::new() };
    let Ok((mut records, _)) = begin(BufReader::with_capacity(BUFFER_BYTES, stream), file, delimiter) else {
        return Vec::new();
    };
    let mut lines = Vec::with_capacity(rows.len());
    let mut before = 0;
    while lines.len() < rows.len()
        && let Ok(Some(block)) = records.block(LINES_BLOCK_ROWS)
    {
        let after = before + block.records() as u64;
        let here = rows[lines.len()..].iter().take_while(|row| **row <= after);
        let places: Vec<usize> = here.filter_map(|row| usize::try_from(row.checked_sub(before + 1)?).ok()).collect();
        lines.extend(places.into_iter().map(|record| block.line(record, 0)));
        before = after;
    }
    lines
}

/// Rows looked at together while the lines of rows are looked for.
const LINES_BLOCK_ROWS: usize = 1024;

/// Reads the header: the columns' names.
fn begin<R: BufRead>(
    mut reader: R,
    file: &Path,
    delimiter: u8,
) -> Result<(Records<impl BufRead + use<R>>, Vec<String>), InputError> {
    let mut start = Vec::with_capacity(BYTE_ORDER_MARK.len());
    let read = reader.by_ref().take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut start);
    read.map_err(|source| InputError::Read { file: file.to_owned(), source })?;
    if start == BYTE_ORDER_MARK {
        start.clear();
    }
    let mut records = Records::new(Cursor::new(start).chain(reader), delimiter);
    let header = records.header(HEADER_BYTES_MAX).map_err(|error| match error {
        RecordError::Broken { rule: RecordRule::TooLong { bytes_max }, .. } => {
            InputError::HeaderTooLong { file: file.to_owned(), bytes: bytes_max }
        }
        error @ (RecordError::Broken { .. } | RecordError::Read(_)) => broken(file, error),
    })?;
    let missing = || InputError::HeaderMissing { file: file.to_owned() };
    let header = header.ok_or_else(missing)?;
    let columns: Vec<String> = (0..header.columns()).map(|column| header.cell(0, column).text.to_owned()).collect();
    if columns.iter().all(|name| name.trim_ascii().is_empty()) {
        return Err(missing());
    }
    Ok((records, columns))
}

fn broken(file: &Path, error: RecordError) -> InputError {
    let file = file.to_owned();
    match error {
        RecordError::Read(source) => InputError::Read { file, source },
        RecordError::Broken { line, rule } => InputError::Record { file, line, rule },
    }
}

/// Refuses a header of one column that is none of the type's, and that another delimiter would split.
fn suspect_delimiter(
    file: &Path,
    columns: &[String],
    delimiter: u8,
    of: &TypeColumns,
    options: &ReadOptions,
) -> Result<(), InputError> {
    let [header] = columns else { return Ok(()) };
    if options.columns.names(header) || of.schema.column_with_name(header).is_some() {
        return Ok(());
    }
    let count = |other: &char| header.matches(*other).count();
    let others = DELIMITERS.into_iter().filter(|other| *other != char::from(delimiter) && header.contains(*other));
    match others.max_by_key(count) {
        Some(suspected) => Err(InputError::Delimiter {
            file: file.to_owned(),
            header: header.clone(),
            delimiter: char::from(delimiter),
            suspected,
        }),
        None => Ok(()),
    }
}

/// Turns blocks of text into batches of declared types.
struct Typed {
    file: PathBuf,
    plan: ColumnPlan,
    schema: SchemaRef,
    null_values: Vec<String>,
}

impl Typed {
    fn convert(&self, block: &Block) -> Result<RecordBatch, InputError> {
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.plan.taken.len());
        for column in &self.plan.taken {
            let cells: Vec<Option<&str>> =
                (0..block.records()).map(|record| self.value(block, record, column.index)).collect();
            let data_type = column.declared.data_type();
            let parsed = parse_column(&cells, data_type);
            columns.push(parsed.map_err(|error| self.place(error, block, column.index, &column.name, data_type))?);
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(|source| InputError::Malformed { file: self.file.clone(), source })
    }

    /// The text of a cell; none for null.
    fn value<'a>(&self, block: &'a Block, record: usize, column: usize) -> Option<&'a str> {
        let cell = block.cell(record, column);
        let empty = cell.text.is_empty() && cell.quoting == Quoting::Plain;
        (!empty && !self.null_values.iter().any(|null| null == cell.text)).then_some(cell.text)
    }

    fn place(&self, error: TextError, block: &Block, index: usize, column: &str, data_type: &DataType) -> InputError {
        let (file, column) = (self.file.clone(), column.to_owned());
        match error {
            TextError::Unsupported => InputError::TextUnsupported { file, column, data_type: data_type.to_string() },
            TextError::Cell { index: record, value, expected } => {
                InputError::Cell { file, line: block.line(record, index), column, value, expected }
            }
        }
    }
}
