//! Uses of an enum of documents, and of a variant, whose attributes have an error.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document, Debug, Clone)]
#[document(oops, collection = "events", common(at: i32))]
enum Event {
    Sent(Sent),
    Opened(Opened),
}

#[derive(Document, Debug, Clone)]
#[document(variant_of = Event)]
struct Sent {
    id: ObjectId,
    at: i32,
}

#[derive(Document, Debug, Clone)]
#[document(oops, variant_of = Event)]
struct Opened {
    id: ObjectId,
    at: i32,
    by: String,
}

async fn uses(odm: Odm, event: Event) -> odm::Result<()> {
    let events = odm.collection::<Event>();
    events.find(|e| e.at.eq(3)).all().await?;
    events.find(|e| e.opened.by.eq("a")).all().await?;
    events.find(|e| e.is_opened()).all().await?;
    events.insert(NewSent { at: 3 }).await?;
    events.insert(NewEvent::Sent(NewSent { at: 3 })).await?;
    events.insert(Sent { id: ObjectId::new(), at: 3 }).await?;
    match event {
        Event::Sent(sent) => drop(events.delete(sent.id).await?),
        Event::Opened(_) => {}
    }
    Ok(())
}

fn main() {}
