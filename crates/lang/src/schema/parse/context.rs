//! The parser of schema text: its cursor, its findings, and the names that every part reads.

use crate::code::Code;
use crate::findings::{At, Findings, ParseFailure};
use crate::lex::{Cursor, Tok};
use crate::schema::ast::Name;

/// Where an annotation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    InterfaceHeader,
    NodeHeader,
    EdgeHeader,
    InterfaceProperty,
    Property,
}

pub(super) struct Parser<'a, 'f> {
    pub(super) cursor: Cursor<'a>,
    pub(super) findings: &'f mut Findings<'a>,
}

impl<'a> Parser<'a, '_> {
    pub(super) fn schema_error(&mut self, at: At, message: impl Into<String>) {
        self.findings.add(Code::Schema, at, message);
    }

    pub(super) fn type_name(&mut self) -> Result<Name<'a>, ParseFailure> {
        match *self.cursor.peek() {
            Tok::Upper(text) => Ok(Name { text, at: self.cursor.advance().at }),
            _ => self.cursor.unexpected_with("a type name", Some("type names begin with an upper-case letter")),
        }
    }

    pub(super) fn ident(&mut self, what: &str) -> Result<Name<'a>, ParseFailure> {
        match *self.cursor.peek() {
            Tok::Lower(text) => Ok(Name { text, at: self.cursor.advance().at }),
            _ => self.cursor.unexpected_with(what, Some("names here begin with a lower-case letter or `_`")),
        }
    }

    /// Passes `( … )` if it follows, up to the matching close or the end.
    pub(super) fn skip_parentheses(&mut self) {
        if !self.cursor.is("(") {
            return;
        }
        let mut depth = 0_usize;
        loop {
            match self.cursor.advance().tok {
                Tok::Punct("(") => depth += 1,
                Tok::Punct(")") => depth -= 1,
                Tok::End => return,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }
}
