//! A part of the crash matrix that meets every writer and every fail point, against real servers. The whole: `cargo xtask crash`.

use omnigraph_crash::{Cell, run};

/// Cells at once: most of a cell is waiting for the grace.
const AT_ONCE: usize = 6;

#[tokio::test(flavor = "multi_thread")]
async fn every_writer_stopped_at_every_point_is_survived_by_the_next() {
    let report = run(Cell::spread(), AT_ONCE).await;
    let violations: Vec<String> = report.violations().map(|(cell, violation)| format!("{cell}: {violation}")).collect();
    assert!(violations.is_empty(), "run one alone by `cargo xtask crash --cell NAME`:\n{}", violations.join("\n"));
    assert_eq!(report.points_unhit(), Vec::new());
}
