//! How the values of a type are written and read, as constants that generated code can name without a bound.
//!
//! `ByType::<T>::FUNCTIONS` is [`Stored`] where `T` implements it. Where it does not, the compiler takes the constant of [`Otherwise`]: the
//! declaration of the field refuses such a type already, and a second error would say the same in other words.

use super::by_serde::{self, BySerde, OwnSerde};
use super::fault::{Done, Fault, Read};
use super::functions::{Functions, functions};
use super::map::Entries;
use super::oracle::Oracle;
use super::out::Out;
use super::reader::Reader;
use super::row::{Fields, Row, write};
use super::value::Stored;
use crate::model::shape::Names;
use crate::model::value::Value;
use mongodb::bson;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// The functions of a value whose fields stand among others: those of [`Fields`] and [`Row`].
pub struct Flat<T: 'static> {
    /// Writes the fields.
    pub write: fn(&T, &mut Out) -> Done,
    read: fn(&mut Reader<'_>) -> Read<T>,
}

/// The functions of what a struct does not declare: `#[field(extra)]`.
pub struct Extra<T: 'static> {
    /// Writes the fields.
    pub write: fn(&T, &mut Out) -> Done,
    /// Reads all but those with these names.
    pub read: fn(&mut Reader<'_>, &Names) -> Read<T>,
}

/// The functions of a type whose fields have to be stored, as [`functions`].
pub const fn flat<T: Fields + Row>() -> Flat<T> {
    Flat {
        write: T::write_fields,
        read: T::read_row,
    }
}

impl<T: 'static> Flat<T> {
    /// Reads the fields beside those of the struct around them.
    ///
    /// # Errors
    /// Where one is missing, or can't be read.
    #[inline]
    pub fn read(&self, fields: &mut Reader<'_>) -> Read<T> {
        fields.among_others(self.read)
    }

    /// Reads the fields beside the tag alone.
    ///
    /// # Errors
    /// Where one is missing, or can't be read.
    #[inline]
    pub fn read_tagged(&self, fields: &mut Reader<'_>) -> Read<T> {
        (self.read)(fields)
    }
}

/// A type of which the functions are asked.
pub struct ByType<T>(PhantomData<T>);

impl<T: Stored> ByType<T> {
    /// The compiler takes this one where there is one.
    pub const FUNCTIONS: Functions<T> = functions();
}

impl<T: Value> ByType<T> {
    /// That of [`Value`].
    pub const DOCUMENT: bool = T::DOCUMENT;
    /// That of [`Value`].
    pub const HOLDS_REFERENCE: bool = T::HOLDS_REFERENCE;
    /// That of [`Value`].
    pub const HOLDS_VOLATILE: bool = T::HOLDS_VOLATILE;
    /// That of [`Value`].
    pub const HOLDS_EXTRA: bool = T::HOLDS_EXTRA;
    /// That of [`Value`].
    pub const CUT: bool = T::CUT;
}

impl<T: Fields + Row> ByType<T> {
    /// As [`FUNCTIONS`](ByType::FUNCTIONS).
    pub const FLAT: Flat<T> = flat();
}

impl<T: Fields + Entries> ByType<T> {
    /// As [`FUNCTIONS`](ByType::FUNCTIONS).
    pub const EXTRA: Extra<T> = Extra {
        write: |value, out| {
            let begin = out.bytes().len();
            value.write_fields(out)?;
            // Its names are none that are declared, which the walk knows.
            if out.bytes().len() > begin {
                out.leave_to_walk();
            }
            Ok(())
        },
        read: |fields, declared| fields.extra(declared),
    };
}

impl<T: Serialize + DeserializeOwned + 'static> ByType<T> {
    /// The functions of a value that serde writes and reads as its type says.
    pub const SERDE: Functions<T> = Functions {
        write: BySerde::<OwnSerde>::write,
        read: BySerde::<OwnSerde>::read,
        missing: by_serde::missing,
    };
}

impl<T: Fields + Serialize + DeserializeOwned> ByType<T> {
    /// Those of a type that derives serde; `None` outside of the tests.
    pub const ORACLE: Option<Oracle<T>> = if cfg!(all(feature = "__oracle", debug_assertions)) {
        Some(Oracle {
            write: |value| bson::serialize_to_raw_document_buf(value),
            read: |document| bson::deserialize_from_slice(document.as_bytes()),
            bytes: |value| {
                let mut out = Out::new(Vec::new());
                write(value, &mut out)?;
                Ok(out.into_bytes())
            },
        })
    } else {
        None
    };
}

/// The same constants for any type. They are of no use, and never used by a program that compiles.
pub trait Otherwise<T: 'static> {
    /// Those of a value.
    const FUNCTIONS: Functions<T> = Functions {
        write: |_, _, _, _| Err(unknown()),
        read: |_, _| Err(unknown()),
        missing: || Err(unknown()),
    };
    /// Of no document.
    const DOCUMENT: bool = false;
    /// Of no reference.
    const HOLDS_REFERENCE: bool = false;
    /// Of no volatile field.
    const HOLDS_VOLATILE: bool = false;
    /// Of no extra fields.
    const HOLDS_EXTRA: bool = false;
    /// Of a value that is stored whole.
    const CUT: bool = false;
    /// Those of serde.
    const SERDE: Functions<T> = Self::FUNCTIONS;
    /// Those of fields among others.
    const FLAT: Flat<T> = Flat {
        write: |_, _| Err(unknown()),
        read: |_| Err(unknown()),
    };
    /// Of a type without serde.
    const ORACLE: Option<Oracle<T>> = None;
    /// Those of what is not declared.
    const EXTRA: Extra<T> = Extra {
        write: |_, _| Err(unknown()),
        read: |_, _| Err(unknown()),
    };
}
impl<T: 'static> Otherwise<T> for ByType<T> {}

#[cold]
fn unknown() -> Box<Fault> {
    Fault::other("odm does not know how the type is stored")
}
