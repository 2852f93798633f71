//! The collection `magic_schools`.

use odm::prelude::*;

/// A document of `magic_schools`: 8 were counted. Half of them have up to 95 bytes, the largest has
/// 99.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "magic_schools")]
pub struct MagicSchool {
    pub id: String,
    pub name: String,
    pub url: String,
}
