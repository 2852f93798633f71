//! The collection `classes`.

use super::{
    AbilityScore, BackgroundStartingEquipmentOption, BackgroundStartingProficiency, Equipment,
    EquipmentCategory, Proficiency, Subclass,
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
    pub proficiencies: Vec<ClassProficiency2>,
    // Items: at most 2; half have up to 1, 99 of 100 up to 2.
    #[embed(max = 10)]
    pub proficiency_choices: Vec<ClassProficiencyChoice2>,
    // Items: always 2.
    #[embed(max = 10)]
    pub saving_throws: Vec<ClassSavingThrow>,
    // Items: at most 3; half have up to 1, 99 of 100 up to 3.
    #[embed(max = 10)]
    pub starting_equipment: Vec<ClassStartingEquipment>,
    // Items: at most 5; half have up to 3, 99 of 100 up to 5.
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
}

/// `multi_classing.prerequisites[].ability_score` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassAbilityScore {
    // Refers to `ability_scores.index`: 0 of 0 were found. 5 of 5 distinct values were found, and the
    // name says it.
    #[reference(by = index, index = false)]
    pub index: Ref<AbilityScore, String>,
    pub name: String,
    pub url: String,
}

/// `multi_classing.prerequisites[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassPrerequisite {
    pub ability_score: ClassAbilityScore,
    pub minimum_score: i32,
}

/// `multi_classing.prerequisite_options.from.options[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassOption {
    pub option_type: String,
    pub ability_score: BackgroundStartingProficiency,
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
    Shortswords,
    #[embed(name = "Simple Weapons")]
    SimpleWeapons,
    #[embed(name = "Thieves' Tools")]
    ThievesTools,
}

/// `multi_classing.proficiencies[].url` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassUrl {
    #[embed(name = "/api/2014/proficiencies/light-armor")]
    Api2014ProficienciesLightArmor,
    #[embed(name = "/api/2014/proficiencies/martial-weapons")]
    Api2014ProficienciesMartialWeapons,
    #[embed(name = "/api/2014/proficiencies/medium-armor")]
    Api2014ProficienciesMediumArmor,
    #[embed(name = "/api/2014/proficiencies/shields")]
    Api2014ProficienciesShields,
    #[embed(name = "/api/2014/proficiencies/shortswords")]
    Api2014ProficienciesShortswords,
    #[embed(name = "/api/2014/proficiencies/simple-weapons")]
    Api2014ProficienciesSimpleWeapons,
    #[embed(name = "/api/2014/proficiencies/thieves-tools")]
    Api2014ProficienciesThievesTools,
}

/// `multi_classing.proficiencies[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassProficiency {
    // Its values: "light-armor" (8), "shields" (6), "simple-weapons" (6), "medium-armor" (5),
    // "martial-weapons" (4), "shortswords" (1), "thieves-tools" (1).
    // Refers to `proficiencies.index`: 0 of 0 were found. 7 of 7 distinct values were found, and the
    // name says it.
    #[reference(by = index, index = false)]
    pub index: Ref<Proficiency, String>,
    pub name: ClassName,
    pub url: ClassUrl,
}

/// `multi_classing.proficiency_choices[].from.options[].option_type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassOptionType {
    #[embed(name = "reference")]
    Reference,
}

/// `multi_classing.proficiency_choices[].from.options[].item` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassItem {
    // Refers to `proficiencies.index`: 0 of 0 were found. 28 of 28 distinct values were found.
    #[reference(by = index, index = false)]
    pub index: Ref<Proficiency, String>,
    pub name: String,
    pub url: String,
}

/// `multi_classing.proficiency_choices[].from.options[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassFromOption {
    pub option_type: ClassOptionType,
    pub item: ClassItem,
}

/// `multi_classing.proficiency_choices[].from` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassProficiencyChoiceFrom {
    pub option_set_type: String,
    // Items: at most 18; half have up to 10, 99 of 100 up to 18.
    #[embed(max = 50)]
    pub options: Vec<ClassFromOption>,
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
    // Items: at most 5; half have up to 2, 99 of 100 up to 5.
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
    Clubs,
    #[embed(name = "Crossbows, light")]
    CrossbowsLight,
    Daggers,
    Darts,
    #[embed(name = "Hand crossbows")]
    HandCrossbows,
    #[embed(name = "Herbalism Kit")]
    HerbalismKit,
    Javelins,
    #[embed(name = "Light Armor")]
    LightArmor,
    Longswords,
    Maces,
    #[embed(name = "Martial Weapons")]
    MartialWeapons,
    #[embed(name = "Medium Armor")]
    MediumArmor,
    Quarterstaffs,
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
    Sickles,
    #[embed(name = "Simple Weapons")]
    SimpleWeapons,
    Slings,
    Spears,
    #[embed(name = "Thieves' Tools")]
    ThievesTools,
}

/// `proficiencies[].url` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassProficiencyUrl {
    #[embed(name = "/api/2014/proficiencies/all-armor")]
    Api2014ProficienciesAllArmor,
    #[embed(name = "/api/2014/proficiencies/clubs")]
    Api2014ProficienciesClubs,
    #[embed(name = "/api/2014/proficiencies/crossbows-light")]
    Api2014ProficienciesCrossbowsLight,
    #[embed(name = "/api/2014/proficiencies/daggers")]
    Api2014ProficienciesDaggers,
    #[embed(name = "/api/2014/proficiencies/darts")]
    Api2014ProficienciesDarts,
    #[embed(name = "/api/2014/proficiencies/hand-crossbows")]
    Api2014ProficienciesHandCrossbows,
    #[embed(name = "/api/2014/proficiencies/herbalism-kit")]
    Api2014ProficienciesHerbalismKit,
    #[embed(name = "/api/2014/proficiencies/javelins")]
    Api2014ProficienciesJavelins,
    #[embed(name = "/api/2014/proficiencies/light-armor")]
    Api2014ProficienciesLightArmor,
    #[embed(name = "/api/2014/proficiencies/longswords")]
    Api2014ProficienciesLongswords,
    #[embed(name = "/api/2014/proficiencies/maces")]
    Api2014ProficienciesMaces,
    #[embed(name = "/api/2014/proficiencies/martial-weapons")]
    Api2014ProficienciesMartialWeapons,
    #[embed(name = "/api/2014/proficiencies/medium-armor")]
    Api2014ProficienciesMediumArmor,
    #[embed(name = "/api/2014/proficiencies/quarterstaffs")]
    Api2014ProficienciesQuarterstaffs,
    #[embed(name = "/api/2014/proficiencies/rapiers")]
    Api2014ProficienciesRapiers,
    #[embed(name = "/api/2014/proficiencies/saving-throw-cha")]
    Api2014ProficienciesSavingThrowCha,
    #[embed(name = "/api/2014/proficiencies/saving-throw-con")]
    Api2014ProficienciesSavingThrowCon,
    #[embed(name = "/api/2014/proficiencies/saving-throw-dex")]
    Api2014ProficienciesSavingThrowDex,
    #[embed(name = "/api/2014/proficiencies/saving-throw-int")]
    Api2014ProficienciesSavingThrowInt,
    #[embed(name = "/api/2014/proficiencies/saving-throw-str")]
    Api2014ProficienciesSavingThrowStr,
    #[embed(name = "/api/2014/proficiencies/saving-throw-wis")]
    Api2014ProficienciesSavingThrowWis,
    #[embed(name = "/api/2014/proficiencies/scimitars")]
    Api2014ProficienciesScimitars,
    #[embed(name = "/api/2014/proficiencies/shields")]
    Api2014ProficienciesShields,
    #[embed(name = "/api/2014/proficiencies/shortswords")]
    Api2014ProficienciesShortswords,
    #[embed(name = "/api/2014/proficiencies/sickles")]
    Api2014ProficienciesSickles,
    #[embed(name = "/api/2014/proficiencies/simple-weapons")]
    Api2014ProficienciesSimpleWeapons,
    #[embed(name = "/api/2014/proficiencies/slings")]
    Api2014ProficienciesSlings,
    #[embed(name = "/api/2014/proficiencies/spears")]
    Api2014ProficienciesSpears,
    #[embed(name = "/api/2014/proficiencies/thieves-tools")]
    Api2014ProficienciesThievesTools,
}

/// `proficiencies[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassProficiency2 {
    // Its values: "simple-weapons" (9), "light-armor" (7), "shields" (6), "saving-throw-cha" (5),
    // "saving-throw-wis" (5), "martial-weapons" (4), "medium-armor" (4), "saving-throw-dex" (4),
    // "saving-throw-str" (4), "daggers" (3), "darts" (3), "quarterstaffs" (3), and 17 more.
    // Refers to `proficiencies.index`: 0 of 0 were found. 29 of 29 distinct values were found, and the
    // name says it.
    #[reference(by = index, index = false)]
    pub index: Ref<Proficiency, String>,
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
    #[embed(name = "/api/2014/proficiencies/bagpipes")]
    Api2014ProficienciesBagpipes,
    #[embed(name = "/api/2014/proficiencies/drum")]
    Api2014ProficienciesDrum,
    #[embed(name = "/api/2014/proficiencies/dulcimer")]
    Api2014ProficienciesDulcimer,
    #[embed(name = "/api/2014/proficiencies/flute")]
    Api2014ProficienciesFlute,
    #[embed(name = "/api/2014/proficiencies/horn")]
    Api2014ProficienciesHorn,
    #[embed(name = "/api/2014/proficiencies/lute")]
    Api2014ProficienciesLute,
    #[embed(name = "/api/2014/proficiencies/lyre")]
    Api2014ProficienciesLyre,
    #[embed(name = "/api/2014/proficiencies/pan-flute")]
    Api2014ProficienciesPanFlute,
    #[embed(name = "/api/2014/proficiencies/shawm")]
    Api2014ProficienciesShawm,
    #[embed(name = "/api/2014/proficiencies/skill-acrobatics")]
    Api2014ProficienciesSkillAcrobatics,
    #[embed(name = "/api/2014/proficiencies/skill-animal-handling")]
    Api2014ProficienciesSkillAnimalHandling,
    #[embed(name = "/api/2014/proficiencies/skill-arcana")]
    Api2014ProficienciesSkillArcana,
    #[embed(name = "/api/2014/proficiencies/skill-athletics")]
    Api2014ProficienciesSkillAthletics,
    #[embed(name = "/api/2014/proficiencies/skill-deception")]
    Api2014ProficienciesSkillDeception,
    #[embed(name = "/api/2014/proficiencies/skill-history")]
    Api2014ProficienciesSkillHistory,
    #[embed(name = "/api/2014/proficiencies/skill-insight")]
    Api2014ProficienciesSkillInsight,
    #[embed(name = "/api/2014/proficiencies/skill-intimidation")]
    Api2014ProficienciesSkillIntimidation,
    #[embed(name = "/api/2014/proficiencies/skill-investigation")]
    Api2014ProficienciesSkillInvestigation,
    #[embed(name = "/api/2014/proficiencies/skill-medicine")]
    Api2014ProficienciesSkillMedicine,
    #[embed(name = "/api/2014/proficiencies/skill-nature")]
    Api2014ProficienciesSkillNature,
    #[embed(name = "/api/2014/proficiencies/skill-perception")]
    Api2014ProficienciesSkillPerception,
    #[embed(name = "/api/2014/proficiencies/skill-performance")]
    Api2014ProficienciesSkillPerformance,
    #[embed(name = "/api/2014/proficiencies/skill-persuasion")]
    Api2014ProficienciesSkillPersuasion,
    #[embed(name = "/api/2014/proficiencies/skill-religion")]
    Api2014ProficienciesSkillReligion,
    #[embed(name = "/api/2014/proficiencies/skill-sleight-of-hand")]
    Api2014ProficienciesSkillSleightOfHand,
    #[embed(name = "/api/2014/proficiencies/skill-stealth")]
    Api2014ProficienciesSkillStealth,
    #[embed(name = "/api/2014/proficiencies/skill-survival")]
    Api2014ProficienciesSkillSurvival,
    #[embed(name = "/api/2014/proficiencies/viol")]
    Api2014ProficienciesViol,
}

/// `proficiency_choices[].from.options[].item` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassOptionItem {
    // Its values: "skill-insight" (10), "skill-religion" (8), "skill-athletics" (7),
    // "skill-intimidation" (7), "skill-history" (6), "skill-perception" (6), "skill-animal-handling"
    // (5), "skill-arcana" (5), "skill-investigation" (5), "skill-medicine" (5), "skill-nature" (5),
    // "skill-persuasion" (5), and 16 more.
    // Refers to `proficiencies.index`: 0 of 0 were found. 28 of 28 distinct values were found.
    #[reference(by = index, index = false)]
    pub index: Ref<Proficiency, String>,
    pub name: ClassItemName,
    pub url: ClassItemUrl,
}

/// `proficiency_choices[].from.options[]` of `classes`.
// 2 kinds of documents, told by `option_type`: choice (2): always `choice`; reference (105): always
// `item`. An enum with `tag` would have a variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassFromOption2 {
    pub option_type: ClassOptionOptionType,
    // Missing in 2 of 107.
    #[field(skip_none)]
    pub item: Option<ClassOptionItem>,
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
    pub options: Vec<ClassFromOption2>,
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
    #[embed(name = "/api/2014/ability-scores/cha")]
    Api2014AbilityScoresCha,
    #[embed(name = "/api/2014/ability-scores/con")]
    Api2014AbilityScoresCon,
    #[embed(name = "/api/2014/ability-scores/dex")]
    Api2014AbilityScoresDex,
    #[embed(name = "/api/2014/ability-scores/int")]
    Api2014AbilityScoresInt,
    #[embed(name = "/api/2014/ability-scores/str")]
    Api2014AbilityScoresStr,
    #[embed(name = "/api/2014/ability-scores/wis")]
    Api2014AbilityScoresWis,
}

/// `saving_throws[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassSavingThrow {
    // Its values: "cha" (5), "wis" (5), "dex" (4), "str" (4), "con" (3), "int" (3).
    // Refers to `ability_scores.index`: 0 of 0 were found. 6 of 6 distinct values were found.
    #[reference(by = index, index = false)]
    pub index: Ref<AbilityScore, String>,
    pub name: ClassSavingThrowName,
    pub url: ClassSavingThrowUrl,
}

/// `starting_equipment[].equipment` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassEquipment {
    // Refers to `equipment.index`: 0 of 0 were found. 11 of 11 distinct values were found, and the name
    // says it.
    #[reference(by = index, index = false)]
    pub index: Ref<Equipment, String>,
    pub name: String,
    pub url: String,
}

/// `starting_equipment[]` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassStartingEquipment {
    pub equipment: ClassEquipment,
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
pub enum ClassFromOptionSetType {
    #[embed(name = "equipment_category")]
    EquipmentCategory,
    #[embed(name = "options_array")]
    OptionsArray,
}

/// `starting_equipment_options[].from.options[].option_type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassOptionOptionType2 {
    #[embed(name = "choice")]
    Choice,
    #[embed(name = "counted_reference")]
    CountedReference,
    #[embed(name = "multiple")]
    Multiple,
}

/// `starting_equipment_options[].from.options[].choice.from.option_set_type` of `classes`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassFromOptionSetType2 {
    #[embed(name = "equipment_category")]
    EquipmentCategory,
}

/// `starting_equipment_options[].from.options[].choice.from.equipment_category` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassEquipmentCategory {
    // Refers to `equipment_categories.index`: 0 of 0 were found. 6 of 6 distinct values were found, and
    // the name says it.
    #[reference(by = index, index = false)]
    pub index: Ref<EquipmentCategory, String>,
    pub name: String,
    pub url: String,
}

/// `starting_equipment_options[].from.options[].choice.from` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassChoiceFrom {
    pub option_set_type: ClassFromOptionSetType2,
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
    pub proficiency: BackgroundStartingProficiency,
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
pub struct ClassOptionItem2 {
    pub option_type: ClassItemOptionType,
    // Missing in 2 of 17.
    #[field(skip_none)]
    pub count: Option<i32>,
    // Missing in 2 of 17.
    #[field(skip_none)]
    pub of: Option<ClassEquipment>,
    // Missing in 15 of 17.
    #[field(skip_none)]
    pub choice: Option<BackgroundStartingEquipmentOption>,
}

/// `starting_equipment_options[].from.options[]` of `classes`.
// 3 kinds of documents, told by `option_type`: choice (17): always `choice`; counted_reference
// (48): always `count`, `of`; multiple (8): always `items`. An enum with `tag` would have a variant
// for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassFromOption3 {
    pub option_type: ClassOptionOptionType2,
    // Missing in 25 of 73.
    #[field(skip_none)]
    pub count: Option<i32>,
    // Missing in 25 of 73.
    #[field(skip_none)]
    pub of: Option<ClassEquipment>,
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
    pub items: Option<Vec<ClassOptionItem2>>,
}

/// `starting_equipment_options[].from` of `classes`.
// 2 kinds of documents, told by `option_set_type`: equipment_category (4): always
// `equipment_category`; options_array (35): always `options`. An enum with `tag` would have a
// variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassStartingEquipmentOptionFrom {
    pub option_set_type: ClassFromOptionSetType,
    // Missing in 4 of 39.
    // Items: at most 3; half have up to 2, 99 of 100 up to 3.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub options: Option<Vec<ClassFromOption3>>,
    // Missing in 35 of 39.
    #[field(skip_none)]
    pub equipment_category: Option<BackgroundStartingProficiency>,
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
    // Refers to `subclasses.index`: 0 of 0 were found. 12 of 12 distinct values were found, and the
    // name says it.
    #[reference(by = index, index = false)]
    pub index: Ref<Subclass, String>,
    pub name: String,
    pub url: String,
}

/// `spellcasting` of `classes`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ClassSpellcasting {
    pub level: i32,
    pub spellcasting_ability: ClassAbilityScore,
}
