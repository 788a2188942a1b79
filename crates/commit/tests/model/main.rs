//! The write protocol as an explicit-state model, and the shipped `decide` inside it.
//!
//! Every interleaving of a few processes is tried, with crashes, lost replies, puts that land late and the passing of time, and the invariants
//! I-1 to I-11 are looked at in each state. Then each rule of the protocol is left out in turn: that must give a counterexample, else the rule is
//! not needed or the model does not see it.
//!
//! | module | what it models |
//! |---|---|
//! | `state` | chains of graph versions with their intents, trees of tables, what each process is about to do |
//! | `world` | whose turn it is, and the faults |
//! | `job` | publications under a ticket: arm, apply, publish |
//! | `writer` | row writes, fast-forwards, schema applies |
//! | `rescuer` | observing, deciding, fencing, settling |
//! | `branches` | create, delete, and finishing a removal |
//! | `cleanup` | retention, deletion, readers |
//! | `properties`, `rules`, `scenario` | the invariants, what can be left out, and the worlds that are checked |
//!
//! Nearest things, where an invariant cannot be had in full: I-1 is checked by the content of the versions that a reader could meet, for a reader
//! reads one version. I-11's running read is a process that holds a version; no week passes while it does, for reads are shorter than the age at which
//! things are deleted. "Liveness" in I-6 is checked in states in which no process can go on.

mod branches;
mod cleanup;
mod job;
mod properties;
mod report;
mod rescuer;
mod rules;
mod scenario;
mod state;
mod world;
mod writer;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use stateright::{Checker, Expectation, HasDiscoveries, Model};

use report::{Counterexample, Report};
use rules::{Rule, Without};
use scenario::{ABLATIONS, Scenario, Size};
use world::World;

/// Steps taken in one check before it counts as too large.
const STEPS_MAX: usize = 200_000_000;
/// Checks that run side by side.
const WORKERS: usize = 2;

/// One check: a scenario, whole or without some rules.
#[derive(Debug, Clone)]
pub(crate) struct Check {
    pub(crate) scenario: Scenario,
    pub(crate) without: &'static [Rule],
}

impl Check {
    pub(crate) fn name(&self) -> String {
        let rules: Vec<&str> = self.without.iter().map(|rule| rule.name()).collect();
        match rules.as_slice() {
            [] => format!("protocol::{}", self.scenario.name),
            rules => format!("without::{}::{}", rules.join("+"), self.scenario.name),
        }
    }

    fn run(&self) -> Report {
        let started = Instant::now();
        let mut scenario = self.scenario.clone();
        let whole = self.without.is_empty();
        if !whole {
            scenario.reaches = &[];
        }
        let world = World { scenario, without: Without(self.without) };
        let end = if whole { HasDiscoveries::All } else { HasDiscoveries::AnyFailures };
        // One thread, so that the first counterexample is a shortest one; checks run side by side instead.
        let checker = world.clone().checker().finish_when(end).target_state_count(STEPS_MAX).spawn_bfs().join();
        let mut failures = Vec::new();
        let mut missed = Vec::new();
        let mut discoveries = checker.discoveries();
        for property in world.properties() {
            match (property.expectation, discoveries.remove(property.name)) {
                (Expectation::Always, Some(path)) => {
                    failures.push(Counterexample::new(property.name, path.into_actions(), &world));
                }
                (Expectation::Sometimes, None) => missed.push(property.name),
                _ => {}
            }
        }
        failures.sort_by_key(|found| found.steps.len());
        Report {
            check: self.clone(),
            states: checker.unique_state_count(),
            depth: checker.max_depth(),
            seconds: started.elapsed().as_secs_f64(),
            failures,
            missed,
            complete: checker.state_count() < STEPS_MAX,
        }
    }
}

/// What the command line asks for. Arguments that are the test runner's are understood or ignored.
#[derive(Debug, Default)]
struct Options {
    size: Option<String>,
    scenario: Option<String>,
    without: Vec<String>,
    filters: Vec<String>,
    skips: Vec<String>,
    list: bool,
}

impl Options {
    fn read(arguments: impl Iterator<Item = String>) -> Self {
        let mut options = Self::default();
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (argument, None),
            };
            let mut value = || value.clone().or_else(|| arguments.next());
            match name.as_str() {
                "--size" => options.size = value(),
                "--scenario" => options.scenario = value(),
                "--without" => options.without.extend(value()),
                "--skip" => options.skips.extend(value()),
                "--list" => options.list = true,
                "--test-threads" | "--format" | "--color" | "--logfile" | "--report-time" | "-Z" => drop(value()),
                other if other.starts_with('-') => {}
                filter => options.filters.push(filter.to_owned()),
            }
        }
        options
    }

    /// The checks asked for, or what is wrong with the question.
    fn checks(&self) -> Result<Vec<Check>, String> {
        let mut scenarios = scenario::all();
        if let Some(name) = &self.scenario {
            let known: Vec<&str> = scenarios.iter().map(|scenario| scenario.name).collect();
            let known = known.join(", ");
            scenarios.retain(|scenario| scenario.name == name);
            if scenarios.is_empty() {
                return Err(format!("no scenario is named {name:?}: there are {known}"));
            }
        }
        let mut checks = Vec::new();
        if !self.without.is_empty() {
            let rules = rules(&self.without)?;
            let listed = ABLATIONS.iter().filter(|(of, _)| *of == rules).map(|(_, scenario)| *scenario);
            let listed: Vec<&str> = listed.collect();
            let chosen = |scenario: &&Scenario| self.scenario.is_some() || listed.contains(&scenario.name);
            for scenario in scenarios.iter().filter(chosen) {
                checks.push(Check { scenario: scenario.clone(), without: rules });
            }
            return Ok(checks);
        }
        let size = self.size.as_deref().unwrap_or("ci");
        for scenario in &scenarios {
            let asked = match size {
                "ci" => scenario.size == Size::Ci,
                "large" => scenario.size == Size::Large,
                "all" => true,
                other => return Err(format!("no size is named {other:?}: there are ci, large, all")),
            };
            if asked || self.scenario.is_some() {
                checks.push(Check { scenario: scenario.clone(), without: &[] });
            }
        }
        if size != "large" && self.scenario.is_none() {
            for (without, name) in ABLATIONS {
                let found = scenarios.iter().find(|scenario| scenario.name == *name);
                let scenario = found.ok_or_else(|| format!("the table of ablations names no scenario by {name:?}"))?;
                checks.push(Check { scenario: scenario.clone(), without });
            }
            let missing = |rule: &&Rule| !ABLATIONS.iter().any(|(rules, _)| rules.contains(rule));
            if let Some(rule) = Rule::ALL.iter().find(missing) {
                return Err(format!("no ablation leaves out {}: add one to the table", rule.name()));
            }
        }
        let named = |check: &Check, parts: &[String]| parts.iter().any(|part| check.name().contains(part.as_str()));
        checks.retain(|check| (self.filters.is_empty() || named(check, &self.filters)) && !named(check, &self.skips));
        Ok(checks)
    }
}

fn rules(names: &[String]) -> Result<&'static [Rule], String> {
    let find = |name: &String| {
        let known = || Rule::ALL.iter().map(|rule| format!("{}: {}", rule.name(), rule.text())).collect::<Vec<_>>();
        let found = Rule::ALL.iter().find(|rule| rule.name() == name).copied();
        found.ok_or_else(|| format!("no rule is named {name:?}; there are\n  {}", known().join("\n  ")))
    };
    let rules: Result<Vec<Rule>, String> = names.iter().map(find).collect();
    Ok(Vec::leak(rules?))
}

fn main() -> ExitCode {
    let options = Options::read(std::env::args().skip(1));
    let checks = match options.checks() {
        Ok(checks) => checks,
        Err(message) => {
            eprintln!("model: error: {message}");
            return ExitCode::FAILURE;
        }
    };
    if options.list {
        for check in &checks {
            println!("{}: test", check.name());
        }
        return ExitCode::SUCCESS;
    }
    let next = AtomicUsize::new(0);
    let reports = Mutex::new(Vec::new());
    let work = || {
        while let Some(check) = checks.get(next.fetch_add(1, Ordering::Relaxed)) {
            let report = check.run();
            eprintln!("{report}");
            if let Ok(mut reports) = reports.lock() {
                reports.push(report);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(work);
        }
    });
    let reports = reports.into_inner().unwrap_or_default();
    let verbose = !options.without.is_empty() || options.scenario.is_some();
    report::summary(&reports, checks.len(), verbose)
}
