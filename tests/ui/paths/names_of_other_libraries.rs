//! What other libraries call a condition.
use odm::prelude::*;

#[derive(Document, Clone, Debug)]
#[document(collection = "people")]
struct Person {
    id: i32,
    name: String,
    age: i32,
}

#[derive(Document, Debug)]
#[document(collection = "notes")]
struct Note {
    id: i32,
}

async fn conditions(people: Collection<Person>) -> odm::Result<()> {
    people.find(|p| p.age.ge(18)).all().await?;
    people.find(|p| p.name.like("K%")).all().await?;
    people.find(|p| p.name.contains("K")).all().await?;
    Ok(())
}

async fn whole(notes: Collection<Note>, people: Collection<Person>, note: Note) -> odm::Result<()> {
    notes.replace(&note).await?;
    people.save(note.id).await?;
    Ok(())
}

fn main() {}
