//! The condition of a branch: the intent after its newest version, and the versions after its pins. It reads and changes nothing.

use futures::future::try_join_all;
use omnigraph_catalog::{Catalog, Chain, Snapshot};
use omnigraph_types::{Failure, OperationId, WriterName};

use crate::answer::answer_read;
use crate::condition::{Looked, TableCondition, look};
use crate::decide::{Decision, Owner, SlotState, decide};
use crate::error::CommitError;
use crate::intent::{Intent, NewerIntent, Unreadable};
use crate::ticket::IntentSlot;

/// The intent for the version after a branch's newest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntentCondition {
    /// There is none.
    Absent,
    /// A write that is under way, or was interrupted.
    Pending {
        /// The operation.
        operation_id: OperationId,
        /// The writer.
        writer: WriterName,
        /// Who asked for it.
        actor: String,
        /// When it was put, by its owner's clock.
        armed_ms: u64,
        /// What a rescuer would do once the owner counts as gone.
        would: Decision,
    },
    /// An intent that only a newer server knows whole.
    Newer(NewerIntent),
    /// An object that is no intent.
    Unreadable(Unreadable),
}

/// The condition of a branch.
#[derive(Debug, Clone)]
pub struct BranchCondition {
    /// Its newest version.
    pub newest: Snapshot,
    /// The intent for the version after it.
    pub intent: IntentCondition,
    /// Its tables, by id.
    pub tables: Vec<TableCondition>,
}

/// Reads the condition of a branch through a catalog of one's own.
pub async fn inspect(catalog: &Catalog, chain: &Chain) -> Result<BranchCondition, Failure> {
    answer_read(condition(catalog, chain).await)
}

async fn condition(catalog: &Catalog, chain: &Chain) -> Result<BranchCondition, CommitError> {
    let Looked { newest, slot, tables } = look(catalog, chain, &[]).await?;
    let intent = match slot {
        IntentSlot::Empty => IntentCondition::Absent,
        IntentSlot::Held { intent, .. } => pending_condition(catalog, *intent).await?,
        IntentSlot::Newer(newer) => IntentCondition::Newer(newer),
        IntentSlot::Unreadable(found) => IntentCondition::Unreadable(found),
    };
    Ok(BranchCondition { newest, intent, tables })
}

async fn pending_condition(catalog: &Catalog, intent: Intent) -> Result<IntentCondition, CommitError> {
    let observations = try_join_all(intent.effects.iter().map(|effect| effect.observe(catalog.store()))).await?;
    Ok(IntentCondition::Pending {
        would: decide(SlotState::Free, &observations, Owner::Gone),
        operation_id: intent.operation_id(),
        writer: intent.writer,
        actor: intent.actor,
        armed_ms: intent.armed_ms,
    })
}
