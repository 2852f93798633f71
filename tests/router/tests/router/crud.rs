//! Reads and writes of sharded collections: the same as of a collection that is not sharded, with documents on both shards.

use crate::support::{Cluster, connect, found, ids, is_ok, session, start, with};
use bson::{Bson, Document, doc};
use odm_router::{Counts, RouterOptions};

/// Documents of two tenants, on two shards: `a` on the first, `z` on the second.
async fn tenants() -> Cluster {
    let mut cluster = start().await;
    cluster.shard("c", doc! { "tenant": 1, "_id": 1 }).await;
    cluster
        .split_at("c", doc! { "tenant": "m", "_id": Bson::MinKey })
        .await;
    let document = |n: i32| doc! { "_id": n, "tenant": if n % 2 == 0 { "a" } else { "z" }, "x": n % 3, "name": format!("n{n}") };
    cluster.insert("c", (0..20).map(document).collect()).await;
    cluster.insert("plain", (0..20).map(document).collect()).await;
    cluster
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_on_the_shard_of_their_key() {
    let cluster = tenants().await;
    assert_eq!(
        ids(&cluster.stored(0, "c").await),
        (0..20).step_by(2).collect::<Vec<_>>()
    );
    assert_eq!(
        ids(&cluster.stored(1, "c").await),
        (1..20).step_by(2).collect::<Vec<_>>()
    );
    assert_eq!(ids(&cluster.stored(0, "plain").await).len(), 20);
    cluster.end().await;
}

/// A read gives the same of both collections.
#[tokio::test(flavor = "multi_thread")]
async fn reads_over_both_shards_are_those_of_one_collection() {
    let mut cluster = tenants().await;
    for read in [
        doc! { "find": "c", "sort": { "x": -1, "_id": 1 }, "skip": 3, "limit": 7 },
        doc! { "find": "c", "filter": { "x": { "$gt": 0 } }, "sort": { "_id": -1 }, "projection": { "name": 1, "_id": 0 } },
        doc! { "find": "c", "sort": { "name": 1 }, "collation": { "locale": "en", "numericOrdering": true } },
        doc! { "find": "c", "sort": { "_id": 1 }, "projection": { "y": { "$add": ["$x", 1] } }, "limit": 3 },
        doc! { "find": "c", "filter": { "$or": [{ "_id": 3 }, { "tenant": "a", "_id": 4 }] }, "sort": { "_id": 1 } },
        doc! { "aggregate": "c", "pipeline": [{ "$group": { "_id": "$x", "n": { "$sum": 1 } } }, { "$sort": { "_id": 1 } }], "cursor": {} },
        doc! { "aggregate": "c", "pipeline": [{ "$match": { "x": 1 } }, { "$count": "n" }], "cursor": {} },
        doc! { "aggregate": "c", "pipeline": [
            { "$match": { "_id": { "$lt": 6 } } },
            { "$lookup": { "from": "c", "localField": "x", "foreignField": "x", "as": "same" } },
            { "$project": { "n": { "$size": "$same" } } },
            { "$sort": { "_id": 1 } },
        ], "cursor": {} },
        doc! { "aggregate": "c", "pipeline": [
            { "$match": { "_id": { "$lt": 3 } } },
            { "$unionWith": { "coll": "c", "pipeline": [{ "$match": { "_id": { "$gt": 17 } } }] } },
            { "$sort": { "_id": 1 } },
        ], "cursor": {} },
        doc! { "aggregate": "c", "pipeline": [{ "$facet": { "n": [{ "$count": "n" }], "first": [{ "$sort": { "_id": 1 } }, { "$limit": 2 }] } }], "cursor": {} },
    ] {
        let kind = read.keys().next().unwrap().clone();
        let mut plain = read.clone();
        plain.insert(kind, "plain");
        if let Ok(stages) = plain.get_array_mut("pipeline") {
            for stage in stages.iter_mut().filter_map(Bson::as_document_mut) {
                for (name, field) in [("$lookup", "from"), ("$unionWith", "coll")] {
                    if let Ok(body) = stage.get_document_mut(name) {
                        body.insert(field, "plain");
                    }
                }
            }
        }
        let (sharded, plain) = (cluster.ok(read.clone()).await, cluster.ok(plain).await);
        assert_eq!(found(&sharded), found(&plain), "{read}");
    }
    let read = doc! { "distinct": "c", "key": "x", "query": { "_id": { "$gt": 4 } } };
    assert_eq!(
        cluster.ok(read).await.get_array("values").unwrap(),
        &[Bson::from(0), 1.into(), 2.into()]
    );
    let read = doc! { "count": "c", "query": { "x": 1 }, "skip": 2, "limit": 3 };
    assert_eq!(cluster.ok(read).await.get_i32("n").unwrap(), 3);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_over_both_shards_gives_each_document_once() {
    let mut cluster = tenants().await;
    let mut reply = cluster
        .ok(doc! { "find": "c", "sort": { "_id": 1 }, "batchSize": 3 })
        .await;
    let mut all = found(&reply);
    assert_eq!(all.len(), 3);
    loop {
        let id = reply.get_document("cursor").unwrap().get_i64("id").unwrap();
        if id == 0 {
            break;
        }
        reply = cluster
            .ok(doc! { "getMore": id, "collection": "c", "batchSize": 4 })
            .await;
        all.extend(found(&reply));
    }
    assert_eq!(ids(&all), (0..20).collect::<Vec<_>>());
    let reply = cluster
        .ok(doc! { "find": "c", "filter": { "tenant": "z" }, "batchSize": 3 })
        .await;
    let id = reply.get_document("cursor").unwrap().get_i64("id").unwrap();
    let more = cluster.ok(doc! { "getMore": id, "collection": "c" }).await;
    assert_eq!((found(&reply).len(), found(&more).len()), (3, 7));
    let reply = cluster.ok(doc! { "find": "c", "batchSize": 1 }).await;
    let id = reply.get_document("cursor").unwrap().get_i64("id").unwrap();
    let killed = cluster.ok(doc! { "killCursors": "c", "cursors": [id] }).await;
    assert_eq!(killed.get_array("cursorsKilled").unwrap(), &[Bson::from(id)]);
    let more = cluster.run(doc! { "getMore": id, "collection": "c" }).await;
    assert_eq!(more.get_i32("code").unwrap(), 43);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_goes_to_the_shards_that_its_filter_names() {
    let mut cluster = tenants().await;
    let namespace = cluster.namespace("c");
    let counts = |cluster: &Cluster| {
        static BEFORE: std::sync::Mutex<Counts> = std::sync::Mutex::new(Counts {
            targeted: 0,
            broadcast: 0,
        });
        let now = cluster.router.counts().remove(&namespace).unwrap_or_default();
        let mut before = BEFORE.lock().unwrap();
        let since = (now.targeted - before.targeted, now.broadcast - before.broadcast);
        *before = now;
        since
    };
    counts(&cluster);
    for (filter, is_targeted) in [
        (doc! { "tenant": "a" }, true),
        (doc! { "tenant": "a", "_id": 1 }, true),
        (doc! { "tenant": { "$in": ["a", "b"] } }, true),
        (doc! { "tenant": { "$gte": "a", "$lt": "l" } }, true),
        (
            doc! { "$or": [{ "tenant": "a" }, { "tenant": "b", "x": 1 }] },
            true,
        ),
        (doc! { "tenant": { "$in": ["a", "z"] } }, false),
        (doc! { "$or": [{ "tenant": "a" }, { "x": 1 }] }, false),
        (doc! { "_id": 1 }, false),
        // The end of a range belongs to it.
        (doc! { "tenant": { "$lt": "m" } }, false),
        (doc! { "tenant": { "$ne": "a" } }, false),
        (doc! {}, false),
    ] {
        cluster.ok(doc! { "find": "c", "filter": filter.clone() }).await;
        let expected = if is_targeted { (1, 0) } else { (0, 1) };
        assert_eq!(counts(&cluster), expected, "{filter}");
    }
    let find = doc! { "find": "c", "filter": { "tenant": "a" }, "collation": { "locale": "en" } };
    cluster.ok(find).await;
    assert_eq!(counts(&cluster), (0, 1));
    let broadcasts = cluster.router.take_broadcasts();
    assert!(
        broadcasts
            .iter()
            .any(|broadcast| broadcast.starts_with("find") && broadcast.contains("{ _id: 1 }")),
        "{broadcasts:?}"
    );
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_change_the_documents_of_both_shards() {
    let mut cluster = tenants().await;
    let many = |filter: Document| doc! { "update": "c", "updates": [{ "q": filter, "u": { "$set": { "y": 1 } }, "multi": true }] };
    let reply = cluster.ok(many(doc! { "x": 1 })).await;
    assert_eq!(
        (reply.get_i32("n").unwrap(), reply.get_i32("nModified").unwrap()),
        (7, 7)
    );
    assert_eq!(cluster.find("c", doc! { "y": 1 }).await.len(), 7);
    let reply = cluster.ok(doc! { "delete": "c", "deletes": [{ "q": { "y": 1 }, "limit": 0 }, { "q": { "_id": 2 }, "limit": 1 }] }).await;
    assert_eq!(reply.get_i32("n").unwrap(), 8);
    assert_eq!(cluster.find("c", doc! {}).await.len(), 12);
    let modify = doc! { "findAndModify": "c", "query": { "tenant": "z", "_id": 3 }, "update": { "$inc": { "x": 5 } }, "new": true };
    let reply = cluster.ok(modify).await;
    assert_eq!(reply.get_document("value").unwrap().get_i32("x").unwrap(), 5);
    let upsert = doc! { "update": "c", "updates": [{ "q": { "tenant": "z", "_id": 900 }, "u": { "$set": { "x": 1 } }, "upsert": true }] };
    cluster.ok(upsert).await;
    assert_eq!(ids(&cluster.stored(1, "c").await).last(), Some(&900));
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_gives_the_outcome_of_each_operation() {
    let mut cluster = tenants().await;
    let (sharded, plain) = (cluster.namespace("c"), cluster.namespace("plain"));
    let bulk = doc! {
        "bulkWrite": 1,
        "ops": [
            { "insert": 0, "document": { "_id": 100, "tenant": "z" } },
            { "update": 0, "filter": { "_id": 2 }, "updateMods": { "$set": { "y": 1 } } },
            { "update": 0, "filter": { "x": 1 }, "updateMods": { "$set": { "y": 1 } }, "multi": false },
            { "delete": 1, "filter": { "_id": { "$lt": 5 } }, "multi": true },
            { "update": 0, "filter": { "tenant": "a", "_id": 200 }, "updateMods": { "$set": { "y": 1 } }, "upsert": true },
        ],
        "nsInfo": [{ "ns": sharded }, { "ns": plain }],
        "ordered": false,
    };
    let reply = cluster.admin(bulk.clone()).await;
    let numbers = ["nErrors", "nInserted", "nMatched", "nUpserted", "nDeleted"]
        .map(|name| reply.get_i32(name).unwrap());
    assert_eq!(numbers, [1, 1, 1, 1, 5], "{reply}");
    let refused = &found(&reply)[2];
    assert_eq!(
        (refused.get_i32("idx").unwrap(), refused.get_i32("code").unwrap()),
        (2, 72)
    );
    let upserted = found(&reply)[4].get_document("upserted").unwrap().clone();
    assert_eq!(upserted, doc! { "_id": 200 });
    let mut ordered = bulk;
    ordered.insert("ordered", true);
    let reply = cluster.admin(ordered).await;
    assert_eq!(found(&reply).len(), 1, "{reply}");
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retryable_write_is_executed_once_on_each_shard() {
    let mut cluster = tenants().await;
    let of = |session: &Document, mut command: Document| {
        command.extend(doc! { "lsid": session.clone(), "txnNumber": 1_i64 });
        command
    };
    let documents = |from: i32| {
        Vec::from_iter(
            (from..from + 4).map(|n| doc! { "_id": n, "tenant": if n % 2 == 0 { "a" } else { "z" } }),
        )
    };
    let (insert, update) = (session(), session());
    for _ in 0..2 {
        let reply = cluster
            .ok(of(&insert, doc! { "insert": "c", "documents": documents(100) }))
            .await;
        assert_eq!(reply.get_i32("n").unwrap(), 4);
        let all = Vec::from_iter((0..6).map(|n| doc! { "q": { "_id": n }, "u": { "$inc": { "times": 1 } } }));
        let reply = cluster
            .ok(of(&update, doc! { "update": "c", "updates": all }))
            .await;
        assert_eq!(reply.get_i32("n").unwrap(), 6);
    }
    let times = cluster.find("c", doc! { "times": 1 }).await;
    assert_eq!(ids(&times), [0, 1, 2, 3, 4, 5]);
    let (moved, other) = (
        session(),
        doc! { "update": "c", "updates": [{ "q": { "tenant": "a", "_id": 8 }, "u": { "$set": { "tenant": "z" }, "$inc": { "times": 1 } } }] },
    );
    for _ in 0..2 {
        let reply = cluster.ok(of(&moved, other.clone())).await;
        assert_eq!(reply.get_i32("n").unwrap(), 1);
    }
    assert_eq!(
        cluster.find("c", doc! { "_id": 8 }).await,
        [doc! { "_id": 8, "tenant": "z", "x": 2, "name": "n8", "times": 1 }]
    );
    assert!(ids(&cluster.stored(1, "c").await).contains(&8));
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_tenants_come_to_the_shards_by_turns() {
    let mut cluster = with(RouterOptions::default()).await;
    cluster.shard("c", doc! { "tenant": 1 }).await;
    cluster.shard("both", doc! { "tenant": 1, "_id": "hashed" }).await;
    let mut clients = Vec::new();
    for tenant in 0..4 {
        let (mut client, database) = (connect(&cluster.router).await, cluster.database.clone());
        clients.push(tokio::spawn(async move {
            for n in 0..10 {
                for collection in ["c", "both"] {
                    let document = doc! { "_id": tenant * 100 + n, "tenant": format!("t{tenant}") };
                    let reply = client
                        .run(&database, doc! { "insert": collection, "documents": [document] })
                        .await
                        .unwrap();
                    assert!(is_ok(&reply), "{reply}");
                }
            }
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
    for collection in ["c", "both"] {
        assert_eq!(cluster.find(collection, doc! {}).await.len(), 40);
        for tenant in 0..4 {
            let of_tenant = cluster
                .find(collection, doc! { "tenant": format!("t{tenant}") })
                .await;
            assert_eq!(of_tenant.len(), 10, "{collection} t{tenant}");
        }
        assert!((10..=30).contains(&cluster.stored(1, collection).await.len()));
    }
    let of_tenant = |documents: Vec<Document>| {
        documents
            .iter()
            .filter(|document| document.get_str("tenant").is_ok_and(|tenant| tenant == "t0"))
            .count()
    };
    assert!([0, 10].contains(&of_tenant(cluster.stored(0, "c").await)));
    assert!((1..10).contains(&of_tenant(cluster.stored(0, "both").await)));
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_of_a_sharded_collection_is_read() {
    let mut cluster = tenants().await;
    let view = doc! { "create": "v", "viewOn": "c", "pipeline": [{ "$match": { "x": 1 } }] };
    cluster.ok(view).await;
    let expected: Vec<_> = (0..20).filter(|n| n % 3 == 1).collect();
    assert_eq!(ids(&cluster.find("v", doc! {}).await), expected);
    assert_eq!(cluster.ok(doc! { "count": "v" }).await.get_i32("n").unwrap(), 7);
    let reply = cluster
        .ok(doc! { "aggregate": "v", "pipeline": [{ "$group": { "_id": "$tenant" } }], "cursor": {} })
        .await;
    assert_eq!(found(&reply).len(), 2);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_pipeline_writes_is_on_the_shards_of_its_keys() {
    let mut cluster = tenants().await;
    let merge = doc! { "aggregate": "plain", "pipeline": [{ "$match": { "_id": { "$lt": 4 } } }, { "$set": { "merged": true } }, { "$merge": "c" }], "cursor": {} };
    cluster.ok(merge).await;
    assert_eq!(
        ids(&cluster.find("c", doc! { "merged": true }).await),
        [0, 1, 2, 3]
    );
    assert_eq!(cluster.find("c", doc! {}).await.len(), 20);
    let out = doc! { "aggregate": "c", "pipeline": [{ "$match": { "merged": true } }, { "$out": "copy" }], "cursor": {} };
    cluster.ok(out).await;
    assert_eq!(ids(&cluster.find("copy", doc! {}).await), [0, 1, 2, 3]);
    let listed = cluster.ok(doc! { "listCollections": 1, "nameOnly": true }).await;
    let mut names: Vec<_> = found(&listed)
        .iter()
        .map(|listed| listed.get_str("name").unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["c", "copy", "plain"]);
    cluster.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_names_the_shards() {
    let mut cluster = tenants().await;
    for (filter, expected) in [
        (doc! { "tenant": "a" }, "SINGLE_SHARD"),
        (doc! { "x": 1 }, "SHARD_MERGE"),
    ] {
        let explain = doc! { "explain": { "find": "c", "filter": filter }, "verbosity": "executionStats" };
        let reply = cluster.ok(explain).await;
        let plan = reply
            .get_document("queryPlanner")
            .unwrap()
            .get_document("winningPlan")
            .unwrap();
        assert_eq!(plan.get_str("stage").unwrap(), expected, "{reply}");
    }
    cluster.end().await;
}
