use odm::prelude::*;
use serde::{Deserialize, Serialize};
#[derive(Embed, Serialize, Deserialize)]
pub struct Pixel {
    pub x: i32,
    pub y: i32,
}
#[derive(Document, Serialize, Deserialize)]
#[document(collection = "sprites")]
pub struct Sprite {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[embed(max = 1024, large = "")] // error: why?
    pub pixels: Vec<Pixel>,
}

fn main() {}
