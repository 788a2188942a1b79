//! Which columns of a file become which properties.
//!
//! Pure: names in, plan out. A file's column is either taken, under its own name or another, or left out because the caller said so; a
//! column that is none of the type's is an error, never dropped in silence.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};

use super::error::InputError;

/// The type that the rows are of: its name, and its columns as the server declares them.
#[derive(Debug, Clone)]
pub(crate) struct TypeColumns {
    /// Node or edge type.
    pub(crate) name: String,
    /// `id`, for edges `src` and `dst`, then the properties.
    pub(crate) schema: SchemaRef,
}

/// `old=new` of `--rename`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rename {
    /// The column, as the file names it.
    pub(crate) from: String,
    /// The property.
    pub(crate) to: String,
}

impl FromStr for Rename {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // No property has a '=' in its name; a column may.
        match text.rsplit_once('=') {
            Some((from, to)) if !from.is_empty() && !to.is_empty() => {
                Ok(Self { from: from.to_owned(), to: to.to_owned() })
            }
            _ => Err("write it as <column of the file>=<property>, such as origin=src".to_owned()),
        }
    }
}

/// What the caller said about columns.
#[derive(Debug, Clone, Default)]
pub(crate) struct ColumnChoice {
    /// Columns that become properties of another name.
    pub(crate) renames: Vec<Rename>,
    /// Only these columns, by the file's names; empty for all.
    pub(crate) select: Vec<String>,
    /// Not these columns, by the file's names.
    pub(crate) skip: Vec<String>,
}

impl ColumnChoice {
    /// Whether an option names the column.
    pub(crate) fn names(&self, column: &String) -> bool {
        self.renames.iter().any(|rename| rename.from == *column)
            || self.select.contains(column)
            || self.skip.contains(column)
    }
}

/// One column that is taken.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    /// Its place in the file.
    pub(crate) index: usize,
    /// Its name in the file.
    pub(crate) name: String,
    /// The column of the type that it becomes.
    pub(crate) declared: FieldRef,
}

/// The columns that are taken, in the order in which the type declares them, so that files with the same columns in another order
/// yield the same schema.
#[derive(Debug, Clone)]
pub(crate) struct ColumnPlan {
    /// The columns.
    pub(crate) taken: Vec<Taken>,
}

impl ColumnPlan {
    /// Matches the columns of `file`, by name, with those of the type.
    pub(crate) fn new(
        file: &Path,
        columns: &[String],
        of: &TypeColumns,
        choice: &ColumnChoice,
    ) -> Result<Self, InputError> {
        let known = |option, name: &String| match columns.contains(name) {
            true => Ok(()),
            false => Err(InputError::ColumnMissing {
                file: file.to_owned(),
                option,
                column: name.clone(),
                columns: columns.to_vec(),
            }),
        };
        choice.renames.iter().try_for_each(|rename| known("--rename", &rename.from))?;
        choice.select.iter().try_for_each(|name| known("--select", name))?;
        choice.skip.iter().try_for_each(|name| known("--skip-column", name))?;

        let mut taken: Vec<(usize, Taken)> = Vec::new();
        for (index, name) in columns.iter().enumerate() {
            let selected = choice.select.is_empty() || choice.select.contains(name);
            if !selected || choice.skip.contains(name) {
                continue;
            }
            let renamed = choice.renames.iter().find(|rename| rename.from == *name);
            let property = renamed.map_or(name, |rename| &rename.to);
            let (place, declared) = of.schema.fields().find(property).ok_or_else(|| InputError::ColumnUnknown {
                file: file.to_owned(),
                column: property.clone(),
                type_name: of.name.clone(),
                columns: of.schema.fields().iter().map(|field| field.name().clone()).collect(),
            })?;
            if taken.iter().any(|(other, _)| *other == place) {
                return Err(InputError::ColumnTwice { file: file.to_owned(), property: property.clone() });
            }
            taken.push((place, Taken { index, name: name.clone(), declared: FieldRef::clone(declared) }));
        }
        if taken.is_empty() {
            return Err(InputError::NoColumns { file: file.to_owned() });
        }
        taken.sort_by_key(|(place, _)| *place);
        Ok(Self { taken: taken.into_iter().map(|(_, column)| column).collect() })
    }

    /// The schema of the rows that are sent: the properties' names with the file's own types.
    pub(crate) fn sent_schema(&self, of_file: &Schema) -> SchemaRef {
        let field =
            |column: &Taken| Field::new(column.declared.name(), of_file.field(column.index).data_type().clone(), true);
        Arc::new(Schema::new(self.taken.iter().map(field).collect::<Vec<_>>()))
    }

    /// Where the taken columns stand, in the plan's order, in a batch that holds exactly them in the file's order.
    pub(crate) fn places_in_file_order(&self) -> Vec<usize> {
        let place = |column: &Taken| self.taken.iter().filter(|other| other.index < column.index).count();
        self.taken.iter().map(place).collect()
    }
}
