//! A database of some tenants, and what is stored in it.

use futures::TryStreamExt;
use futures::future::join_all;
use mongodb::Database;
use mongodb::bson::{Bson, Document as Doc, doc};
use odm::Odm;
use odm_tests::TestDb;
use odm_tests::fixtures::operations::{Set, Tenant, collated};
use std::collections::BTreeMap;

const COLLECTIONS: [&str; 16] = [
    "currencies",
    "notes",
    "customers",
    "orders",
    "profiles",
    "groups",
    "albums",
    "photos",
    "reading_buckets",
    "entries",
    "records",
    "drafts",
    "counts",
    "_odm_claims.notes",
    "_odm_claims.customers",
    "_odm_claims.albums",
];

/// The stored documents, by collection and id.
pub type Documents = BTreeMap<(&'static str, String), Doc>;

pub struct World {
    /// Without a scope.
    pub odm: Odm,
    db: Database,
    first: Documents,
}

impl World {
    /// The documents of these tenants in a database of their own beside that of the test.
    pub async fn of(
        t: &TestDb,
        set: &'static Set,
        tenants: &[Tenant],
        standalone: bool,
        name: &str,
    ) -> World {
        let db = t.db.client().database(&format!("{}_{name}", t.db.name()));
        if set.name == collated::SET.name {
            odm_tests::require_inherited_collations(&db).await;
        }
        let mut odm = Odm::new(db.clone(), (set.models)()).unwrap();
        odm.sync().await.unwrap();
        if standalone {
            let db = t.standalone().await.client().database(db.name());
            odm = Odm::new(db, (set.models)()).unwrap();
        }
        for tenant in tenants {
            (set.fill)(odm.clone(), *tenant).await;
        }
        let mut world = World {
            odm,
            db,
            first: Documents::new(),
        };
        world.first = world.documents().await;
        world
    }

    /// The documents as they were at first.
    pub fn first(&self) -> &Documents {
        &self.first
    }

    /// The documents as they are.
    pub async fn documents(&self) -> Documents {
        let read = COLLECTIONS.map(async |name| {
            let all = self.db.collection::<Doc>(name).find(doc! {}).await.unwrap();
            let all: Vec<Doc> = all.try_collect().await.unwrap();
            all.into_iter()
                .map(move |document| ((name, id(&document)), document))
        });
        join_all(read).await.into_iter().flatten().collect()
    }

    /// Makes the documents as they were at first.
    pub async fn reset(&self, now: &Documents) {
        let ids = |(name, _): &(&'static str, String), document: &Doc| {
            (
                self.db.collection::<Doc>(name),
                doc! { "_id": document.get("_id") },
            )
        };
        // New documents first, which may have the unique key of one that is to come back.
        for (key, document) in now.iter().filter(|(key, _)| !self.first.contains_key(*key)) {
            let (collection, id) = ids(key, document);
            collection.delete_one(id).await.unwrap();
        }
        for (key, document) in self
            .first
            .iter()
            .filter(|(key, document)| now.get(*key) != Some(*document))
        {
            let (collection, id) = ids(key, document);
            collection.replace_one(id, document).upsert(true).await.unwrap();
        }
    }

    pub async fn drop(self) {
        self.db.drop().await.unwrap();
    }

    /// A result without what differs from one run to the next: times, made ids and versions, and the name of the database.
    pub fn masked(&self, result: odm::Result<String>) -> Result<String, String> {
        let masked = |text: String| {
            let mut text = text.replace(self.db.name(), "db");
            // A version that the library makes is the time in microseconds.
            for made in ["DateTime(", "ObjectId(", "Int64(17"] {
                text = without(&text, made);
            }
            text
        };
        match result {
            Ok(text) => Ok(masked(text)),
            Err(error) => {
                // Without the reply of the server, which tells its time.
                let name = format!("{error:?}");
                let name = name.split([' ', '(']).next().unwrap_or_default();
                Err(masked(format!("{name}: {error}")))
            }
        }
    }
}

/// The text without what follows each of these words, up to a bracket.
fn without(text: &str, words: &str) -> String {
    let mut parts = text.split(words);
    let mut left = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        left.push_str(words);
        left.push_str(&part[part.find(')').unwrap_or(part.len())..]);
    }
    left
}

fn id(document: &Doc) -> String {
    document.get("_id").map_or_else(String::new, Bson::to_string)
}
