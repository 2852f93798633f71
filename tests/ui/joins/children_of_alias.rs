//! The children of a document that the other names as its parent twice, once behind an alias.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "people")]
struct Person {
    id: i32,
}

type Sender = Option<Ref<Person>>;

#[derive(Document, Clone)]
#[document(collection = "messages")]
struct Message {
    id: i32,
    #[parent_ref]
    from: Sender,
    #[parent_ref]
    to: Ref<Person>,
}

async fn children(odm: Odm, person: Person) -> odm::Result<()> {
    let people = odm.collection::<Person>();
    let _ = people.find_all().include(|p| p.children::<Message>()).all().await?;
    let _ = odm.collection::<Message>().children_of(&person).all().await?;
    Ok(())
}

fn main() {}
