//! Whether a history can be one of a graph that keeps its promises.
//!
//! Pure: it takes the requests and answers of clients, and returns violations. The order of commits is taken from the commits
//! themselves; from their operations, which the history knows, follows the only state that each commit can have, and every read must be
//! exactly one of these states. The answers of calls that do not overlap must also fit their order in time.

mod evidence;
mod finding;
mod operations;
mod order;
mod states;

use crate::history::{Answered, Event, History, Moment, Reason};

pub use finding::{Findings, Rule, Violation};

use evidence::Evidence;

/// How long after its own limit a call may still be answered.
pub const LIMIT_SLACK: Moment = 5_000_000;

/// Checks a history.
pub fn check(history: &History) -> Findings {
    let evidence = Evidence::new(history);
    let mut findings = Findings::default();
    for id in evidence.lineage.unrooted() {
        let text = format!("the ancestors of commit {id} do not lead to a first commit");
        findings.violations.push(Violation::new(Rule::BrokenLineage, text, [history.commits[id].operation]));
    }
    for (one, other) in &history.contradictions {
        let text = format!("answers differ about a commit: {one:?} and {other:?}");
        findings.violations.push(Violation::new(Rule::BrokenLineage, text, [one.operation]));
    }
    findings.violations.extend(history.events.iter().filter_map(single));
    operations::check(&evidence, &mut findings);
    states::check(&evidence, &mut findings);
    order::check(&evidence, &mut findings);
    findings
}

/// The violation that one call shows by itself.
fn single(event: &Event) -> Option<Violation> {
    let operations = event.asked.operation();
    if event.reply.saturating_sub(event.call) > event.limit + LIMIT_SLACK {
        return Some(Violation::new(Rule::Blocked, format!("a call was answered too late: {event}"), operations));
    }
    let Answered::Refused { reason, .. } = &event.answered else { return None };
    match (reason, &event.asked) {
        (Reason::Defect, _) => Some(Violation::new(Rule::Defect, event.to_string(), operations)),
        (Reason::NoCommit, _) => {
            let text = format!("a commit that an answer named is not found: {event}");
            Some(Violation::new(Rule::LostWrite, text, operations))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
