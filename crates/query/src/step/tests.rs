//! The step over streams and plans made by hand.

use arrow::array::Int64Array;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::execution::memory_pool::UnboundedMemoryPool;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::control::Stopped;

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]))
}

fn batch(rows: i64) -> RecordBatch {
    RecordBatch::try_new(schema(), vec![Arc::new(Int64Array::from_iter_values(0..rows))]).unwrap()
}

/// A step over endless batches, with the token that stops it.
fn endless(rows: i64, slices: Slices) -> (StepStream, CancellationToken) {
    let stop = CancellationToken::new();
    let control = ReadControl::new(stop.clone(), None, Arc::default(), ());
    let input = Box::pin(RecordBatchStreamAdapter::new(schema(), stream::repeat_with(move || Ok(batch(rows)))));
    let memory: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
    (StepStream { input, control, memory, slices, rest: None, turn: Turn::Work }, stop)
}

fn poll(step: &mut StepStream) -> Poll<Option<Result<RecordBatch>>> {
    step.poll_next_unpin(&mut Context::from_waker(futures::task::noop_waker_ref()))
}

#[test]
fn step_yields_after_every_batch() {
    let (mut step, _stop) = endless(1, Slices::Whole);
    for _ in 0..3 {
        assert!(matches!(poll(&mut step), Poll::Ready(Some(Ok(_)))));
        assert!(poll(&mut step).is_pending());
    }
}

#[test]
fn cancelled_step_ends_with_its_reason_at_the_next_poll() {
    let (mut step, stop) = endless(1, Slices::Whole);
    assert!(matches!(poll(&mut step), Poll::Ready(Some(Ok(_)))));
    stop.cancel();
    let Poll::Ready(Some(Err(DataFusionError::External(error)))) = poll(&mut step) else { panic!("it goes on") };
    assert_eq!(error.downcast_ref::<Stopped>(), Some(&Stopped::Cancelled));
}

#[test]
fn probe_side_is_handed_on_in_slices_without_loss() {
    let (mut step, _stop) = endless(1_300, Slices::Small);
    let mut rows = Vec::new();
    while rows.len() < 4 {
        if let Poll::Ready(Some(Ok(batch))) = poll(&mut step) {
            rows.push(batch.num_rows());
        }
    }
    assert_eq!(rows, [512, 512, 276, 512]);
}

#[tokio::test]
async fn what_is_held_is_released_with_the_last_operator() {
    let held = Arc::new(());
    let control = ReadControl::new(CancellationToken::new(), None, Arc::default(), Arc::clone(&held));
    let (mut step, _stop) = endless(1, Slices::Whole);
    step.control = control.clone();
    drop(control);
    assert_eq!(Arc::strong_count(&held), 2);
    drop(step);
    assert_eq!(Arc::strong_count(&held), 1);
}
