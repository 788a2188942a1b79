//! Whether a history can be one of a graph that keeps its promises.
//!
//! Pure: it takes what clients asked and were answered, and returns what cannot be. The order of commits is taken from the commits
//! themselves; from their operations, which the history knows, follows the only state that each commit can have, and every read must be
//! exactly one of these states. What calls that do not overlap were answered must also fit their order in time.

mod operations;
mod order;
mod states;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use omnigraph_types::{CommitId, Effect, OperationId};

use crate::history::{Answered, Asked, Event, History, Load, Moment, Reason, Resolution};
use crate::lineage::Lineage;

/// How long after its own limit a call may still be answered.
pub const LIMIT_SLACK: Moment = 5_000_000;

/// What was violated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// I-4: something acknowledged is gone.
    LostWrite,
    /// I-8: something was applied twice.
    DoubledWrite,
    /// I-7, I-8: something that was answered to have had no effect is there.
    VisibleFailure,
    /// Something that nobody asked for is there.
    ForeignWrite,
    /// I-1, I-2: a read is not one published state.
    TornRead,
    /// I-4: a head is not a descendant of what it was.
    HeadMovedBack,
    /// I-5: a commit does not fit what it was published onto.
    UnfitCommit,
    /// I-9: a name had two branches at once.
    BranchTwice,
    /// A branch that nobody deleted is not found.
    LostBranch,
    /// A branch that was deleted is found.
    GhostBranch,
    /// A commit's ancestors do not lead to the graph's first commit.
    BrokenLineage,
    /// I-6: an operation is still open at the end.
    Unsettled,
    /// A call took longer than it was given.
    Blocked,
    /// A server failed in a way that nothing done to it explains.
    Defect,
}

/// Something that cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// What was violated.
    pub rule: Rule,
    /// How.
    pub text: String,
    /// The operations that it concerns.
    pub operations: Vec<OperationId>,
}

impl Violation {
    /// A violation that concerns these operations.
    pub fn new(rule: Rule, text: impl Into<String>, operations: impl IntoIterator<Item = OperationId>) -> Self {
        Self { rule, text: text.into(), operations: operations.into_iter().collect() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.text)
    }
}

/// What the checker found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// What cannot be.
    pub violations: Vec<Violation>,
    /// Reads compared with the state of their commit.
    pub reads_compared: usize,
    /// Sights of branches that were held against earlier ones.
    pub sights_ordered: usize,
    /// Sights of branches that overlap a deletion of the name, so that time does not say which branch was seen.
    pub sights_ambiguous: usize,
}

/// Every call of one operation.
#[derive(Debug)]
struct Operation<'h> {
    calls: Vec<&'h Event>,
    resolution: Option<Resolution>,
    made: Vec<CommitId>,
}

impl<'h> Operation<'h> {
    fn first_call(&self) -> Moment {
        self.calls.iter().map(|event| event.call).min().unwrap_or_default()
    }

    /// Whether every call was answered to have had no effect.
    fn all_refused(&self) -> bool {
        self.calls.iter().all(|event| matches!(event.answered, Answered::Refused { effect: Effect::None, .. }))
    }

    /// The first answer that says that it is done.
    fn acknowledged(&self) -> Option<&'h Event> {
        let done = self.calls.iter().filter(|event| !matches!(event.answered, Answered::Refused { .. }));
        done.min_by_key(|event| event.reply).copied()
    }

    fn load(&self) -> Option<&'h Arc<Load>> {
        match &self.calls.first()?.asked {
            Asked::Load(load) => Some(load),
            _ => None,
        }
    }

    /// When it may have taken effect: from its first call to its first acknowledgement, or for ever after; not at all if it is undone.
    fn effective(&self) -> Option<(Moment, Moment)> {
        let from = self.first_call();
        if let Some(event) = self.acknowledged() {
            return Some((from, event.reply));
        }
        let undone = self.all_refused() || self.resolution == Some(Resolution::Nothing);
        (!undone).then_some((from, Moment::MAX))
    }
}

/// A history, prepared for the checks.
struct Evidence<'h> {
    history: &'h History,
    lineage: Lineage,
    operations: BTreeMap<OperationId, Operation<'h>>,
}

impl<'h> Evidence<'h> {
    fn new(history: &'h History) -> Self {
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
    fn authors(&self) -> HashMap<&'h str, OperationId> {
        let mut authors = HashMap::new();
        for (id, operation) in &self.operations {
            let rows = operation.load().into_iter().flat_map(|load| load.rows.values().flatten());
            authors.extend(rows.map(|row| (row.mark.as_str(), *id)));
        }
        authors
    }
}

/// Checks a history.
pub fn check(history: &History) -> Findings {
    let evidence = Evidence::new(history);
    let mut findings = Findings::default();
    for id in evidence.lineage.unrooted() {
        let text = format!("the ancestors of commit {id} do not lead to a first commit");
        findings.violations.push(Violation::new(Rule::BrokenLineage, text, [history.commits[id].operation]));
    }
    for (one, other) in &history.contradictions {
        let text = format!("a commit was told in two ways: {one:?} and {other:?}");
        findings.violations.push(Violation::new(Rule::BrokenLineage, text, [one.operation]));
    }
    findings.violations.extend(history.events.iter().filter_map(single));
    operations::check(&evidence, &mut findings);
    states::check(&evidence, &mut findings);
    order::check(&evidence, &mut findings);
    findings
}

/// What one call alone shows.
fn single(event: &Event) -> Option<Violation> {
    let operations = event.asked.operation();
    if event.reply.saturating_sub(event.call) > event.limit + LIMIT_SLACK {
        return Some(Violation::new(Rule::Blocked, format!("a call was answered too late: {event}"), operations));
    }
    let Answered::Refused { reason, .. } = &event.answered else { return None };
    match (reason, &event.asked) {
        (Reason::Defect, _) => Some(Violation::new(Rule::Defect, event.to_string(), operations)),
        (Reason::NoCommit, _) => {
            let text = format!("a commit that was told is not found: {event}");
            Some(Violation::new(Rule::LostWrite, text, operations))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
