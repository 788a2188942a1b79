//! What can be wrong with a file, said with the file, the place and the way out.

use std::io;
use std::path::PathBuf;

use arrow::error::ArrowError;
use omnigraph_lang::json::JsonError;
use omnigraph_types::Contained;
use parquet::errors::ParquetError;
use thiserror::Error;

use super::format::Format;
use super::records::RecordRule;
use crate::shell::{is_word, shell};

/// A file that cannot be read as rows of the type.
#[derive(Debug, Error)]
pub(crate) enum InputError {
    /// No file was named.
    #[error("no file to load: name at least one, or '-' for the standard input")]
    NoFiles,
    /// More files than are kept open at once.
    #[error("{count} files in one load, and at most {max} can be: join some, or load them in several commits")]
    TooManyFiles {
        /// How many were named.
        count: usize,
        /// How many can be read in one load.
        max: usize,
    },
    /// The file's name has no extension of a known format.
    #[error(
        "{}: the name has no extension of a known format; name the format with --format csv, tsv, parquet, ndjson or arrow",
        file.display()
    )]
    FormatUnknown {
        /// The file.
        file: PathBuf,
    },
    /// One stream has one format.
    #[error(
        "{} and {} have different formats; one load reads one format, so that it can be one commit",
        first.display(),
        other.display()
    )]
    FormatsMixed {
        /// The first file.
        first: PathBuf,
        /// The file of another format.
        other: PathBuf,
    },
    /// The standard input can be read once, and alone.
    #[error("'-' (the standard input) cannot be loaded together with files")]
    StandardInputNotAlone,
    /// A format whose index is at the end of the file.
    #[error("{format:?} cannot be read from the standard input: its index is at the end; write it to a file first")]
    StandardInputUnsupported {
        /// The format.
        format: Format,
    },
    /// A line of NDJSON is no row.
    #[error("{}, line {line}: {fault}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// 1-based line of the file.
        line: u64,
        /// What is wrong with it.
        fault: LineFault,
    },
    /// NDJSON has lines and no columns.
    #[error("{}: NDJSON is no table", file.display())]
    NotATable {
        /// The file.
        file: PathBuf,
    },
    /// The file cannot be opened.
    #[error("{}: {source}", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Reading failed half way.
    #[error("{}: reading failed: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The reading thread ended by a defect.
    #[error("reading the files ended unexpectedly")]
    ReaderDied,
    /// The first line is too long to be a header.
    #[error(
        "{}: no line end within the first {bytes} bytes; a header line with the column names must come first",
        file.display()
    )]
    HeaderTooLong {
        /// The file.
        file: PathBuf,
        /// The bound.
        bytes: usize,
    },
    /// There is nothing in the file, not even a header.
    #[error("{}: the file is empty; a header line with the column names must come first", file.display())]
    HeaderMissing {
        /// The file.
        file: PathBuf,
    },
    /// The file breaks a rule of CSV.
    #[error("{}, line {line}: {rule}", file.display())]
    Record {
        /// The file.
        file: PathBuf,
        /// 1-based line of the file.
        line: u64,
        /// The rule.
        rule: RecordRule,
    },
    /// The header is one column, and another delimiter would make it several.
    #[error(
        "{}: the header line {header:?} has no {delimiter:?}: if its columns are separated by {suspected:?}, add --delimiter {}",
        file.display(),
        shell(&suspected.to_string())
    )]
    Delimiter {
        /// The file.
        file: PathBuf,
        /// Its header.
        header: String,
        /// What separates columns, as the command line says.
        delimiter: char,
        /// What separates them, as it seems.
        suspected: char,
    },
    /// An option names a column that the file does not have.
    #[error("{}: {option} names column {column:?}, and the columns are {}", file.display(), list(columns))]
    ColumnMissing {
        /// The file.
        file: PathBuf,
        /// The option, as it is written.
        option: &'static str,
        /// The column.
        column: String,
        /// The file's columns.
        columns: Vec<String>,
    },
    /// Two columns would become one property.
    #[error("{}: two columns would become property {property:?}; drop one with --skip-column", file.display())]
    ColumnTwice {
        /// The file.
        file: PathBuf,
        /// The property.
        property: String,
    },
    /// A column is none of the type's.
    #[error(
        "{}: column {column:?} is not in {type_name}, whose columns are {}; \
         use --rename {}=<one of them>, or --skip-column {}",
        file.display(),
        list(columns),
        shell(column),
        shell(column)
    )]
    ColumnUnknown {
        /// The file.
        file: PathBuf,
        /// The column, after renaming.
        column: String,
        /// Node or edge type.
        type_name: String,
        /// The type's columns.
        columns: Vec<String>,
    },
    /// Every column was left out.
    #[error("{}: no column is left to load", file.display())]
    NoColumns {
        /// The file.
        file: PathBuf,
    },
    /// A declared type that a cell of text cannot hold.
    #[error("{}: column {column:?} is {data_type}, which cannot be read from text", file.display())]
    TextUnsupported {
        /// The file.
        file: PathBuf,
        /// The column.
        column: String,
        /// Its declared type.
        data_type: String,
    },
    /// A cell that is not a value of its column.
    #[error(
        "{}, line {line}, column {column:?}: {value:?} is not {expected}",
        file.display()
    )]
    Cell {
        /// The file.
        file: PathBuf,
        /// 1-based line of the file where the cell begins.
        line: u64,
        /// The column, as the file names it.
        column: String,
        /// The text, cut to a length that can be read.
        value: String,
        /// What it should be.
        expected: String,
    },
    /// A value that its column would change.
    #[error("{}{}, column {column:?}: {reason}", file.display(), row.map_or(String::new(), |row| format!(", row {row}")))]
    Value {
        /// The file.
        file: PathBuf,
        /// 1-based row of the file.
        row: Option<u64>,
        /// The property.
        column: String,
        /// Why.
        reason: String,
    },
    /// A column of a type that no cast makes the declared one.
    #[error(
        "{}: column {column:?} is {wanted}, and no cast from {found} keeps every value: cast it in the file",
        file.display()
    )]
    NoCast {
        /// The file.
        file: PathBuf,
        /// The property.
        column: String,
        /// Its type in the file.
        found: String,
        /// Its declared type.
        wanted: String,
    },
    /// Two files of one load do not have the same columns.
    #[error(
        "{} has column {column:?}, and {} has not: give them the same columns, or load them in two commits",
        with.display(),
        without.display()
    )]
    FilesDiffer {
        /// The file that has the column.
        with: PathBuf,
        /// The file that does not.
        without: PathBuf,
        /// The column.
        column: String,
    },
    /// The reader of the format panicked.
    #[error("{}: the file is damaged, or of a kind that cannot be read: its reader ended by {contained}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where the reader panicked.
        contained: Contained,
    },
    /// The file's own structure is wrong.
    #[error("{}: {source}", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// What the reader says.
        source: ArrowError,
    },
    /// The Parquet file's own structure is wrong.
    #[error("{}: {source}", file.display())]
    MalformedParquet {
        /// The file.
        file: PathBuf,
        /// What the reader says.
        source: ParquetError,
    },
}

impl InputError {
    /// What has to be corrected: the command line, or the data.
    pub(crate) fn misuse(&self) -> Misuse {
        match self {
            Self::NoFiles
            | Self::TooManyFiles { .. }
            | Self::FormatUnknown { .. }
            | Self::FormatsMixed { .. }
            | Self::StandardInputNotAlone
            | Self::StandardInputUnsupported { .. }
            | Self::NotATable { .. }
            | Self::Open { .. }
            | Self::Delimiter { .. }
            | Self::ColumnMissing { .. }
            | Self::ColumnTwice { .. }
            | Self::ColumnUnknown { .. }
            | Self::NoColumns { .. } => Misuse::CommandLine,
            Self::Read { .. }
            | Self::Line { .. }
            | Self::ReaderDied
            | Self::HeaderTooLong { .. }
            | Self::HeaderMissing { .. }
            | Self::Record { .. }
            | Self::TextUnsupported { .. }
            | Self::Cell { .. }
            | Self::Value { .. }
            | Self::NoCast { .. }
            | Self::FilesDiffer { .. }
            | Self::Damaged { .. }
            | Self::Malformed { .. }
            | Self::MalformedParquet { .. } => Misuse::Data,
        }
    }
}

/// Why a line of NDJSON is no row.
#[derive(Debug, Error)]
pub(crate) enum LineFault {
    /// It is not one JSON value.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// It is another JSON value.
    #[error("a row is a JSON object of its properties")]
    NotObject,
    /// It is not UTF-8.
    #[error("the text is not UTF-8: convert the file to UTF-8")]
    NotUtf8,
    /// It is too long.
    #[error("the line is longer than {bytes_max} bytes")]
    TooLong {
        /// The bound.
        bytes_max: u64,
    },
    /// An edge without one of its ends.
    #[error("the edge has no {column:?}")]
    EndMissing {
        /// `src` or `dst`.
        column: &'static str,
    },
}

/// What has to be corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misuse {
    /// The command line.
    CommandLine,
    /// The file.
    Data,
}

/// Names in one line; one that a reader could not tell from the text around it is quoted.
fn list(names: &[String]) -> String {
    let shown = |name: &String| match is_word(name) {
        true => name.clone(),
        false => format!("{name:?}"),
    };
    names.iter().map(shown).collect::<Vec<_>>().join(", ")
}
