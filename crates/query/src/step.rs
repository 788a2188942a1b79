//! The cooperative step: the operator that lets a read be stopped, and lets other reads run.
//!
//! DataFusion yields at its sources only. A join that makes a million batches of one, under an aggregate that asks for all of them, never
//! returns to the scheduler. A physical rule puts this step above every operator that can multiply rows and above each input of one. For
//! each batch the step checks the control, records the memory that is held and yields once.
//!
//! One poll of a join can still work for long: a nested loop join, or a hash join with a filter, compares a whole batch of its probe side
//! with the whole build side before it returns, even where the filter drops every pair. The step below such a join therefore hands on
//! slices of at most [`PROBE_ROWS_MAX`] rows, and the join asks the step again after each. A sort and a hash build inside one poll cannot
//! be interrupted.

use std::fmt::Formatter;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec, SymmetricHashJoinExec,
};
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{Stream, StreamExt};

use crate::control::ReadControl;

/// Most rows that a join with a filter gets at once from the side that it probes with.
const PROBE_ROWS_MAX: usize = 512;

/// The rule that puts the steps in.
#[derive(Debug)]
pub(crate) struct PutSteps {
    control: ReadControl,
}

impl PutSteps {
    pub(crate) fn new(control: ReadControl) -> Self {
        Self { control }
    }

    fn step(&self, input: Arc<dyn ExecutionPlan>, slices: Slices) -> Arc<dyn ExecutionPlan> {
        Arc::new(StepExec { input, control: self.control.clone(), slices })
    }
}

impl PhysicalOptimizerRule for PutSteps {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let stepped = plan.transform_up(|node| {
            let Some(slices) = multiplies(node.as_ref()) else { return Ok(Transformed::no(node)) };
            let last = node.children().len().saturating_sub(1);
            // The probe side is the last input of every join.
            let slices = |at: usize| if at == last { slices } else { Slices::Whole };
            let inputs = node.children().into_iter().cloned().enumerate();
            let inputs = inputs.map(|(at, input)| self.step(input, slices(at))).collect();
            Ok(Transformed::yes(self.step(node.with_new_children(inputs)?, Slices::Whole)))
        });
        stepped.data()
    }

    fn name(&self) -> &str {
        "put_steps"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether an operator can return more rows than it is handed, and if so how large the batches of its probe side may be.
fn multiplies(plan: &dyn ExecutionPlan) -> Option<Slices> {
    if plan.is::<NestedLoopJoinExec>() {
        return Some(Slices::Small);
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return Some(if join.filter().is_some() { Slices::Small } else { Slices::Whole });
    }
    let others = plan.is::<CrossJoinExec>()
        || plan.is::<SortMergeJoinExec>()
        || plan.is::<SymmetricHashJoinExec>()
        || plan.is::<UnnestExec>();
    others.then_some(Slices::Whole)
}

/// How a step hands batches on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slices {
    /// As they come.
    Whole,
    /// In slices of at most [`PROBE_ROWS_MAX`] rows.
    Small,
}

/// One step of a plan.
#[derive(Debug)]
struct StepExec {
    input: Arc<dyn ExecutionPlan>,
    control: ReadControl,
    slices: Slices,
}

impl DisplayAs for StepExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "StepExec: {:?}", self.slices)
    }
}

impl ExecutionPlan for StepExec {
    fn name(&self) -> &str {
        "StepExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([input]) = <[_; 1]>::try_from(children) else { return internal_err!("a step has one input") };
        Ok(Arc::new(Self { input, control: self.control.clone(), slices: self.slices }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let memory = Arc::clone(context.memory_pool());
        let input = self.input.execute(partition, context)?;
        let (control, slices) = (self.control.clone(), self.slices);
        Ok(Box::pin(StepStream { input, control, memory, slices, rest: None, turn: Turn::Work }))
    }
}

/// What the next poll does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// It asks for a batch.
    Work,
    /// It lets other tasks run first.
    Yield,
}

/// The batches of a step.
pub(crate) struct StepStream {
    input: SendableRecordBatchStream,
    control: ReadControl,
    memory: Arc<dyn MemoryPool>,
    slices: Slices,
    rest: Option<RecordBatch>,
    turn: Turn,
}

impl StepStream {
    /// The next slice of a batch; what remains of it waits for the next poll.
    fn slice(&mut self, batch: RecordBatch) -> RecordBatch {
        if self.slices == Slices::Whole || batch.num_rows() <= PROBE_ROWS_MAX {
            return batch;
        }
        self.rest = Some(batch.slice(PROBE_ROWS_MAX, batch.num_rows() - PROBE_ROWS_MAX));
        batch.slice(0, PROBE_ROWS_MAX)
    }
}

impl Stream for StepStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Err(stopped) = self.control.check() {
            return Poll::Ready(Some(Err(DataFusionError::External(Box::new(stopped)))));
        }
        self.control.note_memory(self.memory.reserved());
        if self.turn == Turn::Yield {
            self.turn = Turn::Work;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => match ready!(self.input.poll_next_unpin(cx)) {
                Some(Ok(batch)) => batch,
                end => return Poll::Ready(end),
            },
        };
        self.turn = Turn::Yield;
        Poll::Ready(Some(Ok(self.slice(batch))))
    }
}

impl RecordBatchStream for StepStream {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}

#[cfg(test)]
mod tests;
