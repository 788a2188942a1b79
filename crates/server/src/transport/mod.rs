//! What lies between the socket and the services, for native calls and Flight alike: trace, deadline, admission, the watch over the
//! request body, and details for tonic's own errors.

mod admission;
mod body;
mod complete;
mod deadline;
mod trace;

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Request, Response};
use omnigraph_flight::{BodyState, CallContext, WatchedBody, refuse};
use omnigraph_types::{Effect, Failure, Limits, Problem, Retry};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tower::{Layer, Service};

use admission::Admission;
use body::{CallBody, CallGuard};
use deadline::Deadline;
use trace::CallTrace;

/// The actor of a call without credentials.
const ANONYMOUS: &str = "anonymous";
/// Calls that answer whatever the load is: an operator looks through them.
const ALWAYS_ADMITTED: [&str; 2] = ["/grpc.health.", "/grpc.reflection."];
/// Calls that last until the server stops.
const ENDLESS: [&str; 3] = [
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// The layer in front of all services.
#[derive(Debug, Clone)]
pub(crate) struct CallLayer {
    limits: Arc<Limits>,
    admission: Admission,
    stopping: CancellationToken,
}

impl CallLayer {
    /// A layer with these limits, whose endless calls end when `stopping` is cancelled.
    pub(crate) fn new(limits: &Limits, stopping: CancellationToken) -> Self {
        Self { limits: Arc::new(limits.clone()), admission: Admission::new(limits), stopping }
    }

    /// Resolves to the failure with which a call ends that does not end by itself.
    fn ending(&self, method: &str, deadline: Deadline, context: CallContext) -> BoxFuture<'static, Failure> {
        let stopping = ENDLESS.contains(&method).then(|| self.stopping.clone());
        async move {
            let stopped = async {
                match stopping {
                    Some(stopping) => stopping.cancelled_owned().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = sleep_until(deadline.reply_by) => deadline_exceeded(&context),
                () = stopped => stopped_server(),
            }
        }
        .boxed()
    }
}

fn deadline_exceeded(context: &CallContext) -> Failure {
    let message = match context.effect() {
        Effect::None => {
            "the deadline passed before the request was done; it changed nothing: send it again with more time"
        }
        Effect::Unknown | Effect::Committed => {
            "the deadline passed before the outcome was known: send the same request again with the same operation_id, or ask GetOperation"
        }
    };
    Failure::new(Problem::DeadlineExceeded, message).with_effect(context.effect())
}

fn stopped_server() -> Failure {
    Failure::new(Problem::Cancelled, "the server stops: call again, another server answers").with_effect(Effect::None)
}

impl<S> Layer<S> for CallLayer {
    type Service = CallService<S>;

    fn layer(&self, inner: S) -> CallService<S> {
        CallService { inner, layer: self.clone() }
    }
}

/// The services behind the layer.
#[derive(Debug, Clone)]
pub(crate) struct CallService<S> {
    inner: S,
    layer: CallLayer,
}

impl<S> Service<Request<Body>> for CallService<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // The service that was polled ready is the one to call; its clone waits for the next call.
        let next = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, next);
        answer(self.layer.clone(), inner, request).map(Ok).boxed()
    }
}

/// Answers one call.
async fn answer<S>(layer: CallLayer, mut inner: S, request: Request<Body>) -> Response<Body>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    let now = Instant::now();
    let method = request.uri().path().to_owned();
    let (deadline, malformed) = match Deadline::of(request.headers(), &layer.limits, now) {
        Ok(deadline) => (deadline, None),
        Err(failure) => (Deadline::fallback(&layer.limits, now), Some(failure)),
    };
    let body = BodyState::default();
    let context = CallContext::new(ANONYMOUS, deadline.work_by, body.clone());
    let mut guard = CallGuard {
        trace: CallTrace::begin(&method, context.clone()),
        ending: layer.ending(&method, deadline, context.clone()),
        context: context.clone(),
        admitted: None,
        method,
    };
    if let Some(failure) = malformed {
        return finish(refuse(failure).into_http(), guard);
    }
    if !ALWAYS_ADMITTED.iter().any(|prefix| guard.method.starts_with(prefix)) {
        match layer.admission.admit().await {
            Ok(admitted) => guard.admitted = Some(admitted),
            Err(failure) => return finish(refuse(failure).into_http(), guard),
        }
    }
    let mut request = request.map(|inner| Body::new(WatchedBody::new(inner, body, &layer.limits)));
    request.extensions_mut().insert(context);
    let handler = AssertUnwindSafe(async move { inner.call(request).await }).catch_unwind();
    let response = tokio::select! {
        biased;
        outcome = handler => match outcome {
            Ok(Ok(response)) => response,
            Err(_) => refuse(defect(&guard.context)).into_http(),
        },
        failure = guard.ending.as_mut() => refuse(failure).into_http(),
    };
    finish(response, guard)
}

/// What the client is told of a handler that panicked.
fn defect(context: &CallContext) -> Failure {
    let message = "the server met a defect of its own; its log has more: report it";
    let mut failure = Failure::new(Problem::Internal, message).with_effect(context.effect());
    failure.retry = Retry::Never;
    failure
}

/// Binds a response to what the call holds.
fn finish(response: Response<Body>, guard: CallGuard) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    complete::complete(&mut parts.headers, &guard.method, &guard.context);
    let body = CallBody::new(body, guard, &parts.headers);
    Response::from_parts(parts, Body::new(body))
}
