//! A root that lives as long as its test, and short words for what tests do and look at.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::util::display::array_value_to_string;
use futures::TryStreamExt;
use omnigraph_engine::{Caller, Durability, Engine, EngineOptions, Graph, ListCommits, Load, NewRoot, PinCommit, Scan};
use omnigraph_storage::StoreHook;
use omnigraph_types::{
    BranchName, Clock, Columns, ConstraintKind, CreateGraph, Failure, Limits, LoadMode, LoadRequest, OperationId,
    Problem, ReadAt, SystemClock, Violation, WriteMode, WriteOptions, WriteReceipt,
};
use tempfile::TempDir;

/// The schema of the language specification's edge cases, without its Blob.
pub(crate) const SPEC: &str = "
node P { k: String @key age: I32? u: U64? f: F64? d: Date? at: DateTime? tags: [String]?
         kind: enum(a, B)? v: Vector(2)? }
node N { x: I32 }
edge Knows: P -> P
edge Works: P -> N @card(0..1)
edge Owns: P -> N @card(1..)
";

/// An engine over a root of its own.
pub(crate) struct Root {
    pub(crate) engine: Engine,
    pub(crate) folder: TempDir,
}

impl Root {
    pub(crate) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    pub(crate) async fn with(set: impl FnOnce(&mut Limits)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut limits = Limits::default();
        set(&mut limits);
        let engine = Self::open(&folder, limits).await;
        Self { engine, folder }
    }

    pub(crate) async fn open(folder: &TempDir, limits: Limits) -> Engine {
        Self::open_with(folder, limits, Vec::new()).await
    }

    /// Another process on the same root, with hooks around its store.
    pub(crate) async fn engine_with(&self, hooks: Vec<Arc<dyn StoreHook>>) -> Engine {
        Self::open_with(&self.folder, Limits::default(), hooks).await
    }

    async fn open_with(folder: &TempDir, limits: Limits, store_hooks: Vec<Arc<dyn StoreHook>>) -> Engine {
        let options = EngineOptions {
            limits,
            clock: Arc::new(SystemClock),
            durability: Durability::Os,
            spill_directory: Some(folder.path().to_owned()),
            new_root: NewRoot::WhereNothingIs,
            store_hooks,
        };
        Engine::open(folder.path().join("root").to_str().unwrap(), options).await.unwrap()
    }

    pub(crate) async fn graph(&self, schema: &str) -> Graph {
        self.engine.run(&tester(), create("g", schema)).await.unwrap();
        self.engine.graph(&"g".parse().unwrap()).await.unwrap()
    }
}

/// A root with one graph.
pub(crate) async fn graph(schema: &str) -> (Root, Graph) {
    let root = Root::new().await;
    let graph = root.graph(schema).await;
    (root, graph)
}

pub(crate) fn create(name: &str, schema: &str) -> CreateGraph {
    CreateGraph {
        name: name.parse().unwrap(),
        schema_source: schema.to_owned(),
        operation_id: None,
        mode: WriteMode::Commit,
    }
}

/// Who asks in tests.
pub(crate) fn tester() -> Caller {
    Caller::new("tester")
}

/// A scan of a type.
pub(crate) fn scan(type_name: &str, columns: Columns) -> Scan {
    Scan { type_name: type_name.to_owned(), columns }
}

pub(crate) fn request(mode: LoadMode) -> LoadRequest {
    LoadRequest { branch: BranchName::Main, mode, options: WriteOptions::default() }
}

pub(crate) fn mint() -> OperationId {
    OperationId(SystemClock.mint())
}

/// Loads NDJSON text.
pub(crate) async fn load(graph: &Graph, mode: LoadMode, text: &str) -> Result<WriteReceipt, Failure> {
    send(graph, request(mode), text).await
}

/// Loads NDJSON text by a request.
pub(crate) async fn send(graph: &Graph, request: LoadRequest, text: &str) -> Result<WriteReceipt, Failure> {
    let mut load = graph.run(&tester(), request).await?;
    load.write_ndjson(text.as_bytes()).await?;
    load.finish().await
}

pub(crate) async fn append(graph: &Graph, text: &str) -> Result<WriteReceipt, Failure> {
    load(graph, LoadMode::Append, text).await
}

pub(crate) async fn merge(graph: &Graph, text: &str) -> Result<WriteReceipt, Failure> {
    load(graph, LoadMode::Merge, text).await
}

pub(crate) async fn overwrite(graph: &Graph, text: &str) -> Result<WriteReceipt, Failure> {
    load(graph, LoadMode::Overwrite, text).await
}

/// Loads batches of one type.
pub(crate) async fn load_batches(
    graph: &Graph,
    mode: LoadMode,
    type_name: &str,
    batches: &[RecordBatch],
) -> Result<WriteReceipt, Failure> {
    let mut load = graph.run(&tester(), request(mode)).await?;
    write_batches(&mut load, type_name, batches).await?;
    load.finish().await
}

pub(crate) async fn write_batches(load: &mut Load, type_name: &str, batches: &[RecordBatch]) -> Result<(), Failure> {
    let mut stream = load.accept_schema(type_name, &batches[0].schema()).await?;
    for batch in batches {
        load.write(&mut stream, batch.clone()).await?;
    }
    Ok(())
}

/// A batch of columns that may all hold nulls.
pub(crate) fn batch(columns: Vec<(&str, arrow::array::ArrayRef)>) -> RecordBatch {
    let field = |(name, array): &(&str, arrow::array::ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

/// All rows of a type on main, each as its values joined by `|`, sorted. Null is `-`.
pub(crate) async fn rows(graph: &Graph, type_name: &str) -> Vec<String> {
    let snapshot = graph.run(&tester(), PinCommit { at: ReadAt::Branch(BranchName::Main) }).await.unwrap();
    let batches: Vec<RecordBatch> =
        snapshot.run(&tester(), scan(type_name, Columns::All)).await.unwrap().try_collect().await.unwrap();
    let mut rows = Vec::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let value = |column: &arrow::array::ArrayRef| match column.is_null(row) {
                true => "-".to_owned(),
                false => array_value_to_string(column, row).unwrap(),
            };
            rows.push(batch.columns().iter().map(value).collect::<Vec<_>>().join("|"));
        }
    }
    rows.sort();
    rows
}

/// The ids of a type on main, in the order of its rows' texts.
pub(crate) async fn ids(graph: &Graph, type_name: &str) -> Vec<String> {
    rows(graph, type_name).await.into_iter().map(|row| row.split('|').next().unwrap().to_owned()).collect()
}

/// The values of one column for one id.
pub(crate) async fn value(graph: &Graph, type_name: &str, id: &str, column: &str) -> String {
    let snapshot = graph.run(&tester(), PinCommit { at: ReadAt::Branch(BranchName::Main) }).await.unwrap();
    let columns = Columns::Named(vec!["id".to_owned(), column.to_owned()]);
    let batches: Vec<RecordBatch> =
        snapshot.run(&tester(), scan(type_name, columns)).await.unwrap().try_collect().await.unwrap();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            if array_value_to_string(batch.column(0), row).unwrap() == id {
                return match batch.column(1).is_null(row) {
                    true => "-".to_owned(),
                    false => array_value_to_string(batch.column(1), row).unwrap(),
                };
            }
        }
    }
    panic!("{type_name} {id} is not there");
}

/// Commits on main, the graph's birth included.
pub(crate) async fn commits(graph: &Graph) -> usize {
    graph.run(&tester(), ListCommits { branch: BranchName::Main, after: None, most: 100 }).await.unwrap().len()
}

/// The violations of a failed load.
pub(crate) fn violations(result: Result<WriteReceipt, Failure>) -> Vec<Violation> {
    match result.unwrap_err() {
        Failure { problem: Problem::ConstraintViolation { violations, .. }, .. } => violations,
        other => panic!("{other:?}"),
    }
}

/// The only violation of a failed load.
pub(crate) fn violation(result: Result<WriteReceipt, Failure>) -> Violation {
    let mut found = violations(result);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Kind and row of the only violation.
pub(crate) fn kind_and_row(result: Result<WriteReceipt, Failure>) -> (ConstraintKind, Option<u64>) {
    let violation = violation(result);
    (violation.kind, violation.source_row)
}

/// Row and column of data that cannot be loaded.
pub(crate) fn invalid(result: Result<WriteReceipt, Failure>) -> (Option<u64>, Option<String>) {
    match result.unwrap_err().problem {
        Problem::LoadInvalid { row, column, .. } => (row, column),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn p(k: &str) -> String {
    format!("{{\"type\":\"P\",\"data\":{{\"k\":{}}}}}\n", serde_json::Value::from(k))
}

pub(crate) fn n(id: &str) -> String {
    format!("{{\"type\":\"N\",\"data\":{{\"id\":\"{id}\",\"x\":1}}}}\n")
}

pub(crate) fn edge(name: &str, from: &str, to: &str, id: &str) -> String {
    format!("{{\"edge\":\"{name}\",\"from\":\"{from}\",\"to\":\"{to}\",\"data\":{{\"id\":\"{id}\"}}}}\n")
}

pub(crate) fn list_type(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, true)))
}
