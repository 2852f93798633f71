//! The documents, as the benchmark of the library stores them, and their ids.

use crate::{DOCUMENTS, Result};
use futures_util::TryStreamExt;
use mongodb::Client;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Document, doc};

pub fn word(n: i64, k: i64) -> String {
    format!("{:08}", (n * 7_919 + k * 104_729) % 100_000_000)
}

pub fn text(n: i64, k: i64) -> String {
    format!("abcdefghijklmnopqrstuv{}", word(n, k))
}

pub fn number(n: i64, k: i64) -> i32 {
    ((n * 7_919 + k * 104_729) % 100_000_000) as i32
}

/// The documents that the tasks name.
pub struct Named {
    pub small: Vec<ObjectId>,
    pub keys: Vec<ObjectId>,
    pub nested: Vec<ObjectId>,
}

impl Named {
    pub async fn of(uri: &str, database: &str) -> Result<Named> {
        let db = Client::with_uri_str(uri).await?.database(database);
        let ids = async |collection: &str, field: &str| -> Result<Vec<ObjectId>> {
            let collection = db.collection::<Document>(collection);
            let found = collection.find(doc! {}).sort(doc! { "_id": 1 });
            let found: Vec<Document> = found.limit(DOCUMENTS as i64).await?.try_collect().await?;
            Ok(found
                .iter()
                .map(|found| found.get_object_id(field))
                .collect::<std::result::Result<_, _>>()?)
        };
        Ok(Named {
            small: ids("small", "_id").await?,
            keys: ids("small", "field_fk").await?,
            nested: ids("nested", "_id").await?,
        })
    }
}
