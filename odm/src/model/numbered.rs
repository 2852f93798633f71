//! Enums that are stored as integers: `#[embed(repr = i32)]`.

use serde::{Deserialize, Deserializer, Serializer, de, ser};

/// An enum whose variants carry nothing, each of which is stored as its number.
pub trait Numbered: Copy + 'static {
    /// The variants with their numbers.
    const VARIANTS: &'static [(Self, i64)];
    /// Its name, for a message.
    const NAME: &'static str;
    /// The number of a value.
    fn number(self) -> i64;
}

/// The least and the greatest number.
pub const fn range(numbers: &[i64]) -> (i64, i64) {
    let (mut least, mut greatest) = (i64::MAX, i64::MIN);
    let mut i = 0;
    while i < numbers.len() {
        if numbers[i] < least {
            least = numbers[i];
        }
        if numbers[i] > greatest {
            greatest = numbers[i];
        }
        i += 1;
    }
    (least, greatest)
}

/// A number that is stored in 32 bits.
pub const fn int(number: i64) -> i32 {
    assert!(
        number >= i32::MIN as i64 && number <= i32::MAX as i64,
        "a number of a variant does not fit into an `i32`: write `#[embed(repr = i64)]`"
    );
    number as i32
}

/// Writes the number in 32 bits.
pub fn serialize_int<T: Numbered, S: Serializer>(value: T, serializer: S) -> Result<S::Ok, S::Error> {
    let number = i32::try_from(value.number()).map_err(ser::Error::custom)?;
    serializer.serialize_i32(number)
}

/// Writes the number in 64 bits.
pub fn serialize_long<T: Numbered, S: Serializer>(value: T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(value.number())
}

/// Reads a number as the variant that has it.
pub fn deserialize<'de, T: Numbered, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let number = i64::deserialize(deserializer)?;
    let found = T::VARIANTS.iter().find(|(_, other)| *other == number);
    found.map(|(variant, _)| *variant).ok_or_else(|| {
        let known: Vec<String> = T::VARIANTS.iter().map(|(_, number)| number.to_string()).collect();
        de::Error::custom(format!(
            "{number} is no `{}`: it is one of {}",
            T::NAME,
            known.join(", ")
        ))
    })
}
