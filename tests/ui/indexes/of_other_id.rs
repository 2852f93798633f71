//! An error in a document that others name by an id of another type than an ObjectId: it is said alone.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "people")]
struct Person {
    id: i32,
    #[index(uniqe)]
    email: String,
}

#[derive(Document, Clone)]
#[document(collection = "tasks")]
struct Task {
    id: ObjectId,
    #[reference]
    owner: Ref<Person>,
    #[reference(many, max = 20)]
    watchers: Vec<Ref<Person, i32>>,
}

async fn first(odm: Odm) -> odm::Result<()> {
    let _ = NewTask { owner: Ref::new(1), watchers: Vec::new() };
    let _ = odm.collection::<Person>().get(1).await?;
    Ok(())
}

fn main() {}
