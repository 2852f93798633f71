//! The collections of the database `made`, as `odm introspect` read them.

use odm::prelude::*;

pub mod absent_values;
pub mod arrays;
pub mod composed;
pub mod kinds;
pub mod maps;
pub mod mixed_ids;
pub mod new_readers;
pub mod numbers;
pub mod products;
pub mod readers;
pub mod reviews;
pub mod type_;
pub mod works;
pub mod writers;

pub use absent_values::*;
pub use arrays::*;
pub use composed::*;
pub use kinds::*;
pub use maps::*;
pub use mixed_ids::*;
pub use new_readers::*;
pub use numbers::*;
pub use products::*;
pub use readers::*;
pub use reviews::*;
pub use type_::*;
pub use works::*;
pub use writers::*;

/// The documents of all collections, for `Odm::new`.
pub fn models() -> [odm::Model; 14] {
    odm::models![
        AbsentValue,
        Array,
        Composed,
        Kind,
        Map,
        MixedId,
        NewReader,
        Number2,
        Product,
        Reader2,
        Review,
        Type,
        Work,
        Writer,
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

/// A value that some documents lack, and that is null in others. Where both mean the same, an `Option` with
/// `#[field(skip_none)]` is simpler.
#[derive(Embed, Clone, Debug, Default, PartialEq)]
#[embed(untagged)]
pub enum OrNull<T> {
    #[default]
    #[embed(skip)]
    Missing,
    Null,
    Value(T),
}

impl<T> OrNull<T> {
    /// Whether the document lacks it.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }
}
