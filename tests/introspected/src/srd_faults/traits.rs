//! The collection `traits`.

use super::{
    BackgroundEquipmentCategory,
    ClassOptionOptionType,
    SkillEntry,
    SpeciesEntry,
    SubspeciesEntry,
};
use odm::prelude::*;

/// A document of `traits`: 67 were counted. Half of them have up to 415 bytes, the largest has
/// 2536.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "traits")]
pub struct Trait {
    pub id: String,
    pub name: String,
    pub url: String,
    // Items: at most 4; half have up to 1, 99 of 100 up to 4.
    #[embed(max = 10)]
    pub species: Vec<SpeciesEntry>,
    // Missing in 47 of 67.
    // Items: always 1.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub spells: Option<Vec<TraitSpell>>,
    // Missing in 28 of 67.
    // Items: at most 3; half have up to 1, 99 of 100 up to 3.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub subspecies: Option<Vec<SubspeciesEntry>>,
    // Missing in 65 of 67.
    #[field(skip_none)]
    pub proficiency_choices: Option<TraitProficiencyChoice>,
    // Missing in 66 of 67.
    #[field(skip_none)]
    pub speed: Option<i32>,
}

/// `spells[]` of `traits`.
// 2 kinds of documents, told by which of `recovery` is there: none (19): no fields of its own;
// recovery (1): always `uses`, `recovery`. An enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitSpell {
    pub spell: BackgroundEquipmentCategory,
    // Missing in 19 of 20.
    #[field(skip_none)]
    pub uses: Option<String>,
    // Missing in 19 of 20.
    #[field(skip_none)]
    pub recovery: Option<String>,
}

/// `proficiency_choices.from.options[]` of `traits`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitOption {
    pub option_type: ClassOptionOptionType,
    pub item: SkillEntry,
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
