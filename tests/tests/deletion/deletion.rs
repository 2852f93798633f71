//! Deletions, and the documents that refer to the deleted ones.

use odm::Error;
use odm::bson::{Bson, Document as Bsons, doc};
use odm::geo::Point;
use odm::prelude::*;
use odm_tests::fixtures::deletion::*;
use odm_tests::fixtures::interleaved::{interrupted, interrupted_at, interrupted_in};
use odm_tests::{TestDb, assert_clean, require_transactions, with_db};
use std::future::IntoFuture;

/// Hosts 1 to 3, and one document a place that refers to host 1 there, in this collection.
async fn prepared(t: &TestDb, collection: &str, others: bool) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Host, Freed, Bound, Following, Kept]).unwrap();
    odm.sync().await.unwrap();
    odm.server().await.unwrap();
    odm.collection::<Host>()
        .insert_many((1..=3).map(host))
        .await
        .unwrap();
    let holders = PLACES
        .iter()
        .enumerate()
        .map(|(n, (place, _))| holder(n as i64, place, others));
    raw(t, collection).insert_many(holders).await.unwrap();
    t.commands.clear();
    odm
}

#[odm_tests::test]
fn references_are_taken_out_wherever_they_stand() {
    with_db(async |t| {
        let odm = prepared(&t, "freed", true).await;
        let done = odm.collection::<Host>().delete(1).await.unwrap();
        let lists = PLACES.iter().filter(|(_, list)| *list).count() as u64;
        assert_eq!(
            (done.deleted, done.cascaded, done.nullified, done.pulled),
            (1, 0, PLACES.len() as u64 - lists, lists)
        );
        for (n, (place, _)) in PLACES.iter().enumerate() {
            let found = read(&t, "freed", n as i64).await.unwrap();
            assert_eq!(found, freed(n as i64, place), "{place}");
        }
        // Neither version nor timestamp is touched: the whole documents were compared.
        assert_eq!(
            odm.collection::<Freed>().find_all().all().await.unwrap().len(),
            PLACES.len()
        );
    });
}

#[odm_tests::test]
fn a_restricting_reference_is_named_wherever_it_stands() {
    with_db(async |t| {
        let odm = prepared(&t, "bound", false).await;
        let hosts = odm.collection::<Host>();
        for (n, (place, _)) in PLACES.iter().enumerate() {
            let error = hosts.delete(1).await.unwrap_err();
            assert!(matches!(error, Error::StillReferenced { .. }), "{place}: {error}");
            // Only this one is left.
            raw(&t, "bound")
                .delete_many(doc! { "_id": { "$ne": n as i64 } })
                .await
                .unwrap();
            match hosts.delete(1).await.unwrap_err() {
                Error::StillReferenced {
                    collection,
                    id,
                    by,
                    field,
                    count,
                    sample,
                } => {
                    assert_eq!(
                        (collection, *id, by, field.as_str(), count, sample),
                        (
                            "hosts",
                            Bson::Int64(1),
                            "bound",
                            *place,
                            1,
                            vec![Bson::Int64(n as i64)]
                        )
                    );
                }
                other => panic!("{place}: {other}"),
            }
            assert!(hosts.get(1).await.unwrap().is_some());
            raw(&t, "bound").delete_many(doc! {}).await.unwrap();
            let again = PLACES
                .iter()
                .enumerate()
                .map(|(n, (place, _))| holder(n as i64, place, false));
            raw(&t, "bound").insert_many(again).await.unwrap();
        }
        assert_eq!(hosts.delete(3).await.unwrap().deleted, 1, "nothing refers to it");
        raw(&t, "bound").delete_many(doc! {}).await.unwrap();
        assert_eq!(hosts.delete(1).await.unwrap().deleted, 1);
    });
}

#[odm_tests::test]
fn a_cascade_deletes_holders_wherever_their_reference_stands() {
    with_db(async |t| {
        let odm = prepared(&t, "following", false).await;
        let one = holder(100, "top", true);
        let mut other = holder(101, "none", true);
        other.insert("top", 3_i64);
        raw(&t, "following").insert_many([one, other]).await.unwrap();
        let done = odm.collection::<Host>().delete(1).await.unwrap();
        assert_eq!(
            (done.deleted, done.cascaded, done.nullified, done.pulled),
            (1, PLACES.len() as u64 + 1, 0, 0)
        );
        let left: Vec<i64> = odm
            .collection::<Following>()
            .find_all()
            .all()
            .await
            .unwrap()
            .iter()
            .map(|f| f.id)
            .collect();
        assert_eq!(left, [101]);
    });
}

#[odm_tests::test]
fn holders_with_on_delete_keep_are_not_queried() {
    with_db(async |t| {
        let odm = prepared(&t, "kept", true).await;
        // The database knows references that it lacks.
        let only = Odm::new(t.db.clone(), models![Host, Kept])
            .unwrap()
            .allow_unknown_copies();
        only.check_models().await.unwrap();
        t.commands.clear();
        assert_eq!(only.collection::<Host>().delete(1).await.unwrap().deleted, 1);
        assert_eq!(t.commands.take(), ["delete"], "nothing is to be done for it");
        for (n, (place, _)) in PLACES.iter().enumerate() {
            assert_eq!(
                read(&t, "kept", n as i64).await,
                Some(holder(n as i64, place, true))
            );
        }
        assert_eq!(odm.collection::<Host>().delete(1).optional().await.unwrap(), None);
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "shelves", version)]
pub struct Shelf {
    pub id: i64,
    pub version: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "boxes")]
pub struct Crate {
    pub id: i64,
    #[parent_ref(on_delete = cascade)]
    pub shelf: Ref<Shelf>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
pub struct Part {
    pub id: i64,
    #[parent_ref(on_delete = cascade)]
    pub parcel: Ref<Crate>,
    #[reference(on_delete = nullify)]
    pub likes: Option<Ref<Shelf>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "orders")]
pub struct Sale {
    pub id: i64,
    #[reference]
    pub part: Option<Ref<Part>>,
}

/// `shelves` shelves with `boxes` boxes each with `parts` parts each.
async fn shelves(t: &TestDb, shelves: i64, boxes: i64, parts: i64) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Shelf, Crate, Part, Sale]).unwrap();
    odm.sync().await.unwrap();
    odm.server().await.unwrap();
    let all = |name: &str| raw(t, name);
    all("shelves")
        .insert_many((0..shelves).map(|n| doc! { "_id": n, "version": 1_i64 }))
        .await
        .unwrap();
    all("boxes")
        .insert_many((0..shelves * boxes).map(|n| doc! { "_id": n, "shelf": n / boxes }))
        .await
        .unwrap();
    all("parts")
        .insert_many(
            (0..shelves * boxes * parts)
                .map(|n| doc! { "_id": n, "parcel": n / parts, "likes": n % shelves }),
        )
        .await
        .unwrap();
    t.commands.clear();
    odm
}

async fn counts(t: &TestDb) -> (u64, u64, u64) {
    let count = async |name: &str| raw(t, name).count_documents(doc! {}).await.unwrap();
    (count("shelves").await, count("boxes").await, count("parts").await)
}

#[odm_tests::test]
fn nothing_is_deleted_where_a_restrict_stands_deep_in_a_cascade() {
    with_db(async |t| {
        let odm = shelves(&t, 3, 20, 20).await;
        let shelves = odm.collection::<Shelf>();
        // The last part of the last box of the second shelf.
        raw(&t, "orders")
            .insert_one(doc! { "_id": 5_i64, "part": 799_i64 })
            .await
            .unwrap();
        for refused in [
            shelves.delete(1).into_future(),
            shelves.delete_where(|s| s.id.gte(0)).into_future(),
        ] {
            match refused.await.unwrap_err() {
                Error::StillReferenced {
                    collection,
                    id,
                    by,
                    field,
                    count,
                    sample,
                } => assert_eq!(
                    (collection, *id, by, field.as_str(), count, sample),
                    (
                        "parts",
                        Bson::Int64(799),
                        "orders",
                        "part",
                        1,
                        vec![Bson::Int64(5)]
                    )
                ),
                other => panic!("{other}"),
            }
            assert_eq!(counts(&t).await, (3, 60, 1200), "nothing was deleted");
        }
        assert_eq!(
            raw(&t, "parts")
                .count_documents(doc! { "likes": null })
                .await
                .unwrap(),
            0,
            "nothing was changed"
        );
        let done = shelves.delete(0).await.unwrap();
        assert_eq!((done.deleted, done.cascaded, done.nullified), (1, 420, 400 - 134));
        assert_eq!(counts(&t).await, (2, 40, 800));
        raw(&t, "orders").delete_many(doc! {}).await.unwrap();
        let done = shelves.delete_where(|s| s.id.gte(0)).await.unwrap();
        assert_eq!((done.deleted, done.cascaded), (2, 840));
        assert_eq!(counts(&t).await, (0, 0, 0));
    });
}

#[odm_tests::test]
fn a_version_that_is_not_the_stored_one_deletes_nothing() {
    with_db(async |t| {
        let odm = shelves(&t, 2, 2, 2).await;
        let shelves = odm.collection::<Shelf>();
        let mut shelf = shelves.get(1).await.unwrap().unwrap();
        shelf.version = 9;
        let error = shelves.delete(&shelf).await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::Conflict {
                    seen: 9,
                    found: Some(1),
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(counts(&t).await, (2, 4, 8));
        shelf.version = 1;
        assert_eq!(shelves.delete(&shelf).await.unwrap().cascaded, 6);
        let again = shelves.delete(&shelf).await;
        assert!(matches!(again, Err(Error::NotFound { .. })), "{again:?}");
    });
}

#[odm_tests::test]
fn an_interrupted_cascade_goes_on_where_it_stopped() {
    odm_tests::takes_long();
    with_db(async |t| {
        let odm = shelves(&t, 2, 1_100, 1).await;
        let shelves = odm.collection::<Shelf>();
        // Dropped as soon as something is deleted, again and again.
        let mut stops = 0;
        loop {
            let deletion = std::future::IntoFuture::into_future(shelves.delete(0));
            let some = async {
                let deletes = 2;
                let mut seen = 0;
                while seen < deletes {
                    seen += t.commands.take().iter().filter(|name| *name == "delete").count();
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
            };
            tokio::pin!(some);
            match futures::future::select(deletion, some).await {
                futures::future::Either::Left((done, _)) => {
                    done.unwrap();
                    break;
                }
                futures::future::Either::Right(_) => stops += 1,
            }
            let (left, boxes, parts) = counts(&t).await;
            assert!(left == 2 || boxes == 1_100, "the shelf is deleted last");
            assert!(
                parts <= boxes,
                "a box is deleted after its parts: {parts} of {boxes}"
            );
            assert!(stops < 100, "each gets further");
        }
        assert!(stops > 1, "it was stopped {stops} times");
        assert_eq!(counts(&t).await, (1, 1_100, 1_100));
        assert_eq!(
            raw(&t, "boxes")
                .count_documents(doc! { "shelf": 0_i64 })
                .await
                .unwrap(),
            0
        );
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "nodes")]
pub struct Node {
    pub id: i64,
    #[reference]
    pub parent: Option<Ref<Node>>,
    #[reference(many, max = 4, on_delete = pull)]
    pub friends: Vec<Ref<Node>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "links")]
pub struct Link {
    pub id: i64,
    #[reference(on_delete = cascade)]
    pub next: Option<Ref<Link>>,
}

#[odm_tests::test]
fn a_tree_restricts_its_deletion_only_by_nodes_that_remain() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Node]).unwrap();
        let nodes = odm.collection::<Node>();
        let fill = async || {
            let node =
                |id: i64, parent: Bson| doc! { "_id": id, "parent": parent, "friends": [(id + 1) % 600, id] };
            let all = (0..600).map(|id| {
                node(
                    id,
                    if id == 0 {
                        Bson::Int64(0)
                    } else {
                        Bson::Int64((id - 1) / 2)
                    },
                )
            });
            raw(&t, "nodes").insert_many(all).await.unwrap();
        };
        fill().await;
        let error = nodes.delete(299).await.unwrap_err();
        assert!(
            matches!(&error, Error::StillReferenced { count: 1, .. }),
            "{error}"
        );
        assert_eq!(nodes.delete(599).await.unwrap().pulled, 1, "a leaf");
        assert_eq!(nodes.delete(299).await.unwrap().deleted, 1, "a leaf now");
        assert_eq!(
            read(&t, "nodes", 298)
                .await
                .unwrap()
                .get_array("friends")
                .unwrap(),
            &[Bson::Int64(298)]
        );
        let error = nodes.delete_where(|n| n.id.lt(100)).await.unwrap_err();
        assert!(matches!(&error, Error::StillReferenced { .. }), "{error}");
        assert_eq!(nodes.find_all().count().await.unwrap(), 598);
        let done = nodes.delete_where(|n| n.id.gte(100)).await.unwrap();
        assert_eq!(done.deleted, 498, "all below them go too");
        let done = nodes.delete_where(|n| n.id.gte(0)).await.unwrap();
        assert_eq!(
            done.deleted, 100,
            "the whole tree, with the root that is its own parent"
        );
        raw(&t, "nodes")
            .insert_one(doc! { "_id": 7_i64, "parent": 7_i64, "friends": [7_i64] })
            .await
            .unwrap();
        let done = nodes.delete(7).await.unwrap();
        assert_eq!(
            (done.deleted, done.pulled),
            (1, 0),
            "it does not hold itself back"
        );

        // One that comes meanwhile is not deleted with them, whatever the condition says.
        for ids in [0..2_i64, 0..300] {
            let all = ids
                .clone()
                .map(|id| doc! { "_id": id, "parent": null, "friends": [] });
            raw(&t, "nodes").insert_many(all).await.unwrap();
            let late = doc! { "_id": 1_000_i64, "parent": ids.start, "friends": [] };
            let odm = interrupted(&t, models![Node], "delete", "nodes", move |db| {
                Box::pin(async move {
                    db.collection::<Bsons>("nodes").insert_one(late).await.unwrap();
                })
            })
            .await;
            let outcome = odm.collection::<Node>().delete_where(|n| n.id.gte(0)).await;
            match ids.end {
                // Behind the first batch it is met in the second.
                300 => assert_eq!(outcome.unwrap().deleted, 301),
                _ => {
                    let error = outcome.unwrap_err();
                    assert!(
                        matches!(&error, Error::StillReferenced { count: 1, .. }),
                        "{error}"
                    );
                    let left = odm
                        .collection::<Node>()
                        .find_all()
                        .sort(|n| n.id.asc())
                        .all()
                        .await
                        .unwrap();
                    assert_eq!(left.iter().map(|n| n.id).collect::<Vec<_>>(), [0, 1_000]);
                }
            }
            raw(&t, "nodes").delete_many(doc! {}).await.unwrap();
        }
    });
}

#[odm_tests::test]
fn a_cascade_goes_round_a_circle_once_and_down_a_long_chain() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Link]).unwrap();
        odm.sync().await.unwrap();
        let links = odm.collection::<Link>();
        raw(&t, "links")
            .insert_many((0..5).map(|id| doc! { "_id": id as i64, "next": (id as i64 + 1) % 5 }))
            .await
            .unwrap();
        let done = links.delete(3).await.unwrap();
        assert_eq!((done.deleted, done.cascaded), (1, 4));
        // Each refers to the one before it: as deep as there are documents.
        raw(&t, "links")
            .insert_many((0..400).map(|id| doc! { "_id": id as i64, "next": if id == 0 { Bson::Null } else { Bson::Int64(id as i64 - 1) } }))
            .await
            .unwrap();
        let done = links.delete(0).await.unwrap();
        assert_eq!((done.deleted, done.cascaded), (1, 399));
    });
}

#[odm_tests::test]
fn every_deletion_is_as_many_round_trips_as_it_says() {
    with_db(async |t| {
        let odm = shelves(&t, 3, 2, 2).await;
        let sent = || t.commands.take();
        raw(&t, "orders")
            .insert_one(doc! { "_id": 5_i64, "part": 0_i64 })
            .await
            .unwrap();
        sent();
        // Nothing refers to orders.
        let orders = odm.collection::<Sale>();
        assert_eq!(orders.delete(6).optional().await.unwrap(), None);
        assert_eq!(sent(), ["delete"]);
        orders.delete_where(|o| o.id.gt(6)).await.unwrap();
        assert_eq!(sent(), ["delete"]);

        // Only orders refer to parts, and they hold them back.
        let parts = odm.collection::<Part>();
        parts.delete(11).await.unwrap();
        assert_eq!(
            sent(),
            ["find", "find", "delete", "find"],
            "read, look, delete, look again"
        );
        parts.delete_where(|p| p.id.gte(9)).await.unwrap();
        assert_eq!(
            sent(),
            ["find", "find", "delete", "find"],
            "two are as many as one"
        );
        assert_eq!(parts.delete(11).optional().await.unwrap(), None);
        assert_eq!(sent(), ["find"], "there is none");
        parts.delete(0).await.unwrap_err();
        assert_eq!(sent(), ["find", "find"], "it is held back");

        // Of a shelf: its boxes and what likes it; of a box its parts; of a part its orders.
        let shelves = odm.collection::<Shelf>();
        shelves.delete(0).await.unwrap_err();
        assert_eq!(
            sent(),
            ["find", "find", "find", "find", "aggregate"],
            "shelf, boxes, parts, orders: one each, and how many orders of that part there are"
        );
        orders.delete(5).await.unwrap();
        sent();
        shelves.delete(0).await.unwrap();
        let looked = ["find", "find", "find", "find"];
        let of_parts = ["find", "find", "delete", "find"];
        assert_eq!(
            sent(),
            [
                &looked[..],
                &["find"],                   // the boxes
                &of_parts,                   // which are deleted with their parts
                &["delete", "find"],         // and looked for again
                &["find", "update"],         // what likes the shelf lets it go
                &["delete", "find", "find"], // the shelf, and both are looked for again
            ]
            .concat(),
        );
    });
}

#[odm_tests::test]
fn many_are_deleted_in_as_many_round_trips_as_there_are_batches() {
    with_db(async |t| {
        let odm = prepared(&t, "freed", false).await;
        let only = Odm::new(t.db.clone(), models![Host, Freed])
            .unwrap()
            .allow_unknown_copies();
        only.check_models().await.unwrap();
        raw(&t, "freed").delete_many(doc! {}).await.unwrap();
        let many = (0..1_100).map(|id| {
            let mut document = holder(id, "none", false);
            document.insert("top", 3_i64);
            document
        });
        raw(&t, "freed").insert_many(many).await.unwrap();
        t.commands.clear();
        let done = only.collection::<Host>().delete(3).await.unwrap();
        assert_eq!((done.deleted, done.nullified), (1, 1_100));
        let sent = t.commands.take();
        assert_eq!(
            sent.iter().filter(|name| *name == "update").count(),
            2,
            "{sent:?}"
        );
        assert_eq!(sent.iter().filter(|name| *name == "delete").count(), 1);
        // Nine references to a host: each is looked for before and after, and one of them in two batches.
        // That there is more than one batch of them is found by the first look.
        assert_eq!(
            sent.iter().filter(|name| *name == "find").count(),
            1 + 9 + 1 + 1 + 9
        );
        drop(odm);
    });
}

/// Inserts a document at the moment when this host is about to be deleted.
async fn late(t: &TestDb, collection: &'static str, document: Bsons) -> Odm {
    interrupted(
        t,
        models![Host, Freed, Bound, Following, Kept],
        "delete",
        "hosts",
        move |db| {
            Box::pin(async move {
                db.collection::<Bsons>(collection)
                    .insert_one(document)
                    .await
                    .unwrap();
            })
        },
    )
    .await
}

#[odm_tests::test]
fn a_holder_inserted_just_before_the_deletion_is_found_after_it() {
    with_db(async |t| {
        prepared(&t, "kept", false).await;
        let odm = late(&t, "freed", holder(1, "inners.hosts", true)).await;
        let done = odm.collection::<Host>().delete(1).await.unwrap();
        assert_eq!((done.deleted, done.pulled), (1, 1));
        assert_eq!(read(&t, "freed", 1).await.unwrap(), freed(1, "inners.hosts"));

        let mut late_one = holder(1, "none", false);
        late_one.insert("code", "h2");
        let odm = late(&t, "following", late_one.clone()).await;
        let done = odm.collection::<Host>().delete(2).await.unwrap();
        assert_eq!((done.deleted, done.cascaded), (1, 1));
        assert_eq!(read(&t, "following", 1).await, None);

        // One of two hosts can't be deleted any more: it comes back, the other is gone, and so is what came to it.
        let hosts = (10..12)
            .map(|id| doc! { "_id": id as i64, "code": format!("h{id}"), "extra": [1.5, -0.0, f64::NAN] });
        t.db.run_command(doc! { "collMod": "hosts", "validationLevel": "off" })
            .await
            .unwrap();
        raw(&t, "hosts").insert_many(hosts).await.unwrap();
        let odm = interrupted(&t, models![Host, Freed, Bound], "delete", "hosts", |db| {
            Box::pin(async move {
                let mut bound = holder(7, "none", false);
                bound.insert("code", "h10");
                db.collection::<Bsons>("bound").insert_one(bound).await.unwrap();
                let mut freed = holder(8, "none", false);
                freed.insert("top", 11_i64);
                db.collection::<Bsons>("freed").insert_one(freed).await.unwrap();
            })
        })
        .await;
        let error = odm
            .collection::<Host>()
            .delete_where(|h| h.id.gte(10))
            .await
            .unwrap_err();
        match error {
            Error::StillReferenced {
                id,
                by,
                field,
                count,
                sample,
                ..
            } => assert_eq!(
                (*id, by, field.as_str(), count, sample),
                (Bson::Int64(10), "bound", "code", 1, vec![Bson::Int64(7)])
            ),
            other => panic!("{other}"),
        }
        let back = read(&t, "hosts", 10).await.unwrap();
        assert_eq!(
            back.keys().collect::<Vec<_>>(),
            ["_id", "code", "extra"],
            "as it was"
        );
        assert_eq!(read(&t, "hosts", 11).await, None);
        assert!(read(&t, "freed", 8).await.unwrap().get("top").is_none());
    });
}

#[odm_tests::test]
fn a_reference_to_a_reinserted_document_is_kept() {
    with_db(async |t| {
        prepared(&t, "kept", false).await;
        // Nine looks at the references, if there is something to look for, and the deletion; then a new host of the same name with a
        // holder of its own.
        for (name, models, looks) in [
            ("freed", models![Host, Freed], 9),
            ("following", models![Host, Following], 0),
            ("bound", models![Host, Bound], 9),
        ] {
            let odm = interrupted_at(&t, models, ("find", name, looks + 1), move |db| {
                Box::pin(async move {
                    let again = doc! { "_id": 1_i64, "code": "again" };
                    db.collection::<Bsons>("hosts").insert_one(again).await.unwrap();
                    let new = holder(70, "inners.hosts", false);
                    db.collection::<Bsons>(name).insert_one(new).await.unwrap();
                })
            })
            .await;
            let done = odm.collection::<Host>().delete(1).await.unwrap();
            assert_eq!((done.deleted, done.cascaded, done.pulled), (1, 0, 0), "{name}");
            assert_eq!(read(&t, name, 70).await, Some(holder(70, "inners.hosts", false)));
            assert_eq!(
                read(&t, "hosts", 1).await.unwrap().get_str("code").unwrap(),
                "again"
            );
        }
    });
}

#[odm_tests::test]
fn a_document_that_changes_meanwhile_is_deleted_as_it_is_then_or_not_at_all() {
    with_db(async |t| {
        prepared(&t, "kept", false).await;
        let change = |update: Bsons| {
            interrupted(&t, models![Host, Bound], "delete", "hosts", move |db| {
                Box::pin(async move {
                    let hosts = db.collection::<Bsons>("hosts");
                    hosts.update_one(doc! { "_id": 1_i64 }, update).await.unwrap();
                    let mut bound = holder(7, "none", false);
                    bound.insert("code", "new");
                    db.collection::<Bsons>("bound").insert_one(bound).await.unwrap();
                })
            })
        };
        let odm = change(doc! { "$set": { "code": "new" } }).await;
        let error = odm.collection::<Host>().delete(1).await.unwrap_err();
        assert!(
            matches!(&error, Error::StillReferenced { field, .. } if field == "code"),
            "{error}"
        );
        assert_eq!(
            read(&t, "hosts", 1).await.unwrap(),
            doc! { "_id": 1_i64, "code": "new" }
        );
        raw(&t, "bound").delete_many(doc! {}).await.unwrap();
        let odm = change(doc! { "$set": { "code": "other" } }).await;
        let done = odm
            .collection::<Host>()
            .delete_where(|h| h.code.eq("new"))
            .await
            .unwrap();
        assert_eq!(done.deleted, 0, "it does not fit any more");
        assert_eq!(
            odm.collection::<Host>()
                .delete_where(|h| h.code.eq("other"))
                .await
                .unwrap()
                .deleted,
            1
        );
    });
}

#[odm_tests::test]
fn in_a_transaction_the_second_check_for_holders_follows_the_commit() {
    with_db(async |t| {
        let odm = prepared(&t, "freed", true).await;
        require_transactions(&odm).await;
        let of = |t: &TestDb, name: &str| raw(t, name);
        let (freed_ones, bound) = (of(&t, "freed"), of(&t, "bound"));
        let done = odm
            .transaction(async |tx| {
                let done = tx.collection::<Host>().delete(1).await?;
                // Another client, which can't see the deletion yet.
                freed_ones.insert_one(holder(100, "list", true)).await?;
                Ok(done)
            })
            .await
            .unwrap();
        assert_eq!((done.deleted, done.nullified + done.pulled), (1, 8));
        assert_eq!(read(&t, "freed", 100).await.unwrap(), freed(100, "list"));
        assert_eq!(read(&t, "freed", 3).await.unwrap(), freed(3, PLACES[3].0));

        let error = odm
            .transaction(async |tx| {
                tx.collection::<Host>().delete(3).await?;
                let mut late = holder(1, "none", false);
                late.insert("top", 3_i64);
                bound.insert_one(late).await?;
                Ok(())
            })
            .await
            .unwrap_err();
        assert!(
            matches!(&error, Error::StillReferenced { by: "bound", .. }),
            "{error}"
        );
        assert!(
            odm.collection::<Host>().get(3).await.unwrap().is_some(),
            "it is put back"
        );

        // After a rollback there is nothing to look for.
        let error = odm
            .transaction(async |tx| {
                tx.collection::<Host>().delete(2).await?;
                Err::<(), _>(Error::application("no"))
            })
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Application(_)));
        assert!(odm.collection::<Host>().get(2).await.unwrap().is_some());
        assert_eq!(read(&t, "freed", 3).await.unwrap(), freed(3, PLACES[3].0));
    });
}

#[odm_tests::test]
fn a_bulk_deletes_by_the_same_rules() {
    with_db(async |t| {
        let odm = prepared(&t, "freed", true).await;
        odm.collection::<Host>()
            .insert_many((10..20).map(host))
            .await
            .unwrap();
        let mut bound = holder(5, "none", false);
        bound.insert("top", 14_i64);
        raw(&t, "bound").insert_one(bound).await.unwrap();
        t.commands.clear();

        // In order: those before the one that is held back are deleted, and nothing behind it is done.
        let bulk = (10..20_i64).fold(
            odm.bulk().add(odm.collection::<Host>().insert(host(30))),
            |bulk, id| bulk.add(odm.collection::<Host>().delete(id)),
        );
        match bulk
            .add(odm.collection::<Host>().insert(host(31)))
            .await
            .unwrap_err()
        {
            Error::Bulk { errors, done } => {
                assert_eq!(errors.len(), 1);
                let (at, error) = &errors[0];
                assert_eq!(*at, 5);
                assert!(
                    matches!(error, Error::StillReferenced { id, .. } if **id == Bson::Int64(14)),
                    "{error}"
                );
                assert_eq!((done.inserted, done.deleted), (1, 4));
            }
            other => panic!("{other}"),
        }
        let left = async || {
            let found = odm
                .collection::<Host>()
                .find_all()
                .sort(|h| h.id.asc())
                .all()
                .await
                .unwrap();
            found.iter().map(|h| h.id).collect::<Vec<_>>()
        };
        assert_eq!(left().await, [1, 2, 3, 14, 15, 16, 17, 18, 19, 30]);

        // In any order: all but that one.
        let bulk = (10..20_i64).fold(odm.bulk(), |bulk, id| {
            bulk.add(odm.collection::<Host>().delete(id))
        });
        let bulk = bulk
            .add(odm.collection::<Host>().delete_where(|h| h.id.eq(1)))
            .add(odm.collection::<Host>().insert(host(31)))
            .unordered();
        match bulk.await.unwrap_err() {
            Error::Bulk { errors, done } => {
                assert_eq!(errors.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [4]);
                assert_eq!(
                    (done.inserted, done.deleted, done.nullified + done.pulled),
                    (1, 6, 8)
                );
            }
            other => panic!("{other}"),
        }
        assert_eq!(left().await, [2, 3, 14, 30, 31]);

        // A thousand are one batch after another, not a thousand deletions.
        odm.collection::<Host>()
            .insert_many((1_000..1_200).map(host))
            .await
            .unwrap();
        t.commands.clear();
        let done = (1_000..1_200_i64)
            .fold(odm.bulk(), |bulk, id| {
                bulk.add(odm.collection::<Host>().delete(id))
            })
            .await
            .unwrap();
        assert_eq!(done.deleted, 200);
        assert!(t.commands.take().len() < 80);
    });
}

/// Two people, friends of each other and of a third, each with two tasks and a desk.
async fn people(t: &TestDb, transactions: bool) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Person, Task, Desk]).unwrap();
    odm.sync().await.unwrap();
    let odm = if transactions {
        odm
    } else {
        t.standalone_of(&odm).await
    };
    odm.server().await.unwrap();
    for (name, documents) in [
        (
            "people",
            vec![
                doc! { "_id": 1_i64, "tasks": [10_i64, 11_i64], "friends": [2_i64, 3_i64, 1_i64], "desk": 100_i64 },
                doc! { "_id": 2_i64, "tasks": [20_i64, 21_i64], "friends": [1_i64], "desk": 200_i64 },
                doc! { "_id": 3_i64, "tasks": [], "friends": [1_i64], "desk": null },
            ],
        ),
        (
            "tasks",
            vec![
                doc! { "_id": 10_i64, "owner": 1_i64 },
                doc! { "_id": 11_i64, "owner": 1_i64 },
                doc! { "_id": 20_i64, "owner": 2_i64 },
                doc! { "_id": 21_i64, "owner": 2_i64 },
            ],
        ),
        (
            "desks",
            vec![
                doc! { "_id": 100_i64, "person": 1_i64 },
                doc! { "_id": 200_i64, "person": 2_i64 },
            ],
        ),
    ] {
        raw(t, name).insert_many(documents).await.unwrap();
    }
    t.commands.clear();
    odm
}

#[odm_tests::test]
fn a_deletion_removes_both_sides_of_two_way_references() {
    with_db(async |t| {
        for transactions in [true, false] {
            let odm = people(&t, transactions).await;
            let (everybody, tasks) = (odm.collection::<Person>(), odm.collection::<Task>());
            let done = tasks.delete(10).await.unwrap();
            assert_eq!((done.deleted, done.pulled), (1, 1));
            let sent = t.commands.take();
            if transactions && odm.server().await.unwrap().has_transactions() {
                assert_eq!(sent, ["find", "delete", "update", "commitTransaction"])
            } else {
                // It is taken out of the other side, is deleted, and is looked for once more.
                assert_eq!(sent, ["find", "find", "update", "delete", "find"])
            }
            assert_eq!(everybody.get(1).await.unwrap().unwrap().tasks, [Ref::new(11)]);

            t.commands.clear();
            let error = everybody.delete(1).await.unwrap_err();
            assert!(
                matches!(
                    &error,
                    Error::StillReferenced {
                        by: "tasks",
                        count: 1,
                        ..
                    }
                ),
                "a task needs its owner: {error}"
            );
            assert_eq!(t.commands.take(), ["find", "find"]);
            tasks.delete_where(|t| t.id.lt(20)).await.unwrap();
            let done = everybody.delete(1).await.unwrap();
            assert_eq!((done.deleted, done.pulled, done.nullified), (1, 2, 1));
            let left = everybody.find_all().sort(|p| p.id.asc()).all().await.unwrap();
            assert_eq!(left.iter().map(|p| p.friends.len()).collect::<Vec<_>>(), [0, 0]);
            assert_eq!(left[0].tasks, [Ref::new(20), Ref::new(21)]);
            let desks = odm
                .collection::<Desk>()
                .find_all()
                .sort(|d| d.id.asc())
                .all()
                .await
                .unwrap();
            assert_eq!(
                desks.iter().map(|d| d.person).collect::<Vec<_>>(),
                [None, Some(Ref::new(2))]
            );

            // In a transaction of the caller's, and all of them at once.
            if transactions && odm.server().await.unwrap().has_transactions() {
                let done = odm
                    .transaction(async |tx| {
                        tx.collection::<Task>().delete(20).await?;
                        tx.bulk()
                            .add(tx.collection::<Task>().delete(21))
                            .add(tx.collection::<Desk>().delete(200))
                            .await
                    })
                    .await
                    .unwrap();
                assert_eq!((done.deleted, done.pulled, done.nullified), (2, 1, 1));
                let left = everybody.get(2).await.unwrap().unwrap();
                assert_eq!((left.tasks.len(), left.desk), (0, None));
            }
            tasks.delete_where(|t| t.id.gte(0)).await.unwrap();
            assert_eq!(everybody.delete_where(|p| p.id.gte(0)).await.unwrap().deleted, 2);
            raw(&t, "desks").delete_many(doc! {}).await.unwrap();
        }
    });
}

#[odm_tests::test]
fn a_link_that_comes_before_the_deletion_is_seen() {
    with_db(async |t| {
        for transactions in [true, false] {
            people(&t, transactions).await;
            // The third one gets a task, and a friend, while it is deleted.
            let deleting = |set: Bsons, other: &'static str, document: Bsons| {
                let models = models![Person, Task, Desk];
                interrupted_in(!transactions, &t, models, ("delete", "people"), move |db| {
                    Box::pin(async move {
                        let people = db.collection::<Bsons>("people");
                        people.update_one(doc! { "_id": 3_i64 }, set).await.unwrap();
                        let id = document.get("_id").cloned();
                        db.collection::<Bsons>(other)
                            .replace_one(doc! { "_id": id }, document)
                            .upsert(true)
                            .await
                            .unwrap();
                    })
                })
            };
            let odm = deleting(
                doc! { "$push": { "tasks": 30_i64 } },
                "tasks",
                doc! { "_id": 30_i64, "owner": 3_i64 },
            )
            .await;
            let error = odm.collection::<Person>().delete(3).await.unwrap_err();
            assert!(
                matches!(&error, Error::StillReferenced { by: "tasks", .. }),
                "{error}"
            );
            raw(&t, "tasks").delete_one(doc! { "_id": 30_i64 }).await.unwrap();
            raw(&t, "people")
                .update_one(doc! { "_id": 3_i64 }, doc! { "$set": { "tasks": [] } })
                .await
                .unwrap();
            let odm = deleting(
                doc! { "$set": { "desk": 300_i64 } },
                "desks",
                doc! { "_id": 300_i64, "person": 3_i64 },
            )
            .await;
            assert_eq!(odm.collection::<Person>().delete(3).await.unwrap().deleted, 1);
            assert_eq!(read(&t, "desks", 300).await.unwrap().get("person"), None);
            assert_eq!(
                read(&t, "people", 1)
                    .await
                    .unwrap()
                    .get_array("friends")
                    .unwrap()
                    .len(),
                2
            );
            for name in ["people", "tasks", "desks"] {
                raw(&t, name).delete_many(doc! {}).await.unwrap();
            }
        }
    });
}

#[odm_tests::test]
fn a_condition_that_does_not_combine_deletes_too() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Pin]).unwrap();
        odm.sync().await.unwrap();
        let pins = odm.collection::<Pin>();
        let pin = |id: i64, x: f64, on: Option<i64>| doc! { "_id": id, "place": { "type": "Point", "coordinates": [x, 0.0] }, "on": on };
        raw(&t, "pins")
            .insert_many([pin(1, 0.0, None), pin(2, 1.0, Some(1)), pin(3, 40.0, None)])
            .await
            .unwrap();
        let here = Point::new(0.0, 0.0);
        let error = pins
            .delete_where(|p| p.place.near(here, 1_000.0))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::StillReferenced { .. }), "{error}");
        let both = |p: <Pin as Document>::Paths| p.place.near(here, 1_000_000.0);
        let done = odm
            .bulk()
            .add(pins.delete(7))
            .add(pins.delete_where(both))
            .add(pins.delete(8))
            .await
            .unwrap();
        assert_eq!(done.deleted, 2, "both go together");
        assert_eq!(pins.delete_where(both).await.unwrap().deleted, 0);
        assert_eq!(pins.find_all().count().await.unwrap(), 1);
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "pins")]
pub struct Pin {
    pub id: i64,
    #[index(geo)]
    pub place: Point,
    #[reference]
    pub on: Option<Ref<Pin>>,
}

#[odm_tests::test]
fn deleting_a_member_of_a_union_affects_references_of_its_type_only() {
    with_db(async |t| {
        let odm = media(&t).await;
        let untouched = read(&t, "shows", 2).await;
        let done = odm.collection::<Picture>().delete(1).await.unwrap();
        assert_eq!(
            (done.deleted, done.cascaded, done.nullified, done.pulled),
            (1, 1, 2, 2)
        );
        let p = |id: i64| doc! { "type": "Picture", "id": id };
        let c = |id: i64| doc! { "type": "Clip", "id": id };
        assert_eq!(
            read(&t, "shows", 1).await.unwrap(),
            doc! {
                "_id": 1_i64,
                "items": [c(1), p(2)],
                "scenes": [
                    { "front": [c(2)] },
                    { "back": c(1), "front": [p(2)] },
                    { "front": [] },
                ],
            }
        );
        assert_eq!(read(&t, "shows", 2).await, untouched);
        assert_eq!(read(&t, "remarks", 1).await, None);
        assert!(read(&t, "remarks", 2).await.is_some());
        match odm.collection::<Clip>().delete(1).await.unwrap_err() {
            Error::StillReferenced { by, field, count, .. } => {
                assert_eq!((by, field.as_str(), count), ("licences", "of", 1));
            }
            other => panic!("{other}"),
        }
        let done = odm.collection::<Clip>().delete(2).await.unwrap();
        assert_eq!((done.deleted, done.cascaded, done.pulled), (1, 0, 1));
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "details")]
pub struct Details {
    #[field(name = "_id")]
    #[parent_ref(one, on_delete = cascade)]
    pub host: Ref<Host>,
}

#[odm_tests::test]
fn a_document_whose_id_is_that_of_its_parent_follows_it() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Host, Details]).unwrap();
        raw(&t, "hosts")
            .insert_many((1..=3_i64).map(|id| doc! { "_id": id, "code": format!("h{id}") }))
            .await
            .unwrap();
        raw(&t, "details")
            .insert_many((1..=4_i64).map(|id| doc! { "_id": id }))
            .await
            .unwrap();
        t.commands.clear();
        let audit = odm.audit().await.unwrap();
        assert_eq!((audit.checked(), audit.right()), (4, 3));
        assert!(
            !t.commands.take().contains(&"listIndexes".to_owned()),
            "an id is unique"
        );
        let done = odm
            .collection::<Host>()
            .delete_where(|h| h.id.gte(2))
            .await
            .unwrap();
        assert_eq!((done.deleted, done.cascaded), (2, 2));
        assert!(read(&t, "details", 1).await.is_some());
        assert!(read(&t, "details", 4).await.is_some());
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "replies")]
pub struct Reply {
    pub id: i32,
    #[reference(on_delete = nullify)]
    pub answers: Option<Ref<Reply>>,
}

/// A condition on the reference that the deletion itself empties is asked once: what it means does not change on the way.
#[odm_tests::test]
fn a_condition_on_references_that_the_deletion_empties_matches_their_previous_values() {
    odm_tests::takes_long();
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Reply]).unwrap();
        odm.sync().await.unwrap();
        let replies = odm.collection::<Reply>();
        // More than one batch of each; those behind answer those before.
        const HALF: i32 = 1_100;
        let store = async || {
            let remark = |id: i32| doc! { "_id": id, "answers": (id >= HALF).then_some(id - HALF) };
            let all = t.db.collection::<odm::bson::Document>("replies");
            all.delete_many(doc! {}).await.unwrap();
            all.insert_many((0..HALF * 2).map(remark)).await.unwrap();
        };
        store().await;
        let done = replies.delete_where(|r| r.answers.eq(None)).await.unwrap();
        assert_eq!((done.deleted, done.nullified), (HALF as u64, HALF as u64));
        let left = replies.find(|r| r.id.gte(HALF) & r.answers.eq(None)).count();
        assert_eq!(left.await.unwrap(), HALF as u64);
        // Each answers the one before.
        store().await;
        let chain = doc! { "$set": { "answers": { "$subtract": ["$_id", 1] } } };
        t.db.collection::<odm::bson::Document>("replies")
            .update_many(doc! { "_id": { "$gt": 0 } }, vec![chain])
            .await
            .unwrap();
        replies.delete_where(|r| r.answers.ne(None)).await.unwrap();
        let left = replies.find_all().all().await.unwrap();
        assert_eq!(left, [Reply { id: 0, answers: None }]);
        assert_clean(&odm).await;
    });
}
