//! The collection `weapon_mastery_properties`.

use odm::prelude::*;

/// A document of `weapon_mastery_properties`: 8 were counted. Half of them have up to 87 bytes, the
/// largest has 90.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "weapon_mastery_properties")]
pub struct WeaponMasteryPropertie {
    pub id: String,
    pub name: String,
    pub url: String,
}
