//! One log line for each call, written when the call is over.

use std::time::Instant;

use http::HeaderMap;
use omnigraph_wire::REASON_TRAILER;
use tonic::Code;
use tracing::info;

use super::complete::CODE_HEADER;
use crate::context::CallContext;

/// A call in progress. Dropping it writes its line.
#[derive(Debug)]
pub(crate) struct CallTrace {
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
    /// Begins the trace of a call.
    pub(crate) fn begin(context: CallContext) -> Self {
        Self { context, began: Instant::now(), outcome: None }
    }

    /// Records how the call ended, if these headers or trailers hold a status.
    pub(crate) fn note(&mut self, headers: &HeaderMap) {
        if let Some(status) = headers.get(CODE_HEADER) {
            let reason = headers.get(REASON_TRAILER).and_then(|value| value.to_str().ok()).unwrap_or_default();
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
            method = self.context.method().trim_start_matches('/'),
            graph = self.context.graph().unwrap_or_default(),
            actor = self.context.actor(),
            code = ?code,
            reason,
            elapsed_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "request"
        );
    }
}
