//! Whether every operation was applied as its answers state: once, or not at all.

use omnigraph_types::{CommitId, OperationId};

use super::evidence::{Evidence, Operation};
use super::finding::{Findings, Rule, Violation};
use crate::history::{Answered, Asked, At, Event, Keys, Load, Mode, Purpose, Reason, Resolution};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    for (id, operation) in &evidence.operations {
        let mut find = |rule, text: String| findings.violations.push(Violation::new(rule, text, [*id]));
        for (rule, text) in resolved(*id, operation) {
            find(rule, text);
        }
        match operation.load() {
            Some(load) => {
                for (rule, text) in loaded(evidence, *id, operation, load) {
                    find(rule, text);
                }
            }
            None => {
                for event in &operation.calls {
                    if let Some(text) = begun_elsewhere(event) {
                        find(Rule::UnfitCommit, text);
                    }
                }
            }
        }
    }
}

/// Whether its last reported outcome fits the commits that it made.
fn resolved(id: OperationId, operation: &Operation<'_>) -> Vec<(Rule, String)> {
    let mut found = Vec::new();
    let open = operation.acknowledged().is_none() && !operation.all_refused();
    match operation.resolution {
        Some(Resolution::Committed(commit)) if operation.made != [commit] => {
            let text =
                format!("operation {id} is reported as commit {commit}, and its commits are {:?}", operation.made);
            found.push((Rule::LostWrite, text));
        }
        Some(Resolution::Nothing) if !operation.made.is_empty() => {
            let text = format!("operation {id} is reported as undone, and it is {:?}", operation.made);
            found.push((Rule::VisibleFailure, text));
        }
        Some(Resolution::Open) => found.push((Rule::Unsettled, format!("operation {id} is open after recovery"))),
        None if open => found.push((Rule::Unsettled, format!("no answer reports the outcome of operation {id}"))),
        Some(Resolution::Committed(_) | Resolution::Nothing | Resolution::Done) | None => {}
    }
    found
}

fn loaded(evidence: &Evidence<'_>, id: OperationId, operation: &Operation<'_>, load: &Load) -> Vec<(Rule, String)> {
    let mut found = Vec::new();
    if operation.made.len() > 1 {
        found.push((
            Rule::DoubledWrite,
            format!("operation {id} is {} commits: {:?}", operation.made.len(), operation.made),
        ));
    }
    if !operation.made.is_empty() && operation.all_refused() {
        let text =
            format!("every answer for operation {id} states that it had no effect, and it is {:?}", operation.made);
        found.push((Rule::VisibleFailure, text));
    }
    if !operation.made.is_empty() && load.purpose == Purpose::Validate {
        found.push((Rule::VisibleFailure, format!("operation {id} only checks, and it is {:?}", operation.made)));
    }
    for commit in &operation.made {
        found.extend(misplaced(evidence, id, load, *commit));
    }
    for event in &operation.calls {
        match &event.answered {
            Answered::Committed(commit) if !operation.made.contains(commit) => {
                let text = format!("operation {id} was acknowledged as commit {commit}, which is not its own: {event}");
                found.push((Rule::LostWrite, text));
            }
            Answered::Refused { reason: Reason::KeyConflict, .. }
                if load.keys == Keys::Own && load.mode == Mode::Append =>
            {
                let text = format!("keys that only this operation writes exist, and it is refused: {event}");
                found.push((Rule::VisibleFailure, text));
            }
            _ => {}
        }
    }
    found
}

/// Whether a commit is where its operation was sent.
fn misplaced(evidence: &Evidence<'_>, id: OperationId, load: &Load, commit: CommitId) -> Option<(Rule, String)> {
    let fact = &evidence.history.commits[&commit];
    if fact.branch != load.branch {
        let text = format!("operation {id} was sent to branch {}, and {commit} is on {}", load.branch, fact.branch);
        return Some((Rule::ForeignWrite, text));
    }
    let asked = load.expected_head?;
    (fact.parent != Some(asked)).then(|| {
        let text = format!("operation {id} asked for head {asked}, and {commit} follows {:?}", fact.parent);
        (Rule::UnfitCommit, text)
    })
}

/// Whether a branch begins at another commit than requested.
fn begun_elsewhere(event: &Event) -> Option<String> {
    let (Asked::Create { source: At::Commit(asked), .. }, Answered::Branch(branch)) = (&event.asked, &event.answered)
    else {
        return None;
    };
    (branch.source != Some(*asked)).then(|| format!("a branch does not begin at the requested commit: {event}"))
}
