//! LoadService: rows as NDJSON text in one call.
//!
//! Invariant: the rows become visible only if the request body came whole (`WholeBody`); dropping the call before drops the load.

use std::time::Duration;

use bytes::Bytes;
use omnigraph_engine::LoadRequest;
use omnigraph_flight::convert::invalid;
use omnigraph_flight::{CallContext, FlightFault, convert, refuse, stream_failure};
use omnigraph_types::Failure;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::load_rows_request::Part;
use omnigraph_wire::v1::load_service_server::LoadService;
use tonic::{Request, Response, Status, Streaming, async_trait};

use super::{Api, refuse_call};

#[async_trait]
impl LoadService for Api {
    async fn load_rows(
        &self,
        request: Request<Streaming<wire::LoadRowsRequest>>,
    ) -> Result<Response<wire::LoadRowsResponse>, Status> {
        self.rows(request).await.map(Response::new).map_err(refuse)
    }

    async fn begin_load(
        &self,
        _: Request<wire::BeginLoadRequest>,
    ) -> Result<Response<wire::BeginLoadResponse>, Status> {
        refuse_call("BeginLoad")
    }

    async fn upload_part(
        &self,
        _: Request<Streaming<wire::UploadPartRequest>>,
    ) -> Result<Response<wire::UploadPartResponse>, Status> {
        refuse_call("UploadPart")
    }

    async fn commit_load(
        &self,
        _: Request<wire::CommitLoadRequest>,
    ) -> Result<Response<wire::CommitLoadResponse>, Status> {
        refuse_call("CommitLoad")
    }

    async fn abort_load(
        &self,
        _: Request<wire::AbortLoadRequest>,
    ) -> Result<Response<wire::AbortLoadResponse>, Status> {
        refuse_call("AbortLoad")
    }

    async fn get_load(&self, _: Request<wire::GetLoadRequest>) -> Result<Response<wire::GetLoadResponse>, Status> {
        refuse_call("GetLoad")
    }
}

/// The parts of the client's stream, each awaited for so long as the idle timeout allows.
struct Parts {
    stream: Streaming<wire::LoadRowsRequest>,
    context: CallContext,
    idle_ms: u64,
}

impl Parts {
    /// The next part, or none at the end of the stream; the end is not proof of anything.
    async fn next(&mut self) -> Result<Option<Part>, Failure> {
        let message = match tokio::time::timeout(Duration::from_millis(self.idle_ms), self.stream.message()).await {
            Ok(Ok(message)) => message,
            Ok(Err(status)) => return Err(stream_failure(&status, self.context.body())),
            Err(_) => return Err(FlightFault::Idle { timeout_ms: self.idle_ms }.failure()),
        };
        let Some(message) = message else { return Ok(None) };
        let part =
            message.part.ok_or_else(|| invalid("part", "a message of the stream has no part: set header or data"))?;
        Ok(Some(part))
    }

    async fn header(&mut self) -> Result<wire::LoadRowsHeader, Failure> {
        match self.next().await? {
            Some(Part::Header(header)) => Ok(header),
            Some(Part::Data(_)) | None => {
                Err(invalid("header", "the stream does not begin with a header: send graph, branch and mode first"))
            }
        }
    }

    async fn data(&mut self) -> Result<Option<Bytes>, Failure> {
        match self.next().await? {
            Some(Part::Data(data)) => Ok(Some(data)),
            Some(Part::Header(_)) => Err(invalid("header", "the stream has a second header: send one, then data only")),
            None => Ok(None),
        }
    }
}

impl Api {
    async fn rows(
        &self,
        request: Request<Streaming<wire::LoadRowsRequest>>,
    ) -> Result<wire::LoadRowsResponse, Failure> {
        let context = CallContext::of(&request)?;
        let idle_ms = self.engine.limits().stream_idle_timeout_ms;
        let mut parts = Parts { stream: request.into_inner(), context: context.clone(), idle_ms };
        let header = parts.header().await?;
        let graph = self.graph(&context, &header.graph).await?;
        let mut load = graph.begin_load(load_request(&header, &context)?).await?;
        let (mut bytes_read, mut rows_read) = (0_u64, RowCounter::default());
        while let Some(data) = parts.data().await? {
            bytes_read += data.len() as u64;
            rows_read.read(&data);
            load.write_ndjson(&data).await?;
        }
        let _whole = context.body().require_whole()?;
        context.enter_effect();
        let receipt = load.finish().await?;
        let receipt = Some(convert::load_receipt(graph.name(), &receipt));
        Ok(wire::LoadRowsResponse { receipt, rows_read: rows_read.rows, bytes_read })
    }
}

fn load_request(header: &wire::LoadRowsHeader, context: &CallContext) -> Result<LoadRequest, Failure> {
    Ok(LoadRequest {
        branch: convert::branch_name("header.branch", &header.branch)?,
        mode: convert::load_mode(header.mode)?,
        operation_id: convert::operation_id(&header.operation_id)?,
        expected_head: convert::expected_head(&header.expected_head)?,
        on_conflict: convert::on_conflict(header.on_conflict)?,
        validate_only: convert::validate_only(header.validate_only),
        actor: context.actor().to_owned(),
        deadline: Some(context.deadline()),
    })
}

/// Counts the rows of NDJSON text in any chunking: its lines that are not blank.
#[derive(Debug, Default)]
struct RowCounter {
    rows: u64,
    /// Whether the line so far has been counted.
    counted: bool,
}

impl RowCounter {
    fn read(&mut self, data: &[u8]) {
        for byte in data {
            match byte {
                b'\n' => self.counted = false,
                b' ' | b'\t' | b'\r' => {}
                _ if self.counted => {}
                _ => {
                    self.counted = true;
                    self.rows += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_lines_that_are_not_blank_in_any_chunking() {
        let text = b"{}\n\n \t\r\n {}\r\n{}";
        for size in 1..=text.len() {
            let mut counter = RowCounter::default();
            text.chunks(size).for_each(|chunk| counter.read(chunk));
            assert_eq!(counter.rows, 3, "chunks of {size}");
        }
    }
}
