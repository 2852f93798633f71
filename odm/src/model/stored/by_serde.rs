//! Fields that serde writes and reads: with `#[serde(with = "…")]`, `#[field(opaque)]` or `#[field(stored = Type)]`.

use super::bound::{Bound, Limit};
use super::bson::{alone, check_levels};
use super::fault::{Done, Fault, Read};
use super::field::Field;
use super::input::Input;
use super::name::Name;
use super::out::Out;
use super::reader::Reader;
use crate::model::path::{Codec, Decoder, Plain};
use mongodb::bson;
use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::marker::PhantomData;

/// How serde writes and reads the values of one field, as `C` says.
pub struct BySerde<C>(PhantomData<C>);

impl<T: 'static> Field<T> {
    /// A field that serde writes and reads, as `C` says. It has to be there, or to have a default.
    pub const fn by_serde<C: Codec<T> + Decoder<T>>(
        key: &'static str,
        bound: Option<&'static Limit<'static>>,
    ) -> Field<T> {
        Field::with(key, bound, BySerde::<C>::write, BySerde::<C>::read, || {
            Err(Fault::missing())
        })
    }

    /// A field that serde writes and reads as its type says, and that may be missing where serde finds a value for that.
    pub const fn opaque(key: &'static str, bound: Option<&'static Limit<'static>>) -> Field<T>
    where
        T: Serialize + DeserializeOwned,
    {
        let (write, read) = (BySerde::<Plain>::write, BySerde::<Plain>::read);
        Field::with(key, bound, write, read, missing)
    }
}

impl<C> BySerde<C> {
    /// Writes a value, as [`Stored::write`](super::value::Stored::write).
    ///
    /// # Errors
    /// Those of serde.
    pub fn write<T>(value: &T, name: &Name<'_>, bound: Bound<'_>, out: &mut Out) -> Done
    where
        C: Codec<T>,
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
        C: Decoder<T>,
    {
        #[derive(serde::Deserialize)]
        #[serde(bound = "C: Decoder<T>")]
        struct Alone<T, C> {
            #[serde(deserialize_with = "C::deserialize")]
            v: T,
            #[serde(skip)]
            by: PhantomData<C>,
        }
        let alone = alone(kind, input.value(kind)?)?;
        let read: bson::error::Result<Alone<T, C>> = bson::deserialize_from_slice(alone.as_bytes());
        read.map(|alone| alone.v).map_err(|error| by_serde(&error))
    }
}

/// What serde makes of a field that is not there.
fn missing<T: DeserializeOwned>() -> Read<T> {
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

impl<T, C: Codec<T>> Serialize for Coded<'_, T, C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        C::serialize(self.0, serializer)
    }
}
