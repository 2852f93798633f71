//! The collection `proficiencies`.

use super::{Background, BackgroundEquipmentCategory, ClassEntry};
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
    pub classes: Vec<ClassEntry>,
    pub reference: BackgroundEquipmentCategory,
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

/// `backgrounds[]` of `proficiencies`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ProficiencyBackground {
    // Its values: "soldier" (6), "acolyte" (3), "criminal" (3), "sage" (2).
    // Refers to `backgrounds._id`: 14 of 14 were found. 4 of 4 distinct values were found, and the name
    // says it, and so were the fields beside it.
    #[reference(index = false)]
    pub index: Ref<Background>,
    // Its values: "Soldier" (6), "Acolyte" (3), "Criminal" (3), "Sage" (2).
    // A copy: 14 equal `backgrounds.name`. 14 of 14 are equal; 4 distinct values, the commonest has 43
    // %.
    #[denormalize(from = index.name)]
    pub name: String,
    // Its values: "/api/2024/backgrounds/soldier" (6), "/api/2024/backgrounds/acolyte" (3),
    // "/api/2024/backgrounds/criminal" (3), "/api/2024/backgrounds/sage" (2).
    // A copy: 14 equal `backgrounds.url`. 14 of 14 are equal; 4 distinct values, the commonest has 43
    // %.
    #[denormalize(from = index.url)]
    pub url: String,
}
