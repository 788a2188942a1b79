//! A client's stream of messages, each awaited for as long as the idle timeout allows.

use std::time::Duration;

use omnigraph_types::{Failure, Limits};
use tonic::{Code, Status, Streaming};

use crate::body_state::{BodyState, WholeBody};
use crate::context::CallContext;
use crate::fault::CallFault;

/// The messages that a client streams.
#[derive(Debug)]
pub struct ClientStream<T> {
    stream: Streaming<T>,
    context: CallContext,
    idle_timeout_ms: u64,
}

impl<T> ClientStream<T> {
    /// The stream of the call that `context` belongs to.
    pub fn new(stream: Streaming<T>, context: CallContext, limits: &Limits) -> Self {
        Self { stream, context, idle_timeout_ms: limits.stream_idle_timeout_ms }
    }

    /// The next message, or none at the end of the stream. That end proves nothing: `require_whole` does.
    pub async fn next(&mut self) -> Result<Option<T>, Failure> {
        match tokio::time::timeout(Duration::from_millis(self.idle_timeout_ms), self.stream.message()).await {
            Ok(Ok(message)) => Ok(message),
            Ok(Err(status)) => Err(stream_failure(&status, self.context.body())),
            Err(_) => Err(CallFault::Idle { timeout_ms: self.idle_timeout_ms }.failure()),
        }
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
