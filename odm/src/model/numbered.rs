//! Enums that are stored as integers: `#[embed(repr = i32)]`.

use crate::model::stored::{Bound, Done, Fault, Input, Name, Out, Read, Stored};
use serde::{Deserialize, Deserializer, Serializer, de, ser};

/// An enum whose variants carry nothing, each of which is stored as its number.
pub trait Numbered: Sized + 'static {
    /// The numbers of all variants.
    const NUMBERS: &'static [i64];
    /// Its name, for a message.
    const NAME: &'static str;
    /// The number of a value.
    fn number(&self) -> i64;
    /// The variant that has this number.
    fn of(number: i64) -> Option<Self>;
}

fn known<T: Numbered>() -> String {
    let all: Vec<String> = T::NUMBERS.iter().map(i64::to_string).collect();
    all.join(", ")
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
pub fn serialize_int<T: Numbered, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let number = i32::try_from(value.number()).map_err(ser::Error::custom)?;
    serializer.serialize_i32(number)
}

/// Writes the number in 64 bits.
pub fn serialize_long<T: Numbered, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(value.number())
}

/// Writes the number in 32 bits, without serde.
///
/// # Errors
/// For a number that does not fit, which the derive refuses.
pub fn write_int<T: Numbered>(value: &T, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
    match i32::try_from(value.number()) {
        Ok(number) => number.write(name, bound, out),
        Err(_) => Err(Fault::out_of_range("i32")),
    }
}

/// Writes the number in 64 bits, without serde.
///
/// # Errors
/// None.
pub fn write_long<T: Numbered>(value: &T, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done {
    value.number().write(name, bound, out)
}

/// Reads a number as the variant that has it, without serde.
///
/// # Errors
/// For a value that is no integer, and for a number that no variant has.
pub fn read<T: Numbered>(kind: u8, input: &mut Input<'_>) -> Read<T> {
    let number = i64::read(kind, input)?;
    T::of(number).ok_or_else(|| {
        Fault::other(format!(
            "the number is no `{}`: it is one of {}",
            T::NAME,
            known::<T>()
        ))
    })
}

/// Reads a number as the variant that has it.
pub fn deserialize<'de, T: Numbered, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let number = i64::deserialize(deserializer)?;
    T::of(number).ok_or_else(|| {
        de::Error::custom(format!(
            "{number} is no `{}`: it is one of {}",
            T::NAME,
            known::<T>()
        ))
    })
}
