//! Dates, numbers, ids and bytes as texts.

use crate::model::numeric;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mongodb::bson::{DateTime, Decimal128, RawBsonRef};
use serde_json::Value;

/// The greatest integer that JavaScript does not round: 2⁵³ - 1.
pub(super) const SAFE: i64 = 9_007_199_254_740_991;

/// Maximum number of shapes around a value: more is a type that holds nothing but itself.
pub(super) const DEEPEST: u32 = 400;

/// How many objects and arrays may stand one within the other in what comes in. A value of no declared shape is decoded by recursion,
/// for which the `bson` crate takes 25 kB of the stack for each level where it is compiled without optimization: a thread has 2 MiB.
pub(super) const LEVELS: usize = 50;

/// How many do in what goes out: as many as MongoDB stores.
pub(super) const STORED_LEVELS: usize = 100;

/// Why more are refused.
pub(super) fn too_deep(most: usize) -> String {
    format!("is nested too deep: at most {most} objects and arrays may stand one within the other")
}

const DAY: i64 = 86_400_000;

/// Whether more objects and arrays than [`LEVELS`] stand one within the other in a text, be it JSON or not. No text is read by recursion
/// before it is known.
pub(super) fn is_too_deep(json: &[u8]) -> bool {
    let (mut levels, mut is_text, mut is_escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => levels += 1,
            b'}' | b']' => levels = levels.saturating_sub(1),
            _ => {}
        }
        if levels > LEVELS {
            return true;
        }
    }
    false
}

/// The same of a tree.
pub(super) fn is_tree_too_deep(value: &Value) -> bool {
    let mut open = vec![(value, 1)];
    while let Some((value, level)) = open.pop() {
        match value {
            Value::Array(_) | Value::Object(_) if level > LEVELS => return true,
            Value::Array(items) => open.extend(items.iter().map(|item| (item, level + 1))),
            Value::Object(fields) => open.extend(fields.values().map(|value| (value, level + 1))),
            _ => {}
        }
    }
    false
}

/// Whether more than [`STORED_LEVELS`] do in a stored value. What can't be read ends where it begins to be wrong.
pub(super) fn is_stored_too_deep(value: RawBsonRef<'_>) -> bool {
    let mut open = vec![(value, 1)];
    while let Some((value, level)) = open.pop() {
        match value {
            RawBsonRef::Array(_) | RawBsonRef::Document(_) if level > STORED_LEVELS => return true,
            RawBsonRef::Array(items) => {
                open.extend(items.into_iter().flatten().map(|item| (item, level + 1)))
            }
            RawBsonRef::Document(fields) => {
                open.extend(fields.iter().flatten().map(|(_, value)| (value, level + 1)));
            }
            _ => {}
        }
    }
    false
}

/// RFC 3339 in UTC with milliseconds. Years before 0 and after 9999 have a sign and six digits, as in JavaScript.
pub(super) fn date(date: DateTime) -> String {
    let millis = date.timestamp_millis();
    let (days, rest) = (millis.div_euclid(DAY), millis.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1_000 % 60, rest % 1_000);
    let year = match year {
        0..=9_999 => format!("{year:04}"),
        10_000.. => format!("+{year:06}"),
        _ => format!("-{:06}", year.unsigned_abs()),
    };
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The same read, with any offset. Fractions of a millisecond are cut off.
pub(super) fn read_date(text: &str) -> Option<DateTime> {
    let bytes = text.as_bytes();
    if !text.is_ascii() || bytes.len() > 64 {
        return None;
    }
    let (year, rest) = match bytes.first()? {
        sign @ (b'+' | b'-') => {
            let end = bytes.iter().skip(1).position(|byte| *byte == b'-')? + 1;
            let digits = number(&text[1..end])?;
            let is_plain = (6..=9).contains(&(end - 1));
            if !is_plain || *sign == b'-' && digits == 0 {
                return None;
            }
            (if *sign == b'-' { -digits } else { digits }, &text[end..])
        }
        _ => (number(text.get(..4)?)?, &text[4..]),
    };
    let part = |at: usize| rest.get(at..at + 2).and_then(number);
    let is = |at: usize, expected: &[u8]| {
        rest.as_bytes()
            .get(at)
            .is_some_and(|byte| expected.contains(byte))
    };
    if !(is(0, b"-") && is(3, b"-") && is(6, b"Tt ") && is(9, b":") && is(12, b":")) {
        return None;
    }
    let (month, day, hour, minute, second) = (part(1)?, part(4)?, part(7)?, part(10)?, part(13)?);
    // A leap second has no place in a `DateTime`.
    let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    if !(1..=12).contains(&month) || day < 1 || day > days_of(year, month) || !is_time {
        return None;
    }
    let rest = &rest[15..];
    let (milli, rest) = match rest.strip_prefix('.') {
        None => (0, rest),
        Some(rest) => {
            let end = rest.bytes().position(|byte| !byte.is_ascii_digit())?;
            let digits = rest.get(..end).filter(|digits| !digits.is_empty())?;
            (number(&format!("{digits:0<3}")[..3])?, &rest[end..])
        }
    };
    let offset = match rest.as_bytes() {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let (hours, minutes) = (number(&rest[1..3])?, number(&rest[4..6])?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let offset = (hours * 60 + minutes) * 60_000;
            if *sign == b'-' { -offset } else { offset }
        }
        _ => return None,
    };
    let time = hour * 3_600_000 + minute * 60_000 + second * 1_000 + milli;
    // The first day begins before the least `DateTime`.
    let millis = i128::from(days(year, month, day)) * i128::from(DAY) + i128::from(time - offset);
    i64::try_from(millis).ok().map(DateTime::from_millis)
}

/// Digits alone.
fn number(text: &str) -> Option<i64> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| text.parse().ok()).flatten()
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The date of a number of days since 1970-01-01, in years of 400 that begin in March.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// What JSON has no number for.
pub(super) fn special(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

/// The same read.
pub(super) fn read_special(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// A decimal as it is written.
pub(super) fn read_decimal(text: &str) -> Option<Decimal128> {
    match text {
        "NaN" | "Infinity" | "-Infinity" => text.parse().ok(),
        text => numeric::decimal(text),
    }
}

/// A whole number in digits, as one is written: no sign but a minus, no zero before it.
pub(super) fn read_integer(text: &str) -> Option<i64> {
    let n: i64 = text.parse().ok()?;
    (n.to_string() == text).then_some(n)
}

/// Base64, with the padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The same read.
pub(super) fn read_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_have_the_form_of_rfc_3339() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (1_582_934_400_000, "2020-02-29T00:00:00.000Z"),
            (1_764_000_000_123, "2025-11-24T16:00:00.123Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"),
            (-62_167_219_200_001, "-000001-12-31T23:59:59.999Z"),
            (i64::MIN, "-292275055-05-16T16:47:04.192Z"),
            (i64::MAX, "+292278994-08-17T07:12:55.807Z"),
        ] {
            assert_eq!(date(DateTime::from_millis(millis)), text);
            assert_eq!(read_date(text), Some(DateTime::from_millis(millis)), "{text}");
        }
        for (text, millis) in [
            ("1970-01-01T01:00:00+01:00", 0),
            ("1970-01-01t00:00:00z", 0),
            ("1970-01-01 00:00:00.5-00:30", 1_800_500),
            ("1970-01-01T00:00:00.123999999Z", 123),
            ("-292275055-05-16T17:47:04.192+01:00", i64::MIN),
        ] {
            assert_eq!(read_date(text), Some(DateTime::from_millis(millis)), "{text}");
        }
        for text in [
            "",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-13-01T00:00:00Z",
            "1970-02-29T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00+1:00",
            "+1970-01-01T00:00:00Z",
            "1998-12-31T23:59:60Z",
            "2026-01-01T00:00:60Z",
            "-292275055-05-16T16:47:04.191Z",
            "+292278994-08-17T07:12:55.808Z",
            "-000000-01-01T00:00:00Z",
            "+999999999-01-01T00:00:00Z",
            "1970-01-01T00:00:00Zé",
            "é970-01-01T00:00:00Z",
        ] {
            assert_eq!(read_date(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn each_date_is_read_as_it_was_written(millis in any::<i64>()) {
            // The years of a `DateTime` have nine digits at most.
            prop_assert_eq!(
                read_date(&date(DateTime::from_millis(millis))),
                Some(DateTime::from_millis(millis))
            );
        }

        #[test]
        fn bson_reads_the_same(millis in -62_135_596_800_000_i64..253_402_300_799_999) {
            let text = date(DateTime::from_millis(millis));
            prop_assert_eq!(DateTime::parse_rfc3339_str(&text).ok(), Some(DateTime::from_millis(millis)));
        }

        #[test]
        fn no_text_is_too_much(text in "\\PC*") {
            let _ = read_date(&text);
        }
    }
}
