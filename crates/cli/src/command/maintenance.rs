//! `check` and `repair`.

use std::fmt::Write as _;

use futures::TryStreamExt;
use omnigraph_client::{
    CheckFinding, CheckPart, CheckSeverity, CheckSummary, Client, ClientError, Confirmation, FileAge, FoundTransaction,
    Repair, RepairReport, RepairState, TableDamage, TableToRepair, UnnamedFiles, UnnamedKind,
};
use omnigraph_types::{BranchName, GraphName};
use serde_json::{Value, json};

use super::{Outcome, Session};
use crate::arguments::{CheckArguments, RepairArguments};
use crate::error::{Change, CliError};
use crate::output::{Output, count, print_list, print_record, rows};

/// Findings that are printed; more are counted.
const FINDINGS_MAX: usize = 1_000;

/// Checks a graph.
pub(crate) async fn check(session: &Session, arguments: &CheckArguments) -> Result<Outcome, CliError> {
    let mut parts = session.client.check_graph(&arguments.graph, arguments.branch.as_ref()).await?;
    let mut findings = Vec::new();
    let mut summary = None;
    while let Some(part) = parts.try_next().await? {
        match part {
            CheckPart::Progress(_) => {}
            CheckPart::Finding(finding) if findings.len() < FINDINGS_MAX => findings.push(finding),
            CheckPart::Finding(_) => {}
            CheckPart::Summary(last) => summary = Some(last),
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
    let who = match finding.kind.severity() {
        CheckSeverity::MendsItself => "mends itself",
        CheckSeverity::NeedsPerson => "needs a person",
    };
    vec![
        json!(who),
        json!(finding.branch.as_ref().map(BranchName::as_str)),
        json!(finding.type_name),
        json!(finding.kind.as_str()),
        json!(finding.message),
        json!(finding.next),
    ]
}

fn summary_object(summary: &CheckSummary) -> Value {
    let unnamed = |one: &UnnamedFiles| {
        let (kind, age) = (one.kind.as_str(), one.age.as_str());
        json!({ "kind": kind, "age": age, "files": one.files, "bytes": one.bytes })
    };
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
            writeln!(text, "examined: branch {name}, its versions {}; without files", count(summary.graph_versions))
        }
        None => writeln!(
            text,
            "examined: branches {}, their versions {}, versions of tables {}",
            count(summary.branches),
            count(summary.graph_versions),
            count(summary.table_versions)
        ),
    };
    for one in &summary.unnamed {
        let age = match one.age {
            FileAge::Hour => "within the last hour",
            FileAge::Day => "within the last day",
            FileAge::Week => "within the last week",
            FileAge::Older => "earlier than a week ago",
        };
        let what = match one.kind {
            UnnamedKind::Data => "data files",
            UnnamedKind::TableVersion => "table versions",
            UnnamedKind::State => "files of versions",
            UnnamedKind::Intent => "spent intents",
            UnnamedKind::Tree => "files of unused trees",
            UnnamedKind::Newer => "files of a kind that this program does not know",
        };
        let (files, bytes) = (count(one.files), count(one.bytes));
        let _ = writeln!(text, "named by nothing: {what} {files}, {bytes} bytes, written {age}");
    }
    if !summary.not_accounted.is_empty() {
        let _ = writeln!(text, "data files not accounted for, too many versions: {}", summary.not_accounted.join(", "));
    }
    text
}

/// Shows what blocks writes, or repairs what was confirmed.
pub(crate) async fn repair(session: &Session, arguments: RepairArguments) -> Result<Outcome, CliError> {
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
        RepairState::Impossible => Outcome::NeedsPerson,
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
        RepairState::Nothing | RepairState::Preview | RepairState::Impossible => ("would be", "would be"),
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
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let branch = match &repair.branch {
        BranchName::Main => String::new(),
        BranchName::Named(_) => format!(" --branch {}", quoted(repair.branch.as_str())),
    };
    let tables: String = repair.types.iter().map(|name| format!(" --table {}", quoted(name))).collect();
    format!("omnigraph repair {graph}{branch}{tables} --confirm {confirmation}")
}

#[cfg(test)]
mod tests;
