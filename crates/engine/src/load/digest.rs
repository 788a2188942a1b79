//! The content digest of a load, which decides whether a request under a used operation id is the same request.
//!
//! It covers what the client sent, as the values that are stored: for every stream its type and, column by column, which rows are null
//! and every other value. Ids that this program computes or mints are left out. It does not depend on how the rows were cut into batches.
//! xxh3 is fast and has few collisions. A forged collision only misleads the client that forged it, under its own operation id.

use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use omnigraph_columns::views::{Column, ScalarColumn};
use omnigraph_types::{BranchName, GraphId, LoadMode};
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::Xxh3;

use crate::cause::Defect;
use crate::error::{EngineError, Result};

/// Bytes collected before they are hashed, for values whose layout in memory is not the hashed form.
const SCRATCH_BYTES: usize = 4_096;

/// The digest of one column of one stream.
#[derive(Clone, Default)]
pub(crate) struct ColumnDigest {
    rows: u64,
    nulls: Xxh3,
    null_run: Option<(u64, u64)>,
    lengths: Xxh3,
    values: Xxh3,
    /// Items of lists and vectors.
    items: Option<Box<ColumnDigest>>,
}

impl std::fmt::Debug for ColumnDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ColumnDigest").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl ColumnDigest {
    /// Adds rows that are all null.
    pub(crate) fn add_nulls(&mut self, rows: usize) {
        self.extend_null_run(self.rows, rows as u64);
        self.rows += rows as u64;
    }

    /// Adds rows.
    pub(crate) fn add(&mut self, array: &dyn Array) -> Result<()> {
        if let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) {
            self.add_null_positions(nulls);
            if nulls.null_count() < array.len() {
                self.add_valid_runs(array, nulls)?;
            }
        } else if !array.is_empty() {
            self.add_values(array)?;
        }
        self.rows += array.len() as u64;
        Ok(())
    }

    fn extend_null_run(&mut self, start: u64, length: u64) {
        match &mut self.null_run {
            Some((run_start, run_length)) if *run_start + *run_length == start => *run_length += length,
            run => {
                if let Some((start, length)) = run.replace((start, length)) {
                    self.nulls.update(&start.to_le_bytes());
                    self.nulls.update(&length.to_le_bytes());
                }
            }
        }
    }

    fn add_null_positions(&mut self, nulls: &NullBuffer) {
        let mut next = 0;
        for (start, end) in nulls.valid_slices().chain([(nulls.len(), nulls.len())]) {
            if start > next {
                self.extend_null_run(self.rows + next as u64, (start - next) as u64);
            }
            next = end;
        }
    }

    fn add_valid_runs(&mut self, array: &dyn Array, nulls: &NullBuffer) -> Result<()> {
        nulls.valid_slices().try_for_each(|(start, end)| self.add_values(array.slice(start, end - start).as_ref()))
    }

    /// Adds rows none of which is null.
    fn add_values(&mut self, array: &dyn Array) -> Result<()> {
        match Column::of(array)? {
            Column::Scalar(column) => self.add_scalars(column),
            Column::List(column) => {
                self.add_lengths(column.array().value_offsets());
                let used = column.used();
                self.add_items(&column.array().values().slice(used.start, used.len()))?;
            }
            Column::Vector(column) => self.add_items(column.array().values())?,
            Column::Blob(_) => return Err(EngineError::from(Defect::BlobColumn)),
        }
        Ok(())
    }

    fn add_scalars(&mut self, column: ScalarColumn<'_>) {
        match column {
            ScalarColumn::String(array) => {
                let offsets = array.value_offsets();
                self.add_lengths(offsets);
                // Arrow's offsets are never negative.
                let at = |offset: i32| usize::try_from(offset).unwrap_or_default();
                self.values.update(&array.value_data()[at(offsets[0])..at(offsets[array.len()])]);
            }
            ScalarColumn::Bool(array) => self.add_scratch(array.values().iter().map(|flag| [u8::from(flag)])),
            ScalarColumn::I32(array) => self.values.update(array.values().inner()),
            ScalarColumn::U32(array) => self.values.update(array.values().inner()),
            ScalarColumn::I64(array) => self.values.update(array.values().inner()),
            ScalarColumn::U64(array) => self.values.update(array.values().inner()),
            ScalarColumn::F32(array) => self.values.update(array.values().inner()),
            ScalarColumn::F64(array) => self.values.update(array.values().inner()),
            ScalarColumn::Date(array) => self.values.update(array.values().inner()),
            ScalarColumn::DateTime(array) => self.values.update(array.values().inner()),
        }
    }

    fn add_items(&mut self, items: &ArrayRef) -> Result<()> {
        self.items.get_or_insert_default().add(items.as_ref())
    }

    /// Adds the lengths of the values that offsets part.
    fn add_lengths(&mut self, offsets: &[i32]) {
        let mut scratch = Vec::with_capacity(SCRATCH_BYTES + 4);
        for length in offsets.windows(2).map(|pair| pair[1] - pair[0]) {
            scratch.extend_from_slice(&length.to_le_bytes());
            if scratch.len() >= SCRATCH_BYTES {
                self.lengths.update(&scratch);
                scratch.clear();
            }
        }
        self.lengths.update(&scratch);
    }

    fn add_scratch(&mut self, bytes: impl Iterator<Item = [u8; 1]>) {
        let mut scratch = Vec::with_capacity(SCRATCH_BYTES);
        for [byte] in bytes {
            scratch.push(byte);
            if scratch.len() == SCRATCH_BYTES {
                self.values.update(&scratch);
                scratch.clear();
            }
        }
        self.values.update(&scratch);
    }

    /// Appends the digest.
    fn finish_into(&self, out: &mut Sha256) {
        let mut nulls = self.nulls.clone();
        if let Some((start, length)) = self.null_run {
            nulls.update(&start.to_le_bytes());
            nulls.update(&length.to_le_bytes());
        }
        out.update(self.rows.to_le_bytes());
        for part in [&nulls, &self.lengths, &self.values] {
            out.update(part.digest128().to_le_bytes());
        }
        match &self.items {
            Some(items) => items.finish_into(out),
            None => out.update([0]),
        }
    }
}

/// What a load's digest covers besides its rows.
pub(crate) struct DigestHead<'a> {
    pub(crate) graph: GraphId,
    pub(crate) branch: &'a BranchName,
    pub(crate) mode: LoadMode,
}

/// One stream's part of a load's digest.
pub(crate) struct DigestStream<'a> {
    pub(crate) type_name: &'a str,
    pub(crate) columns: Vec<(&'a str, &'a ColumnDigest)>,
}

/// The digest of a load, in hexadecimal. Streams without rows must be left out.
pub(crate) fn load_digest<'a>(head: DigestHead<'a>, streams: impl Iterator<Item = DigestStream<'a>>) -> String {
    let mut out = Sha256::new();
    out.update(b"omnigraph load 1\0");
    out.update(head.graph.0.to_bytes());
    text(&mut out, head.branch.as_str());
    text(&mut out, head.mode.as_str());
    for stream in streams {
        text(&mut out, stream.type_name);
        for (name, column) in stream.columns {
            text(&mut out, name);
            column.finish_into(&mut out);
        }
        out.update([0xff]);
    }
    hex(&out.finalize())
}

/// Bytes in lower-case hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(out: &mut Sha256, text: &str) {
    out.update((text.len() as u64).to_le_bytes());
    out.update(text.as_bytes());
}

#[cfg(test)]
mod tests;
