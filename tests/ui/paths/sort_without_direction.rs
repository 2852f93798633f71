//! A sort that says no direction.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document)]
#[document(collection = "events")]
struct Event {
    id: ObjectId,
    title: String,
}

async fn wrong(events: odm::Collection<Event>) -> odm::Result<()> {
    events.find_all().sort(|e| e.title).all().await?;
    Ok(())
}

fn main() {}
