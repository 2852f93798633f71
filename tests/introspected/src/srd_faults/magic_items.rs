//! The collection `magic_items`.

use odm::prelude::*;

/// A document of `magic_items`: 262 were counted. Half of them have up to 319 bytes, the largest
/// has 847.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "magic_items")]
pub struct MagicItem {
    pub id: String,
    pub name: String,
    pub url: String,
    pub equipment_category: MagicItemEquipmentCategory,
    pub variant: bool,
    // Items: at most 4; half have up to 0, 99 of 100 up to 3.
    #[embed(max = 10)]
    pub variants: Vec<MagicItemVariant>,
    pub attunement: bool,
    pub rarity: MagicItemRarity,
    // Missing in 239 of 262.
    #[field(name = "limited-to", skip_none)]
    pub limited_to: Option<String>,
}

/// `equipment_category.index` of `magic_items`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicItemIndex {
    #[embed(name = "armor")]
    Armor,
    #[embed(name = "armor-gone")]
    ArmorGone,
    #[embed(name = "potions")]
    Potions,
    #[embed(name = "rings")]
    Rings,
    #[embed(name = "staffs")]
    Staffs,
    #[embed(name = "wands")]
    Wands,
    #[embed(name = "wands-gone")]
    WandsGone,
    #[embed(name = "weapons")]
    Weapons,
    #[embed(name = "weapons-gone")]
    WeaponsGone,
    #[embed(name = "wondrous-items")]
    WondrousItems,
    #[embed(name = "wondrous-items-gone")]
    WondrousItemsGone,
}

/// `equipment_category.name` of `magic_items`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicItemName {
    Armor,
    #[embed(name = "Armor (old)")]
    ArmorOld,
    Potions,
    #[embed(name = "Potions (old)")]
    PotionsOld,
    Rings,
    #[embed(name = "Rings (old)")]
    RingsOld,
    Staffs,
    Wands,
    #[embed(name = "Wands (old)")]
    WandsOld,
    Weapons,
    #[embed(name = "Weapons (old)")]
    WeaponsOld,
    #[embed(name = "Wondrous Items")]
    WondrousItems,
    #[embed(name = "Wondrous Items (old)")]
    WondrousItemsOld,
}

/// `equipment_category.url` of `magic_items`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicItemUrl {
    #[embed(name = "/api/2024/equipment-categories/armor")]
    Api2024EquipmentCategoriesArmor,
    #[embed(name = "/api/2024/equipment-categories/potions")]
    Api2024EquipmentCategoriesPotions,
    #[embed(name = "/api/2024/equipment-categories/rings")]
    Api2024EquipmentCategoriesRings,
    #[embed(name = "/api/2024/equipment-categories/staffs")]
    Api2024EquipmentCategoriesStaffs,
    #[embed(name = "/api/2024/equipment-categories/wands")]
    Api2024EquipmentCategoriesWands,
    #[embed(name = "/api/2024/equipment-categories/weapons")]
    Api2024EquipmentCategoriesWeapons,
    #[embed(name = "/api/2024/equipment-categories/wondrous-items")]
    Api2024EquipmentCategoriesWondrousItems,
}

/// `equipment_category` of `magic_items`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct MagicItemEquipmentCategory {
    // Perhaps refers to `equipment_categories._id`: 0 of 0 were found. The data alone do not prove it.
    // 7 of 11 distinct values were found, and the name says it.
    pub index: MagicItemIndex,
    pub name: MagicItemName,
    pub url: MagicItemUrl,
}

/// `variants[]` of `magic_items`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct MagicItemVariant {
    // Refers to `magic_items._id`: 0 of 0 were found. 19 of 19 distinct values were found.
    #[reference(index = false)]
    pub index: Ref<MagicItem>,
    pub name: String,
    pub url: String,
}

/// `rarity` of `magic_items`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct MagicItemRarity {
    pub name: String,
}
