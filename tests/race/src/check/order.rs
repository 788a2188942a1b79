//! Whether answers fit the order of calls in time: heads move forward, and a name has one branch at a time.
//!
//! Two sights of a name are sights of one branch if no deletion of the name can have taken effect between the call of the first and the
//! answer of the second. Only such pairs are compared, and only if the first was answered before the second was called.

use std::collections::BTreeMap;

use omnigraph_types::{BranchId, BranchName, CommitId, OperationId};

use super::evidence::{Evidence, Operation};
use super::finding::{Findings, Rule, Violation};
use crate::history::{Answered, Asked, At, BranchFact, Event, Moment, Reason};

/// What an answer reports about a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    /// Its branch held this commit.
    Head(CommitId),
    /// Its branch was made, and began here.
    Made(CommitId),
    /// It is taken.
    Taken,
    /// It has no branch.
    Absent,
}

/// One sight of a name.
#[derive(Debug, Clone, Copy)]
struct Seen<'h> {
    from: Moment,
    until: Moment,
    sight: Sight,
    id: Option<BranchId>,
    event: &'h Event,
}

impl Seen<'_> {
    fn commit(&self) -> Option<CommitId> {
        match self.sight {
            Sight::Head(commit) | Sight::Made(commit) => Some(commit),
            Sight::Taken | Sight::Absent => None,
        }
    }

    fn operations(&self) -> Option<OperationId> {
        self.event.asked.operation()
    }
}

/// What is known of one name.
#[derive(Debug, Default)]
struct Name<'h> {
    seen: Vec<Seen<'h>>,
    /// When deletions may have taken effect.
    deletions: Vec<(Moment, Moment)>,
    /// When creations may have taken effect.
    creations: Vec<(Moment, Moment)>,
    /// Deletions that were acknowledged.
    deleted: Vec<(Moment, Moment)>,
}

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let mut heads: BTreeMap<BranchId, Vec<Seen<'_>>> = BTreeMap::new();
    for (name, facts) in &mut names(evidence, findings) {
        for seen in facts.seen.iter().filter(|seen| seen.commit().is_some()) {
            if let Some(id) = seen.id {
                heads.entry(id).or_default().push(*seen);
            }
        }
        facts.seen.sort_by_key(|seen| seen.from);
        follow(evidence, name, facts, findings);
        ghosts(name, facts, findings);
        pairs(name, facts, findings);
    }
    for (id, mut seen) in heads {
        seen.sort_by_key(|seen| seen.from);
        let single = Name { seen, ..Name::default() };
        follow(evidence, &format!("with id {id}"), &single, findings);
    }
}

/// Sorts the facts of the history by names.
fn names<'h>(evidence: &Evidence<'h>, findings: &mut Findings) -> BTreeMap<String, Name<'h>> {
    let mut names: BTreeMap<String, Name<'h>> = BTreeMap::new();
    for event in &evidence.history.events {
        // An operation sent again may answer for its first call.
        let first = event.asked.operation().and_then(|id| evidence.operations.get(&id)).map(Operation::first_call);
        let (call, from, until) = (event.call, first.unwrap_or(event.call), event.reply);
        let mut see = |name: &BranchName, from, sight, id| {
            let seen = Seen { from, until, sight, id, event };
            names.entry(name.to_string()).or_default().seen.push(seen);
        };
        match (&event.asked, &event.answered) {
            (Asked::Load(load), Answered::Committed(commit)) => see(&load.branch, from, Sight::Head(*commit), None),
            (Asked::Read { at: At::Branch(name), .. }, Answered::Rows { commit, .. }) => {
                see(name, call, Sight::Head(*commit), None);
            }
            (Asked::Create { name, source, .. }, Answered::Branch(BranchFact { id, source: Some(commit), .. })) => {
                see(name, from, Sight::Made(*commit), Some(*id));
                if let At::Branch(source) = source {
                    see(source, from, Sight::Head(*commit), None);
                }
            }
            (Asked::Get { name }, Answered::Branch(fact)) => see(name, call, Sight::Head(fact.head), Some(fact.id)),
            (Asked::List, Answered::Branches(facts)) => {
                for fact in facts {
                    see(&fact.name, call, Sight::Head(fact.head), Some(fact.id));
                }
                findings.violations.extend(listed_twice(event, facts));
            }
            (asked, Answered::Refused { reason, .. }) => match (asked, reason) {
                (Asked::Load(load), Reason::NoBranch) => see(&load.branch, call, Sight::Absent, None),
                (Asked::Read { at: At::Branch(name), .. }, Reason::NoBranch)
                | (Asked::Get { name } | Asked::Delete { name, .. }, Reason::NoBranch)
                | (Asked::Create { source: At::Branch(name), .. }, Reason::NoBranch) => {
                    see(name, call, Sight::Absent, None);
                }
                (Asked::Create { name, .. }, Reason::BranchExists) => see(name, call, Sight::Taken, None),
                _ => {}
            },
            _ => {}
        }
    }
    unlisted(evidence, &mut names);
    for operation in evidence.operations.values() {
        let acknowledged = operation.acknowledged().map(|event| (operation.first_call(), event.reply));
        match &operation.calls[0].asked {
            Asked::Create { name, .. } => {
                names.entry(name.to_string()).or_default().creations.extend(operation.effective());
            }
            Asked::Delete { name, .. } => {
                let name = names.entry(name.to_string()).or_default();
                name.deletions.extend(operation.effective());
                name.deleted.extend(acknowledged);
            }
            _ => {}
        }
    }
    names
}

/// Names that a list leaves out.
fn unlisted<'h>(evidence: &Evidence<'h>, names: &mut BTreeMap<String, Name<'h>>) {
    for event in &evidence.history.events {
        let Answered::Branches(facts) = &event.answered else { continue };
        for (name, known) in names.iter_mut() {
            if !facts.iter().any(|fact| fact.name.as_str() == name) {
                let seen = Seen { from: event.call, until: event.reply, sight: Sight::Absent, id: None, event };
                known.seen.push(seen);
            }
        }
    }
}

fn listed_twice(event: &Event, facts: &[BranchFact]) -> Option<Violation> {
    let mut names: Vec<&BranchName> = facts.iter().map(|fact| &fact.name).collect();
    names.sort();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(Violation::new(Rule::BranchTwice, format!("{} is listed twice: {event}", twice[0]), []))
}

fn meets(intervals: &[(Moment, Moment)], from: Moment, until: Moment) -> bool {
    intervals.iter().any(|(begin, end)| *begin <= until && from <= *end)
}

/// The sights of one branch that were answered so far.
#[derive(Debug, Default)]
struct Before<'h> {
    since: Moment,
    seen: Vec<Seen<'h>>,
    deepest: Option<Seen<'h>>,
    known: Option<Seen<'h>>,
}

impl<'h> Before<'h> {
    fn begin(&mut self, evidence: &Evidence<'_>, since: Moment) {
        if since <= self.since {
            return;
        }
        self.since = since;
        self.seen.retain(|seen| seen.from > since);
        (self.deepest, self.known) = (None, None);
        for seen in std::mem::take(&mut self.seen) {
            self.add(evidence, seen);
        }
    }

    /// Adds a sight; returns a violation if it is not of the same chain as the ones before.
    fn add(&mut self, evidence: &Evidence<'_>, seen: Seen<'h>) -> Option<(Seen<'h>, Seen<'h>)> {
        let commit = seen.commit()?;
        self.seen.push(seen);
        self.known = self.known.or(seen.id.map(|_| seen));
        let lineage = &evidence.lineage;
        let Some((deepest, head)) = self.deepest.and_then(|deepest| Some((deepest, deepest.commit()?))) else {
            self.deepest = Some(seen);
            return None;
        };
        if lineage.depth(commit) > lineage.depth(head) {
            self.deepest = Some(seen);
            return (!lineage.reaches(head, commit)).then_some((deepest, seen));
        }
        (!lineage.reaches(commit, head)).then_some((seen, deepest))
    }
}

/// Compares every sight with those that were answered before it was called.
fn follow<'h>(evidence: &Evidence<'_>, name: &str, facts: &Name<'h>, findings: &mut Findings) {
    let mut answered: Vec<Seen<'h>> = facts.seen.iter().filter(|seen| seen.commit().is_some()).copied().collect();
    answered.sort_by_key(|seen| seen.until);
    let mut answered = answered.into_iter().peekable();
    let mut before = Before::default();
    for later in &facts.seen {
        let mut fresh = Vec::new();
        while let Some(seen) = answered.next_if(|seen| seen.until < later.from) {
            fresh.push(seen);
        }
        if meets(&facts.deletions, later.from, later.until) {
            findings.sights_ambiguous += 1;
            before.seen.extend(fresh);
            continue;
        }
        let ended = facts.deletions.iter().filter(|(begin, _)| *begin <= later.until).map(|(_, end)| *end);
        before.begin(evidence, ended.max().unwrap_or(0));
        let since = before.since;
        for seen in fresh.into_iter().filter(|seen| seen.from > since || since == 0) {
            if let Some((earlier, later)) = before.add(evidence, seen) {
                findings.violations.push(two_chains(name, &earlier, &later));
            }
        }
        findings.sights_ordered += 1;
        findings.violations.extend(contradiction(evidence, name, &before, later));
    }
}

fn two_chains(name: &str, earlier: &Seen<'_>, later: &Seen<'_>) -> Violation {
    let text = format!("branch {name} was on two chains:\n  {}\n  {}", earlier.event, later.event);
    Violation::new(Rule::HeadMovedBack, text, earlier.operations().into_iter().chain(later.operations()))
}

/// The violation that a sight shows, compared with the ones before it.
fn contradiction(evidence: &Evidence<'_>, name: &str, before: &Before<'_>, later: &Seen<'_>) -> Option<Violation> {
    let deepest = before.deepest?;
    let violation = |rule, earlier: &Seen<'_>, what: &str| {
        let text = format!("branch {name}: {what}:\n  {}\n  {}", earlier.event, later.event);
        Some(Violation::new(rule, text, earlier.operations().into_iter().chain(later.operations())))
    };
    match later.sight {
        Sight::Absent => return violation(Rule::LostBranch, &deepest, "it existed, and no client deleted it"),
        Sight::Made(_) if later.id != before.known.and_then(|known| known.id) => {
            return violation(Rule::BranchTwice, &deepest, "it existed, and was created again");
        }
        Sight::Head(_) | Sight::Made(_) | Sight::Taken => {}
    }
    if let (Some(known), Some(id)) = (before.known, later.id)
        && known.id != Some(id)
    {
        return violation(Rule::BranchTwice, &known, "it had two identities, and no deletion lies between");
    }
    let (earlier, head) = (deepest.commit()?, later.commit()?);
    if matches!(later.sight, Sight::Made(_)) || evidence.lineage.reaches(earlier, head) {
        return None;
    }
    let acknowledged = matches!(deepest.event.asked, Asked::Load(_));
    let rule = if acknowledged { Rule::LostWrite } else { Rule::HeadMovedBack };
    violation(rule, &deepest, &format!("{head} does not descend from {earlier}"))
}

/// A branch that is seen after its deletion, and that no client can have created again.
fn ghosts(name: &str, facts: &mut Name<'_>, findings: &mut Findings) {
    facts.deleted.sort_by_key(|(_, until)| *until);
    let mut latest: Option<Moment> = None;
    let mut deleted = facts.deleted.iter().copied().peekable();
    for seen in &facts.seen {
        while let Some((from, _)) = deleted.next_if(|(_, until)| *until < seen.from) {
            latest = latest.max(Some(from));
        }
        let Some(from) = latest else { continue };
        let there = matches!(seen.sight, Sight::Head(_) | Sight::Taken);
        if there && !meets(&facts.creations, from, seen.until) {
            let text = format!("branch {name} was deleted, and exists again: {}", seen.event);
            findings.violations.push(Violation::new(Rule::GhostBranch, text, seen.operations()));
        }
    }
}

/// Two branches made under one name, with no deletion that can lie between them.
fn pairs(name: &str, facts: &Name<'_>, findings: &mut Findings) {
    let made: Vec<&Seen<'_>> = facts.seen.iter().filter(|seen| matches!(seen.sight, Sight::Made(_))).collect();
    for pair in made.windows(2) {
        let until = pair[0].until.max(pair[1].until);
        if pair[0].id != pair[1].id && !meets(&facts.deletions, pair[0].from, until) {
            let text = format!("branch {name} was made twice:\n  {}\n  {}", pair[0].event, pair[1].event);
            let operations = pair[0].operations().into_iter().chain(pair[1].operations());
            findings.violations.push(Violation::new(Rule::BranchTwice, text, operations));
        }
    }
}
