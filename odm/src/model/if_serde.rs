//! serde of structs that the derives generate: they have it where the types of their fields have it.
//!
//! A model need not derive serde, and a derive can't see whether it does. So the fields of a generated struct are written and read by this
//! module, `#[serde(with = "…::if_serde")]`, and the struct has bounds that the compiler looks at where serde is asked for.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::marker::PhantomData;

/// A value of a field. The lifetime keeps the compiler from looking at a bound where it is written.
#[doc(hidden)]
pub struct IfSerde<'x, T>(T, PhantomData<&'x ()>);

impl<T: Serialize> Serialize for IfSerde<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for IfSerde<'_, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| IfSerde(value, PhantomData))
    }
}

/// Writes a field.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<T, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error>
where
    for<'x> IfSerde<'x, &'x T>: Serialize,
{
    IfSerde(value, PhantomData).serialize(serializer)
}

/// Reads a field.
///
/// # Errors
/// Those of the deserializer.
pub fn deserialize<'de, T, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error>
where
    for<'x> IfSerde<'x, T>: Deserialize<'de>,
{
    IfSerde::deserialize(deserializer).map(|IfSerde(value, _)| value)
}
