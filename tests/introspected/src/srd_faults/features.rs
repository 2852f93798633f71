//! The collection `features`.

use super::{Class, Level, SubclassEntry};
use odm::prelude::*;

/// A document of `features`: 232 were counted. Half of them have up to 319 bytes, the largest has
/// 472.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "features")]
#[document(index(fields(class.index)))]
#[document(index(fields(class.index, level.index)))]
pub struct Feature {
    pub id: String,
    pub name: String,
    pub level: FeatureLevel,
    pub class: ClassEntry,
    // Missing in 174 of 232.
    #[field(skip_none)]
    pub subclass: Option<SubclassEntry>,
    pub url: String,
}

/// `level` of `features`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatureLevel {
    // Refers to `levels._id`: 232 of 232 were found. 165 of 165 distinct values were found, and the
    // name says it, and so were the fields beside it.
    // The other side of `levels.features[].index`: 164 pairs agree, 68 are on this side alone and 152
    // on the other. Most pairs are on one side alone. `inverse = …` would keep both sides equal.
    #[reference(index = false)]
    pub index: Ref<Level>,
    // A copy: 232 equal `levels.name`. 232 of 232 are equal; 165 distinct values, the commonest has 2
    // %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 232 equal `levels.url`. 232 of 232 are equal; 165 distinct values, the commonest has 2 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `class` of `features`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassEntry {
    // Its values: "monk" (26), "barbarian" (24), "rogue" (23), "paladin" (22), "ranger" (22), "fighter"
    // (21), "druid" (18), "bard" (16), "cleric" (16), "sorcerer" (15), "wizard" (15), "warlock" (14).
    // Refers to `classes._id`: 232 of 232 were found. 12 of 12 distinct values were found, and the name
    // says it, and so were the fields beside it.
    #[reference(index = false)]
    pub index: Ref<Class>,
    // Its values: "Barbarian" (22), "Monk" (22), "Fighter" (20), "Rogue" (20), "Paladin" (19), "Ranger"
    // (19), "Druid" (17), "Bard" (16), "Cleric" (14), "Sorcerer" (14), "Wizard" (14), "Warlock" (13),
    // and 11 more.
    // A copy: 210 equal `classes.name`, 22 differ from it. 210 of 232 are equal; 23 distinct values,
    // the commonest has 9 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // Its values: "/api/2024/classes/monk" (26), "/api/2024/classes/barbarian" (24),
    // "/api/2024/classes/rogue" (23), "/api/2024/classes/paladin" (22), "/api/2024/classes/ranger"
    // (22), "/api/2024/classes/fighter" (21), "/api/2024/classes/druid" (18), "/api/2024/classes/bard"
    // (16), "/api/2024/classes/cleric" (16), "/api/2024/classes/sorcerer" (15),
    // "/api/2024/classes/wizard" (15), "/api/2024/classes/warlock" (14).
    // A copy: 232 equal `classes.url`. 232 of 232 are equal; 12 distinct values, the commonest has 11
    // %.
    #[denormalize(from = index.url)]
    pub url: String,
}
