//! What a check showed: one line of the table each, counterexamples step by step, and the summary.

use std::fmt;
use std::process::ExitCode;

use serde_json::json;

use crate::Check;
use crate::world::{Step, Who, World};

/// A way to a state in which a property does not hold.
#[derive(Debug)]
pub(crate) struct Counterexample {
    pub(crate) property: &'static str,
    pub(crate) steps: Vec<String>,
}

impl Counterexample {
    pub(crate) fn new(property: &'static str, steps: Vec<Step>, world: &World) -> Self {
        Self { property, steps: steps.iter().map(|step| text(step, world)).collect() }
    }
}

fn text(step: &Step, world: &World) -> String {
    let who = match step.who {
        Who::Actor(actor) => format!("{actor} ({:?})", world.role(actor)),
        Who::Store => "the store".to_owned(),
        Who::Time => "time".to_owned(),
        Who::Nobody => "nobody".to_owned(),
    };
    match step.about {
        Some(about) => format!("{who}: {} {about}", step.what),
        None => format!("{who}: {}", step.what),
    }
}

/// What one check showed.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) check: Check,
    pub(crate) states: usize,
    pub(crate) depth: usize,
    pub(crate) seconds: f64,
    pub(crate) failures: Vec<Counterexample>,
    /// What should have been reachable.
    pub(crate) missed: Vec<&'static str>,
    pub(crate) complete: bool,
}

impl Report {
    /// The whole protocol must hold, and reach what it should; without a rule it must fail.
    pub(crate) fn passed(&self) -> bool {
        match self.check.without {
            [] => self.complete && self.failures.is_empty() && self.missed.is_empty(),
            _ => !self.failures.is_empty(),
        }
    }

    /// The counterexample, step by step.
    pub(crate) fn steps(&self) -> String {
        let Some(found) = self.failures.first() else { return String::new() };
        let lines = found.steps.iter().enumerate().map(|(at, step)| format!("\n    {:>2}. {step}", at + 1));
        format!("  {}{}", found.property, lines.collect::<String>())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.passed() { "ok" } else { "FAILED" };
        let name = self.check.name();
        write!(f, "{verdict:<7} {name:<64} {:>9} states {:>3} deep {:>6.1} s", self.states, self.depth, self.seconds)?;
        if let Some(found) = self.failures.first() {
            write!(f, "  violates {} in {} steps", found.property, found.steps.len())?;
        }
        if !self.missed.is_empty() {
            write!(f, "  never reached: {}", self.missed.join(", "))?;
        }
        if !self.complete {
            write!(f, "  not explored to its end")?;
        }
        Ok(())
    }
}

/// Prints what failed, or everything that was found if `verbose`, and ends with one line for people and one for machines.
pub(crate) fn summary(reports: &[Report], asked: usize, verbose: bool) -> ExitCode {
    for report in reports {
        let unexpected = report.check.without.is_empty() && !report.failures.is_empty();
        if verbose || unexpected {
            eprintln!("\n{report}\n{}", report.steps());
        }
    }
    let passed = reports.iter().filter(|report| report.passed()).count();
    let (protocol, ablations): (Vec<&Report>, Vec<&Report>) =
        reports.iter().partition(|report| report.check.without.is_empty());
    println!("{passed} passed, {} failed", asked - passed);
    let line = json!({
        "model": "ticket",
        "scenarios": protocol.len(),
        "states": protocol.iter().map(|report| report.states).sum::<usize>(),
        "violations": protocol.iter().filter(|report| !report.failures.is_empty()).count(),
        "ablations": ablations.len(),
        "ablations_found": ablations.iter().filter(|report| report.passed()).count(),
    });
    println!("{line}");
    if passed == asked { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
