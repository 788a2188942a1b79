//! Fail points of optimized builds: there are none.

use std::sync::Arc;

use omnigraph_storage::StoreHook;
use omnigraph_types::GraphName;

use crate::failpoint::point::{FailPoint, FailPointsError, Injected};

/// Nothing: an optimized build has no points.
#[derive(Debug, Clone, Copy, Default)]
pub struct FailPoints;

impl FailPoints {
    /// Always none.
    pub fn from_environment(_declared: &[FailPoint]) -> Result<Self, FailPointsError> {
        Ok(Self)
    }

    /// Always none.
    pub fn hooks(&self) -> Vec<Arc<dyn StoreHook>> {
        Vec::new()
    }

    /// Passes a point.
    ///
    /// # Errors
    /// Never.
    pub async fn hit(&self, _graph: &GraphName, _point: FailPoint) -> Result<(), Injected> {
        Ok(())
    }
}
