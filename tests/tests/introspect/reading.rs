//! A database is read, and nothing is written to it.

use mongodb::bson::{Bson, Document, doc, oid::ObjectId};
use odm_introspect::design::{Collection, CollectionKind};
use odm_introspect::read::{ReadOptions, Source};
use odm_tests::{TestDb, with_db};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// What reads alone, by the names of the commands.
const READS: [&str; 6] = [
    "aggregate",
    "count",
    "find",
    "getMore",
    "listCollections",
    "listIndexes",
];

fn everything() -> ReadOptions {
    ReadOptions {
        sample: None,
        ..ReadOptions::default()
    }
}

async fn collection(source: &Source, name: &str) -> Collection {
    let collections = source.collections().await.unwrap();
    collections.into_iter().find(|of| of.name == name).unwrap()
}

fn assert_read_only(t: &TestDb) {
    let sent: BTreeSet<String> = t.commands.take().into_iter().collect();
    let others: Vec<_> = sent
        .iter()
        .filter(|name| !READS.contains(&name.as_str()))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

#[odm_tests::test]
fn collections_are_listed_with_what_the_server_says_of_them() {
    with_db(async |t| {
        for create in [
            doc! { "create": "empty", "validator": { "a": { "$gt": 1 } } },
            doc! { "create": "log", "capped": true, "size": 4096 },
            doc! { "create": "temperatures", "timeseries": { "timeField": "at" } },
            doc! { "create": "recent", "viewOn": "plain", "pipeline": [{ "$match": { "a": 1 } }] },
        ] {
            t.db.run_command(create).await.unwrap();
        }
        let plain = t.db.collection::<Document>("plain");
        plain
            .insert_many([doc! { "a": 1 }, doc! { "a": 2 }])
            .await
            .unwrap();
        let indexes = [
            doc! { "name": "some", "key": { "a": 1 }, "unique": true, "partialFilterExpression": { "a": { "$gt": 0 } } },
            doc! { "name": "old", "key": { "at": -1 }, "expireAfterSeconds": 60 },
        ];
        t.db.run_command(doc! { "createIndexes": "plain", "indexes": indexes.to_vec() })
            .await
            .unwrap();
        t.commands.clear();

        let source = Source::new(&t.db, everything());
        let collections = source.collections().await.unwrap();
        let names: Vec<_> = collections.iter().map(|of| (of.name.as_str(), of.kind)).collect();
        assert_eq!(
            names,
            [
                ("empty", CollectionKind::Plain),
                ("log", CollectionKind::Capped),
                ("plain", CollectionKind::Plain),
                ("recent", CollectionKind::View),
                ("temperatures", CollectionKind::TimeSeries),
            ]
        );
        let of = |name: &str| collections.iter().find(|of| of.name == name).unwrap();
        assert!(of("empty").options.contains_key("validator"));
        assert_eq!(of("recent").options.get_str("viewOn").unwrap(), "plain");
        assert!(of("recent").indexes.is_empty());
        let plain = of("plain");
        assert_eq!(plain.documents, 2);
        let index = |name: &str| plain.indexes.iter().find(|index| index.name == name).unwrap();
        assert!(index("_id_").unique);
        assert!(index("some").unique && index("some").options.contains_key("partialFilterExpression"));
        assert_eq!(index("some").keys, doc! { "a": 1 });
        assert!(index("old").options.contains_key("expireAfterSeconds") && !index("old").unique);
        assert_eq!(source.notes(), [] as [String; 0]);
        assert_read_only(&t);
    });
}

#[odm_tests::test]
fn a_pass_goes_on_behind_any_id() {
    with_db(async |t| {
        let ids = [
            Bson::Int32(-1),
            Bson::Double(0.5),
            Bson::Int64(7),
            Bson::from("a"),
            Bson::from("b"),
            Bson::from(doc! { "x": 1 }),
            Bson::ObjectId(ObjectId::new()),
            Bson::Boolean(false),
            Bson::Boolean(true),
            Bson::DateTime(mongodb::bson::DateTime::from_millis(1)),
        ];
        let documents: Vec<Document> = ids.iter().map(|id| doc! { "_id": id }).collect();
        let mixed = t.db.collection::<Document>("mixed");
        mixed.insert_many(&documents).await.unwrap();
        let source = Source::new(&t.db, everything());
        let mixed = collection(&source, "mixed").await;
        let read = async |last: Option<Bson>, before| {
            let mut ids = Vec::new();
            let read = source
                .pass_behind(&mixed, last, before, &mut |document| {
                    ids.push(Bson::try_from(document.get("_id").unwrap().unwrap()).unwrap());
                })
                .await
                .unwrap();
            assert_eq!(read, ids.len() as u64);
            ids
        };
        let all = read(None, 0).await;
        assert_eq!(all.len(), ids.len());
        for at in 0..all.len() {
            let behind = read(Some(all[at].clone()), at as u64 + 1).await;
            assert_eq!(behind, all[at + 1..], "behind {}", all[at]);
        }
    });
}

#[odm_tests::test]
fn all_documents_are_read_in_batches_or_a_sample_of_them() {
    with_db(async |t| {
        let many = t.db.collection::<Document>("many");
        let documents = (0..9_000).map(|n| doc! { "_id": n, "n": n % 10 });
        many.insert_many(documents).await.unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let progress = {
            let told = told.clone();
            move |collection: &str, read, of| told.lock().unwrap().push((collection.to_owned(), read, of))
        };
        let options = ReadOptions {
            progress: Some(Arc::new(progress)),
            ..everything()
        };
        let source = Source::new(&t.db, options);
        let many = collection(&source, "many").await;
        t.commands.clear();
        let mut next = 0;
        let read = source
            .pass(&many, &mut |document| {
                assert_eq!(document.get_i32("_id").unwrap(), next);
                next += 1;
            })
            .await
            .unwrap();
        assert_eq!((read, next), (9_000, 9_000));
        assert_eq!(t.commands.times("find"), 1);
        assert_eq!(t.commands.times("getMore"), 2);
        let told = std::mem::take(&mut *told.lock().unwrap());
        assert_eq!(told.first(), Some(&("many".to_owned(), 0, 9_000)));
        assert_eq!(told.last(), Some(&("many".to_owned(), 9_000, 9_000)));

        for (sample, expected) in [(100, 100), (9_000, 9_000), (20_000, 9_000)] {
            let options = ReadOptions {
                sample: Some(sample),
                ..ReadOptions::default()
            };
            let source = Source::new(&t.db, options);
            assert_eq!(source.samples(&many), sample == 100);
            let read = source.pass(&many, &mut |_| {}).await.unwrap();
            assert_eq!(read, expected);
        }
        assert_read_only(&t);
    });
}

#[odm_tests::test]
fn documents_are_found_by_their_values() {
    with_db(async |t| {
        let orders = t.db.collection::<Document>("orders");
        let documents = (0..2_500).map(|n| {
            doc! { "_id": n, "lines": [{ "item": n }, { "item": n + 1, "note": "x" }], "more": "y" }
        });
        orders.insert_many(documents).await.unwrap();
        let source = Source::new(&t.db, everything());
        t.commands.clear();
        let values = (0..2_500).map(Bson::Int32).collect();
        let paths = ["lines[].item".to_owned()];
        let found = source.find("orders", "_id", values, &paths).await.unwrap();
        assert_eq!(found.len(), 2_500);
        assert_eq!(
            Document::try_from(&*found[0]).unwrap(),
            doc! { "lines": [{ "item": 0 }, { "item": 1 }] }
        );
        assert_eq!(t.commands.times("find"), 3);
        let found = source
            .find(
                "orders",
                "lines[].item",
                vec![Bson::Int32(7)],
                &["_id".to_owned()],
            )
            .await
            .unwrap();
        let ids: Vec<_> = found.iter().map(|of| of.get_i32("_id").unwrap()).collect();
        assert_eq!(ids, [6, 7]);
        let refused = source.find("orders", "names{}", vec![Bson::Int32(7)], &[]).await;
        assert!(refused.unwrap_err().to_string().contains("`orders.names{}`"));

        t.commands.clear();
        let mut notes = 0;
        let read = source
            .scan("orders", &["lines[].note".to_owned()], &mut |document| {
                assert!(document.get("more").unwrap().is_none());
                notes += usize::from(document.get_array("lines").is_ok());
            })
            .await
            .unwrap();
        assert_eq!((read, notes), (2_500, 2_500));
        assert_eq!(t.commands.times("find"), 1);
        assert_read_only(&t);
    });
}

#[odm_tests::test]
fn the_documents_of_a_sample_are_read_again() {
    with_db(async |t| {
        let many = t.db.collection::<Document>("many");
        let documents = (0..3_000).map(|n| doc! { "_id": n, "n": n % 10 });
        many.insert_many(documents).await.unwrap();
        t.commands.clear();
        for sample in [Some(1_200), None] {
            let options = ReadOptions {
                sample,
                again: true,
                ..ReadOptions::default()
            };
            let source = Source::new(&t.db, options);
            let many = collection(&source, "many").await;
            let mut first = BTreeSet::new();
            source
                .pass(&many, &mut |document| {
                    first.insert(document.get_i32("_id").unwrap());
                })
                .await
                .unwrap();
            for _ in 0..2 {
                let mut again = BTreeSet::new();
                source
                    .again(&many, &mut |document| {
                        assert!(document.get_i32("n").is_ok());
                        again.insert(document.get_i32("_id").unwrap());
                    })
                    .await
                    .unwrap();
                assert_eq!(first, again);
            }
        }
        assert_read_only(&t);
    });
}
