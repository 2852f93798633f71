//! The collection `traits`.

use super::{
    AreaOfEffect,
    DamageTypeEntry,
    LanguageOption,
    OptionType,
    ProficiencyEntry,
    RaceEntry,
    SpellEntry,
    StartingProficiency,
    SubraceEntry,
    TraitEntry,
};
use odm::prelude::*;
use std::collections::BTreeMap;

/// A document of `traits`: 38 were counted. Half of them have up to 351 bytes, the largest has
/// 3090.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "traits")]
#[document(index(fields(index), unique))]
pub struct Trait {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    // Items: at most 6; half have up to 1, 99 of 100 up to 6.
    #[embed(max = 10)]
    pub races: Vec<RaceEntry>,
    // Items: at most 1; half have up to 0, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub subraces: Vec<SubraceEntry>,
    // Items: at most 4; half have up to 0, 99 of 100 up to 4.
    #[embed(max = 10)]
    pub proficiencies: Vec<ProficiencyEntry>,
    // Missing in 28 of 38.
    #[field(skip_none)]
    pub parent: Option<StartingProficiency>,
    // Missing in 26 of 38.
    #[field(skip_none)]
    pub trait_specific: Option<TraitTraitSpecific>,
    // Missing in 37 of 38.
    #[field(skip_none)]
    pub language_options: Option<LanguageOption>,
    // Missing in 36 of 38.
    #[field(skip_none)]
    pub proficiency_choices: Option<TraitProficiencyChoice>,
    pub url: String,
}

/// `trait_specific.subtrait_options.from.options[]` of `traits`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitFromOption {
    pub option_type: OptionType,
    pub item: TraitEntry,
}

/// `trait_specific.subtrait_options.from` of `traits`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitSubtraitOptionFrom {
    pub option_set_type: String,
    // Items: always 10.
    #[embed(max = 20)]
    pub options: Vec<TraitFromOption>,
}

/// `trait_specific.subtrait_options` of `traits`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitSubtraitOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: TraitSubtraitOptionFrom,
}

/// `trait_specific.breath_weapon.name` of `traits`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraitName {
    #[embed(name = "Breath Weapon")]
    BreathWeapon,
}

/// `trait_specific.breath_weapon.usage.type` of `traits`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraitType {
    #[embed(name = "per rest")]
    PerRest,
}

/// `trait_specific.breath_weapon.usage` of `traits`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitUsage {
    #[field(name = "type")]
    pub type_: TraitType,
    pub times: i32,
}

/// `trait_specific.breath_weapon.dc.success_type` of `traits`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraitSuccessType {
    #[embed(name = "half")]
    Half,
}

/// `trait_specific.breath_weapon.dc` of `traits`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitDc {
    pub dc_type: StartingProficiency,
    pub success_type: TraitSuccessType,
}

/// `trait_specific.breath_weapon.damage[].damage_at_character_level{}` of `traits`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraitDamageAtCharacterLevel {
    #[embed(name = "2d6")]
    N2d6,
    #[embed(name = "3d6")]
    N3d6,
    #[embed(name = "4d6")]
    N4d6,
    #[embed(name = "5d6")]
    N5d6,
}

/// `trait_specific.breath_weapon.damage[]` of `traits`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitDamage {
    pub damage_type: DamageTypeEntry,
    // A map: its 4 keys are numbers. Entries: always 4.
    #[embed(max = 10, key_len = 10)]
    pub damage_at_character_level: BTreeMap<String, TraitDamageAtCharacterLevel>,
}

/// `trait_specific.breath_weapon` of `traits`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitBreathWeapon {
    pub name: TraitName,
    pub area_of_effect: AreaOfEffect,
    pub usage: TraitUsage,
    pub dc: TraitDc,
    // Items: always 1.
    #[embed(max = 10)]
    pub damage: Vec<TraitDamage>,
}

/// `trait_specific.spell_options.from.options[]` of `traits`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitOption2 {
    pub option_type: OptionType,
    pub item: SpellEntry,
}

/// `trait_specific.spell_options.from` of `traits`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitSpellOptionFrom {
    pub option_set_type: String,
    // Items: always 14.
    #[embed(max = 50)]
    pub options: Vec<TraitOption2>,
}

/// `trait_specific.spell_options` of `traits`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitSpellOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: TraitSpellOptionFrom,
}

/// `trait_specific` of `traits`.
// 3 kinds of documents, told by which of `damage_type`, `spell_options`, `subtrait_options` is
// there: subtrait_options (1): always `subtrait_options`; damage_type (10): always `damage_type`,
// `breath_weapon`; spell_options (1): always `spell_options`. An enum with `tag` would have a
// variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitTraitSpecific {
    // Missing in 11 of 12.
    #[field(skip_none)]
    pub subtrait_options: Option<TraitSubtraitOption>,
    // Missing in 2 of 12.
    #[field(skip_none)]
    pub damage_type: Option<DamageTypeEntry>,
    // Missing in 2 of 12.
    #[field(skip_none)]
    pub breath_weapon: Option<TraitBreathWeapon>,
    // Missing in 11 of 12.
    #[field(skip_none)]
    pub spell_options: Option<TraitSpellOption>,
}

/// `proficiency_choices.from.options[]` of `traits`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitOption {
    pub option_type: OptionType,
    pub item: ProficiencyEntry,
}

/// `proficiency_choices.from` of `traits`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitFrom {
    pub option_set_type: String,
    // Items: at most 18; half have up to 3, 99 of 100 up to 18.
    #[embed(max = 50)]
    pub options: Vec<TraitOption>,
}

/// `proficiency_choices` of `traits`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitProficiencyChoice {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: TraitFrom,
}
