//! `grpc://host:port`, or `host:port` alone, to a place to connect to.

use omnigraph_types::{Failure, FeatureName, Problem};

use crate::error::ClientError;

/// The scheme without encryption.
const PLAIN: &str = "grpc://";
/// The scheme with TLS.
const ENCRYPTED: &str = "grpcs://";

/// The address that the transport understands.
pub(crate) fn http_url(url: &str) -> Result<String, ClientError> {
    if url.starts_with(ENCRYPTED) {
        let problem = Problem::Unimplemented { feature: FeatureName::Tls.to_string() };
        let message = format!("{url}: this version of the client connects without TLS only, by grpc://");
        return Err(Failure::new(problem, message).into());
    }
    let authority = match url.strip_prefix(PLAIN) {
        Some(authority) => authority,
        None if url.contains("://") => {
            return Err(ClientError::Url { url: url.to_owned(), reason: "it does not begin with grpc://" });
        }
        None => url,
    };
    let authority = authority.strip_suffix('/').unwrap_or(authority);
    if authority.contains(['/', '?', '#', '@']) {
        return Err(ClientError::Url { url: url.to_owned(), reason: "it has more than a host and a port" });
    }
    let port = authority.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>()));
    match port {
        Some((host, Ok(1..))) if !host.is_empty() => Ok(format!("http://{authority}")),
        Some(_) | None => Err(ClientError::Url { url: url.to_owned(), reason: "it names no host or no port" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_become_a_place_to_connect_to() {
        assert_eq!(http_url("grpc://127.0.0.1:50051").unwrap(), "http://127.0.0.1:50051");
        assert_eq!(http_url("grpc://graph.example:1/").unwrap(), "http://graph.example:1");
        assert_eq!(http_url("grpc://[::1]:50051").unwrap(), "http://[::1]:50051");
        assert_eq!(http_url("localhost:50051").unwrap(), "http://localhost:50051");
    }

    #[test]
    fn other_texts_are_refused_with_the_reason() {
        for url in [
            "",
            "localhost",
            "localhost:50051/x",
            "http://a:1",
            "grpc://",
            "grpc://a",
            "grpc://:1",
            "grpc://a:0",
            "grpc://a:1/b",
        ] {
            assert!(matches!(http_url(url), Err(ClientError::Url { .. })), "{url}");
        }
    }

    #[test]
    fn encrypted_scheme_is_refused_as_unimplemented() {
        let failure = http_url("grpcs://a:1").unwrap_err().failure();
        assert_eq!(failure.problem, Problem::Unimplemented { feature: FeatureName::Tls.to_string() });
    }
}
