//! The collection `capitals`.

use odm::prelude::*;

/// A document of `capitals`: 245 were counted. Half of them have up to 55 bytes, the largest has
/// 82.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "capitals")]
pub struct Capital {
    pub id: i32,
    // Refers to `countries.name.common`: 0 of 0 were found. A reference leads to a field of the
    // document itself. 181 of 200 distinct values were found, and the name says it.
    pub country: String,
    // Null in 7 of 245.
    pub city: Option<String>,
}
