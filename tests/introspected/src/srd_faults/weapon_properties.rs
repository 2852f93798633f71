//! The collection `weapon_properties`.

use odm::prelude::*;

/// A document of `weapon_properties`: 10 were counted. Half of them have up to 87 bytes, the
/// largest has 94.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "weapon_properties")]
pub struct WeaponPropertie {
    pub id: String,
    pub name: String,
    pub url: String,
}
