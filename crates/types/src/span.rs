//! A place in a text.

use serde::{Deserialize, Serialize};

/// Bytes `start..end` of a source text, with the 1-based line and column (in characters) of `start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Line of `start`, from 1.
    pub line: u32,
    /// Column of `start` in characters, from 1.
    pub column: u32,
}

impl Span {
    /// The span of bytes `start..end` of `text`; both are clipped to the text and moved down to a character boundary.
    pub fn of(text: &str, start: usize, end: usize) -> Self {
        let floor = |mut at: usize| {
            at = at.min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let (start, end) = (floor(start), floor(end.max(start)));
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        Self {
            start,
            end,
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_counts_lines_and_characters_from_one() {
        let span = Span::of("é\nåb", 5, 6);
        assert_eq!((span.line, span.column, span.start, span.end), (2, 2, 5, 6));
    }
}
