//! LoadService: rows as NDJSON text in one call.
//!
//! Invariant: the rows become visible only if the request body is complete (`WholeBody`); dropping the call before drops the load.

use bytes::Bytes;
use omnigraph_call::{CallContext, ClientStream, answer, decline};
use omnigraph_engine::Engine;
use omnigraph_flight::run;
use omnigraph_types::{Failure, LoadedRows};
use omnigraph_wire::codec::invalid;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::load_rows_request::Part;
use omnigraph_wire::v1::load_service_server::LoadService;
use omnigraph_wire::{AnswerCodec, RequestCodec};
use tonic::{Request, Response, Status, Streaming, async_trait};

use super::FEATURES_LISTED;

/// The service over one engine.
#[derive(Debug, Clone)]
pub(crate) struct Loads {
    engine: Engine,
}

impl Loads {
    /// The service of an engine.
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine }
    }
}

#[async_trait]
impl LoadService for Loads {
    async fn load_rows(
        &self,
        request: Request<Streaming<wire::LoadRowsRequest>>,
    ) -> Result<Response<wire::LoadRowsResponse>, Status> {
        answer(request, |context, message| self.rows(context, message)).await
    }

    async fn begin_load(
        &self,
        request: Request<wire::BeginLoadRequest>,
    ) -> Result<Response<wire::BeginLoadResponse>, Status> {
        decline(&request, FEATURES_LISTED)
    }

    async fn upload_part(
        &self,
        request: Request<Streaming<wire::UploadPartRequest>>,
    ) -> Result<Response<wire::UploadPartResponse>, Status> {
        decline(&request, FEATURES_LISTED)
    }

    async fn commit_load(
        &self,
        request: Request<wire::CommitLoadRequest>,
    ) -> Result<Response<wire::CommitLoadResponse>, Status> {
        decline(&request, FEATURES_LISTED)
    }

    async fn abort_load(
        &self,
        request: Request<wire::AbortLoadRequest>,
    ) -> Result<Response<wire::AbortLoadResponse>, Status> {
        decline(&request, FEATURES_LISTED)
    }

    async fn get_load(
        &self,
        request: Request<wire::GetLoadRequest>,
    ) -> Result<Response<wire::GetLoadResponse>, Status> {
        decline(&request, FEATURES_LISTED)
    }
}

fn header(first: Option<wire::LoadRowsRequest>) -> Result<wire::LoadRowsHeader, Failure> {
    match first.map(part_of).transpose()? {
        Some(Part::Header(header)) => Ok(header),
        Some(Part::Data(_)) | None => {
            Err(invalid("header", "the stream does not begin with a header: send graph, branch and mode first"))
        }
    }
}

fn data(message: wire::LoadRowsRequest) -> Result<Bytes, Failure> {
    match part_of(message)? {
        Part::Data(data) => Ok(data),
        Part::Header(_) => Err(invalid("header", "the stream has a second header: send one, then data only")),
    }
}

fn part_of(message: wire::LoadRowsRequest) -> Result<Part, Failure> {
    message.part.ok_or_else(|| invalid("part", "a message of the stream has no part: set header or data"))
}

impl Loads {
    async fn rows(
        &self,
        context: CallContext,
        stream: Streaming<wire::LoadRowsRequest>,
    ) -> Result<wire::LoadRowsResponse, Failure> {
        let mut stream = ClientStream::new(stream, context.clone());
        let first = run::first_of_stream(&mut stream).await?;
        let (graph, request) = wire::LoadRowsHeader::from_wire(header(first)?)?;
        let mut load = run::begin_load(&self.engine, &context, &graph, request).await?;
        let mut bytes_read = 0_u64;
        while let Some(message) = run::next_of_load(&mut stream, &mut load).await? {
            let data = data(message)?;
            bytes_read += data.len() as u64;
            load.write_ndjson(&data).await?;
        }
        let receipt = run::finish_load(load, stream.require_whole()?).await?;
        Ok(wire::LoadRowsResponse::to_wire(LoadedRows { receipt, bytes_read }))
    }
}
