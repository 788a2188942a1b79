//! Queries: results as Arrow batches, or as typed rows for callers without Arrow.

use std::collections::VecDeque;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow_ipc::reader::StreamDecoder;
use futures::StreamExt;
use futures::stream::BoxStream;
use omnigraph_types::{ColumnInfo, Commit, Effect, GraphName, QueryHeader, QueryName, QueryRequest, ResultFormat};
use omnigraph_wire::v1::query_response::Part;
use omnigraph_wire::v1::query_service_client::QueryServiceClient;
use omnigraph_wire::{AnswerCodec, RequestCodec, v1};
use tonic::Streaming;
use tonic::transport::Channel;

use crate::client::Client;
use crate::deadline::Deadline;
use crate::error::ClientError;
use crate::scan::BatchStream;
use crate::value::Value;

/// A result as Arrow batches. It is whole when the stream ends without an error.
pub struct QueryResult {
    /// The commit that it is served from.
    pub commit: Commit,
    /// The query that ran.
    pub name: QueryName,
    /// The columns; also of a result without rows.
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
    pub name: QueryName,
    /// The columns.
    pub columns: Vec<ColumnInfo>,
    /// The rows.
    pub rows: BoxStream<'static, Result<Row, ClientError>>,
}

fn service(client: &Client) -> QueryServiceClient<Channel> {
    let bytes = client.options().message_bytes_max;
    QueryServiceClient::new(client.channel()).max_decoding_message_size(bytes).max_encoding_message_size(bytes)
}

impl Client {
    /// Runs a query. Begun again where a failure before the first row says that helps.
    pub async fn query(&self, graph: &GraphName, query: &QueryRequest) -> Result<QueryResult, ClientError> {
        let (header, mut parts) = self.open(graph, query, ResultFormat::ArrowIpc).await?;
        let mut decoder = ArrowDecoder::default();
        while decoder.stream.schema().is_none() {
            let bytes = match parts.next().await? {
                Some(Part::ArrowIpc(bytes)) => bytes,
                Some(_) => return Err(ClientError::Answer { what: "a result that is not Arrow" }),
                None => return Err(ClientError::Answer { what: "a result without a schema" }),
            };
            decoder.feed(bytes)?;
        }
        let no_schema = ClientError::Answer { what: "a result without a schema" };
        let schema = decoder.stream.schema().ok_or(no_schema)?;
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
        Ok(QueryResult { commit: header.commit, name: header.name, schema, batches: batches.boxed() })
    }

    /// Runs a query and yields typed rows.
    pub async fn query_rows(&self, graph: &GraphName, query: &QueryRequest) -> Result<RowResult, ClientError> {
        let (header, parts) = self.open(graph, query, ResultFormat::Rows).await?;
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
        Ok(RowResult { commit: header.commit, name: header.name, columns: header.columns, rows: rows.boxed() })
    }

    /// Sends a query and reads its header.
    async fn open(
        &self,
        graph: &GraphName,
        query: &QueryRequest,
        format: ResultFormat,
    ) -> Result<(QueryHeader, ResultParts), ClientError> {
        let deadline = Deadline::after(self.options().timeout);
        let message = v1::QueryRequest::to_wire((graph.clone(), query.clone(), format));
        self.retrying(deadline, || {
            let request = deadline.request(message.clone());
            let mut service = service(self);
            async move {
                let response = service.query(request).await;
                let stream = response.map_err(|status| ClientError::from_status(status, Effect::None, deadline))?;
                let mut parts = ResultParts { stream: stream.into_inner(), deadline };
                match parts.next().await? {
                    Some(Part::Header(header)) => Ok((v1::QueryHeader::from_wire(header)?, parts)),
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
            Some(response) => match response.part {
                Some(part) => Ok(Some(part)),
                None => Err(ClientError::Answer { what: "an empty part of a result" }),
            },
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
