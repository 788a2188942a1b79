//! `mutants`: tries every numbered mutation of the source against the tests that should notice it.
//!
//! One build serves all: the switches are in debug builds, and the environment chooses one. A mutation is killed when a test binary fails,
//! or does not end within its bound. Prints a line per mutation, then one line of JSON; a survivor that is not named as equivalent is an error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::files;
use crate::workspace::{Workspace, say};

/// Where switches may be.
const FOLDERS: [&str; 4] = ["crates/commit/src", "crates/catalog/src", "crates/storage/src", "crates/engine/src"];
/// The tests that are tried in this order, by package and target.
const SUITES: [(&str, &[&str]); 5] = [
    ("omnigraph-commit", &["--lib"]),
    ("omnigraph-catalog", &["--lib"]),
    ("omnigraph-commit", &["--test", "protocol"]),
    ("omnigraph-storage", &["--test", "it"]),
    ("omnigraph-engine", &["--test", "engine"]),
];
/// The variable that chooses a mutation.
const VARIABLE: &str = "OMNIGRAPH_MUTANT";
/// Mutations tried at once.
const AT_ONCE: usize = 2;
/// One test binary, at most: several times what the slowest takes.
const BINARY_MAX: Duration = Duration::from_secs(300);
/// Pause between two looks at a running binary.
const POLL: Duration = Duration::from_millis(50);
/// Mutations that change nothing that can be observed, with the reason.
const EQUIVALENT: [(u32, &str); 0] = [];

/// The rule that each mutation breaks.
const RULES: [(u32, &str); 22] = [
    (1, "I-5: the ends of added edges are in the token"),
    (2, "I-3: a ticket is an attempt's, not its operation's"),
    (3, "I-11: a proof lasts an hour"),
    (4, "I-3: nothing is armed on an old proof"),
    (5, "I-11: an old attempt makes no effect"),
    (6, "I-8: a fragment knows its smallest operation"),
    (7, "I-8: a fragment knows its largest operation"),
    (8, "I-8: the largest operation of a fragment is in its range"),
    (9, "edges do not refer to nodes that the load drops"),
    (10, "what does not fit its version is aborted"),
    (11, "what looks foreign is looked at twice"),
    (12, "I-3: a tree is written only by its owner"),
    (13, "I-5: rows are compared by the commit that changed them"),
    (14, "I-5: rows checked under another contract are refused"),
    (15, "what is staged on a moved pin is staged again"),
    (16, "an effect is whole with its last transaction"),
    (17, "only own rows keep an abort unsettled"),
    (18, "I-8: a publication needs its operation unseen"),
    (19, "a restore in the slot is a fence"),
    (20, "an attempt is completed only when it is whole"),
    (21, "a check is made again when its rows changed"),
    (22, "settling keeps the commit that changed the rows"),
];

/// A switch in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Switch {
    number: u32,
    rule: &'static str,
    file: String,
}

/// What became of one mutation.
enum Fate {
    /// This suite noticed it.
    Killed(String),
    Survived,
}

/// Tries the mutations with these numbers; none means all.
pub(crate) fn run(workspace: &Workspace, numbers: &[u32]) -> Result<()> {
    let started = Instant::now();
    let mut switches = switches(workspace)?;
    switches.retain(|switch| numbers.is_empty() || numbers.contains(&switch.number));
    let suites = build(workspace)?;
    for suite in &suites {
        if run_suite(workspace, suite, 0)? == Ended::Failed {
            return Err(Error::new(format!("run {} without a mutation: it does not pass", suite.name)));
        }
    }
    let (queue, fates) = (Mutex::new(switches.iter().rev().collect::<Vec<_>>()), Mutex::new(BTreeMap::new()));
    let work = || -> Result<()> {
        loop {
            let Some(switch) = queue.lock().ok().and_then(|mut queue| queue.pop()) else { return Ok(()) };
            let fate = try_one(workspace, &suites, switch.number)?;
            if let Ok(mut fates) = fates.lock() {
                report(switch, &fate);
                fates.insert(switch.number, fate);
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(_) => Err(Error::new("try the mutations: a worker stopped")),
        })
    })?;
    let fates = fates.into_inner().unwrap_or_default();
    let survived: Vec<u32> =
        fates.iter().filter(|(_, fate)| matches!(fate, Fate::Survived)).map(|(number, _)| *number).collect();
    let summary = json!({
        "tried": fates.len(),
        "killed": fates.len() - survived.len(),
        "survived": survived,
        "seconds": started.elapsed().as_secs(),
    });
    println!("{summary}");
    let open = survived.iter().filter(|number| EQUIVALENT.iter().all(|(equivalent, _)| equivalent != *number)).count();
    match open {
        0 => Ok(()),
        _ => Err(Error::new(format!("kill every mutation: {open} survived")).way_out("add a test for each rule")),
    }
}

fn report(switch: &Switch, fate: &Fate) {
    let fate = match fate {
        Fate::Killed(by) => format!("killed by {by}"),
        Fate::Survived => "SURVIVED".to_owned(),
    };
    println!("{:>4}  {:<24} {}  {}", switch.number, fate, switch.file, switch.rule);
}

fn try_one(workspace: &Workspace, suites: &[Suite], number: u32) -> Result<Fate> {
    for suite in suites {
        if run_suite(workspace, suite, number)? == Ended::Failed {
            return Ok(Fate::Killed(suite.name.clone()));
        }
    }
    Ok(Fate::Survived)
}

/// How a test binary ended; one that does not end within its bound has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Passed,
    Failed,
}

/// A test binary that is built.
struct Suite {
    name: String,
    binary: PathBuf,
    folder: PathBuf,
}

fn build(workspace: &Workspace) -> Result<Vec<Suite>> {
    SUITES.iter().map(|(package, target)| built(workspace, package, target)).collect()
}

fn built(workspace: &Workspace, package: &str, target: &[&str]) -> Result<Suite> {
    say(&format!("build the tests of {package} {}", target.join(" ")));
    let mut command = workspace.cargo(["test", "--no-run", "--message-format", "json", "-p", package]);
    let output = command.args(target).stderr(Stdio::inherit()).output();
    let failed = |what: String| Error::new(format!("build the tests of {package}: {what}"));
    let output = output.map_err(|source| failed(source.to_string()))?;
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    let binary = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["profile"]["test"] == Value::Bool(true))
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .next_back()
        .ok_or_else(|| failed("there is no binary".to_owned()))?;
    let folder = workspace.path("crates").join(package.trim_start_matches("omnigraph-"));
    Ok(Suite { name: format!("{package} {}", target.join(" ")), binary, folder })
}

/// Runs one binary with one mutation; number 0 is none.
fn run_suite(workspace: &Workspace, suite: &Suite, number: u32) -> Result<Ended> {
    let failed = |source: std::io::Error| Error::new(format!("run {}: {source}", suite.name));
    let mut command = workspace.command(&suite.binary);
    command.current_dir(&suite.folder).env(VARIABLE, number.to_string());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(failed)?;
    let until = Instant::now() + BINARY_MAX;
    loop {
        match child.try_wait().map_err(failed)? {
            Some(status) if status.success() => return Ok(Ended::Passed),
            Some(_) => return Ok(Ended::Failed),
            None if Instant::now() >= until => return end(&mut child).map_err(failed).map(|()| Ended::Failed),
            None => thread::sleep(POLL),
        }
    }
}

fn end(child: &mut Child) -> std::io::Result<()> {
    child.kill()?;
    child.wait().map(|_| ())
}

/// Every switch, by number. Two of one number are an error.
fn switches(workspace: &Workspace) -> Result<Vec<Switch>> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        for path in files::below(&workspace.path(folder), &[])? {
            let text = String::from_utf8_lossy(&files::read(&path)?).into_owned();
            found.extend(in_source(&text, &name_of(workspace, &path))?);
        }
    }
    found.sort_by_key(|switch| switch.number);
    match found.windows(2).find(|pair| pair[0].number == pair[1].number) {
        Some(pair) => {
            let (number, first, second) = (pair[0].number, &pair[0].file, &pair[1].file);
            Err(Error::new(format!("number the mutations: {number} is in {first} and in {second}")))
        }
        None => Ok(found),
    }
}

fn name_of(workspace: &Workspace, path: &Path) -> String {
    path.strip_prefix(workspace.path("")).unwrap_or(path).display().to_string()
}

fn in_source(text: &str, file: &str) -> Result<Vec<Switch>> {
    let parse = |after: &str| {
        let number = after.split_once(',').and_then(|(number, _)| number.trim().parse().ok());
        let rule = RULES.iter().find(|(ruled, _)| Some(*ruled) == number);
        rule.map(|(number, rule)| Switch { number: *number, rule, file: file.to_owned() })
            .ok_or_else(|| Error::new(format!("read the mutations of {file}: one has no rule")))
    };
    text.split("mutant!(").skip(1).map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_read_from_the_source_and_each_has_a_rule() {
        let found = in_source("let a = mutant!(7, x, y);\nlet b = mutant!(\n    12,\n    x,\n);", "f").unwrap();
        assert_eq!(found.iter().map(|switch| switch.number).collect::<Vec<_>>(), [7, 12]);
        assert!(in_source("mutant!(0, x, y)", "f").is_err());
    }

    #[test]
    fn every_rule_has_one_switch() {
        let found = switches(&Workspace::find().unwrap()).unwrap();
        let numbers: Vec<u32> = found.iter().map(|switch| switch.number).collect();
        assert_eq!(numbers, RULES.map(|(number, _)| number));
    }
}
