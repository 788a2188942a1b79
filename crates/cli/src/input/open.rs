//! Opening a file of the command line.

use std::fs::File;
use std::path::Path;

use super::error::InputError;

/// Name of the standard input among the files of a command line.
pub(crate) const STANDARD_INPUT: &str = "-";

/// Whether a file of the command line is the standard input.
pub(crate) fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == STANDARD_INPUT
}

/// Opens a file, or says which could not be opened and why.
pub(crate) fn open_file(file: &Path) -> Result<File, InputError> {
    File::open(file).map_err(|source| InputError::Open { file: file.to_owned(), source })
}

/// Bytes of a file, where they are known beforehand.
pub(crate) fn bytes_of(file: &Path) -> Option<u64> {
    if is_standard_input(file) {
        return None;
    }
    std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len())
}
