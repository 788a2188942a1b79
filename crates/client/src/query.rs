//! Queries: results as Arrow batches, or as typed rows for callers without Arrow.

use std::collections::VecDeque;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow_ipc::reader::StreamDecoder;
use futures::StreamExt;
use futures::stream::BoxStream;
use omnigraph_types::{Effect, GraphName};
use omnigraph_wire::v1;
use omnigraph_wire::v1::query_response::Part;
use omnigraph_wire::v1::query_service_client::QueryServiceClient;
use tonic::Streaming;

use crate::client::limited;
use crate::model::present;
use crate::options::Deadline;
use crate::{BatchStream, Client, ClientError, Commit, ReadAt, Value};

/// Which query of a text runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum QueryName {
    /// The only one.
    #[default]
    Only,
    /// The one of this name.
    Named(String),
}

/// A query to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The graph.
    pub graph: GraphName,
    /// The state that it sees.
    pub at: ReadAt,
    /// One or more queries.
    pub text: String,
    /// Which of them runs.
    pub name: QueryName,
    /// The parameters as a JSON object.
    pub params_json: String,
}

impl Query {
    /// The only query of a text, without parameters, on the head of a branch or on a commit.
    pub fn new(graph: GraphName, at: ReadAt, text: impl Into<String>) -> Self {
        Self { graph, at, text: text.into(), name: QueryName::Only, params_json: "{}".to_owned() }
    }

    fn to_wire(&self, format: v1::ResultFormat) -> v1::QueryRequest {
        v1::QueryRequest {
            graph: self.graph.to_string(),
            at: Some(self.at.to_wire()),
            query: self.text.clone(),
            query_name: match &self.name {
                QueryName::Only => String::new(),
                QueryName::Named(name) => name.clone(),
            },
            params_json: self.params_json.clone(),
            format: format.into(),
        }
    }
}

/// A result as Arrow batches. It is whole when the stream ends without an error.
pub struct QueryResult {
    /// The commit that it is served from.
    pub commit: Commit,
    /// The query that ran.
    pub query_name: String,
    /// The columns; there also where no row is.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: BatchStream,
}

/// One row: a value for each column.
pub type Row = Vec<Value>;

/// A result as typed rows. It is whole when the stream ends without an error.
pub struct RowResult {
    /// The commit that it is served from.
    pub commit: Commit,
    /// The query that ran.
    pub query_name: String,
    /// The columns, as the contract of the API describes them.
    pub columns: Vec<v1::Column>,
    /// The rows.
    pub rows: BoxStream<'static, Result<Row, ClientError>>,
}

impl Client {
    /// Runs a query. Begun again where a failure before the first row says that helps.
    pub async fn query(&self, query: &Query) -> Result<QueryResult, ClientError> {
        let (header, mut parts) = self.open(query, v1::ResultFormat::ArrowIpc).await?;
        let mut decoder = ArrowDecoder::default();
        while decoder.stream.schema().is_none() {
            let bytes = match parts.next().await? {
                Some(Part::ArrowIpc(bytes)) => bytes,
                Some(_) => return Err(ClientError::Answer { what: "a result that is not Arrow" }),
                None => return Err(ClientError::Answer { what: "a result without a schema" }),
            };
            decoder.feed(bytes)?;
        }
        let schema = present(decoder.stream.schema(), "a result without a schema")?;
        let batches = futures::stream::try_unfold((decoder, parts), |(mut decoder, mut parts)| async move {
            loop {
                if let Some(batch) = decoder.batches.pop_front() {
                    return Ok(Some((batch, (decoder, parts))));
                }
                match parts.next().await? {
                    Some(Part::ArrowIpc(bytes)) => decoder.feed(bytes)?,
                    Some(_) => return Err(ClientError::Answer { what: "a result that is not Arrow" }),
                    None => return decoder.finish().map(|()| None),
                }
            }
        });
        Ok(QueryResult {
            commit: Commit::expected(header.commit)?,
            query_name: header.query_name,
            schema,
            batches: batches.boxed(),
        })
    }

    /// Runs a query and yields typed rows.
    pub async fn query_rows(&self, query: &Query) -> Result<RowResult, ClientError> {
        let (header, parts) = self.open(query, v1::ResultFormat::Rows).await?;
        let begin = (VecDeque::<v1::Row>::new(), parts);
        let rows = futures::stream::try_unfold(begin, |(mut rows, mut parts)| async move {
            loop {
                if let Some(row) = rows.pop_front() {
                    let row: Row = row.values.into_iter().map(Value::from_wire).collect::<Result<_, _>>()?;
                    return Ok(Some((row, (rows, parts))));
                }
                match parts.next().await? {
                    Some(Part::Rows(chunk)) => rows.extend(chunk.rows),
                    Some(_) => return Err(ClientError::Answer { what: "a result that is not rows" }),
                    None => return Ok(None),
                }
            }
        });
        Ok(RowResult {
            commit: Commit::expected(header.commit)?,
            query_name: header.query_name,
            columns: header.columns,
            rows: rows.boxed(),
        })
    }

    /// Sends a query and reads its header.
    async fn open(
        &self,
        query: &Query,
        format: v1::ResultFormat,
    ) -> Result<(v1::QueryHeader, ResultParts), ClientError> {
        let deadline = Deadline::after(self.options().timeout);
        let message = query.to_wire(format);
        self.retrying(deadline, || {
            let request = deadline.request(message.clone());
            let mut service = limited!(self, QueryServiceClient);
            async move {
                let response = service.query(request).await;
                let stream = response.map_err(|status| ClientError::from_status(status, Effect::None, deadline))?;
                let mut parts = ResultParts { stream: stream.into_inner(), deadline };
                match parts.next().await? {
                    Some(Part::Header(header)) => Ok((header, parts)),
                    Some(_) | None => Err(ClientError::Answer { what: "a result without a header" }),
                }
            }
        })
        .await
    }
}

/// The parts of a result.
struct ResultParts {
    stream: Streaming<v1::QueryResponse>,
    deadline: Deadline,
}

impl ResultParts {
    async fn next(&mut self) -> Result<Option<Part>, ClientError> {
        let message = self.stream.message().await;
        match message.map_err(|status| ClientError::from_status(status, Effect::None, self.deadline))? {
            Some(response) => present(response.part, "an empty part of a result").map(Some),
            None => Ok(None),
        }
    }
}

/// Pieces of an Arrow stream to batches.
#[derive(Default)]
struct ArrowDecoder {
    stream: StreamDecoder,
    batches: VecDeque<RecordBatch>,
}

impl ArrowDecoder {
    fn feed(&mut self, bytes: bytes::Bytes) -> Result<(), ClientError> {
        let mut buffer = Buffer::from(bytes);
        while !buffer.is_empty() {
            self.batches.extend(self.stream.decode(&mut buffer).map_err(decode)?);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), ClientError> {
        self.stream.finish().map_err(decode)
    }
}

fn decode(source: ArrowError) -> ClientError {
    ClientError::Arrow { what: "decode rows", source }
}
