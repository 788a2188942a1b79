//! Values of the command line that have a form of their own: moments, ids, durations.

use std::str::FromStr;
use std::time::Duration;

use omnigraph_client::Timeout;
use omnigraph_lang::date::parse_datetime;

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(pub(crate) u64);

pub(crate) fn parse_moment(text: &str) -> Result<Moment, String> {
    let milliseconds = parse_datetime(text).map_err(|error| error.to_string())?;
    let milliseconds = u64::try_from(milliseconds).map_err(|_| "no graph is older than 1970".to_owned())?;
    Ok(Moment(milliseconds))
}

/// What separates the cells of a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delimiter(pub(crate) u8);

impl FromStr for Delimiter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let character = match text {
            "\\t" | "tab" => "\t",
            other => other,
        };
        match character.as_bytes() {
            [b'"' | b'\r' | b'\n'] => Err("quotes and line ends have a meaning of their own".to_owned()),
            [byte] if byte.is_ascii() => Ok(Self(*byte)),
            _ => Err("write one ASCII character, such as ';', or \\t for a tab".to_owned()),
        }
    }
}

/// An id of the server.
pub(crate) fn parse_id<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "an id is 26 letters and digits, such as 01JZ8Q6Y3V5B7N9D1F3H5K7M9P".to_owned())
}

/// `500ms`, `30s`, `10m`, `2h`; a number alone is seconds.
pub(crate) fn parse_timeout(text: &str) -> Result<Timeout, String> {
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let milliseconds_each = match unit {
        "ms" => Some(1),
        "" | "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let milliseconds = number
        .parse::<u64>()
        .ok()
        .zip(milliseconds_each)
        .and_then(|(number, each)| number.checked_mul(each))
        .filter(|milliseconds| *milliseconds > 0);
    match milliseconds {
        Some(milliseconds) => Ok(Timeout::After(Duration::from_millis(milliseconds))),
        None => Err("write a number and ms, s, m or h, such as 30s".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiter_is_one_character_that_has_no_other_meaning() {
        let parsed = [";", "|", "\t", "\\t", "tab"].map(|text| text.parse::<Delimiter>().map(|delimiter| delimiter.0));
        assert_eq!(parsed, [b';', b'|', b'\t', b'\t', b'\t'].map(Ok));
        for text in ["", ";;", "\"", "\n", "é"] {
            assert!(text.parse::<Delimiter>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn timeout_takes_a_number_and_a_unit() {
        let milliseconds = |text: &str| match parse_timeout(text) {
            Ok(Timeout::After(duration)) => Some(duration.as_millis()),
            Ok(Timeout::Server) | Err(_) => None,
        };
        assert_eq!(
            ["500ms", "30s", "2", "10m", "2h"].map(milliseconds),
            [500, 30_000, 2_000, 600_000, 7_200_000].map(Some)
        );
        assert_eq!(["", "0", "s", "-1s", "1.5s", "5x", "99999999999999999999h"].map(milliseconds), [None; 7]);
    }
}
