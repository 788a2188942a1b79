//! One round of a write: from what is staged to a commit, or to the news that somebody else has the version.

use std::sync::Arc;
use std::time::Duration;

use omnigraph_catalog::{
    Change, CommitOperation, CommitRow, DecidedBy, OperationRow, Operations, PinChange, Precondition, Publication,
    Snapshot, TableCounts, TableRow,
};
use omnigraph_types::mutant;
use omnigraph_types::{CommitId, CommitKind, Moment, RequestEffect, TableId};
use tokio::time::Instant;

use crate::attempt::{Carried, Guarded, Undone, Works};
use crate::change_set::{Attempt, ChangeKind, ChangeSet, RowCounts, RowsChange, Staged, TableChange};
use crate::context::Context;
use crate::decide::Decision;
use crate::error::CommitError;
use crate::failpoint::WriterPoints;
use crate::fence::settle_tables;
use crate::gate::GateHeld;
use crate::intent::{Intent, Plan};
use crate::receipt;
use crate::request::Request;
use crate::rescue::{kept_waiting, unsettled};
use crate::token::Token;
use crate::write_request::WriteRequest;

/// Pause between two tries to read what was settled while the store fails.
const READ_BACK_PAUSE: Duration = Duration::from_millis(200);

/// Validated and staged; invisible, and armed by nothing.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) request: Arc<WriteRequest>,
    pub(crate) writer: WriterPoints,
    pub(crate) kind: ChangeKind,
    pub(crate) base: Snapshot,
    pub(crate) attempt: Attempt,
    pub(crate) token: Token,
    pub(crate) changes: ChangeSet,
    /// Minted for the attempt.
    pub(crate) commit_id: CommitId,
    /// How often the operation was aborted before.
    pub(crate) aborts: u32,
    /// When everything had been staged.
    pub(crate) staged: Moment,
}

/// What one round ended with.
#[must_use]
#[derive(Debug)]
pub(crate) enum RoundOutcome {
    /// The attempt is this version.
    Published(Snapshot),
    /// Another attempt of the same operation did this.
    Replayed(OperationRow),
    /// The version went to somebody else before this attempt took effect.
    Lost(Box<Ready>),
}

impl Ready {
    pub(crate) fn token(&self) -> &Token {
        &self.token
    }

    /// Whether what is staged may still be armed. Nothing names it before the intent does, so cleanup would take it once it is old, and
    /// proving another base newest makes it no younger.
    pub(crate) fn is_young(&self, context: &Context) -> bool {
        mutant!(29, self.staged.age(context.clock()) <= context.catalog().proof_age_max(), true)
    }

    /// The same staged files onto a newer version in which the token holds.
    pub(crate) fn onto(self, base: Snapshot) -> Self {
        Self { base, ..self }
    }

    fn touches_unsettled(&self) -> bool {
        let schema = self.changes.schema.iter();
        let by_schema = schema
            .flat_map(|schema| schema.dropped.iter().copied().chain(schema.renamed.iter().map(|(table, _)| *table)));
        let changed: Vec<TableId> = self.changes.tables.iter().map(|change| change.table).chain(by_schema).collect();
        mutant!(30, self.base.state().unsettled.iter().any(|row| changed.contains(&row.table)), false)
    }

    fn works(&self) -> Works {
        let mut works = Works::default();
        for change in &self.changes.tables {
            match &change.staged {
                Staged::Effect(effect) => works.effects.push((change.table, effect.clone())),
                Staged::Private(table) => works.private.push(table.clone()),
                Staged::TakenOver(_) => {}
            }
        }
        works
    }

    /// The whole publication: everything a roll forward needs.
    fn publication(&self, context: &Context) -> Publication {
        let operation_id = self.request.operation_id;
        let mut preconditions = self.token.preconditions();
        if mutant!(18, true, false) {
            preconditions.push(Precondition::OperationUnseen(operation_id));
        }
        preconditions.extend(self.request.expected_head.map(Precondition::ExactHead));
        preconditions.extend(self.changes.preconditions.iter().cloned());
        let mut changes = Vec::new();
        match self.kind {
            ChangeKind::Commit(kind) => changes.push(Change::Commit(self.commit(context, kind))),
            ChangeKind::KeepsHead(_) => {}
        }
        if let Some(schema) = &self.changes.schema {
            changes.push(Change::Schema { hash: schema.hash.clone() });
            changes.extend(schema.dropped.iter().map(|table| Change::TableDropped { table: *table }));
            let renamed = schema.renamed.iter();
            changes
                .extend(renamed.map(|(table, name)| Change::TableRenamed { table: *table, type_name: name.clone() }));
            changes.extend(schema.added.iter().cloned().map(Change::TableAdded));
        }
        changes.extend(self.changes.tables.iter().filter_map(|change| self.pin(change)).map(Change::Pin));
        Publication {
            kind: self.kind.publication(),
            decision: DecidedBy::Own.about(self.attempt.id),
            preconditions,
            changes,
            operations: Operations::one(operation_id, self.request.digest.clone()),
        }
    }

    fn commit(&self, context: &Context, kind: CommitKind) -> CommitRow {
        let head = self.base.head_commit();
        let schema = self.changes.schema.as_ref();
        let actor = self.request.actor.clone();
        let operation_id = self.request.operation_id;
        let operations = vec![CommitOperation { operation_id, actor, kind, counts: Vec::new() }];
        CommitRow {
            id: self.commit_id,
            parents: std::iter::once(head.id).chain(self.changes.parents.iter().copied()).collect(),
            branch_id: self.base.branch_id(),
            version: self.base.version().next(),
            actor: CommitRow::actor_of(&operations).to_owned(),
            time_ms: mutant!(31, context.clock().wall_ms().max(head.time_ms + 1), context.clock().wall_ms()),
            kind: CommitRow::kind_of(&operations),
            schema_hash: schema.map_or_else(|| self.base.schema_hash().to_owned(), |schema| schema.hash.clone()),
            operations,
            counts: self.changes.tables.iter().filter_map(|change| self.counts(change)).collect(),
        }
    }

    /// The table's row before the change; of a table that the change adds, the added one.
    fn row(&self, table: TableId) -> Option<&TableRow> {
        let added = self.changes.schema.iter().flat_map(|schema| &schema.added).find(|row| row.id == table);
        self.base.table(table).or(added)
    }

    fn counts(&self, change: &TableChange) -> Option<TableCounts> {
        let row = self.row(change.table)?;
        match change.rows {
            RowsChange::Same => None,
            RowsChange::Changed(RowCounts { inserted, updated, deleted, after }) => Some(TableCounts {
                table: change.table,
                kind: row.kind,
                type_name: row.type_name.clone(),
                inserted,
                updated,
                deleted,
                row_count: after,
            }),
        }
    }

    fn pin(&self, change: &TableChange) -> Option<PinChange> {
        let row = self.row(change.table)?;
        let (pin, owner) = match &change.staged {
            Staged::Effect(effect) => (effect.pin_after(), row.owner),
            Staged::Private(table) => (table.pin(), mutant!(35, self.base.branch_id(), row.owner)),
            // The other branch's rows, as its own commit left them.
            Staged::TakenOver(taken) => return Some(PinChange::same_rows(taken, taken.version)),
        };
        let (row_count, content_commit) = match change.rows {
            RowsChange::Same => (row.row_count, mutant!(33, row.content_commit, self.commit_id)),
            RowsChange::Changed(counts) => (counts.after, self.commit_id),
        };
        let (table, tree, version) = (change.table, pin.tree.tree, pin.version);
        Some(PinChange { table, tree, owner, version, row_count, content_commit })
    }

    fn intent(&self, context: &Context, works: &Works) -> Intent {
        let type_name = |table| self.row(table).map_or_else(String::new, |row| row.type_name.clone());
        let effects = works.effects.iter().map(|(table, effect)| effect.planned(*table, type_name(*table)));
        let plan = Plan {
            writer: self.writer,
            actor: self.request.actor.clone(),
            token: self.token.clone(),
            aborts: self.aborts,
            effects: effects.collect(),
            publication: self.publication(context),
        };
        Intent::mint(plan, &self.base, context.clock())
    }
}

/// A round to be run.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) request: Request,
    pub(crate) ready: Ready,
    /// The gate, if it is held since before the round was prepared: no other writer of this process came in between.
    pub(crate) turn: Option<GateHeld>,
    pub(crate) deadline: Instant,
}

impl Round {
    /// From `Ready` to a commit, or to the news that somebody else has the version.
    pub(crate) async fn run(self, context: &Context) -> Result<RoundOutcome, CommitError> {
        let Self { request, ready, turn, deadline } = self;
        let (chain, branch) = (ready.base.chain().clone(), ready.base.branch_id());
        let held = match turn.and_then(|turn| turn.of(branch)) {
            Some(gate) => Some(gate),
            None => context.enter(branch, deadline).await,
        };
        let Some(gate) = held else { return Err(kept_waiting(context, &chain).await) };
        if context.has_seen_newer(&ready.base) || !context.is_fresh(&ready.base) {
            return Ok(RoundOutcome::Lost(Box::new(ready)));
        }
        if ready.touches_unsettled() {
            settle_tables(context, &gate, &chain, deadline, &RequestEffect::default()).await?;
            return Ok(RoundOutcome::Lost(Box::new(ready)));
        }
        let works = ready.works();
        let intent = ready.intent(context, &works);
        let guarded = Guarded {
            request: &request,
            gate: &gate,
            base: &ready.base,
            writer: ready.writer,
            intent: &intent,
            works: &works,
        };
        match guarded.carry_out(context, deadline).await? {
            Carried::Published(snapshot) => Ok(RoundOutcome::Published(snapshot)),
            Carried::Lost => Ok(RoundOutcome::Lost(Box::new(ready))),
            Carried::Ended => Err(context.catalog().ended(&chain.name).into()),
            Carried::Undone(undone) => answer_undone(context, &gate, &ready.base, &intent, undone).await,
        }
    }
}

/// The attempt is undone, proven. Its operation may have been committed by another attempt. Its tables are fenced now if the store lets us,
/// else by whoever comes next.
async fn answer_undone(
    context: &Context,
    gate: &GateHeld,
    base: &Snapshot,
    intent: &Intent,
    Undone { decision, phase, cause, until }: Undone,
) -> Result<RoundOutcome, CommitError> {
    let chain = base.chain();
    let done = loop {
        match done_elsewhere(context, base, intent).await {
            Ok(done) => break done,
            Err(error) if Instant::now() >= until => {
                tracing::error!(operation = %intent.operation_id(), %error, "a settled write could not be read back");
                return Err(unsettled(intent, &chain.name, phase, &error));
            }
            Err(_) => tokio::time::sleep(READ_BACK_PAUSE).await,
        }
    };
    if decision == Decision::SettleTables
        && let Err(error) = settle_tables(context, gate, chain, until, &RequestEffect::default()).await
    {
        tracing::warn!(error = %error, "tables of an undone write are left to the next writer");
    }
    match (done, *cause) {
        (Some(row), _) => Ok(RoundOutcome::Replayed(row)),
        (None, cause @ CommitError::Occupied { .. }) => Err(cause),
        (None, cause) => Err(CommitError::RolledBack { operation_id: intent.operation_id(), reason: cause.reason() }),
    }
}

/// What the intent's operation did, if another attempt of it did anything.
async fn done_elsewhere(
    context: &Context,
    base: &Snapshot,
    intent: &Intent,
) -> Result<Option<OperationRow>, CommitError> {
    let newest = context.catalog().newest_of(base.chain()).await?;
    let recorded = receipt::recorded(context, &newest, intent.operation_id()).await?;
    // Another request under the same id is no answer to this one: sent again, it is refused.
    let planned = &intent.publication;
    let same = |row: &&OperationRow| {
        let digest = planned.operations.iter().find(|entry| entry.operation_id == row.operation_id);
        row.kind == planned.kind && digest.is_some_and(|entry| mutant!(34, entry.digest == row.digest, true))
    };
    Ok(recorded.done().filter(same).cloned())
}
