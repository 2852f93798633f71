//! A projected pipeline that is read as another type.

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

async fn whole(people: Collection<Person>) -> odm::Result<()> {
    let _ = people.aggregate().project::<Named>().all::<Person>().await?;
    Ok(())
}

fn main() {}
