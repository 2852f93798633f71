//! The types of `jiff`: dates and durations, cut to the millisecond.

use super::{Moment, OneNative, ZonedFields, date, native, whole, zoned};
use crate::model::path::Path;
use crate::model::shape::{Bounds, Shape};
use crate::model::size::Size;
use crate::model::stored::{self, Done, Field, Fields, Limit, Out, Read, Reader, Row};
use jiff::fmt::temporal::{DateTimeParser, DateTimePrinter};
use jiff::{SignedDuration, Timestamp, ZonedDateTime};
use mongodb::bson::{self, Bson, doc};
use serde::{Deserialize, Serialize};

const NANOS: i128 = 1_000_000;

impl OneNative for Timestamp {
    type Stored = bson::DateTime;

    fn store(&self) -> Result<bson::DateTime, String> {
        Ok(date(whole(self.as_nanosecond().div_euclid(NANOS))?))
    }
    fn load(stored: bson::DateTime) -> Result<Self, String> {
        Timestamp::from_millisecond(stored.timestamp_millis()).map_err(|error| error.to_string())
    }
}

impl OneNative for SignedDuration {
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

/// A date with a time zone, as it is stored.
#[derive(Serialize, Deserialize)]
pub(crate) struct WithZone {
    at: bson::DateTime,
    zone: String,
}

impl From<WithZone> for Bson {
    fn from(WithZone { at, zone }: WithZone) -> Bson {
        doc! { "at": at, "zone": zone }.into()
    }
}

const AT: Field<bson::DateTime> = Field::value("at\0", None);
const ZONE: Field<String> = Field::value("zone\0", Some(const { &Limit::of(&NAMED) }));

impl Fields for WithZone {
    fn write_fields(&self, out: &mut Out) -> Done {
        out.by(&self.at, const { &AT })?;
        out.by(&self.zone, const { &ZONE })
    }
}

impl Row for WithZone {
    fn read_row(fields: &mut Reader<'_>) -> Read<Self> {
        Ok(WithZone {
            at: fields.by(const { &AT })?,
            zone: fields.by(const { &ZONE })?,
        })
    }
}

stored::embedded_type!(WithZone);

impl OneNative for ZonedDateTime {
    type Stored = WithZone;

    fn store(&self) -> Result<WithZone, String> {
        let zone = DateTimePrinter::new().time_zone_to_string(self.time_zone());
        Ok(WithZone {
            at: self.timestamp().store()?,
            zone: zone.map_err(|error| error.to_string())?,
        })
    }
    fn load(WithZone { at, zone }: WithZone) -> Result<Self, String> {
        let zone = DateTimeParser::new().parse_time_zone(&zone);
        let zone = zone.map_err(|error| error.to_string())?;
        Ok(ZonedDateTime::new(Timestamp::load(at)?, zone))
    }
}

/// The longest name of a time zone has 32 characters; rules of a zone without a name are longer.
const NAMED: Bounds = Bounds {
    max_len: Some(64),
    ..Bounds::NONE
};

zoned! {
    ZonedDateTime, ZonedFields: Timestamp, zone as String, NAMED;
}
