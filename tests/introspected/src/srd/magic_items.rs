//! The collection `magic_items`.

use super::EquipmentCategory;
use odm::prelude::*;

/// A document of `magic_items`: 362 were counted. Half of them have up to 319 bytes, the largest
/// has 2166.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "magic_items")]
#[document(index(fields(index), unique))]
pub struct MagicItem {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    pub equipment_category: MagicItemEquipmentCategory,
    pub rarity: MagicItemRarity,
    // Items: at most 14; half have up to 0, 99 of 100 up to 10.
    #[embed(max = 50)]
    pub variants: Vec<MagicItemVariant>,
    pub variant: bool,
    pub url: String,
}

/// `equipment_category.name` of `magic_items`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicItemName {
    Ammunition,
    Armor,
    Potion,
    Ring,
    Rod,
    Scroll,
    Staff,
    Wand,
    Weapon,
    #[embed(name = "Wondrous Items")]
    WondrousItems,
}

/// `equipment_category.url` of `magic_items`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicItemUrl {
    #[embed(name = "/api/2014/equipment-categories/ammunition")]
    Api2014EquipmentCategoriesAmmunition,
    #[embed(name = "/api/2014/equipment-categories/armor")]
    Api2014EquipmentCategoriesArmor,
    #[embed(name = "/api/2014/equipment-categories/potion")]
    Api2014EquipmentCategoriesPotion,
    #[embed(name = "/api/2014/equipment-categories/ring")]
    Api2014EquipmentCategoriesRing,
    #[embed(name = "/api/2014/equipment-categories/rod")]
    Api2014EquipmentCategoriesRod,
    #[embed(name = "/api/2014/equipment-categories/scroll")]
    Api2014EquipmentCategoriesScroll,
    #[embed(name = "/api/2014/equipment-categories/staff")]
    Api2014EquipmentCategoriesStaff,
    #[embed(name = "/api/2014/equipment-categories/wand")]
    Api2014EquipmentCategoriesWand,
    #[embed(name = "/api/2014/equipment-categories/weapon")]
    Api2014EquipmentCategoriesWeapon,
    #[embed(name = "/api/2014/equipment-categories/wondrous-items")]
    Api2014EquipmentCategoriesWondrousItems,
}

/// `equipment_category` of `magic_items`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct MagicItemEquipmentCategory {
    // Its values: "wondrous-items" (177), "potion" (40), "ring" (36), "weapon" (30), "armor" (29),
    // "wand" (16), "staff" (12), "scroll" (11), "rod" (6), "ammunition" (5).
    // Refers to `equipment_categories.index`: 0 of 0 were found. 10 of 10 distinct values were found,
    // and the name says it.
    #[reference(by = index, index = false)]
    pub index: Ref<EquipmentCategory, String>,
    pub name: MagicItemName,
    pub url: MagicItemUrl,
}

/// `rarity.name` of `magic_items`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicItemRarityName {
    Artifact,
    Common,
    Legendary,
    Rare,
    Uncommon,
    Varies,
    #[embed(name = "Very Rare")]
    VeryRare,
}

/// `rarity` of `magic_items`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct MagicItemRarity {
    pub name: MagicItemRarityName,
}

/// `variants[]` of `magic_items`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct MagicItemVariant {
    // Refers to `magic_items.index`: 0 of 0 were found. 123 of 123 distinct values were found.
    #[reference(by = index, index = false)]
    pub index: Ref<MagicItem, String>,
    pub name: String,
    pub url: String,
}
