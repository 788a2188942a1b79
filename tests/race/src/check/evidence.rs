//! A history, prepared for the checks: its operations and the lineage of its commits.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use omnigraph_types::{CommitId, Effect, OperationId};

use crate::history::{Answered, Asked, Event, History, Load, Moment, Resolution};
use crate::lineage::Lineage;

/// Every call of one operation.
#[derive(Debug)]
pub(super) struct Operation<'h> {
    pub(super) calls: Vec<&'h Event>,
    pub(super) resolution: Option<Resolution>,
    pub(super) made: Vec<CommitId>,
}

impl<'h> Operation<'h> {
    pub(super) fn first_call(&self) -> Moment {
        self.calls.iter().map(|event| event.call).min().unwrap_or_default()
    }

    /// Whether every call was answered to have had no effect.
    pub(super) fn all_refused(&self) -> bool {
        self.calls.iter().all(|event| matches!(event.answered, Answered::Refused { effect: Effect::None, .. }))
    }

    /// The first answer that acknowledges it.
    pub(super) fn acknowledged(&self) -> Option<&'h Event> {
        let done = self.calls.iter().filter(|event| !matches!(event.answered, Answered::Refused { .. }));
        done.min_by_key(|event| event.reply).copied()
    }

    pub(super) fn load(&self) -> Option<&'h Arc<Load>> {
        match &self.calls.first()?.asked {
            Asked::Load(load) => Some(load),
            _ => None,
        }
    }

    /// When it may have taken effect: from its first call to its first acknowledgement, or for ever after; not at all if it is undone.
    pub(super) fn effective(&self) -> Option<(Moment, Moment)> {
        let from = self.first_call();
        if let Some(event) = self.acknowledged() {
            return Some((from, event.reply));
        }
        let undone = self.all_refused() || self.resolution == Some(Resolution::Nothing);
        (!undone).then_some((from, Moment::MAX))
    }
}

/// A history, prepared for the checks.
pub(super) struct Evidence<'h> {
    pub(super) history: &'h History,
    pub(super) lineage: Lineage,
    pub(super) operations: BTreeMap<OperationId, Operation<'h>>,
}

impl<'h> Evidence<'h> {
    pub(super) fn new(history: &'h History) -> Self {
        let mut operations: BTreeMap<OperationId, Operation<'h>> = BTreeMap::new();
        for event in &history.events {
            if let Some(id) = event.asked.operation() {
                let resolution = history.resolutions.get(&id).copied();
                let fresh = || Operation { calls: Vec::new(), resolution, made: Vec::new() };
                operations.entry(id).or_insert_with(fresh).calls.push(event);
            }
        }
        for fact in history.commits.values() {
            if let Some(operation) = operations.get_mut(&fact.operation) {
                operation.made.push(fact.id);
            }
        }
        Self { history, lineage: Lineage::new(&history.commits), operations }
    }

    /// The operation that wrote each mark.
    pub(super) fn authors(&self) -> HashMap<&'h str, OperationId> {
        let mut authors = HashMap::new();
        for (id, operation) in &self.operations {
            let rows = operation.load().into_iter().flat_map(|load| load.rows.values().flatten());
            authors.extend(rows.map(|row| (row.mark.as_str(), *id)));
        }
        authors
    }
}
