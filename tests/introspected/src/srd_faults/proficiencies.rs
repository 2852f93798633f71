//! The collection `proficiencies`.

use super::{BackgroundFeat, ClassEntry};
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
    pub backgrounds: Vec<BackgroundFeat>,
    // Items: at most 12; half have up to 0, 99 of 100 up to 12.
    #[embed(max = 20)]
    pub classes: Vec<ClassEntry>,
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
