//! What lies between the socket and the services, for native calls and Flight alike.
//!
//! Order of a call: trace, deadline, admission, identification of the actor, the watch over the request body, the handler; then details for
//! tonic's own errors. `CallLayer` is all of it.

mod actor;
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
use omnigraph_types::Limits;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tower::{Layer, Service};

use self::admission::Admission;
use self::body::{CallBody, CallGuard};
use self::deadline::Deadline;
use self::trace::CallTrace;
use crate::body_state::BodyState;
use crate::context::{CallContext, CallFacts};
use crate::outcome::{Interruption, refuse};
use crate::watched_body::{Pace, WatchedBody};

/// Calls that are admitted whatever the load is: operators watch the server through them.
const ALWAYS_ADMITTED: [&str; 2] = ["/grpc.health.", "/grpc.reflection."];
/// Calls that last until the server stops.
const ENDLESS: [&str; 3] = [
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// The layer in front of all services.
#[derive(Debug, Clone)]
pub struct CallLayer {
    limits: Arc<Limits>,
    admission: Admission,
    stopping: CancellationToken,
}

impl CallLayer {
    /// A layer with these limits, whose endless calls end when `stopping` is cancelled.
    pub fn new(limits: &Limits, stopping: CancellationToken) -> Self {
        Self { limits: Arc::new(limits.clone()), admission: Admission::new(limits), stopping }
    }

    /// Resolves to what ends a call that does not end by itself.
    fn ending(&self, method: &str, deadline: Deadline) -> BoxFuture<'static, Interruption> {
        let stopping = ENDLESS.contains(&method).then(|| self.stopping.clone());
        async move {
            let stopped = async {
                match stopping {
                    Some(stopping) => stopping.cancelled_owned().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = sleep_until(deadline.reply_by) => Interruption::DeadlinePassed,
                () = stopped => Interruption::ServerStopping,
            }
        }
        .boxed()
    }
}

impl<S> Layer<S> for CallLayer {
    type Service = CallService<S>;

    fn layer(&self, inner: S) -> CallService<S> {
        CallService { inner, layer: self.clone() }
    }
}

/// The services behind the layer.
#[derive(Debug, Clone)]
pub struct CallService<S> {
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
    let (deadline, malformed) = match Deadline::of(request.headers(), &layer.limits, now) {
        Ok(deadline) => (deadline, None),
        Err(failure) => (Deadline::fallback(&layer.limits, now), Some(failure)),
    };
    let body = BodyState::default();
    let context = CallContext::new(CallFacts {
        method: request.uri().path().to_owned(),
        deadline: deadline.work_by,
        body: body.clone(),
    });
    let mut guard = CallGuard {
        trace: CallTrace::begin(context.clone()),
        ending: layer.ending(context.method(), deadline),
        context: context.clone(),
        admitted: None,
    };
    if let Some(failure) = malformed {
        return finish(refuse(&context, failure).into_http(), guard);
    }
    if !ALWAYS_ADMITTED.iter().any(|prefix| context.method().starts_with(prefix)) {
        match layer.admission.admit().await {
            Ok(admitted) => guard.admitted = Some(admitted),
            Err(failure) => return finish(refuse(&context, failure).into_http(), guard),
        }
    }
    context.identified(actor::identify(request.headers()));
    let pace = if ENDLESS.contains(&context.method()) { Pace::Any } else { Pace::Timed };
    let mut request = request.map(|inner| Body::new(WatchedBody::new(inner, body, &layer.limits, pace)));
    request.extensions_mut().insert(context.clone());
    let handler = AssertUnwindSafe(async move { inner.call(request).await }).catch_unwind();
    let response = tokio::select! {
        biased;
        outcome = handler => match outcome {
            Ok(Ok(response)) => response,
            Err(_) => refuse(&context, Interruption::Panicked).into_http(),
        },
        interruption = guard.ending.as_mut() => refuse(&context, interruption).into_http(),
    };
    finish(response, guard)
}

/// Binds a response to what the call holds.
fn finish(response: Response<Body>, guard: CallGuard) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    complete::complete(&mut parts.headers, &guard.context);
    let body = CallBody::new(body, guard, &parts.headers);
    Response::from_parts(parts, Body::new(body))
}
