//! The collection `blocks`.

use super::Item;
use odm::prelude::*;
use std::collections::BTreeMap;

/// A document of `blocks`: 1003 were counted. Half of them have up to 575 bytes, the largest has
/// 1126.
// 12 kinds of documents, told by `material`: coweb (1): always `harvestTools`; default (227): no
// fields of its own; gourd;mineable/axe (3): no fields of its own; leaves;mineable/hoe (10): no
// fields of its own; mineable/axe (246): no fields of its own; mineable/hoe (15): no fields of its
// own; mineable/pickaxe (375): no fields of its own; mineable/shovel (36): no fields of its own;
// plant (26): no fields of its own; plant;mineable/axe (46): no fields of its own;
// vine_or_glow_lichen;plant;mineable/axe (2): no fields of its own; wool (16): no fields of its
// own. An enum with `tag` would have a variant for each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "blocks")]
pub struct Block {
    pub id: ObjectId,
    // Refers to `items.name`: 856 of 1003 were found, 147 refer to nothing. 168 of 200 distinct values
    // were found.
    #[reference(by = name, index = false)]
    pub name: Ref<Item, String>,
    // A copy: 855 equal `items.displayName`, 1 differ from it. 855 of 856 are equal; 856 distinct
    // values, the commonest has 0 %.
    #[denormalize(from = name.display_name)]
    #[field(name = "displayName")]
    pub display_name: String,
    pub hardness: f64,
    pub resistance: f64,
    // Perhaps a copy: 856 equal `items.stackSize`. The values are too few to tell a copy from chance.
    // 856 of 856 are equal; 3 distinct values, the commonest has 91 %.
    #[field(name = "stackSize")]
    pub stack_size: i32,
    pub diggable: bool,
    // Its values: "mineable/pickaxe" (375), "mineable/axe" (246), "default" (227), "plant;mineable/axe"
    // (46), "mineable/shovel" (36), "plant" (26), "wool" (16), "mineable/hoe" (15),
    // "leaves;mineable/hoe" (10), "gourd;mineable/axe" (3), "vine_or_glow_lichen;plant;mineable/axe"
    // (2), "coweb" (1).
    // Refers to `materials.name`: 1003 of 1003 were found. With a unique index on `name` of `materials`
    // it can be declared: `#[reference(by = name)]`. 12 of 12 distinct values were found, and the name
    // says it.
    pub material: String,
    pub transparent: bool,
    #[field(name = "emitLight")]
    pub emit_light: i32,
    #[field(name = "filterLight")]
    pub filter_light: i32,
    #[field(name = "defaultState")]
    pub default_state: i32,
    #[field(name = "minStateId")]
    pub min_state_id: i32,
    #[field(name = "maxStateId")]
    pub max_state_id: i32,
    // Items: at most 7; half have up to 1, 99 of 100 up to 6.
    #[embed(max = 10)]
    pub states: Vec<BlockState>,
    // Missing in 663 of 1003.
    // A map: its 19 keys are ObjectIds as text. Entries: at most 7; half have up to 6, 99 of 100 up to
    // 6.
    #[embed(max = 10, key_len = 50)]
    #[field(name = "harvestTools", skip_none)]
    pub harvest_tools: Option<BTreeMap<String, bool>>,
    // Items: at most 2; half have up to 1, 99 of 100 up to 2.
    // Refers to `items._id`: 873 of 873 were found. 200 of 200 distinct values were found.
    #[reference(many, max = 10, index = false)]
    pub drops: Vec<Ref<Item>>,
    #[field(name = "boundingBox")]
    pub bounding_box: BlockBoundingBox,
}

/// `states[].type` of `blocks`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockType {
    #[embed(name = "bool")]
    Bool,
    #[embed(name = "enum")]
    Enum,
    #[embed(name = "int")]
    Int,
}

/// `states[]` of `blocks`.
// 3 kinds of documents, told by `type`: bool (747): no fields of its own; enum (669): always
// `values`; int (132): always `values`. An enum with `tag` would have a variant for each.
// 81 kinds of documents, told by `name`: age (22): always `values`; attached (13): no fields of its
// own; attachment (1): always `values`; axis (56): always `values`; berries (2): no fields of its
// own; bites (1): always `values`; bloom (1): no fields of its own; bottom (1): no fields of its
// own; can_summon (1): no fields of its own; candles (17): always `values`; charges (1): always
// `values`; conditional (3): no fields of its own; and 69 more. An enum with `tag` would have a
// variant for each.
#[derive(Embed, Clone, Debug, PartialEq)]
pub struct BlockState {
    // Its values: "waterlogged" (310), "facing" (262), "half" (87), "powered" (74), "east" (62),
    // "north" (62), "south" (62), "west" (62), "type" (61), "shape" (57), "axis" (56), "rotation" (45),
    // and 69 more.
    pub name: String,
    #[field(name = "type")]
    pub type_: BlockType,
    // The length of `states[].values`: 801 are, 0 are not.
    pub num_values: i32,
    // Missing in 747 of 1548.
    // Items: at most 26; half have up to 4, 99 of 100 up to 17.
    #[embed(max = 50)]
    #[field(skip_none)]
    pub values: Option<Vec<String>>,
}

/// `boundingBox` of `blocks`.
#[derive(Embed, Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockBoundingBox {
    #[embed(name = "block")]
    Block,
    #[embed(name = "empty")]
    Empty,
}
