//! How a branch stands: what is pending behind its newest version, and what stands behind its pins. It reads and changes nothing.

use futures::future::try_join_all;
use omnigraph_catalog::{Catalog, Chain, Snapshot};
use omnigraph_types::{Failure, OperationId};

use crate::condition::{Looked, TableCondition, look};
use crate::decide::{Decision, Owner, SlotState, decide};
use crate::error::CommitError;
use crate::intent::{Intent, IntentSlot, Unreadable};

/// The intent behind the newest version of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntentCondition {
    /// There is none.
    Absent,
    /// A write that is under way, or was interrupted.
    Pending {
        /// The operation.
        operation_id: OperationId,
        /// The kind of writer.
        writer: String,
        /// Who asked for it.
        actor: String,
        /// When it was put, by its owner's clock.
        armed_ms: u64,
        /// What a rescuer would do once the owner counts as gone.
        would: Decision,
    },
    /// An object that is no intent.
    Unreadable(Unreadable),
}

/// How a branch stands.
#[derive(Debug, Clone)]
pub struct BranchCondition {
    /// Its newest version.
    pub newest: Snapshot,
    /// What is pending behind it.
    pub intent: IntentCondition,
    /// Its tables, by id.
    pub tables: Vec<TableCondition>,
}

/// Looks at a branch through a catalog of one's own.
pub async fn inspect(catalog: &Catalog, chain: &Chain) -> Result<BranchCondition, Failure> {
    condition(catalog, chain).await.map_err(CommitError::into_failure)
}

async fn condition(catalog: &Catalog, chain: &Chain) -> Result<BranchCondition, CommitError> {
    let Looked { newest, slot, tables } = look(catalog, chain, &[]).await?;
    let intent = match slot {
        IntentSlot::Empty => IntentCondition::Absent,
        IntentSlot::Held { intent, .. } => pending_condition(catalog, *intent).await?,
        IntentSlot::Unreadable(found) => IntentCondition::Unreadable(found),
    };
    Ok(BranchCondition { newest, intent, tables })
}

async fn pending_condition(catalog: &Catalog, intent: Intent) -> Result<IntentCondition, CommitError> {
    let observations = try_join_all(intent.effects.iter().map(|effect| effect.observe(catalog.store()))).await?;
    Ok(IntentCondition::Pending {
        would: decide(SlotState::Free, &observations, Owner::Gone),
        operation_id: intent.operation_id,
        writer: intent.writer,
        actor: intent.actor,
        armed_ms: intent.armed_ms,
    })
}
