//! Settling a branch: whatever interrupted writes left is finished or undone, by anybody, from what is stored.

use omnigraph_catalog::Chain;
use omnigraph_types::{OperationId, RequestEffect};
use tokio::time::Instant;

use crate::context::Context;
use crate::decide::Decision;
use crate::delete_branch::finish_removal;
use crate::error::CommitError;
use crate::fence::settle_tables;
use crate::rescue::wait_for;
use crate::rounds::Rounds;
use crate::ticket::{self, IntentSlot};

/// What settling a branch found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettleReport {
    /// Operations whose intents were decided, with the decision.
    pub decided: Vec<(OperationId, Decision)>,
    /// Tables moved onto a fence.
    pub tables_fenced: usize,
}

/// Settles everything pending on a branch, for the request with this effect.
///
/// A table that needs repair keeps neither the other tables nor an interrupted write from being settled; it is reported at the end.
pub(crate) async fn settle(
    context: &Context,
    chain: &Chain,
    deadline: Instant,
    effect: &RequestEffect,
) -> Result<SettleReport, CommitError> {
    let entered = context.enter(chain.branch_id, deadline).await;
    let gate = entered.ok_or(CommitError::Deadline)?;
    let mut report = SettleReport::default();
    let mut refused = None;
    let mut rounds = Rounds::of_rescue();
    loop {
        rounds.begin()?;
        let newest = context.catalog().newest_of(chain).await?;
        if let Some(retired) = &newest.state().retired {
            drop(gate);
            finish_removal(context, chain, retired, deadline).await?;
            return Ok(report);
        }
        if !newest.state().unsettled.is_empty() && refused.is_none() {
            match settle_tables(context, &gate, chain, deadline, effect).await {
                Ok(fenced) => report.tables_fenced += fenced,
                Err(error @ CommitError::Occupied { .. }) => refused = Some(error),
                Err(error) if error.is_lasting() => refused = Some(error),
                Err(error) => return Err(error),
            }
            continue;
        }
        match ticket::read(context.catalog(), newest.branch_id(), newest.version().next()).await? {
            IntentSlot::Empty => return refused.map_or(Ok(report), Err),
            IntentSlot::Newer(newer) => return Err(CommitError::newer_intent(&chain.name, &newer)),
            IntentSlot::Unreadable(found) => {
                return Err(CommitError::IntentUnreadable { site: context.site(chain), version: found.version });
            }
            IntentSlot::Held { intent, .. } => {
                let (operation, version) = (intent.operation_id(), intent.version());
                let decision = wait_for(context, &gate, chain, version, deadline, effect).await?;
                // Its tables, if it was undone, are settled as well.
                refused = None;
                report.decided.extend(decision.map(|decision| (operation, decision)));
            }
        }
    }
}
