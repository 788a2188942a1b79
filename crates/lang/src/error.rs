//! The crate's one error, and how a person sees a finding in its source text.

use omnigraph_types::{Diagnostic, Failure, FeatureName, Problem, Span};
use thiserror::Error;

use crate::params::ParamError;
use crate::schema::ContractError;
use crate::text::list;

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
    /// The grammar accepts the text, and this version does not run this part of the language.
    #[error("{feature} (line {}, column {}) is not supported by this version", span.line, span.column)]
    Unimplemented {
        /// The part.
        feature: FeatureName,
        /// Where it is used.
        span: Span,
    },
    /// The text defines no query of the requested name.
    #[error("the text has no query {name:?}; it has: {}", list(defined))]
    QueryUnknown {
        /// The requested name.
        name: String,
        /// What the text defines.
        defined: Vec<String>,
    },
    /// The request names no query, and the text does not define exactly one.
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
    /// The failure that the client receives.
    pub fn failure(self) -> Failure {
        let message = self.to_string();
        let problem = match self {
            Self::Schema { diagnostics } => Problem::SchemaInvalid { diagnostics },
            Self::Query { diagnostics } => Problem::QueryInvalid { diagnostics },
            Self::Unimplemented { feature, .. } => Problem::Unimplemented { feature: feature.to_string() },
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

/// The first finding with its place, and the number of the others.
fn summary(diagnostics: &[Diagnostic]) -> String {
    let Some(first) = diagnostics.first() else { return "no finding".to_owned() };
    let place = first.span.map_or(String::new(), |span| format!("line {}, column {}: ", span.line, span.column));
    let rest = match diagnostics.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    format!("{place}{} [{}]{rest}", first.message, first.code)
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
