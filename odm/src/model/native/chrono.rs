//! The types of `chrono`: dates and durations, cut to the millisecond.

use super::{Moment, OffsetFields, OneNative, native, zoned};
use crate::error::violation::Number;
use crate::model::path::Path;
use crate::model::shape::{Bounds, Shape};
use crate::model::size::Size;
use crate::model::stored::{self, Done, Field, Fields, Limit, Out, Read, Reader, Row};
use chrono::{DateTime, FixedOffset, TimeDelta, Utc};
use mongodb::bson::{self, Bson, doc};
use serde::{Deserialize, Serialize};

impl OneNative for DateTime<Utc> {
    type Stored = bson::DateTime;

    fn store(&self) -> Result<bson::DateTime, String> {
        Ok(bson::DateTime::from_millis(self.timestamp_millis()))
    }
    fn load(stored: bson::DateTime) -> Result<Self, String> {
        DateTime::from_timestamp_millis(stored.timestamp_millis()).ok_or_else(|| {
            format!(
                "{} milliseconds since 1970 are out of range for a date",
                stored.timestamp_millis()
            )
        })
    }
}

impl OneNative for TimeDelta {
    type Stored = i64;
    const HAS_TEXT: bool = false;

    fn store(&self) -> Result<i64, String> {
        // Its own milliseconds are those towards zero.
        let millis = self.num_milliseconds();
        Ok(millis - i64::from(TimeDelta::milliseconds(millis) > *self))
    }
    fn load(stored: i64) -> Result<Self, String> {
        TimeDelta::try_milliseconds(stored)
            .ok_or_else(|| format!("{stored} milliseconds are too many for a duration"))
    }
}

impl Moment for DateTime<Utc> {
    fn of(now: bson::DateTime) -> Self {
        // The clock of a computer shows no year that the type lacks.
        Self::load(now).unwrap_or_default()
    }
}

native! {
    DateTime<Utc> as bson::DateTime: Size::fixed(8), Shape::Date, cut true;
    TimeDelta as i64: Size::fixed(8), Shape::Long { min: -i64::MAX, max: i64::MAX }, cut true;
}

/// A date with an offset, as it is stored.
#[derive(Serialize, Deserialize)]
pub(crate) struct WithOffset {
    at: bson::DateTime,
    offset: i32,
}

impl From<WithOffset> for Bson {
    fn from(WithOffset { at, offset }: WithOffset) -> Bson {
        doc! { "at": at, "offset": offset }.into()
    }
}

const AT: Field<bson::DateTime> = Field::value("at\0", None);
const OFFSET: Field<i32> = Field::value("offset\0", Some(const { &Limit::of(&LESS_THAN_A_DAY) }));

impl Fields for WithOffset {
    fn write_fields(&self, out: &mut Out) -> Done {
        out.by(&self.at, const { &AT })?;
        out.by(&self.offset, const { &OFFSET })
    }
}

impl Row for WithOffset {
    fn read_row(fields: &mut Reader<'_>) -> Read<Self> {
        Ok(WithOffset {
            at: fields.by(const { &AT })?,
            offset: fields.by(const { &OFFSET })?,
        })
    }
}

stored::embedded_type!(WithOffset);

impl OneNative for DateTime<FixedOffset> {
    type Stored = WithOffset;

    fn store(&self) -> Result<WithOffset, String> {
        Ok(WithOffset {
            at: self.to_utc().store()?,
            offset: self.offset().local_minus_utc(),
        })
    }
    fn load(WithOffset { at, offset }: WithOffset) -> Result<Self, String> {
        let zone = FixedOffset::east_opt(offset)
            .ok_or_else(|| format!("{offset} seconds are a day or more, and no offset of a time zone"))?;
        DateTime::<Utc>::load(at).map(|at| at.with_timezone(&zone))
    }
}

const LESS_THAN_A_DAY: Bounds = Bounds {
    min: Some(Number::Int(-86_399)),
    max: Some(Number::Int(86_399)),
    ..Bounds::NONE
};

zoned! {
    DateTime<FixedOffset>, OffsetFields: DateTime<Utc>, offset as i32, LESS_THAN_A_DAY;
}
