//! The store requests of one keyless one-row load, from its first call to its receipt.

use std::path::Path;
use std::sync::Arc;

use omnigraph_engine::Durability;

use super::ours::{Ours, Table};
use super::trace::{CallTrace, Requests};
use crate::error::BenchError;

/// Commits before the one that is counted.
const COMMITS_BEFORE: u64 = 20;

/// Counts the requests of one commit of a graph that has had a few.
pub(crate) async fn count(root: &Path, durability: Durability) -> Result<Requests, BenchError> {
    let trace = CallTrace::new();
    let ours = Ours::open(root, durability, vec![Arc::new(trace.clone())]).await?;
    for number in 0..COMMITS_BEFORE {
        ours.append(Table::Keyless, number).await?;
    }
    trace.start();
    ours.append(Table::Keyless, COMMITS_BEFORE).await?;
    Ok(trace.finish())
}
