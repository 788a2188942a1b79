//! A short race on a local store, in which servers are paused and killed: nothing may be found.

use std::sync::atomic::Ordering;
use std::time::Duration;

use omnigraph_race::race::{RaceOptions, run};
use omnigraph_race::store::RaceStore;

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_and_four_clients_race_for_fifteen_seconds_without_a_violation() {
    let folder = tempfile::tempdir().unwrap();
    let options = RaceOptions {
        time: Duration::from_secs(15),
        servers: 2,
        clients: 4,
        seed: 1,
        store: RaceStore::local(folder.path().join("root")),
        work: folder.path().to_owned(),
        keep: false,
    };
    let report = run(&options).await.unwrap();
    assert_eq!(report.findings.violations, [], "{:?}", report.table);
    assert!(report.acknowledged > 0 && report.findings.reads_compared > 0, "{:?}", report.table);
    let stops = report.deeds.pauses.load(Ordering::Relaxed) + report.deeds.kills.load(Ordering::Relaxed);
    assert!(stops > 0, "no server was stopped");
}
