//! The command line that looks after an application's database: `cargo run -p odm-examples --bin manage -- --help`.
//!
//! The database is the one that MONGODB_URI names (`mongodb://127.0.0.1:27017/designs?replicaSet=rs0`), else `manage`. Its
//! models are those of several programs of the guide, which have no collection in common.

use mongodb::Client;
use odm::prelude::*;
use odm_examples::bucket::{CommentBucket, Post};
use odm_examples::many_to_many::{Author, Book, Category};
use odm_examples::one_to_one_split::{Movie, MovieDetails};
use odm_examples::one_to_squillions::{Host, LogMsg};
use odm_examples::subset::{Product, Review};
use odm_examples::two_way::{Person, Task};
use std::process::ExitCode;

async fn open() -> anyhow::Result<Odm> {
    let uri = std::env::var("MONGODB_URI")
        .unwrap_or_else(|_| "mongodb://127.0.0.1:27017/?replicaSet=rs0".to_owned());
    let client = Client::with_uri_str(uri).await?;
    let db = client
        .default_database()
        .unwrap_or_else(|| client.database("manage"));
    let models = models![
        Person,
        Task,
        Product,
        Review,
        Host,
        LogMsg,
        Author,
        Book,
        Category,
        Movie,
        MovieDetails,
        Post,
        CommentBucket
    ];
    Ok(Odm::new(db, models)?)
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
