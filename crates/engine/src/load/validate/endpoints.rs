//! Stage 6: every edge that the load adds, and every edge that stays while its nodes are replaced, has both its ends.

use std::collections::HashSet;
use std::io;

use omnigraph_columns::mapping::{DST, SRC};
use omnigraph_columns::views::text_at;
use omnigraph_types::mutant;
use omnigraph_types::{ConstraintKind, TableId};

use crate::cause::Defect;
use crate::error::{EngineError, Result};
use crate::load::findings::{Findings, Rule};
use crate::load::fingerprint::RecentlySeen;
use crate::load::spill::{Record, SetId, SliceReader, SpillPool};
use crate::load::validate::committed::{BitFilter, Sought, visit};
use crate::load::validate::keys::with_capacity;
use crate::load::validate::naming::Lowest;
use crate::load::validate::{LOOKUP_ROWS_MAX, Tables, Validator};
use crate::schema::TypePlan;
use crate::words::quote;

/// One side of one edge type: ids that must be nodes of one type.
#[derive(Debug, Clone, Copy)]
struct Demand {
    edge: TableId,
    column: usize,
    set: SetId,
}

/// The records of `demand` that are in none of `supplies`, each fingerprint once, with the tag of its first.
fn subtract(pool: &mut SpillPool, demand: SetId, supplies: &[SetId]) -> Result<SetId> {
    let left = |slice: &SliceReader<'_>| -> io::Result<Vec<Record>> {
        let mut held = with_capacity(slice.about(demand));
        slice.read(demand, |record| {
            held.entry(record.fingerprint).or_insert(record.tag);
        })?;
        for supply in supplies {
            slice.read(*supply, |record| {
                held.remove(&record.fingerprint);
            })?;
        }
        Ok(held.into_iter().map(|(fingerprint, tag)| Record { fingerprint, tag }).collect())
    };
    pool.collect_slices(&[demand], left)
}

/// The lowest records of a set.
fn lowest_of(pool: &SpillPool, set: SetId, most: usize) -> Result<Lowest> {
    let mut lowest = Lowest::default();
    pool.for_each_record(set, |record| lowest.add(record, 0, most))?;
    Ok(lowest)
}

impl Validator {
    /// Ends of added edges that must be nodes of this type.
    pub(super) async fn added_edges(&mut self, node: TableId, tables: &mut Tables<'_>) -> Result<()> {
        let mut open = Vec::new();
        let supplies: Vec<SetId> = self.types.get(&node).map(|staged| staged.sets.ids).into_iter().collect();
        for demand in self.demands_on(node) {
            let supplies = supplies.clone();
            let set = self.with_pool(move |pool| subtract(pool, demand.set, &supplies)).await?;
            if !self.pool.set(set).is_empty() {
                open.push(Demand { set, ..demand });
            }
        }
        if open.is_empty() {
            return Ok(());
        }
        if mutant!(9, !self.is_replaced(node), true) && tables.row_count(node) > 0 {
            let committed = self.find_nodes(node, &open, tables).await?;
            for demand in &mut open {
                let set = demand.set;
                demand.set = self.with_pool(move |pool| subtract(pool, set, &[committed])).await?;
                self.pool.clear(set);
            }
            self.pool.clear(committed);
        }
        self.refuse_orphans(node, &open, tables).await?;
        open.iter().for_each(|demand| self.pool.clear(demand.set));
        Ok(())
    }

    fn demands_on(&self, node: TableId) -> Vec<Demand> {
        let mut demands = Vec::new();
        for (&edge, staged) in &self.types {
            let (Some(ends), Some(sets)) = (staged.plan.ends, staged.sets.ends) else { continue };
            if mutant!(147, ends.from == node, false) {
                demands.push(Demand { edge, column: SRC, set: sets.src });
            }
            if mutant!(148, ends.to == node, false) {
                demands.push(Demand { edge, column: DST, set: sets.dst });
            }
        }
        demands
    }

    /// A set with every committed node that the ends refer to, and perhaps others.
    async fn find_nodes(&mut self, node: TableId, open: &[Demand], tables: &mut Tables<'_>) -> Result<SetId> {
        let sets: Vec<SetId> = open.iter().map(|demand| demand.set).collect();
        let wanted: u64 = sets.iter().map(|set| self.pool.set(*set).len()).sum();
        let filter = BitFilter::over(&self.pool, &sets)?;
        let sought = if wanted <= LOOKUP_ROWS_MAX { self.look_up_ends(open, tables).await? } else { Sought::All };
        let table = tables.get(node).await?;
        self.collect_ids(&table, sought, &filter).await
    }

    /// A look-up of the nodes that a small number of ends refers to.
    async fn look_up_ends(&mut self, open: &[Demand], tables: &mut Tables<'_>) -> Result<Sought> {
        let mut found = HashSet::new();
        for demand in open {
            let wanted = self.in_memory(demand.set).await?;
            let table = tables.get(demand.edge).await?;
            let ends = (demand.edge, demand.column);
            match self.look_up(ends, &table, found, |fingerprint| wanted.contains(&fingerprint)).await? {
                Sought::All => return Ok(Sought::All),
                Sought::Texts { values, .. } => found = values.into_iter().collect(),
            }
        }
        Ok(Sought::Texts { column: "id".to_owned(), values: found.into_iter().collect() })
    }

    async fn refuse_orphans(&mut self, node: TableId, open: &[Demand], tables: &mut Tables<'_>) -> Result<()> {
        let mut findings = Findings::new(self.limits.error_items_max);
        let mut total = 0;
        for demand in open {
            let most = self.most();
            let set = demand.set;
            let missing = self.with_pool(move |pool| lowest_of(pool, set, most)).await?;
            if missing.is_empty() {
                continue;
            }
            total += missing.total();
            let table = tables.get(demand.edge).await?;
            let named = self.name_texts(demand.edge, demand.column, &table, missing.fingerprints()).await?;
            let plan = self.schema.by_id(demand.edge)?;
            let properties = [plan.column_name(demand.column).to_owned()];
            let rule = Rule { type_name: plan.name(), properties: &properties, kind: ConstraintKind::OrphanEdge };
            for (record, _) in missing.records() {
                let (entity, text) = named.get(&record.fingerprint).cloned().unzip();
                let message = self.orphan_message(plan, demand.column, node, &text.unwrap_or_default());
                findings.add(&rule, || (entity, Some(record.tag), message));
            }
        }
        if total == 0 { Ok(()) } else { Err(self.finish_findings(findings, total)) }
    }

    fn orphan_message(&self, edge: &TypePlan, column: usize, node: TableId, id: &str) -> String {
        let node = self.schema.by_id(node).map_or("", |plan| plan.name());
        format!("{} {} is no {node}: load the node first or in the same load", edge.column_name(column), quote(id))
    }

    /// Edges of a type that stays, some ends of which are of a type that is replaced.
    pub(super) async fn kept_edges(&mut self, edge: TableId, tables: &mut Tables<'_>) -> Result<()> {
        let plan = self.schema.by_id(edge)?.clone();
        let Some(ends) = plan.ends else { return Err(EngineError::from(Defect::NodeCheckedAsEdge)) };
        if tables.row_count(edge) == 0 {
            return Ok(());
        }
        for (column, node) in [(SRC, ends.from), (DST, ends.to)] {
            let Some(nodes) = self.types.get(&node).map(|staged| staged.sets.ids) else { continue };
            let table = tables.get(edge).await?;
            let (hasher, pool) = (self.hasher, &mut self.pool);
            let demand = pool.add();
            let mut recent = RecentlySeen::default();
            visit(&table, &plan.column_names(&[column]), Sought::All, |batch| {
                let set = pool.set_mut(demand);
                for text in text_at(batch, 0)?.iter().flatten() {
                    let fingerprint = hasher.text(text);
                    if recent.is_news(fingerprint) {
                        set.push(fingerprint, 0);
                    }
                }
                pool.relieve()
            })
            .await?;
            let most = self.most();
            let missing = self
                .with_pool(move |pool| {
                    let missing = subtract(pool, demand, &[nodes])?;
                    let lowest = lowest_of(pool, missing, most)?;
                    pool.clear(demand);
                    pool.clear(missing);
                    Ok(lowest)
                })
                .await?;
            if !mutant!(149, missing.is_empty(), true) {
                return Err(self.name_kept(&plan, (column, node), &missing, tables).await?);
            }
        }
        Ok(())
    }

    async fn name_kept(
        &self,
        plan: &TypePlan,
        (column, node): (usize, TableId),
        missing: &Lowest,
        tables: &mut Tables<'_>,
    ) -> Result<EngineError> {
        let table = tables.get(plan.def.id).await?;
        let wanted = missing.fingerprints();
        let mut named = HashSet::new();
        let mut findings = Findings::new(self.limits.error_items_max);
        let properties = [plan.column_name(column).to_owned()];
        let rule = Rule { type_name: plan.name(), properties: &properties, kind: ConstraintKind::OrphanEdge };
        let replaced = self.schema.by_id(node)?;
        visit(&table, &["id".to_owned(), plan.column_name(column).to_owned()], Sought::All, |batch| {
            let (ids, ends) = (text_at(batch, 0)?, text_at(batch, 1)?);
            for (id, end) in ids.iter().flatten().zip(ends.iter().flatten()) {
                let fingerprint = self.hasher.text(end);
                if wanted.contains(&fingerprint) && named.insert(fingerprint) {
                    let message = format!(
                        "the load drops the {} {} that this edge uses: keep the node, or load {} as well",
                        replaced.name(),
                        quote(end),
                        plan.name()
                    );
                    findings.add(&rule, || (Some(id.to_owned()), None, message));
                }
            }
            Ok(())
        })
        .await?;
        Ok(self.finish_findings(findings, missing.total()))
    }
}
