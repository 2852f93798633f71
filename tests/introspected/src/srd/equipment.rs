//! The collection `equipment`.

use super::{DamageType, EquipmentCategoryEntry, EquipmentEntry, StartingGold, WeaponPropertie};
use odm::prelude::*;

/// A document of `equipment`: 237 were counted. Half of them have up to 415 bytes, the largest has
/// 2099.
// 5 kinds of documents, told by `equipment_category.index`: adventuring-gear (116): always
// `gear_category`; armor (13): always `weight`, `armor_category`, `armor_class`,
// `stealth_disadvantage`, `str_minimum`; mounts-and-vehicles (40): always `vehicle_category`; tools
// (31): always `weight`, `tool_category`; weapon (37): always `weight`, `category_range`,
// `properties`, `range`, `weapon_category`, `weapon_range`. An enum with `tag` would have a variant
// for each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "equipment")]
#[document(index(fields(index), unique))]
pub struct Equipment {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    pub equipment_category: EquipmentCategoryEntry,
    pub cost: StartingGold,
    pub url: String,
    // Missing in 22 of 237.
    #[field(skip_none)]
    pub weight: Option<f64>,
    // Missing in 121 of 237.
    #[field(skip_none)]
    pub gear_category: Option<EquipmentCategoryEntry>,
    // Missing in 206 of 237.
    #[field(skip_none)]
    pub tool_category: Option<EquipmentToolCategory>,
    // Missing in 233 of 237.
    #[field(skip_none)]
    pub quantity: Option<i32>,
    // Missing in 200 of 237.
    // The texts in one of `weapon_category`, `weapon_range`: 37 are, 0 are not.
    #[field(skip_none)]
    pub category_range: Option<EquipmentCategoryRange>,
    // Missing in 201 of 237.
    #[field(skip_none)]
    pub damage: Option<EquipmentDamage>,
    // Missing in 200 of 237.
    // Items: at most 4; half have up to 2, 99 of 100 up to 4.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub properties: Option<Vec<EquipmentPropertie>>,
    // Missing in 200 of 237.
    #[field(skip_none)]
    pub range: Option<EquipmentRange>,
    // Missing in 224 of 237.
    #[field(skip_none)]
    pub armor_category: Option<EquipmentArmorCategory>,
    // Missing in 224 of 237.
    #[field(skip_none)]
    pub armor_class: Option<EquipmentArmorClass>,
    // Missing in 224 of 237.
    #[field(skip_none)]
    pub stealth_disadvantage: Option<bool>,
    // Missing in 224 of 237.
    #[field(skip_none)]
    pub str_minimum: Option<i32>,
    // Missing in 230 of 237.
    // Items: at most 14; half have up to 9, 99 of 100 up to 14.
    #[embed(max = 50)]
    #[field(skip_none)]
    pub contents: Option<Vec<EquipmentContent>>,
    // Missing in 228 of 237.
    #[field(skip_none)]
    pub capacity: Option<String>,
    // Missing in 222 of 237.
    #[field(skip_none)]
    pub speed: Option<EquipmentSpeed>,
    // Missing in 197 of 237.
    // Refers to `equipment_categories.name`: 40 of 40 were found. With a unique index on `name` of
    // `equipment_categories` it can be declared: `#[reference(by = name)]`. 3 of 3 distinct values were
    // found, and the name says it.
    #[field(skip_none)]
    pub vehicle_category: Option<EquipmentVehicleCategory>,
    // Missing in 229 of 237.
    #[field(skip_none)]
    pub throw_range: Option<EquipmentRange>,
    // Missing in 200 of 237.
    #[field(skip_none)]
    pub weapon_category: Option<EquipmentWeaponCategory>,
    // Missing in 200 of 237.
    #[field(skip_none)]
    pub weapon_range: Option<EquipmentWeaponRange>,
    // Missing in 231 of 237.
    #[field(skip_none)]
    pub two_handed_damage: Option<EquipmentDamage>,
}

/// `tool_category` of `equipment`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquipmentToolCategory {
    #[embed(name = "Artisan's Tools")]
    ArtisanSTools,
    #[embed(name = "Gaming Sets")]
    GamingSets,
    #[embed(name = "Musical Instrument")]
    MusicalInstrument,
    #[embed(name = "Other Tools")]
    OtherTools,
}

/// `category_range` of `equipment`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquipmentCategoryRange {
    #[embed(name = "Martial Melee")]
    MartialMelee,
    #[embed(name = "Martial Ranged")]
    MartialRanged,
    #[embed(name = "Simple Melee")]
    SimpleMelee,
    #[embed(name = "Simple Ranged")]
    SimpleRanged,
}

/// `damage.damage_type` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct DamageTypeEntry {
    // Its values: "piercing" (17), "slashing" (10), "bludgeoning" (9).
    // Refers to `damage_types.index`: 36 of 36 were found. 3 of 3 distinct values were found, and the
    // name says it, and so were the fields beside it.
    #[reference(by = index, index = false)]
    pub index: Ref<DamageType, String>,
    // Its values: "Piercing" (17), "Slashing" (10), "Bludgeoning" (9).
    // A copy: 36 equal `damage_types.name`. 36 of 36 are equal; 3 distinct values, the commonest has 47
    // %.
    #[denormalize(from = index.name)]
    pub name: String,
    // Its values: "/api/2014/damage-types/piercing" (17), "/api/2014/damage-types/slashing" (10),
    // "/api/2014/damage-types/bludgeoning" (9).
    // A copy: 36 equal `damage_types.url`. 36 of 36 are equal; 3 distinct values, the commonest has 47
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

/// `properties[]` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentPropertie {
    // Its values: "two-handed" (11), "monk" (10), "heavy" (8), "light" (8), "thrown" (8), "ammunition"
    // (7), "finesse" (6), "versatile" (6), "reach" (5), "loading" (4), "special" (2).
    // Refers to `weapon_properties.index`: 75 of 75 were found. 11 of 11 distinct values were found,
    // and the name says it, and so were the fields beside it.
    #[reference(by = index, index = false)]
    pub index: Ref<WeaponPropertie, String>,
    // Its values: "Two-Handed" (11), "Monk" (10), "Heavy" (8), "Light" (8), "Thrown" (8), "Ammunition"
    // (7), "Finesse" (6), "Versatile" (6), "Reach" (5), "Loading" (4), "Special" (2).
    // A copy: 75 equal `weapon_properties.name`. 75 of 75 are equal; 11 distinct values, the commonest
    // has 15 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // Its values: "/api/2014/weapon-properties/two-handed" (11), "/api/2014/weapon-properties/monk"
    // (10), "/api/2014/weapon-properties/heavy" (8), "/api/2014/weapon-properties/light" (8),
    // "/api/2014/weapon-properties/thrown" (8), "/api/2014/weapon-properties/ammunition" (7),
    // "/api/2014/weapon-properties/finesse" (6), "/api/2014/weapon-properties/versatile" (6),
    // "/api/2014/weapon-properties/reach" (5), "/api/2014/weapon-properties/loading" (4),
    // "/api/2014/weapon-properties/special" (2).
    // A copy: 75 equal `weapon_properties.url`. 75 of 75 are equal; 11 distinct values, the commonest
    // has 15 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `range` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentRange {
    pub normal: i32,
    // Missing in 28 of 37.
    #[field(skip_none)]
    pub long: Option<i32>,
}

/// `armor_category` of `equipment`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquipmentArmorCategory {
    Heavy,
    Light,
    Medium,
    Shield,
}

/// `armor_class` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentArmorClass {
    pub base: i32,
    pub dex_bonus: bool,
    // Missing in 8 of 13.
    #[field(skip_none)]
    pub max_bonus: Option<i32>,
}

/// `contents[]` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentContent {
    pub item: EquipmentEntry,
    pub quantity: i32,
}

/// `speed` of `equipment`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentSpeed {
    pub quantity: f64,
    // Its values: "ft/round" (9), "mph" (6).
    pub unit: String,
}

/// `vehicle_category` of `equipment`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquipmentVehicleCategory {
    #[embed(name = "Mounts and Other Animals")]
    MountsAndOtherAnimals,
    #[embed(name = "Tack, Harness, and Drawn Vehicles")]
    TackHarnessAndDrawnVehicles,
    #[embed(name = "Waterborne Vehicles")]
    WaterborneVehicles,
}

/// `weapon_category` of `equipment`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquipmentWeaponCategory {
    Martial,
    Simple,
}

/// `weapon_range` of `equipment`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquipmentWeaponRange {
    Melee,
    Ranged,
}
