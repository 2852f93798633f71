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
    #[field(skip_none)]
    pub tzone: Option<AirportTzone>,
}

/// `dst` of `airports`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirportDst {
    A,
    N,
    U,
}

/// `tzone` of `airports`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirportTzone {
    #[embed(name = "America/Anchorage")]
    AmericaAnchorage,
    #[embed(name = "America/Chicago")]
    AmericaChicago,
    #[embed(name = "America/Denver")]
    AmericaDenver,
    #[embed(name = "America/Los_Angeles")]
    AmericaLosAngeles,
    #[embed(name = "America/New_York")]
    AmericaNewYork,
    #[embed(name = "America/Phoenix")]
    AmericaPhoenix,
    #[embed(name = "America/Vancouver")]
    AmericaVancouver,
    #[embed(name = "Asia/Chongqing")]
    AsiaChongqing,
    #[embed(name = "Pacific/Honolulu")]
    PacificHonolulu,
}
