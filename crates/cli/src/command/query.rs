//! `query`.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use futures::TryStreamExt;
use omnigraph_client::{QueryName, QueryRequest, ReadAt};

use super::{Session, read_text};
use crate::arguments::{Global, Param, QueryArguments};
use crate::error::CliError;
use crate::input::STANDARD_INPUT;
use crate::output::{Output, OutputError, Printed, Printer, count, rows};

/// Runs a query and prints its result as it arrives.
pub(crate) async fn run(global: &Global, arguments: QueryArguments) -> Result<(), CliError> {
    let text = match (&arguments.text, &arguments.file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => read_text(file)?,
        (None, None) => read_text(Path::new(STANDARD_INPUT))?,
    };
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
    let failed = |error| CliError::Query { error, text: query.text.clone() };
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
}
