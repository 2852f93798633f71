use odm::prelude::*;
#[derive(Document)]
#[document(collection = "people")]
pub struct Person {
    pub id: ObjectId,
    pub name: String,
}

#[derive(Document)]
#[document(collection = "tasks")]
pub struct Task {
    pub id: ObjectId,
    #[embed]
    pub owner: Person, // error: a document of its own
}

fn main() {}
