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
use omnigraph_types::{BranchName, CommitId, Effect, Failure, GraphName, OperationId, Problem};
use omnigraph_wire::v1;
use omnigraph_wire::v1::load_service_client::LoadServiceClient;
use prost::Message;

use crate::client::limited;
use crate::model::present;
use crate::options::Deadline;
use crate::upload::{Answers, Upload};
use crate::{Client, ClientError, Commit, Receipt, Timeout};

/// Target size of a message of rows; larger batches are split. Far below what a server takes.
const MESSAGE_BYTES_TARGET: usize = 4 * 1024 * 1024;
/// Largest piece of NDJSON text in a message; larger ones are split.
const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// What an `Any` around the load command says it holds.
const LOAD_COMMAND_URL: &str = "type.googleapis.com/omnigraph.v1.LoadCommand";

/// What a load does with rows whose ids exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoadMode {
    /// Refuses the load.
    Append,
    /// Replaces the whole row.
    Merge,
    /// Replaces all rows of each type that the load holds rows of.
    Overwrite,
}

/// What a write does if another writer came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnConflict {
    /// Appends and merges prepare again, overwrites fail.
    #[default]
    ByMode,
    /// Fail with `ReadSetChanged`.
    Fail,
    /// Prepare again on the new head.
    Retry,
}

/// Whether the commit that an overwrite replaces is told before the load ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Capture {
    /// It is not.
    #[default]
    Silent,
    /// It is: see [`Loader::captured`].
    Told,
}

/// Whether a load commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Purpose {
    /// It does.
    #[default]
    Commit,
    /// Everything is checked and nothing is committed.
    Validate,
}

/// How rows are packed on their way. Packing costs time on both ends and pays on slow networks.
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
    /// Whether to tell the commit that is replaced.
    pub capture: Capture,
    /// Whether to commit.
    pub purpose: Purpose,
    /// How rows are packed.
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
            purpose: Purpose::default(),
            compression: Compression::default(),
            timeout: Timeout::default(),
        }
    }

    fn expected_head_text(&self) -> String {
        self.expected_head.map(|commit| commit.to_string()).unwrap_or_default()
    }
}

impl LoadMode {
    fn to_wire(self) -> v1::LoadMode {
        match self {
            Self::Append => v1::LoadMode::Append,
            Self::Merge => v1::LoadMode::Merge,
            Self::Overwrite => v1::LoadMode::Overwrite,
        }
    }
}

impl OnConflict {
    fn to_wire(self) -> v1::OnConflict {
        match self {
            Self::ByMode => v1::OnConflict::Unspecified,
            Self::Fail => v1::OnConflict::Fail,
            Self::Retry => v1::OnConflict::Retry,
        }
    }
}

impl Client {
    /// Opens a load of rows with this schema into one type. Nothing is stored before [`Loader::finish`]; dropping the loader gives it up.
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
        let mut flight = self.flight();
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
        let header = v1::LoadRowsHeader {
            graph: graph.to_string(),
            branch: branch.to_string(),
            mode: options.mode.to_wire().into(),
            operation_id: options.operation_id.to_string(),
            expected_head: options.expected_head_text(),
            on_conflict: options.on_conflict.to_wire().into(),
            validate_only: options.purpose == Purpose::Validate,
        };
        let mut service = limited!(self, LoadServiceClient);
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
            // Tonic would break the call off in the middle, and nobody would know why.
            let (asked, value) = (message.encoded_len() as u64, self.message_bytes_max as u64);
            if asked > value {
                return Err(too_large(asked, value));
            }
            self.upload.send(message).await?;
        }
        Ok(())
    }

    /// The commit that an overwrite replaces, asked for with [`Capture::Told`]; it can be asked for once.
    pub async fn captured(&mut self) -> Result<Commit, ClientError> {
        let answer = present(self.upload.next_answer().await?, "the load ended without telling its base")?;
        match decode_result(&answer)? {
            v1::load_result::Result::Capture(capture) => Commit::expected(capture.commit),
            _ => Err(ClientError::Answer { what: "the load's first answer does not tell its base" }),
        }
    }

    /// Ends the load: the server validates all rows and makes the one commit.
    pub async fn finish(mut self) -> Result<Receipt, ClientError> {
        self.upload.end().await?;
        let mut receipt = None;
        while let Some(answer) = self.upload.next_answer().await? {
            if let v1::load_result::Result::Receipt(told) = decode_result(&answer)? {
                receipt = Some(Receipt::from_wire(told.receipt, told.rows_read)?);
            }
        }
        present(receipt, "the load ended without a receipt")
    }

    /// Gives the load up: nothing is stored.
    pub async fn abort(self) {
        self.upload.abort().await;
    }
}

fn decode_result(answer: &PutResult) -> Result<v1::load_result::Result, ClientError> {
    let what = "an answer of the load";
    let result = v1::LoadResult::decode(answer.app_metadata.clone()).map_err(|_| ClientError::Answer { what })?;
    present(result.result, what)
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
    pub async fn finish(mut self) -> Result<Receipt, ClientError> {
        self.upload.end().await?;
        let response = present(self.upload.next_answer().await?, "the load ended without a receipt")?;
        Receipt::from_wire(response.receipt, response.rows_read)
    }

    /// Gives the load up: nothing is stored.
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
            .map_err(|source| ClientError::Arrow { what: "pack rows", source })?;
        Ok(Self { schema, options })
    }

    /// The first message: schema and command, no rows.
    fn opening(&self, target: &LoadTarget, options: &LoadOptions) -> Result<FlightData, ClientError> {
        let command = v1::LoadCommand {
            graph: target.graph.to_string(),
            branch: target.branch.to_string(),
            r#type: target.type_name.clone(),
            mode: options.mode.to_wire().into(),
            operation_id: options.operation_id.to_string(),
            expected_head: options.expected_head_text(),
            load_id: String::new(),
            part_id: String::new(),
            want_capture: options.capture == Capture::Told,
            on_conflict: options.on_conflict.to_wire().into(),
            validate_only: options.purpose == Purpose::Validate,
        };
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
