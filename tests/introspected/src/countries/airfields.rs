//! The collection `airfields`.

use odm::prelude::*;

/// A document of `airfields`: 505 were counted. Half of them have up to 191 bytes, the largest has
/// 212.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "airfields")]
pub struct Airfield {
    pub id: i32,
    pub iata: String,
    // Its texts are numbers as text: `retype` in a migration makes each a number.
    pub lon: String,
    // Refers to `countries.cca2`: 503 of 505 were found, 2 refer to nothing. `cca2` has the type of
    // `_id`, so that a reference by it needs a type of its own: `#[derive(Embed)] #[embed(id)] struct
    // Key(…);` in both. 108 of 110 distinct values were found.
    pub iso: String,
    pub status: i32,
    // Null in 32 of 505.
    pub name: Option<String>,
    pub continent: AirfieldContinent,
    #[field(name = "type")]
    pub type_: AirfieldType,
    // Its texts are numbers as text: `retype` in a migration makes each a number.
    pub lat: String,
    pub size: AirfieldSize,
}

/// `continent` of `airfields`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirfieldContinent {
    #[embed(name = "AF")]
    Af,
    #[embed(name = "AS")]
    As,
    #[embed(name = "EU")]
    Eu,
    #[embed(name = "NA")]
    Na,
    #[embed(name = "OC")]
    Oc,
    #[embed(name = "SA")]
    Sa,
}

/// `type` of `airfields`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirfieldType {
    #[embed(name = "airport")]
    Airport,
}

/// `size` of `airfields`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirfieldSize {
    #[embed(name = "large")]
    Large,
}
