//! The collection `proficiencies`.

use super::{ClassEntry, StartingProficiency};
use odm::prelude::*;

/// A document of `proficiencies`: 117 were counted. Half of them have up to 287 bytes, the largest
/// has 983.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "proficiencies")]
#[document(index(fields(index), unique))]
pub struct Proficiency {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    #[field(name = "type")]
    pub type_: ProficiencyType,
    // Items: at most 9; half have up to 0, 99 of 100 up to 7.
    #[embed(max = 20)]
    pub classes: Vec<ClassEntry>,
    // Items: at most 1; half have up to 0, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub races: Vec<StartingProficiency>,
    pub reference: StartingProficiency,
    pub url: String,
}

/// `type` of `proficiencies`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProficiencyType {
    Armor,
    #[embed(name = "Artisan's Tools")]
    ArtisanSTools,
    #[embed(name = "Gaming Sets")]
    GamingSets,
    #[embed(name = "Musical Instruments")]
    MusicalInstruments,
    Other,
    #[embed(name = "Saving Throws")]
    SavingThrows,
    Skills,
    Vehicles,
    Weapons,
}
