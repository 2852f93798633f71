//! Summaries of buckets agree with their items: after a write that is undone, beside writes of the library's own, and after
//! out-of-band writes, which `audit` finds and `repair` corrects.

use odm::Error;
use odm::bson::{Bson, Document as Doc, doc};
use odm::buckets::Buckets;
use odm::prelude::*;
use odm::upkeep::RepairKind;
use odm_tests::fixtures::interleaved::{Step, another, meddled_in};
use odm_tests::{TestDb, assert_clean, with_db, with_transactions};
use std::sync::atomic::Ordering;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "shelves")]
pub struct Shelf {
    pub id: i32,
    #[computed(sum = SlipBucket.count)]
    pub slips: i64,
    #[computed(sum = SlipBucket.sum_stars)]
    pub stars: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "readers")]
pub struct Reader {
    pub id: i32,
    pub name: String,
}

/// A bucket with every kind of summary, from which other documents derive.
#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Shelf, size = 5, time = at, sum(stars, weight), rename(sum_weight = total_weight))]
pub struct Slip {
    pub n: i32,
    pub stars: i32,
    pub weight: f64,
    pub at: DateTime,
    #[reference]
    pub by: Option<Ref<Reader>>,
    #[reference(many, max = 3)]
    pub also: Vec<Ref<Reader>>,
}

/// Nothing is derived of these.
#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Shelf, size = 3, sum(stars))]
pub struct Leaf {
    pub n: i32,
    pub stars: i32,
    #[reference]
    pub by: Option<Ref<Reader>>,
}

/// The library writes copies into these.
#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Shelf, size = 5)]
pub struct Line {
    pub n: i32,
    #[reference(on_delete = nullify)]
    pub by: Option<Ref<Reader>>,
    #[denormalize(from = by.name)]
    pub by_name: Option<String>,
}

fn models() -> [odm::Model; 5] {
    models![Shelf, Reader, SlipBucket, LeafBucket, LineBucket]
}

async fn odm(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models()).unwrap();
    odm.sync().await.unwrap();
    odm
}

/// With transactions and without, each with a shelf of its own.
async fn both(t: &TestDb, odm: &Odm) -> Vec<(&'static str, Odm, i32)> {
    let shelves = (1..=2).map(|id| NewShelf { id });
    odm.collection::<Shelf>().insert_many(shelves).await.unwrap();
    odm.collection::<Reader>().insert(reader(1)).await.unwrap();
    vec![
        ("with", odm.clone(), 1),
        ("without", t.standalone_of(odm).await, 2),
    ]
}

fn reader(id: i32) -> Reader {
    Reader {
        id,
        name: format!("reader {id}"),
    }
}

fn slip(n: i32, by: Option<i32>) -> Slip {
    Slip {
        n,
        stars: n,
        weight: f64::from(n) / 10.0,
        at: DateTime::from_millis(1_000 * i64::from(n)),
        by: by.map(Ref::new),
        also: Vec::new(),
    }
}

fn leaf(n: i32, by: Option<i32>) -> Leaf {
    Leaf {
        n,
        stars: n,
        by: by.map(Ref::new),
    }
}

fn line(n: i32, by: Option<i32>) -> Line {
    Line {
        n,
        by: by.map(Ref::new),
        by_name: None,
    }
}

/// Every bucket says what its items say, and so does the shelf. Gives their numbers.
async fn slips(odm: &Odm, shelf: i32, case: &str) -> Vec<Vec<i32>> {
    let buckets = odm.buckets::<Slip>().pages(shelf).await.unwrap();
    for bucket in &buckets {
        let items = &bucket.slips;
        assert_eq!(bucket.count, items.len() as i32, "{case}: {bucket:?}");
        let stars: i64 = items.iter().map(|slip| i64::from(slip.stars)).sum();
        assert_eq!(bucket.sum_stars, stars, "{case}: {bucket:?}");
        let weight: f64 = items.iter().map(|slip| slip.weight).sum();
        assert!((bucket.total_weight - weight).abs() < 1e-9, "{case}: {bucket:?}");
        assert_eq!(bucket.first, items.iter().map(|slip| slip.at).min(), "{case}");
        assert_eq!(bucket.last, items.iter().map(|slip| slip.at).max(), "{case}");
        assert!(bucket.count + bucket.room <= 5, "{case}: {bucket:?}");
    }
    assert_eq!(odm.recover().await.unwrap().documents, 0, "{case}");
    let whole = odm.collection::<Shelf>().get(shelf).await.unwrap().unwrap();
    let sum = |of: fn(&SlipBucket) -> i64| buckets.iter().map(of).sum::<i64>();
    assert_eq!(whole.slips, sum(|bucket| bucket.count.into()), "{case}");
    assert_eq!(whole.stars, sum(|bucket| bucket.sum_stars), "{case}");
    let audit = odm.audit().await.unwrap();
    assert!(audit.is_clean(), "{case}: {audit}");
    let items = buckets.into_iter().map(|bucket| bucket.slips);
    items
        .map(|items| items.into_iter().map(|slip| slip.n).collect())
        .collect()
}

/// Whether it is this command, on this collection.
fn is(command: &Doc, name: &str, collection: &str) -> bool {
    command.get_str(name).is_ok_and(|of| of == collection)
}

/// Whether it updates one document of this collection: in a transaction by the command that also reads it.
fn updates_one(command: &Doc, collection: &str) -> bool {
    is(command, "update", collection) || is(command, "findAndModify", collection)
}

/// The handle to which reader 9 is lost behind a write to the buckets, and before it is looked for once more; until then
/// others may do something.
async fn losing(
    odm: &Odm,
    mode: &str,
    write: fn(&str, &Doc) -> bool,
    meanwhile: impl AsyncFn(&Odm) + Clone + Send + Sync + 'static,
) -> (Odm, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    odm.collection::<Reader>().insert(reader(9)).await.unwrap();
    let name = odm.database().name().to_owned();
    let steps: Vec<Step> = vec![
        (write, Box::new(|_| {})),
        (
            |_, command| is(command, "find", "readers"),
            Box::new(move |runtime| {
                runtime.block_on(async {
                    let others = another(&name, models()).await;
                    meanwhile(&others).await;
                    let readers = others.database().collection::<Doc>("readers");
                    readers.delete_one(doc! { "_id": 9 }).await.unwrap();
                });
            }),
        ),
    ];
    meddled_in(mode != "with", odm, models(), steps).await
}

fn is_missing<T: std::fmt::Debug>(outcome: Result<T, Error>, case: &str) {
    assert!(
        matches!(
            outcome,
            Err(Error::MissingReference {
                target: "readers",
                ..
            })
        ),
        "{case}: {outcome:?}"
    );
}

#[odm_tests::test]
fn a_push_that_is_undone_is_not_counted() {
    with_db(async |t| {
        let odm = odm(&t).await;
        for (mode, odm, shelf) in both(&t, &odm).await {
            let all = odm.buckets::<Slip>();
            let pushed: fn(&str, &Doc) -> bool = |_, command| is(command, "findAndModify", "slip_buckets");
            let edited: fn(&str, &Doc) -> bool = |_, command| updates_one(command, "slip_buckets");
            all.push_many(shelf, [slip(1, Some(1)), slip(2, None)])
                .await
                .unwrap();

            let case = format!("{mode}: a push");
            let (own, taken) = losing(&odm, mode, pushed, async |_| {}).await;
            is_missing(own.buckets::<Slip>().push(shelf, slip(3, Some(9))).await, &case);
            assert_eq!(taken.load(Ordering::SeqCst), 2, "{case}");
            assert_eq!(slips(&odm, shelf, &case).await, [[1, 2]]);

            let case = format!("{mode}: a push beside another one");
            let beside = async move |others: &Odm| {
                others.buckets::<Slip>().push(shelf, slip(4, None)).await.unwrap();
            };
            let (own, _) = losing(&odm, mode, pushed, beside).await;
            is_missing(own.buckets::<Slip>().push(shelf, slip(5, Some(9))).await, &case);
            assert_eq!(slips(&odm, shelf, &case).await, [[1, 2, 4]]);

            let case = format!("{mode}: an edit");
            let (own, taken) = losing(&odm, mode, edited, async |_| {}).await;
            let by = Ref::new(9);
            let edit = own
                .buckets::<Slip>()
                .edit(
                    shelf,
                    |s| s.n.eq(2),
                    |s| s.set(|s| s.by, by).set(|s| s.stars, 70).set(|s| s.weight, 7.0),
                )
                .await;
            is_missing(edit, &case);
            assert_eq!(taken.load(Ordering::SeqCst), 2, "{case}");
            assert_eq!(slips(&odm, shelf, &case).await, [[1, 2, 4]]);
            assert_eq!(all.page(shelf, 1).await.unwrap()[1], slip(2, None), "{case}");

            let case = format!("{mode}: a reference in an array of an item");
            let (own, taken) = losing(&odm, mode, edited, async |_| {}).await;
            let edit = own
                .buckets::<Slip>()
                .edit(
                    shelf,
                    |s| s.n.eq(4),
                    |s| {
                        s.set(|s| s.also, vec![Ref::new(1), Ref::new(9)])
                            .inc(|s| s.stars, 1)
                    },
                )
                .await;
            is_missing(edit, &case);
            assert_eq!(taken.load(Ordering::SeqCst), 2, "{case}");
            assert_eq!(slips(&odm, shelf, &case).await, [[1, 2, 4]]);

            let case = format!("{mode}: an edit while the item is deleted beside it");
            let beside = async move |others: &Odm| {
                let others = others.buckets::<Slip>();
                assert_eq!(others.delete(shelf, |s| s.n.eq(1)).await.unwrap(), 1);
            };
            let (own, _) = losing(&odm, mode, edited, beside).await;
            let by = Ref::new(9);
            let edit = own
                .buckets::<Slip>()
                .edit(shelf, |s| s.n.eq(2), |s| s.set(|s| s.by, by).set(|s| s.stars, 8))
                .await;
            is_missing(edit, &case);
            assert_eq!(slips(&odm, shelf, &case).await, [[2, 4]]);

            let case = format!("{mode}: the first item of a page");
            let inserted: fn(&str, &Doc) -> bool = |_, command| is(command, "insert", "slip_buckets");
            let (own, taken) = losing(&odm, mode, inserted, async |_| {}).await;
            is_missing(own.buckets::<Slip>().push(shelf, slip(7, Some(9))).await, &case);
            assert_eq!(taken.load(Ordering::SeqCst), 2, "{case}");
            let left: Vec<i32> = slips(&odm, shelf, &case).await.concat();
            assert_eq!(left, [2, 4], "{case}");

            all.delete(shelf, |s| s.n.gte(0)).await.unwrap();
            assert_eq!(slips(&odm, shelf, mode).await.concat(), [0; 0], "{mode}");
            odm.collection::<Shelf>().delete(shelf).await.unwrap();
        }
    });
}

async fn leaves(odm: &Odm, shelf: i32) -> Vec<(i32, i64, Vec<i32>)> {
    let buckets = odm.buckets::<Leaf>().pages(shelf).await.unwrap();
    let told = buckets.into_iter().map(|bucket| {
        let items: Vec<i32> = bucket.leafs.iter().map(|leaf| leaf.n).collect();
        (bucket.count, bucket.sum_stars, items)
    });
    told.collect()
}

#[odm_tests::test]
fn undoing_a_page_keeps_the_items_of_other_writers() {
    with_db(async |t| {
        let odm = odm(&t).await;
        for (mode, odm, shelf) in both(&t, &odm).await {
            let inserted: fn(&str, &Doc) -> bool = |_, command| is(command, "insert", "leaf_buckets");
            let (own, taken) = losing(&odm, mode, inserted, async |_| {}).await;
            is_missing(own.buckets::<Leaf>().push(shelf, leaf(1, Some(9))).await, mode);
            assert_eq!(taken.load(Ordering::SeqCst), 2, "{mode}");
            assert_eq!(
                leaves(&odm, shelf).await,
                [],
                "{mode}: no other process has written to it"
            );

            let beside = async move |others: &Odm| {
                others
                    .buckets::<Leaf>()
                    .push(shelf, leaf(3, Some(1)))
                    .await
                    .unwrap();
            };
            let (own, _) = losing(&odm, mode, inserted, beside).await;
            is_missing(own.buckets::<Leaf>().push(shelf, leaf(2, Some(9))).await, mode);
            assert_eq!(leaves(&odm, shelf).await, [(1, 3, vec![3])], "{mode}");
            let audit = odm.audit().await.unwrap();
            assert!(audit.is_clean(), "{mode}: {audit}");
        }
    });
}

#[odm_tests::test]
fn items_that_the_library_changes_meanwhile_are_counted_again() {
    with_db(async |t| {
        let odm = odm(&t).await;
        for (mode, odm, shelf) in both(&t, &odm).await {
            let readers = odm.collection::<Reader>();
            readers.insert_many([reader(10), reader(11)]).await.unwrap();
            let lines: Buckets<Line> = odm.buckets();
            let of = [Some(10), Some(10), Some(11), None];
            lines
                .push_many(shelf, (1..).zip(of).map(|(n, by)| line(n, by)))
                .await
                .unwrap();
            let told = async || {
                let page = &lines.pages(shelf).await.unwrap()[0];
                (
                    page.count,
                    page.lines.iter().map(|line| line.n).collect::<Vec<_>>(),
                )
            };
            let before_the_update = async |work: fn(Odm) -> futures::future::BoxFuture<'static, ()>| {
                let name = odm.database().name().to_owned();
                let steps: Vec<Step> = vec![(
                    |_, command| updates_one(command, "line_buckets"),
                    Box::new(move |runtime| {
                        runtime.block_on(async { work(another(&name, models()).await).await })
                    }),
                )];
                meddled_in(mode != "with", &odm, models(), steps).await
            };

            let rename = before_the_update(|others| {
                Box::pin(async move {
                    let readers = others.collection::<Reader>();
                    readers.update(10).set(|r| r.name, "renamed").await.unwrap();
                })
            });
            let (own, taken) = rename.await;
            let deleted = own
                .buckets::<Line>()
                .delete(shelf, |l| l.by_name.eq("reader 10"))
                .await;
            assert_eq!(deleted.unwrap(), 0, "{mode}: no host has that name any more");
            assert_eq!(taken.load(Ordering::SeqCst), 1, "{mode}");
            assert_eq!(told().await, (4, vec![1, 2, 3, 4]), "{mode}: renamed");

            let gone = before_the_update(|others| {
                Box::pin(async move { others.collection::<Reader>().delete(11).await.map(drop).unwrap() })
            });
            let (own, taken) = gone.await;
            let own = own.buckets::<Line>();
            let deleted = own.delete(shelf, |l| l.by.eq(Ref::new(11))).await;
            assert_eq!(deleted.unwrap(), 0, "{mode}: no bucket names it any more");
            assert_eq!(taken.load(Ordering::SeqCst), 1, "{mode}");
            assert_eq!(told().await, (4, vec![1, 2, 3, 4]), "{mode}: gone");

            readers.delete(10).await.unwrap();
            let audit = odm.audit().await.unwrap();
            assert!(audit.is_clean(), "{mode}: {audit}");
        }
    });
}

#[odm_tests::test]
fn an_audit_compares_buckets_with_their_items_and_a_repair_corrects_them() {
    with_db(async |t| {
        let odm = odm(&t).await;
        for (mode, odm, shelf) in both(&t, &odm).await {
            let all = odm.buckets::<Slip>();
            all.push_many(shelf, (1..=23).map(|n| slip(n, None)))
                .await
                .unwrap();
            all.delete(shelf, |s| s.n.eq(7)).await.unwrap();
            let before = slips(&odm, shelf, mode).await;
            let raw = t.db.collection::<Doc>("slip_buckets");
            let of = |page: i32| doc! { "shelf": shelf, "page": page };
            let broken = [
                (1, doc! { "$inc": { "count": 1 } }),
                (2, doc! { "$set": { "sum_stars": 1_000_i64 } }),
                (3, doc! { "$set": { "first": DateTime::from_millis(0) } }),
                (4, doc! { "$unset": { "total_weight": "" } }),
                (5, doc! { "$set": { "room": 5 } }),
            ];
            for (page, update) in &broken {
                let action = raw.update_one(of(*page), update.clone());
                let done = action.bypass_document_validation(true).await.unwrap();
                assert_eq!(done.modified_count, 1, "{mode}: {update}");
            }
            let audit = odm.audit().await.unwrap();
            let of_slips = |audit: &odm::upkeep::Audit| {
                let found = audit.copies.iter();
                found
                    .clone()
                    .find(|found| found.collection == "slip_buckets")
                    .cloned()
                    .unwrap()
            };
            let found = of_slips(&audit);
            assert_eq!(
                found.fields,
                ["count", "first", "last", "sum_stars", "total_weight", "room"]
            );
            assert_eq!(found.source, "slip_buckets.slips");
            assert_eq!(
                (found.checked, found.wrong, found.stale.count),
                (5, 5, 5),
                "{mode}"
            );
            let mut ids: Vec<Bson> = Vec::new();
            for (page, _) in &broken {
                let bucket = raw.find_one(of(*page)).await.unwrap().unwrap();
                ids.push(bucket.get("_id").unwrap().clone());
            }
            assert!(
                found.stale.sample.iter().all(|(id, _)| ids.contains(id)),
                "{mode}: {found:?}"
            );
            assert!(
                audit
                    .to_string()
                    .contains("5 of 5 differ from the source (slip_buckets.slips)"),
                "{audit}"
            );
            // The fields that others derive of the buckets agree with their stored summaries; the out-of-band change has not reached them.
            let version = |bucket: Doc| bucket.get_i64("version").unwrap();
            let third = async || raw.find_one(of(3)).await.unwrap().unwrap();
            let was = version(third().await);
            let repaired = odm.repair(&audit).await.unwrap();
            let summed = repaired
                .repairs
                .iter()
                .find(|repair| repair.what == RepairKind::Summed);
            assert_eq!(summed.map(|repair| repair.count), Some(5), "{mode}: {repaired}");
            assert_eq!(summed.unwrap().collection, "slip_buckets");
            assert!(
                repaired
                    .to_string()
                    .contains("5 buckets with their count and sums computed again"),
                "{repaired}"
            );
            assert_eq!(version(third().await), was, "{mode}: no item was changed");
            assert_eq!(slips(&odm, shelf, mode).await, before, "{mode}");
            let last = raw.find_one(of(5)).await.unwrap().unwrap();
            assert_eq!(
                (last.get_i32("count").unwrap(), last.get_i32("room").unwrap()),
                (3, 2)
            );

            // Alone they are one query without the items, and one update where some are wrong.
            raw.update_one(of(2), doc! { "$inc": { "count": -1 } })
                .await
                .unwrap();
            t.commands.clear();
            let audit = odm.audit().edge::<SlipBucket, _>(|b| b.count).await.unwrap();
            // On a cluster one more, for the shard keys of the database.
            let is_sharded = odm.server().await.unwrap().topology() == odm::server::Topology::Sharded;
            let finds = vec!["find"; if is_sharded { 2 } else { 1 }];
            assert_eq!(t.commands.take(), finds, "{mode}");
            assert_eq!((audit.references.len(), audit.stale_copies()), (0, 1), "{mode}");
            odm.repair(&audit).await.unwrap();
            assert_eq!(slips(&odm, shelf, mode).await, before, "{mode}: one by one");
            let sampled = odm.audit().sample(3).await.unwrap();
            assert_eq!(of_slips(&sampled).checked, 3, "{mode}");

            // A bucket without an item has no times.
            all.delete(shelf, |s| s.n.gt(20)).await.unwrap();
            let set =
                doc! { "$set": { "first": DateTime::from_millis(0), "last": DateTime::from_millis(0) } };
            raw.update_one(of(5), set).await.unwrap();
            assert_eq!(odm.audit().await.unwrap().wrong(), 1, "{mode}");
            let repaired = odm.repair_all().await.unwrap();
            assert_eq!(repaired.repaired, 1, "{mode}: {repaired}");
            slips(&odm, shelf, mode).await;
            let empty = raw.find_one(of(5)).await.unwrap().unwrap();
            assert!(
                !empty.contains_key("first") && !empty.contains_key("last"),
                "{empty}"
            );
            odm.collection::<Shelf>().delete(shelf).await.unwrap();
        }
    });
}

#[odm_tests::test]
fn sums_of_fractions_are_true_whatever_the_order() {
    with_db(async |t| {
        let odm = odm(&t).await;
        odm.collection::<Shelf>()
            .insert(NewShelf { id: 1 })
            .await
            .unwrap();
        let all = odm.buckets::<Slip>();
        // Their sum is nothing but what is lost in adding them.
        for (n, weight) in (1..).zip([1e7 + 0.1, 0.2, 0.3, -1e7, -0.6]) {
            let slip = Slip {
                weight,
                ..slip(n, None)
            };
            all.push(1, slip).await.unwrap();
        }
        let told = all.pages(1).await.unwrap()[0].total_weight;
        assert!(told != 0.0 && told.abs() < 1e-6, "{told}");
        let audit = odm.audit().await.unwrap();
        assert!(audit.is_clean(), "{audit}");
        let raw = t.db.collection::<Doc>("slip_buckets");
        let off = doc! { "$inc": { "total_weight": 0.1 } };
        raw.update_one(doc! {}, off).await.unwrap();
        assert_eq!(odm.audit().await.unwrap().wrong(), 1);
        assert_eq!(odm.repair_all().await.unwrap().repaired, 1);
        assert!(odm.audit().await.unwrap().is_clean());
    });
}

#[odm_tests::test]
fn a_raw_update_changes_nothing_that_the_library_writes() {
    with_db(async |t| {
        let odm = odm(&t).await;
        both(&t, &odm).await;
        odm.buckets::<Slip>().push(1, slip(1, Some(1))).await.unwrap();
        odm.buckets::<Line>().push(1, line(1, Some(1))).await.unwrap();
        let message = |outcome: odm::Result<odm::update::Updated>, update: &Doc| match outcome {
            Err(Error::Query { message, .. }) => message,
            other => panic!("{update}: {other:?}"),
        };
        let raw = t.db.collection::<Doc>("slip_buckets");
        let before = raw.find_one(doc! {}).await.unwrap().unwrap();
        let slips = odm.collection::<SlipBucket>();
        t.commands.clear();
        for update in [
            doc! { "$set": { "count": 7 } },
            doc! { "$inc": { "sum_stars": 1 } },
            doc! { "$min": { "first": DateTime::from_millis(0) } },
            doc! { "$unset": { "last": "" } },
            doc! { "$mul": { "room": 2 } },
            doc! { "$set": { "page": 3 } },
            doc! { "$set": { "shelf": 2 } },
            doc! { "$rename": { "remark": "total_weight" } },
            doc! { "$push": { "slips": { "n": 1 } } },
            doc! { "$pull": { "slips": { "n": 1 } } },
            doc! { "$set": { "slips.0": { "n": 1 } } },
            doc! { "$set": { "slips.$[].stars": 1 } },
            doc! { "$unset": { "slips.0.at": "" } },
        ] {
            let said = message(
                slips.update_where(|b| b.page.eq(1)).raw(update.clone()).await,
                &update,
            );
            assert!(said.contains("odm.buckets"), "{update}: {said}");
        }
        let update = doc! { "$set": { "count": 7 } };
        let bulk = odm.bulk();
        let in_bulk = bulk
            .add(
                odm.collection()
                    .update_where(|b: <SlipBucket as Document>::Paths| b.page.eq(1))
                    .raw(update.clone()),
            )
            .await;
        let Err(Error::Bulk { errors, .. }) = in_bulk else {
            panic!("{in_bulk:?}");
        };
        assert!(matches!(errors[..], [(0, Error::Query { .. })]), "{errors:?}");
        assert_eq!(t.commands.take(), [""; 0], "nothing is sent");
        assert_eq!(raw.find_one(doc! {}).await.unwrap().unwrap(), before);

        // What nothing follows from may be changed.
        let free = slips
            .update_where(|b| b.page.eq(1))
            .raw(doc! { "$set": { "slips.$[].n": 5 } })
            .await
            .unwrap();
        assert_eq!(free.modified, 1);
        let edited = odm
            .buckets::<Slip>()
            .edit(1, |s| s.n.eq(5), |s| s.raw(doc! { "$inc": { "stars": 2 } }))
            .await;
        assert_eq!(edited.unwrap(), 1);
        let page = &odm.buckets::<Slip>().pages(1).await.unwrap()[0];
        assert_eq!((page.slips[0].stars, page.sum_stars), (3, 3));

        let update = doc! { "$set": { "lines.0.by_name": "a lie" } };
        let lines = odm.collection::<LineBucket>();
        let said = message(
            lines.update_where(|b| b.page.eq(1)).raw(update.clone()).await,
            &update,
        );
        assert!(said.contains("copies it from `readers.name`"), "{said}");
        let of_lines = odm.buckets::<Line>();
        let edit = of_lines.edit(
            1,
            |l| l.n.eq(1),
            |l| l.raw(doc! { "$set": { "by_name": "a lie" } }),
        );
        assert!(matches!(edit.await, Err(Error::Query { .. })));
        let update = doc! { "$inc": { "stars": 1 } };
        let said = message(
            odm.collection::<Shelf>().update(1).raw(update.clone()).await,
            &update,
        );
        assert!(said.contains("derives it from `slip_buckets`"), "{said}");
        let audit = odm.audit().await.unwrap();
        assert!(audit.is_clean(), "{audit}");
    });
}

#[odm_tests::test]
fn a_reconciler_counts_items_after_out_of_band_writes() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        both(&t, &odm).await;
        odm.buckets::<Slip>()
            .push_many(1, (1..=12).map(|n| slip(n, None)))
            .await
            .unwrap();
        odm.buckets::<Leaf>()
            .push_many(1, (1..=4).map(|n| leaf(n, None)))
            .await
            .unwrap();
        let raw = |name: &str| t.db.collection::<Doc>(name);
        let of = |page: i32| doc! { "shelf": 1, "page": page };
        // As the shell of somebody does it who knows nothing of the counts.
        let write = async |name: &str, page: i32, update: Doc| {
            let buckets = raw(name);
            let action = buckets.update_one(of(page), update);
            let done = action.bypass_document_validation(true).await.unwrap();
            assert_eq!(done.modified_count, 1, "{name} {page}");
        };
        // How often a reconciler reads what it looks for, to take up what was written since the last one.
        let reads = async || {
            t.commands.clear();
            let reconciler = odm.reconciler().start().await.unwrap();
            reconciler.caught_up().await.unwrap();
            reconciler.stop().await.unwrap();
            let sent = t.commands.take();
            let is_read = |name: &&String| ["find", "aggregate"].contains(&name.as_str());
            sent.iter().filter(is_read).count()
        };
        write("slip_buckets", 2, doc! { "$inc": { "sum_stars": 7_i64 } }).await;
        write("leaf_buckets", 2, doc! { "$unset": { "count": "" } }).await;
        // The first one compares all that there is.
        reads().await;
        assert_eq!(slips(&odm, 1, "at first").await.len(), 3);
        // The next one may still meet what that one has written, so the lesser of two counts.
        let nothing = reads().await.min(reads().await);
        let all = odm.buckets::<Leaf>();
        all.push(1, leaf(6, None)).await.unwrap();
        all.edit(1, |l| l.n.eq(2), |l| l.set(|l| l.stars, 20))
            .await
            .unwrap();
        all.delete(1, |l| l.n.gte(4)).await.unwrap();
        let own = reads().await;
        assert!(
            own <= nothing,
            "{own} reads of the library's own writes, {nothing} of nothing"
        );

        let all = odm.buckets::<Slip>();
        all.push(1, slip(13, None)).await.unwrap();
        all.edit(1, |s| s.n.eq(2), |s| s.set(|s| s.stars, 20))
            .await
            .unwrap();
        all.delete(1, |s| s.n.eq(3)).await.unwrap();
        let reconciler = odm.reconciler().start().await.unwrap();
        let new = odm::to_bson(&slip(14, None)).unwrap();
        write("slip_buckets", 1, doc! { "$pull": { "slips": { "n": 1 } } }).await;
        write(
            "slip_buckets",
            2,
            doc! { "$set": { "slips.0.stars": 100, "slips.1.at": DateTime::from_millis(5) } },
        )
        .await;
        write("slip_buckets", 3, doc! { "$push": { "slips": new } }).await;
        write("leaf_buckets", 1, doc! { "$set": { "count": 9, "room": 3 } }).await;
        reconciler.caught_up().await.unwrap();
        let numbers = slips(&odm, 1, "updates").await;
        assert_eq!(
            numbers,
            [vec![2, 4, 5], vec![6, 7, 8, 9, 10], vec![11, 12, 13, 14]]
        );
        // A page that others make, and one that they put in the place of another.
        let stored = |n: i32| odm::to_bson(&leaf(n, None)).unwrap();
        let page = |number: i32, leaves: Vec<Bson>| doc! { "shelf": 1, "page": number, "leafs": leaves, "room": 3, "version": 1_i64 };
        let leaf_buckets = raw("leaf_buckets");
        let inserted = leaf_buckets.insert_one(page(3, vec![stored(5)]));
        inserted.bypass_document_validation(true).await.unwrap();
        let replaced = leaf_buckets.replace_one(of(1), page(1, vec![stored(1), stored(2), stored(3)]));
        replaced.bypass_document_validation(true).await.unwrap();
        reconciler.caught_up().await.unwrap();
        let leaves = leaves(&odm, 1).await;
        assert_eq!(leaves, [(3, 6, vec![1, 2, 3]), (0, 0, vec![]), (1, 5, vec![5])]);
        assert_clean(&odm).await;
        reconciler.stop().await.unwrap();
    });
}
