//! The collection `enchantments`.

use odm::prelude::*;

/// A document of `enchantments`: 39 were counted. Half of them have up to 255 bytes, the largest
/// has 324.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "enchantments")]
pub struct Enchantment {
    pub id: ObjectId,
    pub name: String,
    #[field(name = "displayName")]
    pub display_name: String,
    #[field(name = "maxLevel")]
    pub max_level: i32,
    #[field(name = "minCost")]
    pub min_cost: EnchantmentMinCost,
    #[field(name = "maxCost")]
    pub max_cost: EnchantmentMinCost,
    #[field(name = "treasureOnly")]
    pub treasure_only: bool,
    pub curse: bool,
    // Items: at most 3; half have up to 1, 99 of 100 up to 3.
    // Refers to `enchantments.name`: 34 of 34 were found. With a unique index on `name` of
    // `enchantments` it can be declared: `#[reference(by = name)]`. 20 of 20 distinct values were
    // found.
    // A link in both directions: 34 pairs agree. Both sides have to be declared as references. `inverse
    // = …` would keep both sides equal.
    #[embed(max = 10)]
    pub exclude: Vec<String>,
    pub category: Category,
    pub weight: i32,
    pub tradeable: bool,
    pub discoverable: bool,
}

/// `minCost` of `enchantments`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EnchantmentMinCost {
    pub a: i32,
    pub b: i32,
}

/// `category` of `enchantments`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    #[embed(name = "armor")]
    Armor,
    #[embed(name = "armor_chest")]
    ArmorChest,
    #[embed(name = "armor_feet")]
    ArmorFeet,
    #[embed(name = "armor_head")]
    ArmorHead,
    #[embed(name = "armor_legs")]
    ArmorLegs,
    #[embed(name = "bow")]
    Bow,
    #[embed(name = "breakable")]
    Breakable,
    #[embed(name = "crossbow")]
    Crossbow,
    #[embed(name = "digger")]
    Digger,
    #[embed(name = "fishing_rod")]
    FishingRod,
    #[embed(name = "trident")]
    Trident,
    #[embed(name = "vanishable")]
    Vanishable,
    #[embed(name = "weapon")]
    Weapon,
    #[embed(name = "wearable")]
    Wearable,
}
