use odm::prelude::*;

#[derive(Document)]
#[document(collection = "houses", index(fields(place)))]
struct House {
    id: i32,
    #[field(flatten)]
    place: Place,
}

#[derive(Embed)]
struct Place {
    city: String,
}

fn main() {}
