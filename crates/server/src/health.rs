//! Health: NOT_SERVING until every graph was looked at, SERVING, and NOT_SERVING again once the server is told to stop.

use omnigraph_engine::Engine;
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

/// Looks at every graph, settles what interrupted writes left, and then reports that the server serves. A graph that cannot be settled is
/// logged and holds nobody up: its own calls say what is wrong with it.
pub(crate) async fn settle_and_report(engine: &Engine, reporter: &HealthReporter) {
    let mut settled = 0_usize;
    for (graph, outcome) in engine.settle_all().await {
        match outcome {
            Ok(_) => settled += 1,
            Err(failure) => {
                warn!(%graph, problem = ?failure.problem, message = %failure.message, "graph could not be settled")
            }
        }
    }
    info!(graphs = settled, "every graph was looked at");
    report(reporter, ServingStatus::Serving).await;
}
