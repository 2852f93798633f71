//! The collection `foods`.

use super::Item;
use odm::prelude::*;

/// A document of `foods`: 40 were counted. Half of them have up to 207 bytes, the largest has 219.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "foods")]
pub struct Food {
    pub id: ObjectId,
    // Refers to `items._id`: 0 of 0 were found. 40 of 40 distinct values were found, and the name says
    // it.
    #[reference(index = false)]
    pub item: Ref<Item>,
    pub name: String,
    #[field(name = "stackSize")]
    pub stack_size: i32,
    #[field(name = "displayName")]
    pub display_name: String,
    #[field(name = "foodPoints")]
    pub food_points: f64,
    pub saturation: f64,
    #[field(name = "effectiveQuality")]
    pub effective_quality: f64,
    #[field(name = "saturationRatio")]
    pub saturation_ratio: f64,
}
