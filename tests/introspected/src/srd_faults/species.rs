//! The collection `species`.

use super::{Subspecies, Trait};
use odm::prelude::*;

/// A document of `species`: 9 were counted. Half of them have up to 767 bytes, the largest has
/// 1684.
// 2 kinds of documents, told by which of `size`, `size_options` is there: size (8): always `size`;
// size_options (1): always `subspecies`, `size_options`. An enum with `tag` would have a variant
// for each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "species")]
pub struct Species {
    pub id: String,
    pub name: String,
    pub url: String,
    #[field(name = "type")]
    pub type_: SpeciesType,
    // Missing in 1 of 9.
    #[field(skip_none)]
    pub size: Option<SpeciesSize>,
    // Missing in 8 of 9.
    #[field(skip_none)]
    pub size_options: Option<SpeciesSizeOption>,
    pub speed: i32,
    // Items: at most 5; half have up to 3, 99 of 100 up to 5.
    #[embed(max = 10)]
    pub traits: Vec<SpeciesTrait>,
    // Missing in 4 of 9.
    // Items: at most 10; half have up to 3, 99 of 100 up to 10.
    #[embed(max = 20)]
    #[field(skip_none)]
    pub subspecies: Option<Vec<SubspeciesEntry>>,
}

/// `type` of `species`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeciesType {
    Humanoid,
}

/// `size` of `species`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeciesSize {
    Medium,
    Small,
}

/// `size_options.from.options[]` of `species`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SpeciesOption {
    pub option_type: String,
    pub size: String,
}

/// `size_options.from` of `species`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SpeciesFrom {
    pub option_set_type: String,
    // Items: always 2.
    #[embed(max = 10)]
    pub options: Vec<SpeciesOption>,
}

/// `size_options` of `species`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SpeciesSizeOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: SpeciesFrom,
}

/// `traits[]` of `species`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SpeciesTrait {
    // Refers to `traits._id`: 30 of 30 were found. 26 of 26 distinct values were found, and the name
    // says it, and so were the fields beside it.
    // The other side of `traits.species[].index`: 30 pairs agree, 0 are on this side alone and 42 on
    // the other. Most pairs are on one side alone. `inverse = …` would keep both sides equal.
    #[reference(index = false)]
    pub index: Ref<Trait>,
    // A copy: 30 equal `traits.name`. 30 of 30 are equal; 26 distinct values, the commonest has 13 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 30 equal `traits.url`. 30 of 30 are equal; 26 distinct values, the commonest has 13 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `subspecies[]` of `species`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SubspeciesEntry {
    // Refers to `subspecies._id`: 24 of 24 were found. 24 of 24 distinct values were found, and the
    // name says it, and so were the fields beside it.
    // The other side of `subspecies.species.index`: 24 pairs agree. The sides of a two-way reference
    // are fields of the documents themselves. `inverse = …` would keep both sides equal.
    #[reference(index = false)]
    pub index: Ref<Subspecies>,
    // A copy: 24 equal `subspecies.name`. 24 of 24 are equal; 24 distinct values, the commonest has 4
    // %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 24 equal `subspecies.url`. 24 of 24 are equal; 24 distinct values, the commonest has 4 %.
    #[denormalize(from = index.url)]
    pub url: String,
}
