//! Findings about one text, collected with their places.

use omnigraph_types::{Diagnostic, Span};

use crate::code::Code;

/// Findings kept about one text; a person reads the first ones, and each costs a walk over the text.
const FINDINGS_MAX: usize = 100;

/// Bytes `start..end` of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct At {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl At {
    /// From the start of this place to the end of the other.
    pub(crate) fn to(self, end: At) -> At {
        At { start: self.start, end: end.end }
    }
}

/// The findings about one text.
#[derive(Debug)]
pub(crate) struct Findings<'a> {
    text: &'a str,
    found: Vec<Diagnostic>,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, found: Vec::new() }
    }

    pub(crate) fn add(&mut self, code: Code, at: At, message: impl Into<String>) {
        self.push(code, at, message.into(), None);
    }

    pub(crate) fn add_with_hint(&mut self, code: Code, at: At, message: impl Into<String>, hint: impl Into<String>) {
        self.push(code, at, message.into(), Some(hint.into()));
    }

    fn push(&mut self, code: Code, at: At, message: String, hint: Option<String>) {
        if self.found.len() < FINDINGS_MAX {
            let span = Some(Span::of(self.text, at.start, at.end));
            self.found.push(Diagnostic { code: code.to_string(), message, span, hint });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// In the order of the text.
    pub(crate) fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|finding| finding.span.map_or(0, |span| span.start));
        self.found
    }
}

/// The text does not follow the grammar: parsing stops.
#[derive(Debug)]
pub(crate) struct ParseFailure {
    pub(crate) at: At,
    pub(crate) message: String,
    pub(crate) hint: Option<&'static str>,
}

impl ParseFailure {
    pub(crate) fn diagnostic(self, text: &str) -> Diagnostic {
        Diagnostic {
            code: Code::Parse.to_string(),
            message: self.message,
            span: Some(Span::of(text, self.at.start, self.at.end)),
            hint: self.hint.map(str::to_owned),
        }
    }
}
