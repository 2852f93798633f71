//! References in both directions: one to many, many to many, one to one, trees.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "people")]
pub struct Person {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[reference(many, inverse = owner, max = 500)]
    pub tasks: Vec<Ref<Task>>,
    #[reference(inverse = holder)]
    pub passport: Option<Ref<Passport>>,
    #[reference(many, inverse = members, max = 20, expected = 3)]
    pub teams: Vec<Ref<Team>>,
    // A tree in both directions.
    #[reference(inverse = children)]
    pub mother: Option<Ref<Person>>,
    #[reference(many, inverse = mother)]
    pub children: Vec<Ref<Person>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "tasks")]
pub struct Task {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[reference(inverse = tasks, on_delete = cascade)]
    pub owner: Ref<Person>,
}

// One side may be required.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "passports")]
pub struct Passport {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[reference(inverse = passport)]
    pub holder: Ref<Person>,
}

type Members = Vec<Ref<Person>>;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "teams")]
pub struct Team {
    #[serde(rename = "_id")]
    pub id: i32,
    #[reference(many, inverse = teams, expected = 500)]
    pub members: Members,
}

pub(crate) fn main() {}
