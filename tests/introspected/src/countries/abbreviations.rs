//! The collection `abbreviations`.

use odm::prelude::*;

/// A document of `abbreviations`: 245 were counted. Half of them have up to 59 bytes, the largest
/// has 93.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "abbreviations")]
pub struct Abbreviation {
    pub id: i32,
    // Refers to `countries.name.common`: 226 of 245 were found, 19 refer to nothing. A reference leads
    // to a field of the document itself. 184 of 200 distinct values were found, and the name says it.
    pub country: String,
    // Perhaps a copy: 225 equal `countries.cca2`, 1 differ from it. `country` is not declared as a
    // reference. 225 of 226 are equal; 226 distinct values, the commonest has 0 %.
    pub abbreviation: String,
}
