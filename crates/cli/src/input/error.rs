//! What can be wrong with a file, said with the file, the place and the way out.

use std::io;
use std::path::PathBuf;

use arrow::error::ArrowError;
use parquet::errors::ParquetError;
use thiserror::Error;

use super::format::Format;

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
    /// NDJSON lines name their types themselves.
    #[error("{}: NDJSON lines name their types themselves; leave out --type", file.display())]
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
    /// Lines that end as no reader of CSV here understands: all rows would be one header.
    #[error("{}: its lines end in a carriage return alone; convert them to LF or CRLF", file.display())]
    LineEnds {
        /// The file.
        file: PathBuf,
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
         use --rename {column}=<one of them>, or --skip-column {column}",
        file.display(),
        list(columns)
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
        "{}, row {row} below the header, column {column:?}: {value:?} is not {expected}",
        file.display()
    )]
    Cell {
        /// The file.
        file: PathBuf,
        /// 1-based row below the header.
        row: u64,
        /// The column, as the file names it.
        column: String,
        /// The text, cut to a length that can be read.
        value: String,
        /// What it should be.
        expected: String,
    },
    /// Two files of one load do not go together.
    #[error(
        "{} and {} differ in column {column:?} ({types}); give them the same columns, or load them in two commits",
        first.display(),
        other.display()
    )]
    FilesDiffer {
        /// The first file.
        first: PathBuf,
        /// The other file.
        other: PathBuf,
        /// The column.
        column: String,
        /// How they differ.
        types: String,
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
            | Self::ColumnMissing { .. }
            | Self::ColumnTwice { .. }
            | Self::ColumnUnknown { .. }
            | Self::NoColumns { .. } => Misuse::CommandLine,
            Self::Read { .. }
            | Self::ReaderDied
            | Self::HeaderTooLong { .. }
            | Self::HeaderMissing { .. }
            | Self::LineEnds { .. }
            | Self::TextUnsupported { .. }
            | Self::Cell { .. }
            | Self::FilesDiffer { .. }
            | Self::Malformed { .. }
            | Self::MalformedParquet { .. } => Misuse::Data,
        }
    }
}

/// What has to be corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misuse {
    /// The command line.
    CommandLine,
    /// The file.
    Data,
}

/// Names in one line.
fn list(names: &[String]) -> String {
    names.join(", ")
}
