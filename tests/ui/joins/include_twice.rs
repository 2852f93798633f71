//! Several joins one after the other.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "people")]
struct Person {
    id: i32,
    #[reference]
    boss: Option<Ref<Person>>,
    #[parent_ref]
    mother: Option<Ref<Person>>,
}

async fn of_references(people: odm::Collection<Person>) -> odm::Result<()> {
    let _ = people.find_all().include(|p| p.boss).include(|p| p.mother).all().await?;
    Ok(())
}

async fn of_children(people: odm::Collection<Person>) -> odm::Result<()> {
    let _ = people.find_all().include(|p| p.children::<Person>()).include(|p| p.boss);
    Ok(())
}

async fn of_several(people: odm::Collection<Person>) -> odm::Result<()> {
    let _ = people.find_all().include(|p| (p.boss, p.mother)).include(|p| p.boss.or_none());
    Ok(())
}

fn main() {}
