//! Stage 4: the same id twice in the load, and ids that are committed.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::io;

use omnigraph_columns::mapping::ID;
use omnigraph_columns::views::text_at;
use omnigraph_storage::Table;
use omnigraph_types::mutant;
use omnigraph_types::{ConstraintKind, LoadMode, TableId};

use crate::cause::Defect;
use crate::error::{EngineError, Result};
use crate::load::findings::{Findings, Rule};
use crate::load::spill::{Record, SetId, SliceReader, SpillPool};
use crate::load::validate::committed::{BitFilter, Sought, visit};
use crate::load::validate::naming::Lowest;
use crate::load::validate::{LOOKUP_ROWS_MAX, Tables, Validator};
use crate::words::quote;

/// Hashes a fingerprint to its low bits, as a fingerprint is a hash already.
#[derive(Debug, Default)]
pub(crate) struct LowBits(u64);

impl Hasher for LowBits {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let word = bytes.first_chunk().copied().unwrap_or_default();
        self.0 = u64::from_le_bytes(word);
    }

    fn write_u128(&mut self, fingerprint: u128) {
        // The high bits select the partition and the pass, so they are equal within a slice.
        self.0 = fingerprint as u64;
    }
}

/// A map by fingerprint.
pub(crate) type FingerprintMap<V> = HashMap<u128, V, BuildHasherDefault<LowBits>>;

/// An empty map with room for that many entries.
pub(crate) fn with_capacity<V>(entries: usize) -> FingerprintMap<V> {
    HashMap::with_capacity_and_hasher(entries, BuildHasherDefault::default())
}

/// The records of a set that are repetitions: the later row as tag, the first row as number.
pub(crate) fn repetitions(pool: &SpillPool, set: SetId, most: usize) -> Result<Lowest> {
    let found = pool.for_each_slice(&[set], |slice| {
        let mut first = with_capacity(slice.about(set));
        let mut lowest = Lowest::default();
        slice.read(set, |record| match first.entry(record.fingerprint) {
            Entry::Vacant(vacant) => drop(vacant.insert(record.tag)),
            Entry::Occupied(first) => lowest.add(record, *first.get(), most),
        })?;
        Ok(lowest)
    })?;
    Ok(Lowest::merge(found, most))
}

/// The records of `ours` whose fingerprint is in `theirs` too.
pub(crate) fn matches(pool: &SpillPool, ours: SetId, theirs: SetId, most: usize) -> Result<Lowest> {
    let found = pool.for_each_slice(&[ours], |slice| matches_in(slice, ours, theirs, most))?;
    Ok(Lowest::merge(found, most))
}

fn matches_in(slice: &SliceReader<'_>, ours: SetId, theirs: SetId, most: usize) -> io::Result<Lowest> {
    let mut held = with_capacity(slice.about(ours));
    let mut lowest = Lowest::default();
    slice.read(ours, |record| {
        held.insert(record.fingerprint, record.tag);
    })?;
    slice.read(theirs, |record| {
        if let Some(tag) = held.remove(&record.fingerprint) {
            lowest.add(Record { fingerprint: record.fingerprint, tag }, 0, most);
        }
    })?;
    Ok(lowest)
}

impl Validator {
    /// The same id twice for one type in one load, in every mode.
    pub(super) async fn duplicate_ids(&mut self, tables: &mut Tables<'_>) -> Result<()> {
        let most = self.most();
        for id in self.types.keys().copied().collect::<Vec<_>>() {
            let set = self.staged(id)?.sets.ids;
            let twice = self.with_pool(move |pool| repetitions(pool, set, most)).await?;
            if !mutant!(141, twice.is_empty(), true) {
                return Err(self.name_duplicates(id, &twice, tables).await?);
            }
        }
        Ok(())
    }

    async fn name_duplicates(&self, id: TableId, twice: &Lowest, tables: &mut Tables<'_>) -> Result<EngineError> {
        let plan = self.staged(id)?.plan.clone();
        let table = tables.get(id).await?;
        let named = self.name_texts(id, ID, &table, twice.fingerprints()).await?;
        let properties = if plan.is_keyed() { plan.column_names(&plan.key) } else { vec!["id".to_owned()] };
        let rule = Rule { type_name: plan.name(), properties: &properties, kind: ConstraintKind::Unique };
        let mut findings = Findings::new(self.limits.error_items_max);
        for (record, first_row) in twice.records() {
            let entity = named.get(&record.fingerprint).map(|(id, _)| id.clone());
            let shown = entity.as_deref().map_or(String::new(), quote);
            let message = format!("rows {first_row} and {} have the same id {shown}: keep one of them", record.tag);
            findings.add(&rule, || (entity, Some(record.tag), message));
        }
        Ok(self.finish_findings(findings, twice.total()))
    }

    /// The error of findings of which the first are described and `total` were counted.
    pub(super) fn finish_findings(&self, mut findings: Findings, total: u64) -> EngineError {
        findings.set_total(total);
        findings.into_result().err().unwrap_or(EngineError::from(Defect::ViolationLost))
    }

    /// Ids that are committed: a conflict in mode append, counted in mode merge, ignored in mode overwrite.
    pub(super) async fn committed_ids(&mut self, id: TableId, tables: &mut Tables<'_>) -> Result<()> {
        let ids = self.staged(id)?.sets.ids;
        if self.mode == LoadMode::Overwrite {
            return Ok(());
        }
        if self.pool.set(ids).is_empty() || tables.row_count(id) == 0 {
            self.replaced.insert(id, 0);
            return Ok(());
        }
        let found = self.find_committed(id, tables).await?;
        let most = self.most();
        let existing = self
            .with_pool(move |pool| {
                let existing = matches(pool, ids, found, most)?;
                pool.clear(found);
                Ok(existing)
            })
            .await?;
        if mutant!(142, self.mode == LoadMode::Merge || existing.is_empty(), true) {
            self.replaced.insert(id, existing.total());
            return Ok(());
        }
        let table = tables.get(id).await?;
        let named = self.name_texts(id, ID, &table, existing.fingerprints()).await?;
        let id_of = |(record, _): (Record, u64)| named.get(&record.fingerprint).map(|(id, _)| id.clone());
        Err(EngineError::KeyConflict {
            type_name: self.staged(id)?.plan.name().to_owned(),
            ids: existing.records().filter_map(id_of).collect(),
            total: existing.total(),
            source_row: existing.records().next().map(|(record, _)| record.tag),
        })
    }

    /// A set with every committed id that is in the load, and perhaps others.
    async fn find_committed(&mut self, id: TableId, tables: &mut Tables<'_>) -> Result<SetId> {
        let staged = self.staged(id)?;
        let (ids, rows) = (staged.sets.ids, staged.rows);
        let table = tables.get(id).await?;
        let filter = BitFilter::over(&self.pool, &[ids])?;
        let sought = if rows <= LOOKUP_ROWS_MAX {
            self.look_up((id, ID), &table, HashSet::new(), |_| true).await?
        } else {
            Sought::All
        };
        self.collect_ids(&table, sought, &filter).await
    }

    /// A set with the committed ids of a table that pass the filter.
    pub(super) async fn collect_ids(&mut self, table: &Table, sought: Sought, filter: &BitFilter) -> Result<SetId> {
        let (hasher, pool) = (self.hasher, &mut self.pool);
        let found = pool.add();
        visit(table, &["id".to_owned()], sought, |batch| {
            let set = pool.set_mut(found);
            for text in text_at(batch, 0)?.iter().flatten() {
                let fingerprint = hasher.text(text);
                if filter.may_hold(fingerprint) {
                    set.push(fingerprint, 0);
                }
            }
            pool.relieve()
        })
        .await?;
        Ok(found)
    }
}
