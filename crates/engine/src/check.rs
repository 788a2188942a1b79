//! Looking a graph over without changing anything: how its branches stand, what of it cannot be read, which files nothing names.
//!
//! It reads through caches of its own, which are empty, so that it sees the store and not what this process remembers.
//! Invariants: findings leave as they are found, and whoever goes away stops the work; memory follows the number of table versions that
//! commits name and of files of one table at a time, within named bounds.

mod branch;
mod files;
mod history;

use std::collections::HashSet;

use futures::stream::BoxStream;
use futures::{StreamExt, stream};
use omnigraph_catalog::{BranchRow, Catalog, CatalogError, Chain, Graphs};
use omnigraph_storage::{Pin, StorageError, TreeRef};
use omnigraph_types::{BranchName, Failure, GraphName};
use tokio::sync::mpsc;

use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Bytes of the caches that one check uses.
const CACHE_BYTES: u64 = 32 * 1024 * 1024;
/// Parts that wait for whoever asked.
const WAITING_PARTS_MAX: usize = 16;
/// The way out where what is stored cannot be mended from itself. A part that is older than the rest would undo what came since.
const RESTORE: &str = "restore the whole folder of the graph, as it was at one moment, from a backup";
/// Versions or branches read at once.
const CONCURRENCY: usize = 8;

/// What a check tells, one after another.
pub type CheckStream = BoxStream<'static, Result<CheckPart, Failure>>;

/// One part of what a check tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckPart {
    /// How far it has come.
    Progress {
        /// What is being looked at.
        item: String,
        /// Items done.
        done: u64,
        /// Items in all.
        total: u64,
    },
    /// A finding.
    Finding(CheckFinding),
    /// The last part.
    Summary(CheckSummary),
}

/// Who mends a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckSeverity {
    /// The next write, or a server in its own time.
    MendsItself,
    /// A person.
    NeedsPerson,
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckKind {
    /// A write is under way, or was interrupted.
    PendingWrite,
    /// A table that an undone write could still touch.
    UnsettledTable,
    /// A table whose head is ahead of its pin, by entries that settling explains.
    TableAhead,
    /// A branch that is removed and still registered.
    RemovedBranch,
    /// An intent that cannot be read.
    UnreadableIntent,
    /// A table with commits that are not the graph's own.
    OccupiedTable,
    /// A table version that a commit names and that is missing or cannot be read.
    DamagedTable,
    /// A version of a branch that cannot be read.
    UnreadableVersion,
    /// A schema's contract that cannot be read.
    UnreadableContract,
    /// Data files that table versions name and that are missing, or have another size.
    MissingFiles,
}

impl CheckKind {
    /// Who mends it.
    pub fn severity(self) -> CheckSeverity {
        match self {
            Self::PendingWrite | Self::UnsettledTable | Self::TableAhead | Self::RemovedBranch => {
                CheckSeverity::MendsItself
            }
            Self::UnreadableIntent
            | Self::OccupiedTable
            | Self::DamagedTable
            | Self::UnreadableVersion
            | Self::UnreadableContract
            | Self::MissingFiles => CheckSeverity::NeedsPerson,
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFinding {
    /// What it is about.
    pub kind: CheckKind,
    /// The branch, where one is concerned more than others.
    pub branch: Option<BranchName>,
    /// The type, where one is concerned.
    pub type_name: Option<String>,
    /// What was found.
    pub message: String,
    /// The way out.
    pub next: String,
}

/// What kind of file nothing names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnnamedKind {
    /// Data files.
    Data,
    /// Versions of tables.
    TableVersion,
    /// Files of branches' versions.
    State,
    /// Intents of versions that are published.
    Intent,
    /// Files in trees and chains that nothing names.
    Tree,
}

/// How long ago a file was last written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileAge {
    /// Within the last hour.
    Hour,
    /// Within the last day.
    Day,
    /// Within the last week.
    Week,
    /// Earlier.
    Older,
}

/// How many files of one kind and age nothing names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnnamedFiles {
    /// The kind.
    pub kind: UnnamedKind,
    /// The age.
    pub age: FileAge,
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What a check looked at and found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckSummary {
    /// Branches looked at.
    pub branches: u64,
    /// Versions of branches read.
    pub graph_versions: u64,
    /// Versions of tables read.
    pub table_versions: u64,
    /// Findings that mend themselves.
    pub mends_itself: u64,
    /// Findings that need a person.
    pub needs_person: u64,
    /// Files that nothing names.
    pub unnamed: Vec<UnnamedFiles>,
    /// Types whose data files were not accounted for.
    pub not_accounted: Vec<String>,
}

impl Engine {
    /// Looks over one branch of a graph, or every branch and the graph's files. The graph need not be fit to be opened.
    pub async fn check(&self, graph: &GraphName, branch: Option<BranchName>) -> Result<CheckStream, Failure> {
        let shared = self.shared();
        let store = shared.graphs.store().with_empty_caches(CACHE_BYTES);
        let graphs = Graphs::new(store, shared.clock.clone(), shared.limits.clone());
        let (_, catalog) = graphs.open(graph).await.map_err(EngineError::from)?;
        let (parts, mut told) = mpsc::channel(WAITING_PARTS_MAX);
        let told_versions = HashSet::new();
        let mut checker = Checker { catalog, parts, summary: CheckSummary::default(), told_versions };
        tokio::spawn(async move {
            let outcome = checker.run(branch).await;
            let last = match outcome {
                Ok(()) => Ok(CheckPart::Summary(checker.summary)),
                Err(Stopped::Gone) => return,
                Err(Stopped::Failed(error)) => Err(error.failure()),
            };
            // Whoever asked may have gone.
            let _ = checker.parts.send(last).await;
        });
        Ok(stream::poll_fn(move |context| told.poll_recv(context)).boxed())
    }
}

/// Why a check ended before its end.
enum Stopped {
    /// Nobody listens any more.
    Gone,
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

/// One check under way.
struct Checker {
    catalog: Catalog,
    parts: mpsc::Sender<Result<CheckPart, Failure>>,
    summary: CheckSummary,
    /// Table versions that a finding was told of.
    told_versions: HashSet<Pin>,
}

impl Checker {
    async fn run(&mut self, branch: Option<BranchName>) -> Result<(), Stopped> {
        let main = self.catalog.main_chain();
        let registry = match self.catalog.registry().await {
            Ok(registry) => registry,
            Err(error) if is_damaged(&error) => return self.newest_unreadable(&main, &error).await,
            Err(error) => return Err(error.into()),
        };
        let rows = registry.state().branches.values();
        let (live, removed): (Vec<&BranchRow>, Vec<&BranchRow>) = rows.partition(|row| row.removed_ms.is_none());
        let mut live: Vec<Chain> = live.into_iter().map(BranchRow::chain_of_versions).collect();
        live.insert(0, main);
        let Some(name) = branch else {
            let mut accounts = files::Accounts::new(&registry);
            for chain in &live {
                self.branch(chain).await?;
                self.history(chain, &mut accounts).await?;
            }
            for chain in removed.into_iter().map(BranchRow::chain_of_versions) {
                self.history(&chain, &mut accounts).await?;
            }
            return self.files(&mut accounts).await;
        };
        let chain = live.into_iter().find(|chain| chain.name == name);
        let chain = chain.ok_or(CatalogError::BranchNotFound(name))?;
        self.branch(&chain).await?;
        self.history(&chain, &mut files::Accounts::new(&registry)).await
    }

    async fn tell(&mut self, finding: CheckFinding) -> Result<(), Stopped> {
        match finding.kind.severity() {
            CheckSeverity::MendsItself => self.summary.mends_itself += 1,
            CheckSeverity::NeedsPerson => self.summary.needs_person += 1,
        }
        self.send(CheckPart::Finding(finding)).await
    }

    async fn progress(&mut self, item: String, done: u64, total: u64) -> Result<(), Stopped> {
        self.send(CheckPart::Progress { item, done, total }).await
    }

    async fn send(&mut self, part: CheckPart) -> Result<(), Stopped> {
        self.parts.send(Ok(part)).await.map_err(|_| Stopped::Gone)
    }

    async fn unreadable(&mut self, chain: &Chain, what: &str, error: &CatalogError) -> Result<(), Stopped> {
        tracing::warn!(branch = %chain.name, what, %error, "check: a version cannot be read");
        self.tell(CheckFinding {
            kind: CheckKind::UnreadableVersion,
            branch: Some(chain.name.clone()),
            type_name: None,
            message: format!("{what} is missing or cannot be read"),
            next: RESTORE.to_owned(),
        })
        .await
    }

    /// The newest version's commit is still in its intent, which is settled again once nothing stands at the version.
    async fn newest_unreadable(&mut self, chain: &Chain, error: &CatalogError) -> Result<(), Stopped> {
        let tree = TreeRef { path: self.catalog.paths().manifest(), tree: chain.tree };
        let Some(version) = self.catalog.store().head(&tree).await? else {
            return self.unreadable(chain, "every version", error).await;
        };
        tracing::warn!(branch = %chain.name, %version, %error, "check: the newest version cannot be read");
        let (graph, object) = (self.catalog.name(), tree.at(version).manifest());
        self.tell(CheckFinding {
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

/// Whether a stored object is not what it must be, which no other try will change.
fn is_damaged(error: &CatalogError) -> bool {
    match error {
        CatalogError::Corrupt { .. } | CatalogError::Format { .. } => true,
        CatalogError::Storage(error) => {
            matches!(
                error,
                StorageError::Corrupt { .. } | StorageError::Misplaced { .. } | StorageError::TableNotFound { .. }
            )
        }
        _ => false,
    }
}
