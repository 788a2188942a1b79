//! The call headers of this contract: those whose names begin with `x-omnigraph-`.
//!
//! Why a type: a header that the server does not know would otherwise be ignored, and a request that asked to be validated only would
//! commit. A call that has headers takes them out of its request with `OwnHeaders::take` and names all of them in `finish`; every other call
//! refuses them in `answer`.

use std::collections::BTreeMap;

use omnigraph_types::{Effect, Failure, Problem};
use thiserror::Error;
use tonic::Request;
use tonic::metadata::MetadataMap;

/// What the names of the contract's own headers begin with.
const PREFIX: &str = "x-omnigraph-";

/// The contract's own headers of one call that were not read yet.
#[derive(Debug, Default)]
pub struct OwnHeaders {
    left: BTreeMap<String, Values>,
}

#[derive(Debug)]
enum Values {
    One(String),
    NotText,
    Several,
}

/// What is wrong with a header.
#[derive(Debug, Error)]
enum HeaderFault {
    #[error("the call header {name} is not one that this call knows: {known}")]
    Unknown { name: String, known: String },
    #[error("the call header {name} was sent more than once: send it once")]
    Repeated { name: String },
    #[error("the call header {name} is not visible ASCII text")]
    NotText { name: String },
}

impl HeaderFault {
    fn failure(self) -> Failure {
        let (Self::Unknown { name, .. } | Self::Repeated { name } | Self::NotText { name }) = &self;
        let problem = Problem::InvalidRequest { field: name.clone() };
        Failure::new(problem, self.to_string()).with_effect(Effect::None)
    }
}

impl OwnHeaders {
    /// Takes the contract's own headers out of a request.
    pub fn take<M>(request: &mut Request<M>) -> Self {
        let mut headers = std::mem::take(request.metadata_mut()).into_headers();
        let names: Vec<_> = headers.keys().filter(|name| name.as_str().starts_with(PREFIX)).cloned().collect();
        let mut left = BTreeMap::new();
        for name in names {
            let mut values = headers.get_all(&name).iter();
            let values = match (values.next().map(|value| value.to_str().map(str::to_owned)), values.next()) {
                (Some(Ok(value)), None) => Values::One(value),
                (Some(Err(_)), None) => Values::NotText,
                (_, Some(_)) => Values::Several,
                (None, None) => continue,
            };
            headers.remove(&name);
            left.insert(name.as_str().to_owned(), values);
        }
        *request.metadata_mut() = MetadataMap::from_headers(headers);
        Self { left }
    }

    /// Reads one header; none if it was not sent. `InvalidRequest` if it was sent twice or is not text.
    pub fn read(&mut self, name: &str) -> Result<Option<String>, Failure> {
        match self.left.remove(name) {
            None => Ok(None),
            Some(Values::One(value)) => Ok(Some(value)),
            Some(Values::NotText) => Err(HeaderFault::NotText { name: name.to_owned() }.failure()),
            Some(Values::Several) => Err(HeaderFault::Repeated { name: name.to_owned() }.failure()),
        }
    }

    /// Ends the reading: `InvalidRequest` if a header is left, with the names that the call knows.
    pub fn finish(self, known: &[&str]) -> Result<(), Failure> {
        let Some(name) = self.left.into_keys().next() else { return Ok(()) };
        let known = if known.is_empty() {
            format!("it takes no {PREFIX} headers, its message says everything")
        } else {
            format!("it knows {}", known.join(", "))
        };
        Err(HeaderFault::Unknown { name, known }.failure())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(pairs: &[(&'static str, &str)]) -> (OwnHeaders, Request<()>) {
        let mut request = Request::new(());
        for (name, value) in pairs {
            request.metadata_mut().append(*name, value.parse().unwrap());
        }
        (OwnHeaders::take(&mut request), request)
    }

    fn field(failure: Failure) -> String {
        match failure.problem {
            Problem::InvalidRequest { field } => field,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn header_that_was_not_read_is_refused_with_those_that_exist() {
        let (mut headers, request) =
            taken(&[("x-omnigraph-mode", "append"), ("x-omnigraph-dry-run", "true"), ("te", "x")]);
        assert_eq!(headers.read("x-omnigraph-mode").unwrap().as_deref(), Some("append"));
        let failure = headers.finish(&["x-omnigraph-mode"]).unwrap_err();
        assert!(failure.message.contains("it knows x-omnigraph-mode"), "{failure}");
        assert_eq!(field(failure), "x-omnigraph-dry-run");
        assert_eq!(request.metadata().len(), 1, "other headers stay with the request");
    }

    #[test]
    fn header_that_was_sent_twice_is_refused() {
        let (mut headers, _) = taken(&[("x-omnigraph-mode", "append"), ("x-omnigraph-mode", "append")]);
        assert_eq!(field(headers.read("x-omnigraph-mode").unwrap_err()), "x-omnigraph-mode");
    }

    #[test]
    fn call_without_headers_says_so() {
        let (headers, _) = taken(&[("x-omnigraph-validate-only", "true")]);
        assert!(headers.finish(&[]).unwrap_err().message.contains("takes no"));
    }
}
