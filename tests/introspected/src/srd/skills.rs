//! The collection `skills`.

use super::AbilityScoreEntry;
use odm::prelude::*;

/// A document of `skills`: 18 were counted. Half of them have up to 191 bytes, the largest has 204.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "skills")]
#[document(index(fields(index), unique))]
pub struct Skill {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    pub ability_score: AbilityScoreEntry,
    pub url: String,
}
