//! The collection `conditions`.

use odm::prelude::*;

/// A document of `conditions`: 15 were counted. Half of them have up to 103 bytes, the largest has
/// 115.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "conditions")]
#[document(index(fields(index), unique))]
pub struct Condition {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    pub url: String,
}
