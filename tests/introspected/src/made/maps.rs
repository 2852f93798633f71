//! The collection `maps`.

use super::BothListList;
use odm::prelude::*;
use std::collections::BTreeMap;

/// A document of `maps`: 40 were counted. Half of them have up to 653 bytes, the largest has 653.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "maps")]
pub struct Map {
    pub id: i64,
    // A map: 160 of its 160 keys are no names of fields. Entries: always 4.
    #[embed(max = 10, key_len = 50)]
    pub scores: BTreeMap<String, i32>,
    // A map: 160 of its 160 keys are no names of fields. Entries: always 4.
    #[embed(max = 10, key_len = 50)]
    pub lists: BTreeMap<String, BothListList>,
    // A map: 160 of its 160 keys are no names of fields. Entries: always 4.
    #[embed(max = 10, key_len = 50)]
    pub documents: BTreeMap<String, MapDocument>,
    // A map: 120 of its 120 keys are no names of fields. Entries: always 3.
    #[field(opaque)]
    pub hosts: odm::bson::Document,
}

/// `documents{}.by` of `maps`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapBy {
    #[embed(name = "me")]
    Me,
}

/// `documents{}` of `maps`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct MapDocument {
    pub at: DateTime,
    pub by: MapBy,
}
