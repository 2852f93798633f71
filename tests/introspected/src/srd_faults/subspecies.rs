//! The collection `subspecies`.

use super::{DamageTypeEntry, Species, Trait};
use odm::prelude::*;

/// A document of `subspecies`: 24 were counted. Half of them have up to 639 bytes, the largest has
/// 793.
// 5 kinds of documents, told by `species.index`: dragonborn (10): always `damage_type`; elf (3): no
// fields of its own; gnome (2): no fields of its own; goliath (6): no fields of its own; tiefling
// (3): no fields of its own. An enum with `tag` would have a variant for each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "subspecies")]
pub struct Subspecies {
    pub id: String,
    pub name: String,
    pub url: String,
    pub species: SpeciesEntry,
    // Items: at most 4; half have up to 2, 99 of 100 up to 4.
    #[embed(max = 10)]
    pub traits: Vec<SubspeciesTrait>,
    // Missing in 14 of 24.
    #[field(skip_none)]
    pub damage_type: Option<DamageTypeEntry>,
}

/// `species` of `subspecies`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SpeciesEntry {
    // Its values: "dragonborn" (10), "goliath" (6), "elf" (3), "tiefling" (3), "gnome" (2).
    // Refers to `species._id`: 24 of 24 were found. 5 of 5 distinct values were found, and the name
    // says it, and so were the fields beside it.
    #[reference(index = false)]
    pub index: Ref<Species>,
    // Its values: "Dragonborn" (10), "Goliath" (6), "Elf" (3), "Tiefling" (3), "Gnome" (2).
    // A copy: 24 equal `species.name`. 24 of 24 are equal; 5 distinct values, the commonest has 42 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // Its values: "/api/2024/species/dragonborn" (10), "/api/2024/species/goliath" (6),
    // "/api/2024/species/elf" (3), "/api/2024/species/tiefling" (3), "/api/2024/species/gnome" (2).
    // A copy: 24 equal `species.url`. 24 of 24 are equal; 5 distinct values, the commonest has 42 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `traits[]` of `subspecies`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SubspeciesTrait {
    // Refers to `traits._id`: 52 of 52 were found. 41 of 41 distinct values were found, and the name
    // says it, and so were the fields beside it.
    // The other side of `traits.subspecies[].index`: 49 pairs agree, 3 are on this side alone and 0 on
    // the other. The sides of a two-way reference are fields of the documents themselves. `inverse = …`
    // would keep both sides equal.
    #[reference(index = false)]
    pub index: Ref<Trait>,
    // A copy: 52 equal `traits.name`. 52 of 52 are equal; 39 distinct values, the commonest has 8 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 52 equal `traits.url`. 52 of 52 are equal; 41 distinct values, the commonest has 6 %.
    #[denormalize(from = index.url)]
    pub url: String,
    pub level: i32,
}
