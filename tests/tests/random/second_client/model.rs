//! The documents, and small sets of values for them, so that many are equal.

use odm::bson::oid::ObjectId;
use odm::prelude::*;
use odm_tests::random::Random;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub city: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zip: Option<i32>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Contact {
    Mail { address: String },
    Phone { digits: i32, extension: Option<i32> },
    Nothing,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "clubs")]
pub struct Club {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[computed(count = Person)]
    pub members: i64,
    #[computed(count = Person, filter = |p| p.active.eq(true))]
    pub active: i64,
    #[computed(sum = Person.points)]
    pub points: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "people", index(fields(home.city)), index(fields(points)))]
pub struct Person {
    #[serde(rename = "_id")]
    pub id: i32,
    #[parent_ref]
    pub club: Ref<Club>,
    #[denormalize(from = club.name)]
    pub club_name: String,
    #[embed]
    pub home: Place,
    #[embed]
    pub contact: Contact,
    #[embed(max = 30)]
    pub visited: Vec<Place>,
    #[embed(max = 30)]
    pub owned: BTreeSet<Place>,
    #[embed(max = 30)]
    pub labels: BTreeSet<String>,
    #[embed(max = 30)]
    pub scores: BTreeMap<String, i32>,
    #[serde(default = "yes")]
    pub active: bool,
    #[serde(default = "seven")]
    pub points: i32,
    #[embed(max = 30)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    pub nickname: Option<String>,
}

fn yes() -> bool {
    true
}

fn seven() -> i32 {
    7
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "visits")]
pub struct Visit {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[embed]
    pub place: Place,
    pub times: i32,
}

pub fn label(random: &mut Random) -> String {
    random.pick(&["a", "b", "c"]).to_owned()
}

pub fn place(random: &mut Random) -> Place {
    Place {
        city: random.pick(&["Bonn", "Rome"]).to_owned(),
        zip: random.pick(&[None, Some(1), Some(2)]),
    }
}

pub fn contact(random: &mut Random) -> Contact {
    match random.below(3) {
        0 => Contact::Mail {
            address: label(random),
        },
        1 => Contact::Phone {
            digits: random.below(2),
            extension: random.pick(&[None, Some(1)]),
        },
        _ => Contact::Nothing,
    }
}
