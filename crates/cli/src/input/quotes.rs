//! Watches the quotes of a CSV file on their way: a quote that is never closed would take the rest of the file into one cell, in silence.

use std::io::{self, BufRead, Read};

/// Where in a record the next byte lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    FieldStart,
    Plain,
    /// Inside quotes that were opened in this line.
    Quoted(u64),
    /// Behind a quote inside quotes: the end of the cell, or the first half of a quote that is meant.
    AfterQuote(u64),
}

/// A reader that fails at the end of a file that ends inside quotes, naming the line where they were opened.
#[derive(Debug)]
pub(super) struct Quotes<R> {
    inner: R,
    delimiter: u8,
    place: Place,
    line: u64,
}

impl<R> Quotes<R> {
    /// Watches a reader whose next byte starts a record, in this line, counted from 1.
    pub(super) fn new(inner: R, delimiter: u8, line: u64) -> Self {
        Self { inner, delimiter, place: Place::FieldStart, line }
    }

    fn follow(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            let ends_field = byte == self.delimiter || matches!(byte, b'\n' | b'\r');
            self.place = match (self.place, byte) {
                (Place::FieldStart, b'"') => Place::Quoted(self.line),
                (Place::Quoted(line), b'"') => Place::AfterQuote(line),
                (Place::Quoted(line), _) => Place::Quoted(line),
                (Place::AfterQuote(line), b'"') => Place::Quoted(line),
                _ if ends_field => Place::FieldStart,
                _ => Place::Plain,
            };
            if byte == b'\n' {
                self.line += 1;
            }
        }
    }
}

impl<R: BufRead> BufRead for Quotes<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if let Place::Quoted(line) = self.place
            && self.inner.fill_buf()?.is_empty()
        {
            let message =
                format!("the quote that opens in line {line} is never closed: close it, or double it if it is text");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        if let Ok(buffer) = self.inner.fill_buf() {
            let seen = buffer[..bytes.min(buffer.len())].to_vec();
            self.follow(&seen);
        }
        self.inner.consume(bytes);
    }
}

impl<R: BufRead> Read for Quotes<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(out)?;
        self.consume(read);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let mut all = String::new();
        let read = Quotes::new(text.as_bytes(), b',', 2).read_to_string(&mut all);
        read.map(|_| all).map_err(|error| error.to_string())
    }

    #[test]
    fn quotes_that_are_closed_pass() {
        for text in ["a,b\n", "\"a\",\"b,\nc\"\n", "\"say \"\"hi\"\"\",x\n", "5\" pipe,x\n", "\"\"\n", ""] {
            assert_eq!(read(text).unwrap(), text);
        }
    }

    #[test]
    fn quote_that_is_never_closed_is_named_by_its_line() {
        for (text, line) in [("a,1\nb,\"stray\nc,2\n", 3), ("\"cut", 2), ("a\nb\n\"\"\"", 4)] {
            assert!(read(text).unwrap_err().contains(&format!("line {line} ")), "{text:?}");
        }
    }
}
