//! A result as a table for people: the first rows, numbers to the right, null distinguished from text.

use std::fmt;
use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement};

use super::error::OutputError;
use super::printed::Printed;
use super::value::{Alignment, NoText, alignment_of, cell, printable};

/// Rows that a table holds; a longer result says so and is for `--output json` or `csv`.
const TABLE_ROWS_MAX: u64 = 10_000;
/// How null is shown.
const NULL: &str = "null";

/// Rows under a header.
pub(crate) struct Table {
    inner: comfy_table::Table,
}

impl Table {
    /// An empty table with these columns.
    pub(crate) fn new(columns: &[impl AsRef<str>]) -> Self {
        let mut inner = comfy_table::Table::new();
        inner.load_preset(UTF8_FULL_CONDENSED);
        inner.set_content_arrangement(ContentArrangement::Dynamic);
        inner.set_header(columns.iter().map(|name| printable(name.as_ref())));
        Self { inner }
    }

    /// Adds a row of printable texts.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.inner.add_row(cells);
    }

    fn align(&mut self, column: usize, alignment: Alignment) {
        let alignment = match alignment {
            Alignment::Left => CellAlignment::Left,
            Alignment::Right => CellAlignment::Right,
        };
        if let Some(column) = self.inner.column_mut(column) {
            column.set_cell_alignment(alignment);
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// Collects rows and prints them at the end.
pub(crate) struct Printer<'a> {
    out: &'a mut dyn Write,
    columns: Vec<String>,
    table: Table,
    rows: u64,
}

impl<'a> Printer<'a> {
    /// Begins a table.
    pub(crate) fn begin(schema: &SchemaRef, out: &'a mut dyn Write) -> Self {
        let columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let mut table = Table::new(&columns);
        for (place, field) in schema.fields().iter().enumerate() {
            table.align(place, alignment_of(field.data_type()));
        }
        Self { out, columns, table, rows: 0 }
    }

    /// Takes rows.
    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> Result<(), OutputError> {
        for row in 0..batch.num_rows() {
            self.rows += 1;
            if self.rows > TABLE_ROWS_MAX {
                continue;
            }
            let mut cells = Vec::with_capacity(batch.num_columns());
            for (place, column) in batch.columns().iter().enumerate() {
                let text = cell(column.as_ref(), row).map_err(|NoText(data_type)| OutputError::Type {
                    column: self.columns[place].clone(),
                    data_type: data_type.to_string(),
                })?;
                cells.push(text.map_or_else(|| NULL.to_owned(), |text| printable(&text)));
            }
            self.table.row(cells);
        }
        Ok(())
    }

    /// Prints the table.
    pub(crate) fn end(self) -> Result<Printed, OutputError> {
        writeln!(self.out, "{}", self.table)?;
        Ok(Printed { rows: self.rows, left_out: self.rows.saturating_sub(TABLE_ROWS_MAX) })
    }
}
