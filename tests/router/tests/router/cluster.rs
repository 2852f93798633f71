//! The administration of the cluster: what is sharded, its chunks, zones and indexes.

use crate::support::{Cluster, found, is_ok, start, with};
use bson::{Bson, Document, doc};
use odm_router::RouterOptions;

async fn config(cluster: &mut Cluster, find: Document) -> Vec<Document> {
    let reply = cluster.client.run("config", find).await.unwrap();
    assert!(is_ok(&reply), "{reply}");
    found(&reply)
}

#[tokio::test(flavor = "multi_thread")]
async fn hello_is_that_of_a_router() {
    let mut cluster = with(RouterOptions {
        max_wire_version: Some(12),
        ..RouterOptions::default()
    })
    .await;
    for name in ["hello", "isMaster", "ismaster"] {
        let hello = cluster.admin(doc! { name: 1 }).await;
        assert_eq!(hello.get_str("msg").unwrap(), "isdbgrid");
        assert_eq!(hello.get_i32("maxWireVersion").unwrap(), 12);
        for absent in ["setName", "hosts", "topologyVersion", "me", "primary"] {
            assert!(!hello.contains_key(absent), "{hello}");
        }
    }
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_catalog_is_read_as_collections() {
    let mut cluster = start().await;
    cluster.shard("r", doc! { "tenant": 1, "_id": 1 }).await;
    cluster.shard("h", doc! { "k": "hashed" }).await;
    cluster
        .split_at("r", doc! { "tenant": "m", "_id": Bson::MinKey })
        .await;
    let namespace = cluster.namespace("r");
    let collections = config(
        &mut cluster,
        doc! { "find": "collections", "filter": { "_id": &namespace } },
    )
    .await;
    assert_eq!(
        collections[0].get_document("key").unwrap(),
        &doc! { "tenant": 1, "_id": 1 }
    );
    let uuid = collections[0].get("uuid").unwrap().clone();
    let chunks = config(
        &mut cluster,
        doc! { "find": "chunks", "filter": { "uuid": uuid }, "sort": { "min": 1 } },
    )
    .await;
    let told: Vec<_> = chunks
        .iter()
        .map(|chunk| {
            (
                chunk.get_document("max").unwrap().clone(),
                chunk.get_str("shard").unwrap(),
            )
        })
        .collect();
    let middle = doc! { "tenant": "m", "_id": Bson::MinKey };
    assert_eq!(
        told,
        [
            (middle, "sh0"),
            (doc! { "tenant": Bson::MaxKey, "_id": Bson::MaxKey }, "sh1")
        ]
    );
    let shards = config(&mut cluster, doc! { "find": "shards", "sort": { "_id": 1 } }).await;
    assert_eq!(shards.len(), 2);
    let hashed = cluster.namespace("h");
    let number = cluster
        .client
        .run("config", doc! { "count": "chunks", "query": { "ns": hashed } })
        .await
        .unwrap();
    assert_eq!(number.get_i32("n").unwrap(), 4);
    cluster.router.deny_config(true);
    let denied = cluster
        .client
        .run("config", doc! { "find": "collections" })
        .await
        .unwrap();
    assert_eq!(denied.get_i32("code").unwrap(), 13);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_of_shards_are_shown_to_nobody() {
    let mut cluster = start().await;
    cluster.shard("c", doc! { "k": "hashed" }).await;
    cluster
        .insert("c", (0..10).map(|n| doc! { "_id": n, "k": n }).collect())
        .await;
    let listed = cluster.admin(doc! { "listDatabases": 1, "nameOnly": true }).await;
    let names: Vec<_> = listed
        .get_array("databases")
        .unwrap()
        .iter()
        .map(|listed| listed.as_document().unwrap().get_str("name").unwrap())
        .collect();
    assert!(names.contains(&cluster.database.as_str()));
    assert!(
        !names
            .iter()
            .any(|name| name.ends_with("_sh1") && name.starts_with(&cluster.database)),
        "{names:?}"
    );
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_with_documents_is_sharded_where_it_is() {
    let mut cluster = start().await;
    cluster
        .ok(doc! { "create": "c", "validator": { "x": { "$gte": 0 } } })
        .await;
    cluster
        .insert("c", (0..10).map(|n| doc! { "_id": n, "x": n }).collect())
        .await;
    cluster.ok(doc! { "createIndexes": "c", "indexes": [{ "key": { "x": 1 }, "name": "x_1" }, { "key": { "y": 1 }, "name": "y_1" }] }).await;
    cluster.shard("c", doc! { "x": 1 }).await;
    assert_eq!(cluster.stored(0, "c").await.len(), 10);
    cluster.split_at("c", doc! { "x": 5 }).await;
    assert_eq!(
        (
            cluster.stored(0, "c").await.len(),
            cluster.stored(1, "c").await.len()
        ),
        (5, 5)
    );
    assert_eq!(cluster.find("c", doc! {}).await.len(), 10);
    // The other shard has got the options and the indexes.
    let refused = cluster
        .run(doc! { "insert": "c", "documents": [{ "_id": 20, "x": 20 }, { "_id": 21, "x": "text" }] })
        .await;
    let errors = refused.get_array("writeErrors").unwrap();
    assert_eq!(
        (
            errors.len(),
            errors[0].as_document().unwrap().get_i32("code").unwrap()
        ),
        (1, 121)
    );
    let dropped = cluster.ok(doc! { "dropIndexes": "c", "index": "y_1" }).await;
    assert_eq!(dropped.get_document("raw").unwrap().len(), 2);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reply_of_an_index_has_what_each_shard_has_answered() {
    let mut cluster = start().await;
    cluster.shard("c", doc! { "tenant": 1 }).await;
    let create = |unique: Document| doc! { "createIndexes": "c", "indexes": [unique] };
    let of_one = cluster
        .ok(create(
            doc! { "key": { "tenant": 1, "slug": 1 }, "name": "s", "unique": true },
        ))
        .await;
    assert_eq!(of_one.get_document("raw").unwrap().len(), 1);
    let refused = cluster
        .run(create(doc! { "key": { "slug": 1 }, "name": "t", "unique": true }))
        .await;
    assert_eq!(refused.get_i32("code").unwrap(), 67);
    let hashed = cluster
        .ok(create(doc! { "key": { "k": "hashed" }, "name": "k_hashed" }))
        .await;
    assert!(is_ok(&hashed), "{hashed}");
    let listed = found(&cluster.ok(doc! { "listIndexes": "c" }).await);
    let mut names: Vec<_> = listed
        .iter()
        .map(|index| index.get_str("name").unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["_id_", "k_hashed", "s", "tenant_1"]);
    let dropped = cluster
        .run(doc! { "dropIndexes": "c", "index": "k_hashed" })
        .await;
    assert!(is_ok(&dropped), "{dropped}");
    assert_eq!(found(&cluster.ok(doc! { "listIndexes": "c" }).await).len(), 3);
    cluster.end().await;
}

/// An index is unique on each shard alone.
#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_unique_on_each_shard_alone() {
    let mut cluster = start().await;
    cluster.shard("c", doc! { "tenant": 1, "_id": 1 }).await;
    cluster
        .split_at("c", doc! { "tenant": "m", "_id": Bson::MinKey })
        .await;
    cluster
        .insert(
            "c",
            vec![doc! { "_id": 1, "tenant": "a" }, doc! { "_id": 1, "tenant": "z" }],
        )
        .await;
    let refused = cluster
        .run(doc! { "insert": "c", "documents": [{ "_id": 1, "tenant": "b" }] })
        .await;
    assert_eq!(
        refused.get_array("writeErrors").unwrap()[0]
            .as_document()
            .unwrap()
            .get_i32("code")
            .unwrap(),
        11000
    );
    let updated = cluster
        .ok(doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { "y": 1 } } }] })
        .await;
    assert_eq!(updated.get_i32("n").unwrap(), 2);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_a_zone_are_on_its_shard() {
    let mut cluster = with(RouterOptions::default()).await;
    cluster.shard("c", doc! { "tenant": 1, "_id": 1 }).await;
    let namespace = cluster.namespace("c");
    let unknown = cluster.admin(doc! { "updateZoneKeyRange": &namespace, "min": { "tenant": "e" }, "max": { "tenant": "f" }, "zone": "eu" }).await;
    assert_eq!(unknown.get_i32("code").unwrap(), 177);
    cluster
        .admin(doc! { "addShardToZone": "sh1", "zone": "eu" })
        .await;
    let zone = cluster.admin(doc! { "updateZoneKeyRange": &namespace, "min": { "tenant": "e" }, "max": { "tenant": "f" }, "zone": "eu" }).await;
    assert!(is_ok(&zone), "{zone}");
    let tenants = ["ea", "eb", "ec", "ed"];
    cluster
        .insert(
            "c",
            tenants
                .iter()
                .enumerate()
                .map(|(n, tenant)| doc! { "_id": n as i32, "tenant": *tenant })
                .collect(),
        )
        .await;
    assert_eq!(cluster.stored(1, "c").await.len(), 4);
    let tags = config(
        &mut cluster,
        doc! { "find": "tags", "filter": { "ns": namespace } },
    )
    .await;
    assert_eq!(tags[0].get_str("tag").unwrap(), "eu");
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_collection_is_sharded_no_more() {
    let mut cluster = start().await;
    cluster.shard("c", doc! { "k": "hashed" }).await;
    cluster
        .insert("c", (0..10).map(|n| doc! { "_id": n, "k": n }).collect())
        .await;
    cluster.ok(doc! { "drop": "c" }).await;
    assert_eq!(cluster.stored(1, "c").await, []);
    cluster
        .insert("c", (0..10).map(|n| doc! { "_id": n }).collect())
        .await;
    assert_eq!(cluster.stored(0, "c").await.len(), 10);
    cluster.shard("d", doc! { "k": "hashed" }).await;
    cluster.ok(doc! { "dropDatabase": 1 }).await;
    assert_eq!(config(&mut cluster, doc! { "find": "collections" }).await, []);
    cluster.end().await;
}
