//! The collection `levels`.

use super::{ClassEntry, Feature, SubclassEntry};
use odm::prelude::*;

/// A document of `levels`: 287 were counted. Half of them have up to 575 bytes, the largest has
/// 898.
// 2 kinds of documents, told by which of `prof_bonus`, `subclass` is there: prof_bonus (240):
// always `prof_bonus`; subclass (47): always `subclass`. An enum with `tag` would have a variant
// for each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "levels")]
#[document(index(fields(class.index, level)))]
pub struct Level {
    pub id: String,
    pub name: String,
    pub level: i32,
    // Missing in 47 of 287.
    // Its types differ: 215 int, 25 string. `retype` in a migration makes them one.
    #[field(skip_none)]
    pub prof_bonus: Option<LevelProfBonusValue>,
    // Items: at most 4; half have up to 1, 99 of 100 up to 3.
    #[embed(max = 10)]
    pub features: Vec<LevelFeature>,
    pub class: ClassEntry,
    // Missing in 67 of 287.
    #[field(skip_none)]
    pub class_specific: Option<LevelClassSpecific>,
    // Missing in 127 of 287.
    #[field(skip_none)]
    pub spellcasting: Option<LevelSpellcasting>,
    // Missing in 240 of 287.
    #[field(skip_none)]
    pub subclass: Option<SubclassEntry>,
    pub url: String,
}

/// `prof_bonus` of `levels`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(untagged)]
pub enum LevelProfBonusValue {
    Integer(i32),
    Text(String),
}

/// `features[]` of `levels`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct LevelFeature {
    // Refers to `features._id`: 303 of 316 were found, 13 refer to nothing. 191 of 200 distinct values
    // were found, and the name says it, and so were the fields beside it.
    #[reference(index = false)]
    pub index: Ref<Feature>,
    // A copy: 266 equal `features.name`, 37 differ from it. 266 of 303 are equal; 188 distinct values,
    // the commonest has 15 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 303 equal `features.url`. 303 of 303 are equal; 222 distinct values, the commonest has 2
    // %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `class_specific.sneak_attack` of `levels`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct LevelSneakAttack {
    pub dice_count: i32,
    pub dice_value: i32,
}

/// `class_specific` of `levels`.
// 9 kinds of documents, told by which of `bardic_inspiration_die`, `channel_divinity_charges`,
// `eldritch_invocations`, `favored_enemies`, `focus_points`, `sneak_attack`, `sorcery_points`,
// `weapon_mastery`, `wild_shape_uses` is there: weapon_mastery (40): always `weapon_mastery`;
// bardic_inspiration_die (20): always `bardic_inspiration_die`; channel_divinity_charges (40):
// always `channel_divinity_charges`; wild_shape_uses (20): always `wild_shape_uses`; focus_points
// (20): always `focus_points`, `martial_arts_die`, `unarmored_movement_bonus`; favored_enemies
// (20): always `favored_enemies`; sneak_attack (20): always `sneak_attack`; sorcery_points (20):
// always `sorcery_points`; eldritch_invocations (20): always `eldritch_invocations`. An enum with
// `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct LevelClassSpecific {
    // Missing in 200 of 220.
    #[field(skip_none)]
    pub rage_count: Option<i32>,
    // Missing in 200 of 220.
    #[field(skip_none)]
    pub rage_damage_bonus: Option<i32>,
    // Missing in 200 of 220.
    #[field(skip_none)]
    pub bardic_inspiration_die: Option<i32>,
    // Missing in 180 of 220.
    #[field(skip_none)]
    pub channel_divinity_charges: Option<i32>,
    // Missing in 200 of 220.
    #[field(skip_none)]
    pub wild_shape_uses: Option<i32>,
    // Missing in 200 of 220.
    #[field(skip_none)]
    pub second_wind_uses: Option<i32>,
    // Missing in 180 of 220.
    #[field(skip_none)]
    pub weapon_mastery: Option<i32>,
    // Missing in 200 of 220.
    #[field(skip_none)]
    pub focus_points: Option<i32>,
    // Missing in 200 of 220.
    #[field(skip_none)]
    pub martial_arts_die: Option<i32>,
    // Missing in 200 of 220.
    #[field(skip_none)]
    pub unarmored_movement_bonus: Option<i32>,
    // Missing in 200 of 220.
    #[field(skip_none)]
    pub favored_enemies: Option<i32>,
    // Missing in 200 of 220.
    #[field(skip_none)]
    pub sneak_attack: Option<LevelSneakAttack>,
    // Missing in 200 of 220.
    #[field(skip_none)]
    pub sorcery_points: Option<i32>,
    // Missing in 200 of 220.
    #[field(skip_none)]
    pub eldritch_invocations: Option<i32>,
}

/// `spellcasting` of `levels`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct LevelSpellcasting {
    pub cantrips_known: i32,
    pub prepared_spells: i32,
    pub spell_slots_level_1: i32,
    pub spell_slots_level_2: i32,
    pub spell_slots_level_3: i32,
    pub spell_slots_level_4: i32,
    pub spell_slots_level_5: i32,
    pub spell_slots_level_6: i32,
    pub spell_slots_level_7: i32,
    pub spell_slots_level_8: i32,
    pub spell_slots_level_9: i32,
}
