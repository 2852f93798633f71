//! The collection `damage_types`.

use odm::prelude::*;

/// A document of `damage_types`: 13 were counted. Half of them have up to 87 bytes, the largest has
/// 92.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "damage_types")]
pub struct DamageType {
    pub id: String,
    pub name: String,
    pub url: String,
}
