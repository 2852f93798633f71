//! The collection `entities`.

use super::Number;
use odm::prelude::*;

/// A document of `entities`: 124 were counted. Half of them have up to 143 bytes, the largest has
/// 173.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "entities")]
pub struct Entitie {
    pub id: ObjectId,
    pub name: String,
    #[field(name = "displayName")]
    pub display_name: String,
    // Its types differ: 13 int, 111 double. `retype` in a migration makes them one.
    pub width: Number,
    // Its types differ: 13 int, 111 double. `retype` in a migration makes them one.
    pub height: Number,
    #[field(name = "type")]
    pub type_: EntitieType,
    pub category: EntitieCategory,
}

/// `type` of `entities`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntitieType {
    #[embed(name = "ambient")]
    Ambient,
    #[embed(name = "animal")]
    Animal,
    #[embed(name = "hostile")]
    Hostile,
    #[embed(name = "living")]
    Living,
    #[embed(name = "mob")]
    Mob,
    #[embed(name = "other")]
    Other,
    #[embed(name = "passive")]
    Passive,
    #[embed(name = "player")]
    Player,
    #[embed(name = "projectile")]
    Projectile,
    #[embed(name = "water_creature")]
    WaterCreature,
}

/// `category` of `entities`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntitieCategory {
    #[embed(name = "Hostile mobs")]
    HostileMobs,
    Immobile,
    #[embed(name = "Passive mobs")]
    PassiveMobs,
    Projectiles,
    #[embed(name = "UNKNOWN")]
    Unknown,
    Vehicles,
}
