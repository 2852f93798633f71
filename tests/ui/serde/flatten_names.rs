//! Fields that would be stored under one name: in two flattened structs, in one and its parent, under an alias.
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize)]
#[document(collection = "trips")]
struct Trip {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(flatten)]
    from: Place,
    #[serde(flatten)]
    to: Option<Place>,
}

#[derive(Embed, Serialize, Deserialize)]
struct Place {
    city: String,
    #[serde(flatten)]
    on_map: OnMap,
}

#[derive(Embed, Serialize, Deserialize)]
struct OnMap {
    #[serde(alias = "lon")]
    longitude: f64,
}

#[derive(Embed, Serialize, Deserialize)]
struct House {
    lon: String,
    #[serde(flatten)]
    place: Place,
}

#[derive(Embed, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Building {
    House {
        city: String,
        #[serde(flatten)]
        place: Place,
    },
    Tent,
}

fn main() {}
