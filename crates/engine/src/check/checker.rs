//! What all parts of one check share: the graph's catalog, the stream of findings, and the summary.

use std::collections::HashSet;

use omnigraph_catalog::{Catalog, CatalogError, Chain};
use omnigraph_storage::{Pin, StorageError, TreeRef};
use omnigraph_types::{CheckFinding, CheckKind, CheckPart, CheckSeverity, CheckSummary, Failure, Progress};
use tokio::sync::mpsc::Sender;

use crate::error::{EngineError, Result};

/// The way out where what is stored cannot be repaired from itself. A part that is older than the rest would undo later commits.
pub(super) const RESTORE: &str = "restore the whole folder of the graph, as it was at one moment, from a backup";
/// Versions read at once.
pub(super) const CONCURRENCY: usize = 8;

/// Why a check stopped before it was complete.
pub(crate) enum Stopped {
    /// The caller dropped the stream.
    Dropped,
    /// The store failed.
    Failed(EngineError),
}

impl From<CatalogError> for Stopped {
    fn from(error: CatalogError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<StorageError> for Stopped {
    fn from(error: StorageError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure.into())
    }
}

/// One running check.
pub(crate) struct Checker {
    pub(super) catalog: Catalog,
    parts: Sender<Result<CheckPart, Failure>>,
    pub(super) summary: CheckSummary,
    /// Table versions that a finding reported.
    pub(super) reported: HashSet<Pin>,
}

impl Checker {
    /// A check of a graph whose parts go to `parts`.
    pub(crate) fn new(catalog: Catalog, parts: Sender<Result<CheckPart, Failure>>) -> Self {
        Self { catalog, parts, summary: CheckSummary::default(), reported: HashSet::new() }
    }

    /// Sends the last part: the summary, or why the check failed.
    pub(crate) async fn end(self, outcome: Result<(), Stopped>) {
        let last = match outcome {
            Ok(()) => Ok(CheckPart::Summary(self.summary)),
            Err(Stopped::Dropped) => return,
            Err(Stopped::Failed(error)) => Err(error.failure()),
        };
        // The caller may have dropped the stream.
        let _ = self.parts.send(last).await;
    }

    pub(super) async fn report(&mut self, finding: CheckFinding) -> Result<(), Stopped> {
        match finding.kind.severity() {
            CheckSeverity::MendsItself => self.summary.mends_itself += 1,
            CheckSeverity::NeedsPerson => self.summary.needs_person += 1,
        }
        self.send(CheckPart::Finding(finding)).await
    }

    pub(super) async fn progress(&mut self, item: String, done: u64, total: u64) -> Result<(), Stopped> {
        self.send(CheckPart::Progress(Progress { item, done, total })).await
    }

    async fn send(&mut self, part: CheckPart) -> Result<(), Stopped> {
        self.parts.send(Ok(part)).await.map_err(|_| Stopped::Dropped)
    }

    pub(super) async fn unreadable(&mut self, chain: &Chain, what: &str, failure: &Failure) -> Result<(), Stopped> {
        tracing::warn!(branch = %chain.name, what, ?failure, "check: a version cannot be read");
        self.report(CheckFinding {
            kind: CheckKind::UnreadableVersion,
            branch: Some(chain.name.clone()),
            type_name: None,
            message: format!("{what} is missing or cannot be read"),
            next: RESTORE.to_owned(),
        })
        .await
    }

    /// The newest version's commit is still in its intent, which settling completes again once the version's object is removed.
    pub(super) async fn newest_unreadable(&mut self, chain: &Chain, failure: &Failure) -> Result<(), Stopped> {
        let tree = TreeRef { path: self.catalog.paths().manifest(), tree: chain.tree };
        let Some(version) = self.catalog.store().head(&tree).await? else {
            return self.unreadable(chain, "every version", failure).await;
        };
        tracing::warn!(branch = %chain.name, %version, ?failure, "check: the newest version cannot be read");
        let (graph, object) = (self.catalog.name(), tree.at(version).manifest());
        self.report(CheckFinding {
            kind: CheckKind::UnreadableVersion,
            branch: Some(chain.name.clone()),
            type_name: None,
            message: format!("the newest version, {version}, cannot be read"),
            next: format!(
                "move the object {object} out of the root and run `omnigraph recover {graph}`, which completes the version's commit \
                 again from its intent; if that does not help, {RESTORE}"
            ),
        })
        .await
    }
}
