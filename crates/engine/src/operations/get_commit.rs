//! One commit by id.

use omnigraph_types::{Commit, CommitId};

use crate::caller::Caller;
use crate::error::Result;
use crate::execute::{Access, Execute};
use crate::open_graphs::GraphHandle;

/// Asks for one commit; `NotFound` if the graph has none of the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetCommit {
    /// Its id.
    pub id: CommitId,
}

impl Execute for GetCommit {
    type Target = GraphHandle;
    type Answer = Commit;
    const NAME: &'static str = "get_commit";
    const ACCESS: Access = Access::Read;

    async fn execute(&self, on: &GraphHandle, _: &Caller) -> Result<Commit> {
        on.graph.describe(on.graph.catalog().commit(self.id).await?).await
    }
}
