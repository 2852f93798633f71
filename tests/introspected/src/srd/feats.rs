//! The collection `feats`.

use super::StartingProficiency;
use odm::prelude::*;

/// A document of `feats`: 1 were counted. Half of them have up to 229 bytes, the largest has 229.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "feats")]
#[document(index(fields(index), unique))]
pub struct Feat {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    // Items: always 1.
    #[embed(max = 10)]
    pub prerequisites: Vec<FeatPrerequisite>,
    pub url: String,
}

/// `prerequisites[]` of `feats`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatPrerequisite {
    pub ability_score: StartingProficiency,
    pub minimum_score: i32,
}
