//! The parser of query text: its cursor, its bounds, and the names and numbers that every part reads.

use omnigraph_types::FeatureName;

use crate::findings::{At, ParseFailure};
use crate::lex::{Cursor, Tok};
use crate::query::ast::{Name, Unsupported};

/// Nesting of parentheses, `not`, lists and calls.
const DEPTH_MAX: usize = 64;
pub(super) struct Parser<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) depth: usize,
    pub(super) clauses: usize,
    /// Names of the current query's parameters, which decide how some clauses are read.
    pub(super) params: Vec<&'a str>,
    pub(super) unsupported: Vec<Unsupported>,
}

impl<'a> Parser<'a> {
    /// Runs one more level of recursion.
    pub(super) fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, ParseFailure>,
    ) -> Result<T, ParseFailure> {
        if self.depth == DEPTH_MAX {
            let message = format!("nested deeper than {DEPTH_MAX} levels");
            return Err(ParseFailure { at: self.cursor.place(), message, hint: None });
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    pub(super) fn ident(&mut self, what: &str) -> Result<Name<'a>, ParseFailure> {
        match *self.cursor.peek() {
            Tok::Lower(text) => Ok(Name { text, at: self.cursor.advance().at }),
            _ => self.cursor.unexpected_with(what, Some("names here begin with a lower-case letter or `_`")),
        }
    }

    pub(super) fn type_name(&mut self) -> Result<Name<'a>, ParseFailure> {
        match *self.cursor.peek() {
            Tok::Upper(text) => Ok(Name { text, at: self.cursor.advance().at }),
            _ => self.cursor.unexpected_with("a type name", Some("type names begin with an upper-case letter")),
        }
    }

    pub(super) fn var(&mut self) -> Result<Name<'a>, ParseFailure> {
        match *self.cursor.peek() {
            Tok::Var(text) => Ok(Name { text, at: self.cursor.advance().at }),
            _ => self.cursor.unexpected("a variable such as `$a`"),
        }
    }

    pub(super) fn uint(&mut self) -> Result<u64, ParseFailure> {
        match *self.cursor.peek() {
            Tok::Int(digits) if !digits.starts_with('-') => {
                let at = self.cursor.advance().at;
                digits.parse().or_else(|_| fail(at, "the number is too large"))
            }
            _ => self.cursor.unexpected("a whole number that is not negative"),
        }
    }

    pub(super) fn unsupported(&mut self, feature: FeatureName, start: At) {
        let at = start.to(self.cursor.previous());
        self.unsupported.push(Unsupported { feature, at });
    }
}

/// A failure at this place, without a hint.
pub(super) fn fail<T>(at: At, message: impl Into<String>) -> Result<T, ParseFailure> {
    Err(ParseFailure { at, message: message.into(), hint: None })
}
