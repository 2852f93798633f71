//! The shard keys that the collections of a database have on a sharded cluster.

use super::existing::{self, rows_of};
use super::values::same;
use crate::store::server::Topology;
use crate::{Odm, Result};
use mongodb::bson::{Bson, Document, doc};
use std::collections::HashMap;

/// `Unauthorized`.
const UNAUTHORIZED: i32 = 13;

/// The shard key of a collection as the cluster has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StoredShardKey {
    /// The collection is not sharded.
    None,
    /// The fields with `1` or `"hashed"`.
    Is(Document),
    /// The user may not read where the cluster keeps it.
    Unknown,
}

/// The shard keys of the collections of a database.
#[derive(Debug)]
pub(crate) enum StoredShardKeys {
    /// By the name of the collection. No other collection is sharded.
    Known(HashMap<String, Document>),
    /// The user may not read them.
    Unknown,
}

impl StoredShardKeys {
    /// Reads them: one round trip on a sharded cluster, none elsewhere.
    pub(crate) async fn read(odm: &Odm) -> Result<StoredShardKeys> {
        if odm.server().await?.topology() != Topology::Sharded {
            return Ok(StoredShardKeys::Known(HashMap::new()));
        }
        let db = odm.database();
        // All names that begin with that of the database and a dot, behind which comes a slash.
        let (first, behind) = (format!("{}.", db.name()), format!("{}/", db.name()));
        let sharded = doc! {
            "_id": { "$gte": &first, "$lt": behind },
            "dropped": { "$ne": true },
            // From MongoDB 8.0 on, collections that are not sharded are listed too.
            "unsplittable": { "$ne": true },
        };
        let find = doc! { "find": "collections", "filter": sharded, "projection": { "key": 1 } };
        match rows_of(&db.client().database("config"), &find).await {
            Ok(rows) => Ok(StoredShardKeys::Known(
                rows.iter().filter_map(|row| named(row, &first)).collect(),
            )),
            Err(error) if existing::code(&error) == Some(UNAUTHORIZED) => Ok(StoredShardKeys::Unknown),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn of(&self, collection: &str) -> StoredShardKey {
        match self {
            StoredShardKeys::Known(keys) => keys
                .get(collection)
                .map_or(StoredShardKey::None, |key| StoredShardKey::Is(key.clone())),
            StoredShardKeys::Unknown => StoredShardKey::Unknown,
        }
    }
}

/// The name of a collection and its shard key.
fn named(row: &Document, first: &str) -> Option<(String, Document)> {
    let name = row.get_str("_id").ok()?.strip_prefix(first)?;
    Some((name.to_owned(), row.get_document("key").ok()?.clone()))
}

/// How an index serves the shard key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Serves {
    /// It does not serve the shard key.
    No,
    /// The collection needs an index that begins with its shard key, and this one does.
    Yes,
    /// It may do so.
    Unknown,
}

impl StoredShardKey {
    /// Whether this index, as the server lists it, serves the shard key.
    pub(super) fn served_by(&self, index: &Document) -> Serves {
        // The server takes none of these for a shard key.
        let others = ["sparse", "partialFilterExpression", "collation", "weights"];
        if others.iter().any(|option| index.contains_key(option)) {
            return Serves::No;
        }
        let fields = index.get_document("key").into_iter().flatten();
        match self {
            StoredShardKey::None => Serves::No,
            StoredShardKey::Is(key) => {
                let first: Vec<(&String, &Bson)> = fields.take(key.len()).collect();
                let is_same = |((name, kind), (other, of_key)): (&(&String, &Bson), (&String, &Bson))| {
                    *name == other && same(kind, of_key)
                };
                if first.len() == key.len() && first.iter().zip(key).all(is_same) {
                    Serves::Yes
                } else {
                    Serves::No
                }
            }
            StoredShardKey::Unknown => {
                let mut kinds = fields.map(|(_, kind)| kind);
                let is_of_key = |kind: &Bson| same(kind, &Bson::Int32(1)) || *kind == Bson::from("hashed");
                if kinds.next().is_some_and(is_of_key) {
                    Serves::Unknown
                } else {
                    Serves::No
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(key: Document) -> Document {
        doc! { "v": 2, "key": key, "name": "one" }
    }

    #[test]
    fn an_index_serves_the_shard_key_if_it_begins_with_it() {
        let key = StoredShardKey::Is(doc! { "tenant": 1, "_id": 1 });
        for (begins, serves) in [
            (doc! { "tenant": 1, "_id": 1 }, Serves::Yes),
            (doc! { "tenant": 1.0, "_id": 1_i64, "slug": 1 }, Serves::Yes),
            (doc! { "tenant": 1 }, Serves::No),
            (doc! { "tenant": 1, "_id": -1 }, Serves::No),
            (doc! { "_id": 1, "tenant": 1 }, Serves::No),
        ] {
            assert_eq!(key.served_by(&index(begins.clone())), serves, "{begins}");
            assert_eq!(StoredShardKey::None.served_by(&index(begins)), Serves::No);
        }
        for option in ["sparse", "partialFilterExpression", "collation"] {
            let mut other = index(doc! { "tenant": 1, "_id": 1 });
            other.insert(option, true);
            assert_eq!(key.served_by(&other), Serves::No, "{option}");
        }
        let hashed = StoredShardKey::Is(doc! { "k": "hashed" });
        assert_eq!(hashed.served_by(&index(doc! { "k": "hashed" })), Serves::Yes);
        assert_eq!(hashed.served_by(&index(doc! { "k": 1 })), Serves::No);
    }

    #[test]
    fn without_the_shard_key_an_index_of_its_kind_may_serve_it() {
        let unknown = StoredShardKeys::Unknown.of("orders");
        for (key, serves) in [
            (doc! { "tenant": 1, "at": -1 }, Serves::Unknown),
            (doc! { "k": "hashed" }, Serves::Unknown),
            (doc! { "at": -1 }, Serves::No),
            (doc! { "place": "2dsphere" }, Serves::No),
        ] {
            assert_eq!(unknown.served_by(&index(key.clone())), serves, "{key}");
        }
    }

    #[test]
    fn the_shard_keys_of_a_database_are_named_by_its_collections() {
        let row = doc! { "_id": "shop.orders.2024", "key": { "tenant": 1, "_id": 1 }, "unique": false };
        let (name, key) = named(&row, "shop.").expect("it is one of the database");
        assert_eq!(
            (name.as_str(), &key),
            ("orders.2024", &doc! { "tenant": 1, "_id": 1 })
        );
        assert_eq!(named(&row, "shops."), None);
        let keys = StoredShardKeys::Known(HashMap::from([(name, key.clone())]));
        assert_eq!(keys.of("orders.2024"), StoredShardKey::Is(key));
        assert_eq!(keys.of("orders"), StoredShardKey::None);
    }
}
