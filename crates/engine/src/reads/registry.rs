//! The list of reads that are not over.
//!
//! Invariant: a read is listed from its arrival until its permit is returned.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omnigraph_query::Stopped;
use omnigraph_types::{Clock, Commit, QueryId, QueryState, RunningQuery};
use tokio_util::sync::CancellationToken;

use crate::error::{EngineError, Result};

/// Characters of a query's text that are listed.
const TEXT_CHARS_MAX: usize = 2_000;

/// What is known of a read when it arrives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// The commit that it reads.
    pub(crate) commit: &'a Commit,
    /// The query's text, or the type that is scanned.
    pub(crate) text: &'a str,
    /// The most bytes that it may hold.
    pub(crate) memory_bytes: u64,
}

/// The reads by id.
#[derive(Debug)]
pub(crate) struct Registry {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
struct Shared {
    entries: Mutex<BTreeMap<QueryId, Arc<Entry>>>,
    stopping: Arc<AtomicBool>,
}

/// One read.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Cancelled when the read is to end.
    pub(crate) stop: CancellationToken,
    /// Bytes that its operators hold.
    pub(crate) memory_bytes: Arc<AtomicU64>,
    facts: RunningQuery,
    state: Mutex<QueryState>,
    rows_sent: AtomicU64,
    stopping: Arc<AtomicBool>,
}

impl Entry {
    /// Why the read was stopped.
    pub(crate) fn stopped(&self) -> EngineError {
        match self.stopping.load(Ordering::Acquire) {
            true => EngineError::Stopping,
            false => EngineError::Stopped(Stopped::Cancelled),
        }
    }

    /// The read has its permit.
    pub(crate) fn note_running(&self) {
        let mut state = self.state();
        if *state == QueryState::Queued {
            *state = QueryState::Running;
        }
    }

    /// The caller of the read has its answer, or is gone.
    pub(crate) fn note_ending(&self) {
        *self.state() = QueryState::Ending;
    }

    /// Rows were handed to the caller.
    pub(crate) fn note_rows(&self, rows: usize) {
        self.rows_sent.fetch_add(u64::try_from(rows).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, QueryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel(&self) {
        self.note_ending();
        self.stop.cancel();
    }

    fn info(&self, now_ms: u64) -> RunningQuery {
        RunningQuery {
            age_ms: now_ms.saturating_sub(self.facts.started_ms),
            state: *self.state(),
            rows_sent: self.rows_sent.load(Ordering::Relaxed),
            memory_bytes: self.memory_bytes.load(Ordering::Relaxed),
            ..self.facts.clone()
        }
    }
}

/// A place in the list, which is left when it is dropped.
#[derive(Debug)]
pub(crate) struct Listed {
    shared: Arc<Shared>,
    entry: Arc<Entry>,
}

impl Listed {
    /// The read.
    pub(crate) fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.shared.entries().remove(&self.entry.facts.id);
    }
}

impl Shared {
    fn entries(&self) -> MutexGuard<'_, BTreeMap<QueryId, Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { shared: Arc::default(), clock }
    }

    /// Enters a read; `Stopping` if no more may begin.
    pub(crate) fn enter(&self, actor: &str, asked: Asked<'_>) -> Result<Listed> {
        let facts = RunningQuery {
            id: QueryId(self.clock.mint()),
            graph: asked.commit.graph.clone(),
            branch: asked.commit.branch.clone(),
            actor: actor.to_owned(),
            text: asked.text.chars().take(TEXT_CHARS_MAX).collect(),
            started_ms: self.clock.wall_ms(),
            age_ms: 0,
            state: QueryState::Queued,
            rows_sent: 0,
            memory_bytes: 0,
        };
        let entry = Arc::new(Entry {
            stop: CancellationToken::new(),
            memory_bytes: Arc::default(),
            state: Mutex::new(facts.state),
            facts,
            rows_sent: AtomicU64::new(0),
            stopping: Arc::clone(&self.shared.stopping),
        });
        let mut entries = self.shared.entries();
        // Read under the lock, which `stop` takes after it has set it: no read slips in between.
        if self.shared.stopping.load(Ordering::Acquire) {
            return Err(EngineError::Stopping);
        }
        entries.insert(entry.facts.id, Arc::clone(&entry));
        drop(entries);
        Ok(Listed { shared: Arc::clone(&self.shared), entry })
    }

    /// The reads, by id and so by age.
    pub(crate) fn list(&self) -> Vec<RunningQuery> {
        let now_ms = self.clock.wall_ms();
        self.shared.entries().values().map(|entry| entry.info(now_ms)).collect()
    }

    /// Cancels a read. None if it is over.
    pub(crate) fn cancel(&self, id: QueryId) -> Option<RunningQuery> {
        let entry = self.shared.entries().get(&id).cloned()?;
        entry.cancel();
        Some(entry.info(self.clock.wall_ms()))
    }

    /// Cancels every read; none begins from now on.
    pub(crate) fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Release);
        for entry in self.shared.entries().values() {
            entry.cancel();
        }
    }
}
