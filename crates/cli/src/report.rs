//! An error as a person wants it: what, where, what now.
//!
//! ```text
//! READ_SET_CHANGED: table Route of branch main changed since it was captured
//!   member    table:Route
//!   expected  5
//!   actual    6
//! next: nothing was stored; read again, decide again, then send a new request
//! ```

use std::fmt::Write as _;

use omnigraph_client::ClientError;
use omnigraph_lang::error::render;
use omnigraph_types::{Diagnostic, Effect, Failure, MergeConflict, Problem, Retry, Violation};

use crate::error::{Change, CliError, FailedLoad, Write};
use crate::input::{Misuse, Place};
use crate::shell::shell;

/// The whole text that goes to the standard error.
pub(crate) fn text(error: &CliError) -> String {
    match error {
        CliError::Usage { what } => format!("error: {what}\n\nFor more information, try '--help'.\n"),
        CliError::Input(input) => match input.misuse() {
            Misuse::CommandLine => format!("error: {input}\n"),
            Misuse::Data => format!("error: {input}\nnext: nothing was stored; correct the file and load again\n"),
        },
        CliError::InputAfter { write, .. } => {
            format!("error: {error}\nnext: an earlier attempt of the load may be stored; ask with\n  {}\n", ask(write))
        }
        CliError::Read(error) => Report::new(error).read(),
        CliError::DamagedTable { graph, .. } => {
            format!("error: {error}\nnext: see what is damaged: omnigraph check {graph}\n")
        }
        CliError::Query { error, text, params } => {
            let mut out = Report::new(error).with_text(text).read();
            out.push_str(&next_of_parameter(error, params));
            out
        }
        CliError::Schema { error, text, operation_id } => {
            let again = format!("omnigraph graph create ... --operation-id {operation_id}");
            Report::new(error).with_text(text).write(&again, None)
        }
        CliError::Change { error, change, operation_id } => {
            let (command, deed) = match change {
                Change::CreateBranch => ("branch create", "made"),
                Change::DeleteBranch => ("branch delete", "deleted"),
                Change::DeleteGraph => ("graph delete", "deleted"),
                Change::Repair => ("repair", "repaired"),
            };
            let again = format!("omnigraph {command} ... --operation-id {operation_id}");
            Report::new(error).with_deed(deed).write(&again, None)
        }
        CliError::Load(failed) => {
            let FailedLoad { error, write, places } = failed.as_ref();
            let again = format!("the load with --operation-id {}", write.operation_id);
            Report::new(error).with_places(places).write(&again, Some(write))
        }
        CliError::Interrupted => format!("{error}\nnext: nothing was stored\n"),
        CliError::InterruptedCommit(write) => {
            format!("{error}\nnext: whether it is stored is not known yet; ask with\n  {}\n", ask(write))
        }
        CliError::Output(_) | CliError::OutputClosed | CliError::Serve(_) => format!("error: {error}\n"),
    }
}

/// The reason's name on the wire, such as `READ_SET_CHANGED`.
pub(crate) fn reason(failure: &Failure) -> String {
    let status = omnigraph_wire::to_status(failure);
    let reason = status.metadata().get(omnigraph_wire::REASON_TRAILER).and_then(|reason| reason.to_str().ok());
    reason.unwrap_or("UNKNOWN").to_owned()
}

/// The first line of a report: the reason where a server gave one, and the message.
pub(crate) fn headline(error: &ClientError) -> String {
    match error {
        ClientError::Failed(failure) => format!("{}: {}", reason(failure), failure.message),
        ClientError::Url { .. }
        | ClientError::Connect { .. }
        | ClientError::OtherRoot { .. }
        | ClientError::Broken { .. }
        | ClientError::Arrow { .. }
        | ClientError::Answer { .. } => format!("error: {error}"),
    }
}

/// What to do about a parameter: one that was not given is given, and one that was given is corrected or left out.
fn next_of_parameter(error: &ClientError, given: &[String]) -> String {
    match error.problem() {
        Some(Problem::ParamInvalid { parameter }) if parameter.is_empty() => String::new(),
        Some(Problem::ParamInvalid { parameter }) if given.contains(parameter) => {
            format!("next: correct --param {parameter}=..., or leave it out if the query does not declare it\n")
        }
        Some(Problem::ParamInvalid { parameter }) => {
            format!("next: give it as --param {parameter}='<JSON value>'; a text is written in quotes in it\n")
        }
        Some(_) | None => String::new(),
    }
}

/// The command that asks for the outcome of a write.
fn ask(write: &Write) -> String {
    let branch = match write.branch.as_str() {
        "main" => String::new(),
        name => format!(" --branch {}", shell(name)),
    };
    format!("omnigraph operation {} {}{branch}", write.graph, write.operation_id)
}

/// What is known about a failed request.
struct Report<'a> {
    error: &'a ClientError,
    failure: Failure,
    source: Option<&'a str>,
    places: &'a [(u64, Place)],
    /// What a write does, such as `stored`.
    deed: &'static str,
}

impl<'a> Report<'a> {
    fn new(error: &'a ClientError) -> Self {
        Self { error, failure: error.failure(), source: None, places: &[], deed: "stored" }
    }

    fn with_text(self, source: &'a str) -> Self {
        Self { source: Some(source), ..self }
    }

    fn with_places(self, places: &'a [(u64, Place)]) -> Self {
        Self { places, ..self }
    }

    fn with_deed(self, deed: &'static str) -> Self {
        Self { deed, ..self }
    }

    /// The report of a read: whether something was stored is no question.
    fn read(&self) -> String {
        let mut out = self.what_and_where();
        // `what_and_where` has said already what to do about a server that cannot be reached.
        if !matches!(self.error, ClientError::Connect { .. }) {
            match self.failure.retry {
                Retry::SameRequest => out.push_str("next: try again\n"),
                Retry::AfterReread => out.push_str("next: read again, then decide again\n"),
                Retry::Never => {}
            }
        }
        out
    }

    /// The report of a write. `again` says how the same request is sent again.
    fn write(&self, again: &str, write: Option<&Write>) -> String {
        let mut out = self.what_and_where();
        if let ClientError::Connect { .. } = self.error {
            return out;
        }
        let deed = self.deed;
        let next = match (self.failure.effect, self.failure.retry) {
            (Effect::None, Retry::SameRequest) => format!("nothing was {deed}; send it again: {again}"),
            (Effect::None, Retry::AfterReread) => {
                format!("nothing was {deed}; read again, decide again, then send a new request")
            }
            (Effect::None, Retry::Never) => match &self.failure.help {
                Some(command) => format!("nothing was {deed}; see what blocks it: {command}"),
                None => format!("nothing was {deed}"),
            },
            (Effect::Committed, _) => format!("it is {deed}"),
            (Effect::Unknown, _) => {
                format!("whether it was {deed} is not known; send it again, which is safe: {again}")
            }
        };
        let _ = writeln!(out, "next: {next}");
        if let (Effect::Unknown, Some(write)) = (self.failure.effect, write) {
            let _ = writeln!(out, "  or ask: {}", ask(write));
        }
        out
    }

    fn what_and_where(&self) -> String {
        let diagnostics = match &self.failure.problem {
            Problem::QueryInvalid { diagnostics } | Problem::SchemaInvalid { diagnostics } => diagnostics.as_slice(),
            _ => &[],
        };
        let mut out = match self.source {
            // The message repeats the first finding, which follows with its place.
            Some(_) if !diagnostics.is_empty() => {
                let mistakes = if diagnostics.len() == 1 { "mistake" } else { "mistakes" };
                format!("{}: {} {mistakes} in the text\n", reason(&self.failure), diagnostics.len())
            }
            Some(_) | None => format!("{}\n", headline(self.error)),
        };
        if let ClientError::Connect { .. } = self.error {
            out.push_str("next: start a server with `omnigraph serve --root <root>`, or name another with --url\n");
        }
        match self.source {
            Some(source) => diagnostics.iter().for_each(|diagnostic| out.push_str(&render(diagnostic, source))),
            None => diagnostics.iter().for_each(|diagnostic| out.push_str(&line(diagnostic))),
        }
        let details = details(&self.failure.problem);
        let width = details.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in &details {
            let _ = writeln!(out, "  {name:width$}  {value}");
        }
        // With one file its rows are the rows of the load; lines differ from rows wherever there is a header.
        let rows_differ = self.places.iter().any(|(row, place)| *row != place.row);
        for (row, Place { file, row: of_file, line }) in self.places {
            let _ = match line {
                Some(line) => writeln!(out, "  row {row} of the load is in line {line} of {}", file.display()),
                None if rows_differ => writeln!(out, "  row {row} of the load is row {of_file} of {}", file.display()),
                None => Ok(()),
            };
        }
        out
    }
}

fn line(diagnostic: &Diagnostic) -> String {
    let place = diagnostic.span.map(|span| format!(" (line {}, column {})", span.line, span.column));
    format!("  {}{}: {}\n", diagnostic.code, place.unwrap_or_default(), diagnostic.message)
}

/// The fields of a problem that its message may not hold, as names and values.
fn details(problem: &Problem) -> Vec<(&'static str, String)> {
    match problem {
        Problem::ReadSetChanged { branch, member, expected, actual } => {
            let at = [("branch", branch.to_string()), ("member", member.to_string())];
            at.into_iter().chain([("expected", expected.clone()), ("actual", actual.clone())]).collect()
        }
        Problem::CommitContention { attempts, winner } => {
            known([("attempts", Some(attempts.to_string())), ("winner", winner.map(|commit| commit.to_string()))])
        }
        Problem::HeadMismatch { expected, actual } => {
            vec![("expected", expected.to_string()), ("actual", actual.to_string())]
        }
        Problem::RecoveryRequired { operation_id, branch, writer, phase, reason } => vec![
            ("operation", operation_id.to_string()),
            ("branch", branch.to_string()),
            ("writer", writer.to_string()),
            ("phase", phase.letter().to_owned()),
            ("reason", reason.clone()),
        ],
        Problem::KeyConflict { type_name, ids, total, .. } => {
            vec![("type", type_name.clone()), ("ids", listed(ids, *total))]
        }
        // The message describes a single violation.
        Problem::ConstraintViolation { total: 0..=1, .. } => Vec::new(),
        Problem::ConstraintViolation { violations, total } => {
            with_rest(violations.iter().map(|violation| (violation.kind.as_str(), violated(violation))), *total)
        }
        Problem::MergeConflicts { conflicts, total } => {
            let shown = |conflict: &MergeConflict| {
                ("conflict", format!("{} {:?}: {}", conflict.type_name, conflict.entity, conflict.kind))
            };
            with_rest(conflicts.iter().map(shown), *total)
        }
        Problem::SchemaUnsupported { steps } => steps.iter().map(|step| ("step", step.clone())).collect(),
        Problem::LiveBranches { branches } => vec![("branches", branches.join(", "))],
        Problem::ResourceLimit { limit, value, asked } => {
            vec![("limit", limit.clone()), ("value", value.to_string()), ("asked", asked.to_string())]
        }
        Problem::InvalidRequest { field } => vec![("field", field.clone())],
        Problem::LoadInvalid { type_name, row, column } => {
            known([("type", type_name.clone()), ("row", row.map(|row| row.to_string())), ("column", column.clone())])
        }
        Problem::OperationIdReused { first_digest, commit } => {
            known([("first digest", Some(first_digest.clone())), ("commit", commit.map(|commit| commit.to_string()))])
        }
        Problem::TableOccupied { table, expected, found } => {
            vec![("table", table.clone()), ("expected", expected.clone()), ("found", found.clone())]
        }
        Problem::StorageFormat { found, supported } => {
            vec![("found", found.to_string()), ("supported", supported.to_string())]
        }
        Problem::Corrupt { object, expected } | Problem::InvariantViolation { object, expected } => {
            vec![("object", object.clone()), ("expected", expected.clone())]
        }
        Problem::QueryInvalid { .. }
        | Problem::SchemaInvalid { .. }
        | Problem::ParamInvalid { .. }
        | Problem::EvaluationFailed { .. }
        | Problem::NotFound { .. }
        | Problem::AlreadyExists { .. }
        | Problem::OperationRolledBack { .. }
        | Problem::Unimplemented { .. }
        | Problem::Unauthenticated
        | Problem::PermissionDenied { .. }
        | Problem::StorageUnavailable
        | Problem::DeadlineExceeded
        | Problem::Cancelled
        | Problem::Internal => Vec::new(),
    }
}

/// The details that are known.
fn known<const FIELDS: usize>(details: [(&'static str, Option<String>); FIELDS]) -> Vec<(&'static str, String)> {
    details.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The details shown, and the number of those that are not.
fn with_rest(shown: impl ExactSizeIterator<Item = (&'static str, String)>, total: u64) -> Vec<(&'static str, String)> {
    let more = total.saturating_sub(shown.len() as u64);
    shown.chain((more > 0).then(|| ("and", format!("{more} more")))).collect()
}

fn listed(ids: &[String], total: u64) -> String {
    let more = total.saturating_sub(ids.len() as u64);
    let shown: Vec<String> = ids.iter().map(|id| format!("{id:?}")).collect();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

fn violated(violation: &Violation) -> String {
    let entity = violation.entity.as_ref().map(|id| format!(" {id:?}")).unwrap_or_default();
    let properties = match violation.properties.as_slice() {
        [] => String::new(),
        names => format!(".{}", names.join(",")),
    };
    let row = violation.source_row.map(|row| format!(" (row {row})")).unwrap_or_default();
    format!("{}{properties}{entity}{row}: {}", violation.type_name, violation.message)
}

#[cfg(test)]
mod tests;
