use odm::prelude::*;
#[derive(Document, Clone)]
#[document(collection = "parts")]
pub struct Part {
    pub id: ObjectId,
    pub name: String,
    #[volatile]
    pub qty: i32,
}
#[derive(Document, Clone)]
#[document(collection = "products")]
pub struct Product {
    pub id: ObjectId,
    #[reference(many, max = 2000)]
    #[denormalize(from = Part, fields(name: String, qty: i32))] // error: `qty`
    pub parts: Vec<PartEntry>,
}

fn main() {}
