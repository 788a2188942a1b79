//! The graph of airports, and short words for what tests do with it.

use std::collections::BTreeMap;

use futures::TryStreamExt;
use omnigraph_client::{
    Client, ClientError, ClientOptions, Columns, CreateGraph, LoadMode, LoadOptions, ReadAt, RetryPolicy, TypeScan,
    WriteReceipt,
};
use omnigraph_types::{BranchName, CommitId, Failure, GraphName};
use omnigraph_wire::v1::ErrorReason;

use super::{Server, workspace};

/// The graph that `airline` makes.
pub(crate) const GRAPH: &str = "g";

pub(crate) fn graph_name() -> GraphName {
    GRAPH.parse().unwrap()
}

pub(crate) fn main_branch() -> ReadAt {
    ReadAt::Branch(BranchName::Main)
}

/// A client that resends no request by itself, so that a test sees every answer.
pub(crate) async fn client(server: &Server) -> Client {
    let options = ClientOptions { retry: RetryPolicy::never(), ..ClientOptions::default() };
    Client::connect_with(&server.url, options).await.unwrap()
}

/// Makes graph `g` with the schema of airports, routes and flights.
pub(crate) async fn airline(client: &Client) {
    create(client, &std::fs::read_to_string(workspace().join("tests/data/airline.pg")).unwrap()).await;
}

/// Makes graph `g` with this schema.
pub(crate) async fn create(client: &Client, schema: &str) {
    client.create_graph(CreateGraph::new(graph_name(), schema)).await.unwrap();
}

/// The failure that the server answered with.
pub(crate) fn refused<T: std::fmt::Debug>(answer: Result<T, ClientError>) -> Failure {
    match answer {
        Err(ClientError::Failed(failure)) => *failure,
        other => panic!("the server should have refused, and {other:?}"),
    }
}

/// The failure's reason in the contract.
pub(crate) fn reason(failure: &Failure) -> ErrorReason {
    let status = omnigraph_wire::to_status(failure);
    let name = status.metadata().get(omnigraph_wire::REASON_TRAILER).unwrap().to_str().unwrap();
    ErrorReason::from_str_name(&format!("ERROR_REASON_{name}")).unwrap()
}

/// The head of `main`.
pub(crate) async fn head(client: &Client) -> CommitId {
    client.get_graph(&graph_name()).await.unwrap().head
}

/// Loads NDJSON text into `main`.
pub(crate) async fn ndjson(client: &Client, options: LoadOptions, text: &str) -> Result<WriteReceipt, ClientError> {
    ndjson_on(client, &BranchName::Main, options, text).await
}

/// Loads NDJSON text into a branch.
pub(crate) async fn ndjson_on(
    client: &Client,
    branch: &BranchName,
    options: LoadOptions,
    text: &str,
) -> Result<WriteReceipt, ClientError> {
    let mut loader = client.load_ndjson(&graph_name(), branch, options).await?;
    loader.write(text.to_owned().into()).await?;
    loader.finish().await
}

/// Appends NDJSON text to `main`.
pub(crate) async fn append(client: &Client, text: &str) -> Result<WriteReceipt, ClientError> {
    ndjson(client, LoadOptions::new(LoadMode::Append), text).await
}

/// Rows of each of these types at the head of `main`.
pub(crate) async fn rows(client: &Client, types: &[&str]) -> BTreeMap<String, usize> {
    rows_at(client, main_branch(), types).await
}

/// Rows of each of these types in a state.
pub(crate) async fn rows_at(client: &Client, at: ReadAt, types: &[&str]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for name in types {
        let columns = Columns::Named(vec!["id".to_owned()]);
        let scan = TypeScan { at: at.clone(), type_name: (*name).to_owned(), columns };
        let batches: Vec<_> =
            client.scan_type(&graph_name(), &scan).await.unwrap().batches.try_collect().await.unwrap();
        counts.insert((*name).to_owned(), batches.iter().map(arrow::array::RecordBatch::num_rows).sum());
    }
    counts
}
