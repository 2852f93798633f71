//! The collection `magic_items`.

use super::BackgroundEquipmentCategory;
use odm::prelude::*;

/// A document of `magic_items`: 262 were counted. Half of them have up to 319 bytes, the largest
/// has 847.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "magic_items")]
pub struct MagicItem {
    pub id: String,
    pub name: String,
    pub url: String,
    pub equipment_category: BackgroundEquipmentCategory,
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
pub enum MagicItemName {
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
    pub name: MagicItemName,
}
