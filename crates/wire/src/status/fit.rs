//! Making an encoded failure small enough for every client.

use omnigraph_types::Failure;

use super::bounds::STEPS;
use super::encode::{Fitted, encode};
use super::trailers::{ARROW_CODE_TRAILER, ARROW_MESSAGE_TRAILER, REASON_TRAILER, TRAILERS_BYTES_MAX, arrow_code};
use prost::Message;

/// Encodes a failure within the first bounds that make its trailers fit.
pub(super) fn fit(failure: &Failure) -> Fitted {
    let [first, others @ ..] = STEPS;
    let mut fitted = encode(failure, first);
    for bounds in others {
        if trailer_bytes(&fitted) < TRAILERS_BYTES_MAX {
            break;
        }
        fitted = encode(failure, bounds);
    }
    fitted
}

/// Bytes of all trailers: names, and values before base64.
fn trailer_bytes(fitted: &Fitted) -> usize {
    let message = &fitted.status.message;
    let trailers = [
        ("grpc-status", 2),
        ("grpc-message", percent_encoded_bytes(message)),
        ("grpc-status-details-bin", fitted.status.encoded_len()),
        (REASON_TRAILER, fitted.reason.len()),
        (ARROW_CODE_TRAILER, arrow_code(fitted.code).len()),
        (ARROW_MESSAGE_TRAILER, message.len()),
    ];
    trailers.iter().map(|(name, bytes)| name.len() + bytes).sum()
}

/// Bytes of a message in the trailer `grpc-message`, counting every byte that any implementation may escape.
fn percent_encoded_bytes(message: &str) -> usize {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:@/|[]\\^".contains(byte);
    message.as_bytes().iter().map(|byte| if plain(byte) { 1 } else { 3 }).sum()
}
