//! A function for the whole field says nothing of one item.
use odm::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(with = "form")]
    #[field(opaque)]
    tags: Vec<String>,
    #[serde(with = "form")]
    #[field(opaque)]
    addresses: Vec<Address>,
    #[serde(with = "form")]
    #[field(opaque)]
    prices: BTreeMap<String, i64>,
}

#[derive(Embed, Serialize, Deserialize)]
struct Address {
    city: String,
}

mod form {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        (1, value).serialize(serializer)
    }
    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        <(i32, T)>::deserialize(from).map(|(_, value)| value)
    }
}

fn whole(people: &odm::Collection<Person>) {
    let _ = people.find(|p| p.tags.eq(vec![]));
    let _ = people.update(&1).set(|p| p.tags, vec!["new".to_owned()]);
}

fn pushed(people: &odm::Collection<Person>) {
    let _ = people.update(&1).push(|p| p.tags, "new");
}

fn pulled(people: &odm::Collection<Person>) {
    let _ = people.update(&1).pull_where(|p| p.addresses, |a| a.city.eq("Bonn"));
}

fn changed(people: &odm::Collection<Person>) {
    let _ = people.update(&1).each(|p| p.addresses, |address| address.set(|a| a.city, "Bonn"));
}

fn set(people: &odm::Collection<Person>) {
    let _ = people.update(&1).set_key(|p| p.prices, "bread", 250);
}

fn found(people: &odm::Collection<Person>) {
    let _ = people.find(|p| p.tags.contains("new"));
}

fn main() {}
