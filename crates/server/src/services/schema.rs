//! SchemaService: the schema in force, and the tables that hold its types.

use omnigraph_call::{CallContext, OpenPage, PageScope, answer, decline};
use omnigraph_engine::{Engine, GetSchema, ListTables, PinCommit};
use omnigraph_flight::run;
use omnigraph_types::{Failure, ReadAt, TablePage};
use omnigraph_wire::codec::commit_id;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::schema_service_server::SchemaService;
use omnigraph_wire::{AnswerCodec, RequestCodec};
use tonic::{Request, Response, Status, async_trait};

use super::FEATURES_LISTED;

/// The service over one engine.
#[derive(Debug, Clone)]
pub(crate) struct Schemas {
    engine: Engine,
}

impl Schemas {
    /// The service of an engine.
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine }
    }
}

#[async_trait]
impl SchemaService for Schemas {
    async fn get_schema(
        &self,
        request: Request<wire::GetSchemaRequest>,
    ) -> Result<Response<wire::GetSchemaResponse>, Status> {
        answer(request, |context, message| self.get(context, message)).await
    }

    async fn list_tables(
        &self,
        request: Request<wire::ListTablesRequest>,
    ) -> Result<Response<wire::ListTablesResponse>, Status> {
        answer(request, |context, message| self.tables(context, message)).await
    }

    async fn plan_schema(
        &self,
        request: Request<wire::PlanSchemaRequest>,
    ) -> Result<Response<wire::PlanSchemaResponse>, Status> {
        decline(&request, FEATURES_LISTED)
    }

    async fn apply_schema(
        &self,
        request: Request<wire::ApplySchemaRequest>,
    ) -> Result<Response<wire::ApplySchemaResponse>, Status> {
        decline(&request, FEATURES_LISTED)
    }

    async fn lint_query(
        &self,
        request: Request<wire::LintQueryRequest>,
    ) -> Result<Response<wire::LintQueryResponse>, Status> {
        decline(&request, FEATURES_LISTED)
    }
}

impl Schemas {
    async fn get(
        &self,
        context: CallContext,
        request: wire::GetSchemaRequest,
    ) -> Result<wire::GetSchemaResponse, Failure> {
        let (graph, at) = wire::GetSchemaRequest::from_wire(request)?;
        let schema = run::on_graph(&self.engine, &context, &graph, GetSchema { at }).await?;
        Ok(wire::GetSchemaResponse::to_wire(schema))
    }

    /// Every page is of the commit of the first, which the token names beside the type that the page follows.
    async fn tables(
        &self,
        context: CallContext,
        request: wire::ListTablesRequest,
    ) -> Result<wire::ListTablesResponse, Failure> {
        let (graph, list) = wire::ListTablesRequest::from_wire(request)?;
        let (at, named) = (format!("{:?}", list.at), format!("{:?}", list.types));
        let scope = PageScope { call: context.call_name(), fields: &[graph.as_str(), &at, &named] };
        let page = OpenPage::open(scope, &list.page, self.engine.limits())?;
        let (at, after) = match page.cursor().and_then(|cursor| cursor.split_once(' ')) {
            Some((commit, type_name)) => (ReadAt::Commit(commit_id("page_token", commit)?), Some(type_name.to_owned())),
            None => (list.at, None),
        };
        let snapshot = run::on_graph(&self.engine, &context, &graph, PinCommit { at }).await?;
        let tables = ListTables { types: list.types, after, most: page.most() };
        let tables = snapshot.run(&run::caller(&context), tables).await?;
        let commit = snapshot.commit().clone();
        let page = page.close(tables, |table| format!("{} {}", commit.id, table.type_name));
        Ok(wire::ListTablesResponse::to_wire(TablePage { page, commit }))
    }
}
