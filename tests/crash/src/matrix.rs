//! Many cells, several at once, and their report.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::join_all;
use omnigraph_commit::FailPoint;
use omnigraph_e2e::server::omnigraph;
use serde_json::{Value, json};

use crate::cell::Cell;
use crate::check::Seen;
use crate::error::Violation;
use crate::limits::CELLS_PER_STAND;
use crate::points::points;
use crate::run::{Shown, run as run_cell};
use crate::stand::Stand;

/// One cell and how it ended.
type Ended = (Cell, Result<Shown, Violation>);

/// The outcome of a number of cells.
#[derive(Debug)]
pub struct Report {
    ended: Vec<Ended>,
    took: Duration,
}

impl Report {
    /// The cells that violated the oracle.
    pub fn violations(&self) -> impl Iterator<Item = (&Cell, &Violation)> {
        self.ended.iter().filter_map(|(cell, outcome)| outcome.as_ref().err().map(|violation| (cell, violation)))
    }

    /// Declared points that no cell of the matrix meets, and points that a cell of this run should have met and did not.
    pub fn points_unhit(&self) -> Vec<FailPoint> {
        let of_matrix: HashSet<FailPoint> = Cell::all().iter().map(|cell| cell.point).collect();
        let missed = |outcome: &Result<Shown, Violation>| matches!(outcome, Err(Violation::NeverHit { .. }));
        let missed: HashSet<FailPoint> =
            self.ended.iter().filter(|(_, outcome)| missed(outcome)).map(|(cell, _)| cell.point).collect();
        let unhit = |point: &FailPoint| !of_matrix.contains(point) || missed.contains(point);
        points().into_iter().filter(unhit).collect()
    }

    /// As one JSON object.
    pub fn json(&self) -> Value {
        let shown: Vec<&Shown> = self.ended.iter().filter_map(|(_, outcome)| outcome.as_ref().ok()).collect();
        let mut blocked: Vec<u128> = shown.iter().map(|shown| shown.blocked.as_millis()).collect();
        blocked.sort_unstable();
        let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
        for shown in &shown {
            *outcomes.entry(seen_name(shown.seen)).or_default() += 1;
        }
        let violations: Vec<Value> = self
            .violations()
            .map(|(cell, violation)| json!({ "cell": cell.to_string(), "violation": violation.to_string() }))
            .collect();
        json!({
            "crash": true,
            "cells": self.ended.len(),
            "product": Cell::product().len(),
            "impossible": Cell::product().len() - Cell::all().len(),
            "violations": violations.len(),
            "violated": violations,
            "points": points().len(),
            "points_unhit": self.points_unhit().len(),
            "outcomes": outcomes,
            "median_blocked_ms": blocked.get(blocked.len() / 2),
            "max_blocked_ms": blocked.last(),
            "took_s": self.took.as_secs(),
        })
    }
}

fn seen_name(seen: Seen) -> &'static str {
    match seen {
        Seen::Before => "before",
        Seen::After => "after",
    }
}

/// Runs cells, `at_once` of them at the same time, and reports each on standard error as it ends.
///
/// # Panics
///
/// If the environment does not name the built binary.
pub async fn run(cells: Vec<Cell>, at_once: usize) -> Report {
    // Without the binary no cell can begin: this panics once, instead of in every cell.
    drop(omnigraph());
    let started = Instant::now();
    let lanes = at_once.clamp(1, cells.len().max(1));
    let queue = Arc::new(Mutex::new(cells.into_iter().rev().collect::<Vec<_>>()));
    let lanes = (0..lanes).map(|_| tokio::spawn(lane(Arc::clone(&queue))));
    let mut ended = Vec::new();
    for lane in join_all(lanes).await {
        match lane {
            Ok(cells) => ended.extend(cells),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
    ended.sort_by_key(|(cell, _)| cell.to_string());
    Report { ended, took: started.elapsed() }
}

/// Cells one after another, until none is left.
async fn lane(queue: Arc<Mutex<Vec<Cell>>>) -> Vec<Ended> {
    let mut ended = Vec::new();
    let mut stand: Option<Arc<Stand>> = None;
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(cell) = next else { return ended };
        if ended.len() % CELLS_PER_STAND == 0 {
            stand = None;
        }
        let outcome = match on_stand(&mut stand).await {
            // In a task of its own: a server that does not start panics, and must not end other cells.
            Ok(stand) => tokio::spawn(run_cell(stand, cell))
                .await
                .unwrap_or_else(|error| Err(Violation::Broken { what: panic_text(error) })),
            Err(violation) => Err(violation),
        };
        match &outcome {
            Ok(Shown { seen, blocked }) => {
                eprintln!("ok        {cell}  {}  blocked {} ms", seen_name(*seen), blocked.as_millis());
            }
            Err(violation) => eprintln!("VIOLATED  {cell}\n          {violation}"),
        }
        ended.push((cell, outcome));
    }
}

async fn on_stand(stand: &mut Option<Arc<Stand>>) -> Result<Arc<Stand>, Violation> {
    match stand {
        Some(stand) => Ok(Arc::clone(stand)),
        None => Ok(Arc::clone(stand.insert(Stand::new().await?))),
    }
}

fn panic_text(error: tokio::task::JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => match panic.downcast::<String>() {
            Ok(text) => *text,
            Err(_) => "a panic".to_owned(),
        },
        Err(error) => error.to_string(),
    }
}
