//! The collection `magic_schools`.

use odm::prelude::*;

/// A document of `magic_schools`: 8 were counted. Half of them have up to 111 bytes, the largest
/// has 118.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "magic_schools")]
#[document(index(fields(index), unique))]
pub struct MagicSchool {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    pub url: String,
}
