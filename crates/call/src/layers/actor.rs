//! Who calls: the server decides it from the call's headers, never from a field of the request.
//!
//! This is the place of authentication. Calls carry no credentials yet, so every actor has one name.

use http::HeaderMap;

/// The actor of a call without credentials.
const ANONYMOUS: &str = "anonymous";

/// The actor of the call with these headers.
pub(crate) fn identify(_headers: &HeaderMap) -> &'static str {
    ANONYMOUS
}
