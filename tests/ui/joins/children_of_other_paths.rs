//! The same where the two are written in different ways, or one is a parameter.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "people")]
pub struct Person {
    id: i32,
}

#[derive(Document, Clone)]
#[document(collection = "messages")]
struct Message {
    id: i32,
    #[parent_ref]
    from: Ref<crate::Person>,
    #[parent_ref]
    to: Ref<Person>,
}

#[derive(Document, Clone)]
#[document(collection = "notes")]
struct Note<T: Document> {
    id: i32,
    #[parent_ref]
    of: Ref<T>,
    #[parent_ref]
    by: Ref<Person>,
}

async fn children(odm: Odm) -> odm::Result<()> {
    let people = odm.collection::<Person>();
    let _ = people.find_all().include(|p| p.children::<Message>()).all().await?;
    let _ = people.find_all().include(|p| p.children::<Note<Person>>()).all().await?;
    Ok(())
}

fn main() {}
