//! The collection `independence`.

use odm::prelude::*;

/// A document of `independence`: 244 were counted. Half of them have up to 55 bytes, the largest
/// has 86.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "independence")]
pub struct Independence {
    pub id: i32,
    // Refers to `countries.name.common`: 222 of 244 were found, 22 refer to nothing. A reference leads
    // to a field of the document itself. 182 of 200 distinct values were found, and the name says it.
    pub country: String,
    // Null in 52 of 244.
    pub independence: Option<i32>,
}
