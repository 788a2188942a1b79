//! The floor of the commit benches: one-row appends with plain Lance, one after another, on a local folder.
//!
//! Prints one line of JSON: how many commits, and the median and 90th percentile of their times in microseconds.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use clap::Parser;
use lance::dataset::{InsertBuilder, WriteMode, WriteParams};

/// Times one-row appends with plain Lance.
#[derive(Debug, Parser)]
struct Arguments {
    /// Folder that gets the dataset `bare.lance`.
    #[arg(long)]
    root: String,
    /// How many appends.
    #[arg(long, default_value_t = 200)]
    commits: usize,
}

fn row(number: usize) -> Result<RecordBatch, Box<dyn Error>> {
    let schema = Schema::new(vec![Field::new("id", DataType::Utf8, false), Field::new("value", DataType::Int64, true)]);
    let id = StringArray::from(vec![format!("{number:08}")]);
    let value = Int64Array::from(vec![i64::try_from(number)?]);
    Ok(RecordBatch::try_new(Arc::new(schema), vec![Arc::new(id), Arc::new(value)])?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let uri = format!("{}/bare.lance", arguments.root.trim_end_matches('/'));
    let create = WriteParams { mode: WriteMode::Create, enable_stable_row_ids: true, ..WriteParams::default() };
    let mut dataset = Arc::new(InsertBuilder::new(uri.as_str()).with_params(&create).execute(vec![row(0)?]).await?);
    let append = WriteParams { mode: WriteMode::Append, skip_auto_cleanup: true, ..WriteParams::default() };
    let mut times_us = Vec::with_capacity(arguments.commits);
    for number in 1..=arguments.commits {
        let rows = vec![row(number)?];
        let start = Instant::now();
        dataset = Arc::new(InsertBuilder::new(dataset).with_params(&append).execute(rows).await?);
        times_us.push(start.elapsed().as_micros());
    }
    times_us.sort_unstable();
    let at = |share: usize| times_us.get(times_us.len() * share / 100).copied().unwrap_or(0);
    println!("{}", serde_json::json!({ "commits": times_us.len(), "p50_us": at(50), "p90_us": at(90) }));
    Ok(())
}
