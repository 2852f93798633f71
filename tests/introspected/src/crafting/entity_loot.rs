//! The collection `entityLoot`.

use super::{Item, Number};
use odm::prelude::*;

/// A document of `entityLoot`: 81 were counted. Half of them have up to 143 bytes, the largest has
/// 633.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "entityLoot")]
pub struct EntityLoot {
    pub id: ObjectId,
    // Refers to `entities.name`: 81 of 81 were found. With a unique index on `name` of `entities` it
    // can be declared: `#[reference(by = name)]`. 81 of 81 distinct values were found, and the name
    // says it.
    pub entity: String,
    // Items: at most 7; half have up to 1, 99 of 100 up to 7.
    #[embed(max = 10)]
    pub drops: Vec<EntityLootDrop>,
}

/// `drops[]` of `entityLoot`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EntityLootDrop {
    // Refers to `items.name`: 104 of 104 were found. 59 of 59 distinct values were found, and the name
    // says it.
    #[reference(by = name, index = false)]
    pub item: Ref<Item, String>,
    // Its types differ: 68 int, 36 double. `retype` in a migration makes them one.
    #[field(name = "dropChance")]
    pub drop_chance: Number,
    // Items: always 2.
    #[embed(max = 10)]
    #[field(name = "stackSizeRange")]
    pub stack_size_range: Vec<i32>,
    // Missing in 83 of 104.
    #[field(name = "playerKill", skip_none)]
    pub player_kill: Option<bool>,
}
