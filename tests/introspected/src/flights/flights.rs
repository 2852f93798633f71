//! The collection `flights`.

use super::{Airline, Airport, Plane};
use odm::prelude::*;

/// A document of `flights`: 1785 were counted. Half of them have up to 297 bytes, the largest has
/// 297.
// 2 kinds of documents, told by which of `air_time` is there: none (26): no fields of its own;
// air_time (1759): always `dep_time`, `dep_delay`, `arr_time`, `arr_delay`, `tailnum`, `air_time`.
// An enum with `tag` would have a variant for each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "flights")]
#[document(index(fields(carrier, flight)))]
#[document(index(fields(tailnum), partial = |d| d.tailnum.exists(true)))]
pub struct Flight {
    pub id: ObjectId,
    // Perhaps a copy: 1746 equal `weather.year`. `origin` is not declared as a reference. 1746 of 1746
    // are equal; 1 distinct values, the commonest has 100 %.
    pub year: i32,
    // Perhaps a copy: 1746 equal `weather.month`. `origin` is not declared as a reference. 1746 of 1746
    // are equal; 1 distinct values, the commonest has 100 %.
    pub month: i32,
    // Perhaps a copy: 1746 equal `weather.day`. `origin` is not declared as a reference. 1746 of 1746
    // are equal; 2 distinct values, the commonest has 54 %.
    pub day: i32,
    // Missing in 12 of 1785.
    #[field(skip_none)]
    pub dep_time: Option<i32>,
    // Hour and minute of `hour`, `minute`: 1785 are, 0 are not.
    pub sched_dep_time: i32,
    // Missing in 12 of 1785.
    #[field(skip_none)]
    pub dep_delay: Option<i32>,
    // Missing in 15 of 1785.
    #[field(skip_none)]
    pub arr_time: Option<i32>,
    pub sched_arr_time: i32,
    // Missing in 26 of 1785.
    #[field(skip_none)]
    pub arr_delay: Option<i32>,
    // Its values: "UA" (335), "B6" (325), "DL" (264), "EV" (255), "AA" (188), "MQ" (156), "9E" (76),
    // "US" (70), "WN" (61), "VX" (24), "FL" (21), "AS" (4), and 2 more.
    // Refers to `airlines._id`: 1785 of 1785 were found. 14 of 14 distinct values were found.
    #[reference(index = false)]
    pub carrier: Ref<Airline>,
    pub flight: i32,
    // Missing in 2 of 1785.
    // Refers to `planes._id`: 1491 of 1783 were found, 292 refer to nothing. 167 of 200 distinct values
    // were found.
    #[reference(index = false)]
    #[field(skip_none)]
    pub tailnum: Option<Ref<Plane>>,
    // Refers to `weather.(origin, time_hour)`: 1746 of 1785 were found, 39 refer to nothing. A
    // reference holds one value, and this key has several. 107 of 109 distinct pairs were found, and
    // the fields have the same names.
    // Perhaps refers to `airports._id`: 1785 of 1785 were found. The data alone do not prove it. 3 of 3
    // distinct values were found.
    pub origin: Origin,
    // Its values: "ORD" (92), "ATL" (91), "MCO" (82), "LAX" (81), "FLL" (80), "CLT" (66), "SFO" (64),
    // "MIA" (62), "DFW" (55), "BOS" (51), "PBI" (49), "RDU" (46), and 76 more.
    // Refers to `airports._id`: 1733 of 1785 were found, 52 refer to nothing. 84 of 88 distinct values
    // were found.
    #[reference(index = false)]
    pub dest: Ref<Airport>,
    // Missing in 26 of 1785.
    #[field(skip_none)]
    pub air_time: Option<i32>,
    pub distance: i32,
    // Perhaps a copy: 1746 equal `weather.hour`. `origin` is not declared as a reference. 1746 of 1746
    // are equal; 19 distinct values, the commonest has 8 %.
    pub hour: i32,
    pub minute: i32,
    // Refers to `weather.(origin, time_hour)`: 1746 of 1785 were found, 39 refer to nothing. A
    // reference holds one value, and this key has several. 107 of 109 distinct pairs were found, and
    // the fields have the same names.
    pub time_hour: DateTime,
}

/// `origin` of `flights`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    #[embed(name = "EWR")]
    Ewr,
    #[embed(name = "JFK")]
    Jfk,
    #[embed(name = "LGA")]
    Lga,
}
