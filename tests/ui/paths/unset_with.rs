//! A function that reads an option is not asked where the field is missing.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(with = "form")]
    #[field(stored = Option<String>)]
    nick: Option<String>,
    #[serde(deserialize_with = "form::deserialize")]
    #[field(opaque)]
    read: Option<String>,
    #[serde(default, with = "form")]
    #[field(opaque)]
    other: Option<String>,
}

mod form {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
        Option::deserialize(from)
    }
}

fn right(people: &odm::Collection<Person>) {
    let _ = people.update(&1).unset(|p| p.other);
    let _ = people.update(&1).set(|p| p.nick, None).set(|p| p.read, None);
}

fn wrong(people: &odm::Collection<Person>) {
    let _ = people.update(&1).unset(|p| p.nick);
    let _ = people.update(&1).unset(|p| p.read);
}

fn main() {}
