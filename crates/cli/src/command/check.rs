//! `check`.

use std::fmt::Write as _;

use clap::Args;
use futures::TryStreamExt;
use omnigraph_client::{
    CheckFinding, CheckPart, CheckSeverity, CheckSummary, ClientError, FileAge, UnnamedFiles, UnnamedKind,
};
use omnigraph_types::{BranchName, GraphName};
use serde_json::{Value, json};

use super::{Outcome, Session};
use crate::error::CliError;
use crate::output::{Output, count, print_list, print_record};

/// Shown below the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  omnigraph check airline
  omnigraph check airline --branch trial --output json

It reads every version of the branches, and compares pins with tables, commits with files.
Exit codes: 0 no findings, 3 the next write or a server repairs what was found, 4 something needs a person;
1 and 2 as for every command. Files that nothing names take space and do no harm: their
data files, table versions, states, intents and whole trees are counted, by kind and age;
transactions, indexes and contracts are not. What is younger than an hour may belong to a
write that is under way.";

/// Findings that are printed; more are counted.
const FINDINGS_MAX: usize = 1_000;

/// `check`
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The graph
    graph: GraphName,
    /// Only this branch, and not the graph's files
    #[arg(long)]
    branch: Option<BranchName>,
}

/// Checks a graph.
pub(crate) async fn run(session: &Session, arguments: &CheckArguments) -> Result<Outcome, CliError> {
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
            FileAge::Newer => "at a time that this program does not know",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_tells_the_verdict_first_and_counts_what_nothing_names() {
        let unnamed = UnnamedFiles { kind: UnnamedKind::Data, age: FileAge::Older, files: 1_200, bytes: 5 };
        let summary = CheckSummary {
            branches: 1,
            graph_versions: 9,
            table_versions: 8,
            mends_itself: 1,
            needs_person: 1_500,
            unnamed: vec![unnamed],
            not_accounted: vec!["Route".to_owned()],
        };
        assert_eq!(
            summary_text(1_000, &summary, None),
            "findings that need a person: 1,500; that mend themselves: 1\n501 more findings are not shown\n\
             examined: branches 1, their versions 9, versions of tables 8\n\
             named by nothing: data files 1,200, 5 bytes, written earlier than a week ago\n\
             data files not accounted for, too many versions: Route\n"
        );
    }
}
