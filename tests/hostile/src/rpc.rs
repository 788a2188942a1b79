//! Calls with exactly the bytes of the caller: any body, any headers, and any answer.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Request, Uri};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use omnigraph_types::{Failure, Problem};
use tonic::body::Body;
use tonic::transport::Channel;
use tonic::{Code, Status};
use tower::ServiceExt;

/// Bytes of the longest answer that is read.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The deadline that each call names.
pub const DEADLINE: Duration = Duration::from_secs(10);
/// How long a call may take: its deadline, and some time for a busy machine.
pub const CALL_TIME_MAX: Duration = Duration::from_secs(20);

/// A call's answer.
#[derive(Debug)]
pub struct Answer {
    /// How it ended; `None` if it did not end as a gRPC call does.
    pub status: Option<Status>,
    /// What went wrong below gRPC.
    pub broken: Option<String>,
    /// Bytes of messages.
    pub bytes: usize,
    /// Time.
    pub took: Duration,
}

/// One message as gRPC frames it.
pub fn frame(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&[0], length.as_slice(), message].concat()
}

/// Calls a method with this body and these headers beside gRPC's own.
///
/// # Panics
/// If the path is none.
pub async fn call(channel: &Channel, path: &str, body: Vec<u8>, headers: &HeaderMap) -> Answer {
    let uri: Uri = path.parse().unwrap();
    let mut request = Request::post(uri).body(Body::new(Full::new(Bytes::from(body)))).unwrap();
    request.headers_mut().extend(headers.clone());
    for (name, value) in [("content-type", "application/grpc"), ("te", "trailers"), ("grpc-timeout", "10S")] {
        request.headers_mut().insert(name, http::HeaderValue::from_static(value));
    }
    let started = Instant::now();
    let answered = tokio::time::timeout(CALL_TIME_MAX, exchange(channel, request)).await;
    let (status, broken, bytes) = match answered {
        Ok(Ok((status, bytes))) => (status, None, bytes),
        Ok(Err(broken)) => (None, Some(broken), 0),
        Err(_) => (None, Some(format!("no answer within {CALL_TIME_MAX:?}")), 0),
    };
    Answer { status, broken, bytes, took: started.elapsed() }
}

async fn exchange(channel: &Channel, request: Request<Body>) -> Result<(Option<Status>, usize), String> {
    let response = channel.clone().oneshot(request).await.map_err(|error| format!("no response: {error:?}"))?;
    let (parts, body) = response.into_parts();
    if let Some(status) = Status::from_header_map(&parts.headers) {
        return Ok((Some(status), 0));
    }
    let collected = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
    let collected = match collected {
        Ok(collected) => collected,
        Err(error) if error.is::<LengthLimitError>() => return Err("a longer answer than is read".to_owned()),
        Err(error) => return Err(format!("the answer was interrupted: {error:?}")),
    };
    let status = collected.trailers().and_then(Status::from_header_map);
    Ok((status, collected.to_bytes().len()))
}

impl Answer {
    /// The kind of answer, or what does not hold: a call ends in time, with a status that is success or a failure with details, and is no
    /// defect of the server.
    ///
    /// # Errors
    /// What does not hold.
    pub fn judge(&self) -> Result<String, String> {
        if let Some(broken) = &self.broken {
            return Err(format!("call: {broken}"));
        }
        let Some(status) = &self.status else { return Err("call: an answer without a status".to_owned()) };
        if status.code() == Code::Ok {
            return Ok("ok".to_owned());
        }
        if status.details().is_empty() {
            // Health and reflection have statuses of their own.
            return match status.code() {
                Code::NotFound | Code::InvalidArgument => Ok("not found".to_owned()),
                code => Err(format!("call: {code:?} without details: {}", status.message())),
            };
        }
        let failure = omnigraph_wire::from_status(status);
        match failure.problem {
            Problem::Internal => Err(format!("call: a defect: {}", failure.message)),
            Problem::Corrupt { .. } | Problem::InvariantViolation { .. } => {
                Err(format!("call: stored data is reported as broken: {}", failure.message))
            }
            problem => Ok(kind(&problem)),
        }
    }

    /// The failure that it is, if it is one.
    pub fn failure(&self) -> Option<Failure> {
        self.status.as_ref().filter(|status| status.code() != Code::Ok).map(omnigraph_wire::from_status)
    }
}

fn kind(problem: &Problem) -> String {
    format!("{problem:?}").split([' ', '{', '(']).next().unwrap_or_default().to_owned()
}
