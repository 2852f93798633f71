//! The collections of the database `crafting`, as `odm introspect` read them.

use odm::prelude::*;

pub mod blocks;
pub mod enchantments;
pub mod entities;
pub mod entity_loot;
pub mod foods;
pub mod items;
pub mod materials;
pub mod recipes;

pub use blocks::*;
pub use enchantments::*;
pub use entities::*;
pub use entity_loot::*;
pub use foods::*;
pub use items::*;
pub use materials::*;
pub use recipes::*;

/// The documents of all collections, for `Odm::new`.
pub fn models() -> [odm::Model; 8] {
    odm::models![
        Block,
        Enchantment,
        Entitie,
        EntityLoot,
        Food,
        Item,
        Material,
        Recipe,
    ]
}

/// An integer that is stored in 32 bits where they are enough, and else in 64: as JavaScript and Python store integers.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[embed(id)]
pub struct Integer(
    #[field(with = "integer")]
    #[field(stored = i64)]
    pub i64,
);

mod integer {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(n: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        match i32::try_from(*n) {
            Ok(n) => serializer.serialize_i32(n),
            Err(_) => serializer.serialize_i64(*n),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        i64::deserialize(deserializer)
    }
}

/// A number as it was stored: an integer or a floating-point number.
#[derive(Embed, Clone, Copy, Debug, PartialEq)]
#[embed(untagged)]
pub enum Number {
    Integer(Integer),
    Double(f64),
}
