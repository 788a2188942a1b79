//! Queries over small tables in memory: the text, the rows, and what must come out.

mod aggregate;
mod filter;
mod memory;
mod output;
mod stored;
mod traverse;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use arrow::json::ReaderBuilder;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::datasource::MemTable;
use futures::TryStreamExt;
use omnigraph_columns::mapping::property_field;
use omnigraph_lang::params::bind;
use omnigraph_lang::query::check_query;
use omnigraph_lang::schema::{Schema, TypeDef, parse_schema};
use omnigraph_types::{Failure, Problem};

use crate::input::Input;
use crate::run::run_over;
use crate::tables::Tables;
use crate::{QueryError, QueryOptions, ReadControl, SpillPlace};

/// A budget that no small query reaches.
const MEMORY: u64 = 64 * 1024 * 1024;
/// 2024-05-01T10:00:00Z.
const NOW_MS: i64 = 1_714_557_600_000;

const SCHEMA: &str = "
node P {
  k: String @key
  age: I32?  n: I64?  u: U64?  f: F64?  g: F32?
  d: Date?  at: DateTime?
  tags: [String]?  nums: [I32]?
  kind: enum(a, B)?  v: Vector(2)?  b: Blob?
  repoName: String?  order: String?
}
node N { x: I32 }
node K { code: I64 @key }
edge Knows: P -> P { since: I32? }
edge Works: P -> N
edge Likes: P -> P { @key(src, dst) }
";

/// The rows of one query, as text, in the order they came.
type Rows = Vec<Vec<String>>;

struct Graph {
    schema: Schema,
    rows: BTreeMap<String, Vec<RecordBatch>>,
    memory_bytes_max: u64,
}

fn columns(def: &TypeDef) -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    let ids: &[&str] = if def.is_edge() { &["id", "src", "dst"] } else { &["id"] };
    let properties = def.properties.iter().map(property_field);
    Arc::new(ArrowSchema::new(ids.iter().map(|name| text(name)).chain(properties).collect::<Vec<_>>()))
}

impl Graph {
    fn empty() -> Self {
        let schema = Schema::accept_first(&parse_schema(SCHEMA).unwrap());
        Self { schema, rows: BTreeMap::new(), memory_bytes_max: MEMORY }
    }

    fn memory(mut self, bytes: u64) -> Self {
        self.memory_bytes_max = bytes;
        self
    }

    /// Adds rows of a type: one JSON object per line, with the id, and the ends of an edge, as they are stored.
    fn with(mut self, type_name: &str, rows: &str) -> Self {
        let def = self.schema.type_by_name(type_name).unwrap();
        let reader = ReaderBuilder::new(columns(def)).with_strict_mode(true).build(rows.as_bytes()).unwrap();
        let batches = self.rows.entry(type_name.to_owned()).or_default();
        batches.extend(reader.map(|batch| batch.unwrap()));
        self
    }

    /// Adds persons by key.
    fn persons(self, keys: &[&str]) -> Self {
        let rows: String = keys.iter().map(|key| format!("{{\"id\":{key:?},\"k\":{key:?}}}\n")).collect();
        self.with("P", &rows)
    }

    /// Adds edges by their ends; ids are the type's name and a number.
    fn edges(self, type_name: &str, ends: &[(&str, &str)]) -> Self {
        let row = |(at, (src, dst)): (usize, &(&str, &str))| {
            format!("{{\"id\":\"{type_name}{at}\",\"src\":{src:?},\"dst\":{dst:?}}}\n")
        };
        let rows: String = ends.iter().enumerate().map(row).collect();
        self.with(type_name, &rows)
    }

    fn tables(&self) -> Tables {
        let mut tables = Tables::default();
        for def in self.schema.types() {
            let schema = columns(def);
            let batches = self.rows.get(&def.name).cloned().unwrap_or_default();
            let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
            // Two partitions, so that plans are as they are over large tables.
            let (even, odd) = batches.into_iter().enumerate().partition::<Vec<_>, _>(|(at, _)| at % 2 == 0);
            let part = |batches: Vec<(usize, RecordBatch)>| batches.into_iter().map(|(_, batch)| batch).collect();
            let provider = MemTable::try_new(schema, vec![part(even), part(odd)]).unwrap();
            tables.insert(def.id, Arc::new(provider), rows);
        }
        tables
    }

    async fn run(&self, text: &str, params: &str) -> Result<RecordBatch, QueryError> {
        let query = check_query(text, None, &self.schema).unwrap();
        let values = bind(&query.params, params).unwrap();
        let read = query.read.with_values(&values, NOW_MS).unwrap();
        let options = QueryOptions {
            memory_bytes_max: self.memory_bytes_max,
            spill: SpillPlace::System,
            control: ReadControl::unbounded(),
        };
        let tables = self.tables();
        let output = run_over(Input { read: &read, schema: &self.schema, tables: &tables }, &options).await?;
        let batches: Vec<RecordBatch> = output.batches.try_collect().await?;
        for batch in &batches {
            assert_eq!(batch.schema(), output.schema);
        }
        Ok(concat_batches(&output.schema, &batches).unwrap())
    }

    /// The result of `match { pattern } rest`.
    async fn rows(&self, body: &str) -> Rows {
        self.rows_with("", body, "{}").await
    }

    /// The result with declared parameters and their values.
    async fn rows_with(&self, declared: &str, body: &str, params: &str) -> Rows {
        text_of(&self.run(&format!("query q({declared}) {{ {body} }}"), params).await.unwrap())
    }

    /// The result in an order of its own, for queries that state none.
    async fn set(&self, body: &str) -> Rows {
        let mut rows = self.rows(body).await;
        rows.sort();
        rows
    }

    /// How the query fails.
    async fn failure(&self, body: &str) -> Failure {
        match self.run(&format!("query q() {{ {body} }}"), "{}").await {
            Ok(batch) => panic!("{} rows instead of a failure", batch.num_rows()),
            Err(error) => error.failure(),
        }
    }

    /// What is wrong with the query.
    async fn problem(&self, body: &str) -> Problem {
        self.failure(body).await.problem
    }
}

fn text_of(batch: &RecordBatch) -> Rows {
    let options = FormatOptions::default().with_null("null");
    let columns: Vec<_> =
        batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
    (0..batch.num_rows()).map(|row| columns.iter().map(|column| column.value(row).to_string()).collect()).collect()
}

/// Rows of one column.
fn column(values: &[&str]) -> Rows {
    values.iter().map(|value| vec![(*value).to_owned()]).collect()
}

/// Rows of several columns, which are separated by one space.
fn table(rows: &[&str]) -> Rows {
    rows.iter().map(|row| row.split(' ').map(str::to_owned).collect()).collect()
}
