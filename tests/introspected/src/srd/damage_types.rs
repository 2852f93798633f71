//! The collection `damage_types`.

use odm::prelude::*;

/// A document of `damage_types`: 13 were counted. Half of them have up to 103 bytes, the largest
/// has 111.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "damage_types")]
#[document(index(fields(index), unique))]
pub struct DamageType {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    pub url: String,
}
