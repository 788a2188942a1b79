//! What a command prints on the standard output: a table for people, JSON or CSV for programs.
//!
//! Invariants: numbers keep every digit (integers beyond 2^53-1 are strings in JSON, as the language specification says); text from a
//! graph cannot move the terminal's cursor; only tables buffer, and only so many rows as a table may have.

mod csv;
mod error;
mod json;
mod printed;
mod table;
mod value;

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use clap::ValueEnum;
use omnigraph_lang::date::format_datetime;
use serde_json::{Map, Value};

pub(crate) use error::OutputError;
pub(crate) use printed::Printed;
pub(crate) use table::Table;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// A table for people.
    Table,
    /// One JSON object: for lists and queries {"columns": [...], "rows": [{...}]}, for everything else its fields.
    Json,
    /// Comma-separated text with a header line; null is empty, an empty text is "".
    Csv,
}

/// Takes a result's batches, one after another.
pub(crate) enum Printer<'a> {
    /// As a table.
    Table(table::Printer<'a>),
    /// As JSON.
    Json(json::Printer<'a>),
    /// As CSV.
    Csv(csv::Printer<'a>),
}

impl<'a> Printer<'a> {
    /// Begins a result with these columns.
    pub(crate) fn begin(output: Output, schema: SchemaRef, out: &'a mut dyn Write) -> Result<Self, OutputError> {
        Ok(match output {
            Output::Table => Self::Table(table::Printer::begin(&schema, out)),
            Output::Json => Self::Json(json::Printer::begin(&schema, out)?),
            Output::Csv => Self::Csv(csv::Printer::begin(&schema, out)?),
        })
    }

    /// Prints the next rows.
    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> Result<(), OutputError> {
        match self {
            Self::Table(printer) => printer.batch(batch),
            Self::Json(printer) => printer.batch(batch),
            Self::Csv(printer) => printer.batch(batch),
        }
    }

    /// Ends the result.
    pub(crate) fn end(self) -> Result<Printed, OutputError> {
        match self {
            Self::Table(printer) => printer.end(),
            Self::Json(printer) => printer.end(),
            Self::Csv(printer) => printer.end(),
        }
    }
}

/// Prints a short list of things, such as graphs.
pub(crate) fn print_list(
    output: Output,
    columns: &[&str],
    rows: &[Vec<Value>],
    out: &mut dyn Write,
) -> Result<(), OutputError> {
    match output {
        Output::Table => {
            let mut table = Table::new(columns);
            for row in rows {
                table.row(row.iter().map(plain).collect());
            }
            writeln!(out, "{table}")?;
        }
        Output::Json => {
            let object = |row: &Vec<Value>| -> Value {
                columns.iter().map(|name| (*name).to_owned()).zip(row.iter().cloned()).collect::<Map<_, _>>().into()
            };
            let list: Vec<Value> = rows.iter().map(object).collect();
            writeln!(out, "{}", serde_json::json!({ "columns": columns, "rows": list }))?;
        }
        Output::Csv => {
            writeln!(out, "{}", csv::line(columns.iter().map(|name| Some((*name).to_owned()))))?;
            for row in rows {
                writeln!(out, "{}", csv::line(row.iter().map(|value| (!value.is_null()).then(|| plain(value)))))?;
            }
        }
    }
    Ok(())
}

/// Prints one thing with its fields, such as a commit.
pub(crate) fn print_record(output: Output, fields: &[(&str, Value)], out: &mut dyn Write) -> Result<(), OutputError> {
    match output {
        Output::Table => {
            let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                writeln!(out, "{:width$}  {}", name.replace('_', " "), plain(value))?;
            }
        }
        Output::Json => {
            let object: Map<String, Value> =
                fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            writeln!(out, "{}", Value::Object(object))?;
        }
        Output::Csv => {
            writeln!(out, "{}", csv::line(fields.iter().map(|(name, _)| Some((*name).to_owned()))))?;
            let cell = |(_, value): &(&str, Value)| (!value.is_null()).then(|| plain(value));
            writeln!(out, "{}", csv::line(fields.iter().map(cell)))?;
        }
    }
    Ok(())
}

/// A JSON value as a cell: text without quotes, lists joined by spaces.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => value::printable(text),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" "),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// A moment as text.
pub(crate) fn time(milliseconds: u64) -> String {
    format_datetime(i64::try_from(milliseconds).unwrap_or(i64::MAX))
}

/// A count as people write it: `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count of rows: `1 row`, `1,234 rows`.
pub(crate) fn rows(number: u64) -> String {
    match number {
        1 => "1 row".to_owned(),
        number => format!("{} rows", count(number)),
    }
}

#[cfg(test)]
mod tests;
