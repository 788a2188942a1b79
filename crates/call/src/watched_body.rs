//! A request body that is watched: it reports whether it is complete, refuses a message that is too long, and ends one that does not come.
//!
//! Why: tonic swallows a reset by the client (`RST_STREAM` with CANCEL) and hyper one with NO_ERROR; both look like the client's regular
//! end of stream. This body turns every end without the END_STREAM flag into an error, and an end within a message as well. It also reads
//! the length that each message announces, so that the refusal of a long one can state that length. A message longer than
//! `request_bytes_max` waits for the handler's leave: as many short messages may be collected at once as there may be requests, while long
//! ones belong to the few loads that have a turn. A client has `stream_idle_timeout_ms` for each message, however it divides it.
//!
//! Invariant: `BodyState::require_whole` succeeds only after the inner body said END_STREAM between two messages.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use omnigraph_types::Limits;
use thiserror::Error;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::PollSemaphore;

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
    /// A message did not come, or not to its end.
    #[error("the client did not complete a message within {timeout_ms} ms")]
    Idle {
        /// The bound.
        timeout_ms: u64,
    },
}

/// A request body with an observer.
#[derive(Debug)]
pub(crate) struct WatchedBody<B> {
    inner: B,
    state: BodyState,
    messages: MessageScanner,
    patience: Patience,
    /// A frame with the beginning of a long message, and where the leave to read it will be found.
    held: Option<(Frame<Bytes>, PollSemaphore)>,
    done: bool,
}

/// How long each message may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// `stream_idle_timeout_ms`.
    Timed,
    /// As long as the call lasts: the streams of health and reflection.
    Any,
}

/// The time that the client has for the message that it sends or does not send.
#[derive(Debug)]
struct Patience {
    timeout_ms: u64,
    pace: Pace,
    /// Set while the server waits for the client; it begins anew with each message.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Patience {
    /// Whether the client has had its time. Called only while nothing has arrived.
    fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.pace {
            Pace::Any => Poll::Pending,
            Pace::Timed => {
                let timeout = Duration::from_millis(self.timeout_ms);
                self.waiting.get_or_insert_with(|| Box::pin(sleep(timeout))).as_mut().poll(cx)
            }
        }
    }

    /// A message is complete.
    fn begin_anew(&mut self) {
        self.waiting = None;
    }
}

impl<B> WatchedBody<B> {
    /// Watches `inner` on behalf of `state`.
    pub(crate) fn new(inner: B, state: BodyState, limits: &Limits, pace: Pace) -> Self {
        let patience = Patience { timeout_ms: limits.stream_idle_timeout_ms, pace, waiting: None };
        Self { inner, state, messages: MessageScanner::new(limits), patience, held: None, done: false }
    }

    fn fail(&mut self, error: BrokenBody) -> BrokenBody {
        self.done = true;
        self.state.note_fault(match error {
            BrokenBody::TooLarge { name, limit, asked } => CallFault::MessageTooLarge { name, limit, asked },
            BrokenBody::EndedEarly => CallFault::Broken,
            BrokenBody::Idle { timeout_ms } => CallFault::Idle { timeout_ms },
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

    /// The frame that is held, once its long message may be read.
    fn poll_held(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame<Bytes>>> {
        if let Some((_, leave)) = &mut self.held {
            ready!(leave.poll_acquire(cx));
        }
        let Some((frame, _)) = self.held.take() else { return Poll::Ready(None) };
        // The server let the client wait, not the other way round.
        self.patience.begin_anew();
        Poll::Ready(Some(frame))
    }

    /// Reads a frame of data. None if a long message in it has to wait.
    fn take(&mut self, frame: Frame<Bytes>) -> Option<Result<Frame<Bytes>, BrokenBody>> {
        let Some(data) = frame.data_ref() else {
            return Some(self.end().map(|()| frame));
        };
        let found = match self.messages.read(data) {
            Ok(found) => found,
            Err(error) => return Some(Err(self.fail(error))),
        };
        if found.completed > 0 {
            self.patience.begin_anew();
        }
        match found.long {
            Some(_) if self.state.is_long_expected() => {
                self.messages.long_admitted();
                self.held = Some((frame, PollSemaphore::new(self.state.announce_long())));
                None
            }
            Some(error) => Some(Err(self.fail(error))),
            None => Some(Ok(frame)),
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
        if let Some(frame) = ready!(this.poll_held(cx)) {
            return Poll::Ready(Some(Ok(frame)));
        }
        let Poll::Ready(polled) = Pin::new(&mut this.inner).poll_frame(cx) else {
            ready!(this.patience.poll_over(cx));
            let timeout_ms = this.patience.timeout_ms;
            return Poll::Ready(Some(Err(this.fail(BrokenBody::Idle { timeout_ms }))));
        };
        let taken = match polled {
            Some(Ok(frame)) => this.take(frame),
            Some(Err(_)) => Some(Err(this.fail(BrokenBody::EndedEarly))),
            None => return Poll::Ready(this.end().err().map(Err)),
        };
        match taken {
            Some(frame) => Poll::Ready(Some(frame)),
            // The leave may have been given already.
            None => this.poll_held(cx).map(|frame| frame.map(Ok)),
        }
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
    /// Whether the message that begins is the call's first, whose length has one bound.
    is_first: bool,
    /// Whether long messages have their leave, or wait for it.
    long_admitted: bool,
    request_bytes_max: u64,
    message_bytes_max: u64,
    prefix: [u8; PREFIX_BYTES],
    prefix_bytes: usize,
    body_bytes_left: u64,
}

/// What a piece of the stream holds.
#[derive(Debug, Default)]
struct Found {
    /// Messages that end in it.
    completed: usize,
    /// The refusal of a message that begins in it and needs a leave, if there is none.
    long: Option<BrokenBody>,
}

impl MessageScanner {
    fn new(limits: &Limits) -> Self {
        Self {
            is_first: true,
            long_admitted: false,
            request_bytes_max: limits.request_bytes_max.min(limits.message_bytes_max),
            message_bytes_max: limits.message_bytes_max,
            prefix: [0; PREFIX_BYTES],
            prefix_bytes: 0,
            body_bytes_left: 0,
        }
    }

    /// Whether the bytes so far end between two messages.
    fn at_boundary(&self) -> bool {
        self.prefix_bytes == 0 && self.body_bytes_left == 0
    }

    /// Long messages need no further leave.
    fn long_admitted(&mut self) {
        self.long_admitted = true;
    }

    fn read(&mut self, mut data: &[u8]) -> Result<Found, BrokenBody> {
        let mut found = Found::default();
        while !data.is_empty() {
            if self.body_bytes_left > 0 {
                let skipped = usize::try_from(self.body_bytes_left).unwrap_or(usize::MAX).min(data.len());
                self.body_bytes_left -= skipped as u64;
                data = &data[skipped..];
                found.completed += usize::from(self.body_bytes_left == 0);
                continue;
            }
            let wanted = (PREFIX_BYTES - self.prefix_bytes).min(data.len());
            self.prefix[self.prefix_bytes..self.prefix_bytes + wanted].copy_from_slice(&data[..wanted]);
            self.prefix_bytes += wanted;
            data = &data[wanted..];
            if self.prefix_bytes == PREFIX_BYTES {
                let [_, a, b, c, d] = self.prefix;
                let asked = u64::from(u32::from_be_bytes([a, b, c, d]));
                found.long = self.bound(asked)?.or(found.long);
                self.prefix_bytes = 0;
                self.body_bytes_left = asked;
                found.completed += usize::from(asked == 0);
            }
        }
        Ok(found)
    }

    /// Refuses a message of this length, or returns the refusal that it would have without a leave.
    fn bound(&mut self, asked: u64) -> Result<Option<BrokenBody>, BrokenBody> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        if asked > self.message_bytes_max {
            let (name, limit) = match is_first && self.request_bytes_max < self.message_bytes_max {
                true => (REQUEST_LIMIT, self.request_bytes_max),
                false => (MESSAGE_LIMIT, self.message_bytes_max),
            };
            return Err(BrokenBody::TooLarge { name, limit, asked });
        }
        let too_long = BrokenBody::TooLarge { name: REQUEST_LIMIT, limit: self.request_bytes_max, asked };
        match asked > self.request_bytes_max {
            true if is_first => Err(too_long),
            true if !self.long_admitted => Ok(Some(too_long)),
            true | false => Ok(None),
        }
    }
}

#[cfg(test)]
#[path = "watched_body/tests.rs"]
mod tests;
