//! A condition on another document.
use odm::prelude::*;

#[derive(Document, Clone, Debug)]
#[document(collection = "people", timestamps, version)]
struct Person {
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

#[derive(Embed, Clone, Debug)]
struct Address {
    city: String,
}

#[derive(Document, Clone, Debug)]
#[document(collection = "dogs")]
struct Dog {
    id: i32,
}

fn wrong(people: odm::Collection<Person>, person: Person, dog: Dog) {
    let _ = people.find(|_| Filter::<Dog>::always());
}

fn main() {}
