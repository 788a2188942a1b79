use proptest::prelude::*;

use super::{DAY_MAX, DAY_MIN, MILLISECOND_MAX, MILLISECOND_MIN};
use super::{check_days, check_milliseconds, format_date, format_datetime, parse_date, parse_datetime};

#[test]
fn known_days_have_their_count() {
    let known = [
        ("1970-01-01", 0),
        ("2024-01-01", 19_723),
        ("1969-12-31", -1),
        ("0001-01-01", DAY_MIN),
        ("9999-12-31", DAY_MAX),
    ];
    for (text, days) in known {
        assert_eq!(parse_date(text), Ok(days), "{text}");
        assert_eq!(format_date(days), text);
    }
}

#[test]
fn malformed_dates_are_refused() {
    let texts =
        ["2024-02-30", "2023-02-29", "1900-02-29", "2024-1-1", "20240101", "10000-01-01", "+2024-01-01", "0000-01-01"];
    for text in
        texts.into_iter().chain(["2024-13-01", "2024-00-01", "2024-01-00", "2024-01-01T00:00:00Z", "", "2024-01-0é"])
    {
        assert!(parse_date(text).is_err(), "{text:?}");
    }
    assert!(parse_date("2000-02-29").is_ok());
}

#[test]
fn timestamps_are_read_in_utc() {
    let known = [
        ("2024-01-01T00:30:00+01:00", "2023-12-31T23:30:00.000Z"),
        ("1969-12-31T23:59:59.999000Z", "1969-12-31T23:59:59.999Z"),
        ("2024-05-01", "2024-05-01T00:00:00.000Z"),
        ("2024-05-01 08:00:00", "2024-05-01T08:00:00.000Z"),
        ("2024-05-01T08:00:00.5-00:30", "2024-05-01T08:30:00.500Z"),
        ("2024-05-01T08:00:00.123000000Z", "2024-05-01T08:00:00.123Z"),
    ];
    for (text, printed) in known {
        assert_eq!(format_datetime(parse_datetime(text).unwrap()), printed, "{text}");
    }
}

#[test]
fn part_of_a_millisecond_is_refused() {
    for text in ["1969-12-31T23:59:59.9999Z", "2024-05-01T08:00:00.123456789Z", "2024-05-01T08:00:00.0001+01:00"] {
        assert_eq!(parse_datetime(text), Err(super::DateError::Finer { text: text.to_owned() }));
    }
}

#[test]
fn malformed_timestamps_are_refused() {
    let texts = [
        "2024-05-01T10:00:60Z",
        "2024-05-01T24:00:00Z",
        "2024-05-01T10:60:00Z",
        "2024-05-01T10:00",
        "2024-05-01T10:00:00.Z",
        "2024-05-01T10:00:00.1234567890Z",
        "2024-05-01  10:00:00",
        "2024-05-01t10:00:00",
        "2024-05-01T10:00:00z",
        "2024-05-01Z",
        "2024-05-01T10:00:00+0100",
        "2024-05-01T10:00:00+24:00",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-00:01",
        "2024-05-01T10:00:00 Z",
        "2024-02-30T00:00:00Z",
        "",
    ];
    for text in texts {
        assert!(parse_datetime(text).is_err(), "{text:?}");
    }
}

#[test]
fn counts_outside_the_printable_years_are_refused() {
    assert!(check_days(i128::from(DAY_MAX) + 1).is_err() && check_days(i128::from(DAY_MIN) - 1).is_err());
    assert!(check_milliseconds(i128::from(MILLISECOND_MAX) + 1).is_err());
    assert!(check_milliseconds(i128::from(MILLISECOND_MIN) - 1).is_err());
    assert_eq!(format_datetime(MILLISECOND_MAX), "9999-12-31T23:59:59.999Z");
}

proptest! {
    #[test]
    fn every_day_round_trips(days in DAY_MIN..=DAY_MAX) {
        prop_assert_eq!(parse_date(&format_date(days)), Ok(days));
    }

    #[test]
    fn every_millisecond_round_trips(ms in MILLISECOND_MIN..=MILLISECOND_MAX) {
        prop_assert_eq!(parse_datetime(&format_datetime(ms)), Ok(ms));
    }

    #[test]
    fn arbitrary_text_never_panics(text in ".{0,40}") {
        let _ = (parse_date(&text), parse_datetime(&text));
    }

    #[test]
    fn text_order_is_time_order(a in DAY_MIN..=DAY_MAX, b in DAY_MIN..=DAY_MAX) {
        prop_assert_eq!(format_date(a).cmp(&format_date(b)), a.cmp(&b));
    }
}
