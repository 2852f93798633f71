//! A whole array of structs is not compared: the server would compare bytes.
use odm::prelude::*;
use std::collections::BTreeSet;

#[derive(Document, Clone, Debug)]
#[document(collection = "people")]
struct Person {
    id: ObjectId,
    #[embed]
    home: Address,
    #[embed(max = 5)]
    addresses: Vec<Address>,
    #[embed(max = 5)]
    places: BTreeSet<Address>,
    #[embed(max = 5)]
    tags: BTreeSet<String>,
}

#[derive(Embed, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Address {
    city: String,
}

fn right(people: odm::Collection<Person>, home: Address, tags: BTreeSet<String>) {
    let _ = people.find(|p| p.home.eq(&home) & p.addresses.contains(&home) & p.places.eq(BTreeSet::new()) & p.tags.eq(tags));
    let _ = people.find_all().sort(|p| (p.home.city.asc(), p.tags.asc()));
}

fn wrong(people: odm::Collection<Person>) {
    let _ = people.find(|p| p.addresses.eq(vec![]));
}

fn sorted(people: odm::Collection<Person>) {
    let _ = people.find_all().sort(|p| p.home.asc());
}

fn greater(people: odm::Collection<Person>, home: Address) {
    let _ = people.find(|p| p.home.gt(home));
}

fn grouped(people: odm::Collection<Person>) {
    let _ = people.aggregate().group(|p| p.tags, |g| g.distinct("homes", |p| p.home));
}

fn main() {}
