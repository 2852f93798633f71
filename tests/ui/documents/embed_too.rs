//! A type is a document or a part of one.
use mongodb::bson::oid::ObjectId;
use odm::prelude::*;

#[derive(Document, Embed, Debug, Clone)]
#[document(collection = "users")]
struct User {
    id: ObjectId,
    name: String,
}

async fn uses(users: Collection<User>) -> odm::Result<()> {
    users.find(|u| u.name.eq("Kate")).all().await?;
    Ok(())
}

fn main() {}
