//! The collection `traits`.

use super::{BackgroundFeat, ClassOptionOptionType, SkillEntry, Species, SubspeciesEntry};
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
    pub species: Vec<TraitSpecies>,
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

/// `species[]` of `traits`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitSpecies {
    // Its values: "tiefling" (15), "elf" (14), "dragonborn" (13), "goliath" (9), "gnome" (7), "dwarf"
    // (4), "halfling" (4), "human" (3), "orc" (3).
    // Refers to `species._id`: 72 of 72 were found. 9 of 9 distinct values were found, and the name
    // says it, and so were the fields beside it.
    #[reference(index = false)]
    pub index: Ref<Species>,
    // Its values: "Tiefling" (15), "Elf" (14), "Dragonborn" (13), "Goliath" (9), "Gnome" (7), "Dwarf"
    // (4), "Halfling" (4), "Human" (3), "Orc" (3).
    // A copy: 72 equal `species.name`. 72 of 72 are equal; 9 distinct values, the commonest has 21 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // Its values: "/api/2024/species/tiefling" (15), "/api/2024/species/elf" (14),
    // "/api/2024/species/dragonborn" (13), "/api/2024/species/goliath" (9), "/api/2024/species/gnome"
    // (7), "/api/2024/species/dwarf" (4), "/api/2024/species/halfling" (4), "/api/2024/species/human"
    // (3), "/api/2024/species/orc" (3).
    // A copy: 72 equal `species.url`. 72 of 72 are equal; 9 distinct values, the commonest has 21 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `spells[]` of `traits`.
// 2 kinds of documents, told by which of `recovery` is there: none (19): no fields of its own;
// recovery (1): always `uses`, `recovery`. An enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitSpell {
    pub spell: BackgroundFeat,
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
