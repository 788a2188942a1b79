//! A request body that is watched: it reports whether it is complete and refuses a message that is too long.
//!
//! Why: tonic swallows a reset by the client (`RST_STREAM` with CANCEL) and hyper one with NO_ERROR; both look like the client's regular
//! end of stream. This body turns every end without the END_STREAM flag into an error, and an end within a message as well. It also reads
//! the length that each message announces, so that the refusal of a long one can state that length. A call's first message has a limit of
//! its own: as many first messages may be collected at once as there may be requests, while long messages belong to the few loads.
//!
//! Invariant: `BodyState::require_whole` succeeds only after the inner body said END_STREAM between two messages.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use omnigraph_types::Limits;
use thiserror::Error;

use crate::body_state::BodyState;
use crate::fault::CallFault;

/// Bytes in front of every gRPC message: a flag and a length.
const PREFIX_BYTES: usize = 5;
const REQUEST_LIMIT: &str = "request_bytes_max";
const MESSAGE_LIMIT: &str = "message_bytes_max";

/// Why the stream of a watched body ends with an error. It has no source on purpose: tonic searches the sources of an error, and would take
/// a reset by the client for a regular end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum BrokenBody {
    /// A message is too long.
    #[error("a message of {asked} bytes is longer than {name} = {limit}")]
    TooLarge {
        /// The limit's name.
        name: &'static str,
        /// Bytes allowed.
        limit: u64,
        /// Bytes announced.
        asked: u64,
    },
    /// The body ended without its END_STREAM flag or within a message.
    #[error("the request body ended early")]
    EndedEarly,
}

/// A request body with an observer.
#[derive(Debug)]
pub(crate) struct WatchedBody<B> {
    inner: B,
    state: BodyState,
    messages: MessageScanner,
    done: bool,
}

impl<B> WatchedBody<B> {
    /// Watches `inner` on behalf of `state`; its first message may be `request_bytes_max` long, and any other `message_bytes_max`.
    pub(crate) fn new(inner: B, state: BodyState, limits: &Limits) -> Self {
        Self { inner, state, messages: MessageScanner::new(limits), done: false }
    }

    fn fail(&mut self, error: BrokenBody) -> BrokenBody {
        self.done = true;
        self.state.note_fault(match error {
            BrokenBody::TooLarge { name, limit, asked } => CallFault::MessageTooLarge { name, limit, asked },
            BrokenBody::EndedEarly => CallFault::Broken,
        });
        error
    }
}

impl<B> WatchedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    /// Decides what an end of the inner body means.
    fn end(&mut self) -> Result<(), BrokenBody> {
        self.done = true;
        if self.inner.is_end_stream() && self.messages.at_boundary() {
            self.state.note_whole();
            Ok(())
        } else {
            Err(self.fail(BrokenBody::EndedEarly))
        }
    }
}

impl<B> Body for WatchedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    type Data = Bytes;
    type Error = BrokenBody;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        if this.done {
            return Poll::Ready(None);
        }
        Poll::Ready(match ready!(Pin::new(&mut this.inner).poll_frame(cx)) {
            Some(Ok(frame)) => {
                let outcome = match frame.data_ref() {
                    Some(data) => this.messages.read(data).map_err(|error| this.fail(error)),
                    None => this.end(),
                };
                Some(outcome.map(|()| frame))
            }
            Some(Err(_)) => Some(Err(this.fail(BrokenBody::EndedEarly))),
            None => this.end().err().map(Err),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.done
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Follows the gRPC messages in a byte stream without keeping them.
#[derive(Debug)]
struct MessageScanner {
    /// The limit of the next message, by name.
    next_max: (&'static str, u64),
    /// The limit of all messages but the first.
    message_bytes_max: u64,
    prefix: [u8; PREFIX_BYTES],
    prefix_bytes: usize,
    body_bytes_left: u64,
}

impl MessageScanner {
    fn new(limits: &Limits) -> Self {
        let (message_bytes_max, request_bytes_max) = (limits.message_bytes_max, limits.request_bytes_max);
        let next_max = match request_bytes_max < message_bytes_max {
            true => (REQUEST_LIMIT, request_bytes_max),
            false => (MESSAGE_LIMIT, message_bytes_max),
        };
        Self { next_max, message_bytes_max, prefix: [0; PREFIX_BYTES], prefix_bytes: 0, body_bytes_left: 0 }
    }

    /// Whether the bytes so far end between two messages.
    fn at_boundary(&self) -> bool {
        self.prefix_bytes == 0 && self.body_bytes_left == 0
    }

    fn read(&mut self, mut data: &[u8]) -> Result<(), BrokenBody> {
        while !data.is_empty() {
            if self.body_bytes_left > 0 {
                let skipped = usize::try_from(self.body_bytes_left).unwrap_or(usize::MAX).min(data.len());
                self.body_bytes_left -= skipped as u64;
                data = &data[skipped..];
                continue;
            }
            let wanted = (PREFIX_BYTES - self.prefix_bytes).min(data.len());
            self.prefix[self.prefix_bytes..self.prefix_bytes + wanted].copy_from_slice(&data[..wanted]);
            self.prefix_bytes += wanted;
            data = &data[wanted..];
            if self.prefix_bytes == PREFIX_BYTES {
                let [_, a, b, c, d] = self.prefix;
                let asked = u64::from(u32::from_be_bytes([a, b, c, d]));
                let (name, limit) = std::mem::replace(&mut self.next_max, (MESSAGE_LIMIT, self.message_bytes_max));
                if asked > limit {
                    return Err(BrokenBody::TooLarge { name, limit, asked });
                }
                self.prefix_bytes = 0;
                self.body_bytes_left = asked;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "watched_body/tests.rs"]
mod tests;
