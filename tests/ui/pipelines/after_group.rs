//! Typed stages behind a stage that gives other documents.

use odm::bson::{Document as Doc, doc};
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "people")]
struct Person {
    id: i32,
    name: String,
    age: i32,
}

#[derive(Projection)]
#[projection(of = Person)]
struct Named {
    name: String,
}

async fn grouped(people: Collection<Person>) -> odm::Result<Vec<Doc>> {
    people.aggregate().group(|p| p.age, |g| g.count("people")).filter(|p| p.age.gte(18)).all().await
}

async fn projected(people: Collection<Person>) -> odm::Result<Vec<Named>> {
    people.aggregate().project::<Named>().sort(|p| p.age.asc()).all().await
}

async fn raw(people: Collection<Person>) -> odm::Result<Vec<Doc>> {
    people.aggregate().stage(doc! { "$sample": { "size": 3 } }).group(|p| p.age, |g| g.count("people")).all().await
}

fn main() {}
