//! The shard key of a collection.

/// The shard key of a collection: `#[document(shard_key(…))]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardKeyMeta {
    /// Its fields, in the order of the key.
    pub fields: &'static [ShardKeyField],
}

/// One field of a shard key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardKeyField {
    /// The path of the field as it is stored: `tenant`, `address.country`, `_id`.
    pub path: &'static str,
    /// Whether documents are distributed by a hash of its value, and not by ranges of its values.
    pub hashed: bool,
}
