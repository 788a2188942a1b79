//! Values of the command line that have a form of their own: moments, parameters, ids, durations.

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

/// One `--param`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Param {
    /// The parameter's name, without `$`.
    pub(crate) name: String,
    /// Its value, a JSON text.
    pub(crate) json: String,
}

impl FromStr for Param {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, json)) = text.split_once('=') else {
            return Err("write it as <name>=<JSON value>, such as n=5".to_owned());
        };
        let name = name.strip_prefix('$').unwrap_or(name);
        match serde_json::from_str::<serde::de::IgnoredAny>(json) {
            Ok(_) => Ok(Self { name: name.to_owned(), json: json.to_owned() }),
            Err(_) => {
                let quoted = serde_json::Value::from(json);
                Err(format!("{json} is not JSON; a text is written in quotes: --param '{name}={quoted}'"))
            }
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
