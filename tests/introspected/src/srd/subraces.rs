//! The collection `subraces`.

use super::{AbilityBonuse, StartingProficiency, TraitEntry};
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
    pub race: StartingProficiency,
    // Items: always 1.
    #[embed(max = 10)]
    pub ability_bonuses: Vec<AbilityBonuse>,
    // Items: at most 3; half have up to 1, 99 of 100 up to 3.
    #[embed(max = 10)]
    pub racial_traits: Vec<TraitEntry>,
    pub url: String,
}
