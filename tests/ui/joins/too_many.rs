//! More joins than a tuple takes, and a tuple of one.

use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "people")]
struct Person {
    id: i32,
    #[reference]
    boss: Option<Ref<Person>>,
}

async fn seven(people: odm::Collection<Person>) -> odm::Result<()> {
    people.find_all().include(|p| (p.boss, p.boss, p.boss, p.boss, p.boss, p.boss, p.boss));
    Ok(())
}

async fn one(people: odm::Collection<Person>) -> odm::Result<()> {
    people.find_all().include(|p| (p.boss,));
    Ok(())
}

async fn nested(people: odm::Collection<Person>) -> odm::Result<()> {
    people.find_all().include(|p| (p.boss, p.boss, p.boss, p.boss, p.boss, (p.boss, p.boss))).all().await?;
    Ok(())
}

fn main() {}
