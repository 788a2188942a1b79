//! NDJSON files one after another, as pieces of one text.
//!
//! The server counts lines over the whole text; the meter counts them here as well, so that an error's line leads back to its file.

use std::collections::VecDeque;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use crate::input::{InputError, Meter, open_stream};

/// Bytes of a piece.
const PIECE_BYTES: usize = 256 * 1024;
/// The mark that some programs write at the start of a UTF-8 file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Opens all files, so that one that is missing is noticed before anything is sent.
pub(super) fn open(files: &[PathBuf], meter: &Arc<Meter>) -> Result<Pieces, InputError> {
    let mut opened = VecDeque::with_capacity(files.len());
    for file in files {
        opened.push_back((file.clone(), open_stream(file, meter)?));
    }
    Ok(Pieces { waiting: opened, current: None, meter: Arc::clone(meter) })
}

type Reader = Box<dyn Read + Send>;

/// The file that is being read.
struct Current {
    file: PathBuf,
    reader: Reader,
    at_start: AtStart,
    last: u8,
}

/// Whether the next piece is a file's first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtStart {
    Yes,
    No,
}

/// The pieces of all files. A file that does not end with a line end gets one, so that its last line stays apart from the next file.
pub(super) struct Pieces {
    waiting: VecDeque<(PathBuf, Reader)>,
    current: Option<Current>,
    meter: Arc<Meter>,
}

impl Iterator for Pieces {
    type Item = Result<Bytes, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut current = match self.current.take() {
                Some(current) => current,
                None => {
                    let (file, reader) = self.waiting.pop_front()?;
                    self.meter.enter(&file);
                    Current { file, reader, at_start: AtStart::Yes, last: b'\n' }
                }
            };
            let mut piece = Vec::with_capacity(PIECE_BYTES);
            match current.reader.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut piece) {
                Err(source) => return Some(Err(InputError::Read { file: current.file, source })),
                Ok(0) if current.last == b'\n' => continue,
                Ok(0) => {
                    self.meter.add_rows(1);
                    return Some(Ok(Bytes::from_static(b"\n")));
                }
                Ok(_) => {}
            }
            if current.at_start == AtStart::Yes && piece.starts_with(BYTE_ORDER_MARK) {
                piece.drain(..BYTE_ORDER_MARK.len());
            }
            current.at_start = AtStart::No;
            current.last = piece.last().copied().unwrap_or(current.last);
            self.meter.add_rows(piece.iter().filter(|&&byte| byte == b'\n').count() as u64);
            self.current = Some(current);
            if !piece.is_empty() {
                return Some(Ok(piece.into()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn files(texts: &[&str]) -> (tempfile::TempDir, Vec<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> =
            (0..texts.len()).map(|number| folder.path().join(format!("{number}.ndjson"))).collect();
        paths.iter().zip(texts).for_each(|(path, text)| std::fs::write(path, text).unwrap());
        (folder, paths)
    }

    #[test]
    fn last_line_without_its_end_stays_apart_from_the_next_file() {
        let (_folder, paths) = files(&["\u{feff}{\"a\":1}", "", "{\"b\":2}\n{\"c\":3}\n"]);
        let meter = Arc::new(Meter::default());
        let pieces: Result<Vec<Bytes>, InputError> = open(&paths, &meter).unwrap().collect();
        assert_eq!(pieces.unwrap().concat(), b"{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n");
        let place = meter.place(3).unwrap();
        assert_eq!((place.file.as_path(), place.row), (paths[2].as_path(), 2));
    }

    #[test]
    fn missing_file_is_noticed_before_anything_is_read() {
        let meter = Arc::new(Meter::default());
        let missing = [Path::new("no/such/file.ndjson").to_owned()];
        assert!(matches!(open(&missing, &meter), Err(InputError::Open { .. })));
    }
}
