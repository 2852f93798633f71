//! The collection `airlines`.

use odm::prelude::*;

/// A document of `airlines`: 16 were counted. Half of them have up to 51 bytes, the largest has 55.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "airlines")]
pub struct Airline {
    pub id: String,
    pub name: String,
}
