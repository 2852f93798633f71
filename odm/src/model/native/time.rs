//! The types of `time`: dates and durations, cut to the millisecond.

use super::{Moment, OneNative, date, native, whole};
use crate::model::shape::Shape;
use crate::model::size::Size;
use mongodb::bson;
use time::{Duration, OffsetDateTime, UtcDateTime};

const NANOS: i128 = 1_000_000;

impl OneNative for OffsetDateTime {
    type Stored = bson::DateTime;

    fn store(&self) -> Result<bson::DateTime, String> {
        Ok(date(whole(self.unix_timestamp_nanos().div_euclid(NANOS))?))
    }
    fn load(stored: bson::DateTime) -> Result<Self, String> {
        let nanos = i128::from(stored.timestamp_millis()) * NANOS;
        OffsetDateTime::from_unix_timestamp_nanos(nanos).map_err(|error| error.to_string())
    }
}

impl OneNative for UtcDateTime {
    type Stored = bson::DateTime;

    fn store(&self) -> Result<bson::DateTime, String> {
        Ok(date(whole(self.unix_timestamp_nanos().div_euclid(NANOS))?))
    }
    fn load(stored: bson::DateTime) -> Result<Self, String> {
        let nanos = i128::from(stored.timestamp_millis()) * NANOS;
        UtcDateTime::from_unix_timestamp_nanos(nanos).map_err(|error| error.to_string())
    }
}

impl OneNative for Duration {
    type Stored = i64;
    const HAS_TEXT: bool = false;

    fn store(&self) -> Result<i64, String> {
        whole(self.whole_nanoseconds().div_euclid(NANOS))
    }
    fn load(stored: i64) -> Result<Self, String> {
        Ok(Duration::milliseconds(stored))
    }
}

impl Moment for OffsetDateTime {
    fn of(now: bson::DateTime) -> Self {
        // The clock of a computer shows no year that the type lacks.
        Self::load(now).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

impl Moment for UtcDateTime {
    fn of(now: bson::DateTime) -> Self {
        // The clock of a computer shows no year that the type lacks.
        Self::load(now).unwrap_or(UtcDateTime::UNIX_EPOCH)
    }
}

native! {
    OffsetDateTime as bson::DateTime: Size::fixed(8), Shape::Date, cut true;
    UtcDateTime as bson::DateTime: Size::fixed(8), Shape::Date, cut true;
    Duration as i64: Size::fixed(8), Shape::Long { min: i64::MIN, max: i64::MAX }, cut true;
}
