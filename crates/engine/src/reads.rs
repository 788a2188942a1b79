//! Queries, scans and exports: which run, where, and how they end.
//!
//! They run on threads of their own, as many as there are cores and at a lower priority, so that no plan can delay a call that is answered
//! elsewhere; the threads that serve calls take finished batches from a bounded channel. The catalog is read by the calling thread. Lance
//! reads files in tasks of the runtime that calls it, so on these threads too, and decodes on Lance's own pool, which loads share.
//!
//! The caller of a read never waits for its plan: it is answered at its deadline, when the read is cancelled, and when the server stops. The
//! plan then ends at its next batch, and until then keeps its permit and its memory.
//!
//! Invariant: a permit and its memory are returned when the last operator of the read is dropped, and not before.

mod admission;
mod registry;
mod threads;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};
use omnigraph_query::{ReadControl, Stopped};
use omnigraph_types::{Clock, Failure, Limits, Problem, QueryId, Resource, RunningQuery};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::DropGuard;
use tracing::Instrument;

use self::admission::Admission;
pub(crate) use self::registry::Asked;
use self::registry::{Entry, Registry};
use self::threads::ReadThreads;
use crate::caller::Caller;
use crate::error::{EngineError, Result};

/// Finished batches of one read that wait for its caller.
const BATCHES_AHEAD: usize = 4;

/// All reads of one root in this process.
#[derive(Debug)]
pub(crate) struct Reads {
    threads: ReadThreads,
    admission: Admission,
    registry: Registry,
}

impl Reads {
    /// Starts the threads.
    pub(crate) fn start(limits: &Limits, clock: Arc<dyn Clock>) -> Result<Self> {
        let threads = ReadThreads::start().map_err(EngineError::Threads)?;
        Ok(Self { threads, admission: Admission::new(limits), registry: Registry::new(clock) })
    }

    /// Waits for the turn of a read. Its deadline is the caller's, and so counts from its arrival; the caller's runner watches it here.
    pub(crate) async fn admit(&self, caller: &Caller, asked: Asked<'_>) -> Result<AdmittedRead> {
        let listed = self.registry.enter(&caller.actor, asked)?;
        let entry = Arc::clone(listed.entry());
        let permit = tokio::select! {
            biased;
            () = entry.stop.cancelled() => return Err(entry.stopped()),
            permit = self.admission.admit(asked.memory_bytes) => permit?,
        };
        entry.note_running();
        let held = (permit, listed);
        let control = ReadControl::new(entry.stop.clone(), caller.deadline, Arc::clone(&entry.memory_bytes), held);
        Ok(AdmittedRead { threads: self.threads.handle().clone(), entry, control, deadline: caller.deadline })
    }

    /// The reads that are not over.
    pub(crate) fn list(&self) -> Vec<RunningQuery> {
        self.registry.list()
    }

    /// Cancels one read.
    pub(crate) fn cancel(&self, id: QueryId) -> Result<RunningQuery, Failure> {
        self.registry.cancel(id).ok_or_else(|| {
            let message = format!("no query {id} runs on this server: it is over, or runs on another one");
            Failure::new(Problem::NotFound { resource: Resource::Operation, name: id.to_string() }, message)
        })
    }

    /// Cancels every read and begins no more.
    pub(crate) fn stop(&self) {
        self.registry.stop();
    }
}

/// A read that has its permit.
pub(crate) struct AdmittedRead {
    threads: tokio::runtime::Handle,
    entry: Arc<Entry>,
    control: ReadControl,
    deadline: Option<Instant>,
}

/// The rows of a read, with their schema.
type Rows = (SchemaRef, BoxStream<'static, Result<RecordBatch>>);

impl AdmittedRead {
    /// Does `work`, which has one answer, on the threads of reads.
    pub(crate) async fn answer<T: Send + 'static>(
        self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let Self { threads, entry, control, deadline: _ } = self;
        let _asking = Asking { _stop: entry.stop.clone().drop_guard(), entry: Arc::clone(&entry) };
        let stop = entry.stop.clone();
        let task = async move {
            // Holds the permit until the work is over.
            let _control = control;
            tokio::select! {
                biased;
                () = stop.cancelled() => Err(EngineError::Stopped(Stopped::Cancelled)),
                done = work => done,
            }
        };
        let task = threads.spawn(task.in_current_span());
        tokio::select! {
            biased;
            () = entry.stop.cancelled() => Err(entry.stopped()),
            done = task => match done {
                Ok(done) => done,
                Err(error) if error.is_cancelled() => Err(EngineError::Stopping),
                Err(error) => Err(EngineError::Task(error)),
            },
        }
    }

    /// Does `work` on the threads of reads, and returns when its first rows are there.
    pub(crate) async fn run<W, F>(
        self,
        work: W,
    ) -> Result<(SchemaRef, BoxStream<'static, Result<RecordBatch, Failure>>)>
    where
        W: FnOnce(ReadControl) -> F + Send + 'static,
        F: Future<Output = Result<Rows>> + Send + 'static,
    {
        let Self { threads, entry, control, deadline } = self;
        // Whoever asks may be dropped at any moment; the read then ends as if it had been cancelled.
        let asking = Asking { _stop: entry.stop.clone().drop_guard(), entry: Arc::clone(&entry) };
        let (started, start) = oneshot::channel();
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let stop = entry.stop.clone();
        let task = async move {
            let work = async {
                match work(control).await {
                    Ok((schema, batches)) => {
                        if started.send(Ok(schema)).is_ok() {
                            send(batches, &sender).await;
                        }
                    }
                    // The caller may be gone, and then no one needs the reason.
                    Err(error) => drop(started.send(Err(error))),
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = work => {}
            }
        };
        let task = threads.spawn(task.in_current_span());
        let started = tokio::select! {
            biased;
            () = entry.stop.cancelled() => return Err(entry.stopped()),
            started = start => started,
        };
        let schema = match started {
            Ok(started) => started?,
            Err(_) => return Err(ended_early(task).await),
        };
        let rows = Received { batches, task, asking, deadline };
        Ok((schema, rows.stream().boxed()))
    }
}

/// Sends batches until there are no more, one fails, or the caller is gone.
async fn send(mut batches: BoxStream<'static, Result<RecordBatch>>, to: &mpsc::Sender<Result<RecordBatch>>) {
    while let Some(batch) = batches.next().await {
        if to.send(batch).await.is_err() {
            return;
        }
    }
}

/// Why a task ended without its answer.
async fn ended_early(task: JoinHandle<()>) -> EngineError {
    match task.await {
        Err(error) if error.is_cancelled() => EngineError::Stopping,
        Err(error) => EngineError::Task(error),
        Ok(()) => EngineError::Stopped(Stopped::Cancelled),
    }
}

/// The caller's interest in a read. Dropping it cancels the read.
struct Asking {
    _stop: DropGuard,
    entry: Arc<Entry>,
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.entry.note_ending();
    }
}

/// The caller's end of a read.
struct Received {
    batches: mpsc::Receiver<Result<RecordBatch>>,
    task: JoinHandle<()>,
    asking: Asking,
    deadline: Option<Instant>,
}

impl Received {
    fn stream(self) -> impl Stream<Item = Result<RecordBatch, Failure>> + Send {
        stream::unfold(Some(self), |state| async move {
            let mut state = state?;
            match state.next().await {
                Ok(Some(batch)) => {
                    state.asking.entry.note_rows(batch.num_rows());
                    Some((Ok(batch), Some(state)))
                }
                Ok(None) => match (&mut state.task).await {
                    Ok(()) => None,
                    Err(error) if error.is_cancelled() => Some((Err(EngineError::Stopping.failure()), None)),
                    Err(error) => Some((Err(EngineError::Task(error).failure()), None)),
                },
                Err(error) => Some((Err(error.failure()), None)),
            }
        })
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let deadline = self.deadline;
        let passed = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.asking.entry.stop.cancelled() => Err(self.asking.entry.stopped()),
            () = passed => Err(EngineError::Stopped(Stopped::DeadlinePassed)),
            batch = self.batches.recv() => batch.transpose(),
        }
    }
}

#[cfg(test)]
mod tests;
