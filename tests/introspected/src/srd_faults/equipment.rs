//! The collection `equipment`.

use super::{AbilityScoreEntry, BackgroundEquipmentCategory, DamageType, EquipmentCategory};
use odm::prelude::*;

/// A document of `equipment`: 182 were counted. Half of them have up to 895 bytes, the largest has
/// 61919.
// 2 kinds of documents, told by which of `properties` is there: none (144): no fields of its own;
// properties (38): always `weight`, `damage`, `mastery`, `properties`. An enum with `tag` would
// have a variant for each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "equipment")]
pub struct Equipment {
    pub id: String,
    pub name: String,
    // Items: at most 6; half have up to 2, 99 of 100 up to 4.
    #[embed(max = 10)]
    pub equipment_categories: Vec<EquipmentEquipmentCategory>,
    pub cost: EquipmentCost,
    pub url: String,
    // Missing in 1 of 182.
    // Its types differ: 159 double, 22 string. `retype` in a migration makes them one.
    // Its texts are numbers as text: `retype` in a migration makes each a number.
    #[field(skip_none)]
    pub weight: Option<EquipmentWeightValue>,
    // Missing in 145 of 182.
    #[field(skip_none)]
    pub ability: Option<AbilityScoreEntry>,
    // Missing in 162 of 182.
    // Items: at most 37; half have up to 4, 99 of 100 up to 37.
    #[embed(max = 100)]
    #[field(skip_none)]
    pub craft: Option<Vec<EquipmentCraft>>,
    // Missing in 146 of 182.
    // Items: at most 2; half have up to 2, 99 of 100 up to 2.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub utilize: Option<Vec<EquipmentUtilize>>,
    // Missing in 177 of 182.
    #[field(skip_none)]
    pub quantity: Option<i32>,
    // Missing in 177 of 182.
    #[field(skip_none)]
    pub storage: Option<BackgroundEquipmentCategory>,
    // Missing in 173 of 182.
    #[field(skip_none)]
    pub ammunition: Option<BackgroundEquipmentCategory>,
    // Missing in 144 of 182.
    #[field(skip_none)]
    pub damage: Option<EquipmentDamage>,
    // Missing in 144 of 182.
    #[field(skip_none)]
    pub mastery: Option<BackgroundEquipmentCategory>,
    // Missing in 144 of 182.
    // Items: at most 4; half have up to 2, 99 of 100 up to 4.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub properties: Option<Vec<BackgroundEquipmentCategory>>,
    // Missing in 145 of 182.
    #[field(skip_none)]
    pub range: Option<EquipmentRange>,
    // Missing in 169 of 182.
    #[field(skip_none)]
    pub armor_class: Option<EquipmentArmorClass>,
    // Missing in 170 of 182.
    #[field(skip_none)]
    pub doff_time: Option<EquipmentDoffTime>,
    // Missing in 170 of 182.
    #[field(skip_none)]
    pub don_time: Option<EquipmentDonTime>,
    // Missing in 169 of 182.
    #[field(skip_none)]
    pub stealth_disadvantage: Option<bool>,
    // Missing in 169 of 182.
    #[field(skip_none)]
    pub str_minimum: Option<i32>,
    // Missing in 175 of 182.
    // Items: at most 12; half have up to 9, 99 of 100 up to 12.
    #[embed(max = 20)]
    #[field(skip_none)]
    pub contents: Option<Vec<EquipmentContent>>,
    // Missing in 175 of 182.
    #[field(skip_none)]
    pub throw_range: Option<EquipmentRange>,
    // Missing in 175 of 182.
    #[field(skip_none)]
    pub two_handed_damage: Option<EquipmentDamage>,
    // Items: at most 1800; half have up to 2, 99 of 100 up to 1800.
    #[embed(max = 5_000, large = "up to 1800 were found")]
    pub price_log: Vec<EquipmentPriceLog>,
}

/// `equipment_categories[]` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentEquipmentCategory {
    // Its values: "adventuring-gear" (90), "weapons" (38), "tools" (36), "melee-weapons" (28),
    // "martial-weapons" (24), "martial-melee-weapons" (18), "artisans-tools" (17), "simple-weapons"
    // (14), "armor" (13), "musical-instruments" (10), "ranged-weapons" (10), "simple-melee-weapons"
    // (10), and 13 more.
    // Refers to `equipment_categories._id`: 364 of 364 were found. 25 of 25 distinct values were found,
    // and the name says it, and so were the fields beside it.
    // The other side of `equipment_categories.equipment[].index`: 357 pairs agree, 7 are on this side
    // alone and 3 on the other. The sides of a two-way reference are fields of the documents
    // themselves. `inverse = …` would keep both sides equal.
    #[reference(index = false)]
    pub index: Ref<EquipmentCategory>,
    // Its values: "Adventuring Gear" (82), "Weapons" (33), "Tools" (29), "Melee Weapons" (26), "Martial
    // Weapons" (21), "Artisan's Tools" (16), "Martial Melee Weapons" (16), "Armor" (12), "Simple
    // Weapons" (12), "Musical Instruments" (10), "Ranged Weapons" (9), "Adventuring Gear (old)" (8),
    // and 27 more.
    // A copy: 326 equal `equipment_categories.name`, 38 differ from it. 326 of 364 are equal; 39
    // distinct values, the commonest has 23 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // Its values: "/api/2024/equipment-categories/adventuring-gear" (90),
    // "/api/2024/equipment-categories/weapons" (38), "/api/2024/equipment-categories/tools" (36),
    // "/api/2024/equipment-categories/melee-weapons" (28),
    // "/api/2024/equipment-categories/martial-weapons" (24),
    // "/api/2024/equipment-categories/martial-melee-weapons" (18),
    // "/api/2024/equipment-categories/artisans-tools" (17),
    // "/api/2024/equipment-categories/simple-weapons" (14), "/api/2024/equipment-categories/armor"
    // (13), "/api/2024/equipment-categories/musical-instruments" (10),
    // "/api/2024/equipment-categories/ranged-weapons" (10),
    // "/api/2024/equipment-categories/simple-melee-weapons" (10), and 13 more.
    // A copy: 364 equal `equipment_categories.url`. 364 of 364 are equal; 25 distinct values, the
    // commonest has 25 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `cost.unit` of `equipment`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquipmentUnit {
    #[embed(name = "cp")]
    Cp,
    #[embed(name = "gp")]
    Gp,
    #[embed(name = "sp")]
    Sp,
}

/// `cost` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentCost {
    pub quantity: i32,
    pub unit: EquipmentUnit,
}

/// `weight` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(untagged)]
pub enum EquipmentWeightValue {
    Double(f64),
    Text(String),
}

/// `craft[]` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentCraft {
    // Refers to `equipment._id`: 148 of 148 were found. 129 of 129 distinct values were found, and so
    // were the fields beside it.
    #[reference(index = false)]
    pub index: Ref<Equipment>,
    // A copy: 148 equal `equipment.name`. 148 of 148 are equal; 129 distinct values, the commonest has
    // 3 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 148 equal `equipment.url`. 148 of 148 are equal; 129 distinct values, the commonest has 3
    // %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `utilize[].dc.success_type` of `equipment`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquipmentSuccessType {
    #[embed(name = "none")]
    None,
}

/// `utilize[].dc` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentDc {
    pub dc_type: AbilityScoreEntry,
    pub dc_value: i32,
    pub success_type: EquipmentSuccessType,
}

/// `utilize[]` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentUtilize {
    pub name: String,
    pub dc: EquipmentDc,
}

/// `damage.damage_type` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DamageTypeEntry {
    // Its values: "piercing" (20), "slashing" (10), "bludgeoning" (8).
    // Refers to `damage_types._id`: 38 of 38 were found. 3 of 3 distinct values were found, and the
    // name says it, and so were the fields beside it.
    #[reference(index = false)]
    pub index: Ref<DamageType>,
    // Its values: "Piercing" (20), "Slashing" (10), "Bludgeoning" (8).
    // A copy: 38 equal `damage_types.name`. 38 of 38 are equal; 3 distinct values, the commonest has 53
    // %.
    #[denormalize(from = index.name)]
    pub name: String,
    // Its values: "/api/2024/damage-types/piercing" (20), "/api/2024/damage-types/slashing" (10),
    // "/api/2024/damage-types/bludgeoning" (8).
    // A copy: 38 equal `damage_types.url`. 38 of 38 are equal; 3 distinct values, the commonest has 53
    // %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `damage.damage_dice` of `equipment`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquipmentDamageDice {
    #[embed(name = "1")]
    N1,
    #[embed(name = "1d10")]
    N1d10,
    #[embed(name = "1d12")]
    N1d12,
    #[embed(name = "1d4")]
    N1d4,
    #[embed(name = "1d6")]
    N1d6,
    #[embed(name = "1d8")]
    N1d8,
    #[embed(name = "2d6")]
    N2d6,
}

/// `damage` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentDamage {
    pub damage_type: DamageTypeEntry,
    pub damage_dice: EquipmentDamageDice,
}

/// `range` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentRange {
    pub normal: i32,
    // Missing in 27 of 37.
    #[field(skip_none)]
    pub long: Option<i32>,
}

/// `armor_class` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentArmorClass {
    pub base: i32,
    pub dex_bonus: bool,
    // Missing in 4 of 13.
    #[field(skip_none)]
    pub max_bonus: Option<i32>,
}

/// `doff_time` of `equipment`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquipmentDoffTime {
    #[embed(name = "1 minute")]
    N1Minute,
    #[embed(name = "5 minutes")]
    N5Minutes,
}

/// `don_time` of `equipment`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquipmentDonTime {
    #[embed(name = "1 minute")]
    N1Minute,
    #[embed(name = "10 minutes")]
    N10Minutes,
    #[embed(name = "5 minutes")]
    N5Minutes,
}

/// `contents[]` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentContent {
    pub item: EquipmentCraft,
    pub quantity: i32,
}

/// `price_log[]` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentPriceLog {
    pub at: DateTime,
    pub price: i32,
}
