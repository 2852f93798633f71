//! The text of the types that `mod.rs` declares for all files.

use super::model::Helper;

/// The text of a type.
pub fn text(helper: Helper) -> &'static str {
    match helper {
        Helper::Integer => INTEGER,
        Helper::Number => NUMBER,
        Helper::OrNull => OR_NULL,
    }
}

const INTEGER: &str = r#"/// An integer that is stored in 32 bits where they are enough, and else in 64: as JavaScript and Python store integers.
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
"#;

const NUMBER: &str = "/// A number as it was stored: an integer or a floating-point number.
#[derive(Embed, Clone, Copy, Debug, PartialEq)]
#[embed(untagged)]
pub enum Number {
    Integer(Integer),
    Double(f64),
}
";

const OR_NULL: &str = "/// A value that some documents lack, and that is null in others. Where both mean the same, an `Option` with
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
";
