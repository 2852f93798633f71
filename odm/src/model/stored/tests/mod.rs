//! Compares the codec with serde, in both directions.

mod enums;
mod faults;
mod generated;
mod structs;
mod types;

use super::{Fields, Out, Row, Stored};
use crate::model::native::Native;
use crate::model::stored::{Field, Read};
use mongodb::bson::{deserialize_from_slice, serialize_to_vec};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// The bytes of a document, and whether it may break a bound.
pub(super) fn encode<T: Fields>(document: &T) -> Read<(Vec<u8>, bool)> {
    let mut out = Out::new(Vec::new());
    super::write(document, &mut out)?;
    let broken = out.broken();
    Ok((out.into_bytes(), broken))
}

/// A document with one value, as generated code would have it.
pub(super) struct Alone<T>(T);

impl<T: Stored> Alone<T> {
    const V: Field<T> = Field::stored("v\0", None);
}

impl<T: Stored> Fields for Alone<T> {
    fn write_fields(&self, out: &mut Out) -> super::Done {
        out.by(&self.0, const { &Self::V })
    }
}

impl<T: Stored> Row for Alone<T> {
    fn read_row(fields: &mut super::Reader<'_>) -> Read<Self> {
        Ok(Alone(fields.by(const { &Self::V })?))
    }
}

/// The same by serde.
#[derive(Serialize, Deserialize)]
struct AloneBySerde<T> {
    v: T,
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "T: Native")]
struct AloneNative<T> {
    #[serde(with = "crate::model::native")]
    v: T,
}

/// How serde writes and reads, in the place of the codec.
pub(super) type Written<T> = fn(&T) -> Option<Vec<u8>>;
pub(super) type ReadBack<T> = fn(&[u8]) -> Option<T>;

/// Writes and reads a value in both ways, and reads what many changes make of its bytes.
pub(super) fn agree<T: Stored + Serialize + DeserializeOwned + Debug + Clone>(value: T) {
    let write = |alone: &Alone<T>| serialize_to_vec(&AloneBySerde { v: alone.0.clone() }).ok();
    let read = |bytes: &[u8]| {
        let alone: AloneBySerde<T> = deserialize_from_slice(bytes).ok()?;
        Some(Alone(alone.v))
    };
    compare(&Alone(value), write, read);
}

/// The same of a type that `odm::native` stores.
pub(super) fn agree_native<T: Stored + Native + Debug + Clone>(value: T) {
    let write = |alone: &Alone<T>| serialize_to_vec(&AloneNative { v: alone.0.clone() }).ok();
    let read = |bytes: &[u8]| {
        let alone: AloneNative<T> = deserialize_from_slice(bytes).ok()?;
        Some(Alone(alone.v))
    };
    compare(&Alone(value), write, read);
}

/// The same of a whole document.
pub(super) fn agree_document<T: Fields + Row + Serialize + DeserializeOwned + Debug>(document: &T) {
    compare(
        document,
        |document| serialize_to_vec(document).ok(),
        |bytes| deserialize_from_slice(bytes).ok(),
    );
}

impl<T: Debug> Debug for Alone<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

fn compare<T: Fields + Row + Debug>(document: &T, written: Written<T>, read: ReadBack<T>) {
    let bytes = match (encode(document), written(document)) {
        (Ok((bytes, _)), Some(expected)) => {
            assert_eq!(bytes, expected, "{document:?}");
            bytes
        }
        (Err(_), None) => return,
        (ours, theirs) => panic!("{document:?} is written {ours:?} and {theirs:?}"),
    };
    let shown = |read: Option<T>| read.map(|read| format!("{read:?}"));
    let (ours, theirs) = (super::read::<T>(&bytes), read(&bytes));
    assert_eq!(shown(ours.ok()), shown(theirs), "{document:?}");
    for changed in changes(&bytes) {
        let (ours, theirs) = (super::read::<T>(&changed).ok(), read(&changed));
        if let (Some(ours), Some(theirs)) = (shown(ours), shown(theirs)) {
            assert_eq!(ours, theirs, "{changed:02x?}");
        }
    }
}

/// Each byte changed to several values, and each beginning: as it is, and with the length and the end of a document.
pub(super) fn changes(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let change = move |at: usize| {
        let old = bytes[at];
        let values = [
            0,
            1,
            2,
            3,
            4,
            5,
            7,
            8,
            9,
            0x10,
            0x12,
            0x13,
            0x7f,
            0x80,
            0xff,
            old ^ 1,
            old ^ 0x20,
        ];
        values.into_iter().map(move |value| {
            let mut changed = bytes.to_vec();
            changed[at] = value;
            changed
        })
    };
    let cut = move |len: usize| {
        let beginning = bytes[..len].to_vec();
        let mut ended = beginning.clone();
        ended.push(0);
        if let Some(length) = ended.first_chunk_mut::<4>() {
            *length = (len as i32 + 1).to_le_bytes();
        }
        [beginning, ended]
    };
    (0..bytes.len())
        .flat_map(change)
        .chain((0..bytes.len()).flat_map(cut))
}
