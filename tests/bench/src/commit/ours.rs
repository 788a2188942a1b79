//! Ours: the same row as a load of the engine.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use omnigraph_engine::{Caller, Durability, Engine, EngineOptions, Graph, NewRoot, StoreHook};
use omnigraph_types::{
    BranchName, CreateGraph, GraphName, Limits, LoadMode, LoadRequest, SystemClock, WriteMode, WriteOptions,
};

use crate::error::BenchError;

/// A type without and one with a key.
pub(crate) const SCHEMA: &str = "node Event { name: String  count: I64  value: F64 }\n\
                      node Item { name: String @key  count: I64  value: F64 }\n";

/// Which table a row goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    /// Rows get a fresh id.
    Keyless,
    /// Rows are looked up by key before they are added.
    Keyed,
}

/// The graph's name.
const NAME: &str = "bench";

async fn engine(
    root: &Path,
    durability: Durability,
    store_hooks: Vec<Arc<dyn StoreHook>>,
) -> Result<Engine, BenchError> {
    let options = EngineOptions {
        limits: Limits::default(),
        clock: Arc::new(SystemClock),
        durability,
        spill_directory: None,
        new_root: NewRoot::WhereNothingIs,
        store_hooks,
    };
    Engine::open(&root.to_string_lossy(), options).await.map_err(BenchError::engine("open the root"))
}

/// An engine with one graph.
#[derive(Debug)]
pub(crate) struct Ours {
    graph: Graph,
}

impl Ours {
    pub(crate) async fn open(
        root: &Path,
        durability: Durability,
        schema: &str,
        store_hooks: Vec<Arc<dyn StoreHook>>,
    ) -> Result<Self, BenchError> {
        let engine = engine(root, durability, store_hooks).await?;
        let name: GraphName = NAME.parse().map_err(BenchError::name)?;
        let create = CreateGraph {
            name: name.clone(),
            schema_source: schema.to_owned(),
            operation_id: None,
            mode: WriteMode::Commit,
        };
        engine.run(&caller(), create).await.map_err(BenchError::engine("make the graph"))?;
        let graph = engine.graph(&name).await.map_err(BenchError::engine("open the graph"))?;
        Ok(Self { graph })
    }

    /// The graph of a root that has one, as another process would open it; `opening` is called between the root and the graph.
    pub(crate) async fn reopen(
        root: &Path,
        durability: Durability,
        store_hooks: Vec<Arc<dyn StoreHook>>,
        opening: impl FnOnce(),
    ) -> Result<Self, BenchError> {
        let engine = engine(root, durability, store_hooks).await?;
        opening();
        let name: GraphName = NAME.parse().map_err(BenchError::name)?;
        let graph = engine.graph(&name).await.map_err(BenchError::engine("open the graph"))?;
        Ok(Self { graph })
    }

    /// The graph.
    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Loads one row into main: one commit.
    pub(crate) async fn append(&self, table: Table, number: u64) -> Result<Duration, BenchError> {
        self.append_on(BranchName::Main, table, number).await
    }

    /// Loads one row into a branch: one commit.
    pub(crate) async fn append_on(
        &self,
        branch: BranchName,
        table: Table,
        number: u64,
    ) -> Result<Duration, BenchError> {
        let row = row(number)?;
        let type_name = match table {
            Table::Keyless => "Event",
            Table::Keyed => "Item",
        };
        let request = LoadRequest { branch, mode: LoadMode::Append, options: WriteOptions::default() };
        let started = Instant::now();
        let mut load = self.graph.run(&caller(), request).await.map_err(BenchError::engine("begin a load"))?;
        let mut stream =
            load.accept_schema(type_name, &row.schema()).await.map_err(BenchError::engine("state the columns"))?;
        load.write(&mut stream, row).await.map_err(BenchError::engine("load the row"))?;
        load.finish().await.map_err(BenchError::engine("commit the row"))?;
        Ok(started.elapsed())
    }
}

/// Who asks in benches.
pub(crate) fn caller() -> Caller {
    Caller::new("bench")
}

fn fields() -> Vec<Field> {
    let field = |name: &str, ty| Field::new(name, ty, false);
    vec![field("name", DataType::Utf8), field("count", DataType::Int64), field("value", DataType::Float64)]
}

fn columns(number: u64) -> Vec<ArrayRef> {
    let name: ArrayRef = Arc::new(StringArray::from(vec![format!("event-{number:010}")]));
    let value: ArrayRef = Arc::new(Float64Array::from(vec![number as f64 / 7.0]));
    vec![name, Arc::new(Int64Array::from(vec![i64::try_from(number).unwrap_or(i64::MAX)])), value]
}

/// The row as a client sends it.
fn row(number: u64) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_new(Arc::new(Schema::new(fields())), columns(number))
}

/// The row as it is stored: with an id as long as a fresh one.
pub(crate) fn stored_row(number: u64) -> Result<RecordBatch, ArrowError> {
    let mut fields = fields();
    fields.insert(0, Field::new("id", DataType::Utf8, false));
    let mut columns = columns(number);
    columns.insert(0, Arc::new(StringArray::from(vec![format!("{number:026}")])));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}
