//! A publication, as an intent holds it whole.

use omnigraph_types::{
    AttemptId, BranchId, BranchName, CommitId, GraphVersion, OperationId, TableId, TableVersion, TreeId,
};
use serde::{Deserialize, Serialize};

use super::branch::{BranchBody, RetentionBody, RetiredBody};
use super::kinds::PublicationKind;
use super::lineage::{CommitBody, DecisionBody, OperationsBody};
use super::recovery::{RecoveryBody, UnsettledBody};
use super::table::TableBody;
use crate::newer::{Noticed, Reading};
use crate::publication as memory;

/// Something that must hold at version N.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "precondition", rename_all = "snake_case", deny_unknown_fields)]
enum PreconditionBody {
    ExactHead {
        commit_id: CommitId,
    },
    SchemaIs {
        hash: String,
    },
    PinIs {
        table: TableId,
        tree: Option<TreeId>,
        version: TableVersion,
    },
    OperationUnseen {
        operation_id: OperationId,
    },
    NameFree {
        name: BranchName,
    },
    BranchLive {
        branch_id: BranchId,
    },
    NoOtherBranches,
    CommitRetained {
        commit_id: CommitId,
        branch_id: BranchId,
        version: GraphVersion,
    },
    #[serde(other, skip_serializing)]
    Newer,
}

impl From<&memory::Precondition> for PreconditionBody {
    fn from(precondition: &memory::Precondition) -> Self {
        match precondition.clone() {
            memory::Precondition::ExactHead(commit_id) => Self::ExactHead { commit_id },
            memory::Precondition::SchemaIs(hash) => Self::SchemaIs { hash },
            memory::Precondition::PinIs { table, tree, version } => Self::PinIs { table, tree, version },
            memory::Precondition::OperationUnseen(operation_id) => Self::OperationUnseen { operation_id },
            memory::Precondition::NameFree(name) => Self::NameFree { name },
            memory::Precondition::BranchLive(branch_id) => Self::BranchLive { branch_id },
            memory::Precondition::NoOtherBranches => Self::NoOtherBranches,
            memory::Precondition::CommitRetained { commit, branch_id, version } => {
                Self::CommitRetained { commit_id: commit, branch_id, version }
            }
        }
    }
}

impl PreconditionBody {
    fn read(self, noticed: &mut Noticed) -> Option<memory::Precondition> {
        Some(match self {
            Self::ExactHead { commit_id } => memory::Precondition::ExactHead(commit_id),
            Self::SchemaIs { hash } => memory::Precondition::SchemaIs(hash),
            Self::PinIs { table, tree, version } => memory::Precondition::PinIs { table, tree, version },
            Self::OperationUnseen { operation_id } => memory::Precondition::OperationUnseen(operation_id),
            Self::NameFree { name } => memory::Precondition::NameFree(name),
            Self::BranchLive { branch_id } => memory::Precondition::BranchLive(branch_id),
            Self::NoOtherBranches => memory::Precondition::NoOtherBranches,
            Self::CommitRetained { commit_id, branch_id, version } => {
                memory::Precondition::CommitRetained { commit: commit_id, branch_id, version }
            }
            Self::Newer => {
                noticed.notice("a precondition");
                return None;
            }
        })
    }
}

/// A new pin for one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PinBody {
    table: TableId,
    tree: Option<TreeId>,
    owner: BranchId,
    version: TableVersion,
    row_count: u64,
    content_commit: CommitId,
}

impl From<&memory::PinChange> for PinBody {
    fn from(pin: &memory::PinChange) -> Self {
        let memory::PinChange { table, tree, owner, version, row_count, content_commit } = pin.clone();
        Self { table, tree, owner, version, row_count, content_commit }
    }
}

impl From<PinBody> for memory::PinChange {
    fn from(body: PinBody) -> Self {
        let PinBody { table, tree, owner, version, row_count, content_commit } = body;
        Self { table, tree, owner, version, row_count, content_commit }
    }
}

/// One thing that a version changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case", deny_unknown_fields)]
enum ChangeBody {
    Commit(CommitBody),
    Schema {
        hash: String,
    },
    TableAdded(TableBody),
    TableDropped {
        table: TableId,
    },
    TableRenamed {
        table: TableId,
        type_name: String,
    },
    Pin(PinBody),
    UnsettledAdded(UnsettledBody),
    UnsettledRemoved {
        attempt_id: AttemptId,
        table: TableId,
    },
    Recovery(RecoveryBody),
    Branch(BranchBody),
    Retired(RetiredBody),
    Retention(RetentionBody),
    #[serde(other, skip_serializing)]
    Newer,
}

impl From<&memory::Change> for ChangeBody {
    fn from(change: &memory::Change) -> Self {
        match change {
            memory::Change::Commit(row) => Self::Commit(row.into()),
            memory::Change::Schema { hash } => Self::Schema { hash: hash.clone() },
            memory::Change::TableAdded(row) => Self::TableAdded(row.into()),
            memory::Change::TableDropped { table } => Self::TableDropped { table: *table },
            memory::Change::TableRenamed { table, type_name } => {
                Self::TableRenamed { table: *table, type_name: type_name.clone() }
            }
            memory::Change::Pin(pin) => Self::Pin(pin.into()),
            memory::Change::UnsettledAdded(row) => Self::UnsettledAdded(row.into()),
            memory::Change::UnsettledRemoved { attempt_id, table } => {
                Self::UnsettledRemoved { attempt_id: *attempt_id, table: *table }
            }
            memory::Change::Recovery(row) => Self::Recovery(row.into()),
            memory::Change::Branch(row) => Self::Branch(row.into()),
            memory::Change::Retired(row) => Self::Retired(row.into()),
            memory::Change::Retention(row) => Self::Retention(row.into()),
        }
    }
}

impl ChangeBody {
    fn read(self, noticed: &mut Noticed) -> Option<memory::Change> {
        Some(match self {
            Self::Commit(body) => memory::Change::Commit(body.read(noticed)),
            Self::Schema { hash } => memory::Change::Schema { hash },
            Self::TableAdded(body) => memory::Change::TableAdded(body.read(noticed)?),
            Self::TableDropped { table } => memory::Change::TableDropped { table },
            Self::TableRenamed { table, type_name } => memory::Change::TableRenamed { table, type_name },
            Self::Pin(body) => memory::Change::Pin(body.into()),
            Self::UnsettledAdded(body) => memory::Change::UnsettledAdded(body.into()),
            Self::UnsettledRemoved { attempt_id, table } => memory::Change::UnsettledRemoved { attempt_id, table },
            Self::Recovery(body) => memory::Change::Recovery(body.read(noticed)),
            Self::Branch(body) => memory::Change::Branch(body.into()),
            Self::Retired(body) => memory::Change::Retired(body.into()),
            Self::Retention(body) => memory::Change::Retention(body.into()),
            Self::Newer => {
                noticed.notice("a change");
                return None;
            }
        })
    }
}

/// A whole publication.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publication {
    kind: PublicationKind,
    decision: DecisionBody,
    preconditions: Vec<PreconditionBody>,
    changes: Vec<ChangeBody>,
    operations: OperationsBody,
}

impl From<&memory::Publication> for Publication {
    fn from(publication: &memory::Publication) -> Self {
        Self {
            kind: publication.kind.into(),
            decision: publication.decision.into(),
            preconditions: publication.preconditions.iter().map(PreconditionBody::from).collect(),
            changes: publication.changes.iter().map(ChangeBody::from).collect(),
            operations: (&publication.operations).into(),
        }
    }
}

impl Publication {
    /// The publication, if every part of it is known.
    ///
    /// # Errors
    /// If its parts contradict each other.
    pub fn read(self) -> Result<Reading<memory::Publication>, memory::Incoherent> {
        let mut noticed = Noticed::default();
        let preconditions = self.preconditions.into_iter().filter_map(|body| body.read(&mut noticed)).collect();
        let changes = self.changes.into_iter().filter_map(|body| body.read(&mut noticed)).collect();
        let publication = memory::Publication {
            kind: self.kind.read(&mut noticed),
            decision: self.decision.read(&mut noticed),
            preconditions,
            changes,
            operations: self.operations.into(),
        };
        let reading = noticed.whole(publication);
        if let Reading::Known(publication) = &reading {
            publication.check_coherent()?;
        }
        Ok(reading)
    }
}
