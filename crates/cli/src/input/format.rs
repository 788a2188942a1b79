//! The encodings of files.

use clap::ValueEnum;

/// How a file is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Comma-separated text with a header line.
    Csv,
    /// Tab-separated text with a header line.
    Tsv,
    /// Parquet.
    Parquet,
    /// One JSON object per line; types may be mixed.
    Ndjson,
    /// Arrow IPC, the file or the stream format.
    Arrow,
}
