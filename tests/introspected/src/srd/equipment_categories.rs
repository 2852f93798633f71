//! The collection `equipment_categories`.

use super::StartingProficiency;
use odm::prelude::*;

/// A document of `equipment_categories`: 39 were counted. Half of them have up to 1023 bytes, the
/// largest has 22978.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "equipment_categories")]
#[document(index(fields(index), unique))]
pub struct EquipmentCategory {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    // Items: at most 177; half have up to 10, 99 of 100 up to 177.
    #[embed(max = 500, large = "up to 177 were found")]
    pub equipment: Vec<StartingProficiency>,
    pub url: String,
}
