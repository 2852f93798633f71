//! The documents of the application, and its connection to the database.

#[path = "../migrations/mod.rs"]
pub mod migrations;
pub mod models;

use models::{Part, Product, Review};
use odm::prelude::*;

/// The documents that the database holds.
pub fn models() -> Vec<odm::Model> {
    models![Part, Product, Review].to_vec()
}

const LOCAL: &str = "mongodb://127.0.0.1:27017/\
                     ?directConnection=true&serverSelectionTimeoutMS=3000";

/// The server that MONGODB_URI names, else that of `odm server`, else one of this
/// machine.
fn uri() -> String {
    let named = std::env::var("MONGODB_URI").ok();
    // `odm server` writes the file, and removes it when it stops.
    let started = || std::fs::read_to_string(".odm/uri").ok();
    let uri = named.or_else(started).unwrap_or_else(|| LOCAL.to_owned());
    uri.trim().to_owned()
}

/// Connects to the server. Nothing is sent yet.
pub async fn open() -> odm::Result<Odm> {
    let client = odm::mongodb::Client::with_uri_str(uri()).await?;
    Odm::new(client.database("shop"), models())
}
