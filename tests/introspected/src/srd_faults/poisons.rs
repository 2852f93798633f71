//! The collection `poisons`.

use odm::prelude::*;

/// A document of `poisons`: 14 were counted. Half of them have up to 127 bytes, the largest has
/// 135.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "poisons")]
pub struct Poison {
    pub id: String,
    pub name: String,
    pub cost: i32,
    #[field(name = "type")]
    pub type_: PoisonType,
    pub url: String,
}

/// `type` of `poisons`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoisonType {
    #[embed(name = "contact")]
    Contact,
    #[embed(name = "ingested")]
    Ingested,
    #[embed(name = "inhaled")]
    Inhaled,
    #[embed(name = "injury")]
    Injury,
}
