//! Rows of the manifest as a damaged or hostile dataset may hold them: wrong columns, nulls, and any text in them.
//!
//! An input is two bytes and text: how the columns are made, who reads them, then rows between 0x1E whose fields lie between 0x1F.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray};
use arrow::datatypes::{Field, Schema};
use omnigraph_catalog::{CatalogError, GraphPaths, stored};
use omnigraph_types::Problem;

use super::sample::{self, Row};
use crate::target::{MemoryBound, Target};

const ROW_END: u8 = 0x1e;
const FIELD_END: u8 = 0x1f;
/// Ways to make the columns, of which the first is right.
const SHAPES: u8 = 9;
/// Who reads: the state, the base, the history, the name.
const READERS: u8 = 4;

/// The reading of the manifest's rows.
#[derive(Debug)]
pub struct Rows;

fn example(reader: u8, rows: &[Row]) -> Vec<u8> {
    let mut input = vec![0, reader];
    for (kind, key, body) in rows {
        let fields = [kind.as_bytes(), key.as_bytes(), body.to_string().as_bytes()].join(&FIELD_END);
        input.extend(fields);
        input.push(ROW_END);
    }
    input
}

/// Texts of one column; a row without this field has none.
fn column(rows: &[Vec<&[u8]>], field: usize) -> Vec<Option<String>> {
    rows.iter().map(|row| row.get(field).map(|text| String::from_utf8_lossy(text).into_owned())).collect()
}

fn array(shape: u8, field: usize, texts: Vec<Option<String>>) -> ArrayRef {
    let whole = || texts.iter().map(|text| text.clone().unwrap_or_default());
    match (shape, field) {
        (1, 2) => Arc::new(Int64Array::from_iter_values(0..texts.len() as i64)),
        (2, 0) => Arc::new(LargeStringArray::from_iter_values(whole())),
        (3, 2) => Arc::new(StringViewArray::from_iter_values(whole())),
        (4, 0) => Arc::new(BinaryArray::from_iter_values(whole())),
        (5, _) => Arc::new(StringArray::from(texts)),
        _ => Arc::new(StringArray::from_iter_values(whole())),
    }
}

/// The batches of an input.
fn batches(shape: u8, text: &[u8]) -> Vec<RecordBatch> {
    let rows: Vec<Vec<&[u8]>> = text
        .split(|byte| *byte == ROW_END)
        .filter(|row| !row.is_empty())
        .map(|row| row.splitn(3, |byte| *byte == FIELD_END).collect())
        .collect();
    let names: &[&str] = match shape {
        6 => &["kind", "key"],
        7 => &["kind", "key", "kind"],
        _ => &["kind", "key", "body"],
    };
    let columns: Vec<ArrayRef> =
        names.iter().enumerate().map(|(field, _)| array(shape, field, column(&rows, field))).collect();
    let fields: Vec<_> =
        names.iter().zip(&columns).map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    match shape {
        // Twice the same rows, in two batches.
        8 => vec![batch.clone(), batch],
        _ => vec![batch],
    }
}

/// The kind of a refusal: rows are damaged or another program's, and nothing else.
fn refusal(error: CatalogError) -> Result<String, String> {
    let failure = error.failure();
    match failure.problem {
        Problem::Corrupt { expected, .. } => Ok(format!("corrupt, not {expected}")),
        Problem::StorageFormat { .. } => Ok("format".to_owned()),
        other => Err(format!("rows are refused as {other:?}")),
    }
}

fn state(batches: &[RecordBatch]) -> Result<String, String> {
    let state = match stored::read_state(batches, sample::VERSION) {
        Ok(state) => state,
        Err(error) => return refusal(error),
    };
    if state.newer.is_some() {
        return match stored::write_state(&state) {
            Err(CatalogError::Newer(_)) => Ok("a newer program's".to_owned()),
            other => Err(format!("a newer program's state is written: {:?}", other.map(|_| ()))),
        };
    }
    let written = stored::write_state(&state).map_err(|error| format!("is read and cannot be written: {error}"))?;
    let again = stored::read_state(&[written], sample::VERSION);
    match again {
        // A state with a base writes only what differs from it, and nothing does that was just read.
        Ok(again) if again == state || again.tables.len() < state.tables.len() => {}
        other => return Err(format!("is read, written, and read as another state: {:?}", other.map(|_| ()))),
    }
    if state.head_commit().id != state.head {
        return Err("its head is not its newest commit".to_owned());
    }
    if state.published_by().is_none_or(|row| row.version != sample::VERSION) {
        return Err("nothing published it".to_owned());
    }
    GraphPaths::new(state.graph_id).contract(&state.schema_hash);
    let due = stored::merge_due(&state).is_some();
    Ok(format!("state, merge due {due}, retired {}", state.retired.is_some()))
}

impl Target for Rows {
    fn name(&self) -> &'static str {
        "rows"
    }

    fn bound(&self) -> MemoryBound {
        MemoryBound { constant: 256 * 1024, factor: 64 }
    }

    fn examples(&self) -> Vec<Vec<u8>> {
        let [base, history] = sample::other_rows();
        let mut examples = vec![example(0, &sample::state_rows()), example(1, &base), example(2, &history)];
        examples.extend(sample::name_entries().map(|entry| [&[0, 3], entry.to_string().as_bytes()].concat()));
        for shape in 1..SHAPES {
            examples.push([&[shape, 0], &example(0, &sample::state_rows())[2..]].concat());
        }
        // A level that is climbed to, a hash that is no name of a file, and every row twice.
        let mut level = sample::state_rows();
        level.iter_mut().filter(|row| row.0 == "history").for_each(|row| row.2["level"] = u32::MAX.into());
        let mut hash = sample::state_rows();
        hash.iter_mut().filter(|row| row.0 == "schema").for_each(|row| row.2["hash"] = "../../x".into());
        examples.extend([example(0, &level), example(0, &hash)]);
        examples
    }

    fn handle(&self, input: &[u8]) -> Result<String, String> {
        let [shape, reader, text @ ..] = input else { return Ok("too short".to_owned()) };
        let reader = reader % READERS;
        if reader == 3 {
            let name = "harbour".parse().unwrap();
            return stored::read_name_entry(&name, text).map_or_else(refusal, |_| Ok("entry".to_owned()));
        }
        let batches = batches(shape % SHAPES, text);
        match reader {
            0 => state(&batches),
            1 => stored::read_base(&batches, sample::VERSION).map_or_else(refusal, |_| Ok("base".to_owned())),
            _ => stored::read_history(&batches, sample::VERSION).map_or_else(refusal, |_| Ok("history".to_owned())),
        }
    }
}
