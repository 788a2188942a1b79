//! A client's stream of messages. How long each may take is the watched body's affair.

use omnigraph_types::Failure;
use tonic::{Code, Status, Streaming};

use crate::body_state::{BodyState, WholeBody};
use crate::context::CallContext;
use crate::fault::CallFault;

/// The messages that a client streams.
#[derive(Debug)]
pub struct ClientStream<T> {
    stream: Streaming<T>,
    context: CallContext,
}

/// What comes next in a client's stream.
#[derive(Debug)]
pub enum Arrival<T> {
    /// A message.
    Message(T),
    /// A message longer than `request_bytes_max` begins. It is read after `ClientStream::admit_long`, once for the whole stream.
    Long,
    /// The end of the stream. It proves nothing: `ClientStream::require_whole` does.
    End,
}

impl<T> ClientStream<T> {
    /// The stream of the call that `context` belongs to.
    pub fn new(stream: Streaming<T>, context: CallContext) -> Self {
        context.body().expect_long();
        Self { stream, context }
    }

    /// What comes next. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Arrival<T>, Failure> {
        let message = tokio::select! {
            biased;
            message = self.stream.message() => message,
            () = self.context.body().long_announced() => return Ok(Arrival::Long),
        };
        match message {
            Ok(message) => Ok(message.map_or(Arrival::End, Arrival::Message)),
            Err(status) => Err(stream_failure(&status, self.context.body())),
        }
    }

    /// Lets long messages in, from now on.
    pub fn admit_long(&self) {
        self.context.body().admit_long();
    }

    /// The proof that the client sent all that it meant to send.
    pub fn require_whole(&self) -> Result<WholeBody, Failure> {
        self.context.body().require_whole()
    }

    /// The context of the call.
    pub fn context(&self) -> &CallContext {
        &self.context
    }
}

/// What the error of a client's message stream means: what the watched body saw, else a message that is not protobuf.
fn stream_failure(status: &Status, body: &BodyState) -> Failure {
    if let Some(fault) = body.fault() {
        return fault.failure();
    }
    match status.code() {
        Code::Cancelled | Code::Unknown | Code::Unavailable => CallFault::Broken.failure(),
        Code::Ok
        | Code::InvalidArgument
        | Code::DeadlineExceeded
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::ResourceExhausted
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Internal
        | Code::DataLoss
        | Code::Unauthenticated => CallFault::Undecodable.failure(),
    }
}
