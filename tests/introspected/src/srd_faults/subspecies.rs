//! The collection `subspecies`.

use super::{BackgroundFeat, Trait};
use odm::prelude::*;

/// A document of `subspecies`: 24 were counted. Half of them have up to 639 bytes, the largest has
/// 793.
// 5 kinds of documents, told by `species.index`: dragonborn (10): always `damage_type`; elf (3): no
// fields of its own; gnome (2): no fields of its own; goliath (6): no fields of its own; tiefling
// (3): no fields of its own. An enum with `tag` would have a variant for each.
// 5 kinds of documents, told by `species.name`: Dragonborn (10): always `damage_type`; Elf (3): no
// fields of its own; Gnome (2): no fields of its own; Goliath (6): no fields of its own; Tiefling
// (3): no fields of its own. An enum with `tag` would have a variant for each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "subspecies")]
pub struct Subspecies {
    pub id: String,
    pub name: String,
    pub url: String,
    pub species: SubspeciesSpecies,
    // Items: at most 4; half have up to 2, 99 of 100 up to 4.
    #[embed(max = 10)]
    pub traits: Vec<SubspeciesTrait>,
    // Missing in 14 of 24.
    #[field(skip_none)]
    pub damage_type: Option<BackgroundFeat>,
}

/// `species.index` of `subspecies`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubspeciesIndex {
    #[embed(name = "dragonborn")]
    Dragonborn,
    #[embed(name = "elf")]
    Elf,
    #[embed(name = "gnome")]
    Gnome,
    #[embed(name = "goliath")]
    Goliath,
    #[embed(name = "tiefling")]
    Tiefling,
}

/// `species.name` of `subspecies`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubspeciesName {
    Dragonborn,
    Elf,
    Gnome,
    Goliath,
    Tiefling,
}

/// `species.url` of `subspecies`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubspeciesUrl {
    #[embed(name = "/api/2024/species/dragonborn")]
    Api2024SpeciesDragonborn,
    #[embed(name = "/api/2024/species/elf")]
    Api2024SpeciesElf,
    #[embed(name = "/api/2024/species/gnome")]
    Api2024SpeciesGnome,
    #[embed(name = "/api/2024/species/goliath")]
    Api2024SpeciesGoliath,
    #[embed(name = "/api/2024/species/tiefling")]
    Api2024SpeciesTiefling,
}

/// `species` of `subspecies`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SubspeciesSpecies {
    // Perhaps refers to `species._id`: 0 of 0 were found. The data alone do not prove it. 5 of 5
    // distinct values were found, and the name says it.
    pub index: SubspeciesIndex,
    pub name: SubspeciesName,
    pub url: SubspeciesUrl,
}

/// `traits[]` of `subspecies`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SubspeciesTrait {
    // Refers to `traits._id`: 0 of 0 were found. 41 of 41 distinct values were found, and the name says
    // it.
    #[reference(index = false)]
    pub index: Ref<Trait>,
    pub name: String,
    pub url: String,
    pub level: i32,
}
