//! The collection `magic_items`.

use super::EquipmentCategoryEntry;
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
    pub equipment_category: EquipmentCategoryEntry,
    pub rarity: MagicItemRarity,
    // Items: at most 14; half have up to 0, 99 of 100 up to 10.
    #[embed(max = 50)]
    pub variants: Vec<MagicItemVariant>,
    pub variant: bool,
    pub url: String,
}

/// `rarity.name` of `magic_items`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum MagicItemName {
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
    pub name: MagicItemName,
}

/// `variants[]` of `magic_items`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct MagicItemVariant {
    // Refers to `magic_items.index`: 123 of 123 were found. 123 of 123 distinct values were found, and
    // so were the fields beside it.
    #[reference(by = index, index = false)]
    pub index: Ref<MagicItem, String>,
    // A copy: 123 equal `magic_items.name`. 123 of 123 are equal; 123 distinct values, the commonest
    // has 1 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 123 equal `magic_items.url`. 123 of 123 are equal; 123 distinct values, the commonest has
    // 1 %.
    #[denormalize(from = index.url)]
    pub url: String,
}
