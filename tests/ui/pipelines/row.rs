//! The structs of results: their fields are of types that are stored, and a pipeline is read as such a struct.
use odm::prelude::*;

struct Foreign;

#[derive(odm::Row)]
struct Counted {
    #[field(name = "_id")]
    name: String,
    foreign: Foreign,
}

#[derive(odm::Row)]
struct Pair(i32, i32);

#[derive(odm::Row)]
#[row(rename = "x")]
struct Renamed {
    n: i32,
}

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: i32,
}

#[derive(serde::Deserialize)]
struct BySerde {
    n: i64,
}

async fn read(people: Collection<Person>) -> odm::Result<()> {
    let _: Vec<BySerde> = people.aggregate().stage(odm::bson::doc! {}).all().await?;
    Ok(())
}

fn main() {}
