//! Days and milliseconds since 1970-01-01 as text. `lang` reads what is written here.

use std::fmt::Write;

/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;

/// Appends `YYYY-MM-DD`.
pub fn write_date(out: &mut String, days: i32) {
    let (year, month, day) = civil_of(i64::from(days));
    // Writing to a String cannot fail.
    let _ = write!(out, "{year:04}-{month:02}-{day:02}");
}

/// Appends `YYYY-MM-DDTHH:MM:SS.mmmZ`.
pub fn write_datetime(out: &mut String, milliseconds: i64) {
    let (year, month, day) = civil_of(milliseconds.div_euclid(DAY_MS));
    let of_day = milliseconds.rem_euclid(DAY_MS);
    let (hour, minute, second, ms) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1_000 % 60, of_day % 1_000);
    let _ = write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z");
}

/// `YYYY-MM-DD`.
pub fn format_date(days: i32) -> String {
    let mut out = String::with_capacity(10);
    write_date(&mut out, days);
    out
}

/// `YYYY-MM-DDTHH:MM:SS.mmmZ`.
pub fn format_datetime(milliseconds: i64) -> String {
    let mut out = String::with_capacity(24);
    write_datetime(&mut out, milliseconds);
    out
}

/// Year, month and day of a count of days since 1970-01-01, in the proleptic Gregorian calendar.
fn civil_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}
