//! When a call must be answered.
//!
//! tonic's own timeout answers CANCELLED without details and stops watching once the response has begun. Ours ends a little before the
//! client gives up, so that the client reads our answer and not its own, and the work's deadline lies a little before that, so that the
//! handler can still report what it did.

use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use omnigraph_types::{Failure, Limits};
use omnigraph_wire::codec::invalid;
use tokio::time::Instant;

const TIMEOUT_HEADER: &str = "grpc-timeout";
/// Digits that the header may have.
const TIMEOUT_DIGITS_MAX: usize = 8;
/// The longest head start on the client, and the fraction of a short timeout that replaces it.
const HEAD_START_MAX: Duration = Duration::from_millis(50);
const HEAD_START_PART: u32 = 10;

/// The two moments of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deadline {
    /// When the handler must be done.
    pub(crate) work_by: Instant,
    /// When the call is answered whatever the handler does.
    pub(crate) reply_by: Instant,
}

impl Deadline {
    /// The deadline of a call that arrives now: the client's, at most `request_timeout_ms`.
    pub(crate) fn of(headers: &HeaderMap, limits: &Limits, now: Instant) -> Result<Self, Failure> {
        let most = Duration::from_millis(limits.request_timeout_ms);
        let timeout = match headers.get(TIMEOUT_HEADER) {
            Some(value) => parse(value).ok_or_else(|| malformed(value))?.min(most),
            None => most,
        };
        let head_start = (timeout / HEAD_START_PART).min(HEAD_START_MAX);
        let reply_by = now + (timeout - head_start);
        Ok(Self { work_by: now + (timeout - head_start * 2), reply_by })
    }

    /// The deadline of a call whose own cannot be read: enough time for the refusal.
    pub(crate) fn fallback(limits: &Limits, now: Instant) -> Self {
        let by = now + Duration::from_millis(limits.request_timeout_ms);
        Self { work_by: by, reply_by: by }
    }
}

fn malformed(value: &HeaderValue) -> Failure {
    let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
    invalid(TIMEOUT_HEADER, format!("grpc-timeout is {text:?}: use 1 to 8 digits and one of H, M, S, m, u, n"))
}

/// A timeout as gRPC writes it: up to eight digits and a unit.
fn parse(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > TIMEOUT_DIGITS_MAX || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3_600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use omnigraph_types::Problem;

    use super::*;

    fn deadline(timeout: Option<&'static str>) -> Result<(Duration, Duration), Failure> {
        let mut headers = HeaderMap::new();
        if let Some(timeout) = timeout {
            headers.insert(TIMEOUT_HEADER, HeaderValue::from_static(timeout));
        }
        let now = Instant::now();
        let deadline = Deadline::of(&headers, &Limits::default(), now)?;
        Ok((deadline.work_by - now, deadline.reply_by - now))
    }

    #[test]
    fn client_deadline_is_answered_a_little_earlier_and_worked_to_earlier_still() {
        let ms = Duration::from_millis;
        assert_eq!(deadline(Some("10S")).unwrap(), (ms(9_900), ms(9_950)));
        assert_eq!(deadline(Some("100m")).unwrap(), (ms(80), ms(90)));
        assert_eq!(deadline(Some("0n")).unwrap(), (ms(0), ms(0)));
    }

    #[test]
    fn missing_or_longer_deadline_is_the_servers_own() {
        let own = deadline(None).unwrap();
        assert_eq!(own, deadline(Some("99999999H")).unwrap());
        assert_eq!(own.1, Duration::from_secs(3_600) - HEAD_START_MAX);
    }

    #[test]
    fn malformed_deadline_is_refused_by_header() {
        for text in ["", "5", "S", "5X", "-5S", "123456789S", "5 S"] {
            let problem = deadline(Some(text)).unwrap_err().problem;
            assert_eq!(problem, Problem::InvalidRequest { field: TIMEOUT_HEADER.to_owned() }, "{text:?}");
        }
    }
}
