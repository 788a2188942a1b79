//! Every fail point of the product, assembled from the writers that declare them.

use omnigraph_commit::{FailPoint, Follows, Injected, WriterPoints};
use omnigraph_types::{Failure, Phase, Problem};

use crate::load;

/// The writer that creates graphs. What decides is the entry of the graph's name.
const GRAPH_CREATE: WriterPoints = WriterPoints::of("graph_create");
/// A graph is about to be made.
pub(crate) const BEFORE_GRAPH_CREATED: FailPoint =
    FailPoint { follows: Follows::NameEntry, ..GRAPH_CREATE.before(Phase::Publish) };
/// The graph is made, and its name means it.
pub(crate) const AFTER_GRAPH_CREATED: FailPoint = GRAPH_CREATE.after(Phase::Publish);

/// Every declared point: those of the loads, of the protocol's own publications, and of graph creation.
pub fn fail_points() -> Vec<FailPoint> {
    let mut points: Vec<FailPoint> = load::points::fail_points().collect();
    points.extend(omnigraph_commit::fail_points());
    points.extend([BEFORE_GRAPH_CREATED, AFTER_GRAPH_CREATED]);
    points
}

/// What a fail point of the engine's own does to its request.
pub(crate) fn failed(point: FailPoint, injected: Injected) -> Failure {
    let message = format!("fail point {point}: the store failed, as the test wanted");
    Failure::new(Problem::StorageUnavailable, message).with_source(injected)
}
