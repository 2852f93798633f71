//! Commands that a `mongos` 4.9 has answered, and its replies (`mongos-4.9.json`).

use crate::json;
use crate::support::{Cluster, of_transaction, server, session, with};
use bson::{Bson, Document, doc};
use odm_router::RouterOptions;

/// Entries that are not sent, with the reason.
const NOT_SENT: &[(&str, &str)] = &[
    (
        "shardCollection with data and index",
        "the backing server builds no hashed index",
    ),
    ("shardCollection hashed with data and index", "the same"),
    (
        "createIndexes unique that existing documents violate",
        "the recording does not show the documents",
    ),
    (
        "dropIndexes of the shard key",
        "the state of its indexes is that of the recording",
    ),
    ("collMod index expireAfterSeconds", "the same"),
    (
        "find it after the commit",
        "the recording does not show the transaction",
    ),
    ("transaction: commit of a changed key", "the same"),
    ("change stream: events", "a list of events, compared in `streams`"),
    ("change stream: resumed", "the token is not recorded"),
    ("transaction: createIndexes", "the backing server takes it"),
    ("transaction: create", "the same"),
    (
        "refineCollectionShardKey",
        "the router plays one that has no such index",
    ),
    ("commit type", "the type is no part of the reply"),
    ("change stream: startAtOperationTime", "the time is not recorded"),
    ("balancerCollectionStatus", "the router has no balancer"),
    ("dropDatabase", "of another database than that of the recording"),
];

/// Entries whose words, or one of whose fields, are those of the backing server.
const OF_THE_SERVER: &[&str] = &[
    "createIndexes, other options under the same name",
    "update against it, on one shard of two",
    "update many against it",
    "change _id: full key, retryable write",
    "update by _id meets a transaction, with maxTimeMS",
    "$merge into a sharded collection, on the key and _id",
    "$merge that fails",
    "$indexStats",
    "$where on a sharded collection",
    "transaction: conflict",
    "transaction: findAndModify conflict",
    "transaction: commit after the conflict",
    "transaction: commit after that refusal",
    "transaction: commit after the abort",
    "change stream: resumed by a token of nothing",
    "moves: it updates in the moved chunk",
    "moves: its commit after that",
];

/// Entries in which the router differs, with the reason: the server's state is undone where `mongos` leaves a part of it.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "change the key: update many",
        "`n` counts the documents of the shard that had none to refuse",
    ),
    (
        "update many by another field",
        "the recording has a document more",
    ),
    ("update many by the tenant", "the same"),
    (
        "change the key: update many to the value that is there",
        "the recording has a document less",
    ),
    (
        "delete many by another field",
        "the recording has a document less",
    ),
    ("find it", "the shard of the recording had not applied the commit"),
    (
        "change the key back by findAndModify, retryable write",
        "the recording shows a field of an earlier update",
    ),
    (
        "$lookup with a field and a pipeline",
        "the backing server takes it, as servers from 5.0 on do",
    ),
    (
        "write concern that no shard fulfils, two shards",
        "the backing server puts the details in `errInfo`",
    ),
    ("write concern that no shard fulfils, one shard", "the same"),
];

/// The preparation of an entry, besides its collections in their first state.
const PREPARED: &[(&str, &str)] = &[
    (
        "shardCollection with data, without index",
        r#"[{"insert": "data", "documents": [{"_id": 1, "a": 1}, {"_id": 2, "a": 2}]}]"#,
    ),
    (
        "shardCollection with data and index",
        r#"[{"createIndexes": "data", "indexes": [{"key": {"a": 1}, "name": "a_1"}]}]"#,
    ),
    (
        "shardCollection with data that lacks the key",
        r#"[{"insert": "nulls", "documents": [{"_id": 1}]}, {"createIndexes": "nulls", "indexes": [{"key": {"a": 1}, "name": "a_1"}]}]"#,
    ),
    (
        "shardCollection with an array in the key",
        r#"[{"insert": "arr", "documents": [{"_id": 1, "a": [1, 2]}]}, {"createIndexes": "arr", "indexes": [{"key": {"a": 1}, "name": "a_1"}]}]"#,
    ),
    (
        "shardCollection with data and a sparse index",
        r#"[{"insert": "sparse", "documents": [{"_id": 1, "a": 1}]}, {"createIndexes": "sparse", "indexes": [{"key": {"a": 1}, "name": "a_1", "sparse": true}]}]"#,
    ),
    (
        "shardCollection with data and a partial index",
        r#"[{"insert": "partial", "documents": [{"_id": 1, "a": 1}]}, {"createIndexes": "partial", "indexes": [{"key": {"a": 1}, "name": "a_1", "partialFilterExpression": {"a": {"$gt": 0}}}]}]"#,
    ),
    (
        "shardCollection of an empty collection with a unique index",
        r#"[{"createIndexes": "emptyu", "indexes": [{"key": {"slug": 1}, "name": "slug_1", "unique": true}]}]"#,
    ),
    (
        "shardCollection { tenant, _id } with a unique index",
        r#"[{"createIndexes": "emptyt", "indexes": [{"key": {"tenant": 1, "slug": 1}, "name": "s", "unique": true}]}]"#,
    ),
    (
        "shardCollection of a collection with a collation",
        r#"[{"create": "coll", "collation": {"locale": "en", "strength": 2}}]"#,
    ),
    (
        "shardCollection of a collection with a validator",
        r#"[{"create": "valid", "validator": {"$jsonSchema": {"properties": {"a": {"bsonType": "int"}}}}}]"#,
    ),
    (
        "insert of many, ordered",
        r#"[{"insert": "r", "documents": [{"_id": 1002, "tenant": "a"}]}]"#,
    ),
    (
        "insert of many, unordered",
        r#"[{"insert": "r", "documents": [{"_id": 1002, "tenant": "a"}, {"_id": 1003, "tenant": "z"}]}]"#,
    ),
    (
        "by an _id that two shards have",
        r#"[{"insert": "r", "documents": [{"_id": 1002, "tenant": "a"}, {"_id": 1002, "tenant": "z", "twin": true}]}]"#,
    ),
    (
        "update against it",
        r#"[{"update": "r", "updates": [{"q": {"_id": 3}, "u": {"$set": {"y": 1}}}]}]"#,
    ),
    (
        "createIndexes that existing",
        r#"[{"createIndexes": "h", "indexes": [{"key": {"k": 1, "slug": 1}, "name": "k_slug", "unique": true}]}]"#,
    ),
    (
        "distinct in the view",
        r#"[{"insert": "vdata", "documents": [{"_id": 1, "a": 0}, {"_id": 2, "a": 1}, {"_id": 3, "a": 2}, {"_id": 4, "a": 3}, {"_id": 5, "a": 4}, {"_id": 6, "a": 5}, {"_id": 7, "a": 6}, {"_id": 8, "a": 7}, {"_id": 9, "a": 8}, {"_id": 10, "a": 9}]}]"#,
    ),
    (
        "insert of a duplicate of a unique shard key",
        r#"[{"delete": "u", "deletes": [{"q": {}, "limit": 0}]}]"#,
    ),
];

/// Names with these in them go on from the state that the entry before has left.
const CONTINUED: &[&str] = &[
    "find it",
    "… ",
    "transaction",
    "moves:",
    "orphans",
    "change the key back",
];

#[tokio::test(flavor = "multi_thread")]
async fn the_router_answers_as_a_mongos_has_answered() {
    let facts = json::read(include_str!("mongos-4.9.json"));
    let mut run = Run::start().await;
    let (mut compared, mut wrong) = (0, Vec::new());
    for (name, fact) in &facts {
        let fact = fact.as_document().unwrap();
        if NOT_SENT.iter().any(|(not_sent, _)| name.starts_with(not_sent)) {
            continue;
        }
        let got = run
            .send(
                name,
                fact.get_document("command").unwrap(),
                fact.get_str("database").unwrap_or_default(),
            )
            .await;
        let expected = fact.get_document("reply").unwrap();
        let mut differences = Vec::new();
        let is_of_server = OF_THE_SERVER.contains(&name.as_str());
        compare(
            name,
            &Bson::from(expected),
            &Bson::from(got),
            is_of_server,
            &mut differences,
        );
        let is_different = DIFFERENT.iter().any(|(different, _)| different == name);
        if is_different && differences.is_empty() {
            differences.push(format!("{name}: no longer different"));
        } else if is_different {
            differences.clear();
        }
        compared += 1;
        wrong.extend(differences);
    }
    run.cluster.end().await;
    assert_eq!(wrong, Vec::<String>::new(), "of {compared}");
    assert!(compared > 230, "{compared}");
}

/// The cluster of the recording: ranged, hashed and plain collections, two shards.
struct Run {
    cluster: Cluster,
    /// The transaction or retryable write before.
    last: Document,
    /// A transaction that the next one meets.
    other: Option<Document>,
    address: String,
}

impl Run {
    async fn start() -> Run {
        let options = RouterOptions {
            max_wire_version: Some(12),
            scatter: false,
            ..RouterOptions::default()
        };
        let mut cluster = with(options).await;
        let key = || doc! { "tenant": 1, "_id": 1 };
        let keys = [
            ("r", key()),
            ("w", key()),
            ("s", key()),
            ("h", doc! { "k": "hashed" }),
            ("i", doc! { "_id": 1 }),
            ("ih", doc! { "_id": "hashed" }),
        ];
        for (collection, key) in keys {
            cluster.shard(collection, key).await;
        }
        for collection in ["w", "s"] {
            cluster
                .split_at(collection, doc! { "tenant": "m", "_id": Bson::MinKey })
                .await;
        }
        cluster.split_at("i", doc! { "_id": 100 }).await;
        cluster
            .ok(doc! { "create": "cap", "capped": true, "size": 4096 })
            .await;
        cluster
            .ok(doc! { "create": "v", "viewOn": "vdata", "pipeline": [] })
            .await;
        cluster.ok(doc! { "create": "made_before" }).await;
        for collection in ["r", "h", "i", "ih", "plain", "w", "s"] {
            fill(&mut cluster, collection).await;
        }
        let uri = server();
        let address = uri
            .trim_start_matches("mongodb://")
            .split(['/', '?'])
            .next()
            .unwrap()
            .to_owned();
        Run {
            cluster,
            last: session(),
            other: None,
            address,
        }
    }

    async fn send(&mut self, name: &str, command: &Document, database: &str) -> Document {
        let database_of_run = self.cluster.database.clone();
        let is_continued = CONTINUED.iter().any(|part| name.contains(part));
        let collection = command.values().next().and_then(Bson::as_str).unwrap_or_default();
        if !is_continued {
            self.cluster
                .run(of_transaction(&self.last, false, doc! { "abortTransaction": 1 }))
                .await;
            if ["r", "h", "i", "ih", "plain"].contains(&collection) {
                fill(&mut self.cluster, collection).await;
            }
        }
        for (prepared, commands) in PREPARED.iter().copied() {
            if name.contains(prepared) {
                let held = json::read(&format!(r#"{{"all": {commands}}}"#));
                for command in held.get_array("all").unwrap() {
                    self.cluster.run(command.as_document().unwrap().clone()).await;
                }
            }
        }
        self.prepare(name).await;
        let mut command = replaced(&command.into(), "facts", &database_of_run)
            .as_document()
            .unwrap()
            .clone();
        if command.contains_key("lsid") {
            let begins = command.contains_key("startTransaction") || !command.contains_key("autocommit");
            if begins && !name.starts_with('…') {
                self.cluster
                    .run(of_transaction(&self.last, false, doc! { "abortTransaction": 1 }))
                    .await;
                self.last = session();
            }
            command.insert("lsid", self.last.clone());
            command.insert("txnNumber", 1_i64);
        }
        let of = match database {
            "admin" => "admin",
            _ => &database_of_run,
        };
        let reply = self.cluster.client.run(of, command).await.unwrap();
        let mut reply = replaced(&reply.into(), &database_of_run, "facts");
        for (shard, address) in [("sh0", "S0"), ("sh1", "S1")] {
            reply = replaced(
                &reply,
                &format!("{shard}/{}", self.address),
                &format!("{shard}/{address}"),
            );
        }
        reply.as_document().unwrap().clone()
    }

    /// The transactions in which an entry is sent.
    async fn prepare(&mut self, name: &str) {
        let update = |id: i32| doc! { "update": "r", "updates": [{ "q": { "tenant": "a", "_id": id }, "u": { "$set": { "y": 7 } } }] };
        let find = || doc! { "find": "r", "filter": { "tenant": "z", "_id": 80 } };
        match name {
            "transaction: abort" => {
                self.last = session();
                self.cluster
                    .ok(of_transaction(&self.last, true, update(21)))
                    .await;
            }
            "transaction: conflict" | "transaction: findAndModify conflict" => {
                fill(&mut self.cluster, "r").await;
                let (other, last) = (session(), session());
                self.cluster.ok(of_transaction(&last, true, find())).await;
                self.cluster.ok(of_transaction(&other, true, update(20))).await;
                (self.other, self.last) = (Some(other), last);
            }
            "transaction: commit of the other" => self.last = self.other.take().unwrap(),
            "transaction: duplicate key" => {
                let other = self.other.take().unwrap();
                self.cluster
                    .ok(of_transaction(&other, false, doc! { "abortTransaction": 1 }))
                    .await;
                self.last = session();
                self.cluster.ok(of_transaction(&self.last, true, find())).await;
            }
            "transaction: aggregate $count" => {
                self.cluster
                    .insert("r", vec![doc! { "_id": 1_000, "tenant": "a" }])
                    .await;
            }
            "count, with orphans" => {
                fill(&mut self.cluster, "r").await;
                // Five documents of a chunk that moves to the other shard and leaves them behind.
                let namespace = self.cluster.namespace("r");
                let orphans = (500..505).map(|n| doc! { "_id": n, "tenant": "zz", "orphan": true });
                self.cluster.insert("r", orphans.collect()).await;
                let middle = doc! { "tenant": "zz", "_id": Bson::MinKey };
                self.cluster
                    .admin(doc! { "split": &namespace, "middle": middle })
                    .await;
                self.cluster.router.leave_orphans(true);
                let of = doc! { "tenant": "zz", "_id": 1 };
                self.cluster.router.move_chunk(&namespace, &of).await.unwrap();
                self.cluster.router.leave_orphans(false);
                // The copies that are owned are gone: what the shard counts is its own and the orphans.
                let delete = doc! { "delete": "r", "deletes": [{ "q": { "tenant": "zz" }, "limit": 0 }] };
                self.cluster.ok(delete).await;
            }
            _ => {}
        }
    }
}

/// Gives a collection the documents of the recording.
async fn fill(cluster: &mut Cluster, collection: &str) {
    let document = |n: i32| match collection {
        "r" | "w" | "s" => doc! { "_id": n, "tenant": if n < 50 { "a" } else { "z" }, "x": n % 5 },
        "h" => doc! { "_id": n, "k": n, "x": n % 5 },
        "plain" => doc! { "_id": n, "r": n, "k": n, "x": n % 5 },
        _ => doc! { "_id": n, "x": n % 5 },
    };
    cluster
        .ok(doc! { "delete": collection, "deletes": [{ "q": {}, "limit": 0 }] })
        .await;
    cluster.insert(collection, (0..100).map(document).collect()).await;
}

fn replaced(value: &Bson, from: &str, to: &str) -> Bson {
    let field = |(name, value): (&String, &Bson)| (name.replace(from, to), replaced(value, from, to));
    match value {
        Bson::String(text) => Bson::String(text.replace(from, to)),
        Bson::Document(fields) => Bson::Document(fields.iter().map(field).collect()),
        Bson::Array(items) => Bson::Array(items.iter().map(|item| replaced(item, from, to)).collect()),
        other => other.clone(),
    }
}

/// Notes where a reply lacks what is expected. Of errors that the backing server words itself only the codes are compared.
fn compare(path: &str, expected: &Bson, got: &Bson, is_of_server: bool, differences: &mut Vec<String>) {
    /// Fields that a server measures, or adds on its own.
    const NOT_COMPARED: &[&str] = &[
        "uuid",
        "collectionUUID",
        "topologyTime",
        "postBatchResumeToken",
        "collation",
        "nModified",
        "note",
    ];
    let last = path.rsplit('/').next().unwrap_or_default();
    if NOT_COMPARED.contains(&last)
        || (is_of_server && !["ok", "index"].contains(&last) && !expected.is_container())
    {
        return;
    }
    match (expected, got) {
        (Bson::String(pattern), _) if pattern.starts_with('<') => {}
        (Bson::String(pattern), Bson::String(text)) => {
            let (pattern, text) = (words(pattern), words(text));
            if pattern != text {
                differences.push(format!("{path}: {pattern} != {text}"));
            }
        }
        (Bson::Document(expected), Bson::Document(got)) => {
            for (name, value) in expected {
                match got.get(name) {
                    Some(other) => {
                        compare(&format!("{path}/{name}"), value, other, is_of_server, differences)
                    }
                    None if is_of_server || NOT_COMPARED.contains(&name.as_str()) => {}
                    None => differences.push(format!("{path}/{name}: {value} is missing in {got}")),
                }
            }
        }
        (Bson::Array(expected), Bson::Array(got)) if is_of_server && expected.len() != got.len() => {}
        (Bson::Array(expected), Bson::Array(got)) if expected.len() == got.len() => {
            let sorted = |list: &Vec<Bson>| {
                let mut list = list.clone();
                list.sort_by_key(|item| {
                    item.as_document()
                        .and_then(|item| item.get("name"))
                        .unwrap_or(item)
                        .to_string()
                });
                list
            };
            let (expected, got) = match last {
                "firstBatch" | "values" => (sorted(expected), sorted(got)),
                _ => (expected.clone(), got.clone()),
            };
            for (expected, got) in expected.iter().zip(&got) {
                compare(&format!("{path}/"), expected, got, is_of_server, differences);
            }
        }
        (expected, got) if number(expected).is_some() && number(expected) == number(got) => {}
        (expected, got) if expected == got => {}
        (expected, got) => differences.push(format!("{path}: {expected} != {got}")),
    }
}

/// A message without what differs from run to run.
fn words(text: &str) -> String {
    let mut words = Vec::new();
    for word in text.split(' ') {
        let is_varying = word.len() >= 20
            && word
                .chars()
                .filter(|letter| letter.is_ascii_hexdigit() || *letter == '-')
                .count()
                >= 20;
        words.push(
            if is_varying || word.starts_with("<uuid>") || word.contains("<oid>") {
                "*"
            } else {
                word
            },
        );
    }
    let words = words.join(" ");
    let end = [
        "Unable to acquire S lock",
        "sharding already enabled",
        "Collection has default collation",
    ];
    let cut = end.into_iter().find(|end| words.starts_with(end));
    cut.map_or(words, str::to_owned)
}

fn number(value: &Bson) -> Option<f64> {
    match value {
        Bson::Int32(n) => Some(f64::from(*n)),
        Bson::Int64(n) => Some(*n as f64),
        Bson::Double(n) => Some(*n),
        _ => None,
    }
}

trait Container {
    fn is_container(&self) -> bool;
}

impl Container for Bson {
    fn is_container(&self) -> bool {
        matches!(self, Bson::Document(_) | Bson::Array(_))
    }
}
