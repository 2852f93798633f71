use odm::prelude::*;
use serde::{Deserialize, Serialize};
#[derive(Document, Serialize, Deserialize)]
#[document(collection = "hosts")]
pub struct Host {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub log: Vec<String>, // error: no bound
}

fn main() {}
