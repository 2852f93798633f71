//! The collection `airports`.

use odm::prelude::*;

/// A document of `airports`: 1458 were counted. Half of them have up to 143 bytes, the largest has
/// 161.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "airports")]
pub struct Airport {
    pub id: String,
    pub name: String,
    pub lat: f64,
    pub lon: f64,
    pub alt: i32,
    pub tz: i32,
    pub dst: AirportDst,
    // Missing in 3 of 1458.
    // Its values: "America/New_York" (519), "America/Chicago" (342), "America/Anchorage" (239),
    // "America/Los_Angeles" (176), "America/Denver" (119), "America/Phoenix" (38), "Pacific/Honolulu"
    // (18), "America/Vancouver" (2), "Asia/Chongqing" (2).
    #[field(skip_none)]
    pub tzone: Option<String>,
}

/// `dst` of `airports`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirportDst {
    A,
    N,
    U,
}
