//! The collection `currencies`.

use odm::prelude::*;

/// A document of `currencies`: 243 were counted. Half of them have up to 59 bytes, the largest has
/// 95.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "currencies")]
pub struct Currency {
    pub id: i32,
    // Refers to `countries.name.common`: 0 of 0 were found. A reference leads to a field of the
    // document itself. 183 of 200 distinct values were found, and the name says it.
    pub country: String,
    // Null in 1 of 243.
    pub currency_code: Option<String>,
}
