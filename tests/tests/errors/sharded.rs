//! Documents that have an `_id` in common, as two shards may have them: a proxy gives the replies of a router.

use odm::bson::{Bson, Document as Doc, doc};
use odm::prelude::*;
use odm::{Error, Result};
use odm_tests::fixtures::routed::{Sent, routed};
use odm_tests::proxy::{Fate, Proxy};
use odm_tests::{TestDb, require_transactions, with_db};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "tenants", version)]
struct Tenant {
    id: i32,
    name: String,
    version: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "orders")]
struct Order {
    id: i32,
    #[reference(on_delete = restrict)]
    tenant: Ref<Tenant>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "kept", soft_delete)]
struct Kept {
    id: i32,
    name: String,
    deleted_at: Option<odm::bson::DateTime>,
}

async fn start(t: &TestDb) -> (Odm, Proxy, Sent) {
    let direct = Odm::new(t.db.clone(), models![Tenant, Order, Kept]).unwrap();
    require_transactions(&direct).await;
    direct.sync().await.unwrap();
    let tenant = |id| NewTenant {
        id,
        name: format!("tenant {id}"),
    };
    let tenants = direct.collection::<Tenant>();
    tenants.insert_many([tenant(1), tenant(2)]).await.unwrap();
    let kept = NewKept {
        id: 1,
        name: "kept".to_owned(),
    };
    direct.collection::<Kept>().insert(kept).await.unwrap();
    routed(t, models![Tenant, Order, Kept]).await
}

/// What a router answers where both shards have written.
fn both() -> Fate {
    Fate::Answered(doc! { "n": 2, "nModified": 2, "ok": 1.0 })
}

/// Documents as one batch of a collection.
fn found(collection: &str, documents: Vec<Doc>) -> Fate {
    Fate::Answered(
        doc! { "ok": 1.0, "cursor": { "id": 0_i64, "ns": format!("db.{collection}"), "firstBatch": documents } },
    )
}

#[track_caller]
fn is_told<T: std::fmt::Debug>(made: Result<T>, of: &str, all: &[i32], number: u64, is_written: bool) {
    let text = match &made {
        Err(error) => error.to_string(),
        Ok(_) => String::new(),
    };
    match made {
        Err(Error::IdNotUnique {
            collection,
            ids,
            documents,
            written,
        }) => {
            let all: Vec<Bson> = all.iter().copied().map(Bson::Int32).collect();
            assert_eq!(
                (collection, ids, documents, written),
                (of, all, number, is_written)
            );
        }
        other => panic!("{other:?}"),
    }
    for says in [
        &format!("{of}: {number} documents have "),
        "each shard may have one",
        "Name the fields of the shard key in a condition",
    ] {
        assert!(text.contains(says), "{text}");
    }
}

#[odm_tests::test]
fn a_write_by_an_id_that_several_documents_have_is_an_error_with_the_id() {
    with_db(async |t| {
        let (odm, proxy, sent) = start(&t).await;
        let (tenants, kept) = (odm.collection::<Tenant>(), odm.collection::<Kept>());
        let one = tenants.get(1).await.unwrap().unwrap();
        sent.take();

        proxy.next("update", 1, both());
        let updated = tenants.update(1).set(|t| t.name, "new").await;
        is_told(updated, "tenants", &[1], 2, true);
        proxy.next("update", 1, both());
        is_told(
            tenants.update(&one).set(|t| t.name, "new").await,
            "tenants",
            &[1],
            2,
            true,
        );
        proxy.next("update", 1, both());
        is_told(tenants.replace(&one).await, "tenants", &[1], 2, true);
        proxy.next("update", 1, both());
        is_told(kept.delete(1).await, "kept", &[1], 2, true);
        proxy.next("delete", 1, both());
        is_told(odm.collection::<Order>().delete(1).await, "orders", &[1], 2, true);
        assert!(proxy.is_done());
        // No write is sent again.
        let names: Vec<String> = sent
            .take()
            .iter()
            .filter_map(|command| command.keys().next().cloned())
            .filter(|name| name == "update" || name == "delete")
            .collect();
        assert_eq!(names.len(), 5, "{names:?}");
        let text = tenants_error(&odm, &proxy).await;
        assert!(
            text.contains("the _id 1:") && text.contains("All of them were written"),
            "{text}"
        );
        proxy.bury().await;
    });
}

async fn tenants_error(odm: &Odm, proxy: &Proxy) -> String {
    proxy.next("update", 1, both());
    let updated = odm.collection::<Tenant>().update(1).set(|t| t.name, "new").await;
    updated.expect_err("both").to_string()
}

#[odm_tests::test]
fn a_deletion_by_rules_and_a_restoration_that_find_several_documents_write_nothing() {
    with_db(async |t| {
        let (odm, proxy, sent) = start(&t).await;
        let (tenants, kept) = (odm.collection::<Tenant>(), odm.collection::<Kept>());
        // What a handle asks once.
        odm.check_models().await.unwrap();
        sent.take();
        let twins = vec![
            doc! { "_id": 1, "version": 1_i64 },
            doc! { "_id": 1, "version": 4_i64 },
        ];
        proxy.next("find", 1, found("tenants", twins));
        is_told(tenants.delete(1).await, "tenants", &[1], 2, false);
        assert!(proxy.is_done());
        assert_eq!(sent.named("delete"), [] as [Doc; 0]);
        let at = odm::bson::DateTime::now();
        let twins = vec![
            doc! { "_id": 1, "deleted_at": at },
            doc! { "_id": 1, "deleted_at": at },
        ];
        proxy.next("find", 1, found("kept", twins));
        is_told(kept.restore(1).await, "kept", &[1], 2, false);
        assert!(proxy.is_done());
        assert_eq!(sent.named("update"), [] as [Doc; 0]);
        let direct = Odm::new(t.db.clone(), models![Tenant, Order, Kept]).unwrap();
        assert!(direct.collection::<Tenant>().get(1).await.unwrap().is_some());
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn a_transaction_that_has_written_several_documents_by_one_id_is_not_committed() {
    with_db(async |t| {
        let (odm, proxy, sent) = start(&t).await;
        odm.check_models().await.unwrap();
        sent.take();
        // The program goes on in spite of the error.
        proxy.next("update", 1, both());
        let passed_over = async |tx: odm::Tx| {
            let tenants = tx.collection::<Tenant>();
            tenants.get(2).await?;
            let updated = tenants.update(1).set(|t| t.name, "new").await;
            is_told(updated, "tenants", &[1], 2, false);
            Ok(())
        };
        let ended = odm.transaction(passed_over).await;
        match ended {
            Err(Error::Application(why)) => {
                assert!(why.to_string().contains("2 documents have the _id 1"), "{why}")
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(sent.named("commitTransaction"), [] as [Doc; 0]);

        proxy.next("delete", 1, both());
        let passed_over = async |tx: odm::Tx| {
            tx.collection::<Tenant>().get(2).await?;
            let deleted = tx.collection::<Order>().delete(1).await;
            is_told(deleted, "orders", &[1], 2, false);
            Ok(())
        };
        assert!(odm.transaction(passed_over).await.is_err());
        assert_eq!(sent.named("commitTransaction"), [] as [Doc; 0]);
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn a_bulk_of_which_the_writes_met_more_documents_than_they_are_names_the_ids() {
    use odm::__private::SwitchBulk as _;
    with_db(async |t| {
        let (odm, proxy, _) = start(&t).await;
        let (tenants, orders) = (odm.collection::<Tenant>(), odm.collection::<Order>());
        odm.check_models().await.unwrap();
        let three = || Fate::Answered(doc! { "n": 3, "nModified": 3, "ok": 1.0 });
        let updates = || {
            odm.bulk()
                .add(tenants.update(1).set(|t| t.name, "a"))
                .add(tenants.update(2).set(|t| t.name, "b"))
                .without_bulk_write_command()
        };
        proxy.next("update", 1, three());
        is_told(updates().await, "tenants", &[1, 2], 3, true);
        proxy.next("delete", 1, three());
        let deletes = odm
            .bulk()
            .add(orders.delete(1))
            .add(orders.delete(2))
            .without_bulk_write_command();
        is_told(deletes.await, "orders", &[1, 2], 3, true);
        // Each has found one.
        let done = updates().await.unwrap();
        assert_eq!((done.matched, done.missed), (2, 0));

        if odm.server().await.unwrap().has_bulk_write() {
            let each = |idx: i32, n: i32| doc! { "ok": 1.0, "idx": idx, "n": n, "nModified": n };
            let reply = doc! {
                "ok": 1.0, "nErrors": 0, "nInserted": 0, "nMatched": 3, "nModified": 3, "nUpserted": 0, "nDeleted": 0,
                "cursor": { "id": 0_i64, "ns": "admin.$cmd.bulkWrite", "firstBatch": [each(0, 1), each(1, 2)] },
            };
            proxy.next("bulkWrite", 1, Fate::Answered(reply));
            let updates = odm
                .bulk()
                .add(tenants.update(1).set(|t| t.name, "a"))
                .add(tenants.update(2).set(|t| t.name, "b"));
            is_told(updates.await, "tenants", &[2], 2, true);
        }
        assert!(proxy.is_done());
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn an_audit_of_a_sharded_cluster_lists_the_ids_that_several_documents_have() {
    with_db(async |t| {
        let (odm, proxy, sent) = start(&t).await;
        let name = t.db.name();
        let sharded = |collection: &str, key: Doc| doc! { "_id": format!("{name}.{collection}"), "key": key };
        sent.take();
        // Nothing is sharded.
        assert!(odm.audit().await.unwrap().is_clean());
        let of_orders = |command: &&Doc| command.get_str("find").is_ok_and(|of| of == "orders");
        // The documents with references are read before.
        let before = sent.named("find").iter().filter(of_orders).count();
        assert_eq!(before, 1);

        let audited = async |key: Fate, of_tenants: Vec<Doc>| {
            proxy.next("find", 1, found("orders", Vec::new()));
            proxy.next("find", 1, key);
            proxy.next("aggregate", 1, found("tenants", of_tenants));
            odm.audit().await.unwrap()
        };
        let keys = || {
            found(
                "collections",
                vec![
                    sharded("tenants", doc! { "name": 1, "_id": 1 }),
                    sharded("orders", doc! { "_id": "hashed" }),
                ],
            )
        };
        let facets = |n: i32| {
            let sample: Vec<Doc> = (1..=n.min(5)).map(|id| doc! { "_id": id, "n": 2 }).collect();
            let count: Vec<Doc> = if n == 0 { vec![] } else { vec![doc! { "n": n }] };
            vec![doc! { "count": count, "sample": sample }]
        };
        let audit = audited(keys(), facets(0)).await;
        assert!(audit.is_clean() && proxy.is_done(), "{audit}");
        sent.take();
        let audit = audited(keys(), facets(7)).await;
        assert!(
            proxy.is_done(),
            "an aggregation of the one collection whose key is not `_id` alone"
        );
        assert_eq!(sent.named("aggregate").len(), 1);
        assert!(!audit.is_clean());
        assert_eq!((audit.wrong(), audit.duplicate_ids.len()), (7, 1));
        let duplicates = &audit.duplicate_ids[0];
        assert_eq!(duplicates.collection, "tenants");
        assert_eq!((duplicates.found.count, duplicates.found.sample.len()), (7, 5));
        assert_eq!(
            audit.to_string(),
            "`tenants`: 7 values of `_id` are those of several documents, on several shards, since the collection is sharded by \
             { \"name\": 1, \"_id\": 1 }, among them _id 1 (2 documents), _id 2 (2 documents), _id 3 (2 documents), _id 4 (2 documents), \
             _id 5 (2 documents)"
        );
        // A sample is too few documents.
        sent.take();
        assert!(odm.audit().sample(10).await.unwrap().is_clean());
        let of_config = |command: &Doc| command.get_str("$db").is_ok_and(|db| db == "config");
        assert!(!sent.take().iter().any(of_config));
        proxy.bury().await;
    });
}
