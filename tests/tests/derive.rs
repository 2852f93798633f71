//! What the derives say of a type, against what serde and BSON make of its values.

use mongodb::bson::{self, DateTime, oid::ObjectId};
use odm::__private::{Fielded, Managed, Value};
use odm::Document as _;
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "people", timestamps, version, index(fields(name, -addresses.city), name = "by_city"))]
pub struct Person {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[field(max_len = 100)]
    pub name: String,
    #[index(unique)]
    pub ssn: String,
    #[embed(max = 10)]
    pub addresses: Vec<Address>,
    pub home: Option<Address>,
    #[field(min = 0, max = 150)]
    pub age: i32,
    pub created_at: DateTime,
    pub updated_at: DateTime,
    pub version: i64,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Address {
    pub street: String,
    #[field(max_len = 50)]
    pub city: String,
}

#[derive(Projection, Deserialize)]
#[projection(of = Person)]
pub struct PersonName {
    pub name: String,
    pub age: i32,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub enum Payment {
    Cash,
    Card { number: String },
    Bank(i32),
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "pages")]
pub struct Page<T> {
    #[serde(rename = "_id")]
    pub id: i32,
    pub item: T,
    #[embed(max = 3)]
    pub items: Vec<T>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Node {
    #[embed(max = 4, depth = 5)]
    pub children: Vec<Node>,
    #[embed(depth = 5)]
    pub next: Option<Box<Node>>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Row(#[embed(max = 5)] pub Vec<f64>);

#[test]
fn a_document_knows_its_fields() {
    let names: Vec<_> = Person::FIELDS.iter().map(|field| field.name).collect();
    assert_eq!(
        names,
        [
            "_id",
            "name",
            "ssn",
            "addresses",
            "home",
            "age",
            "created_at",
            "updated_at",
            "version"
        ]
    );
    let p = Person::paths();
    assert_eq!(p.addresses.city.name(), "addresses.city");
    let now = DateTime::from_millis(5);
    let person = Person::from_new(
        NewPerson {
            name: "Kate".into(),
            ssn: "1".into(),
            addresses: vec![],
            home: None,
            age: 3,
        },
        now,
    );
    assert_eq!(
        (person.created_at, person.updated_at, person.version),
        (now, now, 1)
    );
    assert_eq!(Person::FIELDS[0].managed, Managed::Id);
    assert_eq!(<PersonName as odm::Projection<Person>>::fields(), ["name", "age"]);
    assert_eq!(Page::<i32>::paths().items.name(), "items");
    assert_eq!(Row::SIZE.with(None), Some(5 + 5 * 11));
    let _ = bson::doc! {};
}
