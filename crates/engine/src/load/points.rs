//! The name of loads as a writer, and the fail points that a load passes.

use omnigraph_commit::{FailPoint, WriterPoints};
use omnigraph_types::Phase;

/// A load's name, with its fail points.
pub(crate) const LOAD: WriterPoints = WriterPoints::of("load");

/// The fail points that a load passes.
pub(crate) fn fail_points() -> impl Iterator<Item = FailPoint> {
    LOAD.points(&[Phase::Arm, Phase::Apply, Phase::Publish, Phase::Reply])
}
