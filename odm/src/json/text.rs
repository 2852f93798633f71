//! Dates, numbers, ids and bytes as texts.

pub(super) use crate::model::date_text::{date, read_date};
use crate::model::numeric;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mongodb::bson::{Decimal128, RawBsonRef};
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
    use mongodb::bson::DateTime;
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
