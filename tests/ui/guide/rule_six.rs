use odm::prelude::*;
#[derive(Embed)]
pub struct Pixel {
    pub x: i32,
    pub y: i32,
}
#[derive(Document)]
#[document(collection = "sprites")]
pub struct Sprite {
    pub id: ObjectId,
    #[embed(max = 1024, large = "")] // error: why?
    pub pixels: Vec<Pixel>,
}

fn main() {}
