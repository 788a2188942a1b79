//! One line of NDJSON to one typed row.
//!
//! Checked here: the JSON, the envelope, member names, value types and nulls. The engine checks the rest, in the same way for every channel:
//! enum sets, ranges, checks, vectors' meaning, ids (computing them and comparing a supplied one), and everything over several rows.

use std::borrow::Cow;

use omnigraph_types::{ConstraintKind, Failure, Problem, TableId, TypeKind, Violation};
use thiserror::Error;

use crate::json::{self, JsonError, JsonLimits, JsonValue};
use crate::schema::{Schema, TypeDef};
use crate::text::{clip, list};
use crate::value::{Value, ValueError, decode};

/// What one line may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineLimits {
    /// Most bytes, `Limits::ndjson_line_bytes_max`.
    pub bytes_max: u64,
    /// Most structural characters, `Limits::ndjson_structurals_max`.
    pub structurals_max: u64,
}

impl From<&omnigraph_types::Limits> for LineLimits {
    fn from(limits: &omnigraph_types::Limits) -> Self {
        Self { bytes_max: limits.ndjson_line_bytes_max, structurals_max: limits.ndjson_structurals_max }
    }
}

/// One row as its line states it.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// The node or edge type.
    pub type_id: TableId,
    /// `data.id`, if the line has it.
    pub id: Option<String>,
    /// The ends; `Some` exactly for edges.
    pub ends: Option<Ends>,
    /// A value for every property, in the order of `TypeDef::properties`; nullable ones left out are null.
    pub values: Vec<Value>,
}

/// The node ids that an edge joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    /// Id of the source.
    pub from: String,
    /// Id of the target.
    pub to: String,
}

/// Why a line is refused.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}{problem}", place(type_name, property))]
pub struct LineError {
    /// Node or edge type, if the line was read up to it.
    pub type_name: Option<String>,
    /// Property or member, where the error is about one.
    pub property: Option<String>,
    /// What is wrong.
    pub problem: LineProblem,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum LineProblem {
    /// Not one JSON value.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// More bytes than allowed.
    #[error("the line has {actual} bytes, more than {bytes_max}")]
    Bytes {
        /// Its length.
        actual: u64,
        /// The bound.
        bytes_max: u64,
    },
    /// JSON, but no object.
    #[error("a line must be one object with `type` or `edge`, not {found}")]
    NotObject {
        /// What it is.
        found: &'static str,
    },
    /// Neither or both of `type` and `edge`.
    #[error("a line must have exactly one of `type` and `edge`")]
    Discriminator,
    /// A required member that the line lacks.
    #[error("the member is missing")]
    Missing,
    /// A member that the line may not have.
    #[error("{rule}")]
    Member {
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// A member of another JSON kind.
    #[error("expected {expected}, got {found}")]
    Kind {
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// No such node or edge type.
    #[error("the schema has no such {kind} type; it has: {}", if defined.is_empty() { "none".to_owned() } else { list(defined) })]
    UnknownType {
        /// Node or edge.
        kind: TypeKind,
        /// Those that it has.
        defined: Vec<String>,
    },
    /// A value of another type than declared.
    #[error(transparent)]
    Value(#[from] ValueError),
}

fn place(type_name: &Option<String>, property: &Option<String>) -> String {
    match (type_name, property) {
        (Some(name), Some(property)) => format!("{name}.{property}: "),
        (Some(text), None) | (None, Some(text)) => format!("{text}: "),
        (None, None) => String::new(),
    }
}

impl LineError {
    fn new(problem: impl Into<LineProblem>) -> Self {
        Self { type_name: None, property: None, problem: problem.into() }
    }

    fn about(member: &str, problem: LineProblem) -> Self {
        Self { type_name: None, property: Some(clip(member)), problem }
    }

    fn of_type(mut self, name: &str) -> Self {
        self.type_name = Some(clip(name));
        self
    }

    /// The failure that the client receives for this 1-based line; blank lines count.
    pub fn failure(self, line: u64) -> Failure {
        let message = format!("line {line}: {self}");
        let problem = match &self.problem {
            LineProblem::Bytes { actual, bytes_max } => {
                Problem::ResourceLimit { limit: "ndjson_line_bytes_max".to_owned(), value: *bytes_max, asked: *actual }
            }
            LineProblem::Json(JsonError::Structurals { structurals_max }) => Problem::ResourceLimit {
                limit: "ndjson_structurals_max".to_owned(),
                value: *structurals_max,
                asked: structurals_max.saturating_add(1),
            },
            LineProblem::Value(error) => match constraint_of(error) {
                Some(kind) => Problem::ConstraintViolation {
                    violations: vec![Violation {
                        type_name: self.type_name.clone().unwrap_or_default(),
                        entity: None,
                        properties: self.property.iter().cloned().collect(),
                        kind,
                        message: error.to_string(),
                        source_row: Some(line),
                    }],
                    total: 1,
                },
                None => self.load_invalid(line),
            },
            LineProblem::Json(_)
            | LineProblem::NotObject { .. }
            | LineProblem::Discriminator
            | LineProblem::Missing
            | LineProblem::Member { .. }
            | LineProblem::Kind { .. }
            | LineProblem::UnknownType { .. } => self.load_invalid(line),
        };
        Failure::new(problem, message)
    }

    fn load_invalid(&self, line: u64) -> Problem {
        Problem::LoadInvalid { type_name: self.type_name.clone(), row: Some(line), column: self.property.clone() }
    }
}

/// The rule of the schema that a value breaks, if it is more than a malformed text.
fn constraint_of(error: &ValueError) -> Option<ConstraintKind> {
    match error {
        ValueError::Null => Some(ConstraintKind::Null),
        ValueError::VectorLength { .. } | ValueError::Component { .. } => Some(ConstraintKind::Vector),
        ValueError::Kind { .. }
        | ValueError::NotInteger { .. }
        | ValueError::OutOfRange { .. }
        | ValueError::NotFinite { .. }
        | ValueError::Date(_)
        | ValueError::Item { .. }
        | ValueError::Base64
        | ValueError::BlobUri { .. } => None,
    }
}

/// The text without a byte-order mark at its start; only the first line of a stream may have one.
pub fn strip_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Whether the line is blank: such lines are counted and skipped.
pub fn is_blank(line: &str) -> bool {
    line.bytes().all(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Reads one line that is not blank. A line end at its end is allowed.
pub fn parse_line(line: &str, limits: &LineLimits, schema: &Schema) -> Result<Envelope, LineError> {
    let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
    if length > limits.bytes_max {
        return Err(LineError::new(LineProblem::Bytes { actual: length, bytes_max: limits.bytes_max }));
    }
    let limits = JsonLimits { depth_max: JsonLimits::DEPTH_MAX, structurals_max: limits.structurals_max };
    match json::parse(line, &limits) {
        Ok(JsonValue::Object(members)) => read(members, schema),
        Ok(other) => Err(LineError::new(LineProblem::NotObject { found: other.kind() })),
        Err(error) => Err(LineError::new(error)),
    }
}

type Members<'a> = Vec<(Cow<'a, str>, JsonValue<'a>)>;

fn read(members: Members<'_>, schema: &Schema) -> Result<Envelope, LineError> {
    let (mut node, mut edge, mut from, mut to, mut data) = (None, None, None, None, None);
    for (name, value) in members {
        match name.as_ref() {
            "type" => node = Some(text("type", value)?),
            "edge" => edge = Some(text("edge", value)?),
            "from" => from = Some(text("from", value)?.into_owned()),
            "to" => to = Some(text("to", value)?.into_owned()),
            "data" => match value {
                JsonValue::Object(members) => data = Some(members),
                other => {
                    let problem = LineProblem::Kind { expected: "an object", found: other.kind() };
                    return Err(LineError::about("data", problem));
                }
            },
            _ => {
                let rule = "unknown member: a line has `type` or `edge`, `from`, `to` and `data`";
                return Err(LineError::about(&name, LineProblem::Member { rule }));
            }
        }
    }
    let def = match (&node, &edge) {
        (Some(name), None) => {
            let found = schema.type_by_name(name).filter(|def| !def.is_edge());
            found.ok_or_else(|| unknown_type(schema, TypeKind::Node, name))?
        }
        (None, Some(name)) => {
            schema.edge_by_lower_name(name).ok_or_else(|| unknown_type(schema, TypeKind::Edge, name))?
        }
        _ => return Err(LineError::new(LineProblem::Discriminator)),
    };
    let ends = ends(def, from, to).map_err(|error| error.of_type(&def.name))?;
    let (id, values) = row(def, data.unwrap_or_default()).map_err(|error| error.of_type(&def.name))?;
    Ok(Envelope { type_id: def.id, id, ends, values })
}

fn text<'a>(member: &'static str, value: JsonValue<'a>) -> Result<Cow<'a, str>, LineError> {
    match value {
        JsonValue::String(text) => Ok(text),
        other => Err(LineError::about(member, LineProblem::Kind { expected: "a string", found: other.kind() })),
    }
}

fn ends(def: &TypeDef, from: Option<String>, to: Option<String>) -> Result<Option<Ends>, LineError> {
    let missing = |member| LineError::about(member, LineProblem::Missing);
    if def.is_edge() {
        let from = from.ok_or_else(|| missing("from"))?;
        let to = to.ok_or_else(|| missing("to"))?;
        return Ok(Some(Ends { from, to }));
    }
    let extra = from.map(|_| "from").or(to.map(|_| "to"));
    match extra {
        Some(member) => {
            let rule = "a node has no ends: leave out `from` and `to`, or write `edge` for an edge";
            Err(LineError::about(member, LineProblem::Member { rule }))
        }
        None => Ok(None),
    }
}

/// The id and the values of `data`. Members usually come in the order of the properties, so each look-up starts after the last one.
fn row(def: &TypeDef, data: Members<'_>) -> Result<(Option<String>, Vec<Value>), LineError> {
    let count = def.properties.len();
    let mut id = None;
    let mut values: Vec<Option<Value>> = vec![None; count];
    let mut next = 0;
    for (name, json) in data {
        let position = (next..count).chain(0..next).find(|&at| def.properties[at].name == name);
        let Some(at) = position else {
            if name == "id" {
                id = Some(text("id", json)?.into_owned());
                continue;
            }
            return Err(unknown_member(def, &name));
        };
        let property = &def.properties[at];
        let value = decode(&json, &property.ty, property.nullability)
            .map_err(|error| LineError::about(&property.name, LineProblem::Value(error)))?;
        values[at] = Some(value);
        next = at + 1;
    }
    let complete = |(value, property): (Option<Value>, &crate::schema::PropertyDef)| match value {
        Some(value) => Ok(value),
        None if property.nullability.is_nullable() => Ok(Value::Null),
        None => Err(LineError::about(&property.name, LineProblem::Value(ValueError::Null))),
    };
    let values = values.into_iter().zip(&def.properties).map(complete).collect::<Result<_, _>>()?;
    Ok((id, values))
}

fn unknown_type(schema: &Schema, kind: TypeKind, name: &str) -> LineError {
    let of_kind = schema.types().iter().filter(|def| def.is_edge() == (kind == TypeKind::Edge));
    let defined = of_kind.map(|def| def.name.clone()).collect();
    LineError::new(LineProblem::UnknownType { kind, defined }).of_type(name)
}

fn unknown_member(def: &TypeDef, name: &str) -> LineError {
    let rule = match name {
        "src" | "dst" | "from" | "to" if def.is_edge() => "write the ends of an edge beside `data`, as `from` and `to`",
        _ => "the type has no such property",
    };
    LineError::about(name, LineProblem::Member { rule })
}

#[cfg(test)]
mod tests;
