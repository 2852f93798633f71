//! The collection `backgrounds`.

use super::Alignment;
use odm::prelude::*;

/// A document of `backgrounds`: 1 were counted. Half of them have up to 3835 bytes, the largest has
/// 3835.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "backgrounds")]
#[document(index(fields(index), unique))]
pub struct Background {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    // Items: always 2.
    #[embed(max = 10)]
    pub starting_proficiencies: Vec<StartingProficiency>,
    pub language_options: BackgroundLanguageOption,
    // Items: always 2.
    #[embed(max = 10)]
    pub starting_equipment: Vec<BackgroundStartingEquipment>,
    // Items: always 1.
    #[embed(max = 10)]
    pub starting_equipment_options: Vec<StartingEquipmentOption>,
    pub starting_gold: StartingGold,
    pub feature: BackgroundFeature,
    pub ideals: BackgroundIdeal,
    pub url: String,
}

/// `starting_proficiencies[]` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct StartingProficiency {
    // Perhaps refers to `proficiencies.index`: 2 of 2 were found. The data alone do not prove it. 2 of
    // 2 distinct values were found, and the name says it, and so were the fields beside it.
    pub index: String,
    // Perhaps a copy: 2 equal `proficiencies.name`. `starting_proficiencies[].index` is not declared as
    // a reference. 2 of 2 are equal; 2 distinct values, the commonest has 50 %.
    pub name: String,
    // Perhaps a copy: 2 equal `proficiencies.url`. `starting_proficiencies[].index` is not declared as
    // a reference. 2 of 2 are equal; 2 distinct values, the commonest has 50 %.
    pub url: String,
}

/// `language_options.from` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundFrom {
    pub option_set_type: String,
    pub resource_list_url: String,
}

/// `language_options` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundLanguageOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: BackgroundFrom,
}

/// `starting_equipment[]` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundStartingEquipment {
    pub equipment: StartingProficiency,
    pub quantity: i32,
}

/// `starting_equipment_options[].from` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundStartingEquipmentOptionFrom {
    pub option_set_type: String,
    pub equipment_category: StartingProficiency,
}

/// `starting_equipment_options[]` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct StartingEquipmentOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: BackgroundStartingEquipmentOptionFrom,
}

/// `starting_gold` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct StartingGold {
    pub quantity: i32,
    pub unit: String,
}

/// `feature` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundFeature {
    pub name: String,
}

/// `ideals.from.options[].option_type` of `backgrounds`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackgroundOptionType {
    #[embed(name = "ideal")]
    Ideal,
}

/// `ideals.from.options[].alignments[].name` of `backgrounds`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackgroundName {
    #[embed(name = "Chaotic Evil")]
    ChaoticEvil,
    #[embed(name = "Chaotic Good")]
    ChaoticGood,
    #[embed(name = "Chaotic Neutral")]
    ChaoticNeutral,
    #[embed(name = "Lawful Evil")]
    LawfulEvil,
    #[embed(name = "Lawful Good")]
    LawfulGood,
    #[embed(name = "Lawful Neutral")]
    LawfulNeutral,
    Neutral,
    #[embed(name = "Neutral Evil")]
    NeutralEvil,
    #[embed(name = "Neutral Good")]
    NeutralGood,
}

/// `ideals.from.options[].alignments[]` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundAlignment {
    // Its values: "lawful-good" (5), "lawful-evil" (4), "lawful-neutral" (4), "chaotic-good" (3),
    // "chaotic-evil" (2), "chaotic-neutral" (2), "neutral-good" (2), "neutral" (1), "neutral-evil" (1).
    // Refers to `alignments.index`: 24 of 24 were found. 9 of 9 distinct values were found, and the
    // name says it, and so were the fields beside it.
    #[reference(by = index, index = false)]
    pub index: Ref<Alignment, String>,
    // Perhaps a copy: 24 equal `alignments.name`. In an array inside an array no update would reach it.
    // 24 of 24 are equal; 9 distinct values, the commonest has 21 %.
    pub name: BackgroundName,
    // Its values: "/api/2014/alignments/lawful-good" (5), "/api/2014/alignments/lawful-evil" (4),
    // "/api/2014/alignments/lawful-neutral" (4), "/api/2014/alignments/chaotic-good" (3),
    // "/api/2014/alignments/chaotic-evil" (2), "/api/2014/alignments/chaotic-neutral" (2),
    // "/api/2014/alignments/neutral-good" (2), "/api/2014/alignments/neutral" (1),
    // "/api/2014/alignments/neutral-evil" (1).
    // Perhaps a copy: 24 equal `alignments.url`. In an array inside an array no update would reach it.
    // 24 of 24 are equal; 9 distinct values, the commonest has 21 %.
    pub url: String,
}

/// `ideals.from.options[]` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundOption {
    pub option_type: BackgroundOptionType,
    // Items: at most 9; half have up to 3, 99 of 100 up to 9.
    #[embed(max = 20)]
    pub alignments: Vec<BackgroundAlignment>,
}

/// `ideals.from` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundIdealFrom {
    pub option_set_type: String,
    // Items: always 6.
    #[embed(max = 10)]
    pub options: Vec<BackgroundOption>,
}

/// `ideals` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundIdeal {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: BackgroundIdealFrom,
}
