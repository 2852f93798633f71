//! The collection `classes`.

use super::{
    AbilityScore,
    Equipment,
    EquipmentCategory,
    Proficiency,
    StartingEquipmentOption,
    StartingProficiency,
    Subclass,
};
use odm::prelude::*;

/// A document of `classes`: 12 were counted. Half of them have up to 5631 bytes, the largest has
/// 11839.
// 2 kinds of documents, told by which of `spells` is there: none (4): no fields of its own; spells
// (8): always `spellcasting`, `spells`. An enum with `tag` would have a variant for each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "classes")]
#[document(index(fields(index), unique))]
pub struct Class {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    pub hit_die: i32,
    pub class_levels: String,
    pub multi_classing: ClassMultiClassing,
    // Items: at most 16; half have up to 7, 99 of 100 up to 16.
    #[embed(max = 50)]
    pub proficiencies: Vec<ProficiencyEntry>,
    // Items: at most 2; half have up to 1, 99 of 100 up to 2.
    #[embed(max = 10)]
    pub proficiency_choices: Vec<ClassProficiencyChoice>,
    // Items: always 2.
    #[embed(max = 10)]
    pub saving_throws: Vec<AbilityScoreEntry>,
    // Items: at most 3; half have up to 1, 99 of 100 up to 3.
    #[embed(max = 10)]
    pub starting_equipment: Vec<ClassStartingEquipment>,
    // Items: at most 5; half have up to 3, 99 of 100 up to 5.
    #[embed(max = 10)]
    pub starting_equipment_options: Vec<ClassStartingEquipmentOption>,
    // Items: always 1.
    #[embed(max = 10)]
    pub subclasses: Vec<SubclassEntry>,
    // Missing in 4 of 12.
    #[field(skip_none)]
    pub spellcasting: Option<ClassSpellcasting>,
    // Missing in 4 of 12.
    #[field(skip_none)]
    pub spells: Option<String>,
    pub url: String,
}

/// `multi_classing.prerequisites[].ability_score` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct AbilityScoreEntry {
    // Its values: "cha" (4), "wis" (4), "dex" (3), "str" (2), "int" (1).
    // Refers to `ability_scores.index`: 14 of 14 were found. 5 of 5 distinct values were found, and the
    // name says it, and so were the fields beside it.
    #[reference(by = index, index = false)]
    pub index: Ref<AbilityScore, String>,
    // Its values: "CHA" (4), "WIS" (4), "DEX" (3), "STR" (2), "INT" (1).
    // A copy: 14 equal `ability_scores.name`. 14 of 14 are equal; 5 distinct values, the commonest has
    // 29 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // Its values: "/api/2014/ability-scores/cha" (4), "/api/2014/ability-scores/wis" (4),
    // "/api/2014/ability-scores/dex" (3), "/api/2014/ability-scores/str" (2),
    // "/api/2014/ability-scores/int" (1).
    // A copy: 14 equal `ability_scores.url`. 14 of 14 are equal; 5 distinct values, the commonest has
    // 29 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `multi_classing.prerequisites[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassPrerequisite {
    pub ability_score: AbilityScoreEntry,
    pub minimum_score: i32,
}

/// `multi_classing.prerequisite_options.from.options[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassOption {
    pub option_type: String,
    pub ability_score: StartingProficiency,
    pub minimum_score: i32,
}

/// `multi_classing.prerequisite_options.from` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassFrom {
    pub option_set_type: String,
    // Items: always 2.
    #[embed(max = 10)]
    pub options: Vec<ClassOption>,
}

/// `multi_classing.prerequisite_options` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassPrerequisiteOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: ClassFrom,
}

/// `multi_classing.proficiencies[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ProficiencyEntry {
    // Its values: "light-armor" (8), "shields" (6), "simple-weapons" (6), "medium-armor" (5),
    // "martial-weapons" (4), "shortswords" (1), "thieves-tools" (1).
    // Refers to `proficiencies.index`: 31 of 31 were found. 7 of 7 distinct values were found, and the
    // name says it, and so were the fields beside it.
    #[reference(by = index, index = false)]
    pub index: Ref<Proficiency, String>,
    // Its values: "Light Armor" (8), "Shields" (6), "Simple Weapons" (6), "Medium Armor" (5), "Martial
    // Weapons" (4), "Shortswords" (1), "Thieves' Tools" (1).
    // A copy: 31 equal `proficiencies.name`. 31 of 31 are equal; 7 distinct values, the commonest has
    // 26 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // Its values: "/api/2014/proficiencies/light-armor" (8), "/api/2014/proficiencies/shields" (6),
    // "/api/2014/proficiencies/simple-weapons" (6), "/api/2014/proficiencies/medium-armor" (5),
    // "/api/2014/proficiencies/martial-weapons" (4), "/api/2014/proficiencies/shortswords" (1),
    // "/api/2014/proficiencies/thieves-tools" (1).
    // A copy: 31 equal `proficiencies.url`. 31 of 31 are equal; 7 distinct values, the commonest has 26
    // %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `multi_classing.proficiency_choices[].from.options[].option_type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionType {
    #[embed(name = "reference")]
    Reference,
}

/// `multi_classing.proficiency_choices[].from.options[].item` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassItem {
    // Refers to `proficiencies.index`: 47 of 47 were found. 28 of 28 distinct values were found, and so
    // were the fields beside it.
    #[reference(by = index, index = false)]
    pub index: Ref<Proficiency, String>,
    // Perhaps a copy: 47 equal `proficiencies.name`. In an array inside an array no update would reach
    // it. 47 of 47 are equal; 28 distinct values, the commonest has 6 %.
    pub name: String,
    // Perhaps a copy: 47 equal `proficiencies.url`. In an array inside an array no update would reach
    // it. 47 of 47 are equal; 28 distinct values, the commonest has 6 %.
    pub url: String,
}

/// `multi_classing.proficiency_choices[].from.options[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassOption3 {
    pub option_type: OptionType,
    pub item: ClassItem,
}

/// `multi_classing.proficiency_choices[].from` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassFrom2 {
    pub option_set_type: String,
    // Items: at most 18; half have up to 10, 99 of 100 up to 18.
    #[embed(max = 50)]
    pub options: Vec<ClassOption3>,
}

/// `multi_classing.proficiency_choices[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ProficiencyChoice {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: ClassFrom2,
}

/// `multi_classing` of `classes`.
// 2 kinds of documents, told by which of `prerequisite_options`, `prerequisites` is there:
// prerequisites (11): always `prerequisites`; prerequisite_options (1): always
// `prerequisite_options`. An enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassMultiClassing {
    // Missing in 1 of 12.
    // Items: at most 2; half have up to 1, 99 of 100 up to 2.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub prerequisites: Option<Vec<ClassPrerequisite>>,
    // Missing in 11 of 12.
    #[field(skip_none)]
    pub prerequisite_options: Option<ClassPrerequisiteOption>,
    // Items: at most 5; half have up to 2, 99 of 100 up to 5.
    #[embed(max = 10)]
    pub proficiencies: Vec<ProficiencyEntry>,
    // Missing in 9 of 12.
    // Items: at most 2; half have up to 1, 99 of 100 up to 2.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub proficiency_choices: Option<Vec<ProficiencyChoice>>,
}

/// `proficiency_choices[].type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassType {
    #[embed(name = "proficiencies")]
    Proficiencies,
}

/// `proficiency_choices[].from.option_set_type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionSetType {
    #[embed(name = "options_array")]
    OptionsArray,
}

/// `proficiency_choices[].from.options[].option_type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassOptionType {
    #[embed(name = "choice")]
    Choice,
    #[embed(name = "reference")]
    Reference,
}

/// `proficiency_choices[].from.options[]` of `classes`.
// 2 kinds of documents, told by `option_type`: choice (2): always `choice`; reference (105): always
// `item`. An enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassFromOption {
    pub option_type: ClassOptionType,
    // Missing in 2 of 107.
    #[field(skip_none)]
    pub item: Option<ClassItem>,
    // Missing in 105 of 107.
    #[field(skip_none)]
    pub choice: Option<ProficiencyChoice>,
}

/// `proficiency_choices[].from` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassProficiencyChoiceFrom {
    pub option_set_type: OptionSetType,
    // Items: at most 18; half have up to 6, 99 of 100 up to 18.
    #[embed(max = 50)]
    pub options: Vec<ClassFromOption>,
}

/// `proficiency_choices[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassProficiencyChoice {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: ClassType,
    pub from: ClassProficiencyChoiceFrom,
}

/// `starting_equipment[].equipment` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentEntry {
    // Refers to `equipment.index`: 18 of 18 were found. 11 of 11 distinct values were found, and the
    // name says it, and so were the fields beside it.
    #[reference(by = index, index = false)]
    pub index: Ref<Equipment, String>,
    // A copy: 18 equal `equipment.name`. 18 of 18 are equal; 11 distinct values, the commonest has 22
    // %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 18 equal `equipment.url`. 18 of 18 are equal; 11 distinct values, the commonest has 22 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `starting_equipment[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassStartingEquipment {
    pub equipment: EquipmentEntry,
    pub quantity: i32,
}

/// `starting_equipment_options[].type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassStartingEquipmentOptionType {
    #[embed(name = "equipment")]
    Equipment,
}

/// `starting_equipment_options[].from.option_set_type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassOptionSetType {
    #[embed(name = "equipment_category")]
    EquipmentCategory,
    #[embed(name = "options_array")]
    OptionsArray,
}

/// `starting_equipment_options[].from.options[].option_type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassOptionOptionType {
    #[embed(name = "choice")]
    Choice,
    #[embed(name = "counted_reference")]
    CountedReference,
    #[embed(name = "multiple")]
    Multiple,
}

/// `starting_equipment_options[].from.options[].of` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassOf {
    // Refers to `equipment.index`: 48 of 48 were found. 24 of 24 distinct values were found, and so
    // were the fields beside it.
    #[reference(by = index, index = false)]
    pub index: Ref<Equipment, String>,
    // Perhaps a copy: 48 equal `equipment.name`. In an array inside an array no update would reach it.
    // 48 of 48 are equal; 24 distinct values, the commonest has 17 %.
    pub name: String,
    // Perhaps a copy: 48 equal `equipment.url`. In an array inside an array no update would reach it.
    // 48 of 48 are equal; 24 distinct values, the commonest has 17 %.
    pub url: String,
}

/// `starting_equipment_options[].from.options[].choice.from.option_set_type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassFromOptionSetType {
    #[embed(name = "equipment_category")]
    EquipmentCategory,
}

/// `starting_equipment_options[].from.options[].choice.from.equipment_category.name` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassName {
    #[embed(name = "Arcane Foci")]
    ArcaneFoci,
    #[embed(name = "Martial Melee Weapons")]
    MartialMeleeWeapons,
    #[embed(name = "Martial Weapons")]
    MartialWeapons,
    #[embed(name = "Musical Instruments")]
    MusicalInstruments,
    #[embed(name = "Simple Melee Weapons")]
    SimpleMeleeWeapons,
    #[embed(name = "Simple Weapons")]
    SimpleWeapons,
}

/// `starting_equipment_options[].from.options[].choice.from.equipment_category` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassEquipmentCategory {
    // Its values: "simple-weapons" (8), "arcane-foci" (3), "martial-weapons" (2),
    // "simple-melee-weapons" (2), "martial-melee-weapons" (1), "musical-instruments" (1).
    // Refers to `equipment_categories.index`: 17 of 17 were found. 6 of 6 distinct values were found,
    // and the name says it, and so were the fields beside it.
    #[reference(by = index, index = false)]
    pub index: Ref<EquipmentCategory, String>,
    // Perhaps a copy: 17 equal `equipment_categories.name`. In an array inside an array no update would
    // reach it. 17 of 17 are equal; 6 distinct values, the commonest has 47 %.
    pub name: ClassName,
    // Its values: "/api/2014/equipment-categories/simple-weapons" (8),
    // "/api/2014/equipment-categories/arcane-foci" (3),
    // "/api/2014/equipment-categories/martial-weapons" (2),
    // "/api/2014/equipment-categories/simple-melee-weapons" (2),
    // "/api/2014/equipment-categories/martial-melee-weapons" (1),
    // "/api/2014/equipment-categories/musical-instruments" (1).
    // Perhaps a copy: 17 equal `equipment_categories.url`. In an array inside an array no update would
    // reach it. 17 of 17 are equal; 6 distinct values, the commonest has 47 %.
    pub url: String,
}

/// `starting_equipment_options[].from.options[].choice.from` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassChoiceFrom {
    pub option_set_type: ClassFromOptionSetType,
    pub equipment_category: ClassEquipmentCategory,
}

/// `starting_equipment_options[].from.options[].choice` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassChoice {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: ClassStartingEquipmentOptionType,
    pub from: ClassChoiceFrom,
}

/// `starting_equipment_options[].from.options[].prerequisites[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassOptionPrerequisite {
    #[field(name = "type")]
    pub type_: String,
    pub proficiency: StartingProficiency,
}

/// `starting_equipment_options[].from.options[].items[].option_type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassItemOptionType {
    #[embed(name = "choice")]
    Choice,
    #[embed(name = "counted_reference")]
    CountedReference,
}

/// `starting_equipment_options[].from.options[].items[]` of `classes`.
// 2 kinds of documents, told by `option_type`: choice (2): always `choice`; counted_reference (15):
// always `count`, `of`. An enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassOptionItem {
    pub option_type: ClassItemOptionType,
    // Missing in 2 of 17.
    #[field(skip_none)]
    pub count: Option<i32>,
    // Missing in 2 of 17.
    #[field(skip_none)]
    pub of: Option<ClassOf>,
    // Missing in 15 of 17.
    #[field(skip_none)]
    pub choice: Option<StartingEquipmentOption>,
}

/// `starting_equipment_options[].from.options[]` of `classes`.
// 3 kinds of documents, told by `option_type`: choice (17): always `choice`; counted_reference
// (48): always `count`, `of`; multiple (8): always `items`. An enum with `tag` would have a variant
// for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassOption2 {
    pub option_type: ClassOptionOptionType,
    // Missing in 25 of 73.
    #[field(skip_none)]
    pub count: Option<i32>,
    // Missing in 25 of 73.
    #[field(skip_none)]
    pub of: Option<ClassOf>,
    // Missing in 56 of 73.
    #[field(skip_none)]
    pub choice: Option<ClassChoice>,
    // Missing in 71 of 73.
    // Items: always 1.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub prerequisites: Option<Vec<ClassOptionPrerequisite>>,
    // Missing in 65 of 73.
    // Items: at most 3; half have up to 2, 99 of 100 up to 3.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub items: Option<Vec<ClassOptionItem>>,
}

/// `starting_equipment_options[].from.equipment_category` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct EquipmentCategoryEntry {
    // Refers to `equipment_categories.index`: 4 of 4 were found. 3 of 3 distinct values were found, and
    // the name says it, and so were the fields beside it.
    #[reference(by = index, index = false)]
    pub index: Ref<EquipmentCategory, String>,
    // A copy: 4 equal `equipment_categories.name`. 4 of 4 are equal; 3 distinct values, the commonest
    // has 50 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 4 equal `equipment_categories.url`. 4 of 4 are equal; 3 distinct values, the commonest
    // has 50 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `starting_equipment_options[].from` of `classes`.
// 2 kinds of documents, told by `option_set_type`: equipment_category (4): always
// `equipment_category`; options_array (35): always `options`. An enum with `tag` would have a
// variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassStartingEquipmentOptionFrom {
    pub option_set_type: ClassOptionSetType,
    // Missing in 4 of 39.
    // Items: at most 3; half have up to 2, 99 of 100 up to 3.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub options: Option<Vec<ClassOption2>>,
    // Missing in 35 of 39.
    #[field(skip_none)]
    pub equipment_category: Option<EquipmentCategoryEntry>,
}

/// `starting_equipment_options[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassStartingEquipmentOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: ClassStartingEquipmentOptionType,
    pub from: ClassStartingEquipmentOptionFrom,
}

/// `subclasses[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SubclassEntry {
    // Refers to `subclasses.index`: 12 of 12 were found. 12 of 12 distinct values were found, and the
    // name says it, and so were the fields beside it.
    // The other side of `subclasses.class.index`: 12 pairs agree. The sides of a two-way reference hold
    // the `_id` of each other. `inverse = …` would keep both sides equal.
    #[reference(by = index, index = false)]
    pub index: Ref<Subclass, String>,
    // A copy: 12 equal `subclasses.name`. 12 of 12 are equal; 12 distinct values, the commonest has 8
    // %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 12 equal `subclasses.url`. 12 of 12 are equal; 12 distinct values, the commonest has 8 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `spellcasting` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassSpellcasting {
    pub level: i32,
    pub spellcasting_ability: AbilityScoreEntry,
}
