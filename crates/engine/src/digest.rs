//! Digests of requests: what makes two requests under one operation id the same one.

use omnigraph_catalog::sha256_hex;

/// The digest of a request: the operation's name, then what must be equal. Lengths are digested too, so that parts cannot run into each other.
pub(crate) fn request_digest(operation: &str, parts: &[&str]) -> String {
    let mut bytes = Vec::new();
    for part in [operation].iter().chain(parts) {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    sha256_hex(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(request_digest("a", &["bc", "d"]), request_digest("a", &["b", "cd"]));
        assert_ne!(request_digest("a", &["b"]), request_digest("ab", &[]));
        assert_eq!(request_digest("a", &["b"]), request_digest("a", &["b"]));
    }
}
