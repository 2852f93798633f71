//! The collection `subraces`.

use super::{AbilityBonuse, Race, TraitEntry};
use odm::prelude::*;

/// A document of `subraces`: 4 were counted. Half of them have up to 479 bytes, the largest has
/// 636.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "subraces")]
#[document(index(fields(index), unique))]
pub struct Subrace {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    pub race: RaceEntry,
    // Items: always 1.
    #[embed(max = 10)]
    pub ability_bonuses: Vec<AbilityBonuse>,
    // Items: at most 3; half have up to 1, 99 of 100 up to 3.
    #[embed(max = 10)]
    pub racial_traits: Vec<TraitEntry>,
    pub url: String,
}

/// `race` of `subraces`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct RaceEntry {
    // Refers to `races.index`: 4 of 4 were found. 4 of 4 distinct values were found, and the name says
    // it, and so were the fields beside it.
    #[reference(by = index, index = false)]
    pub index: Ref<Race, String>,
    // A copy: 4 equal `races.name`. 4 of 4 are equal; 4 distinct values, the commonest has 25 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 4 equal `races.url`. 4 of 4 are equal; 4 distinct values, the commonest has 25 %.
    #[denormalize(from = index.url)]
    pub url: String,
}
