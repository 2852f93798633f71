//! The collection `proficiencies`.

use super::{BackgroundFeat, FeatureClass};
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
    pub classes: Vec<FeatureClass>,
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
    // Perhaps refers to `backgrounds._id`: 14 of 14 were found. The data alone do not prove it. 4 of 4
    // distinct values were found, and the name says it, and so were the fields beside it.
    pub index: ProficiencyIndex,
    // Perhaps a copy: 14 equal `backgrounds.name`. `backgrounds[].index` is not declared as a
    // reference. 14 of 14 are equal; 4 distinct values, the commonest has 43 %.
    pub name: ProficiencyName,
    // Perhaps a copy: 14 equal `backgrounds.url`. `backgrounds[].index` is not declared as a reference.
    // 14 of 14 are equal; 4 distinct values, the commonest has 43 %.
    pub url: ProficiencyUrl,
}
