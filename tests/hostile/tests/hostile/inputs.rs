//! Every target with its examples and with inputs drawn from them.

use std::time::Duration;

use omnigraph_hostile::drive::{Budget, Folder, Report, drive};
use omnigraph_hostile::targets;

/// What all draws begin with.
const SEED: u64 = 1;
/// Inputs of a target that reads bytes in this process, and of the one that calls a server.
const INPUTS: u64 = 4_000;
const REQUESTS: u64 = 600;
/// The most that a busy machine may take for one target; a count of inputs ends it long before.
const TIME_MAX: Duration = Duration::from_secs(120);

#[test]
fn no_target_panics_or_holds_more_than_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    let mut found = Vec::new();
    for target in targets::all() {
        let inputs = if target.name() == "requests" { REQUESTS } else { INPUTS };
        let place = Folder { path: folder.path(), keep_current: false };
        let report: Report = drive(target.as_ref(), SEED, Budget { inputs, time: TIME_MAX }, place);
        report.lines().iter().for_each(|line| eprintln!("{line}"));
        report.contained.iter().for_each(|(place, count)| eprintln!("  caught {count} times: {place}"));
        assert!(report.outcomes.len() > 3, "{}: hardly anything was read: {:?}", report.name, report.outcomes);
        found.extend(report.found());
    }
    if !found.is_empty() {
        panic!("inputs are kept in {}: {found:#?}", folder.keep().display());
    }
}
