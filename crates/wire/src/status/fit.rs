//! Making an encoded failure small enough for every client.

use omnigraph_types::Failure;
use prost::Message;
use tonic::Code;

use super::encode::encode;
use super::{ARROW_CODE_TRAILER, ARROW_MESSAGE_TRAILER, REASON_TRAILER, TRAILERS_BYTES_MAX, arrow_code};
use crate::google::rpc;

/// Bytes of the longest message.
const MESSAGE_BYTES_MAX: usize = 1024;
/// Stands at the end of a text that was cut.
const CUT: &str = "…";

/// How much of a failure is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Bytes of the message.
    pub(super) message_bytes: usize,
    /// Items of each list.
    pub(super) items: usize,
    /// Bytes of each text of a detail.
    pub(super) text_bytes: usize,
}

impl Bounds {
    const fn new(message_bytes: usize, items: usize, text_bytes: usize) -> Self {
        Self { message_bytes, items, text_bytes }
    }
}

/// What is tried, in this order, until the trailers fit. Ids are shorter than the shortest text, so they are never cut. With the last
/// step no failure has more than 2 KiB: one message in three copies, one of them percent-encoded, and at most 16 short texts.
const STEPS: [Bounds; 8] = [
    Bounds::new(MESSAGE_BYTES_MAX, 10, 1024),
    Bounds::new(MESSAGE_BYTES_MAX, 10, 256),
    Bounds::new(MESSAGE_BYTES_MAX, 10, 96),
    Bounds::new(512, 10, 96),
    Bounds::new(512, 5, 96),
    Bounds::new(256, 3, 96),
    Bounds::new(256, 1, 64),
    Bounds::new(128, 0, 48),
];

/// An encoded failure whose trailers fit.
pub(super) struct Fitted {
    pub(super) code: Code,
    pub(super) reason: &'static str,
    pub(super) status: rpc::Status,
}

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

/// The text, or as much of it as `bytes` hold, with a mark at the end where it was cut. Cuts between characters.
pub(super) fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let mut end = bytes.saturating_sub(CUT.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{CUT}", &text[..end])
}
