//! An id and a document where a reference belongs, and one reference where all of them are compared.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document, Clone)]
#[document(collection = "artists")]
struct Artist {
    id: ObjectId,
}

#[derive(Document, Clone)]
#[document(collection = "events")]
struct Event {
    id: ObjectId,
    #[reference]
    host: Ref<Artist>,
    #[reference(many, max = 20)]
    artists: Vec<Ref<Artist>>,
}

async fn wrong(events: odm::Collection<Event>, event: Event, artist: Artist) -> odm::Result<()> {
    events.find(|e| e.host.eq(artist.id)).all().await?;
    events.find(|e| e.host.eq(&artist)).all().await?;
    events.find(|e| e.artists.eq(artist.to_ref())).all().await?;
    events.update(event.id).push(|e| e.artists, artist.id).await?;
    Ok(())
}

fn main() {}
