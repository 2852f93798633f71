//! The command line that looks after an application's database: `cargo run -p odm-examples --bin manage -- --help`.
//!
//! The database is the one that MONGODB_URI names (`mongodb://127.0.0.1:27017/tasks?replicaSet=rs0`), else `manage`.

use mongodb::Client;
use odm::prelude::*;
use odm_examples::two_way::{Person, Task};
use std::process::ExitCode;

async fn open() -> anyhow::Result<Odm> {
    let uri = std::env::var("MONGODB_URI")
        .unwrap_or_else(|_| "mongodb://127.0.0.1:27017/?replicaSet=rs0".to_owned());
    let client = Client::with_uri_str(uri).await?;
    let db = client
        .default_database()
        .unwrap_or_else(|| client.database("manage"));
    Ok(Odm::new(db, models![Person, Task])?)
}

#[tokio::main]
async fn main() -> ExitCode {
    match open().await {
        Ok(odm) => odm::cli::run(odm).await,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
