//! Which of the items in the item is not said, and a change of an item's field where an item in it is meant.
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
    #[embed(max = 5)]
    rooms: Vec<Room>,
}

#[derive(Embed, Clone, Debug)]
struct Room {
    beds: i32,
}

fn wrong(people: odm::Collection<Person>, person: Person) {
    let _ = people
        .update(&person)
        .each(|p| p.addresses, |a| a.set(|a| a.rooms.beds, 2));
    let _ = people
        .update(&person)
        .elem(|p| p.addresses.rooms, |r| r.beds.eq(1), |r| r.set(|r| r.beds, 2));
    let _ = people
        .update(&person)
        .each(|p| p.addresses, |a| a.elem(|a| a.rooms, |r| r.city.eq("Rome"), |r| r.set(|r| r.beds, 2)));
}

fn main() {}
