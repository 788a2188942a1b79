//! Stage 7: `@card`, for every source that an added, replaced or removed edge leaves or left.

use std::collections::{HashMap, HashSet};
use std::io;

use omnigraph_lang::schema::Cardinality;
use omnigraph_types::{ConstraintKind, TableId};

use crate::error::{Result, quote};
use crate::load::LoadMode;
use crate::load::findings::{Findings, Rule};
use crate::load::spill::{Record, SetId, SliceReader};
use crate::load::validate::committed::{BitFilter, Sought, visit};
use crate::load::validate::keys::FingerprintMap;
use crate::load::validate::naming::{Lowest, texts};
use crate::load::validate::{LOOKUP_ROWS_MAX, Tables, Validator};
use crate::schema::SRC;

/// Tag of a source that no added edge leaves.
const NO_ROW: u64 = u64::MAX;

/// The sets that one count is made of. Fingerprints are of source ids.
#[derive(Debug, Clone)]
struct Parts {
    /// One per added edge.
    added: SetId,
    /// One per edge that is replaced or removed.
    removed: SetId,
    /// One per edge that stays and leaves a source of the two above, and perhaps others.
    kept: SetId,
    /// Where the sources' own type is replaced: the nodes there will be. Others are deleted by this load and exempt.
    alive: Option<SetId>,
    card: Cardinality,
}

#[derive(Debug, Clone, Copy)]
struct Count {
    edges: u64,
    first_row: u64,
    is_alive: bool,
}

fn broken_in(slice: &SliceReader<'_>, parts: &Parts, most: usize) -> io::Result<Lowest> {
    let mut counts: FingerprintMap<Count> = FingerprintMap::default();
    let is_alive = parts.alive.is_none();
    let fresh = |first_row| Count { edges: 0, first_row, is_alive };
    slice.read(parts.added, |record| {
        let count = counts.entry(record.fingerprint).or_insert(fresh(record.tag));
        count.edges += 1;
    })?;
    slice.read(parts.removed, |record| {
        counts.entry(record.fingerprint).or_insert(fresh(NO_ROW));
    })?;
    slice.read(parts.kept, |record| {
        if let Some(count) = counts.get_mut(&record.fingerprint) {
            count.edges += 1;
        }
    })?;
    if let Some(alive) = parts.alive {
        slice.read(alive, |record| {
            if let Some(count) = counts.get_mut(&record.fingerprint) {
                count.is_alive = true;
            }
        })?;
    }
    let mut lowest = Lowest::default();
    for (fingerprint, count) in counts {
        let too_few = count.edges < u64::from(parts.card.min) && count.is_alive;
        let too_many = parts.card.max.is_some_and(|max| count.edges > u64::from(max));
        if too_few || too_many {
            lowest.add(Record { fingerprint, tag: count.first_row }, count.edges, most);
        }
    }
    Ok(lowest)
}

impl Validator {
    /// Counts the edges of every source touched, if the type bounds them.
    pub(super) async fn cardinality(&mut self, id: TableId, tables: &mut Tables<'_>) -> Result<()> {
        let staged = self.staged(id)?;
        let (Some(ends), Some(added)) = (staged.plan.ends, staged.sets.ends.and_then(|sets| sets.counted)) else {
            return Ok(());
        };
        let alive = self.is_replaced(ends.from).then(|| self.types.get(&ends.from).map(|from| from.sets.ids)).flatten();
        let (removed, kept) = (self.pool.add(), self.pool.add());
        let parts = Parts { added, removed, kept, alive, card: ends.card };
        if tables.row_count(id) > 0 {
            self.committed_edges(id, &parts, tables).await?;
        }
        let most = self.most();
        let broken = self
            .with_pool(move |pool| {
                let held = [parts.added, parts.removed];
                let broken = pool.for_each_slice(&held, |slice| broken_in(slice, &parts, most))?;
                pool.clear(removed);
                pool.clear(kept);
                Ok(Lowest::merge(broken, most))
            })
            .await?;
        if broken.is_empty() { Ok(()) } else { Err(self.refuse_counts(id, ends.card, &broken, tables).await?) }
    }

    /// Fills in the edges that go and those that stay.
    async fn committed_edges(&mut self, id: TableId, parts: &Parts, tables: &mut Tables<'_>) -> Result<()> {
        let table = tables.get(id).await?;
        let columns = ["id".to_owned(), "src".to_owned()];
        let (hasher, removed, kept) = (self.hasher, parts.removed, parts.kept);
        if self.mode == LoadMode::Overwrite {
            // All committed edges go. That can only leave a source with too few.
            if parts.card.min > 0 {
                let pool = &mut self.pool;
                visit(&table, &columns[1..], Sought::All, |batch| {
                    let sources = texts(batch, 0)?.iter().flatten();
                    sources.for_each(|source| pool.set_mut(removed).push(hasher.text(source), NO_ROW));
                    pool.relieve()
                })
                .await?;
            }
            return Ok(());
        }
        let rows = self.staged(id)?.rows;
        let mut old_sources = HashSet::new();
        let mut replaced = HashSet::new();
        if self.mode == LoadMode::Merge && self.replaced.get(&id).is_some_and(|&count| count > 0) {
            replaced = self.in_memory(self.staged(id)?.sets.ids).await?;
            let sought = match rows {
                0..=LOOKUP_ROWS_MAX => {
                    let values = self.staged_texts(id, crate::schema::ID, &table, |_| true).await?;
                    Sought::Texts { column: "id".to_owned(), values }
                }
                _ => Sought::All,
            };
            let pool = &mut self.pool;
            visit(&table, &columns, sought, |batch| {
                let (ids, sources) = (texts(batch, 0)?, texts(batch, 1)?);
                for (id, source) in ids.iter().flatten().zip(sources.iter().flatten()) {
                    if replaced.contains(&hasher.text(id)) {
                        pool.set_mut(removed).push(hasher.text(source), NO_ROW);
                        if rows <= LOOKUP_ROWS_MAX {
                            old_sources.insert(source.to_owned());
                        }
                    }
                }
                pool.relieve()
            })
            .await?;
        }
        let sought = match rows {
            0..=LOOKUP_ROWS_MAX => {
                let mut values = self.staged_texts(id, SRC, &table, |_| true).await?;
                values.extend(old_sources);
                Sought::Texts { column: "src".to_owned(), values }
            }
            _ => Sought::All,
        };
        let filter = BitFilter::over(&self.pool, &[parts.added, removed])?;
        let pool = &mut self.pool;
        // A text that is sought twice brings its edges once per chunk of the look-up.
        let mut sought = sought;
        if let Sought::Texts { values, .. } = &mut sought {
            values.sort();
            values.dedup();
        }
        visit(&table, &columns, sought, |batch| {
            let (ids, sources) = (texts(batch, 0)?, texts(batch, 1)?);
            for (id, source) in ids.iter().flatten().zip(sources.iter().flatten()) {
                let fingerprint = hasher.text(source);
                if filter.may_hold(fingerprint) && (replaced.is_empty() || !replaced.contains(&hasher.text(id))) {
                    pool.set_mut(kept).push(fingerprint, NO_ROW);
                }
            }
            pool.relieve()
        })
        .await
    }

    async fn refuse_counts(
        &self,
        id: TableId,
        card: Cardinality,
        broken: &Lowest,
        tables: &mut Tables<'_>,
    ) -> Result<crate::error::EngineError> {
        let table = tables.get(id).await?;
        let plan = self.staged(id)?.plan.clone();
        let mut named: HashMap<u128, String> = HashMap::new();
        for (fingerprint, (_, source)) in self.name_texts(id, SRC, &table, broken.fingerprints()).await? {
            named.insert(fingerprint, source);
        }
        if named.len() < broken.fingerprints().len() {
            let wanted = broken.fingerprints();
            visit(&table, &["src".to_owned()], Sought::All, |batch| {
                for source in texts(batch, 0)?.iter().flatten() {
                    let fingerprint = self.hasher.text(source);
                    if wanted.contains(&fingerprint) {
                        named.entry(fingerprint).or_insert_with(|| source.to_owned());
                    }
                }
                Ok(())
            })
            .await?;
        }
        let properties = ["src".to_owned()];
        let rule = Rule { type_name: plan.name(), properties: &properties, kind: ConstraintKind::Cardinality };
        let max = card.max.map_or(String::new(), |max| max.to_string());
        let mut findings = Findings::new(self.limits.error_items_max);
        for (record, edges) in broken.records() {
            let source = named.get(&record.fingerprint).map_or("", String::as_str);
            let message =
                format!("{edges} edges would leave {}, @card({}..{max}) bounds them", quote(source), card.min);
            let row = (record.tag != NO_ROW).then_some(record.tag);
            findings.add(&rule, || (None, row, message));
        }
        Ok(self.finish_findings(findings, broken.total()))
    }
}
