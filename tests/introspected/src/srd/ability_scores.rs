//! The collection `ability_scores`.

use super::Skill;
use odm::prelude::*;

/// A document of `ability_scores`: 6 were counted. Half of them have up to 415 bytes, the largest
/// has 558.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "ability_scores")]
#[document(index(fields(index), unique))]
pub struct AbilityScore {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    pub full_name: String,
    // Items: at most 5; half have up to 3, 99 of 100 up to 5.
    #[embed(max = 10)]
    pub skills: Vec<AbilityScoreSkill>,
    pub url: String,
}

/// `skills[]` of `ability_scores`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct AbilityScoreSkill {
    // Refers to `skills.index`: 18 of 18 were found. 18 of 18 distinct values were found, and the name
    // says it, and so were the fields beside it.
    // The other side of `skills.ability_score.index`: 18 pairs agree. The sides of a two-way reference
    // hold the `_id` of each other. `inverse = …` would keep both sides equal.
    #[reference(by = index, index = false)]
    pub index: Ref<Skill, String>,
    // A copy: 18 equal `skills.name`. 18 of 18 are equal; 18 distinct values, the commonest has 6 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 18 equal `skills.url`. 18 of 18 are equal; 18 distinct values, the commonest has 6 %.
    #[denormalize(from = index.url)]
    pub url: String,
}
