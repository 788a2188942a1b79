//! `graph.proto`: graphs.

use omnigraph_types::{
    CreateGraph, DeleteGraph, Failure, GraphInfo, GraphName, GraphReceipt, OperationId, Page, PageRequest,
};

use super::common::{receipt_from_wire, receipt_to_wire, write_mode_from_wire, write_mode_to_wire};
use super::field::{all, decoded, each, graph_name, moment, optional_operation_id, parsed, text, timestamp};
use super::message::{AnswerCodec, MalformedAnswer, RequestCodec};
use crate::ResourceName;
use crate::v1;

impl AnswerCodec for v1::Graph {
    type Value = GraphInfo;

    fn to_wire(graph: GraphInfo) -> Self {
        Self {
            name: ResourceName::Graph(graph.name.clone()).to_string(),
            graph: graph.name.into(),
            graph_id: graph.id.to_string(),
            create_time: Some(timestamp(graph.created_ms)),
            head: graph.head.to_string(),
            schema_hash: graph.schema_hash,
            storage_format: graph.storage_format,
        }
    }

    fn from_wire(graph: Self) -> Result<GraphInfo, MalformedAnswer> {
        Ok(GraphInfo {
            name: parsed("Graph.graph", &graph.graph)?,
            id: parsed("Graph.graph_id", &graph.graph_id)?,
            created_ms: moment("Graph.create_time", graph.create_time)?,
            head: parsed("Graph.head", &graph.head)?,
            schema_hash: graph.schema_hash,
            storage_format: graph.storage_format,
        })
    }
}

impl RequestCodec for v1::CreateGraphRequest {
    type Value = CreateGraph;

    fn to_wire(create: CreateGraph) -> Self {
        Self {
            graph: create.name.into(),
            schema: create.schema_source,
            operation_id: text(create.operation_id),
            validate_only: write_mode_to_wire(create.mode),
        }
    }

    fn from_wire(request: Self) -> Result<CreateGraph, Failure> {
        Ok(CreateGraph {
            name: graph_name("graph", &request.graph)?,
            schema_source: request.schema,
            operation_id: optional_operation_id(&request.operation_id)?,
            mode: write_mode_from_wire(request.validate_only),
        })
    }
}

impl AnswerCodec for v1::CreateGraphResponse {
    type Value = GraphReceipt;

    fn to_wire(receipt: GraphReceipt) -> Self {
        Self { graph: receipt.graph.map(v1::Graph::to_wire), receipt: Some(receipt_to_wire(receipt.receipt)) }
    }

    fn from_wire(response: Self) -> Result<GraphReceipt, MalformedAnswer> {
        Ok(GraphReceipt {
            graph: response.graph.map(v1::Graph::from_wire).transpose()?,
            receipt: receipt_from_wire("CreateGraphResponse.receipt", response.receipt, 0)?,
        })
    }
}

impl RequestCodec for v1::GetGraphRequest {
    type Value = GraphName;

    fn to_wire(graph: GraphName) -> Self {
        Self { graph: graph.into() }
    }

    fn from_wire(request: Self) -> Result<GraphName, Failure> {
        graph_name("graph", &request.graph)
    }
}

impl AnswerCodec for v1::GetGraphResponse {
    type Value = GraphInfo;

    fn to_wire(graph: GraphInfo) -> Self {
        Self { graph: Some(v1::Graph::to_wire(graph)) }
    }

    fn from_wire(response: Self) -> Result<GraphInfo, MalformedAnswer> {
        decoded("GetGraphResponse.graph", response.graph)
    }
}

impl RequestCodec for v1::ListGraphsRequest {
    type Value = PageRequest;

    fn to_wire(page: PageRequest) -> Self {
        Self { page_size: page.size, page_token: page.token }
    }

    fn from_wire(request: Self) -> Result<PageRequest, Failure> {
        Ok(PageRequest { size: request.page_size, token: request.page_token })
    }
}

impl AnswerCodec for v1::ListGraphsResponse {
    type Value = Page<GraphInfo>;

    fn to_wire(page: Page<GraphInfo>) -> Self {
        Self { graphs: each(page.items), next_page_token: page.next }
    }

    fn from_wire(response: Self) -> Result<Page<GraphInfo>, MalformedAnswer> {
        Ok(Page { items: all(response.graphs)?, next: response.next_page_token })
    }
}

impl RequestCodec for v1::DeleteGraphRequest {
    type Value = DeleteGraph;

    fn to_wire(delete: DeleteGraph) -> Self {
        Self {
            graph: delete.name.into(),
            confirm: delete.confirm,
            operation_id: text(delete.operation_id),
            validate_only: write_mode_to_wire(delete.mode),
        }
    }

    fn from_wire(request: Self) -> Result<DeleteGraph, Failure> {
        Ok(DeleteGraph {
            name: graph_name("graph", &request.graph)?,
            confirm: request.confirm,
            operation_id: optional_operation_id(&request.operation_id)?,
            mode: write_mode_from_wire(request.validate_only),
        })
    }
}

impl AnswerCodec for v1::DeleteGraphResponse {
    type Value = OperationId;

    fn to_wire(operation_id: OperationId) -> Self {
        Self { operation_id: operation_id.to_string() }
    }

    fn from_wire(response: Self) -> Result<OperationId, MalformedAnswer> {
        parsed("DeleteGraphResponse.operation_id", &response.operation_id)
    }
}
