//! Settling what interrupted writes left: at open, on request, and now and then.

use futures::{StreamExt, TryFutureExt, stream};
use omnigraph_catalog::{BranchRow, CatalogError, Chain, PublicationKind, RecoveryRow, Snapshot};
use omnigraph_commit::SettleReport;
use omnigraph_types::{BranchName, Failure, GraphName, GraphVersion, OperationId, Problem, TableVersion};
use tokio::time::Instant;

use crate::deletion::{is_graph_gone, on_current};
use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::graph::Graph;

/// Branches of a graph settled at once.
const CONCURRENCY: usize = 8;

/// How a recovery decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryOutcome {
    /// The interrupted write was completed.
    RolledForward,
    /// The interrupted write was undone.
    RolledBack,
    /// Tables that an undone write could still have touched were put out of its reach.
    Settled,
}

/// What a recovery did to one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredTable {
    /// The type.
    pub type_name: String,
    /// The version that was pinned before.
    pub from: TableVersion,
    /// The version that is pinned since.
    pub to: TableVersion,
}

/// One recovery of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryInfo {
    /// The operation that was interrupted.
    pub operation_id: OperationId,
    /// The kind of writer that was interrupted.
    pub writer: String,
    /// Who had sent it.
    pub actor: String,
    /// How it was decided.
    pub outcome: RecoveryOutcome,
    /// Per table, from and to.
    pub tables: Vec<RecoveredTable>,
    /// When, in milliseconds since 1970.
    pub time_ms: u64,
    /// The branch's version that decided.
    pub version: GraphVersion,
}

/// What settling one branch came to.
#[derive(Debug)]
pub struct BranchSettled {
    /// The graph.
    pub graph: GraphName,
    /// The branch.
    pub branch: BranchName,
    /// What was found and done.
    pub report: Result<SettleReport, Failure>,
}

fn info(snapshot: &Snapshot, row: &RecoveryRow) -> RecoveryInfo {
    let name = |table| snapshot.table(table).map_or_else(|| table.to_string(), |row| row.type_name.clone());
    RecoveryInfo {
        operation_id: row.operation_id,
        writer: row.writer.clone(),
        actor: row.original_actor.clone(),
        outcome: match row.kind {
            PublicationKind::Abort | PublicationKind::Repair => RecoveryOutcome::RolledBack,
            PublicationKind::Settle => RecoveryOutcome::Settled,
            PublicationKind::Commit
            | PublicationKind::BranchCreate
            | PublicationKind::Retire
            | PublicationKind::BranchDelete => RecoveryOutcome::RolledForward,
        },
        tables: row
            .tables
            .iter()
            .map(|moved| RecoveredTable { type_name: name(moved.table), from: moved.from, to: moved.to })
            .collect(),
        time_ms: row.time_ms,
        version: row.version,
    }
}

impl Graph {
    /// Recoveries of a branch, newest first, older than `before` if given. The newest 64 are kept.
    pub async fn list_recoveries(
        &self,
        branch: &BranchName,
        before: Option<GraphVersion>,
        most: usize,
    ) -> Result<Vec<RecoveryInfo>, Failure> {
        on_current!(self, graph => graph.recoveries(branch, before, most).map_err(Failure::from))
    }

    async fn recoveries(
        &self,
        branch: &BranchName,
        before: Option<GraphVersion>,
        most: usize,
    ) -> Result<Vec<RecoveryInfo>> {
        let newest = self.catalog().newest(branch).await?;
        let rows = newest.state().recoveries.iter().rev();
        let rows = rows.filter(|row| before.is_none_or(|before| row.version < before));
        Ok(rows.take(most).map(|row| info(&newest, row)).collect())
    }

    /// Settles a branch now, and tells what was decided.
    pub async fn recover(&self, branch: &BranchName, deadline: Option<Instant>) -> Result<Vec<RecoveryInfo>, Failure> {
        on_current!(self, graph => graph.settle_and_tell(branch, deadline).map_err(Failure::from))
    }

    async fn settle_and_tell(&self, branch: &BranchName, deadline: Option<Instant>) -> Result<Vec<RecoveryInfo>> {
        let before = self.catalog().newest(branch).await?;
        self.settle_chain(before.chain(), deadline).await?;
        let after = self.catalog().newest_of(before.chain()).await?;
        let rows = after.state().recoveries.iter().rev().filter(|row| row.version > before.version());
        Ok(rows.map(|row| info(&after, row)).collect())
    }

    async fn settle_chain(&self, chain: &Chain, deadline: Option<Instant>) -> Result<SettleReport, Failure> {
        let bound = Instant::now() + self.engine().limits.ticket_wait();
        let deadline = deadline.map_or(bound, |deadline| deadline.min(bound));
        self.committer().settle(chain, deadline).await
    }

    /// Looks at every branch once and settles what an interrupted write left there.
    async fn settle_all(&self) -> Vec<BranchSettled> {
        let told = |branch, report| BranchSettled { graph: self.name().clone(), branch, report };
        let registry = match self.catalog().registry().await {
            Ok(registry) => registry,
            Err(CatalogError::GraphDeleted(_)) => {
                // Opening the name again finishes the deletion.
                let engine = self.whole_engine();
                engine.forget(self);
                return match engine.open_graph(self.name()).await.map_err(EngineError::failure) {
                    Err(failure) if !is_graph_gone(&failure) => vec![told(BranchName::Main, Err(failure))],
                    _ => Vec::new(),
                };
            }
            Err(error) => return vec![told(BranchName::Main, Err(error.failure()))],
        };
        let live = registry.state().live_branches();
        let mut chains: Vec<Chain> = live.map(BranchRow::chain_of_versions).collect();
        chains.insert(0, self.catalog().main_chain());
        let settled = stream::iter(chains).map(|chain| async move {
            let report = self.settle_chain(&chain, None).await;
            told(chain.name, report)
        });
        settled.buffered(CONCURRENCY).collect().await
    }
}

impl Engine {
    /// Looks at every branch of every graph once and settles what an interrupted write left. One failure is reported and stops no other.
    pub async fn settle_all(&self) -> Vec<BranchSettled> {
        let entries = match self.list_names().await {
            Ok(entries) => entries,
            Err(error) => {
                tracing::error!(%error, "list graphs to settle them");
                return Vec::new();
            }
        };
        let settled = stream::iter(entries).map(|name| async move {
            match self.graph(&name).await {
                // In a task of its own: whatever happens to it ends no server.
                Ok(graph) => tokio::spawn(async move { graph.settle_all().await }).await.unwrap_or_else(|error| {
                    let failure = Failure::new(Problem::Internal, "looking for interrupted writes broke off");
                    let report = Err(failure.with_source(error));
                    vec![BranchSettled { graph: name, branch: BranchName::Main, report }]
                }),
                // Deleted, and its name taken away just now.
                Err(failure) if is_graph_gone(&failure) => Vec::new(),
                Err(failure) => {
                    vec![BranchSettled { graph: name, branch: BranchName::Main, report: Err(failure) }]
                }
            }
        });
        settled.buffered(CONCURRENCY).collect::<Vec<_>>().await.into_iter().flatten().collect()
    }
}
