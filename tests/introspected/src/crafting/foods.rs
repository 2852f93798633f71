//! The collection `foods`.

use super::Item;
use odm::prelude::*;

/// A document of `foods`: 40 were counted. Half of them have up to 207 bytes, the largest has 219.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "foods")]
pub struct Food {
    pub id: ObjectId,
    // Refers to `items._id`: 40 of 40 were found. 40 of 40 distinct values were found, and the name
    // says it.
    #[reference(index = false)]
    pub item: Ref<Item>,
    // A copy: 40 equal `items.name`. 40 of 40 are equal; 40 distinct values, the commonest has 2 %.
    #[denormalize(from = item.name)]
    pub name: String,
    // Perhaps a copy: 40 equal `items.stackSize`. The values are too few to tell a copy from chance. 40
    // of 40 are equal; 3 distinct values, the commonest has 88 %.
    #[field(name = "stackSize")]
    pub stack_size: i32,
    // A copy: 40 equal `items.displayName`. 40 of 40 are equal; 40 distinct values, the commonest has 2
    // %.
    #[denormalize(from = item.display_name)]
    #[field(name = "displayName")]
    pub display_name: String,
    #[field(name = "foodPoints")]
    pub food_points: f64,
    // The product of `foodPoints`, `saturationRatio`: 40 are, 0 are not.
    pub saturation: f64,
    // The sum of `foodPoints`, `saturation`: 40 are, 0 are not.
    #[field(name = "effectiveQuality")]
    pub effective_quality: f64,
    #[field(name = "saturationRatio")]
    pub saturation_ratio: f64,
}
