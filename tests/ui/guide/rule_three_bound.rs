use odm::prelude::*;
#[derive(Embed)]
pub struct Review {
    pub text: String,
}

#[derive(Document)]
#[document(collection = "products")]
pub struct Product {
    pub id: ObjectId,
    #[embed(max = 5000)]
    pub reviews: Vec<Review>, // error: rule three
}

fn main() {}
