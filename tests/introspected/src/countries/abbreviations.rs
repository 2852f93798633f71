//! The collection `abbreviations`.

use odm::prelude::*;

/// A document of `abbreviations`: 245 were counted. Half of them have up to 59 bytes, the largest
/// has 93.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "abbreviations")]
pub struct Abbreviation {
    pub id: i32,
    // Refers to `countries.name.common`: 0 of 0 were found. A reference leads to a field of the
    // document itself. 184 of 200 distinct values were found, and the name says it.
    pub country: String,
    pub abbreviation: String,
}
