//! The collection `absent-values`.

use super::OrNull;
use odm::bson::Bson;
use odm::prelude::*;

/// A document of `absent-values`: 12 were counted. Half of them have up to 111 bytes, the largest
/// has 156.
// 2 kinds of documents, told by which of `both_document` is there: none (4): no fields of its own;
// both_document (8): always `both`, `both_list`, `both_document`. An enum with `tag` would have a
// variant for each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "absent-values")]
pub struct AbsentValue {
    pub id: i32,
    pub always: i32,
    // Null in 6 of 12.
    pub null: Option<i32>,
    // Missing in 6 of 12.
    #[field(skip_none)]
    pub missing: Option<i32>,
    // Missing in 4 of 12, null in 4.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub both: OrNull<String>,
    // Missing in 4 of 12, null in 4.
    // Items: always 2.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub both_list: OrNull<BothListList>,
    // Missing in 4 of 12, null in 4.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub both_document: OrNull<AbsentValueBothDocument>,
    // Missing in 8 of 12, null in 4.
    // Nothing but null was found, so that the type of its values is a guess.
    #[field(default)]
    #[serde(skip_serializing_if = "OrNull::is_missing")]
    pub only_null: OrNull<String>,
    // Null in 12 of 12.
    // Nothing but null was found, so that the type of its values is a guess.
    pub nothing: Option<String>,
    // Only documents without fields that can be declared were found.
    #[field(opaque)]
    pub empty: odm::bson::Document,
    // Only empty arrays were found.
    // Items: always 0.
    #[field(opaque)]
    pub none: Vec<Bson>,
}

/// `both_list` of `absent-values`.
#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(transparent)]
pub struct BothListList {
    // Missing in 4 of 12, null in 4.
    // Items: always 2.
    #[embed(max = 10)]
    pub items: Vec<i32>,
}

/// `both_document` of `absent-values`.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct AbsentValueBothDocument {
    pub x: i32,
    pub y: i32,
}
