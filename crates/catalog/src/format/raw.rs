//! Rows of the manifest dataset: a kind, a key, and a body that is a JSON object.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use omnigraph_types::GraphVersion;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::CatalogError;
use crate::newer::Noticed;
use crate::stamp::{FormatStamp, STORAGE_FORMAT};

/// Characters of an unknown kind that are reported.
const KIND_CHARS_MAX: usize = 32;

/// Refuses everything of another format.
pub(crate) fn check_stamp(stamp: FormatStamp) -> Result<(), CatalogError> {
    match stamp.format {
        STORAGE_FORMAT => Ok(()),
        found => Err(CatalogError::Format { found, supported: STORAGE_FORMAT }),
    }
}

/// Arrow schema of the manifest dataset.
pub(crate) fn manifest_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("kind", DataType::Utf8, false),
        Field::new("key", DataType::Utf8, false),
        Field::new("body", DataType::Utf8, false),
    ]))
}

/// Collects rows column by column.
#[derive(Default)]
pub(super) struct Rows {
    kinds: Vec<&'static str>,
    keys: Vec<String>,
    bodies: Vec<String>,
}

impl Rows {
    pub(super) fn push<T: Serialize>(&mut self, kind: &'static str, key: String, body: &T) -> Result<(), CatalogError> {
        let body = serde_json::to_string(body).map_err(|_| CatalogError::Corrupt {
            object: format!("manifest row {kind} {key}"),
            expected: "a value that this format can hold".to_owned(),
        })?;
        self.kinds.push(kind);
        self.keys.push(key);
        self.bodies.push(body);
        Ok(())
    }

    pub(super) fn into_batch(self) -> Result<RecordBatch, CatalogError> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(self.kinds)),
            Arc::new(StringArray::from_iter_values(self.keys)),
            Arc::new(StringArray::from_iter_values(self.bodies)),
        ];
        RecordBatch::try_new(manifest_schema(), columns).map_err(|error| CatalogError::Corrupt {
            object: "manifest rows".to_owned(),
            expected: format!("columns of the manifest's schema ({error})"),
        })
    }
}

/// The stored rows: kind and body, in stored order.
pub(super) struct RawRows<'a> {
    version: GraphVersion,
    rows: Vec<(&'a str, &'a str)>,
}

impl<'a> RawRows<'a> {
    pub(super) fn read(batches: &'a [RecordBatch], version: GraphVersion) -> Result<Self, CatalogError> {
        let mut read = Self { version, rows: Vec::new() };
        for batch in batches {
            let column =
                |name: &str| batch.column_by_name(name).and_then(|array| array.as_any().downcast_ref::<StringArray>());
            let (Some(kinds), Some(bodies)) = (column("kind"), column("body")) else {
                return Err(read.corrupt("text columns kind, key and body"));
            };
            if kinds.null_count() + bodies.null_count() > 0 {
                return Err(read.corrupt("rows without nulls"));
            }
            read.rows.extend((0..batch.num_rows()).map(|row| (kinds.value(row), bodies.value(row))));
        }
        Ok(read)
    }

    pub(super) fn all<T: DeserializeOwned>(&self, kind: &str) -> Result<Vec<T>, CatalogError> {
        let bodies = self.rows.iter().filter(|(row_kind, _)| *row_kind == kind);
        let read = |body: &str| {
            serde_json::from_str(body).map_err(|_| self.corrupt(&format!("a {kind} row of format {STORAGE_FORMAT}")))
        };
        bodies.map(|(_, body)| read(body)).collect()
    }

    pub(super) fn one<T: DeserializeOwned>(&self, kind: &str) -> Result<T, CatalogError> {
        self.at_most_one(kind)?.ok_or_else(|| self.corrupt(&format!("exactly one {kind} row")))
    }

    pub(super) fn at_most_one<T: DeserializeOwned>(&self, kind: &str) -> Result<Option<T>, CatalogError> {
        let mut rows = self.all(kind)?;
        match (rows.pop(), rows.len()) {
            (row, 0) => Ok(row),
            _ => Err(self.corrupt(&format!("at most one {kind} row"))),
        }
    }

    /// Notices rows of kinds that are not `known` here.
    pub(super) fn notice_other_kinds(&self, known: &[&str], noticed: &mut Noticed) {
        if let Some((kind, _)) = self.rows.iter().find(|(kind, _)| !known.contains(kind)) {
            let kind: String = kind.chars().take(KIND_CHARS_MAX).collect();
            noticed.notice(&format!("a row {kind:?} of the manifest"));
        }
    }

    /// Rows by their ids, of which each must be unique.
    pub(super) fn unique<T, K: Ord>(
        &self,
        kind: &str,
        rows: impl Iterator<Item = T>,
        key: impl Fn(&T) -> K,
    ) -> Result<BTreeMap<K, T>, CatalogError> {
        let mut by_key = BTreeMap::new();
        for row in rows {
            if by_key.insert(key(&row), row).is_some() {
                return Err(self.corrupt(&format!("one {kind} row for each {kind}")));
            }
        }
        Ok(by_key)
    }

    pub(super) fn corrupt(&self, expected: &str) -> CatalogError {
        CatalogError::Corrupt {
            object: format!("version {} of the graph's manifest", self.version),
            expected: expected.to_owned(),
        }
    }
}
