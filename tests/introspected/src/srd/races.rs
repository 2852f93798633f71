//! The collection `races`.

use super::{AbilityScoreEntry, Language, OptionType, Subrace, Trait};
use odm::prelude::*;

/// A document of `races`: 9 were counted. Half of them have up to 895 bytes, the largest has 3381.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "races")]
#[document(index(fields(index), unique))]
pub struct Race {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    pub speed: i32,
    // Items: at most 6; half have up to 1, 99 of 100 up to 6.
    #[embed(max = 10)]
    pub ability_bonuses: Vec<AbilityBonuse>,
    // Missing in 8 of 9.
    #[field(skip_none)]
    pub ability_bonus_options: Option<RaceAbilityBonusOption>,
    pub size: RaceSize,
    // Items: at most 2; half have up to 2, 99 of 100 up to 2.
    #[embed(max = 10)]
    pub languages: Vec<LanguageEntry>,
    // Missing in 7 of 9.
    #[field(skip_none)]
    pub language_options: Option<LanguageOption>,
    // Items: at most 5; half have up to 3, 99 of 100 up to 5.
    #[embed(max = 10)]
    pub traits: Vec<TraitEntry>,
    // Items: at most 1; half have up to 0, 99 of 100 up to 1.
    #[embed(max = 10)]
    pub subraces: Vec<SubraceEntry>,
    pub url: String,
}

/// `ability_bonuses[]` of `races`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct AbilityBonuse {
    pub ability_score: AbilityScoreEntry,
    pub bonus: i32,
}

/// `ability_bonus_options.from.options[].option_type` of `races`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaceOptionType {
    #[embed(name = "ability_bonus")]
    AbilityBonus,
}

/// `ability_bonus_options.from.options[]` of `races`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct RaceOption {
    pub option_type: RaceOptionType,
    pub ability_score: AbilityScoreEntry,
    pub bonus: i32,
}

/// `ability_bonus_options.from` of `races`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct RaceFrom {
    pub option_set_type: String,
    // Items: always 5.
    #[embed(max = 10)]
    pub options: Vec<RaceOption>,
}

/// `ability_bonus_options` of `races`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct RaceAbilityBonusOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: RaceFrom,
}

/// `size` of `races`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaceSize {
    Medium,
    Small,
}

/// `languages[]` of `races`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct LanguageEntry {
    // Refers to `languages.index`: 17 of 17 were found. 8 of 8 distinct values were found, and the name
    // says it, and so were the fields beside it.
    #[reference(by = index, index = false)]
    pub index: Ref<Language, String>,
    // A copy: 17 equal `languages.name`. 17 of 17 are equal; 8 distinct values, the commonest has 53 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 17 equal `languages.url`. 17 of 17 are equal; 8 distinct values, the commonest has 53 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `language_options.from.options[]` of `races`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct RaceFromOption {
    pub option_type: OptionType,
    pub item: LanguageEntry,
}

/// `language_options.from` of `races`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct RaceLanguageOptionFrom {
    pub option_set_type: String,
    // Items: at most 15; half have up to 14, 99 of 100 up to 15.
    #[embed(max = 50)]
    pub options: Vec<RaceFromOption>,
}

/// `language_options` of `races`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct LanguageOption {
    pub choose: i32,
    #[field(name = "type")]
    pub type_: String,
    pub from: RaceLanguageOptionFrom,
}

/// `traits[]` of `races`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct TraitEntry {
    // Refers to `traits.index`: 27 of 27 were found. 21 of 21 distinct values were found, and the name
    // says it, and so were the fields beside it.
    // The other side of `traits.races[].index`: 27 pairs agree, 0 are on this side alone and 10 on the
    // other. The sides of a two-way reference hold the `_id` of each other. `inverse = …` would keep
    // both sides equal.
    #[reference(by = index, index = false)]
    pub index: Ref<Trait, String>,
    // A copy: 27 equal `traits.name`. 27 of 27 are equal; 21 distinct values, the commonest has 22 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 27 equal `traits.url`. 27 of 27 are equal; 21 distinct values, the commonest has 22 %.
    #[denormalize(from = index.url)]
    pub url: String,
}

/// `subraces[]` of `races`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct SubraceEntry {
    // Refers to `subraces.index`: 4 of 4 were found. 4 of 4 distinct values were found, and the name
    // says it, and so were the fields beside it.
    // The other side of `subraces.race.index`: 4 pairs agree. The sides of a two-way reference hold the
    // `_id` of each other. `inverse = …` would keep both sides equal.
    #[reference(by = index, index = false)]
    pub index: Ref<Subrace, String>,
    // A copy: 4 equal `subraces.name`. 4 of 4 are equal; 4 distinct values, the commonest has 25 %.
    #[denormalize(from = index.name)]
    pub name: String,
    // A copy: 4 equal `subraces.url`. 4 of 4 are equal; 4 distinct values, the commonest has 25 %.
    #[denormalize(from = index.url)]
    pub url: String,
}
