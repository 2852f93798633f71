//! The shop: its documents, and its connection to the database.

pub mod models;

use models::{Part, Product, Review};
use odm::prelude::*;

/// The documents that the database holds.
pub fn models() -> Vec<odm::Model> {
    models![Part, Product, Review].to_vec()
}

const LOCAL: &str = "mongodb://127.0.0.1:27017/?directConnection=true";

/// Connects to the server that MONGODB_URI names, or else to one on this machine.
pub async fn open() -> odm::Result<Odm> {
    let uri = std::env::var("MONGODB_URI");
    let uri = uri.as_deref().unwrap_or(LOCAL);
    let client = odm::mongodb::Client::with_uri_str(uri).await?;
    Odm::new(client.database("shop"), models())
}
