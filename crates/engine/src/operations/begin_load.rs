//! Beginning a load: it captures the version that it begins at. Its turn comes with its first rows.

use omnigraph_types::LoadRequest;

use crate::caller::Caller;
use crate::error::Result;
use crate::execute::{Access, Execute};
use crate::load::{Load, LoadBase, LoadParts};
use crate::open_graphs::GraphHandle;

impl Execute for LoadRequest {
    type Target = GraphHandle;
    type Answer = Load;
    const NAME: &'static str = "begin_load";
    const ACCESS: Access = Access::Write;

    async fn execute(&self, on: &GraphHandle, caller: &Caller) -> Result<Load> {
        let context = on.graph.context();
        let base = LoadBase::of(&on.graph, self).await?;
        Ok(Load::new(LoadParts {
            operation_id: context.operation_id(self.options.operation_id),
            request: self.clone(),
            caller: caller.clone(),
            graph: on.clone(),
            base,
        }))
    }
}
