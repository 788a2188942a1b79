//! Opening a file of the command line.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;

use super::error::InputError;
use super::meter::{Counted, Meter};

/// Name of the standard input among the files of a command line.
pub(crate) const STANDARD_INPUT: &str = "-";
/// What gzip writes at the start of a file.
const GZIP_MAGIC: &[u8] = b"\x1f\x8b";
/// Compressed bytes read at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// Whether a file of the command line is the standard input.
pub(crate) fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == STANDARD_INPUT
}

/// Opens a file, or says which could not be opened and why.
pub(crate) fn open_file(file: &Path) -> Result<File, InputError> {
    let failed = |source| InputError::Open { file: file.to_owned(), source };
    let opened = File::open(file).map_err(failed)?;
    // A folder can be opened, and is refused at its first read only.
    match opened.metadata().map_err(failed)?.is_dir() {
        true => Err(failed(io::Error::from(io::ErrorKind::IsADirectory))),
        false => Ok(opened),
    }
}

/// The text of a file or of the standard input, decompressed where it is compressed by gzip. `meter` counts the bytes as they are stored.
///
/// Memory is bounded by the buffers here, whatever the text's length. A file that ends before its compressed text does is an error of the
/// reader.
pub(crate) fn open_stream(file: &Path, meter: &Arc<Meter>) -> Result<Box<dyn Read + Send>, InputError> {
    let stored: Box<dyn Read + Send> = match is_standard_input(file) {
        true => Box::new(io::stdin()),
        false => Box::new(open_file(file)?),
    };
    decompressed(Counted::new(stored, meter)).map_err(|source| InputError::Read { file: file.to_owned(), source })
}

fn decompressed(mut stored: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut start = Vec::with_capacity(GZIP_MAGIC.len());
    stored.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut start)?;
    let compressed = start == GZIP_MAGIC;
    let whole = Cursor::new(start).chain(stored);
    Ok(match compressed {
        true => Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, whole))),
        false => Box::new(whole),
    })
}

/// Bytes of a file, where they are known beforehand.
pub(crate) fn bytes_of(file: &Path) -> Option<u64> {
    if is_standard_input(file) {
        return None;
    }
    std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len())
}
