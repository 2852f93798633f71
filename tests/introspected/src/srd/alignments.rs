//! The collection `alignments`.

use odm::prelude::*;

/// A document of `alignments`: 9 were counted. Half of them have up to 142 bytes, the largest has
/// 142.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "alignments")]
#[document(index(fields(index), unique))]
pub struct Alignment {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    pub abbreviation: String,
    pub url: String,
}
