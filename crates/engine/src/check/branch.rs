//! The condition of one branch, as findings.

use omnigraph_catalog::Chain;
use omnigraph_commit::{
    BranchCondition, Damage, Decision, IntentCondition, Standing, TableCondition, inspect, repair_command,
};
use omnigraph_types::{BranchName, CheckFinding, CheckKind, GraphName};

use crate::check::checker::{Checker, Stopped};
use crate::error::is_damaged;
use crate::transactions::found_transactions;

/// Milliseconds of a second.
const SECOND_MS: u64 = 1_000;

impl Checker {
    /// Checks one live branch.
    pub(super) async fn branch(&mut self, chain: &Chain) -> Result<(), Stopped> {
        self.progress(format!("branch {}", chain.name), self.summary.branches, 0).await?;
        self.summary.branches += 1;
        let condition = match inspect(&self.catalog, chain).await {
            Ok(condition) => condition,
            Err(failure) if is_damaged(&failure) => {
                return self.broken_branch(chain, failure.message).await;
            }
            Err(failure) => return Err(failure.into()),
        };
        let damaged = condition.tables.iter().filter_map(|table| match table.standing {
            Standing::Damaged { version, .. } => Some(table.pinned.tree_ref().at(version)),
            Standing::Level | Standing::Pending | Standing::Occupied(_) => None,
        });
        self.reported.extend(damaged);
        let now_ms = self.catalog.clock().wall_ms();
        for finding in findings(self.catalog.name(), &chain.name, &condition, now_ms) {
            self.report(finding).await?;
        }
        Ok(())
    }

    async fn broken_branch(&mut self, chain: &Chain, message: String) -> Result<(), Stopped> {
        self.report(CheckFinding {
            kind: CheckKind::UnreadableVersion,
            branch: Some(chain.name.clone()),
            type_name: None,
            message,
            next: "restore the files of the graph from a backup, unless the finding says otherwise".to_owned(),
        })
        .await
    }
}

/// The findings about a branch. Pure.
fn findings(graph: &GraphName, branch: &BranchName, condition: &BranchCondition, now_ms: u64) -> Vec<CheckFinding> {
    let about = About { graph, branch };
    if condition.newest.state().retired.is_some() {
        let message = "the branch is deleted, and its name is still taken".to_owned();
        let next = "nothing: the next request that meets it gives its name back".to_owned();
        return vec![about.finding(CheckKind::RemovedBranch, None, message, next)];
    }
    let tables = condition.tables.iter().filter_map(|table| about.table(table, &condition.intent));
    about.intent(&condition.intent, now_ms).into_iter().chain(tables).collect()
}

/// What findings are about.
struct About<'a> {
    graph: &'a GraphName,
    branch: &'a BranchName,
}

impl About<'_> {
    fn finding(&self, kind: CheckKind, type_name: Option<&str>, message: String, next: String) -> CheckFinding {
        let (branch, type_name) = (Some(self.branch.clone()), type_name.map(str::to_owned));
        CheckFinding { kind, branch, type_name, message, next }
    }

    fn repair(&self) -> String {
        format!("`{}` shows and mends it", repair_command(self.graph, self.branch))
    }

    fn intent(&self, intent: &IntentCondition, now_ms: u64) -> Option<CheckFinding> {
        match intent {
            IntentCondition::Absent => None,
            IntentCondition::Pending { operation_id, writer, actor, armed_ms, would } => {
                let would = match would {
                    Decision::RollForward => "completed",
                    Decision::Abort
                    | Decision::Finished
                    | Decision::RolledBack
                    | Decision::SettleTables
                    | Decision::NeverUsed
                    | Decision::Orphaned
                    | Decision::Wait
                    | Decision::Violation => "undone",
                };
                let age = now_ms.saturating_sub(*armed_ms) / SECOND_MS;
                let message = format!(
                    "a {writer} of {actor} (operation {operation_id}) has been under way for {age} s; if its owner is gone, it will \
                     be {would}"
                );
                let next = "nothing: it ends, or the next write settles it".to_owned();
                Some(self.finding(CheckKind::PendingWrite, None, message, next))
            }
            IntentCondition::Newer(newer) => {
                let message = format!(
                    "the intent of version {} ({}) is of a kind that only a newer server knows, so nothing can be written to \
                     the branch here",
                    newer.version, newer.newer.what
                );
                let next = "upgrade this server".to_owned();
                Some(self.finding(CheckKind::UnreadableIntent, None, message, next))
            }
            IntentCondition::Unreadable(found) => {
                let message = format!(
                    "the intent of version {} cannot be read, so nothing can be written to the branch",
                    found.version
                );
                let next = match found.format {
                    Some(format) => format!(
                        "a program of storage format {format} wrote it, and can read it; else {}",
                        self.repair()
                    ),
                    None => self.repair(),
                };
                Some(self.finding(CheckKind::UnreadableIntent, None, message, next))
            }
        }
    }

    fn table(&self, table: &TableCondition, intent: &IntentCondition) -> Option<CheckFinding> {
        let (name, pinned) = (table.pinned.type_name.as_str(), table.pinned.version);
        match (&table.standing, &table.unsettled) {
            (Standing::Level, None) => None,
            (Standing::Level | Standing::Pending, Some(row)) => {
                let message = format!("an undone write (operation {}) could still touch the table", row.operation_id);
                let next = "nothing: the next write to the table puts it out of reach".to_owned();
                Some(self.finding(CheckKind::UnsettledTable, Some(name), message, next))
            }
            (Standing::Pending, None) => {
                let by = match intent {
                    IntentCondition::Pending { operation_id, .. } => format!("by operation {operation_id}"),
                    IntentCondition::Newer(_) => "by a newer server".to_owned(),
                    IntentCondition::Absent | IntentCondition::Unreadable(_) => "by a restore of it".to_owned(),
                };
                let message = format!("the table is ahead of its pinned version {pinned}, {by}");
                let next = "nothing: the next write to the table settles it".to_owned();
                Some(self.finding(CheckKind::TableAhead, Some(name), message, next))
            }
            (Standing::Occupied(_), _) => {
                let found = found_transactions(table);
                let first = found.first().map(|one| {
                    format!(
                        "transaction {} ({}, {}) at version {}",
                        one.transaction,
                        one.kind,
                        change(one.rows_change),
                        one.version
                    )
                });
                let message = format!(
                    "{} of others than the graph behind version {pinned}, the first being {}",
                    commits(table.undone().len()),
                    first.unwrap_or_default()
                );
                Some(self.finding(CheckKind::OccupiedTable, Some(name), message, self.repair()))
            }
            (Standing::Damaged { version, damage }, _) => {
                let what = match damage {
                    Damage::Missing => "is missing",
                    Damage::Unreadable => "cannot be read",
                    Damage::TooMany => "is one of more than a thousand behind the pinned one",
                };
                let next = match damage {
                    // No commit names what lies behind the pin.
                    Damage::Unreadable if *version > pinned => format!(
                        "move the object {} out of the root, then writes to the table go on; other tables go on",
                        table.pinned.tree_ref().at(*version).manifest()
                    ),
                    Damage::Missing | Damage::Unreadable | Damage::TooMany => {
                        "restore the files of the table from a backup; other tables go on".to_owned()
                    }
                };
                Some(self.finding(CheckKind::DamagedTable, Some(name), format!("version {version} {what}"), next))
            }
        }
    }
}

fn commits(number: usize) -> String {
    if number == 1 { "a commit".to_owned() } else { format!("{number} commits") }
}

/// A change of a number of rows, in words.
fn change(rows: i64) -> String {
    let unit = if rows.unsigned_abs() == 1 { "row" } else { "rows" };
    match rows {
        0 => "as many rows".to_owned(),
        1.. => format!("{rows} {unit} more"),
        _ => format!("{} {unit} less", rows.unsigned_abs()),
    }
}
