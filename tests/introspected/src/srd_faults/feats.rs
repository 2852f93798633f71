//! The collection `feats`.

use super::PrerequisiteOption;
use odm::prelude::*;

/// A document of `feats`: 17 were counted. Half of them have up to 191 bytes, the largest has 557.
// 4 kinds of documents, told by `type`: epic-boon (7): always `prerequisites`; fighting-style (4):
// always `prerequisites`; general (2): always `prerequisites`; origin (4): no fields of its own. An
// enum with `tag` would have a variant for each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "feats")]
pub struct Feat {
    pub id: String,
    pub name: String,
    #[field(name = "type")]
    pub type_: FeatType,
    // Missing in 14 of 17.
    #[field(skip_none)]
    pub repeatable: Option<String>,
    // Missing in 4 of 17.
    #[field(skip_none)]
    pub prerequisites: Option<FeatPrerequisite>,
    // Missing in 16 of 17.
    #[field(skip_none)]
    pub prerequisite_options: Option<PrerequisiteOption>,
    pub url: String,
}

/// `type` of `feats`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatType {
    #[embed(name = "epic-boon")]
    EpicBoon,
    #[embed(name = "fighting-style")]
    FightingStyle,
    #[embed(name = "general")]
    General,
    #[embed(name = "origin")]
    Origin,
}

/// `prerequisites.feature_named` of `feats`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatFeatureNamed {
    #[embed(name = "Fighting Style")]
    FightingStyle,
    Spellcasting,
}

/// `prerequisites` of `feats`.
// 3 kinds of documents, told by `feature_named`: (missing) (8): always `minimum_level`; Fighting
// Style (4): always `feature_named`; Spellcasting (1): always `minimum_level`, `feature_named`. An
// enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatPrerequisite {
    // Missing in 4 of 13.
    #[field(skip_none)]
    pub minimum_level: Option<i32>,
    // Missing in 8 of 13.
    #[field(skip_none)]
    pub feature_named: Option<FeatFeatureNamed>,
}
