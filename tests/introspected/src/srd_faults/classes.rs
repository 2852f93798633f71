//! The collection `classes`.

use super::{
    AbilityScoreEntry,
    BackgroundEquipmentCategory,
    BackgroundItem,
    Choice,
    ProficiencyChoice,
    ProficiencyEntry,
    Subclass,
};
use odm::prelude::*;

/// A document of `classes`: 12 were counted. Half of them have up to 4607 bytes, the largest has
/// 10488.
// 2 kinds of documents, told by which of `spells` is there: none (4): no fields of its own; spells
// (8): always `spellcasting`, `spells`. An enum with `tag` would have a variant for each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "classes")]
pub struct Class {
    pub id: String,
    pub name: String,
    pub primary_ability: ClassPrimaryAbility,
    pub hit_die: i32,
    pub class_levels: String,
    pub multi_classing: ClassMultiClassing,
    // Items: at most 11; half have up to 6, 99 of 100 up to 11.
    #[embed(max = 20)]
    pub proficiencies: Vec<ProficiencyEntry>,
    // Items: at most 2; half have up to 1, 99 of 100 up to 2.
    #[embed(max = 10)]
    pub proficiency_choices: Vec<ClassProficiencyChoice>,
    // Items: always 2.
    #[embed(max = 10)]
    pub saving_throws: Vec<AbilityScoreEntry>,
    // Items: always 1.
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
    // The number of the `features` that refer to it by `class.index`: 10 are, 2 are not. `class.index`
    // has to be a field of the document itself.
    pub feature_count: i32,
}

/// `primary_ability.ability_score_options.from.options[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassOption {
    pub option_type: String,
    pub item: BackgroundEquipmentCategory,
}

/// `primary_ability.ability_score_options.from` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassFrom {
    pub option_set_type: String,
    // Items: always 2.
    #[embed(max = 10)]
    pub options: Vec<ClassOption>,
}

/// `primary_ability.ability_score_options` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassAbilityScoreOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: ClassFrom,
}

/// `primary_ability` of `classes`.
// 2 kinds of documents, told by which of `ability_score_options`, `ability_scores` is there:
// ability_scores (11): always `ability_scores`; ability_score_options (1): always
// `ability_score_options`. An enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassPrimaryAbility {
    // Missing in 1 of 12.
    // Items: at most 2; half have up to 1, 99 of 100 up to 2.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub ability_scores: Option<Vec<AbilityScoreEntry>>,
    // Missing in 11 of 12.
    #[field(skip_none)]
    pub ability_score_options: Option<ClassAbilityScoreOption>,
}

/// `multi_classing.prerequisites[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassPrerequisite {
    pub ability_score: AbilityScoreEntry,
    pub minimum_score: i32,
}

/// `multi_classing.prerequisite_options.from.options[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassFromOption {
    pub option_type: String,
    pub ability_score: BackgroundEquipmentCategory,
    pub minimum_score: i32,
}

/// `multi_classing.prerequisite_options.from` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassPrerequisiteOptionFrom {
    pub option_set_type: String,
    // Items: always 2.
    #[embed(max = 10)]
    pub options: Vec<ClassFromOption>,
}

/// `multi_classing.prerequisite_options` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct PrerequisiteOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: ClassPrerequisiteOptionFrom,
}

/// `multi_classing.proficiency_choices[].from.options[].option_type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassOptionOptionType {
    #[embed(name = "reference")]
    Reference,
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
    pub prerequisite_options: Option<PrerequisiteOption>,
    // Items: at most 4; half have up to 2, 99 of 100 up to 4.
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
pub enum ClassOptionSetType {
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
pub struct ClassOption2 {
    pub option_type: ClassOptionType,
    // Missing in 2 of 107.
    #[field(skip_none)]
    pub item: Option<BackgroundItem>,
    // Missing in 105 of 107.
    #[field(skip_none)]
    pub choice: Option<ProficiencyChoice>,
}

/// `proficiency_choices[].from` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassProficiencyChoiceFrom {
    pub option_set_type: ClassOptionSetType,
    // Items: at most 18; half have up to 6, 99 of 100 up to 18.
    #[embed(max = 50)]
    pub options: Vec<ClassOption2>,
}

/// `proficiency_choices[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassProficiencyChoice {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: ClassType,
    pub from: ClassProficiencyChoiceFrom,
}

/// `starting_equipment_options[].type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassStartingEquipmentOptionType {
    #[embed(name = "equipment")]
    Equipment,
}

/// `starting_equipment_options[].from.options[].unit` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassUnit {
    #[embed(name = "gp")]
    Gp,
}

/// `starting_equipment_options[].from.options[].items[].choice.from.options[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassOption4 {
    pub option_type: String,
    pub choice: Choice,
}

/// `starting_equipment_options[].from.options[].items[].choice.from` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassChoiceFrom {
    pub option_set_type: String,
    // Items: always 2.
    #[embed(max = 10)]
    pub options: Vec<ClassOption4>,
}

/// `starting_equipment_options[].from.options[].items[].choice` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassChoice {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: ClassChoiceFrom,
}

/// `starting_equipment_options[].from.options[].items[]` of `classes`.
// Told by `option_type`: "choice" (1), "counted_reference" (69), "money" (13).
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(tag = "option_type")]
pub enum ClassItem {
    #[embed(name = "choice")]
    Choice {
        choice: ClassChoice,
    },
    #[embed(name = "counted_reference")]
    CountedReference {
        count: i32,
        of: BackgroundEquipmentCategory,
    },
    #[embed(name = "money")]
    Money {
        count: i32,
        unit: ClassUnit,
    },
}

/// `starting_equipment_options[].from.options[]` of `classes`.
// Told by `option_type`: "money" (12), "multiple" (13).
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(tag = "option_type")]
pub enum ClassOption3 {
    #[embed(name = "money")]
    Money {
        count: i32,
        unit: ClassUnit,
    },
    #[embed(name = "multiple")]
    Multiple {
        // Items: at most 9; half have up to 6, 99 of 100 up to 9.
        #[embed(max = 20)]
        items: Vec<ClassItem>,
    },
}

/// `starting_equipment_options[].from` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassStartingEquipmentOptionFrom {
    pub option_set_type: ClassOptionSetType,
    // Items: at most 3; half have up to 2, 99 of 100 up to 3.
    #[embed(max = 10)]
    pub options: Vec<ClassOption3>,
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
    // Refers to `subclasses._id`: 12 of 12 were found. 12 of 12 distinct values were found, and the
    // name says it, and so were the fields beside it.
    // The other side of `subclasses.class.index`: 12 pairs agree. The sides of a two-way reference are
    // fields of the documents themselves. `inverse = …` would keep both sides equal.
    #[reference(index = false)]
    pub index: Ref<Subclass>,
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
