//! The state of every commit, made from its parent's by its operation, and compared with every read.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use omnigraph_types::CommitId;

use super::evidence::Evidence;
use super::finding::{Findings, Rule, Violation};
use crate::history::{Answered, Asked, CommitFact, Event, Kind, LINK_ARROW, Load, Mode, Row};

/// Rows named in a text.
const ROWS_NAMED_MAX: usize = 5;

type Table = BTreeMap<String, String>;

/// Every row of every type, by key.
#[derive(Debug, Clone, Default)]
struct State {
    tables: BTreeMap<Kind, Arc<Table>>,
}

impl State {
    fn rows(&self, kind: Kind) -> usize {
        self.tables.get(&kind).map_or(0, |table| table.len())
    }

    /// Applies a load, and returns the rules that it breaks in this state.
    fn apply(&mut self, load: &Load) -> Vec<(Rule, String)> {
        let mut found = Vec::new();
        for (kind, rows) in &load.rows {
            let table = Arc::make_mut(self.tables.entry(*kind).or_default());
            if load.mode == Mode::Overwrite {
                table.clear();
            }
            for row in rows {
                let before = table.insert(row.key.clone(), row.mark.clone());
                if let Some(mark) = before.filter(|_| load.mode != Mode::Merge) {
                    let text = format!("{} {:?} existed, from {mark}, and was appended again", kind.name(), row.key);
                    found.push((if mark == row.mark { Rule::DoubledWrite } else { Rule::UnfitCommit }, text));
                }
            }
        }
        found.extend(self.orphans().map(|key| (Rule::UnfitCommit, format!("Link {key:?} has an end that is no Item"))));
        found
    }

    fn orphans(&self) -> impl Iterator<Item = &String> {
        let items = self.tables.get(&Kind::Item);
        let is_there = move |item: &str| items.is_some_and(|items| items.contains_key(item));
        let links = self.tables.get(&Kind::Link).into_iter().flat_map(|links| links.keys());
        links.filter(move |key| !key.split(LINK_ARROW).all(is_there))
    }
}

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let reads = reads(evidence);
    let mut open: HashMap<CommitId, (State, usize)> = HashMap::new();
    for id in evidence.lineage.order() {
        let fact = &evidence.history.commits[id];
        let mut state = match fact.parent.and_then(|parent| open.get_mut(&parent).map(|kept| (parent, kept))) {
            Some((parent, (state, children))) => {
                let state = state.clone();
                *children -= 1;
                if *children == 0 {
                    open.remove(&parent);
                }
                state
            }
            None => State::default(),
        };
        findings.violations.extend(publish(evidence, fact, &mut state));
        for event in reads.get(id).into_iter().flatten() {
            findings.reads_compared += 1;
            findings.violations.extend(compare(evidence, event, &state));
        }
        let children = evidence.lineage.children(*id);
        if children > 0 {
            open.insert(*id, (state, children));
        }
    }
    for (commit, events) in &reads {
        if !evidence.history.commits.contains_key(commit) {
            let text = format!("a read was served from a commit that no lineage holds: {}", events[0]);
            findings.violations.push(Violation::new(Rule::BrokenLineage, text, []));
        }
    }
}

fn reads<'h>(evidence: &Evidence<'h>) -> BTreeMap<CommitId, Vec<&'h Event>> {
    let mut reads: BTreeMap<CommitId, Vec<&'h Event>> = BTreeMap::new();
    for event in &evidence.history.events {
        if let Answered::Rows { commit, .. } = &event.answered {
            reads.entry(*commit).or_default().push(event);
        }
    }
    reads
}

/// Makes a commit's state from its parent's.
fn publish(evidence: &Evidence<'_>, fact: &CommitFact, state: &mut State) -> Vec<Violation> {
    let mut found = Vec::new();
    if fact.parent.is_some() {
        let load = evidence.operations.get(&fact.operation).and_then(|operation| operation.load());
        match load {
            Some(load) => found.extend(state.apply(load)),
            None => found.push((Rule::ForeignWrite, "no client requested its operation".to_owned())),
        }
    }
    for (kind, total) in &fact.totals {
        let rows = state.rows(*kind) as u64;
        if rows != *total {
            found.push((Rule::UnfitCommit, format!("it states {total} rows of {}, and has {rows}", kind.name())));
        }
    }
    let violation = |(rule, text)| Violation::new(rule, format!("commit {}: {text}", fact.id), [fact.operation]);
    found.into_iter().map(violation).collect()
}

/// Compares the rows of a read with the state of its commit.
fn compare(evidence: &Evidence<'_>, event: &Event, state: &State) -> Option<Violation> {
    let (Asked::Read { kind, .. }, Answered::Rows { rows, .. }) = (&event.asked, &event.answered) else { return None };
    let empty = Table::new();
    let table = state.tables.get(kind).map_or(&empty, Arc::as_ref);
    let same = |(row, (key, mark)): (&Row, (&String, &String))| row.key == *key && row.mark == *mark;
    if rows.len() == table.len() && rows.iter().zip(table).all(same) {
        return None;
    }
    let twice: Vec<&Row> = rows.windows(2).filter(|pair| pair[0].key == pair[1].key).map(|pair| &pair[1]).collect();
    let extra: Vec<&Row> = rows.iter().filter(|row| table.get(&row.key) != Some(&row.mark)).collect();
    let read: BTreeMap<&str, &str> = rows.iter().map(|row| (row.key.as_str(), row.mark.as_str())).collect();
    let missing: Vec<(&str, &str)> = table
        .iter()
        .map(|(key, mark)| (key.as_str(), mark.as_str()))
        .filter(|(key, _)| !read.contains_key(key))
        .collect();
    let authors = evidence.authors();
    let author = |mark: &str| authors.get(mark).copied();
    let refused = |mark: &str| author(mark).is_some_and(|id| evidence.operations[&id].all_refused());
    let rule = if !twice.is_empty() {
        Rule::DoubledWrite
    } else if extra.iter().any(|row| refused(&row.mark)) {
        Rule::VisibleFailure
    } else if extra.iter().any(|row| author(&row.mark).is_none()) {
        Rule::ForeignWrite
    } else if !missing.is_empty() && extra.is_empty() {
        Rule::LostWrite
    } else {
        Rule::TornRead
    };
    let marks = extra.iter().chain(&twice).map(|row| row.mark.as_str()).chain(missing.iter().map(|(_, mark)| *mark));
    let operations: Vec<_> = marks.filter_map(author).take(ROWS_NAMED_MAX).collect();
    let first = |rows: &[&Row]| format!("{:?}", rows.iter().take(ROWS_NAMED_MAX).collect::<Vec<_>>());
    let text = format!(
        "{} rows of {} were read where {} are; twice: {}; not of this state: {}; missing: {:?}; client {} at {:?}",
        rows.len(),
        kind.name(),
        table.len(),
        first(&twice),
        first(&extra),
        missing.iter().take(ROWS_NAMED_MAX).collect::<Vec<_>>(),
        event.client,
        match &event.asked {
            Asked::Read { at, .. } => at,
            _ => return None,
        },
    );
    Some(Violation::new(rule, text, operations))
}
