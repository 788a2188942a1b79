//! A response body that ends when the call must: at its deadline, or when the server stops and the call would not end by itself.
//!
//! It also carries what the call holds until its last byte - its admission and its trace - and adds details to errors without them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::HeaderMap;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;

use super::admission::Admitted;
use super::complete;
use super::trace::CallTrace;
use crate::context::CallContext;
use crate::outcome::{Interruption, refuse};

/// What a call holds until it is over.
pub(crate) struct CallGuard {
    pub(crate) context: CallContext,
    pub(crate) trace: CallTrace,
    pub(crate) admitted: Option<Admitted>,
    /// Resolves to what ends the call from outside its handler.
    pub(crate) ending: BoxFuture<'static, Interruption>,
}

/// The body of one response.
pub(crate) struct CallBody {
    inner: Body,
    guard: CallGuard,
    /// What ends the call at the next poll.
    ended: Option<Interruption>,
    done: bool,
}

impl CallBody {
    /// Wraps the body of a response whose headers are `headers`.
    pub(crate) fn new(inner: Body, mut guard: CallGuard, headers: &HeaderMap) -> Self {
        guard.trace.note(headers);
        Self { inner, guard, ended: None, done: false }
    }

    /// Ends the call before its stream ends. What it held is freed now, not when the client has read the end.
    fn break_off(&mut self, interruption: Interruption) -> Frame<Bytes> {
        self.inner = Body::empty();
        let mut trailers = HeaderMap::new();
        complete::write(&mut trailers, &refuse(&self.guard.context, interruption));
        self.end(trailers)
    }

    fn end(&mut self, mut trailers: HeaderMap) -> Frame<Bytes> {
        self.done = true;
        complete::complete(&mut trailers, &self.guard.context);
        self.guard.trace.note(&trailers);
        self.guard.admitted = None;
        Frame::trailers(trailers)
    }
}

impl HttpBody for CallBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        if this.done {
            return Poll::Ready(None);
        }
        if let Some(interruption) = this.ended.take() {
            return Poll::Ready(Some(Ok(this.break_off(interruption))));
        }
        if let Poll::Ready(interruption) = this.guard.ending.as_mut().poll(cx) {
            this.ended = Some(interruption);
        }
        // Streams do their work here; a panic in one must end as an error, not as a broken connection.
        let Ok(polled) = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut this.inner).poll_frame(cx))) else {
            return Poll::Ready(Some(Ok(this.break_off(Interruption::Panicked))));
        };
        // A frame that is ready is sent before the end, such as health's last status; the end waits for no other.
        let polled = match (polled, this.ended.take()) {
            (Poll::Pending, Some(interruption)) => return Poll::Ready(Some(Ok(this.break_off(interruption)))),
            (polled, ended) => {
                this.ended = ended;
                polled
            }
        };
        Poll::Ready(match ready!(polled) {
            Some(Ok(frame)) => match frame.into_trailers() {
                Ok(trailers) => Some(Ok(this.end(trailers))),
                Err(frame) => Some(Ok(frame)),
            },
            other => {
                this.done = true;
                other
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.done || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
