//! Files on this machine, read as record batches whose columns are a type's properties.
//!
//! Why here and not in the server: a CSV file has no types, so its text is read against the declared types of the graph's schema before
//! anything is sent, and a mistake is reported with file, row and column. Parquet and Arrow files have types of their own: they are sent as they
//! are and the server casts where no value changes.
//!
//! Invariants: every file of one load yields the same schema, checked on all files before the first row is read; at most one batch of each
//! file is in memory; a column is never dropped unless the caller named it.

mod arrow_file;
mod columns;
mod contained;
mod csv_file;
mod error;
mod format;
mod int96;
mod meter;
mod one_schema;
mod open;
mod parquet_file;
mod records;
mod rows;
mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use omnigraph_types::{Contained, contain};

use contained::contained_items;
use one_schema::unify;
use rows::Batches;

pub(crate) use columns::{ColumnChoice, Rename, TypeColumns};
pub(crate) use csv_file::lines_of;
pub(crate) use error::{InputError, LineFault, Misuse};
pub(crate) use format::Format;
pub(crate) use meter::{Meter, Place};
pub(crate) use open::{STANDARD_INPUT, bytes_of, is_standard_input, open_file, open_stream};
pub(crate) use rows::{ReadOptions, Table};

/// Files of one load: each stays open until it is read.
const FILES_MAX: usize = 512;

impl Format {
    /// The format that a file's name promises, which may end in `.gz`.
    pub(crate) fn of(path: &Path) -> Result<Self, InputError> {
        let extension =
            |path: &Path| path.extension().and_then(|text| text.to_str()).unwrap_or("").to_ascii_lowercase();
        let stem = match extension(path).as_str() {
            "gz" => path.with_extension(""),
            _ => path.to_owned(),
        };
        match extension(&stem).as_str() {
            "csv" => Ok(Self::Csv),
            "tsv" | "tab" => Ok(Self::Tsv),
            "parquet" | "pq" => Ok(Self::Parquet),
            "ndjson" | "jsonl" => Ok(Self::Ndjson),
            "arrow" | "arrows" | "feather" | "ipc" => Ok(Self::Arrow),
            _ => Err(InputError::FormatUnknown { file: path.to_owned() }),
        }
    }

    /// The one format of all files.
    pub(crate) fn of_all(files: &[PathBuf]) -> Result<Self, InputError> {
        let first = files.first().ok_or(InputError::NoFiles)?;
        let format = Self::of(first)?;
        for file in &files[1..] {
            if Self::of(file)? != format {
                return Err(InputError::FormatsMixed { first: first.clone(), other: file.clone() });
            }
        }
        Ok(format)
    }

    /// What separates the cells of a text in this format, unless the command line says it.
    pub(crate) fn delimiter(self) -> Option<u8> {
        match self {
            Self::Csv => Some(b','),
            Self::Tsv => Some(b'\t'),
            Self::Parquet | Self::Ndjson | Self::Arrow => None,
        }
    }
}

/// Opens `files` as rows of `of`, having looked at the columns of each. `meter` counts what is read.
pub(crate) fn open(
    files: &[PathBuf],
    format: Format,
    of: &TypeColumns,
    options: &ReadOptions,
    meter: &Arc<Meter>,
) -> Result<Table, InputError> {
    check_files(files)?;
    let mut tables = Vec::with_capacity(files.len());
    for file in files {
        let damaged = |contained: Contained| InputError::Damaged { file: file.clone(), contained };
        let table = contain(|| open_one(file, format, of, options, meter)).map_err(damaged)??;
        let of_file = file.clone();
        let damaged = move |contained| InputError::Damaged { file: of_file.clone(), contained };
        let batches: Batches = Box::new(contained_items(table.batches, damaged));
        tables.push((file.clone(), Table { schema: table.schema, batches }));
    }
    let (schema, tables) = unify(tables, of)?;
    let meter = Arc::clone(meter);
    let batches = tables.into_iter().flat_map(move |(file, table)| {
        meter.enter(&file);
        let meter = Arc::clone(&meter);
        table.batches.inspect(move |batch| {
            if let Ok(batch) = batch {
                meter.add_rows(batch.num_rows() as u64);
            }
        })
    });
    Ok(Table { schema, batches: Box::new(batches) })
}

/// Refuses lists of files that cannot be one load, or cannot be opened.
pub(crate) fn check_files(files: &[PathBuf]) -> Result<(), InputError> {
    if files.is_empty() {
        return Err(InputError::NoFiles);
    }
    if files.len() > FILES_MAX {
        return Err(InputError::TooManyFiles { count: files.len(), max: FILES_MAX });
    }
    if files.len() > 1 && files.iter().any(|file| is_standard_input(file)) {
        return Err(InputError::StandardInputNotAlone);
    }
    files.iter().filter(|file| !is_standard_input(file)).try_for_each(|file| open_file(file).map(|_| ()))
}

fn open_one(
    file: &Path,
    format: Format,
    of: &TypeColumns,
    options: &ReadOptions,
    meter: &Arc<Meter>,
) -> Result<Table, InputError> {
    let seekable_only = matches!(format, Format::Parquet | Format::Arrow);
    if seekable_only && is_standard_input(file) {
        return Err(InputError::StandardInputUnsupported { format });
    }
    match format {
        Format::Csv => csv_file::open(file, options.delimiter.unwrap_or(b','), of, options, meter),
        Format::Tsv => csv_file::open(file, options.delimiter.unwrap_or(b'\t'), of, options, meter),
        Format::Parquet => parquet_file::open(file, of, options, meter),
        Format::Arrow => arrow_file::open(file, of, options, meter),
        Format::Ndjson => Err(InputError::NotATable { file: file.to_owned() }),
    }
}

#[cfg(test)]
mod tests;
