//! Health: NOT_SERVING until every branch was looked at, SERVING, and NOT_SERVING again once the server is told to stop.

use std::time::Duration;

use omnigraph_engine::{BranchSettled, Engine};
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tracing::{info, warn};

/// The services whose health is reported, besides the server as a whole.
pub(crate) const SERVICES: [&str; 11] = [
    "omnigraph.v1.ServerService",
    "omnigraph.v1.GraphService",
    "omnigraph.v1.SchemaService",
    "omnigraph.v1.BranchService",
    "omnigraph.v1.MutationService",
    "omnigraph.v1.QueryService",
    "omnigraph.v1.LoadService",
    "omnigraph.v1.CommitService",
    "omnigraph.v1.OperationService",
    "omnigraph.v1.MaintenanceService",
    "arrow.flight.protocol.FlightService",
];

/// Reports one status for the server and for every service.
pub(crate) async fn report(reporter: &HealthReporter, status: ServingStatus) {
    reporter.set_service_status("", status).await;
    for service in SERVICES {
        reporter.set_service_status(service, status).await;
    }
}

/// Looks at every branch of every graph, settles what interrupted writes left, and then reports that the server serves; goes on to look every
/// `recovery_interval_ms`. What cannot be settled is logged and holds nobody up: its own calls say what is wrong with it.
pub(crate) async fn settle_and_report(engine: &Engine, reporter: &HealthReporter) {
    let settled = settle(engine).await;
    info!(branches = settled, "every branch was looked at");
    report(reporter, ServingStatus::Serving).await;
    let interval = Duration::from_millis(engine.limits().recovery_interval_ms);
    while !interval.is_zero() {
        tokio::time::sleep(interval).await;
        settle(engine).await;
    }
}

async fn settle(engine: &Engine) -> usize {
    let mut settled = 0_usize;
    for BranchSettled { graph, branch, report } in engine.settle_all().await {
        match report {
            Ok(_) => settled += 1,
            Err(failure) => warn!(%graph, %branch, problem = ?failure.problem, message = %failure.message,
                "a branch could not be settled"),
        }
    }
    settled
}
