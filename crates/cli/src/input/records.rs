//! The records of a CSV file: cells, whether they were quoted, and the line where each begins.
//!
//! Why not a CSV library: those at hand do not say whether a cell was quoted, so that null and the empty text look the same; they take text
//! after a closing quote into the cell; and they count records, which are not the lines that an editor shows.
//!
//! The rules are those of RFC 4180, and what breaks them is refused with its line. Invariants: a record has as many cells as the header;
//! at most one block of records is in memory.

use std::fmt;
use std::io::{self, BufRead};

/// Bytes of the longest record: far above what a server takes in one message, so that a quote that is never closed cannot fill the memory.
const RECORD_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Where in a record the next byte lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of a cell.
    Start,
    /// After spaces at the start of a cell.
    Spaces,
    /// Within a cell without quotes.
    Plain,
    /// Inside quotes.
    Quoted,
    /// Behind a quote inside quotes: the end of the cell, or the first half of a quote that is meant.
    AfterQuote,
    /// Behind a carriage return outside quotes: a line feed must follow.
    AfterReturn,
}

/// Why a file cannot be split into records.
#[derive(Debug)]
pub(super) enum RecordError {
    /// Reading failed.
    Read(io::Error),
    /// A rule is broken.
    Broken {
        /// 1-based line of the file.
        line: u64,
        /// The rule.
        rule: RecordRule,
    },
}

/// A rule of CSV that a file breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordRule {
    /// A quote that opens here is never closed.
    Unclosed,
    /// Text follows a closing quote.
    TextAfterQuote,
    /// A quote follows spaces at the start of a cell.
    SpacesBeforeQuote,
    /// A line ends in a carriage return alone.
    ReturnAlone,
    /// The record has more or fewer cells than the header.
    Cells {
        /// The record's.
        found: usize,
        /// The header's.
        expected: usize,
    },
    /// The record holds bytes that are not UTF-8.
    NotUtf8,
    /// The record is too long.
    TooLong {
        /// The bound.
        bytes_max: usize,
    },
}

impl fmt::Display for RecordRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unclosed => {
                write!(f, "the quote that opens here is never closed: close it, or double it if it is text")
            }
            Self::TextAfterQuote => {
                write!(f, "text follows a closing quote: quote the whole cell, and double each quote that is text")
            }
            Self::SpacesBeforeQuote => {
                write!(
                    f,
                    "a quote follows spaces: remove the spaces, or quote the whole cell and double each quote in it"
                )
            }
            Self::ReturnAlone => write!(f, "the line ends in a carriage return alone: convert the file to LF or CRLF"),
            Self::Cells { found, expected } => {
                let cells = if *found == 1 { "cell" } else { "cells" };
                write!(f, "the record has {found} {cells}, and the header has {expected}")
            }
            Self::NotUtf8 => write!(f, "the text is not UTF-8: convert the file to UTF-8"),
            Self::TooLong { bytes_max } => {
                write!(f, "the record that begins here is longer than {bytes_max} bytes: a quote may be left open")
            }
        }
    }
}

/// Whether a cell was written in quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    /// In quotes.
    Quoted,
    /// Without.
    Plain,
}

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell<'a> {
    /// Its text, without the quotes around it.
    pub(super) text: &'a str,
    /// Whether it was quoted.
    pub(super) quoting: Quoting,
}

/// Records, one after another.
#[derive(Debug, Default)]
pub(super) struct Block {
    text: String,
    cells: Vec<(usize, Quoting)>,
    lines: Vec<u64>,
    columns: usize,
}

impl Block {
    /// How many records there are.
    pub(super) fn records(&self) -> usize {
        self.lines.len()
    }

    /// Cells of each record.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// A cell.
    pub(super) fn cell(&self, record: usize, column: usize) -> Cell<'_> {
        let place = record * self.columns + column;
        let start = place.checked_sub(1).map_or(0, |before| self.cells[before].0);
        let (end, quoting) = self.cells[place];
        Cell { text: &self.text[start..end], quoting }
    }

    /// The line where a cell begins: cells before it may hold line ends.
    pub(super) fn line(&self, record: usize, column: usize) -> u64 {
        let breaks = (0..column).map(|before| self.cell(record, before).text.matches('\n').count() as u64);
        self.lines[record] + breaks.sum::<u64>()
    }
}

/// A record that is not at its end yet, after the records of a block that are.
#[derive(Debug, Default)]
struct Pending {
    bytes: Vec<u8>,
    cells: Vec<(usize, Quoting)>,
    lines: Vec<u64>,
    /// Where the record begins among the bytes and cells.
    record: (usize, usize),
}

/// Splits what a reader yields into records.
#[derive(Debug)]
pub(super) struct Records<R> {
    inner: R,
    delimiter: u8,
    state: State,
    quoting: Quoting,
    /// Line of the next byte, of the record's first byte, and of the quote that is open.
    line: u64,
    record_line: u64,
    quote_line: u64,
    /// Cells of a record, once the header was read.
    columns: Option<usize>,
}

impl<R: BufRead> Records<R> {
    /// Splits a reader whose next byte is the file's first.
    pub(super) fn new(inner: R, delimiter: u8) -> Self {
        let (state, quoting) = (State::Start, Quoting::Plain);
        Self { inner, delimiter, state, quoting, line: 1, record_line: 1, quote_line: 1, columns: None }
    }

    /// The first record, which says how many cells the others have; none in a file without a byte.
    pub(super) fn header(&mut self, bytes_max: usize) -> Result<Option<Block>, RecordError> {
        let header = self.read(1, bytes_max)?;
        self.columns = header.as_ref().map(Block::columns);
        Ok(header)
    }

    /// The next records, at most `records_max`; none at the end of the file.
    pub(super) fn block(&mut self, records_max: usize) -> Result<Option<Block>, RecordError> {
        self.read(records_max, RECORD_BYTES_MAX)
    }

    fn read(&mut self, records_max: usize, bytes_max: usize) -> Result<Option<Block>, RecordError> {
        let mut pending = Pending::default();
        while pending.lines.len() < records_max {
            let buffer = match self.inner.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(RecordError::Read(error)),
            };
            if buffer.is_empty() {
                self.end_of_file(&mut pending)?;
                break;
            }
            // The buffer stays as it is until `consume`; it is copied because the state machine borrows the rest of `self`.
            let piece = buffer[..buffer.len().min(PIECE_BYTES_MAX)].to_vec();
            let used = self.follow(&piece, &mut pending, records_max)?;
            self.inner.consume(used);
            if pending.bytes.len() - pending.record.0 > bytes_max {
                return Err(self.broken(self.record_line, RecordRule::TooLong { bytes_max }));
            }
        }
        self.finish(pending)
    }

    /// Takes bytes until enough records are complete; returns how many bytes were taken.
    fn follow(&mut self, piece: &[u8], pending: &mut Pending, records_max: usize) -> Result<usize, RecordError> {
        let mut at = 0;
        while at < piece.len() && pending.lines.len() < records_max {
            let rest = &piece[at..];
            let run = match self.state {
                State::Quoted => rest.iter().position(|&byte| byte == b'"').unwrap_or(rest.len()),
                State::Plain => rest.iter().position(|&byte| self.ends_plain(byte)).unwrap_or(rest.len()),
                State::Start | State::Spaces | State::AfterQuote | State::AfterReturn => 0,
            };
            if run > 0 {
                pending.bytes.extend_from_slice(&rest[..run]);
                self.line += rest[..run].iter().filter(|&&byte| byte == b'\n').count() as u64;
                at += run;
                continue;
            }
            self.step(rest[0], pending)?;
            at += 1;
        }
        Ok(at)
    }

    fn ends_plain(&self, byte: u8) -> bool {
        byte == self.delimiter || byte == b'\n' || byte == b'\r'
    }

    fn step(&mut self, byte: u8, pending: &mut Pending) -> Result<(), RecordError> {
        if self.state == State::AfterReturn && byte != b'\n' {
            return Err(self.broken(self.line, RecordRule::ReturnAlone));
        }
        match (self.state, byte) {
            (State::Start, b'"') => {
                (self.state, self.quoting, self.quote_line) = (State::Quoted, Quoting::Quoted, self.line);
            }
            (State::Spaces, b'"') => return Err(self.broken(self.line, RecordRule::SpacesBeforeQuote)),
            (State::Quoted, b'"') => self.state = State::AfterQuote,
            (State::AfterQuote, b'"') => {
                pending.bytes.push(b'"');
                self.state = State::Quoted;
            }
            (_, b'\r') => self.state = State::AfterReturn,
            (_, b'\n') => {
                self.end_cell(pending);
                self.end_record(pending)?;
                self.line += 1;
                self.record_line = self.line;
            }
            (_, byte) if byte == self.delimiter => self.end_cell(pending),
            (State::AfterQuote, _) => return Err(self.broken(self.line, RecordRule::TextAfterQuote)),
            (State::Start | State::Spaces, b' ') => {
                pending.bytes.push(byte);
                self.state = State::Spaces;
            }
            (_, byte) => {
                pending.bytes.push(byte);
                self.state = State::Plain;
            }
        }
        Ok(())
    }

    fn end_cell(&mut self, pending: &mut Pending) {
        pending.cells.push((pending.bytes.len(), self.quoting));
        (self.state, self.quoting) = (State::Start, Quoting::Plain);
    }

    /// Keeps a record. A line without a byte is no record, unless a record has one cell: there it is an empty cell.
    fn end_record(&mut self, pending: &mut Pending) -> Result<(), RecordError> {
        let (bytes, cells) = pending.record;
        let found = pending.cells.len() - cells;
        let blank = found == 1 && pending.bytes.len() == bytes && pending.cells[cells].1 == Quoting::Plain;
        match self.columns {
            Some(expected) if blank && expected > 1 => pending.cells.truncate(cells),
            Some(expected) if found != expected => {
                return Err(self.broken(self.record_line, RecordRule::Cells { found, expected }));
            }
            Some(_) | None => pending.lines.push(self.record_line),
        }
        pending.record = (pending.bytes.len(), pending.cells.len());
        Ok(())
    }

    /// Ends a record that has no line end.
    fn end_of_file(&mut self, pending: &mut Pending) -> Result<(), RecordError> {
        match self.state {
            State::Quoted => return Err(self.broken(self.quote_line, RecordRule::Unclosed)),
            State::AfterReturn => return Err(self.broken(self.line, RecordRule::ReturnAlone)),
            State::Start | State::Spaces | State::Plain | State::AfterQuote => {}
        }
        let nothing_begun = self.state == State::Start && pending.cells.len() == pending.record.1;
        if !nothing_begun {
            self.end_cell(pending);
            self.end_record(pending)?;
        }
        Ok(())
    }

    fn finish(&self, pending: Pending) -> Result<Option<Block>, RecordError> {
        let Pending { bytes, cells, lines, .. } = pending;
        if lines.is_empty() {
            return Ok(None);
        }
        let columns = cells.len() / lines.len();
        let not_utf8 = |byte: usize| {
            let cell = cells.partition_point(|(end, _)| *end <= byte).min(cells.len() - 1);
            self.broken(lines[cell / columns], RecordRule::NotUtf8)
        };
        let text = String::from_utf8(bytes).map_err(|error| not_utf8(error.utf8_error().valid_up_to()))?;
        // Two halves of a character on both sides of a delimiter are not a character.
        if let Some((end, _)) = cells.iter().find(|(end, _)| !text.is_char_boundary(*end)) {
            return Err(not_utf8(end.saturating_sub(1)));
        }
        Ok(Some(Block { text, cells, lines, columns }))
    }

    fn broken(&self, line: u64, rule: RecordRule) -> RecordError {
        RecordError::Broken { line, rule }
    }
}

/// Bytes that are followed at once.
const PIECE_BYTES_MAX: usize = 64 * 1024;

#[cfg(test)]
mod tests;
