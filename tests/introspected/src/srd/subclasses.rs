//! The collection `subclasses`.

use super::{ClassEntry, Spell};
use odm::prelude::*;

/// A document of `subclasses`: 12 were counted. Half of them have up to 287 bytes, the largest has
/// 21893.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "subclasses")]
#[document(index(fields(index), unique))]
pub struct Subclass {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    pub class: ClassEntry,
    pub subclass_flavor: String,
    pub subclass_levels: String,
    // Missing in 8 of 12.
    // Items: at most 56; half have up to 10, 99 of 100 up to 56.
    #[embed(max = 100)]
    #[field(skip_none)]
    pub spells: Option<Vec<SubclassSpell>>,
    pub url: String,
}

/// `spells[].prerequisites[].index` of `subclasses`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubclassIndex {
    #[embed(name = "circle-of-the-land-arctic")]
    CircleOfTheLandArctic,
    #[embed(name = "circle-of-the-land-coast")]
    CircleOfTheLandCoast,
    #[embed(name = "circle-of-the-land-desert")]
    CircleOfTheLandDesert,
    #[embed(name = "circle-of-the-land-forest")]
    CircleOfTheLandForest,
    #[embed(name = "circle-of-the-land-grassland")]
    CircleOfTheLandGrassland,
    #[embed(name = "circle-of-the-land-mountain")]
    CircleOfTheLandMountain,
    #[embed(name = "circle-of-the-land-swamp")]
    CircleOfTheLandSwamp,
    #[embed(name = "cleric-1")]
    Cleric1,
    #[embed(name = "cleric-3")]
    Cleric3,
    #[embed(name = "cleric-5")]
    Cleric5,
    #[embed(name = "cleric-7")]
    Cleric7,
    #[embed(name = "cleric-9")]
    Cleric9,
    #[embed(name = "druid-3")]
    Druid3,
    #[embed(name = "druid-5")]
    Druid5,
    #[embed(name = "druid-7")]
    Druid7,
    #[embed(name = "druid-9")]
    Druid9,
    #[embed(name = "paladin-13")]
    Paladin13,
    #[embed(name = "paladin-17")]
    Paladin17,
    #[embed(name = "paladin-3")]
    Paladin3,
    #[embed(name = "paladin-5")]
    Paladin5,
    #[embed(name = "paladin-9")]
    Paladin9,
    #[embed(name = "warlock-1")]
    Warlock1,
    #[embed(name = "warlock-3")]
    Warlock3,
    #[embed(name = "warlock-5")]
    Warlock5,
    #[embed(name = "warlock-7")]
    Warlock7,
    #[embed(name = "warlock-9")]
    Warlock9,
}

/// `spells[].prerequisites[].type` of `subclasses`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubclassType {
    #[embed(name = "feature")]
    Feature,
    #[embed(name = "level")]
    Level,
}

/// `spells[].prerequisites[].name` of `subclasses`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubclassName {
    #[embed(name = "Circle of the Land: Arctic")]
    CircleOfTheLandArctic,
    #[embed(name = "Circle of the Land: Coast")]
    CircleOfTheLandCoast,
    #[embed(name = "Circle of the Land: Desert")]
    CircleOfTheLandDesert,
    #[embed(name = "Circle of the Land: Forest")]
    CircleOfTheLandForest,
    #[embed(name = "Circle of the Land: Grassland")]
    CircleOfTheLandGrassland,
    #[embed(name = "Circle of the Land: Mountain")]
    CircleOfTheLandMountain,
    #[embed(name = "Circle of the Land: Swamp")]
    CircleOfTheLandSwamp,
    #[embed(name = "Cleric 1")]
    Cleric1,
    #[embed(name = "Cleric 3")]
    Cleric3,
    #[embed(name = "Cleric 5")]
    Cleric5,
    #[embed(name = "Cleric 7")]
    Cleric7,
    #[embed(name = "Cleric 9")]
    Cleric9,
    #[embed(name = "Druid 3")]
    Druid3,
    #[embed(name = "Druid 5")]
    Druid5,
    #[embed(name = "Druid 7")]
    Druid7,
    #[embed(name = "Druid 9")]
    Druid9,
    #[embed(name = "Paladin 13")]
    Paladin13,
    #[embed(name = "Paladin 17")]
    Paladin17,
    #[embed(name = "Paladin 3")]
    Paladin3,
    #[embed(name = "Paladin 5")]
    Paladin5,
    #[embed(name = "Paladin 9")]
    Paladin9,
    #[embed(name = "Warlock 1")]
    Warlock1,
    #[embed(name = "Warlock 3")]
    Warlock3,
    #[embed(name = "Warlock 5")]
    Warlock5,
    #[embed(name = "Warlock 7")]
    Warlock7,
    #[embed(name = "Warlock 9")]
    Warlock9,
}

/// `spells[].prerequisites[]` of `subclasses`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SubclassPrerequisite {
    // Perhaps refers to `levels.index` where `spells[].prerequisites[].url` begins with
    // /api/2014/classes/cleric/levels/, /api/2014/classes/druid/levels/,
    // /api/2014/classes/paladin/levels/, /api/2014/classes/warlock/levels/: 85 of 85 were found. The
    // data alone do not prove it. 19 of 26 distinct values were found, and so were the fields beside
    // it; `spells[].prerequisites[].url` says which ones.
    // Perhaps refers to `features.index` where `spells[].prerequisites[].url` begins with
    // /api/2014/features/: 56 of 56 were found. The data alone do not prove it. 7 of 26 distinct values
    // were found, and so were the fields beside it; `spells[].prerequisites[].url` says which ones.
    pub index: SubclassIndex,
    #[field(name = "type")]
    pub type_: SubclassType,
    // Perhaps a copy: 56 equal `features.name`. `spells[].prerequisites[].index` is not declared as a
    // reference. 56 of 56 are equal; 7 distinct values, the commonest has 14 %.
    pub name: SubclassName,
    // Its values: "/api/2014/classes/druid/levels/3" (14), "/api/2014/classes/druid/levels/5" (14),
    // "/api/2014/classes/druid/levels/7" (14), "/api/2014/classes/druid/levels/9" (14),
    // "/api/2014/features/circle-of-the-land-arctic" (8), "/api/2014/features/circle-of-the-land-coast"
    // (8), "/api/2014/features/circle-of-the-land-desert" (8),
    // "/api/2014/features/circle-of-the-land-forest" (8),
    // "/api/2014/features/circle-of-the-land-grassland" (8),
    // "/api/2014/features/circle-of-the-land-mountain" (8),
    // "/api/2014/features/circle-of-the-land-swamp" (8), "/api/2014/classes/cleric/levels/1" (2), and
    // 14 more.
    // Perhaps a copy: 85 equal `levels.url`. `spells[].prerequisites[].index` is not declared as a
    // reference. 85 of 85 are equal; 19 distinct values, the commonest has 16 %.
    // Perhaps a copy: 56 equal `features.url`. `spells[].prerequisites[].index` is not declared as a
    // reference. 56 of 56 are equal; 7 distinct values, the commonest has 14 %.
    pub url: String,
}

/// `spells[].spell` of `subclasses`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SpellEntry {
    // Refers to `spells.index`: 85 of 85 were found. 67 of 67 distinct values were found, and the name
    // says it, and so were the fields beside it.
    // The other side of `spells.subclasses[].index`: 70 pairs agree, 2 are on this side alone and 162
    // on the other. Most pairs are on one side alone. `inverse = …` would keep both sides equal.
    #[reference(by = index, index = false)]
    pub index: Ref<Spell, String>,
    // A copy: 85 equal `spells.name`. 85 of 85 are equal; 67 distinct values, the commonest has 7 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 85 equal `spells.url`. 85 of 85 are equal; 67 distinct values, the commonest has 7 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `spells[]` of `subclasses`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SubclassSpell {
    // Items: at most 2; half have up to 2, 99 of 100 up to 2.
    #[embed(max = 10)]
    pub prerequisites: Vec<SubclassPrerequisite>,
    pub spell: SpellEntry,
}
