//! `query`.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use futures::TryStreamExt;
use omnigraph_client::{QueryName, QueryRequest, ReadAt};
use omnigraph_types::{BranchName, CommitId, GraphName};

use super::session::read_text;
use super::values::{Moment, parse_id, parse_moment};
use super::{Global, Session};
use crate::error::CliError;
use crate::input::STANDARD_INPUT;
use crate::output::{Output, OutputError, Printed, Printer, count, rows};
use crate::shell::shell;

/// Shown below the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  omnigraph query airline 'query n() { match { $a: Airport } return { count($a) } }'
  omnigraph query airline -f airline.gq --name in_state --param state='\"CA\"'
  omnigraph query airline -f airline.gq --name busy --param least=100 --output json > busy.json
  omnigraph query airline < one.gq

A parameter's value is JSON: a text is written in quotes, within the shell's quotes.
In JSON output integers beyond 2^53-1 are strings, so that no reader rounds them.";

/// `query`
#[derive(Debug, Args)]
pub(crate) struct QueryArguments {
    /// The graph
    graph: GraphName,
    /// The query's text; without it and -f the standard input is read
    #[arg(value_name = "TEXT", conflicts_with_all = ["text", "file"])]
    query: Option<String>,
    /// The query's text, as an option
    #[arg(long, conflicts_with = "file")]
    text: Option<String>,
    /// A file of queries
    #[arg(short, long)]
    file: Option<PathBuf>,
    /// Which query of the text to run, where there are several
    #[arg(long)]
    name: Option<String>,
    /// A parameter and its value as JSON, such as n=5 or code='"OSL"'; may be repeated
    #[arg(long, value_name = "NAME=JSON")]
    param: Vec<Param>,
    /// The branch
    #[arg(long, default_value = "main", conflicts_with = "at_commit")]
    branch: BranchName,
    /// Read an older commit
    #[arg(long, value_name = "COMMIT", value_parser = parse_id::<CommitId>)]
    at_commit: Option<CommitId>,
    /// Read the branch as it was at a moment, such as 2026-05-01T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_moment, conflicts_with = "at_commit")]
    at_time: Option<Moment>,
}

/// One `--param`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Param {
    /// The parameter's name, without `$`.
    name: String,
    /// Its value, a JSON text.
    json: String,
}

impl FromStr for Param {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, json)) = text.split_once('=') else {
            return Err("write it as <name>=<JSON value>, such as n=5".to_owned());
        };
        let name = name.strip_prefix('$').unwrap_or(name);
        match serde_json::from_str::<serde::de::IgnoredAny>(json) {
            Ok(_) => Ok(Self { name: name.to_owned(), json: json.to_owned() }),
            Err(_) => {
                let quoted = serde_json::Value::from(json);
                let correct = shell(&format!("{name}={quoted}"));
                Err(format!("{json} is not JSON; a text is written in quotes: --param {correct}"))
            }
        }
    }
}

/// Runs a query and prints its result as it arrives.
pub(crate) async fn run(global: &Global, arguments: QueryArguments) -> Result<(), CliError> {
    let text = query_text(&arguments)?;
    let params_json = params_json(&arguments.param)?;
    let session = Session::open(global).await?;
    let query = QueryRequest {
        at: match (arguments.at_commit, arguments.at_time) {
            (Some(commit), _) => ReadAt::Commit(commit),
            (None, Some(moment)) => ReadAt::BranchAtTime { branch: arguments.branch, time_ms: moment.0 },
            (None, None) => ReadAt::Branch(arguments.branch),
        },
        text,
        name: arguments.name.map_or(QueryName::Only, QueryName::Named),
        params_json,
    };
    let given: Vec<String> = arguments.param.into_iter().map(|param| param.name).collect();
    let failed = |error| CliError::Query { error, text: query.text.clone(), params: given.clone() };
    let mut result = session.client.query(&arguments.graph, &query).await.map_err(failed)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut printer = Printer::begin(session.output, result.schema, &mut out)?;
    while let Some(batch) = result.batches.try_next().await.map_err(failed)? {
        printer.batch(&batch)?;
    }
    let printed = printer.end()?;
    out.flush().map_err(OutputError::from)?;
    if session.output == Output::Table {
        // The count belongs to the table, and is no part of the result.
        eprintln!("{}", footer(printed, &result.commit.id.to_string()));
    }
    Ok(())
}

fn query_text(arguments: &QueryArguments) -> Result<String, CliError> {
    match (&arguments.query, &arguments.text, &arguments.file) {
        (Some(text), _, _) if Path::new(text).is_file() => Err(CliError::usage(format!(
            "{text} is a file, and the text of a query is expected here: add -f before it"
        ))),
        (Some(text), _, _) | (None, Some(text), _) => Ok(text.clone()),
        (None, None, Some(file)) => read_text(file),
        (None, None, None) if io::stdin().is_terminal() => {
            Err(CliError::usage("the query is missing: write its text after the graph, or name a file with -f"))
        }
        (None, None, None) => read_text(Path::new(STANDARD_INPUT)),
    }
}

fn footer(printed: Printed, commit: &str) -> String {
    let left_out = match printed.left_out {
        0 => String::new(),
        rows => format!(", the last {} of which are not shown: use --output json or csv", count(rows)),
    };
    format!("{} at commit {commit}{left_out}", rows(printed.rows))
}

/// One object of all parameters. Values stay the texts that they are, so that no number is rounded.
fn params_json(params: &[Param]) -> Result<String, CliError> {
    let mut members: Vec<String> = Vec::with_capacity(params.len());
    for (place, param) in params.iter().enumerate() {
        if params[..place].iter().any(|other| other.name == param.name) {
            return Err(CliError::usage(format!("--param gives {:?} twice", param.name)));
        }
        members.push(format!("{}:{}", serde_json::Value::from(param.name.as_str()), param.json));
    }
    Ok(format!("{{{}}}", members.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_become_one_object_without_rounding() {
        let params = ["n=9007199254740993", r#"$code="O\"S""#, "list=[1, 2]"].map(|text| text.parse().unwrap());
        assert_eq!(params_json(&params).unwrap(), r#"{"n":9007199254740993,"code":"O\"S","list":[1, 2]}"#);
    }

    #[test]
    fn parameter_given_twice_is_refused() {
        let params = ["n=1", "n=2"].map(|text| text.parse().unwrap());
        assert!(matches!(params_json(&params), Err(CliError::Usage { .. })));
    }

    #[test]
    fn footer_tells_rows_that_a_table_leaves_out() {
        let printed = Printed { rows: 12_000, left_out: 2_000 };
        insta::assert_snapshot!(footer(printed, "01J"), @"12,000 rows at commit 01J, the last 2,000 of which are not shown: use --output json or csv");
        assert_eq!(footer(Printed { rows: 1, left_out: 0 }, "01J"), "1 row at commit 01J");
    }

    #[test]
    fn parameter_that_is_not_json_shows_how_it_is_written() {
        let error = "code=OSL".parse::<Param>().unwrap_err();
        assert_eq!(error, r#"OSL is not JSON; a text is written in quotes: --param 'code="OSL"'"#);
        assert_eq!("$n=5".parse::<Param>().unwrap(), Param { name: "n".to_owned(), json: "5".to_owned() });
    }
}
