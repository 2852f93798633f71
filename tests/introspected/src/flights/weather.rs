//! The collection `weather`.

use super::{Number, Origin};
use odm::prelude::*;

/// A document of `weather`: 139 were counted. Half of them have up to 223 bytes, the largest has
/// 234.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "weather")]
#[document(index(fields(origin, time_hour), unique))]
pub struct Weather {
    pub id: ObjectId,
    // Perhaps refers to `airports._id`: 139 of 139 were found. The data alone do not prove it. 3 of 3
    // distinct values were found.
    pub origin: Origin,
    pub year: i32,
    pub month: i32,
    pub day: i32,
    pub hour: i32,
    // Its types differ: 21 int, 118 double. `retype` in a migration makes them one.
    pub temp: Number,
    // Its types differ: 17 int, 122 double. `retype` in a migration makes them one.
    pub dewp: Number,
    // Its types differ: 1 int, 138 double. `retype` in a migration makes them one.
    pub humid: Number,
    pub wind_dir: i32,
    pub wind_speed: f64,
    // Missing in 89 of 139.
    #[field(skip_none)]
    pub wind_gust: Option<f64>,
    pub precip: i32,
    // Missing in 3 of 139.
    // Its types differ: 9 int, 127 double. `retype` in a migration makes them one.
    #[field(skip_none)]
    pub pressure: Option<Number>,
    pub visib: i32,
    pub time_hour: DateTime,
}
