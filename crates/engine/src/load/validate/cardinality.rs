//! Stage 7: `@card`, for every source that an added, replaced or removed edge leaves or left.

use std::collections::{HashMap, HashSet};
use std::io;

use omnigraph_columns::mapping::{ID, SRC};
use omnigraph_columns::views::text_at;
use omnigraph_lang::schema::Cardinality;
use omnigraph_storage::Table;
use omnigraph_types::mutant;
use omnigraph_types::{ConstraintKind, LoadMode, TableId};

use crate::error::{EngineError, Result};
use crate::load::findings::{Findings, Rule};
use crate::load::spill::{Record, SetId, SliceReader};
use crate::load::validate::committed::{BitFilter, Sought, visit};
use crate::load::validate::keys::with_capacity;
use crate::load::validate::naming::Lowest;
use crate::load::validate::{LOOKUP_ROWS_MAX, Tables, Validator};
use crate::words::quote;

/// Tag of a source that no added edge leaves.
const NO_ROW: u64 = u64::MAX;

/// The sets of one count: fingerprints of source ids.
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

/// Committed edges that a merge replaces.
#[derive(Debug, Default)]
struct Replaced {
    /// Fingerprints of their ids, and of the load's other ids.
    ids: HashSet<u128>,
    /// Their sources, if the load is small.
    sources: HashSet<String>,
}

#[derive(Debug, Clone, Copy)]
struct Count {
    edges: u64,
    first_row: u64,
    is_alive: bool,
}

fn broken_in(slice: &SliceReader<'_>, parts: &Parts, most: usize) -> io::Result<Lowest> {
    let mut counts = with_capacity(slice.about(parts.added));
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
    let (min, max) = (mutant!(150, parts.card.min, 0), mutant!(151, parts.card.max, None));
    let mut lowest = Lowest::default();
    for (fingerprint, count) in counts {
        let too_few = count.edges < u64::from(min) && count.is_alive;
        let too_many = max.is_some_and(|max| count.edges > u64::from(max));
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
        let is_replaced = mutant!(152, self.is_replaced(ends.from), false);
        let alive = is_replaced.then(|| self.types.get(&ends.from).map(|from| from.sets.ids)).flatten();
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

    /// Collects the committed edges that the load removes and those that it keeps.
    async fn committed_edges(&mut self, id: TableId, parts: &Parts, tables: &mut Tables<'_>) -> Result<()> {
        if self.mode == LoadMode::Overwrite {
            return self.removed_by_overwrite(id, parts, tables).await;
        }
        let table = tables.get(id).await?;
        let mut replaced = Replaced::default();
        let replaces = self.replaced.get(&id).is_some_and(|&count| count > 0);
        if mutant!(153, self.mode == LoadMode::Merge && replaces, false) {
            replaced = self.removed_by_merge(id, parts, &table).await?;
        }
        let sought = if self.staged(id)?.rows <= LOOKUP_ROWS_MAX {
            self.look_up((id, SRC), &table, std::mem::take(&mut replaced.sources), |_| true).await?
        } else {
            Sought::All
        };
        let filter = BitFilter::over(&self.pool, &[parts.added, parts.removed])?;
        let (hasher, kept, pool) = (self.hasher, parts.kept, &mut self.pool);
        visit(&table, &["id".to_owned(), "src".to_owned()], sought, |batch| {
            let (ids, sources) = (text_at(batch, 0)?, text_at(batch, 1)?);
            for (id, source) in ids.iter().flatten().zip(sources.iter().flatten()) {
                let fingerprint = hasher.text(source);
                let stays = replaced.ids.is_empty() || !replaced.ids.contains(&hasher.text(id));
                if filter.may_hold(fingerprint) && stays {
                    pool.set_mut(kept).push(fingerprint, NO_ROW);
                }
            }
            pool.relieve()
        })
        .await
    }

    /// All committed edges are removed, which can only leave a source with too few.
    async fn removed_by_overwrite(&mut self, id: TableId, parts: &Parts, tables: &mut Tables<'_>) -> Result<()> {
        if mutant!(154, parts.card.min == 0, true) {
            return Ok(());
        }
        let table = tables.get(id).await?;
        let (hasher, removed, pool) = (self.hasher, parts.removed, &mut self.pool);
        visit(&table, &["src".to_owned()], Sought::All, |batch| {
            let sources = text_at(batch, 0)?.iter().flatten();
            sources.for_each(|source| pool.set_mut(removed).push(hasher.text(source), NO_ROW));
            pool.relieve()
        })
        .await
    }

    /// Committed edges whose ids the load holds are removed, and their sources counted again.
    async fn removed_by_merge(&mut self, id: TableId, parts: &Parts, table: &Table) -> Result<Replaced> {
        let staged = self.staged(id)?;
        let (rows, set) = (staged.rows, staged.sets.ids);
        let ids = self.in_memory(set).await?;
        let sought = if rows <= LOOKUP_ROWS_MAX {
            self.look_up((id, ID), table, HashSet::new(), |_| true).await?
        } else {
            Sought::All
        };
        let mut sources = HashSet::new();
        let (hasher, removed, pool) = (self.hasher, parts.removed, &mut self.pool);
        visit(table, &["id".to_owned(), "src".to_owned()], sought, |batch| {
            let (edges, froms) = (text_at(batch, 0)?, text_at(batch, 1)?);
            for (edge, source) in edges.iter().flatten().zip(froms.iter().flatten()) {
                if ids.contains(&hasher.text(edge)) {
                    pool.set_mut(removed).push(hasher.text(source), NO_ROW);
                    if rows <= LOOKUP_ROWS_MAX {
                        sources.insert(source.to_owned());
                    }
                }
            }
            pool.relieve()
        })
        .await?;
        Ok(Replaced { ids, sources })
    }

    async fn refuse_counts(
        &self,
        id: TableId,
        card: Cardinality,
        broken: &Lowest,
        tables: &mut Tables<'_>,
    ) -> Result<EngineError> {
        let table = tables.get(id).await?;
        let plan = self.staged(id)?.plan.clone();
        let mut named: HashMap<u128, String> = HashMap::new();
        for (fingerprint, (_, source)) in self.name_texts(id, SRC, &table, broken.fingerprints()).await? {
            named.insert(fingerprint, source);
        }
        if named.len() < broken.fingerprints().len() {
            let wanted = broken.fingerprints();
            visit(&table, &["src".to_owned()], Sought::All, |batch| {
                for source in text_at(batch, 0)?.iter().flatten() {
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
