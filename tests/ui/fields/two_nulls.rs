//! Two values that would be stored alike, whatever type they are of.
use mongodb::bson::{self, oid::ObjectId};
use odm::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

type Maybe = Option<i32>;

#[derive(Embed)]
struct Newtype(Option<String>);

#[derive(Embed)]
struct Address {
    city: String,
}

#[derive(Embed)]
enum State {
    On,
    Off,
}

#[derive(Embed)]
struct Generic<T>(T);

#[derive(Document)]
#[document(collection = "things")]
struct Thing {
    id: ObjectId,
    once: Option<Triple>,
    alias: Option<Maybe>,
}

#[derive(Embed)]
struct Triple(i32, Option<i32>, i32);

macro_rules! twice {
    ($($name:ident: $(#[$attr:meta])* $ty:ty;)*) => {$(
        #[derive(Embed)]
        struct $name {
            $(#[$attr])*
            value: $ty,
        }
    )*};
}

twice! {
    Number: Option<Option<i32>>;
    Text: Option<Option<String>>;
    Date: Option<Option<bson::DateTime>>;
    Decimal: Option<Option<bson::Decimal128>>;
    Enumeration: Option<Option<State>>;
    Structure: Option<Option<Address>>;
    AroundNewtype: Option<Newtype>;
    AroundGeneric: Option<Generic<Option<i32>>>;
    Boxed: Option<Box<Option<f64>>>;
    Native: #[serde(with = "odm::native")] Option<Option<Duration>>;
    NativeItems: #[serde(with = "odm::native")] #[embed(max = 3)] Vec<Option<Option<Duration>>>;
    Items: #[embed(max = 3)] Vec<Option<Option<i32>>>;
    Values: #[embed(max = 3)] BTreeMap<String, Option<Option<bool>>>;
    OfArray: #[embed(max = 3)] Option<Option<Vec<i32>>>;
    OfMap: #[embed(max = 3)] Option<Option<BTreeMap<String, i32>>>;
    OfFixed: [Option<Option<i32>>; 2];
    InTuple: (Option<Option<i32>>, i32);
    Referring: #[reference] Option<Option<Ref<Thing>>>;
    ReferringMany: #[reference(many, max = 3)] Option<Option<Vec<Ref<Thing>>>>;
    OpaqueValue: #[field(opaque)] Option<Option<bson::Bson>>;
}

#[derive(Embed)]
struct Stored {
    #[field(with = "codec")]
    #[field(stored = Option<Option<i32>>)]
    value: Option<i32>,
}

#[derive(Embed)]
enum Content {
    New(Option<Option<i32>>),
    Named { value: Option<Option<i32>> },
}

mod codec {
    pub fn serialize<S: serde::Serializer>(_: &Option<i32>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_none()
    }
    pub fn deserialize<'de, D: serde::Deserializer<'de>>(_: D) -> Result<Option<i32>, D::Error> {
        Ok(None)
    }
}

fn main() {}
