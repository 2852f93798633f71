//! The collection `levels`.

use super::{ClassEntry, FeatureEntry, SubclassEntry};
use odm::prelude::*;

/// A document of `levels`: 290 were counted. Half of them have up to 575 bytes, the largest has
/// 1332.
// 2 kinds of documents, told by which of `ability_score_bonuses`, `subclass` is there:
// ability_score_bonuses (240): always `ability_score_bonuses`, `prof_bonus`, `class_specific`;
// subclass (50): always `subclass`. An enum with `tag` would have a variant for each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "levels")]
#[document(index(fields(index), unique))]
pub struct Level {
    pub id: ObjectId,
    pub index: String,
    pub level: i32,
    // Missing in 50 of 290.
    #[field(skip_none)]
    pub ability_score_bonuses: Option<i32>,
    // Missing in 50 of 290.
    #[field(skip_none)]
    pub prof_bonus: Option<i32>,
    // Items: at most 5; half have up to 1, 99 of 100 up to 3.
    #[embed(max = 10)]
    pub features: Vec<FeatureEntry>,
    pub class: ClassEntry,
    // Missing in 50 of 290.
    #[field(skip_none)]
    pub class_specific: Option<LevelClassSpecific>,
    // Missing in 130 of 290.
    #[field(skip_none)]
    pub spellcasting: Option<LevelSpellcasting>,
    // Missing in 240 of 290.
    #[field(skip_none)]
    pub subclass: Option<SubclassEntry>,
    // Missing in 283 of 290.
    #[field(skip_none)]
    pub subclass_specific: Option<LevelSubclassSpecific>,
    pub url: String,
}

/// `class_specific.martial_arts` of `levels`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct LevelMartialArt {
    pub dice_count: i32,
    pub dice_value: i32,
}

/// `class_specific.creating_spell_slots[]` of `levels`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct LevelCreatingSpellSlot {
    pub sorcery_point_cost: i32,
    pub spell_slot_level: i32,
}

/// `class_specific` of `levels`.
// 12 kinds of documents, told by which of `action_surges`, `arcane_recovery_levels`, `aura_range`,
// `bardic_inspiration_die`, `brutal_critical_dice`, `channel_divinity_charges`,
// `creating_spell_slots`, `favored_enemies`, `invocations_known`, `ki_points`, `sneak_attack`,
// `wild_shape_fly` is there: brutal_critical_dice (20): always `brutal_critical_dice`,
// `rage_count`, `rage_damage_bonus`; bardic_inspiration_die (20): always `bardic_inspiration_die`,
// `magical_secrets_max_5`, `magical_secrets_max_7`, `magical_secrets_max_9`, `song_of_rest_die`;
// channel_divinity_charges (20): always `channel_divinity_charges`, `destroy_undead_cr`;
// wild_shape_fly (20): always `wild_shape_fly`, `wild_shape_max_cr`, `wild_shape_swim`;
// action_surges (20): always `action_surges`, `extra_attacks`, `indomitable_uses`; ki_points (20):
// always `ki_points`, `martial_arts`, `unarmored_movement`; aura_range (20): always `aura_range`;
// favored_enemies (20): always `favored_enemies`, `favored_terrain`; sneak_attack (20): always
// `sneak_attack`; creating_spell_slots (20): always `creating_spell_slots`, `metamagic_known`,
// `sorcery_points`; invocations_known (20): always `invocations_known`, `mystic_arcanum_level_6`,
// `mystic_arcanum_level_7`, `mystic_arcanum_level_8`, `mystic_arcanum_level_9`;
// arcane_recovery_levels (20): always `arcane_recovery_levels`. An enum with `tag` would have a
// variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct LevelClassSpecific {
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub brutal_critical_dice: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub rage_count: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub rage_damage_bonus: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub bardic_inspiration_die: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub magical_secrets_max_5: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub magical_secrets_max_7: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub magical_secrets_max_9: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub song_of_rest_die: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub channel_divinity_charges: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub destroy_undead_cr: Option<f64>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub wild_shape_fly: Option<bool>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub wild_shape_max_cr: Option<f64>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub wild_shape_swim: Option<bool>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub action_surges: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub extra_attacks: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub indomitable_uses: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub ki_points: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub martial_arts: Option<LevelMartialArt>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub unarmored_movement: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub aura_range: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub favored_enemies: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub favored_terrain: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub sneak_attack: Option<LevelMartialArt>,
    // Missing in 220 of 240.
    // Items: at most 5; half have up to 5, 99 of 100 up to 5.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub creating_spell_slots: Option<Vec<LevelCreatingSpellSlot>>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub metamagic_known: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub sorcery_points: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub invocations_known: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub mystic_arcanum_level_6: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub mystic_arcanum_level_7: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub mystic_arcanum_level_8: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub mystic_arcanum_level_9: Option<i32>,
    // Missing in 220 of 240.
    #[field(skip_none)]
    pub arcane_recovery_levels: Option<i32>,
}

/// `spellcasting` of `levels`.
// 2 kinds of documents, told by which of `spell_slots_level_9` is there: none (40): no fields of
// its own; spell_slots_level_9 (120): always `cantrips_known`, `spell_slots_level_6`,
// `spell_slots_level_7`, `spell_slots_level_8`, `spell_slots_level_9`. An enum with `tag` would
// have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct LevelSpellcasting {
    // Missing in 40 of 160.
    #[field(skip_none)]
    pub cantrips_known: Option<i32>,
    pub spell_slots_level_1: i32,
    pub spell_slots_level_2: i32,
    pub spell_slots_level_3: i32,
    pub spell_slots_level_4: i32,
    pub spell_slots_level_5: i32,
    // Missing in 40 of 160.
    #[field(skip_none)]
    pub spell_slots_level_6: Option<i32>,
    // Missing in 40 of 160.
    #[field(skip_none)]
    pub spell_slots_level_7: Option<i32>,
    // Missing in 40 of 160.
    #[field(skip_none)]
    pub spell_slots_level_8: Option<i32>,
    // Missing in 40 of 160.
    #[field(skip_none)]
    pub spell_slots_level_9: Option<i32>,
    // Missing in 80 of 160.
    #[field(skip_none)]
    pub spells_known: Option<i32>,
}

/// `subclass_specific` of `levels`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct LevelSubclassSpecific {
    // Missing in 3 of 7.
    #[field(skip_none)]
    pub aura_range: Option<i32>,
    // Missing in 4 of 7.
    #[field(skip_none)]
    pub additional_magical_secrets_max_lvl: Option<i32>,
}
