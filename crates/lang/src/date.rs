//! `Date` and `DateTime` text: days and milliseconds since 1970-01-01, years 0001 to 9999.
//!
//! Invariant: what parses prints, and what is printed parses back to the same value.

use omnigraph_types::date::DAY_MS;
use thiserror::Error;

pub use omnigraph_types::date::{format_date, format_datetime, write_date, write_datetime};

use crate::text::clip;

/// 0001-01-01, the first day.
pub const DAY_MIN: i32 = -719_162;
/// 9999-12-31, the last day.
pub const DAY_MAX: i32 = 2_932_896;
/// The first millisecond of 0001-01-01.
pub const MILLISECOND_MIN: i64 = DAY_MIN as i64 * DAY_MS;
/// The last millisecond of 9999-12-31.
pub const MILLISECOND_MAX: i64 = (DAY_MAX as i64 + 1) * DAY_MS - 1;

/// Why a text or a count is not a date.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DateError {
    /// Not `YYYY-MM-DD`, or no day of the calendar.
    #[error("{text:?} is not a date: write YYYY-MM-DD, years 0001 to 9999")]
    Date {
        /// The text, clipped.
        text: String,
    },
    /// Not a timestamp of the accepted form.
    #[error(
        "{text:?} is not a timestamp: write YYYY-MM-DDTHH:MM:SS with an optional fraction and Z or ±HH:MM, years 0001 to 9999"
    )]
    DateTime {
        /// The text, clipped.
        text: String,
    },
    /// A timestamp with a part of a millisecond, which would be lost.
    #[error("{text:?} is finer than a millisecond, and a DateTime holds whole milliseconds: round it first")]
    Finer {
        /// The text, clipped.
        text: String,
    },
    /// A count of days or milliseconds outside the years 0001 to 9999.
    #[error("{count} lies outside the years 0001 to 9999")]
    Range {
        /// The count, as written.
        count: String,
    },
}

/// Days since 1970-01-01 of `YYYY-MM-DD`.
pub fn parse_date(text: &str) -> Result<i32, DateError> {
    date_of(text.as_bytes()).ok_or_else(|| DateError::Date { text: clip(text) })
}

/// Milliseconds since 1970-01-01T00:00:00Z; no zone means UTC, and a date alone means midnight. Digits finer than a millisecond must be zero,
/// so that no channel changes a value.
pub fn parse_datetime(text: &str) -> Result<i64, DateError> {
    match datetime_of(text.as_bytes()) {
        Some((milliseconds, Rest::Zero)) => Ok(milliseconds),
        Some((_, Rest::Lost)) => Err(DateError::Finer { text: clip(text) }),
        None => Err(DateError::DateTime { text: clip(text) }),
    }
}

/// What a fraction has beyond whole milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Nothing.
    Zero,
    /// A part of a millisecond.
    Lost,
}

/// The day count, if its year can be printed.
pub fn check_days(days: i128) -> Result<i32, DateError> {
    match i32::try_from(days) {
        Ok(days) if (DAY_MIN..=DAY_MAX).contains(&days) => Ok(days),
        _ => Err(DateError::Range { count: days.to_string() }),
    }
}

/// The millisecond count, if its year can be printed.
pub fn check_milliseconds(milliseconds: i128) -> Result<i64, DateError> {
    match i64::try_from(milliseconds) {
        Ok(ms) if (MILLISECOND_MIN..=MILLISECOND_MAX).contains(&ms) => Ok(ms),
        _ => Err(DateError::Range { count: milliseconds.to_string() }),
    }
}

fn date_of(text: &[u8]) -> Option<i32> {
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = text else { return None };
    let year = digits(&[*y0, *y1, *y2, *y3])?;
    let (month, day) = (digits(&[*m0, *m1])?, digits(&[*d0, *d1])?);
    let legal = year >= 1 && (1..=12).contains(&month) && day >= 1 && day <= days_of_month(year, month);
    legal.then(|| days_of(year, month, day)).and_then(|days| i32::try_from(days).ok())
}

fn datetime_of(text: &[u8]) -> Option<(i64, Rest)> {
    let days = i64::from(date_of(text.get(..10)?)?);
    let rest = match text.get(10) {
        None => return Some((days * DAY_MS, Rest::Zero)),
        Some(b'T' | b' ') => &text[11..],
        Some(_) => return None,
    };
    let [h0, h1, b':', m0, m1, b':', s0, s1, rest @ ..] = rest else { return None };
    let (hour, minute, second) = (digits(&[*h0, *h1])?, digits(&[*m0, *m1])?, digits(&[*s0, *s1])?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (fraction_ms, lost, zone) = fraction_of(rest)?;
    let offset_minutes = zone_of(zone)?;
    let seconds = (hour * 60 + minute - offset_minutes) * 60 + second;
    let milliseconds = check_milliseconds(i128::from(days * DAY_MS + seconds * 1_000 + fraction_ms)).ok()?;
    Some((milliseconds, lost))
}

/// The whole milliseconds of the fraction, what it has beyond them, and what follows it.
fn fraction_of(text: &[u8]) -> Option<(i64, Rest, &[u8])> {
    let [b'.', rest @ ..] = text else { return Some((0, Rest::Zero, text)) };
    let count = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    if !(1..=9).contains(&count) {
        return None;
    }
    let digit = |at: usize| rest[..count].get(at).map_or(0, |b| i64::from(b - b'0'));
    let lost = if rest[..count].iter().skip(3).all(|&b| b == b'0') { Rest::Zero } else { Rest::Lost };
    Some((digit(0) * 100 + digit(1) * 10 + digit(2), lost, &rest[count..]))
}

/// Minutes east of UTC.
fn zone_of(text: &[u8]) -> Option<i64> {
    match text {
        [] | [b'Z'] => Some(0),
        [sign @ (b'+' | b'-'), h0, h1, b':', m0, m1] => {
            let (hours, minutes) = (digits(&[*h0, *h1])?, digits(&[*m0, *m1])?);
            let offset = hours * 60 + minutes;
            (hours <= 23 && minutes <= 59).then_some(if *sign == b'-' { -offset } else { offset })
        }
        _ => None,
    }
}

fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |sum, b| b.is_ascii_digit().then(|| sum * 10 + i64::from(b - b'0')))
}

fn days_of_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar, counting in years that begin in March so that the leap day is last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests;
