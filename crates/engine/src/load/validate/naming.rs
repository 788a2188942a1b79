//! From fingerprints back to readable ids, ends and values, which are read from the staged files again.

use std::collections::{BTreeMap, HashMap, HashSet};

use arrow::array::{Array, RecordBatch};
use arrow::util::display::array_value_to_string;
use omnigraph_columns::mapping::ID;
use omnigraph_columns::views::text_at;
use omnigraph_lang::clip;
use omnigraph_storage::Table;
use omnigraph_types::TableId;

use crate::error::Result;
use crate::load::spill::Record;
use crate::load::validate::committed::{Progress, Sought, visit_staged};
use crate::load::validate::{LOOKUP_BYTES_MAX, LOOKUP_ROWS_MAX, Validator};

/// The records with the smallest tags, up to a bound: those that an error lists.
#[derive(Debug, Default)]
pub(crate) struct Lowest {
    records: BTreeMap<(u64, u128), u64>,
    total: u64,
}

impl Lowest {
    /// Counts a record, and keeps it with `other` if it is among the `most` lowest.
    pub(crate) fn add(&mut self, record: Record, other: u64, most: usize) {
        self.total += 1;
        self.keep((record.tag, record.fingerprint), other, most);
    }

    fn keep(&mut self, key: (u64, u128), other: u64, most: usize) {
        if self.records.len() < most || self.records.last_key_value().is_some_and(|(last, _)| key < *last) {
            self.records.insert(key, other);
            if self.records.len() > most {
                self.records.pop_last();
            }
        }
    }

    /// All together.
    pub(crate) fn merge(parts: Vec<Self>, most: usize) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.total += part.total;
            part.records.into_iter().for_each(|(key, other)| all.keep(key, other, most));
        }
        all
    }

    /// The number of records counted.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Whether none was counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The lowest: record and its number, in the order of tags.
    pub(crate) fn records(&self) -> impl Iterator<Item = (Record, u64)> {
        self.records.iter().map(|((tag, fingerprint), other)| (Record { fingerprint: *fingerprint, tag: *tag }, *other))
    }

    /// Their fingerprints.
    pub(crate) fn fingerprints(&self) -> HashSet<u128> {
        self.records.keys().map(|(_, fingerprint)| *fingerprint).collect()
    }
}

impl Validator {
    /// A look-up of the distinct texts of a column of the staged rows that `wanted` accepts, and of the texts `more`; all rows, where
    /// these are too many for a look-up.
    pub(super) async fn look_up(
        &self,
        (id, column): (TableId, usize),
        table: &Table,
        more: HashSet<String>,
        wanted: impl Fn(u128) -> bool,
    ) -> Result<Sought> {
        let staged = self.staged(id)?;
        let mut found = more;
        let mut bytes: usize = found.iter().map(String::len).sum();
        let columns = staged.plan.column_names(&[column]);
        visit_staged(table, &staged.files, &columns, |batch| {
            for text in text_at(batch, 0)?.iter().flatten() {
                if wanted(self.hasher.text(text)) && !found.contains(text) {
                    bytes += text.len();
                    found.insert(text.to_owned());
                }
            }
            let is_small = bytes <= LOOKUP_BYTES_MAX && found.len() as u64 <= LOOKUP_ROWS_MAX;
            Ok(if is_small { Progress::More } else { Progress::Enough })
        })
        .await?;
        if bytes > LOOKUP_BYTES_MAX || found.len() as u64 > LOOKUP_ROWS_MAX {
            return Ok(Sought::All);
        }
        let column = staged.plan.column_name(column).to_owned();
        Ok(Sought::Texts { column, values: found.into_iter().collect() })
    }

    /// The entity id and the text of a column, for each of some fingerprints of that column's texts.
    pub(super) async fn name_texts(
        &self,
        id: TableId,
        column: usize,
        table: &Table,
        wanted: HashSet<u128>,
    ) -> Result<HashMap<u128, (String, String)>> {
        let staged = self.staged(id)?;
        let mut named = HashMap::new();
        let mut columns = vec!["id".to_owned()];
        if column != ID {
            columns.push(staged.plan.column_name(column).to_owned());
        }
        visit_staged(table, &staged.files, &columns, |batch| {
            let (ids, texts) = (text_at(batch, 0)?, text_at(batch, batch.num_columns() - 1)?);
            for row in 0..texts.len() {
                let fingerprint = self.hasher.text(texts.value(row));
                if wanted.contains(&fingerprint) {
                    named
                        .entry(fingerprint)
                        .or_insert_with(|| (ids.value(row).to_owned(), texts.value(row).to_owned()));
                }
            }
            Ok(if named.len() == wanted.len() { Progress::Enough } else { Progress::More })
        })
        .await?;
        Ok(named)
    }

    /// The entity id and the values of a tuple, for each of some fingerprints of tuples.
    pub(super) async fn name_tuples(
        &self,
        id: TableId,
        columns: &[usize],
        table: &Table,
        wanted: HashSet<u128>,
    ) -> Result<HashMap<u128, (String, String)>> {
        let staged = self.staged(id)?;
        let mut named = HashMap::new();
        let mut names = staged.plan.column_names(columns);
        names.push("id".to_owned());
        let places: Vec<usize> = (0..columns.len()).collect();
        visit_staged(table, &staged.files, &names, |batch| {
            let ids = text_at(batch, columns.len())?;
            for (row, tuple) in self.hasher.tuples(batch, &places)?.into_iter().enumerate() {
                let Some(fingerprint) = tuple.filter(|fingerprint| wanted.contains(fingerprint)) else { continue };
                named.entry(fingerprint).or_insert_with(|| (ids.value(row).to_owned(), shown(batch, &places, row)));
            }
            Ok(if named.len() == wanted.len() { Progress::Enough } else { Progress::More })
        })
        .await?;
        Ok(named)
    }
}

/// The values of some columns of a row, for a message.
fn shown(batch: &RecordBatch, places: &[usize], row: usize) -> String {
    let value = |&place: &usize| clip(&array_value_to_string(batch.column(place), row).unwrap_or_default());
    places.iter().map(value).collect::<Vec<_>>().join(", ")
}
