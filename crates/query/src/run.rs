//! Running a planned query within its memory.
//!
//! Joins are hash joins first: quick, but their build side must fit. If memory runs out before the first row, the query runs once more
//! with merge joins, whose sorts spill to disk. After the first row an exhausted budget is an error. Dropping the stream
//! stops all work at its next batch and removes the spill files.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{SendableRecordBatchStream, execute_stream};
use datafusion::prelude::SessionConfig;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use omnigraph_catalog::Snapshot;
use omnigraph_lang::query::ir::ReadQuery;
use omnigraph_lang::schema::Schema;
use tracing::debug;

use crate::QueryError;
use crate::budget::Budget;
use crate::control::ReadControl;
use crate::error::{Exhaustion, engine_error, exhaustion};
use crate::input::Input;
use crate::plan::plan_query;
use crate::shape::Shape;
use crate::step::PutSteps;
use crate::tables::Tables;

/// Most rows of one batch between operators, and so of one result batch.
const BATCH_ROWS_MAX: u64 = 8_192;
/// Fewest rows of one batch, however wide they are.
const BATCH_ROWS_MIN: u64 = 128;
/// Batches of the result's width that fit the budget at least, so that sorts have room to merge what they spilled.
const BATCHES_IN_BUDGET: u64 = 128;
/// Bytes that a value of no fixed width is taken for.
const TEXT_BYTES: u64 = 32;
/// Bytes that one query may spill to disk.
const SPILL_BYTES_MAX: u64 = 64 * 1024 * 1024 * 1024;
/// Memory that a sort keeps back for merging its spilled runs, where the budget allows it.
const SORT_RESERVE_BYTES: u64 = 10 * 1024 * 1024;
/// Parts of the budget that all sorts' reserves together may take.
const SORT_RESERVE_SHARE: u64 = 16;

/// Where operators spill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SpillPlace {
    /// The system's folder for temporary files.
    #[default]
    System,
    /// Below this folder.
    Directory(PathBuf),
}

/// Bounds of one query.
#[derive(Debug, Clone)]
pub struct QueryOptions {
    /// Bytes that its operators may hold at once: the limit `query_memory_bytes_max`.
    pub memory_bytes_max: u64,
    /// Where they spill.
    pub spill: SpillPlace,
    /// What stops it.
    pub control: ReadControl,
}

/// Result rows, batch by batch.
pub type QueryBatches = BoxStream<'static, Result<RecordBatch, QueryError>>;

/// A running query.
pub struct QueryOutput {
    /// Names, types and nullability of the columns, by the graph's schema; also where there are no rows.
    pub schema: SchemaRef,
    /// The rows. Work happens as they are asked for.
    pub batches: QueryBatches,
}

/// Runs a checked read over one snapshot. Parameters and `now()` must have been replaced by their values.
///
/// Everything is read at the versions that the snapshot pins. The first batch is computed before this returns, so most failures
/// come from here and not from the stream.
pub async fn run(
    snapshot: &Snapshot,
    schema: &Schema,
    read: &ReadQuery,
    options: &QueryOptions,
) -> Result<QueryOutput, QueryError> {
    let tables = Tables::open(snapshot, read).await?;
    run_over(Input { read, schema, tables: &tables }, options).await
}

pub(crate) async fn run_over(input: Input<'_>, options: &QueryOptions) -> Result<QueryOutput, QueryError> {
    let plan = plan_query(input)?;
    let shape = Arc::new(Shape::of(input)?);
    let first = Attempt { plan: &plan, options, joins: Joins::Hash };
    let started = match first.start().await {
        Err(QueryError::Memory { asked, .. }) => {
            debug!(asked, "hash joins exceed the memory budget: use merge joins");
            Attempt { plan: &plan, options, joins: Joins::Merge }.start().await?
        }
        other => other?,
    };
    let schema = shape.schema().clone();
    let batches = started.map(move |batch| {
        let batch = batch?;
        shape.apply(&batch).map_err(|error| engine_error("shape the result", error.into()))
    });
    Ok(QueryOutput { schema, batches: batches.boxed() })
}

/// How tables are joined.
#[derive(Debug, Clone, Copy)]
enum Joins {
    /// The smaller side in memory.
    Hash,
    /// Both sides sorted, on disk where memory is short.
    Merge,
}

struct Attempt<'a> {
    plan: &'a LogicalPlan,
    options: &'a QueryOptions,
    joins: Joins,
}

impl Attempt<'_> {
    /// Plans, starts, and waits for the first batch.
    async fn start(&self) -> Result<QueryBatches, QueryError> {
        let budget = Arc::new(Budget::new(self.options.memory_bytes_max, self.options.control.clone()));
        let limit = self.options.memory_bytes_max;
        let failed = {
            let budget = Arc::clone(&budget);
            move |source: DataFusionError| match exhaustion(&source) {
                Exhaustion::Memory => QueryError::Memory { limit, asked: budget.refused_bytes(), source },
                Exhaustion::None => engine_error("run the query", source),
            }
        };
        let mut rows = self.execute(budget).await.map_err(&failed)?;
        let first = rows.try_next().await.map_err(&failed)?;
        Ok(stream::iter(first.map(Ok)).chain(rows.map_err(failed)).boxed())
    }

    async fn execute(&self, budget: Arc<Budget>) -> Result<SendableRecordBatchStream, DataFusionError> {
        let mode = match &self.options.spill {
            SpillPlace::System => DiskManagerMode::OsTmpDirectory,
            SpillPlace::Directory(folder) => DiskManagerMode::Directories(vec![folder.clone()]),
        };
        let disk = DiskManagerBuilder::default().with_mode(mode).with_max_temp_directory_size(SPILL_BYTES_MAX);
        let runtime = RuntimeEnvBuilder::new().with_memory_pool(budget).with_disk_manager_builder(disk).build_arc()?;
        let steps = Arc::new(PutSteps::new(self.options.control.clone()));
        let state = SessionStateBuilder::new().with_config(self.config()).with_runtime_env(runtime);
        let state = state.with_physical_optimizer_rule(steps).build();
        let physical = state.create_physical_plan(self.plan).await?;
        execute_stream(physical, state.task_ctx())
    }

    /// Rows of a batch: fewer where rows are wide or the budget is small.
    fn batch_rows(&self) -> usize {
        let row_bytes: u64 = self.plan.schema().fields().iter().map(|field| width_bytes(field.data_type())).sum();
        let rows = self.options.memory_bytes_max / BATCHES_IN_BUDGET / row_bytes.max(1);
        // Within the bounds, so it fits.
        rows.clamp(BATCH_ROWS_MIN, BATCH_ROWS_MAX) as usize
    }

    fn config(&self) -> SessionConfig {
        let partitions = available_parallelism().map_or(1, usize::from);
        let share = self.options.memory_bytes_max / SORT_RESERVE_SHARE / partitions as u64;
        let reserve = usize::try_from(share.min(SORT_RESERVE_BYTES)).unwrap_or(0);
        let mut config = SessionConfig::new().with_target_partitions(partitions).with_batch_size(self.batch_rows());
        let options = config.options_mut();
        options.execution.sort_spill_reservation_bytes = reserve;
        options.optimizer.prefer_hash_join = match self.joins {
            Joins::Hash => true,
            Joins::Merge => false,
        };
        config
    }
}

/// About how many bytes a value takes.
fn width_bytes(ty: &DataType) -> u64 {
    match ty {
        DataType::FixedSizeList(item, length) => width_bytes(item.data_type()) * u64::try_from(*length).unwrap_or(0),
        DataType::List(item) => width_bytes(item.data_type()) * 4,
        other => other.primitive_width().map_or(TEXT_BYTES, |bytes| bytes as u64),
    }
}
