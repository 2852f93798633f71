//! The collection `languages`.

use odm::prelude::*;

/// A document of `languages`: 16 were counted. Half of them have up to 175 bytes, the largest has
/// 193.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "languages")]
#[document(index(fields(index), unique))]
pub struct Language {
    pub id: ObjectId,
    pub index: String,
    pub name: String,
    #[field(name = "type")]
    pub type_: LanguageType,
    // Items: at most 2; half have up to 1, 99 of 100 up to 2.
    #[embed(max = 10)]
    pub typical_speakers: Vec<String>,
    // Missing in 1 of 16.
    #[field(skip_none)]
    pub script: Option<LanguageScript>,
    pub url: String,
}

/// `type` of `languages`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum LanguageType {
    Exotic,
    Standard,
}

/// `script` of `languages`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum LanguageScript {
    Celestial,
    Common,
    Draconic,
    Dwarvish,
    Elvish,
    Infernal,
}
