//! How a cluster distributes collections over its shards, compared with the declared shard keys.
//!
//! The catalog of the cluster is the database `config`. A collection without a key is sharded; one with another key is left alone, since
//! only an administrator knows when its documents may be copied.

use super::existing;
use super::index::key_in_words;
use super::shard_key::StoredShardKeys;
use super::values::same;
use crate::model::document::DocumentMeta;
use crate::model::meta::shard_key::ShardKeyMeta;
use crate::store::server::Topology;
use crate::{Odm, Result};
use mongodb::Database;
use mongodb::bson::{Document, doc};
use std::collections::HashMap;

/// From MongoDB 6.0 on (wire version 17), a database needs no `enableSharding`.
const SHARDS_EVERY_DATABASE: i32 = 17;

/// From MongoDB 5.0 on (wire version 13), a collection gets another key by `reshardCollection`.
const RESHARDS: i32 = 13;

/// The server's code of a command that a user has no right to.
const UNAUTHORIZED: i32 = 13;

/// The catalog of a sharded cluster, as far as it concerns the declared collections.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cluster {
    database: String,
    max_wire_version: i32,
    /// By the name of the collection; `None` without the right to read it.
    sharded: Option<HashMap<String, Distribution>>,
}

/// How one collection is distributed.
#[derive(Clone, Debug, Default, PartialEq)]
struct Distribution {
    key: Document,
    /// The names of the zones, each once.
    zones: Vec<String>,
}

/// What differs from the declaration.
#[derive(Debug, PartialEq)]
pub(super) enum ShardDifference {
    /// It is not sharded. `simple`: it has a collation, which a shard key has not.
    Unsharded {
        key: Document,
        simple: bool,
    },
    Conflict(String),
    Note(String),
    /// What `sync` says, too.
    Warning(String),
}

/// The key as `shardCollection` takes it: `{ tenant: 1, _id: "hashed" }`.
pub(super) fn pattern(declared: &ShardKeyMeta) -> Document {
    let fields = declared.fields.iter().map(|field| {
        let kind = if field.hashed { "hashed".into() } else { 1.into() };
        (field.path.to_owned(), kind)
    });
    fields.collect()
}

/// Whether the fields of one key begin with those of another one, with the same kinds.
pub(super) fn begins_with(key: &Document, other: &Document) -> bool {
    let mut both = key.iter().zip(other);
    key.len() >= other.len() && both.all(|((a, x), (b, y))| a == b && same(x, y))
}

/// Whether a cluster that distributes documents by this key takes a unique index, as `listIndexes` shows it. The directions and kinds of
/// its fields don't matter.
fn keeps_unique(key: &Document, index: &Document) -> bool {
    let Ok(own) = index.get_document("key") else {
        return true;
    };
    let of_id = own.keys().next().is_some_and(|name| name == "_id");
    of_id || own.len() >= key.len() && own.keys().zip(key.keys()).all(|(own, name)| own == name)
}

fn is_unique(index: &Document) -> bool {
    index.get_bool("unique").unwrap_or(false)
}

/// The end of a note about a unique index that no model declares: that the collection can't be sharded with it.
pub(super) fn prevents(meta: &DocumentMeta, index: &Document) -> Option<String> {
    let key = pattern(meta.shard_key?);
    let prevents = is_unique(index) && !keeps_unique(&key, index);
    prevents.then(|| format!(", and with which no cluster distributes the collection by {key}: a unique index begins with the shard key"))
}

impl Cluster {
    /// Compares a collection that is there, or will be, with its declaration. `collation` is its own; `indexes` are those that it has.
    pub(super) fn compare(
        &self,
        meta: &'static DocumentMeta,
        collation: Option<&Document>,
        indexes: &[Document],
    ) -> Vec<ShardDifference> {
        let (name, declared) = (meta.collection, meta.shard_key.map(pattern));
        let Some(sharded) = &self.sharded else {
            let note = declared.map(|key| {
                format!(
                    "`{name}`: declared to be distributed by {key}, and whether it is, is unknown: this user may not read \
                     `config.collections`, which the role `clusterMonitor` allows, or `read` on the database `config`"
                )
            });
            return note.into_iter().map(ShardDifference::Note).collect();
        };
        let mut differences = Vec::new();
        match (sharded.get(name), declared) {
            (None, None) => {}
            (None, Some(key)) => {
                let other = indexes.iter().find(|index| is_unique(index) && !keeps_unique(&key, index));
                differences.push(match other {
                    Some(index) => ShardDifference::Conflict(format!(
                        "no cluster distributes it by {key} with the unique index `{}` on {}, which does not begin with the shard key; odm \
                         does not drop it: drop it yourself",
                        index.get_str("name").unwrap_or_default(),
                        key_in_words(index)
                    )),
                    None => ShardDifference::Unsharded {
                        key,
                        simple: collation.is_some(),
                    },
                });
            }
            (Some(there), None) => differences.push(ShardDifference::Note(format!(
                "`{name}`: it is distributed by {}, which is not declared: `#[document(shard_key(…))]` names these fields, by which the \
                 library sends each statement to the shard that has the document",
                there.key
            ))),
            (Some(there), Some(key)) if is_same(&there.key, &key) => {}
            (Some(there), Some(key)) => {
                differences.push(ShardDifference::Note(self.other_key(name, &there.key, &key)));
                differences.push(ShardDifference::Warning(format!(
                    "`{name}` is distributed by {}, declared {key}: `plan` shows the command that changes it",
                    there.key
                )));
            }
        }
        let zones = sharded.get(name).map(|there| there.zones.as_slice());
        if let Some([first, rest @ ..]) = zones {
            let mut names = format!("`{first}`");
            rest.iter()
                .for_each(|zone| names.push_str(&format!(", `{zone}`")));
            differences.push(ShardDifference::Note(format!(
                "`{name}`: the ranges of its shard key in the zones {names}, which no model declares"
            )));
        }
        differences
    }

    /// The command that distributes a collection by the declared key, and its cost.
    fn other_key(&self, collection: &str, there: &Document, declared: &Document) -> String {
        let begin = format!(
            "`{collection}`: it is distributed by {there}, declared {declared}, so that a statement with the declared fields alone may go to \
             all shards"
        );
        let namespace = format!("{}.{collection}", self.database);
        if begins_with(declared, there) {
            return format!(
                "{begin}. In the shell: db.adminCommand({{ refineCollectionShardKey: \"{namespace}\", key: {declared} }}), once `sync` has \
                 made the index of the shard key. It changes the catalog and moves no document; the ranges that there are stay as they are, \
                 and later ones are split by the new fields too"
            );
        }
        if self.max_wire_version >= RESHARDS {
            return format!(
                "{begin}. In the shell: db.adminCommand({{ reshardCollection: \"{namespace}\", key: {declared} }}), once `sync` has made the \
                 index of the shard key. It copies the whole collection: each shard needs free space for its part of the documents and indexes \
                 twice, reads and writes go on beside it, and at its end writes wait for up to two seconds"
            );
        }
        format!(
            "{begin}. A cluster before MongoDB 5.0 can't change that: declare the key as it is, upgrade it, or copy the documents into a new \
             collection"
        )
    }
}

fn is_same(one: &Document, other: &Document) -> bool {
    one.len() == other.len() && begins_with(one, other)
}

impl Odm {
    /// The catalog of the cluster, with these shard keys of its collections. One round trip; `None` where the deployment is no cluster,
    /// which costs none.
    pub(super) async fn cluster(&self, keys: &StoredShardKeys) -> Result<Option<Cluster>> {
        let server = self.server().await?;
        if server.topology() != Topology::Sharded {
            return Ok(None);
        }
        let db = self.database();
        let sharded = match keys {
            StoredShardKeys::Unknown => None,
            StoredShardKeys::Known(keys) => {
                let collections = self.models().iter().map(|model| model.meta.collection);
                let namespaces: Vec<String> =
                    collections.map(|name| format!("{}.{name}", db.name())).collect();
                let zones = doc! { "find": "tags", "filter": { "ns": { "$in": namespaces } } };
                match existing::rows_of(&db.client().database("config"), &zones).await {
                    Ok(zones) => Some(distributions(db.name(), keys, &zones)),
                    Err(e) if existing::code(&e) == Some(UNAUTHORIZED) => None,
                    Err(e) => return Err(e.into()),
                }
            }
        };
        Ok(Some(Cluster {
            database: db.name().to_owned(),
            max_wire_version: server.max_wire_version(),
            sharded,
        }))
    }
}

/// By the name of the collection.
fn distributions(
    database: &str,
    keys: &HashMap<String, Document>,
    zones: &[Document],
) -> HashMap<String, Distribution> {
    let name = |namespace: &str| {
        let name = namespace.strip_prefix(database)?.strip_prefix('.')?;
        Some(name.to_owned())
    };
    let distribution = |key: &Document| Distribution {
        key: key.clone(),
        zones: Vec::new(),
    };
    let sharded = keys.iter().map(|(name, key)| (name.clone(), distribution(key)));
    let mut sharded: HashMap<String, Distribution> = sharded.collect();
    for range in zones {
        let (Some(name), Ok(zone)) = (range.get_str("ns").ok().and_then(name), range.get_str("tag")) else {
            continue;
        };
        let Some(there) = sharded.get_mut(&name) else {
            continue;
        };
        if !there.zones.iter().any(|known| known == zone) {
            there.zones.push(zone.to_owned());
        }
    }
    sharded
}

/// Why a cluster does not distribute a collection.
pub(super) enum ShardRefusal {
    /// Another client has distributed it by another key, or changes it.
    Stale(String),
    Final(String),
    Other(mongodb::error::Error),
}

impl ShardRefusal {
    fn of(key: &Document, e: mongodb::error::Error) -> ShardRefusal {
        let text = crate::error::driver::DriverText(&e).to_string();
        match existing::code(&e) {
            // AlreadyInitialized, LockTimeout, StaleEpoch, StaleDbVersion, StaleConfig
            Some(23 | 24 | 150 | 249 | 13388) => ShardRefusal::Stale(text),
            Some(UNAUTHORIZED) => ShardRefusal::Final(format!(
                "this user may not distribute it by {key}, which the role `clusterManager` allows: call `sync` as a user with that role, or \
                 have an administrator call `sh.shardCollection`"
            )),
            // BadValue, IllegalOperation, InvalidOptions, OperationFailed
            Some(2 | 20 | 72 | 96) => {
                ShardRefusal::Final(format!("the cluster does not distribute it by {key}: {text}"))
            }
            _ => ShardRefusal::Other(e),
        }
    }
}

/// Distributes a collection by its key. Several clients may do so at once: the server takes the same key again.
pub(super) async fn shard(
    db: &Database,
    collection: &str,
    key: &Document,
    simple: bool,
    max_wire_version: i32,
) -> Result<(), ShardRefusal> {
    let admin = db.client().database("admin");
    let refusal = |e| ShardRefusal::of(key, e);
    if max_wire_version < SHARDS_EVERY_DATABASE {
        let enable = doc! { "enableSharding": db.name() };
        admin.run_command(enable).await.map_err(refusal)?;
    }
    let namespace = format!("{}.{collection}", db.name());
    let mut command = doc! { "shardCollection": namespace, "key": key.clone() };
    if simple {
        command.insert("collation", doc! { "locale": "simple" });
    }
    admin.run_command(command).await.map_err(refusal)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::document;
    use crate::model::meta::shard_key::ShardKeyField;
    use crate::model::shape::Shape;

    const TENANT: ShardKeyField = ShardKeyField {
        path: "tenant",
        hashed: false,
    };
    const ID: ShardKeyField = ShardKeyField {
        path: "_id",
        hashed: true,
    };
    static BY_BOTH: ShardKeyMeta = ShardKeyMeta {
        fields: &[TENANT, ID],
    };
    static BY_TENANT: ShardKeyMeta = ShardKeyMeta { fields: &[TENANT] };

    const fn orders(shard_key: Option<&'static ShardKeyMeta>) -> DocumentMeta {
        DocumentMeta {
            shard_key,
            ..document("Order", "orders", || Shape::Any)
        }
    }
    static PLAIN: DocumentMeta = orders(None);
    static SHARDED: DocumentMeta = orders(Some(&BY_BOTH));
    static BY_ONE: DocumentMeta = orders(Some(&BY_TENANT));

    fn cluster(version: i32, key: Option<Document>, zones: &[&str]) -> Cluster {
        let keys = key.into_iter().map(|key| ("orders".to_owned(), key)).collect();
        let zones: Vec<Document> = zones
            .iter()
            .map(|zone| doc! { "ns": "shop.orders", "tag": *zone, "min": {}, "max": {} })
            .collect();
        Cluster {
            database: "shop".to_owned(),
            max_wire_version: version,
            sharded: Some(distributions("shop", &keys, &zones)),
        }
    }

    fn unsharded(simple: bool) -> ShardDifference {
        ShardDifference::Unsharded {
            key: doc! { "tenant": 1, "_id": "hashed" },
            simple,
        }
    }

    /// The only difference, which is a text.
    fn note(differences: &[ShardDifference]) -> &str {
        match differences {
            [ShardDifference::Note(text) | ShardDifference::Conflict(text), ..] => text,
            other => panic!("{other:?}"),
        }
    }

    fn index(key: Document, unique: bool) -> Document {
        doc! { "v": 2, "key": key, "name": "other", "unique": unique }
    }

    #[test]
    fn a_collection_with_a_declared_key_is_to_be_sharded() {
        let cluster = cluster(12, None, &[]);
        let en = doc! { "locale": "en", "strength": 2 };
        assert_eq!(cluster.compare(&SHARDED, None, &[]), [unsharded(false)]);
        assert_eq!(cluster.compare(&SHARDED, Some(&en), &[]), [unsharded(true)]);
        assert!(cluster.compare(&PLAIN, None, &[]).is_empty());
    }

    #[test]
    fn a_key_is_the_declared_one_whatever_the_type_of_its_numbers() {
        let there = doc! { "tenant": 1.0, "_id": "hashed" };
        assert!(
            cluster(12, Some(there), &[])
                .compare(&SHARDED, None, &[])
                .is_empty()
        );
        for other in [
            doc! { "tenant": 1, "_id": 1 },
            doc! { "_id": "hashed", "tenant": 1 },
            doc! { "tenant": 1 },
            doc! { "tenant": 1, "_id": "hashed", "at": 1 },
        ] {
            let differences = cluster(25, Some(other.clone()), &[]).compare(&SHARDED, None, &[]);
            assert!(
                matches!(
                    differences.as_slice(),
                    [ShardDifference::Note(_), ShardDifference::Warning(_)]
                ),
                "{other}: {differences:?}"
            );
        }
    }

    #[test]
    fn the_command_for_another_key_depends_on_what_it_extends_and_on_the_version() {
        let tenant = || Some(doc! { "tenant": 1 });
        let refined = cluster(9, tenant(), &[]).compare(&SHARDED, None, &[]);
        let command = r#"db.adminCommand({ refineCollectionShardKey: "shop.orders", key: { "tenant": 1, "_id": "hashed" } })"#;
        assert!(note(&refined).contains(command), "{refined:?}");
        assert!(note(&refined).contains("moves no document"), "{refined:?}");
        let hashed = || Some(doc! { "tenant": "hashed" });
        let copied = cluster(13, hashed(), &[]).compare(&SHARDED, None, &[]);
        let command =
            r#"db.adminCommand({ reshardCollection: "shop.orders", key: { "tenant": 1, "_id": "hashed" } })"#;
        assert!(note(&copied).contains(command), "{copied:?}");
        assert!(
            note(&copied).contains("copies the whole collection"),
            "{copied:?}"
        );
        let never = cluster(12, hashed(), &[]).compare(&SHARDED, None, &[]);
        assert!(
            !note(&never).contains("adminCommand") && note(&never).contains("MongoDB 5.0"),
            "{never:?}"
        );
        // A shorter key is no extension.
        let shorter =
            cluster(25, Some(doc! { "tenant": 1, "_id": "hashed" }), &[]).compare(&BY_ONE, None, &[]);
        assert!(note(&shorter).contains("reshardCollection"), "{shorter:?}");
    }

    #[test]
    fn an_undeclared_key_and_zones_are_left_alone() {
        let there = doc! { "tenant": 1, "_id": "hashed" };
        let undeclared = cluster(12, Some(there.clone()), &[]).compare(&PLAIN, None, &[]);
        assert!(
            note(&undeclared).contains("which is not declared"),
            "{undeclared:?}"
        );
        assert_eq!(undeclared.len(), 1);
        let zones = cluster(12, Some(there), &["eu", "us", "eu"]).compare(&SHARDED, None, &[]);
        assert!(
            note(&zones).contains("in the zones `eu`, `us`, which"),
            "{zones:?}"
        );
        assert_eq!(zones.len(), 1);
    }

    #[test]
    fn without_the_right_to_read_the_catalog_it_is_unknown() {
        let unknown = Cluster {
            sharded: None,
            ..cluster(12, None, &[])
        };
        let told = unknown.compare(&SHARDED, None, &[]);
        assert!(
            note(&told).contains("is unknown") && note(&told).contains("clusterMonitor"),
            "{told:?}"
        );
        assert_eq!(
            told.len(),
            1,
            "nothing is sharded without a look at what is there: {told:?}"
        );
        assert!(unknown.compare(&PLAIN, None, &[]).is_empty());
    }

    #[test]
    fn a_unique_index_that_does_not_begin_with_the_key_prevents_sharding() {
        let cluster = cluster(12, None, &[]);
        let with = |index: Document| cluster.compare(&SHARDED, None, &[index]);
        for key in [
            doc! { "slug": 1 },
            doc! { "tenant": 1, "slug": 1 },
            doc! { "_ids": 1 },
        ] {
            let differences = with(index(key.clone(), true));
            assert!(
                matches!(differences.as_slice(), [ShardDifference::Conflict(_)]),
                "{key}: {differences:?}"
            );
            assert!(note(&differences).contains("drop it yourself"), "{differences:?}");
            assert!(prevents(&SHARDED, &index(key.clone(), true)).is_some());
            assert!(prevents(&PLAIN, &index(key.clone(), true)).is_none());
            assert_eq!(with(index(key, false)), [unsharded(false)]);
        }
        for key in [
            doc! { "_id": 1 },
            doc! { "tenant": 1, "_id": 1 },
            doc! { "tenant": -1, "_id": 1, "slug": 1 },
        ] {
            assert_eq!(with(index(key.clone(), true)), [unsharded(false)], "{key}");
        }
    }

    #[test]
    fn a_refusal_is_told_from_what_another_client_does() {
        let key = doc! { "tenant": 1 };
        let of = |code: i32, text: &str| {
            let reply = doc! { "code": code, "codeName": "", "errmsg": text };
            let command = mongodb::bson::deserialize_from_document(reply).unwrap();
            ShardRefusal::of(&key, mongodb::error::ErrorKind::Command(command).into())
        };
        // The texts of a cluster of 4.9.
        for (code, text) in [
            (
                23,
                "sharding already enabled for collection facts.r with options { _id: \"facts.r\", key: { tenant: 1, _id: 1 } }",
            ),
            (24, "Failed to acquire dist lock"),
        ] {
            assert!(matches!(of(code, text), ShardRefusal::Stale(_)), "{code}");
        }
        for (code, text) in [
            (20, "sharding not enabled for db facts2"),
            (
                72,
                "can't shard collection 'facts.emptyu' with unique index on { slug: 1 } and proposed shard key { tenant: 1 }. Uniqueness can't be maintained unless shard key is a prefix",
            ),
            (96, "couldn't find valid index for shard key"),
            (
                2,
                "Collection has default collation. Must specify collation {locale: 'simple'}",
            ),
        ] {
            let ShardRefusal::Final(what) = of(code, text) else {
                panic!("{code}");
            };
            assert!(
                what.contains(text) && what.contains("{ \"tenant\": 1 }"),
                "{what}"
            );
        }
        let ShardRefusal::Final(what) = of(13, "not authorized on admin to execute command") else {
            panic!("13");
        };
        assert!(what.contains("clusterManager"), "{what}");
        // Those that concern every change of the schema.
        assert!(matches!(
            of(117, "conflicting operation in progress"),
            ShardRefusal::Other(_)
        ));
    }
}
