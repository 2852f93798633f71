use odm::prelude::*;
#[derive(Document)]
#[document(collection = "hosts")]
pub struct Host {
    pub id: ObjectId,
    pub log: Vec<String>, // error: no bound
}

fn main() {}
