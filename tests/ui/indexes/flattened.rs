use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "houses", index(fields(place)))]
struct House {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(flatten)]
    place: Place,
}

#[derive(Embed, Serialize, Deserialize)]
struct Place {
    city: String,
}

fn main() {}
