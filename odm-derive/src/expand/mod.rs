//! The generated code, one file an output. It is thin: it names constants and calls functions of `odm::__private`.

pub mod asserts;
pub mod bucket;
pub mod builder;
pub mod codec;
pub mod common_traits;
pub mod copy;
pub mod described;
pub mod document;
pub mod embed;
pub mod enums;
pub mod fielded;
pub mod generics;
pub mod if_serde;
pub mod index;
mod meta;
mod names;
pub mod new;
pub mod numbered;
pub mod patch;
pub mod paths;
pub mod projection;
pub mod reference;
pub mod request;
pub mod row;
pub mod rules;
mod search;
pub mod several;
mod shard_key;
pub mod stored;
mod target;
pub mod targets;
pub mod union;
pub mod value;
pub mod variants;

pub use target::{Target, at, default_crate};
