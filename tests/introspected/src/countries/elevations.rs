//! The collection `elevations`.

use super::Number;
use odm::prelude::*;

/// A document of `elevations`: 243 were counted. Half of them have up to 51 bytes, the largest has
/// 83.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "elevations")]
pub struct Elevation {
    pub id: i32,
    // Refers to `countries.name.common`: 217 of 243 were found, 26 refer to nothing. A reference leads
    // to a field of the document itself. 177 of 200 distinct values were found, and the name says it.
    pub country: String,
    // Null in 88 of 243.
    // Its types differ: 154 int, 1 double. `retype` in a migration makes them one.
    pub elevation: Option<Number>,
}
