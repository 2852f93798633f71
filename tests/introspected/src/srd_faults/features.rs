//! The collection `features`.

use super::{Class, Level, Subclass};
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
    pub class: FeatureClass,
    // Missing in 174 of 232.
    #[field(skip_none)]
    pub subclass: Option<FeatureSubclass>,
    pub url: String,
}

/// `level` of `features`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatureLevel {
    // Refers to `levels._id`: 0 of 0 were found. 165 of 165 distinct values were found, and the name
    // says it.
    #[reference(index = false)]
    pub index: Ref<Level>,
    pub name: String,
    pub url: String,
}

/// `class.name` of `features`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureName {
    Barbarian,
    #[embed(name = "Barbarian (old)")]
    BarbarianOld,
    Bard,
    Cleric,
    #[embed(name = "Cleric (old)")]
    ClericOld,
    Druid,
    #[embed(name = "Druid (old)")]
    DruidOld,
    Fighter,
    #[embed(name = "Fighter (old)")]
    FighterOld,
    Monk,
    #[embed(name = "Monk (old)")]
    MonkOld,
    Paladin,
    #[embed(name = "Paladin (old)")]
    PaladinOld,
    Ranger,
    #[embed(name = "Ranger (old)")]
    RangerOld,
    Rogue,
    #[embed(name = "Rogue (old)")]
    RogueOld,
    Sorcerer,
    #[embed(name = "Sorcerer (old)")]
    SorcererOld,
    Warlock,
    #[embed(name = "Warlock (old)")]
    WarlockOld,
    Wizard,
    #[embed(name = "Wizard (old)")]
    WizardOld,
}

/// `class.url` of `features`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureUrl {
    #[embed(name = "/api/2024/classes/barbarian")]
    Api2024ClassesBarbarian,
    #[embed(name = "/api/2024/classes/bard")]
    Api2024ClassesBard,
    #[embed(name = "/api/2024/classes/cleric")]
    Api2024ClassesCleric,
    #[embed(name = "/api/2024/classes/druid")]
    Api2024ClassesDruid,
    #[embed(name = "/api/2024/classes/fighter")]
    Api2024ClassesFighter,
    #[embed(name = "/api/2024/classes/monk")]
    Api2024ClassesMonk,
    #[embed(name = "/api/2024/classes/paladin")]
    Api2024ClassesPaladin,
    #[embed(name = "/api/2024/classes/ranger")]
    Api2024ClassesRanger,
    #[embed(name = "/api/2024/classes/rogue")]
    Api2024ClassesRogue,
    #[embed(name = "/api/2024/classes/sorcerer")]
    Api2024ClassesSorcerer,
    #[embed(name = "/api/2024/classes/warlock")]
    Api2024ClassesWarlock,
    #[embed(name = "/api/2024/classes/wizard")]
    Api2024ClassesWizard,
}

/// `class` of `features`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatureClass {
    // Its values: "monk" (26), "barbarian" (24), "rogue" (23), "paladin" (22), "ranger" (22), "fighter"
    // (21), "druid" (18), "bard" (16), "cleric" (16), "sorcerer" (15), "wizard" (15), "warlock" (14).
    // Refers to `classes._id`: 0 of 0 were found. 12 of 12 distinct values were found, and the name
    // says it.
    #[reference(index = false)]
    pub index: Ref<Class>,
    pub name: FeatureName,
    pub url: FeatureUrl,
}

/// `subclass.name` of `features`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureSubclassName {
    Champion,
    #[embed(name = "Circle of the Land")]
    CircleOfTheLand,
    #[embed(name = "College of Lore")]
    CollegeOfLore,
    #[embed(name = "Draconic Sorcery")]
    DraconicSorcery,
    Evoker,
    #[embed(name = "Fiend Patron")]
    FiendPatron,
    Hunter,
    #[embed(name = "Life Domain")]
    LifeDomain,
    #[embed(name = "Oath of Devotion")]
    OathOfDevotion,
    #[embed(name = "Path of the Berserker")]
    PathOfTheBerserker,
    Thief,
    #[embed(name = "Warrior of the Open Hand")]
    WarriorOfTheOpenHand,
}

/// `subclass.url` of `features`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureSubclassUrl {
    #[embed(name = "/api/2024/subclasses/champion")]
    Api2024SubclassesChampion,
    #[embed(name = "/api/2024/subclasses/circle-of-the-land")]
    Api2024SubclassesCircleOfTheLand,
    #[embed(name = "/api/2024/subclasses/college-of-lore")]
    Api2024SubclassesCollegeOfLore,
    #[embed(name = "/api/2024/subclasses/draconic-sorcery")]
    Api2024SubclassesDraconicSorcery,
    #[embed(name = "/api/2024/subclasses/evoker")]
    Api2024SubclassesEvoker,
    #[embed(name = "/api/2024/subclasses/fiend-patron")]
    Api2024SubclassesFiendPatron,
    #[embed(name = "/api/2024/subclasses/hunter")]
    Api2024SubclassesHunter,
    #[embed(name = "/api/2024/subclasses/life-domain")]
    Api2024SubclassesLifeDomain,
    #[embed(name = "/api/2024/subclasses/oath-of-devotion")]
    Api2024SubclassesOathOfDevotion,
    #[embed(name = "/api/2024/subclasses/path-of-the-berserker")]
    Api2024SubclassesPathOfTheBerserker,
    #[embed(name = "/api/2024/subclasses/thief")]
    Api2024SubclassesThief,
    #[embed(name = "/api/2024/subclasses/warrior-of-the-open-hand")]
    Api2024SubclassesWarriorOfTheOpenHand,
}

/// `subclass` of `features`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct FeatureSubclass {
    // Its values: "champion" (6), "circle-of-the-land" (5), "draconic-sorcery" (5), "evoker" (5),
    // "fiend-patron" (5), "hunter" (5), "life-domain" (5), "oath-of-devotion" (5), "thief" (5),
    // "college-of-lore" (4), "path-of-the-berserker" (4), "warrior-of-the-open-hand" (4).
    // Refers to `subclasses._id`: 0 of 0 were found. 12 of 12 distinct values were found, and the name
    // says it.
    #[reference(index = false)]
    pub index: Ref<Subclass>,
    pub name: FeatureSubclassName,
    pub url: FeatureSubclassUrl,
}
