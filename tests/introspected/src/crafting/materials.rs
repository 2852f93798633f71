//! The collection `materials`.

use odm::prelude::*;
use std::collections::BTreeMap;

/// A document of `materials`: 16 were counted. Half of them have up to 287 bytes, the largest has
/// 728.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "materials")]
pub struct Material {
    pub id: ObjectId,
    pub name: String,
    // A map: its 31 keys are ObjectIds as text. Entries: at most 19; half have up to 6, 99 of 100 up to
    // 19.
    #[embed(max = 50, key_len = 50)]
    #[field(name = "toolSpeeds")]
    pub tool_speeds: BTreeMap<String, f64>,
}
