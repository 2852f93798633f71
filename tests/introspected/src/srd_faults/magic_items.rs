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
    // Perhaps refers to `equipment_categories._id`: 256 of 262 were found, 6 refer to nothing. The data
    // alone do not prove it. 7 of 11 distinct values were found, and the name says it, and so were the
    // fields beside it.
    // The other side of `equipment_categories.equipment[].index`: 199 pairs agree, 63 are on this side
    // alone and 4 on the other. `inverse = …` would keep both sides equal.
    pub index: MagicItemIndex,
    // Perhaps a copy: 236 equal `equipment_categories.name`, 20 differ from it.
    // `equipment_category.index` is not declared as a reference. 236 of 256 are equal; 13 distinct
    // values, the commonest has 48 %.
    pub name: MagicItemName,
    // Perhaps a copy: 256 equal `equipment_categories.url`. `equipment_category.index` is not declared
    // as a reference. 256 of 256 are equal; 7 distinct values, the commonest has 51 %.
    pub url: MagicItemUrl,
}

/// `variants[]` of `magic_items`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct MagicItemVariant {
    // Refers to `magic_items._id`: 19 of 19 were found. 19 of 19 distinct values were found, and so
    // were the fields beside it.
    #[reference(index = false)]
    pub index: Ref<MagicItem>,
    // A copy: 19 equal `magic_items.name`. 19 of 19 are equal; 19 distinct values, the commonest has 5
    // %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 19 equal `magic_items.url`. 19 of 19 are equal; 19 distinct values, the commonest has 5
    // %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `rarity.name` of `magic_items`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicItemRarityName {
    Artifact,
    Common,
    Legendary,
    Rare,
    #[embed(name = "Rare (+1), Very Rare (+2), or Legendary (+3)")]
    Rare1VeryRare2OrLegendary3,
    #[embed(name = "Rare (+2)")]
    Rare2,
    #[embed(name = "Rare (Silver or Brass), Very Rare (Bronze), or Legendary (Iron)")]
    RareSilverOrBrassVeryRareBronzeOrLegendaryIron,
    #[embed(name = "Rarity Varies")]
    RarityVaries,
    Uncommon,
    #[embed(name = "Uncommon (+1)")]
    Uncommon1,
    #[embed(name = "Uncommon (+1), Rare (+2), or Very Rare (+3)")]
    Uncommon1Rare2OrVeryRare3,
    #[embed(name = "Very Rare")]
    VeryRare,
    #[embed(name = "Very Rare (+3)")]
    VeryRare3,
}

/// `rarity` of `magic_items`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct MagicItemRarity {
    pub name: MagicItemRarityName,
}
