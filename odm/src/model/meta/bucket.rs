//! The constants of `#[bucket(…)]`, and the calendar of its periods.

use mongodb::bson::Bson;
use mongodb::bson::DateTime;
use mongodb::bson::Document;
use mongodb::bson::doc;

/// The declaration of a bucket, with stored names.
#[derive(Debug)]
pub struct BucketMeta {
    /// The collection of the buckets.
    pub collection: &'static str,
    /// The field with the parent's id.
    pub parent: &'static str,
    /// The field with the number of the page.
    pub page: &'static str,
    /// The field with the number of items.
    pub count: &'static str,
    /// The array of items.
    pub items: &'static str,
    /// How many items a bucket takes.
    pub size: i32,
    /// Of buckets by time.
    pub period: Option<BucketPeriod>,
    /// Of items that have a time.
    pub time: Option<BucketTime>,
    /// The sums.
    pub sums: &'static [BucketSum],
}

/// Where a bucket keeps how many items it still takes. The derive writes this name.
pub(crate) const ROOM: &str = "room";
/// Where it keeps its version.
pub(crate) const VERSION: &str = "version";

/// The times that the buckets are for.
#[derive(Debug)]
pub struct BucketPeriod {
    /// How long they are.
    pub per: Per,
    /// The bucket's field with the beginning.
    pub start: &'static str,
}

/// The times of the items.
#[derive(Debug)]
pub struct BucketTime {
    /// The field of the item.
    pub field: &'static str,
    /// The bucket's field with the least.
    pub first: &'static str,
    /// The bucket's field with the greatest.
    pub last: &'static str,
}

/// A sum over the items.
#[derive(Debug)]
pub struct BucketSum {
    /// The field of the item.
    pub field: &'static str,
    /// The bucket's field.
    pub name: &'static str,
    /// It is an `f64`, and not an `i64`.
    pub float: bool,
}

/// The time that a bucket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// From its first minute.
    Hour,
    /// From midnight.
    Day,
    /// From its first day.
    Month,
}

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

impl Per {
    /// The beginning (UTC) of the period that a time is in.
    pub(crate) fn start(self, at: DateTime) -> DateTime {
        let at = at.timestamp_millis();
        let whole = |length: i64| at.saturating_sub(at.rem_euclid(length));
        DateTime::from_millis(match self {
            Per::Hour => whole(HOUR),
            Per::Day => whole(DAY),
            Per::Month => {
                let day = at.div_euclid(DAY);
                day.saturating_sub(day_of_month(day)).saturating_mul(DAY)
            }
        })
    }
}

/// How many days before this one the month has, for a day counted from 1970-01-01 in the Gregorian calendar. Years are
/// taken to begin in March, so that the day that only some of them have is the last one. Source:
/// <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>
fn day_of_month(day: i64) -> i64 {
    let of_era = day.saturating_add(719_468).rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    of_year - (153 * month + 2) / 5
}

/// A write of the library that changes items raises the bucket's version, as one of the application does: a concurrent change
/// that has read and counted the previous items reads and counts again.
pub(crate) fn renew(meta: &BucketMeta, update: &mut Document) {
    let is_item = |name: &String| name.split('.').next() == Some(meta.items);
    let mut fields = update.values().filter_map(Bson::as_document);
    if fields.any(|fields| fields.keys().any(is_item)) {
        merge(update, "$inc", doc! { VERSION: 1_i64 });
    }
}

/// Adds fields to an operator of an update.
pub(crate) fn merge(update: &mut Document, operator: &str, fields: Document) {
    if fields.is_empty() {
        return;
    }
    match update.get_document_mut(operator) {
        Ok(before) => before.extend(fields),
        Err(_) => {
            update.insert(operator, fields);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(per: Per, at: &str) -> String {
        let at = DateTime::parse_rfc3339_str(at).unwrap();
        per.start(at).try_to_rfc3339_string().unwrap()
    }

    #[test]
    fn periods_begin_where_the_calendar_says() {
        for (per, at, begin) in [
            (Per::Hour, "2024-02-29T23:59:59.999Z", "2024-02-29T23:00:00Z"),
            (Per::Hour, "2024-02-29T23:00:00Z", "2024-02-29T23:00:00Z"),
            (Per::Hour, "1969-12-31T23:30:00Z", "1969-12-31T23:00:00Z"),
            (Per::Day, "2024-02-29T23:59:59.999Z", "2024-02-29T00:00:00Z"),
            (Per::Day, "1960-02-29T00:00:00.001Z", "1960-02-29T00:00:00Z"),
            (Per::Month, "2024-02-29T23:59:59.999Z", "2024-02-01T00:00:00Z"),
            (Per::Month, "2024-03-01T00:00:00Z", "2024-03-01T00:00:00Z"),
            (Per::Month, "1900-02-28T12:00:00Z", "1900-02-01T00:00:00Z"),
            (Per::Month, "2000-12-31T12:00:00Z", "2000-12-01T00:00:00Z"),
            (Per::Month, "1969-12-31T23:59:59Z", "1969-12-01T00:00:00Z"),
        ] {
            assert_eq!(start(per, at), begin, "{per:?} of {at}");
        }
    }

    #[test]
    fn every_day_is_in_one_month() {
        // Four hundred years, after which the calendar repeats.
        let mut month = Vec::new();
        let mut lengths = Vec::new();
        for day in 0..146_097 {
            let begin = Per::Month.start(DateTime::from_millis(day * DAY));
            assert_eq!(begin.timestamp_millis() % DAY, 0);
            if month.last().is_some_and(|last| *last != begin) {
                lengths.push(month.len());
                month.clear();
            }
            month.push(begin);
        }
        assert_eq!(lengths.len() + 1, 4_800);
        assert!(lengths.iter().all(|length| (28..=31).contains(length)));
        assert_eq!(lengths.iter().filter(|length| **length == 29).count(), 97);
    }

    #[test]
    fn no_time_is_too_far_away() {
        for per in [Per::Hour, Per::Day, Per::Month] {
            for at in [i64::MIN, i64::MAX] {
                per.start(DateTime::from_millis(at));
            }
        }
    }
}
