//! Stage 5: `@unique`, within the load and against the committed rows that the load does not replace.

use std::collections::HashSet;

use arrow::datatypes::DataType;
use omnigraph_columns::views::text_at;
use omnigraph_types::mutant;
use omnigraph_types::{ConstraintKind, LoadMode, TableId};

use crate::error::Result;
use crate::load::findings::{Findings, Rule};
use crate::load::spill::SetId;
use crate::load::validate::committed::{BitFilter, Sought, visit};
use crate::load::validate::keys::{matches, repetitions};
use crate::load::validate::naming::Lowest;
use crate::load::validate::{LOOKUP_ROWS_MAX, Tables, Validator};

/// One `@unique` of one type.
#[derive(Debug, Clone)]
struct Constraint {
    table: TableId,
    columns: Vec<usize>,
    set: SetId,
}

impl Validator {
    fn uniques_of(&self, id: TableId) -> Result<Vec<Constraint>> {
        let staged = self.staged(id)?;
        let pairs = staged.plan.uniques.iter().zip(&staged.sets.uniques);
        Ok(pairs.map(|(columns, &set)| Constraint { table: id, columns: columns.clone(), set }).collect())
    }

    /// The same tuple twice within the load.
    pub(super) async fn duplicate_tuples(&mut self, tables: &mut Tables<'_>) -> Result<()> {
        let most = self.most();
        for id in self.types.keys().copied().collect::<Vec<_>>() {
            for constraint in self.uniques_of(id)? {
                let set = constraint.set;
                let twice = self.with_pool(move |pool| repetitions(pool, set, most)).await?;
                let describe = |row, first| format!("rows {first} and {row} have the same value");
                let twice = mutant!(145, twice, Lowest::default());
                self.refuse_tuples(&constraint, &twice, tables, describe).await?;
            }
        }
        Ok(())
    }

    /// A tuple of the load that a committed row holds, where the load keeps that row.
    pub(super) async fn committed_tuples(&mut self, id: TableId, tables: &mut Tables<'_>) -> Result<()> {
        if mutant!(143, self.is_replaced(id), false) || tables.row_count(id) == 0 {
            return Ok(());
        }
        let constraints = self.uniques_of(id)?;
        if constraints.is_empty() {
            return Ok(());
        }
        let replaced = match (self.mode, self.replaced.get(&id)) {
            (LoadMode::Merge, Some(1..)) if mutant!(144, true, false) => {
                self.in_memory(self.staged(id)?.sets.ids).await?
            }
            _ => HashSet::new(),
        };
        let most = self.most();
        for constraint in constraints {
            if self.pool.set(constraint.set).is_empty() {
                continue;
            }
            let found = self.find_tuples(&constraint, &replaced, tables).await?;
            let ours = constraint.set;
            let taken = self
                .with_pool(move |pool| {
                    let taken = matches(pool, ours, found, most)?;
                    pool.clear(found);
                    Ok(taken)
                })
                .await?;
            let describe = |_, _| "another entity has this value already".to_owned();
            let taken = mutant!(146, taken, Lowest::default());
            self.refuse_tuples(&constraint, &taken, tables, describe).await?;
        }
        Ok(())
    }

    /// A set with every tuple of the load that a committed row outside of `replaced` holds, and perhaps others.
    async fn find_tuples(
        &mut self,
        constraint: &Constraint,
        replaced: &HashSet<u128>,
        tables: &mut Tables<'_>,
    ) -> Result<SetId> {
        let table = tables.get(constraint.table).await?;
        let staged = self.staged(constraint.table)?;
        let filter = BitFilter::over(&self.pool, &[constraint.set])?;
        let first = constraint.columns.first().copied().unwrap_or_default();
        let is_text = *staged.plan.arrow.field(first).data_type() == DataType::Utf8;
        let sought = if is_text && staged.rows <= LOOKUP_ROWS_MAX {
            self.look_up((constraint.table, first), &table, HashSet::new(), |_| true).await?
        } else {
            Sought::All
        };
        let mut columns = staged.plan.column_names(&constraint.columns);
        columns.push("id".to_owned());
        let places: Vec<usize> = (0..constraint.columns.len()).collect();
        let (hasher, pool) = (self.hasher, &mut self.pool);
        let found = pool.add();
        visit(&table, &columns, sought, |batch| {
            let ids = text_at(batch, places.len())?;
            let set = pool.set_mut(found);
            for (row, tuple) in hasher.tuples(batch, &places)?.into_iter().enumerate() {
                let Some(fingerprint) = tuple.filter(|fingerprint| filter.may_hold(*fingerprint)) else { continue };
                if replaced.is_empty() || !replaced.contains(&hasher.text(ids.value(row))) {
                    set.push(fingerprint, 0);
                }
            }
            pool.relieve()
        })
        .await?;
        Ok(found)
    }

    async fn refuse_tuples(
        &self,
        constraint: &Constraint,
        lowest: &Lowest,
        tables: &mut Tables<'_>,
        describe: impl Fn(u64, u64) -> String,
    ) -> Result<()> {
        if lowest.is_empty() {
            return Ok(());
        }
        let table = tables.get(constraint.table).await?;
        let named = self.name_tuples(constraint.table, &constraint.columns, &table, lowest.fingerprints()).await?;
        let plan = &self.staged(constraint.table)?.plan;
        let properties = plan.column_names(&constraint.columns);
        let rule = Rule { type_name: plan.name(), properties: &properties, kind: ConstraintKind::Unique };
        let mut findings = Findings::new(self.limits.error_items_max);
        for (record, first) in lowest.records() {
            let (entity, value) = named.get(&record.fingerprint).cloned().unzip();
            let message = format!("{}: {}", describe(record.tag, first), value.unwrap_or_default());
            findings.add(&rule, || (entity, Some(record.tag), message));
        }
        Err(self.finish_findings(findings, lowest.total()))
    }
}
