//! The calls of all clients in one bounded record, and the server that holds each operation.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use omnigraph_types::{CommitId, OperationId};

use crate::history::{CommitFact, Event, History, Moment};

/// Calls that a history holds; a run ends when it is full.
pub const EVENTS_MAX: usize = 300_000;

/// The record of a run.
#[derive(Debug)]
pub struct Recorder {
    begun: Instant,
    history: Mutex<History>,
    in_flight: Mutex<HashMap<OperationId, Vec<usize>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Recorder {
    /// An empty record that begins now.
    pub fn new() -> Self {
        Self { begun: Instant::now(), history: Mutex::default(), in_flight: Mutex::default() }
    }

    /// This moment.
    pub fn now(&self) -> Moment {
        Moment::try_from(self.begun.elapsed().as_micros()).unwrap_or(Moment::MAX)
    }

    /// Whether no more calls are to be made.
    pub fn is_full(&self) -> bool {
        lock(&self.history).events.len() >= EVENTS_MAX
    }

    /// Records a call, and the facts that its answer states about a commit.
    pub fn record(&self, event: &Event, fact: Option<&CommitFact>) {
        let mut history = lock(&self.history);
        history.events.push(event.clone());
        if let Some(fact) = fact {
            note(&mut history, fact);
        }
    }

    /// Records the facts that an answer states about a commit.
    pub fn note_commit(&self, fact: &CommitFact) {
        note(&mut lock(&self.history), fact);
    }

    /// What is known of a commit.
    pub fn commit(&self, id: CommitId) -> Option<CommitFact> {
        lock(&self.history).commits.get(&id).cloned()
    }

    /// Changes or reads the history.
    pub fn with<T>(&self, work: impl FnOnce(&mut History) -> T) -> T {
        work(&mut lock(&self.history))
    }

    /// An operation is on its way to a server.
    pub fn sent(&self, operation: OperationId, server: usize) {
        lock(&self.in_flight).entry(operation).or_default().push(server);
    }

    /// A server has answered it. Without a known answer the server may still work on it, so this is not called then.
    pub fn answered(&self, operation: OperationId, server: usize) {
        let mut in_flight = lock(&self.in_flight);
        if let Some(servers) = in_flight.get_mut(&operation) {
            if let Some(at) = servers.iter().position(|sent| *sent == server) {
                servers.swap_remove(at);
            }
            if servers.is_empty() {
                in_flight.remove(&operation);
            }
        }
    }

    /// The one server that works on an operation; `None` if several may.
    pub fn server_of(&self, operation: OperationId) -> Option<usize> {
        match lock(&self.in_flight).get(&operation)?.as_slice() {
            [server] => Some(*server),
            _ => None,
        }
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

fn note(history: &mut History, fact: &CommitFact) {
    match history.commits.get(&fact.id) {
        Some(known) if known != fact => history.contradictions.push((known.clone(), fact.clone())),
        Some(_) => {}
        None => {
            history.commits.insert(fact.id, fact.clone());
        }
    }
}
