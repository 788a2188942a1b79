//! A call whose request is a stream that may be given up half way, safely.
//!
//! Why not a plain stream: a stream of messages that merely stops looks, to HTTP/2, like one that is complete, and a server would commit
//! half a load. Here the request ends only when `finish` says so; dropping or aborting the upload resets the call, and a request stream
//! whose sender is gone stays open until that reset.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use omnigraph_types::Effect;
use tokio::sync::mpsc;
use tonic::{CancellationHandle, Request, Status};

use crate::deadline::Deadline;
use crate::error::ClientError;

/// Messages on their way to the transport; with those inside it, what a slow server holds back.
const PARTS_QUEUED_MAX: usize = 2;
/// Answers on their way to the caller. A load has two.
const ANSWERS_QUEUED_MAX: usize = 4;
/// How long after its deadline a call may still answer by itself.
const ANSWER_GRACE: Duration = Duration::from_secs(1);
/// How long an abort waits until the transport has sent the cancellation to the server.
const ABORT_WAIT: Duration = Duration::from_secs(1);

/// An item of the request stream.
enum Part<M> {
    /// Send this.
    Message(M),
    /// The request is complete.
    End,
}

/// The request stream.
pub(crate) struct Parts<M> {
    parts: mpsc::Receiver<Part<M>>,
}

impl<M> Stream for Parts<M> {
    type Item = M;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<M>> {
        match self.parts.poll_recv(context) {
            Poll::Ready(Some(Part::Message(message))) => Poll::Ready(Some(message)),
            Poll::Ready(Some(Part::End)) => Poll::Ready(None),
            // The sender is gone without an end: the call is being reset, and must not look complete until it is.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

/// The answers of a call.
pub(crate) type Answers<R> = BoxStream<'static, Result<R, Status>>;

/// How far an upload has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Messages may be sent; the server can have stored nothing that counts.
    Open,
    /// The request is complete.
    Ended,
    /// The call is over.
    Closed,
}

/// A call that is being made.
pub(crate) struct Upload<M, R> {
    parts: mpsc::Sender<Part<M>>,
    answers: mpsc::Receiver<Result<R, Status>>,
    early: VecDeque<R>,
    cancel: CancellationHandle,
    deadline: Deadline,
    stage: Stage,
}

impl<M, R> Upload<M, R>
where
    M: Send + 'static,
    R: Send + 'static,
{
    /// Makes the call `start` in a task of its own.
    pub(crate) fn open<F, Fut>(deadline: Deadline, start: F) -> Self
    where
        F: FnOnce(Request<Parts<M>>) -> Fut,
        Fut: Future<Output = Result<Answers<R>, Status>> + Send + 'static,
    {
        let (parts, queued) = mpsc::channel(PARTS_QUEUED_MAX);
        let (answered, answers) = mpsc::channel(ANSWERS_QUEUED_MAX);
        let mut request = deadline.request(Parts { parts: queued });
        let cancel = request.cancellation_handle();
        let call = start(request);
        tokio::spawn(async move {
            let nobody_waits = answered.clone();
            let answering = async move {
                let mut stream = match call.await {
                    Ok(stream) => stream,
                    Err(status) => futures::stream::once(async { Err(status) }).boxed(),
                };
                while let Some(answer) = stream.next().await {
                    if answered.send(answer).await.is_err() {
                        break;
                    }
                }
            };
            // A request that is complete can be given up in no other way than by letting go of its call, which resets it.
            tokio::select! {
                () = answering => {}
                () = nobody_waits.closed() => {}
            }
        });
        Self { parts, answers, early: VecDeque::new(), cancel, deadline, stage: Stage::Open }
    }

    /// Sends one message, waiting while the server is busy. Fails as soon as the server refuses the call.
    pub(crate) async fn send(&mut self, message: M) -> Result<(), ClientError> {
        let parts = self.parts.clone();
        let permit = loop {
            tokio::select! {
                biased;
                answer = self.answers.recv() => {
                    let early = self.checked(answer)?.ok_or(ClientError::Answer { what: "the call ended too early" })?;
                    self.early.push_back(early);
                }
                permit = parts.reserve() => match permit {
                    Ok(permit) => break permit,
                    // The transport gave the request up; the reason is on its way as an answer.
                    Err(_) => {
                        self.next_answer().await?;
                        return Err(ClientError::Answer { what: "the call ended too early" });
                    }
                },
            }
        };
        permit.send(Part::Message(message));
        Ok(())
    }

    /// The next answer; none at the end of the call.
    pub(crate) async fn next_answer(&mut self) -> Result<Option<R>, ClientError> {
        if let Some(early) = self.early.pop_front() {
            return Ok(Some(early));
        }
        let answer = match self.deadline.left() {
            None => self.answers.recv().await,
            Some(left) => match tokio::time::timeout(left + ANSWER_GRACE, self.answers.recv()).await {
                Ok(answer) => answer,
                Err(_) => return Err(ClientError::deadline_exceeded(self.effect())),
            },
        };
        self.checked(answer)
    }

    /// Says that the request is complete. From here on the server may commit.
    pub(crate) async fn end(&mut self) -> Result<(), ClientError> {
        let parts = self.parts.clone();
        let permit = match parts.reserve().await {
            Ok(permit) => permit,
            Err(_) => {
                self.next_answer().await?;
                return Err(ClientError::Answer { what: "the call ended too early" });
            }
        };
        self.stage = Stage::Ended;
        permit.send(Part::End);
        Ok(())
    }

    /// Gives the call up and waits, shortly, until the transport has let go of it.
    pub(crate) async fn abort(mut self) {
        self.cancel.clone().cancel();
        // Whatever comes, the call is over: nobody waits for its answers any more.
        let _ =
            tokio::time::timeout(ABORT_WAIT, async { while self.answers.recv().await.is_some_and(|a| a.is_ok()) {} })
                .await;
        self.stage = Stage::Closed;
    }

    fn checked(&mut self, answer: Option<Result<R, Status>>) -> Result<Option<R>, ClientError> {
        match answer {
            Some(Ok(answer)) => Ok(Some(answer)),
            Some(Err(status)) => {
                let error = ClientError::from_status(status, self.effect(), self.deadline);
                self.stage = Stage::Closed;
                Err(error)
            }
            None => {
                self.stage = Stage::Closed;
                Ok(None)
            }
        }
    }

    /// What a call that broke off now may have done.
    fn effect(&self) -> Effect {
        match self.stage {
            Stage::Open => Effect::None,
            Stage::Ended | Stage::Closed => Effect::Unknown,
        }
    }
}

impl<M, R> Drop for Upload<M, R> {
    fn drop(&mut self) {
        if self.stage != Stage::Closed {
            // Before the sender goes, so that the request cannot look complete.
            self.cancel.clone().cancel();
        }
    }
}

#[cfg(test)]
mod tests;
