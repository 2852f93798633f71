//! The types of `jiff`: dates and durations, cut to the millisecond.

use super::{Moment, One, date, native, whole};
use crate::model::shape::Shape;
use crate::model::size::Size;
use jiff::{SignedDuration, Timestamp};
use mongodb::bson;

const NANOS: i128 = 1_000_000;

impl One for Timestamp {
    type Stored = bson::DateTime;

    fn store(&self) -> Result<bson::DateTime, String> {
        Ok(date(whole(self.as_nanosecond().div_euclid(NANOS))?))
    }
    fn load(stored: bson::DateTime) -> Result<Self, String> {
        Timestamp::from_millisecond(stored.timestamp_millis()).map_err(|error| error.to_string())
    }
}

impl One for SignedDuration {
    type Stored = i64;
    const HAS_TEXT: bool = false;

    fn store(&self) -> Result<i64, String> {
        whole(self.as_nanos().div_euclid(NANOS))
    }
    fn load(stored: i64) -> Result<Self, String> {
        Ok(SignedDuration::from_millis(stored))
    }
}

impl Moment for Timestamp {
    fn of(now: bson::DateTime) -> Self {
        // The clock of a computer shows no year that the type lacks.
        Self::load(now).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

native! {
    Timestamp as bson::DateTime: Size::fixed(8), Shape::Date, cut true;
    SignedDuration as i64: Size::fixed(8), Shape::Long { min: i64::MIN, max: i64::MAX }, cut true;
}
