//! A result as CSV, written as it arrives.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::error::OutputError;
use super::printed::Printed;
use super::value::{NoText, cell};

/// Writes rows as they come.
pub(crate) struct Printer<'a> {
    out: &'a mut dyn Write,
    columns: Vec<String>,
    rows: u64,
}

impl<'a> Printer<'a> {
    /// Writes the header line.
    pub(crate) fn begin(schema: &SchemaRef, out: &'a mut dyn Write) -> Result<Self, OutputError> {
        let columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        writeln!(out, "{}", line(columns.iter().map(|name| Some(name.clone()))))?;
        Ok(Self { out, columns, rows: 0 })
    }

    /// Writes rows.
    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> Result<(), OutputError> {
        for row in 0..batch.num_rows() {
            let mut cells = Vec::with_capacity(batch.num_columns());
            for (place, column) in batch.columns().iter().enumerate() {
                let text = cell(column.as_ref(), row).map_err(|NoText(data_type)| OutputError::Type {
                    column: self.columns[place].clone(),
                    data_type: data_type.to_string(),
                })?;
                cells.push(text);
            }
            writeln!(self.out, "{}", line(cells.into_iter()))?;
            self.rows += 1;
        }
        Ok(())
    }

    /// Ends the result.
    pub(crate) fn end(self) -> Result<Printed, OutputError> {
        Ok(Printed { rows: self.rows, left_out: 0 })
    }
}

/// Cells as one line: null is nothing, an empty text is `""`.
pub(crate) fn line(cells: impl Iterator<Item = Option<String>>) -> String {
    let quoted = |cell: Option<String>| match cell {
        None => String::new(),
        Some(text) if text.is_empty() || text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Some(text) => text,
    };
    cells.map(quoted).collect::<Vec<_>>().join(",")
}
