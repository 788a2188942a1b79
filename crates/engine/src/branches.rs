//! The branches of a graph: create, show, list, delete.

use futures::{StreamExt, TryFutureExt, TryStreamExt, stream};
use omnigraph_catalog::{BranchRow, Chain, Snapshot};
use omnigraph_commit::{BranchOutcome, BranchRequest, BranchSource, WriteMode};
use omnigraph_types::{BranchId, BranchName, CommitId, Failure, OperationId};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::deletion::on_current;
use crate::engine::is_damaged;
use crate::error::{EngineError, Result};
use crate::graph::{Graph, ReadAt};
use crate::load::{ValidateOnly, hex};

/// Branches looked at, at once.
const CONCURRENCY: usize = 8;

/// A request for a new branch.
#[derive(Debug, Clone)]
pub struct CreateBranch {
    /// Its name.
    pub name: BranchName,
    /// What it is made from.
    pub source: ReadAt,
    /// The idempotency key; minted if none.
    pub operation_id: Option<OperationId>,
    /// Go on only if the source's head is still this commit.
    pub expected_head: Option<CommitId>,
    /// Whether to do it.
    pub validate_only: ValidateOnly,
    /// Who asks.
    pub actor: String,
    /// When to give up.
    pub deadline: Option<Instant>,
}

/// A request to remove a branch.
#[derive(Debug, Clone)]
pub struct DeleteBranch {
    /// Its name.
    pub name: BranchName,
    /// The idempotency key; minted if none.
    pub operation_id: Option<OperationId>,
    /// Go on only if the branch's head is still this commit.
    pub expected_head: Option<CommitId>,
    /// Whether to do it.
    pub validate_only: ValidateOnly,
    /// Who asks.
    pub actor: String,
    /// When to give up.
    pub deadline: Option<Instant>,
}

/// One branch, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchInfo {
    /// Its name.
    pub name: BranchName,
    /// Its identity; a later branch of the same name has another.
    pub id: BranchId,
    /// Its head.
    pub head: CommitId,
    /// What it was made from, by the name that the source had; none for main.
    pub source: Option<BranchName>,
    /// The commit it began at; none for main.
    pub source_commit: Option<CommitId>,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// Hash of the schema it carries.
    pub schema_hash: String,
}

/// The answer to a request about a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchReceipt {
    /// The operation.
    pub operation_id: OperationId,
    /// The branch, where one was made.
    pub branch: Option<BranchInfo>,
}

fn mode(validate_only: ValidateOnly) -> WriteMode {
    match validate_only {
        ValidateOnly::No => WriteMode::Commit,
        ValidateOnly::Yes => WriteMode::ValidateOnly,
    }
}

impl Graph {
    /// Creates a branch: what it costs does not depend on what the graph holds.
    pub async fn create_branch(&self, request: CreateBranch) -> Result<BranchReceipt, Failure> {
        on_current!(self, graph => graph.make_branch(request.clone()))
    }

    async fn make_branch(&self, request: CreateBranch) -> Result<BranchReceipt, Failure> {
        let CreateBranch { name, source, operation_id, expected_head, validate_only, actor, deadline } = request;
        let operation_id = operation_id.unwrap_or_else(|| OperationId(self.engine().clock.mint()));
        let (source, digest_of_source) = match source {
            ReadAt::Branch(branch) => (BranchSource::Branch(branch.clone()), format!("branch {branch}")),
            ReadAt::Commit(commit) => (BranchSource::Commit(commit), format!("commit {commit}")),
            ReadAt::BranchAtTime { branch, time_ms } => {
                let text = format!("time {time_ms} {branch}");
                (BranchSource::BranchAtTime { branch, time_ms }, text)
            }
        };
        let digest = self.branch_digest("create", &name, &digest_of_source);
        let mode = mode(validate_only);
        let request = BranchRequest { operation_id, digest, actor, name, expected_head, deadline, mode };
        let branch = match self.committer().create_branch(&request, &source).await? {
            // A fresh branch's head is the commit that it began at.
            BranchOutcome::Done(row) => Some(self.describe_row(&row, row.source_commit).await?),
            BranchOutcome::Replayed(row) => Some(self.info_of(&row).await?),
            BranchOutcome::Validated => None,
        };
        Ok(BranchReceipt { operation_id, branch })
    }

    /// Deletes a branch. Branches made from it stay readable; reads of its commits go on as long as they are retained.
    pub async fn delete_branch(&self, request: DeleteBranch) -> Result<BranchReceipt, Failure> {
        on_current!(self, graph => graph.end_branch(request.clone()))
    }

    async fn end_branch(&self, request: DeleteBranch) -> Result<BranchReceipt, Failure> {
        let DeleteBranch { name, operation_id, expected_head, validate_only, actor, deadline } = request;
        if name == BranchName::Main {
            let reason = "main is the branch that every graph has: delete the graph instead".to_owned();
            return Err(EngineError::InvalidRequest { field: "branch", reason }.failure());
        }
        let operation_id = operation_id.unwrap_or_else(|| OperationId(self.engine().clock.mint()));
        let digest = self.branch_digest("delete", &name, "");
        let mode = mode(validate_only);
        let request = BranchRequest { operation_id, digest, actor, name, expected_head, deadline, mode };
        match self.committer().delete_branch(&request).await? {
            BranchOutcome::Done(_) | BranchOutcome::Replayed(_) | BranchOutcome::Validated => {}
        }
        Ok(BranchReceipt { operation_id, branch: None })
    }

    /// What makes a request about a branch the same request.
    fn branch_digest(&self, what: &str, name: &BranchName, source: &str) -> String {
        let mut out = Sha256::new();
        for part in ["omnigraph branch 1", what, &self.id().to_string(), name.as_str(), source] {
            out.update((part.len() as u64).to_be_bytes());
            out.update(part.as_bytes());
        }
        hex(&out.finalize())
    }

    /// One branch by name.
    pub async fn branch(&self, name: &BranchName) -> Result<BranchInfo, Failure> {
        on_current!(self, graph => graph.show_branch(name).map_err(Failure::from))
    }

    async fn show_branch(&self, name: &BranchName) -> Result<BranchInfo> {
        let newest = self.catalog().newest(name).await?;
        if *name == BranchName::Main {
            return Ok(self.main_info(&newest));
        }
        self.describe_branch(&newest).await
    }

    /// Live branches whose names follow `after`, main first, then by name; at most `most`.
    pub async fn list_branches(&self, after: Option<&BranchName>, most: usize) -> Result<Vec<BranchInfo>, Failure> {
        on_current!(self, graph => graph.page_of_branches(after, most).map_err(Failure::from))
    }

    async fn page_of_branches(&self, after: Option<&BranchName>, most: usize) -> Result<Vec<BranchInfo>> {
        let registry = self.catalog().registry().await?;
        let live = registry.state().live_branches();
        let mut rows: Vec<&BranchRow> = live.filter(|row| after.is_none_or(|after| row.name > *after)).collect();
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        let chains = rows.into_iter().map(BranchRow::chain_of_versions).collect::<Vec<Chain>>();
        let infos = stream::iter(chains).map(|chain| async move {
            let newest = match self.catalog().newest_of(&chain).await.map_err(|error| error.failure()) {
                Ok(newest) => newest,
                // One branch that cannot be read hides no other; a check tells of it.
                Err(failure) if is_damaged(&failure) => {
                    tracing::error!(branch = %chain.name, message = %failure.message, "a branch cannot be listed");
                    return Ok(None);
                }
                Err(failure) => return Err(failure.into()),
            };
            match newest.state().retired {
                Some(_) => Ok(None),
                None => self.describe_branch(&newest).await.map(Some),
            }
        });
        let main = after.is_none().then(|| self.main_info(&registry));
        let rest = infos.buffered(CONCURRENCY).try_filter_map(|info| async move { Ok::<_, EngineError>(info) });
        let rest = rest.take(most.saturating_sub(main.iter().len()));
        let rest: Vec<BranchInfo> = rest.try_collect().await?;
        Ok(main.into_iter().chain(rest).take(most).collect())
    }

    fn main_info(&self, newest: &Snapshot) -> BranchInfo {
        BranchInfo {
            name: BranchName::Main,
            id: newest.branch_id(),
            head: newest.head(),
            source: None,
            source_commit: None,
            created_ms: self.created_ms(),
            schema_hash: newest.schema_hash().to_owned(),
        }
    }

    async fn info_of(&self, row: &BranchRow) -> Result<BranchInfo> {
        let newest = self.catalog().newest_of(&row.chain_of_versions()).await?;
        self.describe_row(row, newest.head()).await
    }

    async fn describe_branch(&self, newest: &Snapshot) -> Result<BranchInfo> {
        let registry = match self.catalog().known(self.catalog().main_branch_id()) {
            Some(known) if known.state().branches.contains_key(&newest.branch_id()) => known,
            _ => self.catalog().registry().await?,
        };
        let row = registry.state().branches.get(&newest.branch_id());
        let row = row.ok_or(EngineError::Defect("a branch that was found by name is not registered"))?;
        self.describe_row(row, newest.head()).await
    }

    async fn describe_row(&self, row: &BranchRow, head: CommitId) -> Result<BranchInfo> {
        Ok(BranchInfo {
            name: row.name.clone(),
            id: row.branch_id,
            head,
            source: Some(self.catalog().chain(row.source).await?.name),
            source_commit: Some(row.source_commit),
            created_ms: row.created_ms,
            schema_hash: row.schema_hash.clone(),
        })
    }
}
