//! Health: NOT_SERVING until every branch was examined, then SERVING while the root is the one that was opened, and NOT_SERVING again from the request
//! to stop.

use std::time::Duration;

use omnigraph_call::causes;
use omnigraph_engine::{BranchSettled, Caller, Engine, RootState, SettleAll};
use tokio::sync::watch;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tracing::{error, info, warn};

use crate::contract::SERVICES;

/// Least time between two proofs of a root that nobody writes to.
const ROOT_PROOF_INTERVAL_MIN: Duration = Duration::from_millis(10);
/// The wait before the graphs are listed again after that failed.
const LISTING_RETRY: Duration = Duration::from_secs(1);
/// The actor of what the server does on its own.
const ACTOR: &str = "server";

/// Reports one status for the server and for every service.
pub(crate) async fn report(reporter: &HealthReporter, status: ServingStatus) {
    reporter.set_service_status("", status).await;
    for service in SERVICES.iter() {
        reporter.set_service_status(&service.name, status).await;
    }
}

/// Settles what interrupted writes left on every branch of every graph, then reports that the server serves; settles again every
/// `recovery_interval_ms`. A branch that cannot be settled is logged and delays nothing: its own calls report what is wrong with it.
pub(crate) async fn settle_and_report(engine: &Engine, reporter: &HealthReporter) {
    let settled = loop {
        match settle(engine).await {
            Listing::Read { settled } => break settled,
            Listing::Failed => tokio::time::sleep(LISTING_RETRY).await,
        }
    };
    info!(branches = settled, "every branch is examined");
    report(reporter, ServingStatus::Serving).await;
    let (listing, listed) = watch::channel(ServingStatus::Serving);
    tokio::join!(settle_again(engine, &listing), watch_root(engine, reporter, listed));
}

async fn settle_again(engine: &Engine, listing: &watch::Sender<ServingStatus>) {
    let interval = Duration::from_millis(engine.limits().recovery_interval_ms);
    while !interval.is_zero() {
        let failed = *listing.borrow() == ServingStatus::NotServing;
        tokio::time::sleep(if failed { interval.min(LISTING_RETRY) } else { interval }).await;
        listing.send_replace(match settle(engine).await {
            Listing::Read { .. } => ServingStatus::Serving,
            Listing::Failed => ServingStatus::NotServing,
        });
    }
}

/// Reports NOT_SERVING while the root is not the one that was opened, or its graphs cannot be listed. A loss that a request meets is reported at once; a root that is idle, or lost, is
/// proven every `root_proof_age_max_ms`.
async fn watch_root(engine: &Engine, reporter: &HealthReporter, mut listed: watch::Receiver<ServingStatus>) {
    let interval = Duration::from_millis(engine.limits().root_proof_age_max_ms).max(ROOT_PROOF_INTERVAL_MIN);
    let mut state = engine.root_state();
    let mut reported = ServingStatus::Serving;
    loop {
        tokio::select! {
            _ = state.changed() => {}
            Ok(()) = listed.changed() => {}
            () = tokio::time::sleep(interval) => {
                engine.prove_root().await;
            }
        }
        let listing = *listed.borrow_and_update();
        let status = match *state.borrow_and_update() {
            RootState::Proven => listing,
            RootState::Lost(_) => ServingStatus::NotServing,
        };
        if status != reported {
            report(reporter, status).await;
            reported = status;
        }
    }
}

/// What became of the list of graphs.
enum Listing {
    /// It was read.
    Read {
        /// Branches that were settled.
        settled: usize,
    },
    /// It could not be read.
    Failed,
}

async fn settle(engine: &Engine) -> Listing {
    let branches = match engine.run(&Caller::new(ACTOR), SettleAll).await {
        Ok(branches) => branches,
        Err(failure) => {
            error!(problem = ?failure.problem, message = %failure.message, causes = %causes(&failure),
                "the graphs could not be listed for settling");
            return Listing::Failed;
        }
    };
    let mut settled = 0_usize;
    for BranchSettled { graph, branch, report } in branches {
        match report {
            Ok(_) => settled += 1,
            Err(failure) => warn!(%graph, %branch, problem = ?failure.problem, message = %failure.message,
                "a branch could not be settled"),
        }
    }
    Listing::Read { settled }
}
