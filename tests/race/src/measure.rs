//! Figures of a run: how many calls ended how, how long they took, and how long a branch could not be written.

use std::collections::BTreeMap;
use std::time::Duration;

use omnigraph_types::Effect;

use crate::history::{Answered, Asked, Event, Form, History, Mode, Moment, Reason};

/// Times that are kept; beyond it every second one is dropped, and from then on only every second one is kept.
const TIMES_MAX: usize = 100_000;

/// How long calls of one kind took. A run may last for days, so it keeps evenly spaced ones, and always the longest.
#[derive(Debug)]
pub struct Times {
    kept: Vec<Duration>,
    calls: usize,
    every: usize,
    longest: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self { kept: Vec::new(), calls: 0, every: 1, longest: Duration::ZERO }
    }
}

impl Times {
    /// One more call.
    pub fn push(&mut self, time: Duration) {
        if self.calls.is_multiple_of(self.every) {
            self.kept.push(time);
        }
        self.calls += 1;
        self.longest = self.longest.max(time);
        if self.kept.len() == TIMES_MAX {
            self.every *= 2;
            let mut at = 0_usize;
            self.kept.retain(|_| {
                at += 1;
                !at.is_multiple_of(2)
            });
        }
    }

    /// Number of calls, and in milliseconds the median, the 99th percentile and the longest.
    pub fn json(&self) -> serde_json::Value {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        let at = |percent: usize| sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1)));
        let ms = |time: Option<&Duration>| time.map(|time| time.as_millis() as u64);
        let longest = (self.calls > 0).then_some(&self.longest);
        serde_json::json!({ "calls": self.calls, "p50": ms(at(50)), "p99": ms(at(99)), "max": ms(longest) })
    }
}

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
    fn times_are_reported_by_their_order_and_thinned_evenly() {
        let mut times = Times::default();
        assert_eq!(times.json(), serde_json::json!({ "calls": 0, "p50": null, "p99": null, "max": null }));
        (0..100).rev().for_each(|ms| times.push(Duration::from_millis(ms)));
        assert_eq!(times.json(), serde_json::json!({ "calls": 100, "p50": 50, "p99": 99, "max": 99 }));
        let mut many = Times::default();
        many.push(Duration::from_secs(1_000_000));
        (0..3 * TIMES_MAX as u64).for_each(|at| many.push(Duration::from_millis(at % 101)));
        assert!(many.kept.len() < TIMES_MAX);
        let json = many.json();
        assert_eq!((&json["calls"], &json["max"]), (&(3 * TIMES_MAX + 1).into(), &1_000_000_000_u64.into()));
        assert!((49..=51).contains(&json["p50"].as_u64().unwrap()), "{json}");
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
