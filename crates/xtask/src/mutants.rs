//! `mutants`: tries every numbered mutation of the source against the tests that should notice it.
//!
//! One build serves all: the switches are in debug builds, and the environment chooses one. The table of rules names the test that guards each;
//! that test is tried alone. Only what it lets through is tried on every suite. Prints a line per mutation, then one line of JSON; a survivor
//! that is not named as equivalent is an error.

mod rules;
mod suites;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::mutants::rules::{Guard, Switch, switches};
use crate::mutants::suites::{Chosen, Ended, Suite, build};
use crate::workspace::{Workspace, say};

/// Binaries that run at once.
const AT_ONCE: usize = 2;
/// Mutations that change nothing that can be observed, with the reason.
const EQUIVALENT: [(u32, &str); 2] = [
    (89, "the next state keeps what only a newer program knows, and writing such a state is refused by the same error"),
    (136, "Lance compares the version in a manifest with the one asked for, and reports another one as not found"),
];

/// What became of one mutation.
enum Fate {
    /// The test that guards its rule noticed it.
    KilledByItsGuard,
    /// This test of this suite did.
    KilledBy(&'static str, String),
    Survived,
}

/// Tries the mutations with these numbers; none means all.
pub(crate) fn run(workspace: &Workspace, numbers: &[u32]) -> Result<()> {
    let started = Instant::now();
    let mut switches = switches(workspace)?;
    switches.retain(|switch| numbers.is_empty() || numbers.contains(&switch.rule.number));
    let suites = build(workspace)?;
    let trial = Trial { workspace, suites: &suites, fates: Mutex::default() };
    trial.check_guards(&switches)?;
    at_once(&switches, |switch| trial.by_its_guard(switch))?;
    // What cannot be observed is tried only on request.
    let is_asked = |switch: &Switch| !numbers.is_empty() || !is_equivalent(switch.rule.number);
    let is_due = |switch: &&Switch| !trial.has_fate(switch) && is_asked(switch);
    let open: Vec<&Switch> = switches.iter().filter(is_due).collect();
    if !open.is_empty() {
        at_once(&suites, |suite| trial.must_pass(suite, Chosen::All))?;
        at_once(&open, |switch| trial.by_every_suite(switch))?;
    }
    let fates = trial.fates.into_inner().unwrap_or_default();
    println!("{}", summary(&fates, started));
    match survivors(&fates).iter().filter(|number| !is_equivalent(**number)).count() {
        0 => Ok(()),
        open => Err(Error::new(format!("kill every mutation: {open} survived")).way_out("add a test for each rule")),
    }
}

/// Mutations on trial.
struct Trial<'a> {
    workspace: &'a Workspace,
    suites: &'a [Suite],
    fates: Mutex<BTreeMap<u32, Fate>>,
}

impl Trial<'_> {
    fn suite(&self, name: &str) -> Result<&Suite> {
        let suite = self.suites.iter().find(|suite| suite.name == name);
        suite.ok_or_else(|| Error::new(format!("find the suite {name}")))
    }

    /// Every test that guards a rule exists, and passes without a mutation.
    fn check_guards(&self, switches: &[Switch]) -> Result<()> {
        let mut guards: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for Guard { suite, test } in switches.iter().filter_map(|switch| switch.rule.guard) {
            if !self.suite(suite)?.has(test) {
                return Err(Error::new(format!("find the test {test} of the suite {suite}")));
            }
            guards.entry(suite).or_default().push(test);
        }
        let guards: Vec<_> = guards.into_iter().collect();
        say(&format!("run the {} tests that guard rules, without a mutation", switches.len()));
        at_once(&guards, |(suite, tests)| self.must_pass(self.suite(suite)?, Chosen::These(tests)))
    }

    fn must_pass(&self, suite: &Suite, chosen: Chosen<'_>) -> Result<()> {
        match suite.run(self.workspace, 0, chosen)? {
            Ended::Passed => Ok(()),
            Ended::Failed(test) => {
                Err(Error::new(format!("run the suite {} without a mutation: {test} fails", suite.name)))
            }
        }
    }

    fn by_its_guard(&self, switch: &Switch) -> Result<()> {
        let Some(Guard { suite, test }) = switch.rule.guard else { return Ok(()) };
        match self.suite(suite)?.run(self.workspace, switch.rule.number, Chosen::These(&[test]))? {
            Ended::Passed => {}
            Ended::Failed(_) => self.decide(switch, Fate::KilledByItsGuard),
        }
        Ok(())
    }

    fn by_every_suite(&self, switch: &Switch) -> Result<()> {
        for suite in self.suites {
            match suite.run(self.workspace, switch.rule.number, Chosen::All)? {
                Ended::Passed => {}
                Ended::Failed(test) => {
                    self.decide(switch, Fate::KilledBy(suite.name, test));
                    return Ok(());
                }
            }
        }
        self.decide(switch, Fate::Survived);
        Ok(())
    }

    fn has_fate(&self, switch: &Switch) -> bool {
        self.fates.lock().is_ok_and(|fates| fates.contains_key(&switch.rule.number))
    }

    fn decide(&self, switch: &Switch, fate: Fate) {
        let Switch { rule, file } = switch;
        if let Ok(mut fates) = self.fates.lock() {
            let words = match (&fate, rule.guard) {
                (Fate::KilledByItsGuard, Some(Guard { suite, test })) => format!("killed by its own {suite} {test}"),
                (Fate::KilledByItsGuard, None) => "killed".to_owned(),
                (Fate::KilledBy(suite, test), _) => format!("killed by {suite} {test}"),
                (Fate::Survived, _) => "SURVIVED".to_owned(),
            };
            println!("{:>4}  {words}\n      {file}  {}", rule.number, rule.text);
            fates.insert(rule.number, fate);
        }
    }
}

/// Whether the mutation with this number changes nothing that can be observed.
fn is_equivalent(number: u32) -> bool {
    EQUIVALENT.iter().any(|(equivalent, _)| *equivalent == number)
}

fn survivors(fates: &BTreeMap<u32, Fate>) -> Vec<u32> {
    fates.iter().filter(|(_, fate)| matches!(fate, Fate::Survived)).map(|(number, _)| *number).collect()
}

fn summary(fates: &BTreeMap<u32, Fate>, started: Instant) -> Value {
    let own = fates.values().filter(|fate| matches!(fate, Fate::KilledByItsGuard)).count();
    let others = fates.iter().filter_map(|(number, fate)| match fate {
        Fate::KilledBy(suite, test) => Some(json!({ "number": number, "suite": suite, "test": test })),
        Fate::KilledByItsGuard | Fate::Survived => None,
    });
    json!({
        "tried": fates.len(),
        "killed_by_own_test": own,
        "killed_by_another": others.collect::<Vec<_>>(),
        "survived": survivors(fates),
        "equivalent": EQUIVALENT.map(|(number, reason)| json!({ "number": number, "reason": reason })),
        "seconds": started.elapsed().as_secs(),
    })
}

/// Works on every item, some at once; the first error ends it.
fn at_once<T: Sync>(items: &[T], work: impl Fn(&T) -> Result<()> + Sync) -> Result<()> {
    let queue = Mutex::new(items.iter());
    let worker = || -> Result<()> {
        loop {
            let Some(item) = queue.lock().ok().and_then(|mut queue| queue.next()) else { return Ok(()) };
            work(item)?;
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(_) => Err(Error::new("try the mutations: a worker stopped")),
        })
    })
}
