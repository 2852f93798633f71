//! The collection `capitals`.

use odm::prelude::*;

/// A document of `capitals`: 245 were counted. Half of them have up to 55 bytes, the largest has
/// 82.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "capitals")]
pub struct Capital {
    pub id: i32,
    // Refers to `countries.name.common`: 222 of 245 were found, 23 refer to nothing. A reference leads
    // to a field of the document itself. 181 of 200 distinct values were found, and the name says it.
    pub country: String,
    // Null in 7 of 245.
    // Perhaps a copy: 164 equal `countries.capital[]`, 54 differ from it. `country` is not declared as
    // a reference. 164 of 218 are equal; 216 distinct values, the commonest has 2 %.
    pub city: Option<String>,
}
