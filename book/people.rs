//! The models of the samples about people.
#![allow(missing_docs)] // the models are read, not linked

use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "people")]
pub struct Person {
    pub id: ObjectId,
    #[field(max_len = 100)]
    pub name: String,
    #[index(unique)]
    #[field(max_len = 20)]
    pub ssn: String,
    #[embed(max = 10)]
    pub addresses: Vec<Address>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Address {
    #[field(max_len = 100)]
    pub street: String,
    #[field(max_len = 100)]
    pub city: String,
}

/// Some addresses.
pub fn address(street: &str, city: &str) -> Address {
    Address {
        street: street.into(),
        city: city.into(),
    }
}

/// Some person.
pub fn kate() -> NewPerson {
    NewPerson {
        name: "Kate Monster".into(),
        ssn: "123-456-7890".into(),
        addresses: vec![
            address("123 Sesame St", "Anytown"),
            address("123 Avenue Q", "New York"),
        ],
    }
}
