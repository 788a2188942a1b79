//! Bulk loads: rows as Arrow batches over Flight DoPut, or NDJSON text over LoadRows. However many rows, one commit or none.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::{FlightData, FlightDescriptor, PutResult};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::IpcWriteOptions;
use bytes::Bytes;
use futures::{FutureExt, StreamExt, TryStreamExt};
use omnigraph_types::{
    BranchName, Capture, Commit, CommitId, Effect, Failure, GraphName, LoadMode, LoadRequest, OnConflict, OperationId,
    Problem, TypeLoad, TypeLoadAnswer, WriteMode, WriteOptions, WriteReceipt,
};
use omnigraph_wire::v1::load_service_client::LoadServiceClient;
use omnigraph_wire::{AnswerCodec, RequestCodec, v1};
use prost::Message;
use tonic::transport::Channel;

use crate::client::Client;
use crate::deadline::{Deadline, Timeout};
use crate::error::ClientError;
use crate::scan::flight;
use crate::upload::{Answers, Upload};

/// Target size of a message of rows; larger batches are split. Far below what a server takes.
const MESSAGE_BYTES_TARGET: usize = 4 * 1024 * 1024;
/// Largest piece of NDJSON text in a message; larger ones are split.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// What an `Any` around the load command says it holds.
const LOAD_COMMAND_URL: &str = "type.googleapis.com/omnigraph.v1.LoadCommand";

/// How rows are compressed. Compression costs time on both ends and pays on slow networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
}

/// Where rows go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadTarget {
    /// The graph.
    pub graph: GraphName,
    /// The branch.
    pub branch: BranchName,
    /// The node or edge type.
    pub type_name: String,
}

/// How a load is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadOptions {
    /// What to do with ids that exist.
    pub mode: LoadMode,
    /// The idempotency key. Keep it to send the load again.
    pub operation_id: OperationId,
    /// Run only if the branch's head is still this commit.
    pub expected_head: Option<CommitId>,
    /// What to do if another writer came first.
    pub on_conflict: OnConflict,
    /// Whether the commit that an overwrite replaces is reported before the load ends: see [`Loader::captured`].
    pub capture: Capture,
    /// Whether to commit.
    pub write_mode: WriteMode,
    /// How rows are compressed.
    pub compression: Compression,
    /// How long the load may take in all.
    pub timeout: Timeout,
}

impl LoadOptions {
    /// A load of this mode under a fresh operation id, everything else as usual.
    pub fn new(mode: LoadMode) -> Self {
        Self {
            mode,
            operation_id: Client::mint_operation_id(),
            expected_head: None,
            on_conflict: OnConflict::default(),
            capture: Capture::default(),
            write_mode: WriteMode::default(),
            compression: Compression::default(),
            timeout: Timeout::default(),
        }
    }

    fn request(&self, branch: BranchName) -> LoadRequest {
        let options = WriteOptions {
            operation_id: Some(self.operation_id),
            expected_head: self.expected_head,
            on_conflict: self.on_conflict,
            mode: self.write_mode,
        };
        LoadRequest { branch, mode: self.mode, options }
    }
}

fn service(client: &Client) -> LoadServiceClient<Channel> {
    let bytes = client.options().message_bytes_max;
    LoadServiceClient::new(client.channel()).max_decoding_message_size(bytes).max_encoding_message_size(bytes)
}

impl Client {
    /// Opens a load of rows with this schema into one type. Nothing is stored before [`Loader::finish`]; dropping the loader abandons it.
    ///
    /// Columns are the type's properties by name, `id` where the caller chooses ids, `src` and `dst` for edges. The server casts where no
    /// value changes.
    pub async fn load(
        &self,
        target: LoadTarget,
        schema: SchemaRef,
        options: LoadOptions,
    ) -> Result<Loader, ClientError> {
        let operation_id = options.operation_id;
        let encoder = RowEncoder::new(schema, &options)?;
        let mut flight = flight(self);
        let mut upload = Upload::open(Deadline::after(options.timeout), move |request| async move {
            let answers = flight.do_put(request).await?.into_inner();
            Ok(answers.boxed() as Answers<PutResult>)
        });
        upload.send(encoder.opening(&target, &options)?).await?;
        Ok(Loader { upload, encoder, operation_id, message_bytes_max: self.options().message_bytes_max })
    }

    /// Opens a load of NDJSON text, in which types may be mixed. Nothing is stored before [`NdjsonLoader::finish`].
    pub async fn load_ndjson(
        &self,
        graph: &GraphName,
        branch: &BranchName,
        options: LoadOptions,
    ) -> Result<NdjsonLoader, ClientError> {
        let header = v1::LoadRowsHeader::to_wire((graph.clone(), options.request(branch.clone())));
        let mut service = service(self);
        let mut upload = Upload::open(Deadline::after(options.timeout), move |request| async move {
            let response = service.load_rows(request).await?.into_inner();
            Ok(futures::stream::once(async { Ok(response) }).boxed() as Answers<v1::LoadRowsResponse>)
        });
        let part = v1::load_rows_request::Part::Header(header);
        upload.send(v1::LoadRowsRequest { part: Some(part) }).await?;
        Ok(NdjsonLoader { upload, operation_id: options.operation_id })
    }
}

/// A load of rows of one type.
pub struct Loader {
    upload: Upload<FlightData, PutResult>,
    encoder: RowEncoder,
    operation_id: OperationId,
    message_bytes_max: usize,
}

/// A row that no message can hold.
fn too_large(asked: u64, value: u64) -> ClientError {
    let limit = "message_bytes_max".to_owned();
    let message =
        format!("a message of {asked} bytes is longer than {limit}, {value}: send smaller batches, or smaller values");
    ClientError::Failed(Box::new(Failure::new(Problem::ResourceLimit { limit, value, asked }, message)))
}

impl Loader {
    /// The operation: send the load again under this id if its outcome is not known.
    pub fn operation_id(&self) -> OperationId {
        self.operation_id
    }

    /// Sends rows, waiting while the server is busy. Fails as soon as the server refuses the load.
    pub async fn write(&mut self, batch: RecordBatch) -> Result<(), ClientError> {
        for message in self.encoder.encode(batch)? {
            // Tonic would end the call without the reason.
            let (asked, value) = (message.encoded_len() as u64, self.message_bytes_max as u64);
            if asked > value {
                return Err(too_large(asked, value));
            }
            self.upload.send(message).await?;
        }
        Ok(())
    }

    /// The commit that an overwrite replaces, requested with [`Capture::Wanted`]; it is returned once.
    pub async fn captured(&mut self) -> Result<Commit, ClientError> {
        let answer = present(self.upload.next_answer().await?, "the load ended without reporting its base")?;
        match decode_result(&answer)? {
            TypeLoadAnswer::Capture(commit) => Ok(commit),
            TypeLoadAnswer::Receipt(_) => {
                Err(ClientError::Answer { what: "the load's first answer does not report its base" })
            }
        }
    }

    /// Ends the load: the server validates all rows and makes the one commit.
    pub async fn finish(mut self) -> Result<WriteReceipt, ClientError> {
        self.upload.send(end_mark()).await?;
        self.upload.end().await?;
        let mut last = None;
        while let Some(answer) = self.upload.next_answer().await? {
            match decode_result(&answer)? {
                TypeLoadAnswer::Capture(_) => {}
                TypeLoadAnswer::Receipt(receipt) => last = Some(receipt),
            }
        }
        present(last, "the load ended without a receipt")
    }

    /// Abandons the load: nothing is stored.
    pub async fn abort(self) {
        self.upload.abort().await;
    }
}

fn decode_result(answer: &PutResult) -> Result<TypeLoadAnswer, ClientError> {
    let result = v1::LoadResult::decode(answer.app_metadata.clone());
    let result = result.map_err(|_| ClientError::Answer { what: "an answer of the load" })?;
    Ok(v1::LoadResult::from_wire(result)?)
}

/// The message that marks the end of the stream as meant: without it the server stores nothing.
fn end_mark() -> FlightData {
    FlightData { app_metadata: Bytes::from_static(b"end"), ..FlightData::default() }
}

/// A value that the contract requires.
fn present<T>(value: Option<T>, what: &'static str) -> Result<T, ClientError> {
    value.ok_or(ClientError::Answer { what })
}

/// A load of NDJSON text.
pub struct NdjsonLoader {
    upload: Upload<v1::LoadRowsRequest, v1::LoadRowsResponse>,
    operation_id: OperationId,
}

impl NdjsonLoader {
    /// The operation: send the load again under this id if its outcome is not known.
    pub fn operation_id(&self) -> OperationId {
        self.operation_id
    }

    /// Sends text; lines may span calls. Fails as soon as the server refuses the load.
    pub async fn write(&mut self, mut text: Bytes) -> Result<(), ClientError> {
        while !text.is_empty() {
            let data = text.split_to(text.len().min(TEXT_BYTES_MAX));
            let part = v1::load_rows_request::Part::Data(data);
            self.upload.send(v1::LoadRowsRequest { part: Some(part) }).await?;
        }
        Ok(())
    }

    /// Ends the load: the server validates all rows and makes the one commit.
    pub async fn finish(mut self) -> Result<WriteReceipt, ClientError> {
        self.upload.end().await?;
        let response = present(self.upload.next_answer().await?, "the load ended without a receipt")?;
        Ok(v1::LoadRowsResponse::from_wire(response)?.receipt)
    }

    /// Abandons the load: nothing is stored.
    pub async fn abort(self) {
        self.upload.abort().await;
    }
}

/// Rows to Flight messages. The schema and the command travel once, in the opening message.
struct RowEncoder {
    schema: SchemaRef,
    options: IpcWriteOptions,
}

impl RowEncoder {
    fn new(schema: SchemaRef, options: &LoadOptions) -> Result<Self, ClientError> {
        let compression = match options.compression {
            Compression::None => None,
            Compression::Lz4 => Some(CompressionType::LZ4_FRAME),
            Compression::Zstd => Some(CompressionType::ZSTD),
        };
        let options = IpcWriteOptions::default()
            .try_with_compression(compression)
            .map_err(|source| ClientError::Arrow { what: "compress rows", source })?;
        Ok(Self { schema, options })
    }

    /// The first message: schema and command, no rows.
    fn opening(&self, target: &LoadTarget, options: &LoadOptions) -> Result<FlightData, ClientError> {
        let load = options.request(target.branch.clone());
        let put = TypeLoad { type_name: target.type_name.clone(), load, capture: options.capture };
        let command = v1::LoadCommand::to_wire((target.graph.clone(), put));
        let any = prost_types::Any { type_url: LOAD_COMMAND_URL.to_owned(), value: command.encode_to_vec() };
        let descriptor = FlightDescriptor::new_cmd(any.encode_to_vec());
        let first = self.messages(Some(descriptor), Vec::new())?.into_iter().next();
        present(first, "the schema of the rows was not encoded")
    }

    /// The messages of a batch's rows.
    fn encode(&self, batch: RecordBatch) -> Result<Vec<FlightData>, ClientError> {
        if batch.schema_ref().fields() != self.schema.fields() {
            let text = format!(
                "a batch has columns {:?}, and the load {:?}",
                batch.schema_ref().fields(),
                self.schema.fields()
            );
            return Err(ClientError::Arrow { what: "encode rows", source: ArrowError::SchemaError(text) });
        }
        let mut messages = self.messages(None, vec![Ok(batch)])?;
        // The schema was sent by the opening message.
        messages.drain(..messages.len().min(1));
        Ok(messages)
    }

    fn messages(
        &self,
        descriptor: Option<FlightDescriptor>,
        batches: Vec<Result<RecordBatch, FlightError>>,
    ) -> Result<Vec<FlightData>, ClientError> {
        let encoder = FlightDataEncoderBuilder::new()
            .with_schema(Arc::clone(&self.schema))
            .with_options(self.options.clone())
            .with_max_flight_data_size(MESSAGE_BYTES_TARGET)
            .with_flight_descriptor(descriptor)
            .build(futures::stream::iter(batches));
        // The encoder waits for nothing but its input, which is here.
        present(encoder.try_collect().now_or_never(), "rows were not encoded at once")?
            .map_err(|error| ClientError::from_flight(error, Effect::None, Deadline::Server))
    }
}

#[cfg(test)]
mod tests;
