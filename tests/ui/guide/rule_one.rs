use odm::prelude::*;
use serde::{Deserialize, Serialize};
#[derive(Document, Serialize, Deserialize)]
#[document(collection = "people")]
pub struct Person {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[reference(many, max = 10)]
    pub addresses: Vec<Ref<Address>>, // error: `Address` has no collection
}

#[derive(Embed, Serialize, Deserialize)]
pub struct Address {
    pub street: String,
    pub city: String,
}

fn main() {}
