//! The collection `languages`.

use odm::prelude::*;

/// A document of `languages`: 19 were counted. Half of them have up to 95 bytes, the largest has
/// 126.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "languages")]
pub struct Language {
    pub id: String,
    pub name: String,
    pub is_rare: bool,
    pub url: String,
}
