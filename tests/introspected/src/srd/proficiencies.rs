//! The collection `proficiencies`.

use super::{BackgroundStartingProficiency, FeatureClass};
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
    pub classes: Vec<FeatureClass>,
    // Items: at most 1; half have up to 0, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub races: Vec<ProficiencyRace>,
    pub reference: BackgroundStartingProficiency,
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

/// `races[].index` of `proficiencies`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProficiencyIndex {
    #[embed(name = "dwarf")]
    Dwarf,
    #[embed(name = "elf")]
    Elf,
    #[embed(name = "high-elf")]
    HighElf,
}

/// `races[].name` of `proficiencies`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProficiencyName {
    Dwarf,
    Elf,
    #[embed(name = "High Elf")]
    HighElf,
}

/// `races[].url` of `proficiencies`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProficiencyUrl {
    #[embed(name = "/api/2014/races/dwarf")]
    Api2014RacesDwarf,
    #[embed(name = "/api/2014/races/elf")]
    Api2014RacesElf,
    #[embed(name = "/api/2014/subraces/high-elf")]
    Api2014SubracesHighElf,
}

/// `races[]` of `proficiencies`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ProficiencyRace {
    // Perhaps refers to `races.index` where `races[].url` begins with /api/2014/races/: 5 of 5 were
    // found. The data alone do not prove it. 2 of 3 distinct values were found, and the name says it,
    // and so were the fields beside it; `races[].url` says which ones; so few may be found by chance.
    // Perhaps refers to `subraces.index` where `races[].url` begins with /api/2014/subraces/: 4 of 4
    // were found. The data alone do not prove it. 1 of 3 distinct values were found, and so were the
    // fields beside it; `races[].url` says which ones; so few may be found by chance.
    pub index: ProficiencyIndex,
    // Perhaps a copy: 5 equal `races.name`. `races[].index` is not declared as a reference. 5 of 5 are
    // equal; 2 distinct values, the commonest has 80 %.
    // Perhaps a copy: 4 equal `subraces.name`. `races[].index` is not declared as a reference. 4 of 4
    // are equal; 1 distinct values, the commonest has 100 %.
    pub name: ProficiencyName,
    // Perhaps a copy: 5 equal `races.url`. `races[].index` is not declared as a reference. 5 of 5 are
    // equal; 2 distinct values, the commonest has 80 %.
    // Perhaps a copy: 4 equal `subraces.url`. `races[].index` is not declared as a reference. 4 of 4
    // are equal; 1 distinct values, the commonest has 100 %.
    pub url: ProficiencyUrl,
}
