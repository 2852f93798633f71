//! The collection `skills`.

use super::AbilityScoreEntry;
use odm::prelude::*;

/// A document of `skills`: 18 were counted. Half of them have up to 175 bytes, the largest has 185.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "skills")]
pub struct Skill {
    pub id: String,
    pub name: String,
    pub ability_score: AbilityScoreEntry,
    pub url: String,
}
