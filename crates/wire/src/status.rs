//! A `Failure` as a gRPC status, and back.
//!
//! `to_status` is the one place in the workspace that builds a `tonic::Status`: its receiver learns what happened, whether
//! anything was stored and what to do next, without guessing from the code. Every status carries, in this order, one
//! `ErrorInfo`, the problem's own detail, then the standard details that apply; and text trailers for clients that show nothing else.
//!
//! Invariants:
//! - All trailers together stay below `TRAILERS_BYTES_MAX` before base64, whatever the failure holds: the longest texts and lists are cut
//!   first, and the last step of `bounds::STEPS` fits any failure.
//! - `from_status(to_status(f))` is `f` without its source, unless something was cut.

mod bounds;
mod decode;
mod detail;
mod encode;
mod fit;
#[cfg(test)]
mod tests;
mod trailers;

use omnigraph_types::Failure;
use prost::Message;
use tonic::Status;
use tonic::metadata::{MetadataMap, MetadataValue};

use self::trailers::{ARROW_CODE_TRAILER, ARROW_MESSAGE_TRAILER, arrow_code};
use crate::google::rpc;

pub use decode::from_rpc_status;
pub use trailers::{ERROR_DOMAIN, REASON_TRAILER};

/// Encodes a failure as a status: code, message, details and trailers, for gRPC and for Flight alike.
pub fn to_status(failure: &Failure) -> Status {
    let fitted = fit::fit(failure);
    let message = fitted.status.message.clone();
    let mut trailers = MetadataMap::new();
    trailers.insert(REASON_TRAILER, MetadataValue::from_static(fitted.reason));
    trailers.insert(ARROW_CODE_TRAILER, MetadataValue::from_static(arrow_code(fitted.code)));
    trailers.insert_bin(ARROW_MESSAGE_TRAILER, MetadataValue::from_bytes(message.as_bytes()));
    Status::with_details_and_metadata(fitted.code, message, fitted.status.encode_to_vec().into(), trailers)
}

/// Encodes a failure as the message that travels in a status's details, for responses that report failures.
pub fn to_rpc_status(failure: &Failure) -> rpc::Status {
    fit::fit(failure).status
}

/// Decodes a status. Where it has our details the failure is the one that was encoded; where it has none - a proxy answered, the
/// connection broke, the server is another program - the failure says as much as the code proves.
pub fn from_status(status: &Status) -> Failure {
    match rpc::Status::decode(status.details()) {
        Ok(decoded) if !decoded.details.is_empty() => from_rpc_status(&decoded),
        _ => decode::without_details(status.code(), status.message(), std::error::Error::source(status)),
    }
}
