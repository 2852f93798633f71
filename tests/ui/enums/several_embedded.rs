//! A variant of an enum of documents that holds something else.
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "events")]
enum Event {
    Login(Login),
    Purchase(Purchase),
}

#[derive(Document)]
#[document(variant_of = Event)]
struct Login {
    id: ObjectId,
}

#[derive(Embed)]
struct Purchase {
    cents: i64,
}

#[derive(Document)]
#[document(collection = "notes")]
enum Note {
    Text(String),
}

async fn uses(events: Collection<Event>, login: NewLogin) -> odm::Result<()> {
    events.insert(login).await?;
    events.find(|e| e.login.id.eq(ObjectId::new())).all().await?;
    Ok(())
}

fn main() {}
