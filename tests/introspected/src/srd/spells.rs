//! The collection `spells`.

use super::{AbilityScoreEntry, ClassEntry, DamageTypeEntry, MagicSchool, SubclassEntry};
use odm::prelude::*;
use std::collections::BTreeMap;

/// A document of `spells`: 319 were counted. Half of them have up to 703 bytes, the largest has
/// 1146.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "spells")]
#[document(index(fields(index), unique))]
pub struct Spell {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    pub range: SpellRange,
    // Items: at most 3; half have up to 3, 99 of 100 up to 3.
    #[embed(max = 10)]
    pub components: Vec<SpellComponent>,
    pub ritual: bool,
    pub duration: SpellDuration,
    pub concentration: bool,
    pub casting_time: SpellCastingTime,
    pub level: i32,
    // Missing in 303 of 319.
    #[field(skip_none)]
    pub attack_type: Option<SpellAttackType>,
    // Missing in 253 of 319.
    #[field(skip_none)]
    pub damage: Option<SpellDamage>,
    // Missing in 227 of 319.
    #[field(skip_none)]
    pub dc: Option<SpellDc>,
    // Missing in 231 of 319.
    #[field(skip_none)]
    pub area_of_effect: Option<AreaOfEffect>,
    // Missing in 309 of 319.
    // A map: its 9 keys are numbers. Entries: at most 9; half have up to 7, 99 of 100 up to 9.
    #[embed(max = 20, key_len = 10)]
    #[field(skip_none)]
    pub heal_at_slot_level: Option<BTreeMap<String, String>>,
    pub school: SpellSchool,
    // Items: at most 7; half have up to 2, 99 of 100 up to 6.
    #[embed(max = 10)]
    pub classes: Vec<ClassEntry>,
    // Items: at most 3; half have up to 1, 99 of 100 up to 2.
    #[embed(max = 10)]
    pub subclasses: Vec<SubclassEntry>,
    pub url: String,
}

/// `range` of `spells`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpellRange {
    #[embed(name = "1 mile")]
    N1Mile,
    #[embed(name = "10 feet")]
    N10Feet,
    #[embed(name = "100 feet")]
    N100Feet,
    #[embed(name = "120 feet")]
    N120Feet,
    #[embed(name = "150 feet")]
    N150Feet,
    #[embed(name = "30 feet")]
    N30Feet,
    #[embed(name = "300 feet")]
    N300Feet,
    #[embed(name = "5 feet")]
    N5Feet,
    #[embed(name = "500 feet")]
    N500Feet,
    #[embed(name = "500 miles")]
    N500Miles,
    #[embed(name = "60 feet")]
    N60Feet,
    #[embed(name = "90 feet")]
    N90Feet,
    #[embed(name = "Self")]
    NSelf,
    Sight,
    Special,
    Touch,
    Unlimited,
}

/// `components[]` of `spells`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpellComponent {
    M,
    S,
    V,
}

/// `duration` of `spells`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpellDuration {
    #[embed(name = "1 hour")]
    N1Hour,
    #[embed(name = "1 minute")]
    N1Minute,
    #[embed(name = "1 round")]
    N1Round,
    #[embed(name = "10 days")]
    N10Days,
    #[embed(name = "10 minutes")]
    N10Minutes,
    #[embed(name = "24 hours")]
    N24Hours,
    #[embed(name = "30 days")]
    N30Days,
    #[embed(name = "7 days")]
    N7Days,
    #[embed(name = "8 hours")]
    N8Hours,
    Instantaneous,
    Special,
    #[embed(name = "Until dispelled")]
    UntilDispelled,
    #[embed(name = "Up to 1 hour")]
    UpTo1Hour,
    #[embed(name = "Up to 1 minute")]
    UpTo1Minute,
    #[embed(name = "Up to 1 round")]
    UpTo1Round,
    #[embed(name = "Up to 10 minutes")]
    UpTo10Minutes,
    #[embed(name = "Up to 2 hours")]
    UpTo2Hours,
    #[embed(name = "Up to 24 hours")]
    UpTo24Hours,
    #[embed(name = "Up to 8 hours")]
    UpTo8Hours,
}

/// `casting_time` of `spells`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpellCastingTime {
    #[embed(name = "1 action")]
    N1Action,
    #[embed(name = "1 bonus action")]
    N1BonusAction,
    #[embed(name = "1 hour")]
    N1Hour,
    #[embed(name = "1 minute")]
    N1Minute,
    #[embed(name = "1 reaction")]
    N1Reaction,
    #[embed(name = "10 minutes")]
    N10Minutes,
    #[embed(name = "12 hours")]
    N12Hours,
    #[embed(name = "24 hours")]
    N24Hours,
    #[embed(name = "8 hours")]
    N8Hours,
}

/// `attack_type` of `spells`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpellAttackType {
    #[embed(name = "melee")]
    Melee,
    #[embed(name = "ranged")]
    Ranged,
}

/// `damage` of `spells`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SpellDamage {
    // Missing in 2 of 66.
    #[field(skip_none)]
    pub damage_type: Option<DamageTypeEntry>,
    // Missing in 10 of 66.
    // A map: its 9 keys are numbers. Entries: at most 9; half have up to 1, 99 of 100 up to 9.
    #[embed(max = 20, key_len = 10)]
    #[field(skip_none)]
    pub damage_at_slot_level: Option<BTreeMap<String, String>>,
    // Missing in 56 of 66.
    // A map: its 4 keys are numbers. Entries: always 4.
    #[embed(max = 10, key_len = 10)]
    #[field(skip_none)]
    pub damage_at_character_level: Option<BTreeMap<String, String>>,
}

/// `dc.dc_success` of `spells`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpellDcSuccess {
    #[embed(name = "half")]
    Half,
    #[embed(name = "none")]
    None,
    #[embed(name = "other")]
    Other,
}

/// `dc` of `spells`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SpellDc {
    pub dc_type: AbilityScoreEntry,
    pub dc_success: SpellDcSuccess,
}

/// `area_of_effect.type` of `spells`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    #[embed(name = "cone")]
    Cone,
    #[embed(name = "cube")]
    Cube,
    #[embed(name = "cylinder")]
    Cylinder,
    #[embed(name = "line")]
    Line,
    #[embed(name = "sphere")]
    Sphere,
}

/// `area_of_effect` of `spells`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct AreaOfEffect {
    pub size: i32,
    #[field(name = "type")]
    pub type_: Type,
}

/// `school` of `spells`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SpellSchool {
    // Its values: "evocation" (60), "transmutation" (59), "conjuration" (52), "abjuration" (39),
    // "divination" (29), "enchantment" (29), "illusion" (27), "necromancy" (24).
    // Refers to `magic_schools.index`: 319 of 319 were found. 8 of 8 distinct values were found, and
    // the name says it, and so were the fields beside it.
    #[reference(by = index, index = false)]
    pub index: Ref<MagicSchool, String>,
    // Its values: "Evocation" (60), "Transmutation" (59), "Conjuration" (52), "Abjuration" (39),
    // "Divination" (29), "Enchantment" (29), "Illusion" (27), "Necromancy" (24).
    // A copy: 319 equal `magic_schools.name`. 319 of 319 are equal; 8 distinct values, the commonest
    // has 19 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // Its values: "/api/2014/magic-schools/evocation" (60), "/api/2014/magic-schools/transmutation"
    // (59), "/api/2014/magic-schools/conjuration" (52), "/api/2014/magic-schools/abjuration" (39),
    // "/api/2014/magic-schools/divination" (29), "/api/2014/magic-schools/enchantment" (29),
    // "/api/2014/magic-schools/illusion" (27), "/api/2014/magic-schools/necromancy" (24).
    // A copy: 319 equal `magic_schools.url`. 319 of 319 are equal; 8 distinct values, the commonest has
    // 19 %.
    #[denormalize(from = index.url)]
    pub url: String,
}
