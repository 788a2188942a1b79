//! Query parameters: a JSON object against the declared names and types, all of it before anything runs.

use std::collections::BTreeMap;

use omnigraph_types::{Failure, Problem};
use thiserror::Error;

use crate::json::{self, JsonError, JsonLimits, JsonValue};
use crate::query::ir::Param;
use crate::text::{clip, list};
use crate::value::{Value, ValueError, decode};

/// Structural characters of one parameter text.
const PARAMS_STRUCTURALS_MAX: u64 = 4_194_304;

/// Why parameters cannot be bound.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ParamError {
    /// The text is not JSON.
    #[error("the parameters cannot be read: {0}")]
    Json(#[from] JsonError),
    /// The text is JSON, but no object.
    #[error("the parameters must be one JSON object such as {{\"name\": value}}, not {found}")]
    NotObject {
        /// What it is.
        found: &'static str,
    },
    /// A required parameter was not supplied.
    #[error("parameter ${name} of type {ty} is required and was not supplied")]
    Missing {
        /// Its name.
        name: String,
        /// Its type as declared.
        ty: String,
    },
    /// A supplied parameter is not declared.
    #[error("the query declares no parameter ${name}; it declares: {}", if declared.is_empty() { "none".to_owned() } else { list(declared) })]
    Unknown {
        /// As supplied, clipped.
        name: String,
        /// What the query declares.
        declared: Vec<String>,
    },
    /// A value of another type.
    #[error("parameter ${name} of type {ty}: {source}")]
    Value {
        /// Its name.
        name: String,
        /// Its type as declared.
        ty: String,
        /// What is wrong.
        source: ValueError,
    },
    /// A `skip` or `limit` parameter below zero.
    #[error("parameter ${name} counts rows and must not be negative, got {actual}")]
    NegativeCount {
        /// Its name.
        name: String,
        /// Its value.
        actual: i128,
    },
}

impl ParamError {
    /// The parameter's name, where the error is about one.
    pub fn parameter(&self) -> Option<&str> {
        match self {
            Self::Json(_) | Self::NotObject { .. } => None,
            Self::Missing { name, .. }
            | Self::Unknown { name, .. }
            | Self::Value { name, .. }
            | Self::NegativeCount { name, .. } => Some(name),
        }
    }

    /// The failure that the client receives.
    pub fn failure(self) -> Failure {
        let parameter = self.parameter().unwrap_or_default().to_owned();
        Failure::new(Problem::ParamInvalid { parameter }, self.to_string())
    }
}

/// A value for every declared parameter: nullable ones left out are null. An empty text, or `null`, counts as `{}`.
pub fn bind(declared: &[Param], json_text: &str) -> Result<BTreeMap<String, Value>, ParamError> {
    let limits = JsonLimits { depth_max: JsonLimits::DEPTH_MAX, structurals_max: PARAMS_STRUCTURALS_MAX };
    let supplied = if json_text.trim_ascii().is_empty() {
        Vec::new()
    } else {
        match json::parse(json_text, &limits)? {
            JsonValue::Object(members) => members,
            JsonValue::Null => Vec::new(),
            other => return Err(ParamError::NotObject { found: other.kind() }),
        }
    };
    let mut values = BTreeMap::new();
    for (name, json) in &supplied {
        let Some(param) = declared.iter().find(|param| param.name == *name) else {
            let declared = declared.iter().map(|param| param.name.clone()).collect();
            return Err(ParamError::Unknown { name: clip(name), declared });
        };
        let value = decode(json, &param.ty, param.nullability).map_err(|source| ParamError::Value {
            name: param.name.clone(),
            ty: spell(param),
            source,
        })?;
        values.insert(param.name.clone(), value);
    }
    for param in declared {
        if !values.contains_key(&param.name) {
            if !param.nullability.is_nullable() {
                return Err(ParamError::Missing { name: param.name.clone(), ty: spell(param) });
            }
            values.insert(param.name.clone(), Value::Null);
        }
    }
    Ok(values)
}

fn spell(param: &Param) -> String {
    format!("{}{}", param.ty, param.nullability.mark())
}

#[cfg(test)]
mod tests;
