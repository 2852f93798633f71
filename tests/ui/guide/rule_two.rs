use odm::prelude::*;
use serde::{Deserialize, Serialize};
#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
pub struct Person {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "tasks")]
pub struct Task {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[embed]
    pub owner: Person, // error: a document of its own
}

fn main() {}
