//! The stored form of a schema: canonical JSON under a format number, and its hash.
//!
//! Each format is made of its own data types, so that a change of the model cannot change stored bytes unnoticed. Equal schemas have
//! equal bytes. Reading checks S-1 and S-2 and puts lists into canonical order, so a contract from elsewhere cannot break the model.

mod v1;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::schema::contract::v1::{FORMAT, StoredSchema};
use crate::schema::invariants::{Broken, check_types};
use crate::schema::model::{Schema, SchemaHash};

/// Why stored bytes are not a schema.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ContractError {
    /// Not the JSON of a contract.
    #[error("the stored schema cannot be read: {message}")]
    Json {
        /// What the reader reports.
        message: String,
    },
    /// Written by another version.
    #[error("the stored schema has format {found}, this program reads format {FORMAT}")]
    Format {
        /// The format found.
        found: u32,
    },
    /// A reference or id that breaks an invariant of the model.
    #[error("the stored schema breaks a rule at {place}: {rule}")]
    Invariant {
        /// Type, or type and property.
        place: String,
        /// The rule.
        rule: &'static str,
    },
}

impl From<Broken> for ContractError {
    fn from(broken: Broken) -> Self {
        Self::Invariant { place: broken.place, rule: broken.rule }
    }
}

/// What every format begins with.
#[derive(Deserialize)]
struct Stamp {
    format: u32,
}

impl Schema {
    /// The canonical JSON: equal schemas have equal bytes.
    pub fn to_canonical_json(&self) -> Vec<u8> {
        // The stored types have string keys only and no value that serialization can refuse.
        serde_json::to_vec(&StoredSchema::from(self)).unwrap_or_default()
    }

    /// SHA-256 of the canonical JSON.
    pub fn hash(&self) -> SchemaHash {
        SchemaHash(Sha256::digest(self.to_canonical_json()).into())
    }

    /// Reads what [`Schema::to_canonical_json`] wrote.
    pub fn from_json(bytes: &[u8]) -> Result<Self, ContractError> {
        let json = |error: serde_json::Error| ContractError::Json { message: error.to_string() };
        let Stamp { format } = serde_json::from_slice(bytes).map_err(json)?;
        if format != FORMAT {
            return Err(ContractError::Format { found: format });
        }
        let stored: StoredSchema = serde_json::from_slice(bytes).map_err(json)?;
        let schema = Self::try_from(stored)?;
        check_types(&schema)?;
        Ok(schema)
    }
}
