//! How quick a bulk load is, against writing the same batches as a Lance dataset without any check.
//!
//! `cargo run --release -p omnigraph-engine --example load_speed -- [rows]`

use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{Field, Schema, SchemaRef};
use omnigraph_engine::{Caller, Durability, Engine, EngineOptions, Graph, NewRoot};
use omnigraph_storage::{
    CommitOutcome, FileWriterOptions, ObjectPath, StagedChange, Store, StoreOptions, TransactionMark,
};
use omnigraph_types::{
    AttemptId, BranchName, Clock, CreateGraph, Limits, LoadMode, LoadRequest, OperationId, SystemClock, WriteMode,
    WriteOptions,
};

const SCHEMA: &str = "
node Item { k: String @key a: I64 b: F64 c: String d: I32 }
edge Link: Item -> Item { w: F64 }
";
const BATCH_ROWS: usize = 65_536;

type Failed = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let rows: usize = std::env::args().nth(1).map_or(Ok(10_000_000), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("root");
    let root = root.to_str().ok_or("the temporary folder's name is no text")?;
    let items = batches(rows, item_batch);
    bare(&folder.path().join("bare").display().to_string(), &items, rows).await?;
    let options = EngineOptions {
        limits: Limits::default(),
        clock: Arc::new(SystemClock),
        durability: Durability::Os,
        spill_directory: None,
        new_root: NewRoot::WhereNothingIs,
        store_hooks: Vec::new(),
    };
    let engine = Engine::open(root, options).await?;
    let request = CreateGraph {
        name: "speed".parse()?,
        schema_source: SCHEMA.to_owned(),
        operation_id: None,
        mode: WriteMode::Commit,
    };
    engine.run(&caller(), request).await?;
    let graph = engine.graph(&"speed".parse()?).await?;
    timed("load into an empty type", rows, load(&graph, LoadMode::Append, "Item", &items)).await?;
    drop(items);
    let more = batches(rows, |first, rows| item_batch(first + 1_000_000_000, rows));
    timed("append as many again", rows, load(&graph, LoadMode::Append, "Item", &more)).await?;
    drop(more);
    let links = batches(rows, move |first, count| link_batch(first, count, rows));
    timed("edges between them", rows, load(&graph, LoadMode::Append, "Link", &links)).await?;
    Ok(())
}

async fn timed<T>(what: &str, rows: usize, work: impl Future<Output = Result<T, Failed>>) -> Result<T, Failed> {
    let start = Instant::now();
    let done = work.await?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{what}: {seconds:.2} s, {:.2} million rows/s", rows as f64 / seconds / 1e6);
    Ok(done)
}

/// The floor: the same batches as a Lance dataset.
async fn bare(root: &str, batches: &[RecordBatch], rows: usize) -> Result<(), Failed> {
    let store = Store::open(root, StoreOptions { durability: Durability::Os, ..StoreOptions::default() }).await?;
    let path = ObjectPath::new("bare");
    let batches = &batches.iter().map(with_id).collect::<Vec<_>>();
    let schema = batches.first().ok_or("no rows")?.schema();
    timed("bare write without checks", rows, async {
        let options = FileWriterOptions { rows_per_file_max: Limits::default().data_file_rows_max };
        let mut writer = store.write_files(&path, None, schema.clone(), options);
        for batch in batches {
            writer.write(batch.clone()).await?;
        }
        let clock = SystemClock;
        let mark = TransactionMark {
            uuid: clock.mint().to_string(),
            operation_id: OperationId(clock.mint()),
            attempt_id: AttemptId(clock.mint()),
        };
        let change = StagedChange::create_with(schema.clone(), writer.finish().await?, mark);
        match store.create_dataset(&path, change).await? {
            CommitOutcome::Committed(_) => Ok(()),
            CommitOutcome::Occupied { .. } => Err("the folder is not empty".into()),
        }
    })
    .await
}

fn caller() -> Caller {
    Caller::new("example")
}

async fn load(graph: &Graph, mode: LoadMode, type_name: &str, batches: &[RecordBatch]) -> Result<(), Failed> {
    let request = LoadRequest { branch: BranchName::Main, mode, options: WriteOptions::default() };
    let mut load = graph.run(&caller(), request).await?;
    let schema = batches.first().ok_or("no rows")?.schema();
    let mut stream = load.accept_schema(type_name, &schema).await?;
    let start = Instant::now();
    for batch in batches {
        load.write(&mut stream, batch.clone()).await?;
    }
    println!("  written after {:.2} s", start.elapsed().as_secs_f64());
    load.finish().await?;
    Ok(())
}

fn batches(rows: usize, batch: impl Fn(usize, usize) -> RecordBatch) -> Vec<RecordBatch> {
    (0..rows).step_by(BATCH_ROWS).map(|first| batch(first, BATCH_ROWS.min(rows - first))).collect()
}

fn batch_of(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields = columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), false));
    let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns.into_iter().map(|(_, array)| array).collect()).expect("columns of one length")
}

/// The batch as its table has it: the key is the id too.
fn with_id(batch: &RecordBatch) -> RecordBatch {
    let names = batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>();
    let id = ("id", batch.column(0).clone());
    batch_of(std::iter::once(id).chain(names.into_iter().zip(batch.columns().iter().cloned())).collect())
}

fn item_batch(first: usize, rows: usize) -> RecordBatch {
    let range = || first..first + rows;
    let key: ArrayRef = Arc::new(StringArray::from_iter_values(range().map(|at| format!("item-{at:010}"))));
    let text =
        StringArray::from_iter_values(range().map(|at| format!("text {:08x}", at.wrapping_mul(2_654_435_761) as u32)));
    batch_of(vec![
        ("k", key),
        ("a", Arc::new(Int64Array::from_iter_values(range().map(|at| at as i64)))),
        ("b", Arc::new(Float64Array::from_iter_values(range().map(|at| at as f64 * 0.37)))),
        ("c", Arc::new(text)),
        ("d", Arc::new(Int32Array::from_iter_values(range().map(|at| (at % 1_000) as i32)))),
    ])
}

fn link_batch(first: usize, rows: usize, nodes: usize) -> RecordBatch {
    let end = |factor: usize| {
        let ends = (first..first + rows).map(move |at| format!("item-{:010}", at.wrapping_mul(factor) % nodes));
        Arc::new(StringArray::from_iter_values(ends)) as ArrayRef
    };
    batch_of(vec![
        ("src", end(7_919)),
        ("dst", end(104_729)),
        ("w", Arc::new(Float64Array::from_iter_values((first..first + rows).map(|at| at as f64)))),
    ])
}
