//! One log line for each call, written when the call is over.

use std::time::Instant;

use http::HeaderMap;
use omnigraph_flight::CallContext;
use tonic::Code;
use tracing::info;

use super::complete::CODE_HEADER;

/// Where the wire crate puts an error's reason for clients that read text trailers.
const REASON_HEADER: &str = "x-omnigraph-reason";

/// A call in progress. Dropping it writes its line.
#[derive(Debug)]
pub(crate) struct CallTrace {
    method: String,
    context: CallContext,
    began: Instant,
    outcome: Option<Outcome>,
}

#[derive(Debug)]
struct Outcome {
    code: Code,
    reason: String,
}

impl CallTrace {
    /// Begins the trace of a call of `method`, such as `/omnigraph.v1.GraphService/GetGraph`.
    pub(crate) fn begin(method: &str, context: CallContext) -> Self {
        Self { method: method.trim_start_matches('/').to_owned(), context, began: Instant::now(), outcome: None }
    }

    /// Notes how the call ended, if these headers or trailers tell it.
    pub(crate) fn note(&mut self, headers: &HeaderMap) {
        if let Some(status) = headers.get(CODE_HEADER) {
            let reason = headers.get(REASON_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
            self.outcome = Some(Outcome { code: Code::from_bytes(status.as_bytes()), reason: reason.to_owned() });
        }
    }
}

impl Drop for CallTrace {
    fn drop(&mut self) {
        // A call that is dropped before its end was cancelled by its client.
        let (code, reason) = match &self.outcome {
            Some(outcome) => (outcome.code, outcome.reason.as_str()),
            None => (Code::Cancelled, "CANCELLED"),
        };
        info!(
            method = %self.method,
            graph = self.context.graph().unwrap_or_default(),
            actor = self.context.actor(),
            code = ?code,
            reason,
            elapsed_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "request"
        );
    }
}
