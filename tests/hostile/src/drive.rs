//! Feeds a target with inputs until they or the time are over.
//!
//! The first inputs are the target's examples. Each further one is an input that was kept, changed a few times; one is kept if it met an outcome
//! or, where the program was built with counters, an edge that none met before. A seed fixes all inputs of a run without counters.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::cover::Coverage;
use crate::mutate;
use crate::target::{Target, handle};

/// Inputs that are kept to change them.
const KEPT_MAX: usize = 8_192;
/// Changes of one input.
const CHANGES_MAX: usize = 8;
/// Bytes of an input of noise.
const NOISE_BYTES_MAX: usize = 512;
/// One in so many inputs is noise.
const NOISE_ONE_IN: u32 = 50;
/// Kinds of violations that are printed.
const VIOLATIONS_MAX: usize = 50;

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Inputs at most.
    pub inputs: u64,
    /// Time at most.
    pub time: Duration,
}

/// Where inputs are written to.
#[derive(Debug, Clone, Copy)]
pub struct Folder<'a> {
    /// The folder.
    pub path: &'a Path,
    /// Whether each input is written before it is handled, so that the file exists if the process dies of it.
    pub keep_current: bool,
}

/// One kind of violation, with the first input that met it.
#[derive(Debug, Clone)]
pub struct Violation {
    /// What does not hold.
    pub what: String,
    /// The file that holds the input.
    pub file: PathBuf,
    /// How many inputs met it.
    pub inputs: u64,
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct Report {
    /// The target.
    pub name: String,
    /// Inputs handled.
    pub inputs: u64,
    /// Inputs kept.
    pub kept: usize,
    /// Time.
    pub took: Duration,
    /// Most bytes that one input made the target hold.
    pub peak: u64,
    /// Kinds of outcome, with their inputs.
    pub outcomes: BTreeMap<String, u64>,
    /// Edges that ran, where the program has counters.
    pub edges: Option<usize>,
    /// Panics that the shipped code caught, by place.
    pub contained: BTreeMap<String, u64>,
    /// Violations by kind.
    pub violations: Vec<Violation>,
}

/// The file that holds the input in hand.
pub fn current_file(folder: &Path, target: &str) -> PathBuf {
    folder.join(format!("{target}.current"))
}

/// Runs a target.
///
/// # Panics
/// If an input cannot be written to the folder.
pub fn drive(target: &dyn Target, seed: u64, budget: Budget, folder: Folder<'_>) -> Report {
    let mut run = Run {
        target,
        folder,
        coverage: Coverage::of_this_process(),
        kept: Vec::new(),
        report: Report { name: target.name().to_owned(), ..Report::default() },
    };
    let started = Instant::now();
    for example in target.examples() {
        run.input(example);
    }
    let mut rng = StdRng::seed_from_u64(seed);
    while run.report.inputs < budget.inputs && started.elapsed() < budget.time {
        let input = run.next(&mut rng);
        run.input(input);
    }
    run.report.took = started.elapsed();
    run.report.kept = run.kept.len();
    run.report.edges = run.coverage.as_ref().map(Coverage::edges);
    if folder.keep_current {
        // It may never have been written.
        let _ = std::fs::remove_file(current_file(folder.path, target.name()));
    }
    run.report
}

struct Run<'a> {
    target: &'a dyn Target,
    folder: Folder<'a>,
    coverage: Option<Coverage>,
    kept: Vec<Vec<u8>>,
    report: Report,
}

impl Run<'_> {
    fn next(&self, rng: &mut StdRng) -> Vec<u8> {
        if self.kept.is_empty() || rng.random_ratio(1, NOISE_ONE_IN) {
            return mutate::noise(rng, NOISE_BYTES_MAX);
        }
        let mut input = self.kept[rng.random_range(0..self.kept.len())].clone();
        let other = &self.kept[rng.random_range(0..self.kept.len())];
        for _ in 0..rng.random_range(1..=CHANGES_MAX) {
            self.target.mutate(rng, &mut input, other);
        }
        input
    }

    fn input(&mut self, input: Vec<u8>) {
        if self.folder.keep_current {
            std::fs::write(current_file(self.folder.path, self.target.name()), &input).unwrap();
        }
        if let Some(coverage) = &mut self.coverage {
            coverage.reset();
        }
        let handled = handle(self.target, &input);
        let mut news = self.coverage.as_mut().is_some_and(Coverage::has_news);
        self.report.inputs += 1;
        self.report.peak = self.report.peak.max(handled.peak);
        for place in handled.contained {
            *self.report.contained.entry(place).or_default() += 1;
        }
        match handled.outcome {
            Ok(kind) => {
                let count = self.report.outcomes.entry(kind).or_default();
                news |= *count == 0;
                *count += 1;
                if news && self.kept.len() < KEPT_MAX {
                    self.kept.push(input);
                }
            }
            Err(what) => self.violation(what, &input),
        }
    }

    fn violation(&mut self, what: String, input: &[u8]) {
        // Numbers differ from input to input, and the kind is the same.
        let kind = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        if let Some(known) = self.report.violations.iter_mut().find(|known| kind(&known.what) == kind(&what)) {
            known.inputs += 1;
            return;
        }
        if self.report.violations.len() < VIOLATIONS_MAX {
            let file = self.folder.path.join(format!("{}-{}.input", self.target.name(), self.report.violations.len()));
            std::fs::write(&file, input).unwrap();
            self.report.violations.push(Violation { what, file, inputs: 1 });
        }
    }
}

impl Report {
    /// One line for people, and one for each violation.
    pub fn lines(&self) -> Vec<String> {
        let edges = self.edges.map_or_else(String::new, |edges| format!(" {edges:>7} edges"));
        let mut lines = vec![format!(
            "{:<10} {:>9} inputs {:>6.1} s {:>6} kept {:>10} bytes at most, {} outcomes, {} panics caught in {} places{edges}",
            self.name,
            self.inputs,
            self.took.as_secs_f64(),
            self.kept,
            self.peak,
            self.outcomes.len(),
            self.contained.values().sum::<u64>(),
            self.contained.len(),
        )];
        for violation in &self.violations {
            lines.push(format!(
                "VIOLATION {} ({} inputs): {}\n  cargo xtask fuzz --target {} --input {}",
                self.name,
                violation.inputs,
                violation.what,
                self.name,
                violation.file.display()
            ));
        }
        lines
    }

    /// The kinds of violations, for an assertion.
    pub fn found(&self) -> BTreeSet<String> {
        self.violations.iter().map(|violation| format!("{}: {}", violation.file.display(), violation.what)).collect()
    }
}
