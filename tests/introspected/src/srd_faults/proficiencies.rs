//! The collection `proficiencies`.

use super::{BackgroundFeat, Class, FeatureUrl};
use odm::prelude::*;

/// A document of `proficiencies`: 74 were counted. Half of them have up to 319 bytes, the largest
/// has 1206.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "proficiencies")]
pub struct Proficiency {
    pub id: String,
    pub name: String,
    #[field(name = "type")]
    pub type_: ProficiencyType,
    // Items: at most 1; half have up to 0, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub backgrounds: Vec<ProficiencyBackground>,
    // Items: at most 12; half have up to 0, 99 of 100 up to 12.
    #[embed(max = 20)]
    pub classes: Vec<ProficiencyClass>,
    pub reference: BackgroundFeat,
    pub url: String,
}

/// `type` of `proficiencies`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProficiencyType {
    Armor,
    #[embed(name = "Artisan's Tools")]
    ArtisanSTools,
    #[embed(name = "Musical Instruments")]
    MusicalInstruments,
    Other,
    #[embed(name = "Saving Throws")]
    SavingThrows,
    Skills,
    Tools,
    Weapons,
}

/// `backgrounds[].index` of `proficiencies`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProficiencyIndex {
    #[embed(name = "acolyte")]
    Acolyte,
    #[embed(name = "criminal")]
    Criminal,
    #[embed(name = "sage")]
    Sage,
    #[embed(name = "soldier")]
    Soldier,
}

/// `backgrounds[].name` of `proficiencies`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProficiencyName {
    Acolyte,
    Criminal,
    Sage,
    Soldier,
}

/// `backgrounds[].url` of `proficiencies`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProficiencyUrl {
    #[embed(name = "/api/2024/backgrounds/acolyte")]
    Api2024BackgroundsAcolyte,
    #[embed(name = "/api/2024/backgrounds/criminal")]
    Api2024BackgroundsCriminal,
    #[embed(name = "/api/2024/backgrounds/sage")]
    Api2024BackgroundsSage,
    #[embed(name = "/api/2024/backgrounds/soldier")]
    Api2024BackgroundsSoldier,
}

/// `backgrounds[]` of `proficiencies`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ProficiencyBackground {
    // Perhaps refers to `backgrounds._id`: 0 of 0 were found. The data alone do not prove it. 4 of 4
    // distinct values were found, and the name says it.
    pub index: ProficiencyIndex,
    pub name: ProficiencyName,
    pub url: ProficiencyUrl,
}

/// `classes[].name` of `proficiencies`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProficiencyClassName {
    Barbarian,
    Bard,
    Cleric,
    Druid,
    Fighter,
    Monk,
    Paladin,
    Ranger,
    Rogue,
    Sorcerer,
    Warlock,
    Wizard,
}

/// `classes[]` of `proficiencies`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ProficiencyClass {
    // Its values: "fighter" (9), "paladin" (9), "rogue" (8), "barbarian" (7), "ranger" (7), "cleric"
    // (6), "druid" (6), "monk" (6), "bard" (4), "warlock" (3), "sorcerer" (2), "wizard" (1).
    // Refers to `classes._id`: 0 of 0 were found. 12 of 12 distinct values were found, and the name
    // says it.
    #[reference(index = false)]
    pub index: Ref<Class>,
    pub name: ProficiencyClassName,
    pub url: FeatureUrl,
}
