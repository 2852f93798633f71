//! The collections of the database `countries`, as `odm introspect` read them.

use odm::prelude::*;

pub mod abbreviations;
pub mod airfields;
pub mod capitals;
pub mod countries;
pub mod currencies;
pub mod elevations;
pub mod independence;
pub mod landlocked;
pub mod numbers;
pub mod populations;

pub use abbreviations::*;
pub use airfields::*;
pub use capitals::*;
pub use countries::*;
pub use currencies::*;
pub use elevations::*;
pub use independence::*;
pub use landlocked::*;
pub use numbers::*;
pub use populations::*;

/// The documents of all collections, for `Odm::new`.
pub fn models() -> [odm::Model; 10] {
    odm::models![
        Abbreviation,
        Airfield,
        Capital,
        Country,
        Currency,
        Elevation,
        Independence,
        Landlocked,
        Number2,
        Population,
    ]
}

/// An integer that is stored in 32 bits where they are enough, and else in 64: as JavaScript and Python store integers.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[embed(id)]
pub struct Integer(
    #[field(with = "integer")]
    #[field(stored = i64)]
    pub i64,
);

mod integer {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(n: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        match i32::try_from(*n) {
            Ok(n) => serializer.serialize_i32(n),
            Err(_) => serializer.serialize_i64(*n),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        i64::deserialize(deserializer)
    }
}

/// A number as it was stored: an integer or a floating-point number.
#[derive(Embed, Clone, Copy, Debug, PartialEq)]
#[embed(untagged)]
pub enum Number {
    Integer(Integer),
    Double(f64),
}
