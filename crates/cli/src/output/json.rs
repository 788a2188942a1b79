//! A result as one JSON object, written as it arrives: `{"columns": [...], "rows": [{column: value}]}`.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::error::OutputError;
use super::printed::Printed;
use super::value::{NoText, write_json};

/// Writes rows as they come.
pub(crate) struct Printer<'a> {
    out: &'a mut dyn Write,
    columns: Vec<String>,
    quoted: Vec<String>,
    rows: u64,
}

impl<'a> Printer<'a> {
    /// Writes the part before the rows.
    pub(crate) fn begin(schema: &SchemaRef, out: &'a mut dyn Write) -> Result<Self, OutputError> {
        let columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let quoted: Vec<String> =
            columns.iter().map(|name| serde_json::Value::from(name.as_str()).to_string()).collect();
        write!(out, "{{\"columns\":[{}],\"rows\":[", quoted.join(","))?;
        Ok(Self { out, columns, quoted, rows: 0 })
    }

    /// Writes rows.
    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> Result<(), OutputError> {
        let mut line = String::new();
        for row in 0..batch.num_rows() {
            line.clear();
            line.push_str(if self.rows == 0 { "\n{" } else { ",\n{" });
            for (place, column) in batch.columns().iter().enumerate() {
                if place > 0 {
                    line.push(',');
                }
                line.push_str(&self.quoted[place]);
                line.push(':');
                write_json(&mut line, column.as_ref(), row).map_err(|NoText(data_type)| OutputError::Type {
                    column: self.columns[place].clone(),
                    data_type: data_type.to_string(),
                })?;
            }
            line.push('}');
            self.out.write_all(line.as_bytes())?;
            self.rows += 1;
        }
        Ok(())
    }

    /// Writes the part after the rows.
    pub(crate) fn end(self) -> Result<Printed, OutputError> {
        let break_line = if self.rows > 0 { "\n" } else { "" };
        writeln!(self.out, "{break_line}]}}")?;
        Ok(Printed { rows: self.rows, left_out: 0 })
    }
}
