//! The collection `landlocked`.

use odm::prelude::*;

/// A document of `landlocked`: 243 were counted. Half of them have up to 55 bytes, the largest has
/// 90.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "landlocked")]
pub struct Landlocked {
    pub id: i32,
    // Refers to `countries.name.common`: 221 of 243 were found, 22 refer to nothing. A reference leads
    // to a field of the document itself. 181 of 200 distinct values were found, and the name says it.
    pub country: String,
    // Null in 1 of 243.
    // Its texts are `0` and `1` as text: `retype` in a migration makes each a bool.
    pub landlocked: Option<String>,
}
