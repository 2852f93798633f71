//! Only the library writes a timestamp.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "people", timestamps, version)]
struct Person {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
    age: i32,
    nick: Option<String>,
    #[embed(max = 5)]
    tags: Vec<String>,
    #[embed(max = 5)]
    addresses: Vec<Address>,
    created_at: DateTime,
    updated_at: DateTime,
    version: i64,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug)]
struct Address {
    city: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug)]
#[document(collection = "dogs")]
struct Dog {
    #[serde(rename = "_id")]
    id: i32,
}

fn wrong(people: odm::Collection<Person>, person: Person, dog: Dog) {
    let _ = people.update(&person).set(|p| p.updated_at, DateTime::now());
}

fn main() {}
