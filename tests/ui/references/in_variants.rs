//! Two references at one path.

use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: ObjectId,
    email: String,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "tasks")]
struct Task {
    #[serde(rename = "_id")]
    id: ObjectId,
    title: String,
}

#[derive(Embed, Serialize, Deserialize)]
#[serde(tag = "type")]
enum About {
    Person {
        #[reference]
        id: Ref<Person>,
    },
    Task {
        #[reference]
        id: Ref<Task>,
    },
}

fn main() {}
