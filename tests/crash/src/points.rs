//! The fail points of the matrix: those that the writers of the product declare, and what a test lets one of them do.

use std::fmt;

use omnigraph_commit::{FailPoint, WriterPoints};

/// Loads into any branch.
pub(crate) const LOAD: WriterPoints = WriterPoints::of("load");
/// The registration of a branch.
pub(crate) const BRANCH_CREATE: WriterPoints = WriterPoints::of("branch_create");
/// The end of a branch's chain.
pub(crate) const BRANCH_DELETE: WriterPoints = WriterPoints::of("branch_delete");
/// The end of a branch's name.
pub(crate) const BRANCH_REMOVE: WriterPoints = WriterPoints::of("branch_remove");
/// The creation of a graph.
pub(crate) const GRAPH_CREATE: WriterPoints = WriterPoints::of("graph_create");
/// The end of a graph.
pub(crate) const GRAPH_DELETE: WriterPoints = WriterPoints::of("graph_delete");
/// A rescuer's decision about a version.
pub(crate) const RECOVER: WriterPoints = WriterPoints::of("recover");
/// A rescuer's restore of tables that a write left changed.
pub(crate) const SETTLE: WriterPoints = WriterPoints::of("settle");
/// A repair that a person confirmed.
const REPAIR: WriterPoints = WriterPoints::of("repair");

/// Every declared point but those of repairs: a repair needs a person and a damaged store, and the protocol's own tests meet its points.
pub(crate) fn points() -> Vec<FailPoint> {
    omnigraph_engine::fail_points().into_iter().filter(|point| point.writer != REPAIR).collect()
}

/// What a process does at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// It dies by SIGKILL.
    Kill,
    /// Its store refuses.
    Error,
    /// Its store loses the reply.
    Lose,
    /// The put that follows is late.
    Late,
    /// The same, and its store refuses other puts of that object meanwhile.
    Busy,
    /// It waits until it is released.
    Pause,
}

/// A point with its action. It displays as an entry of `OMNIGRAPH_FAILPOINTS`, without the graph.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArmedPoint {
    pub(crate) point: FailPoint,
    pub(crate) action: Action,
    /// The hit of the point, from 1, at which the action fires.
    pub(crate) hit: u32,
}

impl ArmedPoint {
    /// The action fires when the point is first hit.
    pub(crate) fn first(point: FailPoint, action: Action) -> Self {
        Self { point, action, hit: 1 }
    }
}

impl fmt::Display for ArmedPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = match self.action {
            Action::Kill => "kill",
            Action::Error => "error",
            Action::Lose => "lose",
            Action::Late => "late",
            Action::Busy => "busy",
            Action::Pause => "pause",
        };
        write!(f, "{}={action}@{}", self.point, self.hit)
    }
}
