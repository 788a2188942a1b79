//! Details for the errors that tonic makes by itself.
//!
//! tonic answers unknown methods, undecodable messages and oversize messages without details. A client of ours relies on every error to
//! state its reason, effect and retry, so these errors are replaced. Errors that have details, and codes without a reason in the contract
//! (health's NOT_FOUND for an unknown service), pass unchanged.

use http::HeaderMap;
use omnigraph_types::{Effect, Failure, Problem};
use tonic::{Code, Status};

use crate::context::CallContext;
use crate::outcome::refuse;

/// Where a status keeps its code, its details and its message.
pub(super) const CODE_HEADER: &str = "grpc-status";
const DETAILS_HEADER: &str = "grpc-status-details-bin";
const MESSAGE_HEADER: &str = "grpc-message";

/// Replaces an error without details in headers or trailers by one with details.
pub(crate) fn complete(headers: &mut HeaderMap, context: &CallContext) {
    let Some(code) = headers.get(CODE_HEADER).map(|value| Code::from_bytes(value.as_bytes())) else { return };
    if code == Code::Ok || headers.contains_key(DETAILS_HEADER) {
        return;
    }
    if let Some(failure) = failure_of(code, context) {
        write(headers, &refuse(context, failure));
    }
}

/// Writes a status over the one that headers or trailers hold.
pub(crate) fn write(headers: &mut HeaderMap, status: &Status) {
    headers.remove(MESSAGE_HEADER);
    headers.remove(DETAILS_HEADER);
    // Fails only for a message that cannot be a header once encoded; the code alone is written then.
    if status.add_header(headers).is_err() {
        headers.insert(CODE_HEADER, (status.code() as i32).into());
    }
}

fn failure_of(code: Code, context: &CallContext) -> Option<Failure> {
    if let Some(fault) = context.body().fault() {
        return Some(fault.failure());
    }
    let method = context.method();
    let (problem, message) = match code {
        Code::Unimplemented => (
            Problem::Unimplemented { feature: method.to_owned() },
            format!("this server has no method {method}: server reflection lists those that it has"),
        ),
        Code::Internal | Code::OutOfRange => (
            Problem::InvalidRequest { field: "message".to_owned() },
            "the request's message cannot be decoded: send what the contract's proto files describe".to_owned(),
        ),
        Code::Ok
        | Code::Cancelled
        | Code::Unknown
        | Code::InvalidArgument
        | Code::DeadlineExceeded
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::ResourceExhausted
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::Unavailable
        | Code::DataLoss
        | Code::Unauthenticated => return None,
    };
    Some(Failure::new(problem, message).with_effect(Effect::None))
}
