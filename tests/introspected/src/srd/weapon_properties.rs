//! The collection `weapon_properties`.

use odm::prelude::*;

/// A document of `weapon_properties`: 11 were counted. Half of them have up to 111 bytes, the
/// largest has 113.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "weapon_properties")]
#[document(index(fields(index), unique))]
pub struct WeaponPropertie {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    pub url: String,
}
