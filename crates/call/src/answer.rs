//! From a request to its handler, and from what the handler returns to the response.
//!
//! A handler takes the call's context and the message, and fails with a `Failure`; the status is made by `refuse`, for unary calls and for
//! every item of a stream.

use std::future::Future;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt};
use omnigraph_types::Failure;
use tonic::{Request, Response, Status};

use crate::context::CallContext;
use crate::fault::not_offered_by_name;
use crate::outcome::{refuse, refuse_unwatched};
use crate::own_headers::OwnHeaders;

/// Answers a call with one message.
pub async fn answer<M, R, F>(
    mut request: Request<M>,
    handle: impl FnOnce(CallContext, M) -> F,
) -> Result<Response<R>, Status>
where
    F: Future<Output = Result<R, Failure>>,
{
    let context = context_of(&request)?;
    OwnHeaders::take(&mut request).finish(&[]).map_err(|failure| refuse(&context, failure))?;
    let outcome = handle(context.clone(), request.into_inner()).await;
    outcome.map(Response::new).map_err(|failure| refuse(&context, failure))
}

/// Answers a call with a stream of messages. A call that has headers of the contract has taken them out of its request before.
pub async fn answer_stream<M, R, S, F>(
    mut request: Request<M>,
    handle: impl FnOnce(CallContext, M) -> F,
) -> Result<Response<BoxStream<'static, Result<R, Status>>>, Status>
where
    F: Future<Output = Result<S, Failure>>,
    S: Stream<Item = Result<R, Failure>> + Send + 'static,
{
    let context = context_of(&request)?;
    OwnHeaders::take(&mut request).finish(&[]).map_err(|failure| refuse(&context, failure))?;
    match handle(context.clone(), request.into_inner()).await {
        Ok(items) => Ok(Response::new(items.map_err(move |failure| refuse(&context, failure)).boxed())),
        Err(failure) => Err(refuse(&context, failure)),
    }
}

/// Refuses a call that the contract declares and this server does not offer. `instead` says what the caller does instead.
pub fn decline<M, R>(request: &Request<M>, instead: &str) -> Result<R, Status> {
    let context = context_of(request)?;
    Err(refuse(&context, not_offered_by_name(context.call_name(), instead)))
}

fn context_of<M>(request: &Request<M>) -> Result<CallContext, Status> {
    CallContext::of(request).ok_or_else(refuse_unwatched)
}

#[cfg(test)]
mod tests {
    use omnigraph_types::Problem;

    use super::*;

    #[tokio::test]
    async fn service_without_the_layer_refuses_to_run() {
        let outcome = answer(Request::new(()), |_, ()| async { Ok(()) }).await;
        let failure = omnigraph_wire::from_status(&outcome.unwrap_err());
        assert_eq!(failure.problem, Problem::Internal);
    }
}
