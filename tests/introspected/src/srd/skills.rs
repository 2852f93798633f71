//! The collection `skills`.

use super::AbilityScore;
use odm::prelude::*;

/// A document of `skills`: 18 were counted. Half of them have up to 191 bytes, the largest has 204.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "skills")]
#[document(index(fields(index), unique))]
pub struct Skill {
    pub id: ObjectId,
    // Refers to `proficiencies.reference.index`: 0 of 0 were found. A reference leads to a field of the
    // document itself. 18 of 18 distinct values were found.
    pub index: String,
    pub name: String,
    pub ability_score: SkillAbilityScore,
    pub url: String,
}

/// `ability_score.name` of `skills`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillName {
    #[embed(name = "CHA")]
    Cha,
    #[embed(name = "DEX")]
    Dex,
    #[embed(name = "INT")]
    Int,
    #[embed(name = "STR")]
    Str,
    #[embed(name = "WIS")]
    Wis,
}

/// `ability_score.url` of `skills`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillUrl {
    #[embed(name = "/api/2014/ability-scores/cha")]
    Api2014AbilityScoresCha,
    #[embed(name = "/api/2014/ability-scores/dex")]
    Api2014AbilityScoresDex,
    #[embed(name = "/api/2014/ability-scores/int")]
    Api2014AbilityScoresInt,
    #[embed(name = "/api/2014/ability-scores/str")]
    Api2014AbilityScoresStr,
    #[embed(name = "/api/2014/ability-scores/wis")]
    Api2014AbilityScoresWis,
}

/// `ability_score` of `skills`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SkillAbilityScore {
    // Its values: "int" (5), "wis" (5), "cha" (4), "dex" (3), "str" (1).
    // Refers to `ability_scores.index`: 0 of 0 were found. 5 of 5 distinct values were found, and the
    // name says it.
    #[reference(by = index, index = false)]
    pub index: Ref<AbilityScore, String>,
    pub name: SkillName,
    pub url: SkillUrl,
}
