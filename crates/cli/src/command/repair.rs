//! `repair`.

use std::fmt::Write as _;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use omnigraph_client::{
    Client, Confirmation, FoundTransaction, Repair, RepairReport, RepairState, TableDamage, TableToRepair,
};
use omnigraph_types::{BranchName, GraphName, OperationId};
use serde_json::{Value, json};

use super::values::parse_id;
use super::{Outcome, Session};
use crate::error::{Change, CliError};
use crate::output::{Output, count, print_record, rows};
use crate::shell::shell;

/// Shown below the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  omnigraph repair airline                                what blocks writes, and a confirmation
  omnigraph repair airline --confirm 0123456789abcdef     do exactly that
  omnigraph repair airline --branch trial --table Airport only one table

Interrupted writes need no repair: they settle themselves. Two things do need a person:
  an intent that cannot be read   its write is undone, and may be sent again
  commits of a table that are     they are undone by a restore of the version that the graph
  not the graph's own             names; rows of the graph itself are never lost
A confirmation fits what was shown and nothing else: if something changed since, nothing is
done. Nothing brings undone rows back into the graph.";

/// `repair`
#[derive(Debug, Args)]
pub(crate) struct RepairArguments {
    /// The graph
    graph: GraphName,
    /// The branch
    #[arg(long, default_value = "main")]
    branch: BranchName,
    /// Only the table of this type; may be given several times
    #[arg(long = "table", value_name = "TYPE")]
    tables: Vec<String>,
    /// Do what was shown with this confirmation; without it nothing is done
    #[arg(long, value_name = "TOKEN", value_parser = NonEmptyStringValueParser::new())]
    confirm: Option<String>,
    /// Idempotency key, to send a confirmed repair again whose answer was lost
    #[arg(long, value_name = "ULID", value_parser = parse_id::<OperationId>)]
    operation_id: Option<OperationId>,
}

/// Shows what blocks writes, or repairs what was confirmed.
pub(crate) async fn run(session: &Session, arguments: RepairArguments) -> Result<Outcome, CliError> {
    let RepairArguments { graph, branch, tables, confirm, operation_id } = arguments;
    let operation_id = operation_id.unwrap_or_else(Client::mint_operation_id);
    let confirmation = confirm.map_or(Confirmation::None, Confirmation::Given);
    let repair = Repair { branch, types: tables, operation_id: Some(operation_id), confirmation };
    let failed = |error| match repair.confirmation {
        Confirmation::Given(_) => CliError::Change { error, change: Change::Repair, operation_id },
        Confirmation::None => CliError::Read(error),
    };
    let report = session.client.repair(&graph, repair.clone()).await.map_err(failed)?;
    let asked = Asked { graph, repair };
    session.print(|out| match session.output {
        Output::Table => Ok(out.write_all(repair_text(&asked, &report).as_bytes())?),
        Output::Json | Output::Csv => print_record(session.output, &repair_fields(&asked, &report), out),
    })?;
    Ok(repair_outcome(&report))
}

/// What was asked for.
struct Asked {
    graph: GraphName,
    repair: Repair,
}

/// A preview is done when it is shown; a repair is not done while something still blocks writes.
fn repair_outcome(report: &RepairReport) -> Outcome {
    match report.state {
        RepairState::Impossible | RepairState::Newer => Outcome::NeedsPerson,
        RepairState::Nothing | RepairState::Preview | RepairState::Done if report.types_left.is_empty() => {
            Outcome::Done
        }
        RepairState::Nothing | RepairState::Preview | RepairState::Done => Outcome::NeedsPerson,
    }
}

fn state_name(state: RepairState) -> &'static str {
    match state {
        RepairState::Nothing => "nothing to repair",
        RepairState::Preview => "not confirmed",
        RepairState::Done => "done",
        RepairState::Impossible => "impossible",
        RepairState::Newer => "newer",
    }
}

fn repair_fields(asked: &Asked, report: &RepairReport) -> Vec<(&'static str, Value)> {
    let found = |found: &FoundTransaction| {
        json!({
            "version": found.version.0,
            "transaction": found.transaction,
            "kind": found.kind.to_string(),
            "rows_change": found.rows_change,
            "operation": found.operation_id.map(|id| id.to_string()),
        })
    };
    let table = |table: &TableToRepair| {
        json!({
            "type": table.type_name,
            "pinned": table.pinned.0,
            "transactions": table.transactions.iter().map(found).collect::<Vec<_>>(),
            "transactions_total": table.transactions_total,
            "damaged_version": table.damage.map(|(version, _)| version.0),
        })
    };
    let intent = report.intent.map(|found| json!({ "version": found.version.0, "format": found.format }));
    vec![
        ("graph", json!(asked.graph)),
        ("branch", json!(asked.repair.branch.as_str())),
        ("state", json!(state_name(report.state))),
        ("version", json!(report.version.0)),
        ("intent", json!(intent)),
        ("tables", json!(report.tables.iter().map(table).collect::<Vec<_>>())),
        ("tables_fenced", json!(report.tables_fenced)),
        ("left", json!(report.types_left)),
        ("confirm", json!(report.confirmation)),
        ("operation", json!(report.operation_id.to_string())),
    ]
}

/// What a person reads, with the command that comes next.
fn repair_text(asked: &Asked, report: &RepairReport) -> String {
    let branch = &asked.repair.branch;
    let (would, would_all) = match report.state {
        RepairState::Done => ("is", "are"),
        RepairState::Nothing | RepairState::Preview | RepairState::Impossible | RepairState::Newer => {
            ("would be", "would be")
        }
    };
    let mut text = String::new();
    if let Some(found) = report.intent {
        let version = found.version;
        let _ = writeln!(
            text,
            "the intent of version {version} on branch {branch} cannot be read: its write {would} undone"
        );
        if let Some(format) = found.format {
            let _ =
                writeln!(text, "  a program of storage format {format} wrote it: that program can settle it instead");
        }
    }
    for table in &report.tables {
        table_text(table, would, &mut text);
    }
    if report.tables_fenced > 0 {
        let _ = writeln!(
            text,
            "further tables: {}, which {would_all} put out of reach of that write and keep their rows",
            count(report.tables_fenced)
        );
    }
    for name in &report.types_left {
        let _ = writeln!(text, "{name}: not restored: a newer commit blocks it, or its version is damaged");
    }
    let _ = match (report.state, &report.confirmation) {
        (RepairState::Nothing, _) => writeln!(text, "nothing blocks writes to branch {branch}"),
        (RepairState::Preview, Some(confirmation)) => {
            writeln!(text, "nothing was done; to do exactly this:\n  {}", confirm_command(asked, confirmation))
        }
        (RepairState::Done, _) => writeln!(text, "done: version {} of branch {branch} records it", report.version),
        (RepairState::Impossible, _) => writeln!(
            text,
            "nothing that is stored can repair this: `omnigraph check {}` says what to do for each table; other tables can be written",
            asked.graph
        ),
        (RepairState::Newer, _) => {
            writeln!(text, "the server answered with a state that only a newer program knows: upgrade this one")
        }
        (RepairState::Preview, None) => writeln!(text, "nothing was done, and the server sent no confirmation"),
    };
    text
}

fn table_text(table: &TableToRepair, would: &str, text: &mut String) {
    let (name, pinned) = (&table.type_name, table.pinned);
    if let Some((version, damage)) = table.damage {
        let what = match damage {
            TableDamage::Missing => "is missing",
            TableDamage::Unreadable => "cannot be read",
            TableDamage::Newer => "is damaged in a way that only a newer program knows",
            TableDamage::TooMany => "is one of more than a thousand after the pinned one",
        };
        let _ = writeln!(text, "{name}: version {version} {what}");
    }
    for found in &table.transactions {
        let FoundTransaction { version, transaction, kind, rows_change, .. } = found;
        let change = match rows_change {
            0 => "as many rows".to_owned(),
            1.. => format!("{} more", rows(rows_change.unsigned_abs())),
            _ => format!("{} less", rows(rows_change.unsigned_abs())),
        };
        let _ = writeln!(
            text,
            "{name}: transaction {transaction} ({kind}, {change}) at version {version} {would} undone by a restore of version \
             {pinned}"
        );
    }
    let more = table.transactions_total.saturating_sub(table.transactions.len() as u64);
    if more > 0 {
        let _ = writeln!(text, "{name}: and {} more transactions, undone too", count(more));
    }
}

fn confirm_command(Asked { graph, repair }: &Asked, confirmation: &str) -> String {
    let branch = match &repair.branch {
        BranchName::Main => String::new(),
        BranchName::Named(_) => format!(" --branch {}", shell(repair.branch.as_str())),
    };
    let tables: String = repair.types.iter().map(|name| format!(" --table {}", shell(name))).collect();
    format!("omnigraph repair {graph}{branch}{tables} --confirm {confirmation}")
}

#[cfg(test)]
mod tests;
