//! The collection `backgrounds`.

use super::{AbilityScore, Feat, Proficiency};
use odm::prelude::*;

/// A document of `backgrounds`: 4 were counted. Half of them have up to 1919 bytes, the largest has
/// 2810.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "backgrounds")]
pub struct Background {
    pub id: String,
    pub name: String,
    // Items: always 3.
    #[embed(max = 10)]
    pub ability_scores: Vec<AbilityScoreEntry>,
    pub feat: BackgroundFeat,
    // Items: at most 3; half have up to 3, 99 of 100 up to 3.
    #[embed(max = 10)]
    pub proficiencies: Vec<ProficiencyEntry>,
    // Missing in 3 of 4.
    // Items: always 1.
    #[embed(max = 10)]
    #[field(skip_none)]
    pub proficiency_choices: Option<Vec<ProficiencyChoice>>,
    // Items: always 1.
    #[embed(max = 10)]
    pub equipment_options: Vec<BackgroundEquipmentOption>,
    pub url: String,
}

/// `ability_scores[]` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct AbilityScoreEntry {
    // Refers to `ability_scores._id`: 12 of 12 were found. 6 of 6 distinct values were found, and the
    // name says it, and so were the fields beside it.
    #[reference(index = false)]
    pub index: Ref<AbilityScore>,
    // A copy: 12 equal `ability_scores.name`. 12 of 12 are equal; 6 distinct values, the commonest has
    // 25 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 12 equal `ability_scores.url`. 12 of 12 are equal; 6 distinct values, the commonest has
    // 25 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `feat` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundFeat {
    // Refers to `feats._id`: 4 of 4 were found. 3 of 3 distinct values were found, and the name says
    // it, and so were the fields beside it.
    #[reference(index = false)]
    pub index: Ref<Feat>,
    // A copy: 4 equal `feats.name`. 4 of 4 are equal; 3 distinct values, the commonest has 50 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 4 equal `feats.url`. 4 of 4 are equal; 3 distinct values, the commonest has 50 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `proficiencies[]` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ProficiencyEntry {
    // Refers to `proficiencies._id`: 11 of 11 were found. 10 of 10 distinct values were found, and the
    // name says it, and so were the fields beside it.
    // The other side of `proficiencies.backgrounds[].index`: 10 pairs agree, 1 are on this side alone
    // and 4 on the other. The sides of a two-way reference are fields of the documents themselves.
    // `inverse = …` would keep both sides equal.
    #[reference(index = false)]
    pub index: Ref<Proficiency>,
    // A copy: 11 equal `proficiencies.name`. 11 of 11 are equal; 10 distinct values, the commonest has
    // 18 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 11 equal `proficiencies.url`. 11 of 11 are equal; 10 distinct values, the commonest has
    // 18 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `proficiency_choices[].from.options[].item` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundItem {
    // Refers to `proficiencies._id`: 4 of 4 were found. 4 of 4 distinct values were found, and so were
    // the fields beside it.
    #[reference(index = false)]
    pub index: Ref<Proficiency>,
    // Perhaps a copy: 4 equal `proficiencies.name`. In an array inside an array no update would reach
    // it. 4 of 4 are equal; 4 distinct values, the commonest has 25 %.
    pub name: String,
    // Perhaps a copy: 4 equal `proficiencies.url`. In an array inside an array no update would reach
    // it. 4 of 4 are equal; 4 distinct values, the commonest has 25 %.
    pub url: String,
}

/// `proficiency_choices[].from.options[]` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundOption {
    pub option_type: String,
    pub item: BackgroundItem,
}

/// `proficiency_choices[].from` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundFrom {
    pub option_set_type: String,
    // Items: always 4.
    #[embed(max = 50)]
    pub options: Vec<BackgroundOption>,
}

/// `proficiency_choices[]` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct ProficiencyChoice {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: BackgroundFrom,
}

/// `equipment_options[].from.options[].items[].choice.from.equipment_category` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundEquipmentCategory {
    // Perhaps refers to `equipment_categories._id`: 1 of 1 were found. The data alone do not prove it.
    // 1 of 1 distinct values were found, and the name says it, and so were the fields beside it; so few
    // may be found by chance.
    pub index: String,
    // Perhaps a copy: 1 equal `equipment_categories.name`.
    // `equipment_options[].from.options[].items[].choice.from.equipment_category.index` is not declared
    // as a reference. 1 of 1 are equal; 1 distinct values, the commonest has 100 %.
    pub name: String,
    // Perhaps a copy: 1 equal `equipment_categories.url`.
    // `equipment_options[].from.options[].items[].choice.from.equipment_category.index` is not declared
    // as a reference. 1 of 1 are equal; 1 distinct values, the commonest has 100 %.
    pub url: String,
}

/// `equipment_options[].from.options[].items[].choice.from` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundChoiceFrom {
    pub option_set_type: String,
    pub equipment_category: BackgroundEquipmentCategory,
}

/// `equipment_options[].from.options[].items[].choice` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Choice {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: BackgroundChoiceFrom,
}

/// `equipment_options[].from.options[].items[]` of `backgrounds`.
// Told by `option_type`: "choice" (1), "counted_reference" (21), "money" (4).
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(tag = "option_type")]
pub enum BackgroundOptionItem {
    #[embed(name = "choice")]
    Choice {
        choice: Choice,
    },
    #[embed(name = "counted_reference")]
    CountedReference {
        count: i32,
        of: BackgroundEquipmentCategory,
    },
    #[embed(name = "money")]
    Money {
        count: i32,
        unit: String,
    },
}

/// `equipment_options[].from.options[]` of `backgrounds`.
// Told by `option_type`: "money" (4), "multiple" (4).
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(tag = "option_type")]
pub enum BackgroundFromOption {
    #[embed(name = "money")]
    Money {
        count: i32,
        unit: String,
    },
    #[embed(name = "multiple")]
    Multiple {
        // Items: at most 8; half have up to 6, 99 of 100 up to 8.
        #[embed(max = 20)]
        items: Vec<BackgroundOptionItem>,
    },
}

/// `equipment_options[].from` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundEquipmentOptionFrom {
    pub option_set_type: String,
    // Items: always 2.
    #[embed(max = 10)]
    pub options: Vec<BackgroundFromOption>,
}

/// `equipment_options[]` of `backgrounds`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BackgroundEquipmentOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: BackgroundEquipmentOptionFrom,
}
