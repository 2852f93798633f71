//! The collection `alignments`.

use odm::prelude::*;

/// A document of `alignments`: 10 were counted. Half of them have up to 119 bytes, the largest has
/// 123.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "alignments")]
pub struct Alignment {
    pub id: String,
    pub name: String,
    pub abbreviation: String,
    pub url: String,
}
