//! The collection `items`.

use super::Category;
use odm::prelude::*;

/// A document of `items`: 1255 were counted. Half of them have up to 95 bytes, the largest has 436.
// 2 kinds of documents, told by which of `maxDurability` is there: none (1189): no fields of its
// own; maxDurability (66): always `enchantCategories`, `maxDurability`. An enum with `tag` would
// have a variant for each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "items")]
#[document(index(fields(name), unique))]
pub struct Item {
    pub id: ObjectId,
    pub name: String,
    #[field(name = "displayName")]
    pub display_name: String,
    #[field(name = "stackSize")]
    pub stack_size: i32,
    // Missing in 1180 of 1255.
    // Items: at most 5; half have up to 3, 99 of 100 up to 5.
    // Refers to `enchantments.category`: 260 of 260 were found. With a unique index on `category` of
    // `enchantments` it can be declared: `#[reference(by = category)]`. 14 of 14 distinct values were
    // found, and the name says it.
    #[embed(max = 10)]
    #[field(name = "enchantCategories", skip_none)]
    pub enchant_categories: Option<Vec<Category>>,
    // Missing in 1198 of 1255.
    // Items: at most 11; half have up to 1, 99 of 100 up to 11.
    // Refers to `items.name`: 127 of 127 were found. 21 of 21 distinct values were found.
    #[reference(many, max = 20, by = name, index = false)]
    #[field(name = "repairWith", skip_none)]
    pub repair_with: Option<Vec<Ref<Item, String>>>,
    // Missing in 1189 of 1255.
    #[field(name = "maxDurability", skip_none)]
    pub max_durability: Option<i32>,
}
