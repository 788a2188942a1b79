//! `check` and `repair`.

use std::fmt::Write as _;

use futures::TryStreamExt;
use omnigraph_client::{
    CheckFinding, CheckPart, CheckSeverity, CheckSummary, Client, ClientError, FoundTransaction, Repair, RepairReport,
    RepairState, TableDamage, TableToRepair, UnnamedFiles,
};
use omnigraph_types::BranchName;
use serde_json::{Value, json};

use super::{Outcome, Session};
use crate::arguments::{CheckArguments, RepairArguments};
use crate::error::{Change, CliError};
use crate::output::{Output, count, print_list, print_record, rows};

/// Findings that are printed; more are counted.
const FINDINGS_MAX: usize = 1_000;

/// Looks a graph over.
pub(crate) async fn check(session: &Session, arguments: &CheckArguments) -> Result<Outcome, CliError> {
    let mut parts = session.client.check_graph(&arguments.graph, arguments.branch.as_ref()).await?;
    let mut findings = Vec::new();
    let mut summary = None;
    while let Some(part) = parts.try_next().await? {
        match part {
            CheckPart::Progress { .. } => {}
            CheckPart::Finding(finding) if findings.len() < FINDINGS_MAX => findings.push(finding),
            CheckPart::Finding(_) => {}
            CheckPart::Summary(told) => summary = Some(told),
        }
    }
    let summary = summary.ok_or(ClientError::Answer { what: "a check without a summary" })?;
    print_check(session, &findings, &summary, arguments.branch.as_ref())?;
    Ok(match (summary.needs_person, summary.mends_itself) {
        (0, 0) => Outcome::Done,
        (0, _) => Outcome::MendsItself,
        _ => Outcome::NeedsPerson,
    })
}

fn print_check(
    session: &Session,
    findings: &[CheckFinding],
    summary: &CheckSummary,
    branch: Option<&BranchName>,
) -> Result<(), CliError> {
    let columns = ["who", "branch", "type", "kind", "finding", "next"];
    let list: Vec<Vec<Value>> = findings.iter().map(finding_row).collect();
    session.print(|out| match session.output {
        Output::Json => {
            let object = |row: &Vec<Value>| columns.iter().copied().zip(row.iter().cloned()).collect::<Value>();
            let findings: Vec<Value> = list.iter().map(object).collect();
            let fields = [("findings", json!(findings)), ("summary", summary_object(summary))];
            print_record(Output::Json, &fields, out)
        }
        Output::Csv => print_list(Output::Csv, &columns, &list, out),
        Output::Table => {
            if !list.is_empty() {
                print_list(Output::Table, &columns, &list, out)?;
            }
            Ok(out.write_all(summary_text(findings.len(), summary, branch).as_bytes())?)
        }
    })
}

fn finding_row(finding: &CheckFinding) -> Vec<Value> {
    let who = match finding.severity {
        CheckSeverity::MendsItself => "mends itself",
        CheckSeverity::NeedsPerson => "needs a person",
    };
    vec![
        json!(who),
        json!(finding.branch.as_ref().map(BranchName::as_str)),
        json!(finding.type_name),
        json!(finding.kind),
        json!(finding.message),
        json!(finding.next),
    ]
}

fn summary_object(summary: &CheckSummary) -> Value {
    let unnamed =
        |one: &UnnamedFiles| json!({ "kind": one.kind, "age": one.age, "files": one.files, "bytes": one.bytes });
    json!({
        "branches": summary.branches,
        "graph_versions": summary.graph_versions,
        "table_versions": summary.table_versions,
        "mends_itself": summary.mends_itself,
        "needs_person": summary.needs_person,
        "unnamed": summary.unnamed.iter().map(unnamed).collect::<Vec<_>>(),
        "not_accounted": summary.not_accounted,
    })
}

fn summary_text(shown: usize, summary: &CheckSummary, branch: Option<&BranchName>) -> String {
    let found = summary.mends_itself + summary.needs_person;
    let verdict = match (summary.needs_person, summary.mends_itself) {
        (0, 0) => "all is well".to_owned(),
        (0, itself) => format!("findings that mend themselves: {}; none needs a person", count(itself)),
        (person, itself) => {
            format!("findings that need a person: {}; that mend themselves: {}", count(person), count(itself))
        }
    };
    let mut text = format!("{verdict}\n");
    let more = found.saturating_sub(shown as u64);
    if more > 0 {
        let _ = writeln!(text, "{} more findings are not shown", count(more));
    }
    let _ = match branch {
        Some(name) => {
            writeln!(text, "looked at: branch {name}, its versions {}; without files", count(summary.graph_versions))
        }
        None => writeln!(
            text,
            "looked at: branches {}, their versions {}, versions of tables {}",
            count(summary.branches),
            count(summary.graph_versions),
            count(summary.table_versions)
        ),
    };
    for one in &summary.unnamed {
        let age = match one.age.as_str() {
            "hour" => "within the last hour",
            "day" => "within the last day",
            "week" => "within the last week",
            _ => "earlier than a week ago",
        };
        let what = match one.kind.as_str() {
            "data" => "data files",
            "table_version" => "table versions",
            "state" => "files of versions",
            "intent" => "spent intents",
            _ => "files of unused trees",
        };
        let (files, bytes) = (count(one.files), count(one.bytes));
        let _ = writeln!(text, "named by nothing: {what} {files}, {bytes} bytes, written {age}");
    }
    if !summary.not_accounted.is_empty() {
        let _ = writeln!(text, "data files not accounted for, too many versions: {}", summary.not_accounted.join(", "));
    }
    text
}

/// Shows what stands in the way, or mends what was confirmed.
pub(crate) async fn repair(session: &Session, arguments: RepairArguments) -> Result<Outcome, CliError> {
    let RepairArguments { graph, branch, tables, confirm, operation_id } = arguments;
    let operation_id = operation_id.unwrap_or_else(Client::mint_operation_id);
    let repair = Repair { graph, branch, types: tables, operation_id, confirmation: confirm };
    let failed = |error| match repair.confirmation {
        Some(_) => CliError::Change { error, change: Change::Repair, operation_id },
        None => CliError::Read(error),
    };
    let report = session.client.repair(&repair).await.map_err(failed)?;
    session.print(|out| match session.output {
        Output::Table => Ok(out.write_all(repair_text(&repair, &report).as_bytes())?),
        Output::Json | Output::Csv => print_record(session.output, &repair_fields(&repair, &report), out),
    })?;
    Ok(repair_outcome(&report))
}

/// A preview is done when it is shown; a repair is not while something is left in the way.
fn repair_outcome(report: &RepairReport) -> Outcome {
    match report.state {
        RepairState::Impossible => Outcome::NeedsPerson,
        _ if !report.types_left.is_empty() => Outcome::NeedsPerson,
        _ => Outcome::Done,
    }
}

fn state_name(state: RepairState) -> &'static str {
    match state {
        RepairState::Nothing => "nothing in the way",
        RepairState::Preview => "not confirmed",
        RepairState::Done => "done",
        RepairState::Impossible => "impossible",
        RepairState::Other => "other",
    }
}

fn repair_fields(repair: &Repair, report: &RepairReport) -> Vec<(&'static str, Value)> {
    let found = |found: &FoundTransaction| {
        json!({
            "version": found.version.0,
            "transaction": found.transaction,
            "kind": found.kind,
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
        ("graph", json!(repair.graph)),
        ("branch", json!(repair.branch.as_str())),
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
fn repair_text(repair: &Repair, report: &RepairReport) -> String {
    let branch = &repair.branch;
    let (would, would_all) = match report.state {
        RepairState::Done => ("is", "are"),
        RepairState::Nothing | RepairState::Preview | RepairState::Impossible | RepairState::Other => {
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
        let _ = writeln!(text, "{name}: still in the way: something new stands there, or its version is damaged");
    }
    let _ = match (report.state, &report.confirmation) {
        (RepairState::Nothing, _) => writeln!(text, "nothing stands in the way on branch {branch}"),
        (RepairState::Preview, Some(confirmation)) => {
            writeln!(text, "nothing was done; to do exactly this:\n  {}", confirm_command(repair, confirmation))
        }
        (RepairState::Done, _) => writeln!(text, "done: version {} of branch {branch} tells of it", report.version),
        (RepairState::Impossible, _) => writeln!(
            text,
            "nothing that is stored can mend this: `omnigraph check {}` tells what to do for each table; other tables go on",
            repair.graph
        ),
        (RepairState::Preview | RepairState::Other, _) => writeln!(text, "this client does not know what that means"),
    };
    text
}

fn table_text(table: &TableToRepair, would: &str, text: &mut String) {
    let (name, pinned) = (&table.type_name, table.pinned);
    if let Some((version, damage)) = table.damage {
        let what = match damage {
            TableDamage::Missing => "is missing",
            TableDamage::Unreadable => "cannot be read",
            TableDamage::TooMany => "is one of more than a thousand behind the pinned one",
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

fn confirm_command(repair: &Repair, confirmation: &str) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let branch = match &repair.branch {
        BranchName::Main => String::new(),
        BranchName::Named(_) => format!(" --branch {}", quoted(repair.branch.as_str())),
    };
    let tables: String = repair.types.iter().map(|name| format!(" --table {}", quoted(name))).collect();
    format!("omnigraph repair {}{branch}{tables} --confirm {confirmation}", repair.graph)
}

#[cfg(test)]
mod tests;
