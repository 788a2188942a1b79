use std::time::Duration;

use futures::StreamExt;
use omnigraph_types::{Effect, Failure, Problem};
use tokio::sync::oneshot;
use tonic::{Request, Status};

use super::{Answers, Parts, Upload};
use crate::deadline::Deadline;
use crate::error::ClientError;

/// An upload whose request stream is handed to the test, and whose call is answered by the test.
struct Call {
    upload: Upload<u32, u32>,
    request: Request<Parts<u32>>,
    answer: oneshot::Sender<Result<Answers<u32>, Status>>,
}

async fn call(deadline: Deadline) -> Call {
    let (sender, request) = oneshot::channel();
    let (answer, answered) = oneshot::channel();
    let upload = Upload::open(deadline, move |request| {
        assert!(sender.send(request).is_ok());
        async move { answered.await.unwrap_or_else(|_| Err(Status::cancelled("the test let go"))) }
    });
    Call { upload, request: request.await.unwrap(), answer }
}

fn answers(list: Vec<Result<u32, Status>>) -> Result<Answers<u32>, Status> {
    Ok(futures::stream::iter(list).boxed())
}

#[tokio::test]
async fn request_ends_where_it_was_said_to_end() {
    let mut call = call(Deadline::Server).await;
    call.upload.send(1).await.unwrap();
    call.upload.end().await.unwrap();
    assert_eq!(call.request.into_inner().collect::<Vec<_>>().await, [1]);
}

#[tokio::test]
async fn request_of_a_dropped_upload_never_looks_complete() {
    let mut call = call(Deadline::Server).await;
    call.upload.send(1).await.unwrap();
    drop(call.upload);
    let mut parts = call.request.into_inner();
    assert_eq!(parts.next().await, Some(1));
    assert!(futures::poll!(parts.next()).is_pending());
}

#[tokio::test]
async fn call_of_an_upload_that_is_dropped_after_its_end_is_let_go() {
    let mut call = call(Deadline::Server).await;
    call.upload.send(1).await.unwrap();
    call.upload.end().await.unwrap();
    assert!(!call.answer.is_closed());
    drop(call.upload);
    call.answer.closed().await;
}

#[tokio::test]
async fn refusal_during_the_stream_reaches_a_waiting_sender_and_stored_nothing() {
    let mut call = call(Deadline::Server).await;
    let failure = Failure::new(Problem::Unauthenticated, "who are you?");
    assert!(call.answer.send(Err(omnigraph_wire::to_status(&failure))).is_ok());
    // The request is not read: without the refusal the sends would wait for ever.
    let mut refused = None;
    for message in 0..5 {
        if let Err(error) = call.upload.send(message).await {
            refused = Some(error);
            break;
        }
    }
    let error = refused.unwrap();
    assert_eq!((error.problem(), error.effect()), (Some(&Problem::Unauthenticated), Effect::None));
}

#[tokio::test]
async fn broken_call_has_no_effect_before_its_end_and_an_unknown_one_after() {
    let mut open = call(Deadline::Server).await;
    assert!(open.answer.send(Err(Status::unavailable("reset"))).is_ok());
    let error = open.upload.next_answer().await.unwrap_err();
    assert!(matches!(error, ClientError::Broken { effect: Effect::None, .. }), "{error:?}");

    let mut ended = call(Deadline::Server).await;
    ended.upload.end().await.unwrap();
    assert!(ended.answer.send(Err(Status::unavailable("reset"))).is_ok());
    let error = ended.upload.next_answer().await.unwrap_err();
    assert!(matches!(error, ClientError::Broken { effect: Effect::Unknown, .. }), "{error:?}");
}

#[tokio::test]
async fn answer_that_comes_during_the_stream_is_kept() {
    let mut call = call(Deadline::Server).await;
    assert!(call.answer.send(answers(vec![Ok(7)])).is_ok());
    assert_eq!(call.upload.next_answer().await.unwrap(), Some(7));
    assert_eq!(call.upload.next_answer().await.unwrap(), None);
}

#[tokio::test]
async fn call_that_the_transport_cancels_after_its_deadline_exceeded_it() {
    let mut call = call(Deadline::after(crate::Timeout::After(Duration::ZERO))).await;
    call.upload.end().await.unwrap();
    assert!(call.answer.send(Err(Status::cancelled("timeout"))).is_ok());
    let error = call.upload.next_answer().await.unwrap_err();
    assert_eq!((error.problem(), error.effect()), (Some(&Problem::DeadlineExceeded), Effect::Unknown));
}
