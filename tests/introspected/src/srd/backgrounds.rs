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
    pub starting_proficiencies: Vec<BackgroundStartingProficiency>,
    pub language_options: BackgroundLanguageOption,
    // Items: always 2.
    #[embed(max = 10)]
    pub starting_equipment: Vec<BackgroundStartingEquipment>,
    // Items: always 1.
    #[embed(max = 10)]
    pub starting_equipment_options: Vec<BackgroundStartingEquipmentOption>,
    pub starting_gold: BackgroundStartingGold,
    pub feature: BackgroundFeature,
    pub ideals: BackgroundIdeal,
    pub url: String,
}

/// `starting_proficiencies[]` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundStartingProficiency {
    // Perhaps refers to `proficiencies.index`: 0 of 0 were found. The data alone do not prove it. 2 of
    // 2 distinct values were found, and the name says it.
    pub index: String,
    pub name: String,
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
    pub equipment: BackgroundStartingProficiency,
    pub quantity: i32,
}

/// `starting_equipment_options[].from` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundStartingEquipmentOptionFrom {
    pub option_set_type: String,
    pub equipment_category: BackgroundStartingProficiency,
}

/// `starting_equipment_options[]` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundStartingEquipmentOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: BackgroundStartingEquipmentOptionFrom,
}

/// `starting_gold` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundStartingGold {
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

/// `ideals.from.options[].alignments[]` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundAlignment {
    // Refers to `alignments.index`: 0 of 0 were found. 9 of 9 distinct values were found, and the name
    // says it.
    #[reference(by = index, index = false)]
    pub index: Ref<Alignment, String>,
    pub name: String,
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
