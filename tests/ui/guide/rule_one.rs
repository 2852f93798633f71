use odm::prelude::*;
#[derive(Document)]
#[document(collection = "people")]
pub struct Person {
    pub id: ObjectId,
    #[reference(many, max = 10)]
    pub addresses: Vec<Ref<Address>>, // error: `Address` has no collection
}

#[derive(Embed)]
pub struct Address {
    pub street: String,
    pub city: String,
}

fn main() {}
