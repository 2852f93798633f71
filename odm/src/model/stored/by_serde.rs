//! Fields that serde writes and reads: with `#[serde(with = "…")]`, `#[field(opaque)]` or `#[field(stored = Type)]`.

use super::bound::Bound;
use super::bson::{alone, check_levels};
use super::fault::{Done, Fault, Read};
use super::functions::Functions;
use super::input::Input;
use super::name::Name;
use super::out::Out;
use super::reader::Reader;
use mongodb::bson;
use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;
use serde::{Deserializer, Serialize, Serializer};
use std::marker::PhantomData;

/// How serde writes a field: by its type, or by a function of the application.
pub trait SerializeBy<T>: 'static {
    /// Hands the value to a serializer.
    ///
    /// # Errors
    /// Those of the serializer.
    fn serialize<S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error>;
}

/// How serde reads a field: by its type, or by a function of the application.
pub trait DeserializeBy<T>: 'static {
    /// Takes the value out of a deserializer.
    ///
    /// # Errors
    /// Those of the deserializer.
    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error>;
}

/// As serde writes and reads the type: an opaque field.
pub struct OwnSerde(());

impl<T: Serialize> SerializeBy<T> for OwnSerde {
    fn serialize<S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }
}

impl<T: DeserializeOwned> DeserializeBy<T> for OwnSerde {
    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::deserialize(deserializer)
    }
}

/// How serde writes the values of one field, as `C` says, and reads them, as `D` says.
pub struct BySerde<C, D = C>(PhantomData<(C, D)>);

impl<C: 'static, D: 'static> BySerde<C, D> {
    /// The functions of a field that has to be there, or to have a default.
    pub const fn functions<T: 'static>() -> Functions<T>
    where
        C: SerializeBy<T>,
        D: DeserializeBy<T>,
    {
        Functions {
            write: Self::write,
            read: Self::read,
            missing: || Err(Fault::missing()),
        }
    }

    /// Writes a value, as [`Stored::write`](super::value::Stored::write).
    ///
    /// # Errors
    /// Those of serde.
    pub fn write<T>(value: &T, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done
    where
        C: SerializeBy<T>,
    {
        let mut bytes = Vec::with_capacity(128);
        let value = Coded::<T, C>(value, PhantomData);
        let written = bson::serialize_to_buffer(&Alone { value: &value }, &mut bytes);
        written.map_err(|error| by_serde(&error))?;
        let mut elements = Reader::of(&bytes)?.next;
        let Some((kind, _)) = elements.element()? else {
            return Err(Fault::malformed());
        };
        out.raw(kind, name, elements.rest());
        check_levels(kind, elements.rest(), out);
        // What serde has made of the value is looked at by the walk alone.
        if bound.is_some() {
            out.leave_to_walk();
        }
        Ok(())
    }

    /// Reads a value, as [`Stored::read`](super::value::Stored::read).
    ///
    /// # Errors
    /// Those of serde.
    pub fn read<T>(kind: u8, input: &mut Input<'_>) -> Read<T>
    where
        D: DeserializeBy<T>,
    {
        #[derive(serde::Deserialize)]
        #[serde(bound = "D: DeserializeBy<T>")]
        struct Alone<T, D> {
            #[serde(deserialize_with = "D::deserialize")]
            v: T,
            #[serde(skip)]
            by: PhantomData<D>,
        }
        let alone = alone(kind, input.value(kind)?)?;
        let read: bson::error::Result<Alone<T, D>> = bson::deserialize_from_slice(alone.as_bytes());
        read.map(|alone| alone.v).map_err(|error| by_serde(&error))
    }
}

/// What serde makes of a field that is not there.
pub(super) fn missing<T: DeserializeOwned>() -> Read<T> {
    #[derive(serde::Deserialize)]
    struct Alone<T> {
        v: T,
    }
    const EMPTY: [u8; 5] = [5, 0, 0, 0, 0];
    let read: bson::error::Result<Alone<T>> = bson::deserialize_from_slice(&EMPTY);
    read.map(|alone| alone.v).map_err(|_| Fault::missing())
}

#[cold]
fn by_serde(error: &bson::error::Error) -> Box<Fault> {
    Fault::other(match &error.message {
        Some(message) => message.clone(),
        None => error.kind.to_string(),
    })
}

/// A document with one value.
struct Alone<'a, T> {
    value: &'a T,
}

impl<T: Serialize> Serialize for Alone<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("v", self.value)?;
        map.end()
    }
}

struct Coded<'a, T, C>(&'a T, PhantomData<C>);

impl<T, C: SerializeBy<T>> Serialize for Coded<'_, T, C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        C::serialize(self.0, serializer)
    }
}
