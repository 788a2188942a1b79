//! The oracle of a cell: the state that a client sees, the state after every operation was sent again, and at last I-6.

use std::time::Instant;

use omnigraph_client::Client;
use omnigraph_types::{BranchName, Resource};

use crate::deed::{Deed, dev};
use crate::error::Violation;
use crate::limits::{QUIET_MAX, QUIET_POLL};
use crate::model::{Fate, Known, LoadOf, Rows, explain};
use crate::oracle::{commits_of, is_missing, quiesced, rows};
use crate::world::{MintedBy, Operation, Plain, Reply, World};

/// Whether the effect of an operation is visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Seen {
    /// The state is as it was before.
    Before,
    /// The whole effect is visible.
    After,
}

/// What the client saw first.
struct First {
    /// Of each operation.
    seen: Vec<Seen>,
    /// The rows, in the graph that existed from the start.
    rows: Option<Rows>,
}

impl World {
    /// Checks the state, then the state after every operation was sent again, then I-6. `twin` is a client of a server that has the victim's clock.
    pub(crate) async fn check(
        &self,
        next: &Client,
        twin: &Client,
        operations: &[Operation],
        plain: Plain,
    ) -> Result<Seen, Violation> {
        let first = self.look(next, operations, plain).await?;
        for operation in operations {
            let server = match operation.minted_by {
                MintedBy::Sound => next,
                MintedBy::Victim => twin,
            };
            self.resend(server, operation).await?;
        }
        let all_there = first.seen.iter().all(|seen| *seen == Seen::After);
        self.look_again(next, operations, first.rows.filter(|_| all_there)).await?;
        for branch in [BranchName::Main, dev()] {
            match next.recover(&self.graph, &branch).await {
                Err(error) if !is_missing(&error, Resource::Branch) => {
                    return Err(Violation::refused("the recovery of a branch")(error));
                }
                Ok(_) | Err(_) => {}
            }
        }
        let started = Instant::now();
        loop {
            match quiesced(self.stand.root(), &self.graph).await {
                Err(_) if started.elapsed() < QUIET_MAX => tokio::time::sleep(QUIET_POLL).await,
                outcome => break outcome?,
            }
        }
        Ok(first.seen.last().copied().unwrap_or(Seen::Before))
    }

    /// Before anything is sent again: each operation is wholly before or wholly after, as its reply states.
    async fn look(&self, next: &Client, operations: &[Operation], plain: Plain) -> Result<First, Violation> {
        let old_graph = self.found(next, &Deed::DeleteGraph).await? == Seen::Before;
        if !old_graph && plain == Plain::Written && self.plan.deed == Deed::DeleteGraph {
            return gone_with_graph(operations);
        }
        let start = if old_graph { self.start.clone() } else { Rows::default() };
        let rows = rows(next, &self.graph, &self.plan.branch).await?;
        let known = self.known(operations, |operation| operation.reply.fate());
        let Some(there) = explain(&start, &known, &rows) else {
            return Err(self.unexplained(&start, operations, rows));
        };
        let mut seen = Vec::new();
        let mut loads = 0;
        for operation in operations {
            seen.push(match &operation.deed {
                Deed::Load(..) => {
                    loads += 1;
                    if there.contains(&(loads - 1)) { Seen::After } else { Seen::Before }
                }
                deed => {
                    let found = self.found(next, deed).await?;
                    // The plain write has sent a rescuer's request for a graph again.
                    let sent_again = *deed == Deed::CreateGraph && plain == Plain::InNewGraph;
                    match (operation.reply.fate(), found, &operation.reply) {
                        (Fate::There, Seen::Before, _) => return Err(Violation::Lost { what: deed.name() }),
                        (Fate::Absent, Seen::After, Reply::Failed(failure)) if !sent_again => {
                            return Err(Violation::Ghost { what: deed.name(), failure: failure.clone() });
                        }
                        _ => found,
                    }
                }
            });
        }
        Ok(First { seen, rows: Some(rows).filter(|_| old_graph) })
    }

    /// The loads of these operations in their order, and last the plain one.
    fn known(&self, operations: &[Operation], fate: impl Fn(&Operation) -> Fate) -> Vec<Known> {
        let loads = operations.iter().filter_map(|operation| match &operation.deed {
            Deed::Load(_, load) => Some(Known { load: load.clone(), fate: fate(operation) }),
            _ => None,
        });
        let plain = LoadOf::append("plain", self.cell.tables);
        loads.chain([Known { load: plain, fate: Fate::There }]).collect()
    }

    /// The violation in rows that the replies do not explain.
    fn unexplained(&self, start: &Rows, operations: &[Operation], seen: Rows) -> Violation {
        let open = self.known(operations, |_| Fate::Open);
        let Some(there) = explain(start, &open, &seen) else {
            return Violation::Torn { when: "after the plain write", seen };
        };
        let loads = operations.iter().filter(|operation| matches!(operation.deed, Deed::Load(..)));
        for (at, operation) in loads.enumerate() {
            if let (Reply::Failed(failure), Fate::Absent, true) =
                (&operation.reply, operation.reply.fate(), there.contains(&at))
            {
                return Violation::Ghost { what: operation.deed.name(), failure: failure.clone() };
            }
        }
        Violation::Lost { what: "the load" }
    }

    /// Whether the effect of a request about a branch or the graph is visible.
    async fn found(&self, next: &Client, deed: &Deed) -> Result<Seen, Violation> {
        let (now, old, what) = match deed {
            Deed::CreateBranch | Deed::DeleteBranch => {
                let branch = next.get_branch(&self.graph, &dev()).await;
                (branch.map(|branch| branch.id.to_string()), self.dev_id.as_ref(), Resource::Branch)
            }
            Deed::CreateGraph | Deed::DeleteGraph | Deed::Load(..) => {
                let graph = next.get_graph(&self.graph).await;
                (graph.map(|graph| graph.id.to_string()), self.graph_id.as_ref(), Resource::Graph)
            }
        };
        let now = match now {
            Ok(id) => Some(id),
            Err(error) if is_missing(&error, what) => None,
            Err(error) => return Err(Violation::refused("a read of the branch or the graph")(error)),
        };
        let is_old = now.as_ref() == old;
        Ok(match deed {
            Deed::CreateBranch | Deed::CreateGraph if now.is_some() && !is_old => Seen::After,
            Deed::DeleteBranch | Deed::DeleteGraph if !is_old => Seen::After,
            _ => Seen::Before,
        })
    }

    /// Sends an operation twice more: it is applied once, and each answer is the same.
    async fn resend(&self, next: &Client, operation: &Operation) -> Result<(), Violation> {
        let what = operation.deed.name();
        let mut answers = Vec::new();
        if let Reply::Acknowledged(first) = &operation.reply {
            answers.push(first.clone());
        }
        for _ in 0..2 {
            let sent = operation.deed.send(next, &self.graph, operation.id).await;
            answers.push(sent.map_err(Violation::refused("an operation that was sent again"))?);
        }
        match answers.windows(2).find(|pair| pair[0] != pair[1]) {
            Some(pair) => Err(Violation::Answers { what, first: pair[0].clone(), then: pair[1].clone() }),
            None => Ok(()),
        }
    }

    /// After every operation was sent again: each is applied, once. `unchanged` are the rows, if all of them had been applied before.
    async fn look_again(
        &self,
        next: &Client,
        operations: &[Operation],
        unchanged: Option<Rows>,
    ) -> Result<(), Violation> {
        if self.plan.deed == Deed::DeleteGraph {
            if self.found(next, &Deed::DeleteGraph).await? == Seen::Before {
                return Err(Violation::Lost { what: Deed::DeleteGraph.name() });
            }
            // The name is free, or a new graph has it already.
            return match next.get_graph(&self.graph).await {
                Ok(_) => Ok(()),
                Err(_) => {
                    let made = Deed::CreateGraph.send(next, &self.graph, Client::mint_operation_id()).await;
                    made.map(drop).map_err(Violation::refused("a graph of the free name"))
                }
            };
        }
        for operation in operations {
            let what = operation.deed.name();
            match &operation.deed {
                Deed::Load(branch, _) => {
                    let commits = commits_of(next, &self.graph, branch, operation.id).await?;
                    if commits != 1 {
                        return Err(Violation::AppliedTimes { what, commits });
                    }
                }
                deed if self.found(next, deed).await? == Seen::Before => return Err(Violation::Lost { what }),
                _ => {}
            }
        }
        if self.plan.deed == Deed::CreateGraph {
            return Ok(());
        }
        let seen = rows(next, &self.graph, &self.plan.branch).await?;
        match unchanged {
            Some(before) if before != seen => return Err(Violation::AppliedAgain { before, after: seen }),
            _ => {}
        }
        if explain(&self.start, &self.known(operations, |_| Fate::There), &seen).is_none() {
            return Err(Violation::Torn { when: "after every operation was sent again", seen });
        }
        self.branch_works(next).await
    }

    /// A created branch takes a write, and the name of a removed one is free.
    async fn branch_works(&self, next: &Client) -> Result<(), Violation> {
        let (deed, what) = match &self.plan.deed {
            Deed::DeleteBranch => (Deed::CreateBranch, "a branch of the free name"),
            Deed::CreateBranch => {
                (Deed::Load(dev(), LoadOf::append("of use", self.cell.tables)), "a write on the new branch")
            }
            Deed::Load(..) | Deed::CreateGraph | Deed::DeleteGraph => return Ok(()),
        };
        deed.send(next, &self.graph, Client::mint_operation_id()).await.map(drop).map_err(Violation::refused(what))
    }
}

/// The graph was deleted after the plain write, and nobody has made one of its name.
fn gone_with_graph(operations: &[Operation]) -> Result<First, Violation> {
    for operation in operations {
        if let (Reply::Failed(failure), Fate::Absent) = (&operation.reply, operation.reply.fate()) {
            return Err(Violation::Ghost { what: operation.deed.name(), failure: failure.clone() });
        }
    }
    Ok(First { seen: vec![Seen::After; operations.len()], rows: None })
}
