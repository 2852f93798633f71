//! The collection `features`.

use super::{
    Class,
    OptionSetType,
    OptionType,
    ProficiencyChoice,
    ProficiencyEntry,
    StartingProficiency,
    SubclassEntry,
};
use odm::prelude::*;

/// A document of `features`: 407 were counted. Half of them have up to 287 bytes, the largest has
/// 6268.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "features")]
#[document(index(fields(index), unique))]
pub struct Feature {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    pub level: i32,
    pub class: ClassEntry,
    // Missing in 319 of 407.
    #[field(skip_none)]
    pub subclass: Option<SubclassEntry>,
    // Items: at most 2; half have up to 0, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub prerequisites: Vec<FeaturePrerequisite>,
    // Missing in 382 of 407.
    #[field(skip_none)]
    pub feature_specific: Option<FeatureFeatureSpecific>,
    // Missing in 323 of 407.
    #[field(skip_none)]
    pub parent: Option<FeatureEntry>,
    // Missing in 398 of 407.
    #[field(skip_none)]
    pub reference: Option<String>,
    pub url: String,
}

/// `class` of `features`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassEntry {
    // Its values: "warlock" (56), "ranger" (43), "sorcerer" (40), "druid" (34), "monk" (34), "cleric"
    // (33), "fighter" (33), "paladin" (32), "bard" (30), "barbarian" (27), "rogue" (27), "wizard" (18).
    // Refers to `classes.index`: 407 of 407 were found. 12 of 12 distinct values were found, and the
    // name says it, and so were the fields beside it.
    #[reference(by = index, index = false)]
    pub index: Ref<Class, String>,
    // Its values: "Warlock" (56), "Ranger" (43), "Sorcerer" (40), "Druid" (34), "Monk" (34), "Cleric"
    // (33), "Fighter" (33), "Paladin" (32), "Bard" (30), "Barbarian" (27), "Rogue" (27), "Wizard" (18).
    // A copy: 407 equal `classes.name`. 407 of 407 are equal; 12 distinct values, the commonest has 14
    // %.
    #[denormalize(from = index.name)]
    pub name: String,
    // Its values: "/api/2014/classes/warlock" (56), "/api/2014/classes/ranger" (43),
    // "/api/2014/classes/sorcerer" (40), "/api/2014/classes/druid" (34), "/api/2014/classes/monk" (34),
    // "/api/2014/classes/cleric" (33), "/api/2014/classes/fighter" (33), "/api/2014/classes/paladin"
    // (32), "/api/2014/classes/bard" (30), "/api/2014/classes/barbarian" (27),
    // "/api/2014/classes/rogue" (27), "/api/2014/classes/wizard" (18).
    // A copy: 407 equal `classes.url`. 407 of 407 are equal; 12 distinct values, the commonest has 14
    // %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `prerequisites[]` of `features`.
// Told by `type`: "feature" (5), "level" (16), "spell" (3).
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(tag = "type")]
pub enum FeaturePrerequisite {
    #[embed(name = "feature")]
    Feature {
        // Refers to `features.url`: 5 of 5 were found. With a unique index on `url` of `features` it can be
        // declared: `#[reference(by = url)]`. 3 of 3 distinct values were found, and the name says it.
        feature: String,
    },
    #[embed(name = "level")]
    Level {
        level: i32,
    },
    #[embed(name = "spell")]
    Spell {
        // Perhaps refers to `spells.url`: 3 of 3 were found. The data alone do not prove it. 1 of 1
        // distinct values were found, and the name says it.
        spell: String,
    },
}

/// `feature_specific.subfeature_options.type` of `features`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureType {
    #[embed(name = "feature")]
    Feature,
}

/// `feature_specific.subfeature_options.from.options[].item` of `features`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatureEntry {
    // Refers to `features.index`: 75 of 75 were found. 53 of 53 distinct values were found, and so were
    // the fields beside it.
    // The other side of `features.parent.index`: 52 pairs agree, 23 are on this side alone and 32 on
    // the other. Most pairs are on one side alone. `inverse = …` would keep both sides equal.
    #[reference(by = index, index = false)]
    pub index: Ref<Feature, String>,
    // A copy: 75 equal `features.name`. 75 of 75 are equal; 45 distinct values, the commonest has 5 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 75 equal `features.url`. 75 of 75 are equal; 53 distinct values, the commonest has 4 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `feature_specific.subfeature_options.from.options[]` of `features`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatureOption {
    pub option_type: OptionType,
    pub item: FeatureEntry,
}

/// `feature_specific.subfeature_options.from` of `features`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatureFrom {
    pub option_set_type: OptionSetType,
    // Items: at most 10; half have up to 4, 99 of 100 up to 10.
    #[embed(max = 20)]
    pub options: Vec<FeatureOption>,
}

/// `feature_specific.subfeature_options` of `features`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatureSubfeatureOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: FeatureType,
    pub from: FeatureFrom,
}

/// `feature_specific.expertise_options.from.options[].option_type` of `features`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureOptionType {
    #[embed(name = "choice")]
    Choice,
    #[embed(name = "multiple")]
    Multiple,
    #[embed(name = "reference")]
    Reference,
}

/// `feature_specific.expertise_options.from.options[].items[]` of `features`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatureItem {
    pub option_type: String,
    // Missing in 1 of 2.
    #[field(skip_none)]
    pub choice: Option<ProficiencyChoice>,
    // Missing in 1 of 2.
    #[field(skip_none)]
    pub item: Option<StartingProficiency>,
}

/// `feature_specific.expertise_options.from.options[]` of `features`.
// 3 kinds of documents, told by `option_type`: choice (1): always `choice`; multiple (1): always
// `items`; reference (55): always `item`. An enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatureFromOption {
    pub option_type: FeatureOptionType,
    // Missing in 2 of 57.
    #[field(skip_none)]
    pub item: Option<ProficiencyEntry>,
    // Missing in 56 of 57.
    #[field(skip_none)]
    pub choice: Option<ProficiencyChoice>,
    // Missing in 56 of 57.
    // Items: always 2.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub items: Option<Vec<FeatureItem>>,
}

/// `feature_specific.expertise_options.from` of `features`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatureExpertiseOptionFrom {
    pub option_set_type: String,
    // Items: at most 19; half have up to 19, 99 of 100 up to 19.
    #[embed(max = 50)]
    pub options: Vec<FeatureFromOption>,
}

/// `feature_specific.expertise_options` of `features`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatureExpertiseOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: FeatureExpertiseOptionFrom,
}

/// `feature_specific.enemy_type_options.from.options[]` of `features`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureOption2 {
    #[embed(name = "aberrations")]
    Aberrations,
    #[embed(name = "arctic")]
    Arctic,
    #[embed(name = "beasts")]
    Beasts,
    #[embed(name = "celestials")]
    Celestials,
    #[embed(name = "coast")]
    Coast,
    #[embed(name = "constructs")]
    Constructs,
    #[embed(name = "desert")]
    Desert,
    #[embed(name = "dragons")]
    Dragons,
    #[embed(name = "elementals")]
    Elementals,
    #[embed(name = "fey")]
    Fey,
    #[embed(name = "fiends")]
    Fiends,
    #[embed(name = "forest")]
    Forest,
    #[embed(name = "giants")]
    Giants,
    #[embed(name = "grassland")]
    Grassland,
    #[embed(name = "humanoids")]
    Humanoids,
    #[embed(name = "monstrosities")]
    Monstrosities,
    #[embed(name = "mountain")]
    Mountain,
    #[embed(name = "oozes")]
    Oozes,
    #[embed(name = "plants")]
    Plants,
    #[embed(name = "swamp")]
    Swamp,
    #[embed(name = "undead")]
    Undead,
}

/// `feature_specific.enemy_type_options.from` of `features`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatureEnemyTypeOptionFrom {
    pub option_set_type: String,
    // Items: always 14.
    #[embed(max = 50)]
    pub options: Vec<FeatureOption2>,
}

/// `feature_specific.enemy_type_options` of `features`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatureEnemyTypeOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: FeatureEnemyTypeOptionFrom,
}

/// `feature_specific` of `features`.
// 5 kinds of documents, told by which of `enemy_type_options`, `expertise_options`, `invocations`,
// `subfeature_options`, `terrain_type_options` is there: subfeature_options (14): always
// `subfeature_options`; expertise_options (4): always `expertise_options`; invocations (1): always
// `invocations`; enemy_type_options (3): always `enemy_type_options`; terrain_type_options (3):
// always `terrain_type_options`. An enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatureFeatureSpecific {
    // Missing in 11 of 25.
    #[field(skip_none)]
    pub subfeature_options: Option<FeatureSubfeatureOption>,
    // Missing in 21 of 25.
    #[field(skip_none)]
    pub expertise_options: Option<FeatureExpertiseOption>,
    // Missing in 24 of 25.
    // Items: always 32.
    #[embed(max = 50)]
    #[field(skip_none)]
    pub invocations: Option<Vec<FeatureEntry>>,
    // Missing in 22 of 25.
    #[field(skip_none)]
    pub enemy_type_options: Option<FeatureEnemyTypeOption>,
    // Missing in 22 of 25.
    #[field(skip_none)]
    pub terrain_type_options: Option<FeatureEnemyTypeOption>,
}
