//! How values are written as BSON and read back: by the traits that the derives implement, without serde.
//!
//! A document is written into one buffer ([`Out`]), each field with its type, its name and its value, and the declared bounds are
//! compared on the way. It is read in the order of its struct: [`Reader::by`] compares the name of the next element with that of the
//! next field, in place. A field that stands elsewhere is searched for, on a path of its own that most documents never take.
//!
//! | file | holds |
//! | --- | --- |
//! | `value.rs`, `row.rs` | the traits: [`Stored`] for values, [`Key`] for keys of maps, [`Fields`] and [`Row`] for what has fields |
//! | `field.rs`, `name.rs` | [`Field`], the constant of one field, and the name as it is written |
//! | `input.rs`, `reader.rs`, `search.rs` | the bytes that are read; the fields of a document; those that are not the next one |
//! | `out.rs`, `bound.rs` | the bytes that are written; the bounds that are compared meanwhile |
//! | `variant.rs` | enums |
//! | `leaf.rs`, `bson.rs`, `wrap.rs`, `list.rs`, `map.rs` | the types |
//! | `functions.rs`, `by_type.rs` | the functions of a type; the same, named without a bound |
//! | `by_serde.rs` | fields that only serde can write and read |
//! | `fault.rs` | what went wrong, and where |
//! | `oracle.rs` | the same by serde, for the tests |
//!
//! Invariant: any bytes are read without a panic, and an error names types and places, never a stored value.

mod bound;
mod bson;
mod by_serde;
mod by_type;
mod fault;
mod field;
mod functions;
mod input;
mod leaf;
mod list;
mod map;
mod name;
mod oracle;
mod out;
mod reader;
mod row;
mod search;
#[cfg(test)]
mod tests;
mod value;
mod variant;
mod wrap;

pub use bound::{Bound, Limit, within};
pub use by_serde::{BySerde, DeserializeBy, OwnSerde, SerializeBy};
pub use by_type::{ByType, Extra, Flat, Otherwise, flat};
pub use fault::{Done, Fault, Read, Step};
pub use field::Field;
pub use functions::{Functions, functions};
pub use input::Input;
pub use list::Items;
pub use map::Entries;
pub use name::{Name, StoredName, aliases};
pub use oracle::Oracle;
pub use out::Out;
pub use reader::Reader;
pub(crate) use row::embedded_type;
pub use row::{Fields, Row, document, embedded, named, read, read_alone, write, write_alone};
pub use value::{Key, KeyLike, Stored};
pub use variant::{Untagged, Variant, external, unit};
