//! Figures of a run: how many calls ended how, and how long a branch could not be written.

use std::collections::BTreeMap;

use omnigraph_types::Effect;

use crate::history::{Answered, Asked, Event, Form, History, Mode, Moment, Reason};

/// How many calls of one kind ended how.
pub type Table = BTreeMap<String, BTreeMap<String, usize>>;

/// Counts calls by what was asked and how it ended.
pub fn table(history: &History) -> Table {
    let mut table = Table::new();
    for event in &history.events {
        *table.entry(asked(event)).or_default().entry(answered(event)).or_default() += 1;
    }
    table
}

fn asked(event: &Event) -> String {
    match &event.asked {
        Asked::Load(load) => {
            let mode = match load.mode {
                Mode::Append => "append",
                Mode::Merge => "merge",
                Mode::Overwrite => "overwrite",
            };
            let form = match load.form {
                Form::Ndjson => "ndjson",
                Form::Arrow => "arrow",
            };
            format!("{mode} {form}")
        }
        Asked::Read { .. } => "read".to_owned(),
        Asked::Create { .. } => "create branch".to_owned(),
        Asked::Delete { .. } => "delete branch".to_owned(),
        Asked::Get { .. } => "get branch".to_owned(),
        Asked::List => "list branches".to_owned(),
    }
}

fn answered(event: &Event) -> String {
    match &event.answered {
        Answered::Refused { reason, effect, .. } => format!("{reason:?}/{effect:?}"),
        _ => "done".to_owned(),
    }
}

/// A time in which a branch could not be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// The branch.
    pub branch: String,
    /// The first try after a success.
    pub from: Moment,
    /// The next success.
    pub until: Moment,
}

impl Block {
    /// Its length in microseconds.
    pub fn length(&self) -> Moment {
        self.until - self.from
    }
}

/// The longest time between the first try to write a branch after a success and the next success.
///
/// A request that does not fit the branch's state does not show whether the branch could be written, and does not count as a try.
pub fn longest_block(history: &History) -> Block {
    let mut branches: BTreeMap<String, Vec<&Event>> = BTreeMap::new();
    for event in &history.events {
        if let Asked::Load(load) = &event.asked {
            branches.entry(load.branch.to_string()).or_default().push(event);
        }
    }
    let blocks = branches.into_iter().map(|(branch, events)| longest_block_of_one(branch, events));
    blocks.max_by_key(Block::length).unwrap_or_default()
}

fn longest_block_of_one(branch: String, mut events: Vec<&Event>) -> Block {
    events.sort_by_key(|event| event.reply);
    let mut longest = Block { branch, from: 0, until: 0 };
    let (mut success, mut first_try) = (0, None::<Moment>);
    for event in events {
        match &event.answered {
            Answered::Committed(_) => {
                let from = first_try.take().unwrap_or(event.call).min(event.call).max(success);
                if event.reply - from > longest.length() {
                    (longest.from, longest.until) = (from, event.reply);
                }
                success = event.reply;
            }
            // A branch that does not exist is not blocked.
            Answered::Refused { reason: Reason::NoBranch, .. } => first_try = None,
            // Nor is one blocked because a client called a killed server.
            Answered::Refused { reason: Reason::Broken, effect: Effect::None, .. } => {}
            Answered::Refused { reason, .. } if reason.is_blocked() => {
                first_try = Some(first_try.unwrap_or(event.call).min(event.call));
            }
            // Its state could be read: the next client may write, and the branch may be another by now.
            Answered::Refused { .. }
            | Answered::Checked
            | Answered::Rows { .. }
            | Answered::Branch(_)
            | Answered::Branches(_)
            | Answered::Deleted => {}
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use omnigraph_client::Client;
    use omnigraph_types::{BranchName, CommitId};

    use super::*;
    use crate::history::{Keys, Load, Purpose};

    fn write(call: Moment, reply: Moment, answered: Answered) -> Event {
        let load = Load {
            operation: Client::mint_operation_id(),
            branch: BranchName::Main,
            mode: Mode::Append,
            form: Form::Arrow,
            purpose: Purpose::Commit,
            keys: Keys::Own,
            expected_head: None,
            rows: BTreeMap::new(),
        };
        Event { client: 0, server: 0, call, reply, limit: 0, asked: Asked::Load(Arc::new(load)), answered }
    }

    fn refused(reason: Reason) -> Answered {
        Answered::Refused { reason, effect: Effect::None, text: String::new() }
    }

    #[test]
    fn block_lasts_from_the_first_try_after_a_success_to_the_next_success() {
        let done = || Answered::Committed(CommitId(ulid::Ulid::new()));
        let history = History {
            events: vec![
                write(0, 10, done()),
                // No client tried before 100; the refusals before were about the request, a dead server, a branch that is gone.
                write(85, 90, refused(Reason::KeyConflict)),
                write(86, 91, refused(Reason::Broken)),
                write(87, 92, refused(Reason::RolledBack)),
                write(88, 93, refused(Reason::NoBranch)),
                write(100, 140, refused(Reason::RecoveryRequired)),
                write(120, 150, done()),
                // Longer on its way, and the branch was written meanwhile.
                write(20, 160, done()),
            ],
            ..History::default()
        };
        assert_eq!(longest_block(&history), Block { branch: "main".to_owned(), from: 100, until: 150 });
        let table = table(&history);
        assert_eq!(table["append arrow"]["done"], 3);
        assert_eq!(table["append arrow"]["RecoveryRequired/None"], 1);
    }
}
