//! The collection `classes`.

use super::{
    AbilityScore, BackgroundAbilityScore, BackgroundChoice, BackgroundFeat, BackgroundItemOptionType,
    BackgroundOptionType, BackgroundProficiency, Proficiency, Subclass,
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
    pub proficiencies: Vec<ClassProficiency2>,
    // Items: at most 2; half have up to 1, 99 of 100 up to 2.
    #[embed(max = 10)]
    pub proficiency_choices: Vec<ClassProficiencyChoice2>,
    // Items: always 2.
    #[embed(max = 10)]
    pub saving_throws: Vec<ClassSavingThrow>,
    // Items: always 1.
    #[embed(max = 10)]
    pub starting_equipment_options: Vec<ClassStartingEquipmentOption>,
    // Items: always 1.
    #[embed(max = 10)]
    pub subclasses: Vec<ClassSubclass>,
    // Missing in 4 of 12.
    #[field(skip_none)]
    pub spellcasting: Option<ClassSpellcasting>,
    // Missing in 4 of 12.
    #[field(skip_none)]
    pub spells: Option<String>,
    pub url: String,
    pub feature_count: i32,
}

/// `primary_ability.ability_score_options.from.options[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassOption {
    pub option_type: String,
    pub item: BackgroundFeat,
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
    pub ability_scores: Option<Vec<BackgroundAbilityScore>>,
    // Missing in 11 of 12.
    #[field(skip_none)]
    pub ability_score_options: Option<ClassAbilityScoreOption>,
}

/// `multi_classing.prerequisites[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassPrerequisite {
    pub ability_score: BackgroundAbilityScore,
    pub minimum_score: i32,
}

/// `multi_classing.prerequisite_options.from.options[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassFromOption {
    pub option_type: String,
    pub ability_score: BackgroundFeat,
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
pub struct ClassPrerequisiteOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: ClassPrerequisiteOptionFrom,
}

/// `multi_classing.proficiencies[].name` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassName {
    #[embed(name = "Light Armor")]
    LightArmor,
    #[embed(name = "Martial Weapons")]
    MartialWeapons,
    #[embed(name = "Medium Armor")]
    MediumArmor,
    Shields,
    #[embed(name = "Tool: Thieves' Tools")]
    ToolThievesTools,
}

/// `multi_classing.proficiencies[].url` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassUrl {
    #[embed(name = "/api/2024/proficiencies/light-armor")]
    Api2024ProficienciesLightArmor,
    #[embed(name = "/api/2024/proficiencies/martial-weapons")]
    Api2024ProficienciesMartialWeapons,
    #[embed(name = "/api/2024/proficiencies/medium-armor")]
    Api2024ProficienciesMediumArmor,
    #[embed(name = "/api/2024/proficiencies/shields")]
    Api2024ProficienciesShields,
    #[embed(name = "/api/2024/proficiencies/tool-thieves-tools")]
    Api2024ProficienciesToolThievesTools,
}

/// `multi_classing.proficiencies[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassProficiency {
    // Its values: "light-armor" (8), "shields" (6), "martial-weapons" (4), "medium-armor" (4),
    // "tool-thieves-tools" (1).
    // Refers to `proficiencies._id`: 0 of 0 were found. 5 of 5 distinct values were found, and the name
    // says it.
    #[reference(index = false)]
    pub index: Ref<Proficiency>,
    pub name: ClassName,
    pub url: ClassUrl,
}

/// `multi_classing.proficiency_choices[].from.options[].option_type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassOptionType {
    #[embed(name = "reference")]
    Reference,
}

/// `multi_classing.proficiency_choices[].from.options[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassFromOption2 {
    pub option_type: ClassOptionType,
    pub item: BackgroundProficiency,
}

/// `multi_classing.proficiency_choices[].from` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassProficiencyChoiceFrom {
    pub option_set_type: String,
    // Items: at most 18; half have up to 10, 99 of 100 up to 18.
    #[embed(max = 50)]
    pub options: Vec<ClassFromOption2>,
}

/// `multi_classing.proficiency_choices[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassProficiencyChoice {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: ClassProficiencyChoiceFrom,
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
    // Items: at most 4; half have up to 2, 99 of 100 up to 4.
    #[embed(max = 10)]
    pub proficiencies: Vec<ClassProficiency>,
    // Missing in 9 of 12.
    // Items: at most 2; half have up to 1, 99 of 100 up to 2.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub proficiency_choices: Option<Vec<ClassProficiencyChoice>>,
}

/// `proficiencies[].name` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassProficiencyName {
    #[embed(name = "All armor")]
    AllArmor,
    #[embed(name = "Hand crossbows")]
    HandCrossbows,
    #[embed(name = "Herbalism Kit")]
    HerbalismKit,
    #[embed(name = "Light Armor")]
    LightArmor,
    Longswords,
    #[embed(name = "Martial Weapons")]
    MartialWeapons,
    #[embed(name = "Medium Armor")]
    MediumArmor,
    Rapiers,
    #[embed(name = "Saving Throw: CHA")]
    SavingThrowCha,
    #[embed(name = "Saving Throw: CON")]
    SavingThrowCon,
    #[embed(name = "Saving Throw: DEX")]
    SavingThrowDex,
    #[embed(name = "Saving Throw: INT")]
    SavingThrowInt,
    #[embed(name = "Saving Throw: STR")]
    SavingThrowStr,
    #[embed(name = "Saving Throw: WIS")]
    SavingThrowWis,
    Scimitars,
    Shields,
    Shortswords,
    #[embed(name = "Simple Weapons")]
    SimpleWeapons,
    #[embed(name = "Tool: Thieves' Tools")]
    ToolThievesTools,
    Whips,
}

/// `proficiencies[].url` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassProficiencyUrl {
    #[embed(name = "/api/2024/proficiencies/all-armor")]
    Api2024ProficienciesAllArmor,
    #[embed(name = "/api/2024/proficiencies/hand-crossbows")]
    Api2024ProficienciesHandCrossbows,
    #[embed(name = "/api/2024/proficiencies/herbalism-kit")]
    Api2024ProficienciesHerbalismKit,
    #[embed(name = "/api/2024/proficiencies/light-armor")]
    Api2024ProficienciesLightArmor,
    #[embed(name = "/api/2024/proficiencies/longswords")]
    Api2024ProficienciesLongswords,
    #[embed(name = "/api/2024/proficiencies/martial-weapons")]
    Api2024ProficienciesMartialWeapons,
    #[embed(name = "/api/2024/proficiencies/medium-armor")]
    Api2024ProficienciesMediumArmor,
    #[embed(name = "/api/2024/proficiencies/rapiers")]
    Api2024ProficienciesRapiers,
    #[embed(name = "/api/2024/proficiencies/saving-throw-cha")]
    Api2024ProficienciesSavingThrowCha,
    #[embed(name = "/api/2024/proficiencies/saving-throw-con")]
    Api2024ProficienciesSavingThrowCon,
    #[embed(name = "/api/2024/proficiencies/saving-throw-dex")]
    Api2024ProficienciesSavingThrowDex,
    #[embed(name = "/api/2024/proficiencies/saving-throw-int")]
    Api2024ProficienciesSavingThrowInt,
    #[embed(name = "/api/2024/proficiencies/saving-throw-str")]
    Api2024ProficienciesSavingThrowStr,
    #[embed(name = "/api/2024/proficiencies/saving-throw-wis")]
    Api2024ProficienciesSavingThrowWis,
    #[embed(name = "/api/2024/proficiencies/scimitars")]
    Api2024ProficienciesScimitars,
    #[embed(name = "/api/2024/proficiencies/shields")]
    Api2024ProficienciesShields,
    #[embed(name = "/api/2024/proficiencies/shortswords")]
    Api2024ProficienciesShortswords,
    #[embed(name = "/api/2024/proficiencies/simple-weapons")]
    Api2024ProficienciesSimpleWeapons,
    #[embed(name = "/api/2024/proficiencies/tool-thieves-tools")]
    Api2024ProficienciesToolThievesTools,
    #[embed(name = "/api/2024/proficiencies/whips")]
    Api2024ProficienciesWhips,
}

/// `proficiencies[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassProficiency2 {
    // Its values: "simple-weapons" (12), "light-armor" (7), "shields" (6), "saving-throw-cha" (5),
    // "saving-throw-wis" (5), "martial-weapons" (4), "saving-throw-dex" (4), "saving-throw-str" (4),
    // "medium-armor" (3), "saving-throw-con" (3), "saving-throw-int" (3), "all-armor" (2), and 8 more.
    // Refers to `proficiencies._id`: 0 of 0 were found. 20 of 20 distinct values were found, and the
    // name says it.
    #[reference(index = false)]
    pub index: Ref<Proficiency>,
    pub name: ClassProficiencyName,
    pub url: ClassProficiencyUrl,
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
pub enum ClassOptionOptionType {
    #[embed(name = "choice")]
    Choice,
    #[embed(name = "reference")]
    Reference,
}

/// `proficiency_choices[].from.options[].item.name` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassItemName {
    Bagpipes,
    Drum,
    Dulcimer,
    Flute,
    Horn,
    Lute,
    Lyre,
    #[embed(name = "Pan flute")]
    PanFlute,
    Shawm,
    #[embed(name = "Skill: Acrobatics")]
    SkillAcrobatics,
    #[embed(name = "Skill: Animal Handling")]
    SkillAnimalHandling,
    #[embed(name = "Skill: Arcana")]
    SkillArcana,
    #[embed(name = "Skill: Athletics")]
    SkillAthletics,
    #[embed(name = "Skill: Deception")]
    SkillDeception,
    #[embed(name = "Skill: History")]
    SkillHistory,
    #[embed(name = "Skill: Insight")]
    SkillInsight,
    #[embed(name = "Skill: Intimidation")]
    SkillIntimidation,
    #[embed(name = "Skill: Investigation")]
    SkillInvestigation,
    #[embed(name = "Skill: Medicine")]
    SkillMedicine,
    #[embed(name = "Skill: Nature")]
    SkillNature,
    #[embed(name = "Skill: Perception")]
    SkillPerception,
    #[embed(name = "Skill: Performance")]
    SkillPerformance,
    #[embed(name = "Skill: Persuasion")]
    SkillPersuasion,
    #[embed(name = "Skill: Religion")]
    SkillReligion,
    #[embed(name = "Skill: Sleight of Hand")]
    SkillSleightOfHand,
    #[embed(name = "Skill: Stealth")]
    SkillStealth,
    #[embed(name = "Skill: Survival")]
    SkillSurvival,
    Viol,
}

/// `proficiency_choices[].from.options[].item.url` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassItemUrl {
    #[embed(name = "/api/2024/proficiencies/bagpipes")]
    Api2024ProficienciesBagpipes,
    #[embed(name = "/api/2024/proficiencies/drum")]
    Api2024ProficienciesDrum,
    #[embed(name = "/api/2024/proficiencies/dulcimer")]
    Api2024ProficienciesDulcimer,
    #[embed(name = "/api/2024/proficiencies/flute")]
    Api2024ProficienciesFlute,
    #[embed(name = "/api/2024/proficiencies/horn")]
    Api2024ProficienciesHorn,
    #[embed(name = "/api/2024/proficiencies/lute")]
    Api2024ProficienciesLute,
    #[embed(name = "/api/2024/proficiencies/lyre")]
    Api2024ProficienciesLyre,
    #[embed(name = "/api/2024/proficiencies/pan-flute")]
    Api2024ProficienciesPanFlute,
    #[embed(name = "/api/2024/proficiencies/shawm")]
    Api2024ProficienciesShawm,
    #[embed(name = "/api/2024/proficiencies/skill-acrobatics")]
    Api2024ProficienciesSkillAcrobatics,
    #[embed(name = "/api/2024/proficiencies/skill-animal-handling")]
    Api2024ProficienciesSkillAnimalHandling,
    #[embed(name = "/api/2024/proficiencies/skill-arcana")]
    Api2024ProficienciesSkillArcana,
    #[embed(name = "/api/2024/proficiencies/skill-athletics")]
    Api2024ProficienciesSkillAthletics,
    #[embed(name = "/api/2024/proficiencies/skill-deception")]
    Api2024ProficienciesSkillDeception,
    #[embed(name = "/api/2024/proficiencies/skill-history")]
    Api2024ProficienciesSkillHistory,
    #[embed(name = "/api/2024/proficiencies/skill-insight")]
    Api2024ProficienciesSkillInsight,
    #[embed(name = "/api/2024/proficiencies/skill-intimidation")]
    Api2024ProficienciesSkillIntimidation,
    #[embed(name = "/api/2024/proficiencies/skill-investigation")]
    Api2024ProficienciesSkillInvestigation,
    #[embed(name = "/api/2024/proficiencies/skill-medicine")]
    Api2024ProficienciesSkillMedicine,
    #[embed(name = "/api/2024/proficiencies/skill-nature")]
    Api2024ProficienciesSkillNature,
    #[embed(name = "/api/2024/proficiencies/skill-perception")]
    Api2024ProficienciesSkillPerception,
    #[embed(name = "/api/2024/proficiencies/skill-performance")]
    Api2024ProficienciesSkillPerformance,
    #[embed(name = "/api/2024/proficiencies/skill-persuasion")]
    Api2024ProficienciesSkillPersuasion,
    #[embed(name = "/api/2024/proficiencies/skill-religion")]
    Api2024ProficienciesSkillReligion,
    #[embed(name = "/api/2024/proficiencies/skill-sleight-of-hand")]
    Api2024ProficienciesSkillSleightOfHand,
    #[embed(name = "/api/2024/proficiencies/skill-stealth")]
    Api2024ProficienciesSkillStealth,
    #[embed(name = "/api/2024/proficiencies/skill-survival")]
    Api2024ProficienciesSkillSurvival,
    #[embed(name = "/api/2024/proficiencies/viol")]
    Api2024ProficienciesViol,
}

/// `proficiency_choices[].from.options[].item` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassItem {
    // Its values: "skill-insight" (10), "skill-religion" (8), "skill-athletics" (7),
    // "skill-intimidation" (7), "skill-history" (6), "skill-perception" (6), "skill-animal-handling"
    // (5), "skill-arcana" (5), "skill-investigation" (5), "skill-medicine" (5), "skill-nature" (5),
    // "skill-persuasion" (5), and 16 more.
    // Refers to `proficiencies._id`: 0 of 0 were found. 28 of 28 distinct values were found.
    #[reference(index = false)]
    pub index: Ref<Proficiency>,
    pub name: ClassItemName,
    pub url: ClassItemUrl,
}

/// `proficiency_choices[].from.options[]` of `classes`.
// 2 kinds of documents, told by `option_type`: choice (2): always `choice`; reference (105): always
// `item`. An enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassFromOption3 {
    pub option_type: ClassOptionOptionType,
    // Missing in 2 of 107.
    #[field(skip_none)]
    pub item: Option<ClassItem>,
    // Missing in 105 of 107.
    #[field(skip_none)]
    pub choice: Option<ClassProficiencyChoice>,
}

/// `proficiency_choices[].from` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassProficiencyChoiceFrom2 {
    pub option_set_type: ClassOptionSetType,
    // Items: at most 18; half have up to 6, 99 of 100 up to 18.
    #[embed(max = 50)]
    pub options: Vec<ClassFromOption3>,
}

/// `proficiency_choices[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassProficiencyChoice2 {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: ClassType,
    pub from: ClassProficiencyChoiceFrom2,
}

/// `saving_throws[].name` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassSavingThrowName {
    #[embed(name = "CHA")]
    Cha,
    #[embed(name = "CON")]
    Con,
    #[embed(name = "DEX")]
    Dex,
    #[embed(name = "INT")]
    Int,
    #[embed(name = "STR")]
    Str,
    #[embed(name = "WIS")]
    Wis,
}

/// `saving_throws[].url` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassSavingThrowUrl {
    #[embed(name = "/api/2024/ability-scores/cha")]
    Api2024AbilityScoresCha,
    #[embed(name = "/api/2024/ability-scores/con")]
    Api2024AbilityScoresCon,
    #[embed(name = "/api/2024/ability-scores/dex")]
    Api2024AbilityScoresDex,
    #[embed(name = "/api/2024/ability-scores/int")]
    Api2024AbilityScoresInt,
    #[embed(name = "/api/2024/ability-scores/str")]
    Api2024AbilityScoresStr,
    #[embed(name = "/api/2024/ability-scores/wis")]
    Api2024AbilityScoresWis,
}

/// `saving_throws[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassSavingThrow {
    // Its values: "cha" (5), "wis" (5), "dex" (4), "str" (4), "con" (3), "int" (3).
    // Refers to `ability_scores._id`: 0 of 0 were found. 6 of 6 distinct values were found.
    #[reference(index = false)]
    pub index: Ref<AbilityScore>,
    pub name: ClassSavingThrowName,
    pub url: ClassSavingThrowUrl,
}

/// `starting_equipment_options[].type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassStartingEquipmentOptionType {
    #[embed(name = "equipment")]
    Equipment,
}

/// `starting_equipment_options[].from.options[].items[].unit` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassUnit {
    #[embed(name = "gp")]
    Gp,
}

/// `starting_equipment_options[].from.options[].items[].choice.from.options[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassFromOption4 {
    pub option_type: String,
    pub choice: BackgroundChoice,
}

/// `starting_equipment_options[].from.options[].items[].choice.from` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassChoiceFrom {
    pub option_set_type: String,
    // Items: always 2.
    #[embed(max = 10)]
    pub options: Vec<ClassFromOption4>,
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
// 3 kinds of documents, told by `option_type`: choice (1): always `choice`; counted_reference (69):
// always `count`, `of`; money (13): always `count`, `unit`. An enum with `tag` would have a variant
// for each.
// 2 kinds of documents, told by `unit`: (missing) (70): no fields of its own; gp (13): always
// `count`, `unit`. An enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassOptionItem {
    pub option_type: BackgroundItemOptionType,
    // Missing in 1 of 83.
    #[field(skip_none)]
    pub count: Option<i32>,
    // Missing in 14 of 83.
    #[field(skip_none)]
    pub of: Option<BackgroundFeat>,
    // Missing in 70 of 83.
    #[field(skip_none)]
    pub unit: Option<ClassUnit>,
    // Missing in 82 of 83.
    #[field(skip_none)]
    pub choice: Option<ClassChoice>,
}

/// `starting_equipment_options[].from.options[]` of `classes`.
// 2 kinds of documents, told by `option_type`: money (12): always `count`, `unit`; multiple (13):
// always `items`. An enum with `tag` would have a variant for each.
// 2 kinds of documents, told by `unit`: (missing) (13): always `items`; gp (12): always `count`,
// `unit`. An enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassFromOption5 {
    pub option_type: BackgroundOptionType,
    // Missing in 12 of 25.
    // Items: at most 9; half have up to 6, 99 of 100 up to 9.
    #[embed(max = 20)]
    #[field(skip_none)]
    pub items: Option<Vec<ClassOptionItem>>,
    // Missing in 13 of 25.
    #[field(skip_none)]
    pub count: Option<i32>,
    // Missing in 13 of 25.
    #[field(skip_none)]
    pub unit: Option<ClassUnit>,
}

/// `starting_equipment_options[].from` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassStartingEquipmentOptionFrom {
    pub option_set_type: ClassOptionSetType,
    // Items: at most 3; half have up to 2, 99 of 100 up to 3.
    #[embed(max = 10)]
    pub options: Vec<ClassFromOption5>,
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
pub struct ClassSubclass {
    // Refers to `subclasses._id`: 0 of 0 were found. 12 of 12 distinct values were found, and the name
    // says it.
    #[reference(index = false)]
    pub index: Ref<Subclass>,
    pub name: String,
    pub url: String,
}

/// `spellcasting` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassSpellcasting {
    pub level: i32,
    pub spellcasting_ability: BackgroundAbilityScore,
}
