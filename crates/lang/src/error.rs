//! The crate's one error, and how a person sees a finding in its source text.
//!
//! Values quoted from a client's text are clipped, so that no message grows with the input.

use omnigraph_types::{Diagnostic, Failure, Problem, Span};
use thiserror::Error;

use crate::params::ParamError;
use crate::schema::ContractError;

/// Characters of a client's text that a message quotes.
const QUOTE_CHARS_MAX: usize = 80;

/// Code of a finding that the grammar refuses.
pub(crate) const PARSE_ERROR: &str = "ParseError";
/// Code of a finding that the schema's rules refuse.
pub(crate) const SCHEMA_ERROR: &str = "SchemaError";

/// Why a text is not accepted.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum LangError {
    /// A schema text is wrong.
    #[error("the schema is not valid: {}", summary(diagnostics))]
    Schema {
        /// At least one finding, in the order of the text.
        diagnostics: Vec<Diagnostic>,
    },
    /// A query text is wrong.
    #[error("the query is not valid: {}", summary(diagnostics))]
    Query {
        /// At least one finding, in the order of the text.
        diagnostics: Vec<Diagnostic>,
    },
    /// A part of the language that the grammar knows and this version does not run.
    #[error("{feature} (line {}, column {}) is not supported by this version", span.line, span.column)]
    Unimplemented {
        /// The feature, as a person names it.
        feature: String,
        /// Where it is used.
        span: Span,
    },
    /// No query of the file has the name that was asked for.
    #[error("the text has no query {name:?}; it has: {}", list(defined))]
    QueryUnknown {
        /// What was asked for.
        name: String,
        /// What the text defines.
        defined: Vec<String>,
    },
    /// The file does not hold exactly one query, and none was named.
    #[error("name the query to run: the text holds {}", if defined.is_empty() { "none".to_owned() } else { list(defined) })]
    QueryNotNamed {
        /// What the text defines.
        defined: Vec<String>,
    },
    /// A parameter is missing, unknown or of another type.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A stored schema cannot be read.
    #[error(transparent)]
    Contract(#[from] ContractError),
}

impl LangError {
    /// What the client is told.
    pub fn failure(self) -> Failure {
        let message = self.to_string();
        let problem = match self {
            Self::Schema { diagnostics } => Problem::SchemaInvalid { diagnostics },
            Self::Query { diagnostics } => Problem::QueryInvalid { diagnostics },
            Self::Unimplemented { feature, .. } => Problem::Unimplemented { feature },
            Self::QueryUnknown { .. } | Self::QueryNotNamed { .. } => {
                Problem::InvalidRequest { field: "query_name".to_owned() }
            }
            Self::Param(error) => return error.failure(),
            Self::Contract(error) => {
                let problem =
                    Problem::Corrupt { object: "schema".to_owned(), expected: "a schema contract".to_owned() };
                return Failure::new(problem, message).with_source(error);
            }
        };
        Failure::new(problem, message)
    }
}

impl From<LangError> for Failure {
    fn from(error: LangError) -> Self {
        error.failure()
    }
}

/// The first finding with its place, and how many more there are.
fn summary(diagnostics: &[Diagnostic]) -> String {
    let Some(first) = diagnostics.first() else { return "no finding".to_owned() };
    let place = first.span.map_or(String::new(), |span| format!("line {}, column {}: ", span.line, span.column));
    let rest = match diagnostics.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    format!("{place}{} [{}]{rest}", first.message, first.code)
}

/// Names, separated by commas.
pub(crate) fn list<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<String> = names.iter().map(|name| clip(name.as_ref())).collect();
    clip(&names.join(", "))
}

/// The text, cut with `…` where it is long.
pub(crate) fn clip(text: &str) -> String {
    match text.char_indices().nth(QUOTE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The finding as a person reads it in a terminal: message, place, the source line and a mark under the place.
pub fn render(diagnostic: &Diagnostic, source: &str) -> String {
    let mut out = format!("{}: {}\n", diagnostic.code, diagnostic.message);
    if let Some(span) = diagnostic.span {
        let line_index = usize::try_from(span.line.max(1) - 1).unwrap_or(usize::MAX);
        let line = source.split('\n').nth(line_index).unwrap_or_default().trim_end_matches('\r');
        let column = usize::try_from(span.column.max(1) - 1).unwrap_or_default();
        let pad: String = line.chars().take(column).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let marked = source.get(span.start..span.end).unwrap_or_default();
        let width = marked.split('\n').next().unwrap_or_default().chars().count().max(1);
        let number = span.line.to_string();
        let gutter = " ".repeat(number.len());
        out.push_str(&format!("{gutter}--> line {}, column {}\n", span.line, span.column));
        out.push_str(&format!("{gutter} |\n{number} | {line}\n{gutter} | {pad}{}\n", "^".repeat(width)));
    }
    if let Some(hint) = &diagnostic.hint {
        out.push_str(&format!("hint: {hint}\n"));
    }
    out
}

#[cfg(test)]
mod tests;
