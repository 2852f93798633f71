//! Times as texts: RFC 3339, as JSON and the parameters of requests have them.

use mongodb::bson::DateTime;

const DAY: i64 = 86_400_000;

/// RFC 3339 in UTC with milliseconds. Years before 0 and after 9999 have a sign and six digits, as in JavaScript.
#[cfg(feature = "json")]
pub(crate) fn date(date: DateTime) -> String {
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

/// A time in RFC 3339, with any offset and years of more digits behind a sign. Fractions of a millisecond are cut off.
pub(crate) fn read_date(text: &str) -> Option<DateTime> {
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
#[cfg(feature = "json")]
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
