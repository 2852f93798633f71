//! What an enum of documents and its variants can't be.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "events", tag = "type")]
enum Event {
    Login(Login),
    Logout { id: ObjectId },
}

#[derive(Document, Serialize, Deserialize)]
#[document(variant_of = Event)]
struct Login {
    #[serde(rename = "_id")]
    id: ObjectId,
}

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "jobs", tag = "type")]
#[serde(tag = "kind")]
enum Job {
    Mail(Mail),
    Again(Mail),
}

#[derive(Document, Serialize, Deserialize)]
#[document(variant_of = Job, collection = "mails", soft_delete)]
struct Mail {
    #[serde(rename = "_id")]
    id: ObjectId,
    deleted_at: Option<DateTime>,
}

fn main() {}
