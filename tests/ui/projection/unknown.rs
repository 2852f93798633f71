//! A field that the document does not have.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "things")]
struct Movie {
    id: ObjectId,
    title: String,
    #[field(name = "y")]
    year: i32,
}

#[derive(Projection)]
#[projection(of = Movie)]
struct Part {
    titel: String,
}

fn main() {}
