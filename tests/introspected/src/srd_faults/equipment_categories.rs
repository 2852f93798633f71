//! The collection `equipment_categories`.

use super::BackgroundEquipmentCategory;
use odm::prelude::*;

/// A document of `equipment_categories`: 30 were counted. Half of them have up to 1023 bytes, the
/// largest has 16540.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "equipment_categories")]
pub struct EquipmentCategory {
    pub id: String,
    pub name: String,
    // Items: at most 133; half have up to 10, 99 of 100 up to 133.
    #[embed(max = 200)]
    pub equipment: Vec<BackgroundEquipmentCategory>,
    pub url: String,
}
