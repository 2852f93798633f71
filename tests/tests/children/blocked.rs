//! Obstacles to derived fields: validators of old documents, sums that are too great, and rounding.

use odm::Error;
use odm::bson::{Bson, Document as Doc, doc};
use odm::prelude::*;
use odm::upkeep::AuditedCopies;
use odm_tests::fixtures::interleaved::{Step, both, meddled};
use odm_tests::{TestDb, assert_clean, assert_clean_after, require_transactions, with_db};
use std::sync::atomic::Ordering;

mod shop {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "parts")]
    pub struct Part {
        pub id: i32,
        pub name: String,
        pub price: f64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "products")]
    pub struct Product {
        pub id: i32,
        #[reference(many, max = 200, on_delete = pull)]
        #[denormalize(from = Part, fields(name: String, price: f64))]
        pub parts: Vec<PartEntry>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "labels")]
    pub struct Label {
        pub id: i32,
        #[reference(on_delete = cascade)]
        pub part: Ref<Part>,
        #[denormalize(from = part.name, consistency = eventual)]
        pub name: String,
    }

    pub fn part(id: i32) -> Part {
        Part {
            id,
            name: format!("part {id}"),
            price: f64::from(id),
        }
    }

    pub async fn made(t: &odm_tests::TestDb) -> Odm {
        let odm = Odm::new(t.db.clone(), models![Part, Product, Label]).unwrap();
        odm.sync().await.unwrap();
        odm
    }
}

/// Documents of this collection have to have a field from now on which the present ones lack.
async fn demand(t: &TestDb, collection: &str) {
    let more = doc! { "collMod": collection, "validator": { "demanded": { "$exists": true } } };
    t.db.run_command(more).await.unwrap();
}

fn copies_of<'a>(audit: &'a odm::upkeep::Audit, collection: &str) -> &'a AuditedCopies {
    let mut all = audit.copies.iter();
    all.find(|copies| copies.collection == collection).unwrap()
}

#[odm_tests::test]
fn copies_follow_into_documents_that_the_validator_refuses() {
    use shop::*;
    with_db(async |t| {
        let odm = made(&t).await;
        let parts = [1, 2].map(part);
        odm.collection::<Part>().insert_many(parts).await.unwrap();
        let products = (1..=3).map(|id| NewProduct {
            id,
            parts: vec![Ref::new(1), Ref::new(2)],
        });
        odm.collection::<Product>().insert_many(products).await.unwrap();
        let labels = (1..=3).map(|id| NewLabel {
            id,
            part: Ref::new(1),
        });
        odm.collection::<Label>().insert_many(labels).await.unwrap();
        demand(&t, "products").await;
        demand(&t, "labels").await;
        for (mode, odm) in both(&t, &odm).await {
            let updated = odm.collection::<Part>().update(1).set(|p| p.name, mode).await;
            if mode == "with transactions" && odm.server().await.unwrap().has_transactions() {
                // The refusal ends the transaction, so all is as it was.
                assert!(
                    matches!(updated, Err(Error::Invalid { .. })),
                    "{mode}: {updated:?}"
                );
                assert_clean(&odm).await;
                continue;
            }
            assert!(updated.is_ok(), "{mode}: {updated:?}");
            let all = odm.collection::<Product>().find_all().all().await.unwrap();
            assert!(all.iter().all(|product| product.parts[0].name == mode), "{all:?}");
            let all = odm.collection::<Label>().find_all().all().await.unwrap();
            assert!(all.iter().all(|label| label.name == mode), "{all:?}");
            assert_eq!(odm.recover().await.unwrap().documents, 0, "{mode}");
            // The application's own writes are still validated.
            let refused = odm
                .collection::<Product>()
                .update(1)
                .set(|p| p.parts, vec![Ref::new(2)])
                .await;
            assert!(
                matches!(refused, Err(Error::Invalid { .. })),
                "{mode}: {refused:?}"
            );
        }
        assert_clean(&odm).await;
    });
}

/// Neither a backfill nor a repair stops at a document that can't be written.
#[odm_tests::test]
fn a_holder_that_is_refused_is_the_only_one_that_stays_stale() {
    use shop::*;
    with_db(async |t| {
        let odm = made(&t).await;
        odm.collection::<Part>().insert(part(1)).await.unwrap();
        let labels = (1..=9).map(|id| NewLabel {
            id,
            part: Ref::new(1),
        });
        odm.collection::<Label>().insert_many(labels).await.unwrap();
        let raw = odm.collection::<Label>().driver::<Doc>();
        let spoil = async || {
            let wrong = doc! { "$set": { "name": "wrong" } };
            raw.update_many(doc! {}, wrong).await.unwrap();
            // Nothing can be set within what is no document.
            let broken = doc! { "$set": { "_copied": "?" } };
            raw.update_one(doc! { "_id": 4 }, broken).await.unwrap();
        };
        let wrong = async || raw.distinct("_id", doc! { "name": "wrong" }).await.unwrap();
        spoil().await;
        let refused = odm.backfill().again().await;
        assert!(matches!(refused, Err(Error::NotADocument { .. })), "{refused:?}");
        assert_eq!(wrong().await, [Bson::Int32(4)]);
        spoil().await;
        let refused = odm.repair_all().await;
        assert!(matches!(refused, Err(Error::NotADocument { .. })), "{refused:?}");
        assert_eq!(wrong().await, [Bson::Int32(4)]);
        let without_copies = doc! { "$unset": { "_copied": "" } };
        raw.update_one(doc! { "_id": 4 }, without_copies).await.unwrap();
        odm.repair_all().await.unwrap();
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn a_copy_of_a_fraction_is_right_if_it_is_the_same() {
    use shop::*;
    with_db(async |t| {
        let odm = made(&t).await;
        odm.collection::<Part>().insert(part(1)).await.unwrap();
        let product = NewProduct {
            id: 1,
            parts: vec![Ref::new(1)],
        };
        odm.collection::<Product>().insert(product).await.unwrap();
        for wrong in [1.0 + 1e-12, f64::INFINITY, f64::NAN] {
            let raw = odm.collection::<Product>();
            let update = doc! { "$set": { "parts.0.price": wrong } };
            raw.driver::<Doc>().update_one(doc! {}, update).await.unwrap();
            let audit = odm.audit().await.unwrap();
            assert_eq!(copies_of(&audit, "products").stale.count, 1, "{wrong}: {audit}");
            odm.repair(&audit).await.unwrap();
            let product = odm.collection::<Product>().get(1).await.unwrap().unwrap();
            assert_eq!(product.parts[0].price, 1.0);
        }
    });
}

#[odm_tests::test]
fn each_copy_in_an_array_counts() {
    use shop::*;
    with_db(async |t| {
        let odm = made(&t).await;
        odm.collection::<Part>()
            .insert_many((1..=100).map(part))
            .await
            .unwrap();
        let product = |id: i32, parts: std::ops::RangeInclusive<i32>| NewProduct {
            id,
            parts: parts.map(Ref::new).collect(),
        };
        let products = [product(1, 1..=100), product(2, 1..=100)];
        odm.collection::<Product>().insert_many(products).await.unwrap();
        let raw = odm.collection::<Product>().driver::<Doc>();
        let wrong = doc! { "$set": { "parts.$[].name": "wrong" } };
        raw.update_one(doc! { "_id": 1 }, wrong.clone()).await.unwrap();
        let audit = odm.audit().await.unwrap();
        let found = copies_of(&audit, "products");
        assert_eq!(
            (found.checked, found.wrong, found.stale.count),
            (200, 100, 1),
            "{audit}"
        );
        assert_eq!((found.share(), audit.wrong()), (0.5, 1));
        assert!(
            audit.to_string().contains("100 of 200 differ from the source"),
            "{audit}"
        );
        raw.update_one(doc! { "_id": 2 }, wrong).await.unwrap();
        let audit = odm.audit().await.unwrap();
        assert_eq!(copies_of(&audit, "products").share(), 0.0, "{audit}");
    });
}

/// Whole numbers of children, kept in a transaction and after it.
macro_rules! numbers {
    ($name:ident $(, $sync:ident)?) => {
        mod $name {
            use odm::prelude::*;

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "boxes")]
            pub struct Box {
                pub id: i32,
                #[computed(sum = Thing.n $(, consistency = $sync)?)]
                pub n: i32,
                #[computed(count = Thing $(, consistency = $sync)?)]
                pub things: i64,
            }

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "things")]
            pub struct Thing {
                pub id: i32,
                #[parent_ref]
                pub within: Ref<Box>,
                pub n: i32,
            }

            pub fn thing(id: i32, within: i32, n: i32) -> Thing {
                Thing {
                    id,
                    within: Ref::new(within),
                    n,
                }
            }

            pub async fn made(t: &odm_tests::TestDb) -> Odm {
                let odm = Odm::new(t.db.clone(), models![Box, Thing]).unwrap();
                odm.sync().await.unwrap();
                let boxes = [1, 2, 3].map(|id| NewBox { id });
                odm.collection::<Box>().insert_many(boxes).await.unwrap();
                odm
            }

            pub async fn numbers(odm: &Odm) -> Vec<(i32, i64)> {
                let boxes = odm.collection::<Box>().find_all().sort(|b| b.id.asc()).all().await.unwrap();
                boxes.iter().map(|one| (one.n, one.things)).collect()
            }
        }
    };
}
numbers!(at_once);
numbers!(later, eventual);

#[odm_tests::test]
fn an_overflowing_sum_does_not_block_other_parents() {
    use later::*;
    with_db(async |t| {
        let odm = made(&t).await;
        let things = odm.collection::<Thing>();
        let all = [
            thing(1, 1, i32::MAX),
            thing(2, 1, i32::MAX),
            thing(3, 2, 5),
            thing(4, 3, i32::MAX),
        ];
        let error = things.insert_many(all).await.unwrap_err().to_string();
        let says = |error: &str| error.contains("boxes: `n`") && error.contains("with _id 1 ");
        assert!(says(&error), "{error}");
        // Another number of the same document fits.
        assert_eq!(numbers(&odm).await, [(0, 2), (5, 1), (i32::MAX, 1)]);
        // The work of its children is still pending, and no other.
        for _ in 0..2 {
            let error = odm.recover().await.unwrap_err().to_string();
            assert!(says(&error), "{error}");
            let raw = things.driver::<Doc>();
            let pending = raw.distinct("_id", doc! { "_odm.pending.operation": { "$exists": true } });
            assert_eq!(pending.await.unwrap(), [Bson::Int32(1), Bson::Int32(2)]);
        }
        let audit = odm.audit().await.unwrap();
        assert_eq!(audit.stale_copies(), 1, "{audit}");
        // Whether the first can go at once or has to wait for the second, both are gone in the end.
        let _ = things.insert(thing(6, 1, i32::MAX)).await.unwrap_err();
        for id in [6, 2] {
            let _ = things.delete(id).await;
        }
        odm.recover().await.unwrap();
        assert_eq!(numbers(&odm).await, [(i32::MAX, 1), (5, 1), (i32::MAX, 1)]);
        assert_clean(&odm).await;
    });
}

/// An error would say that nothing of it is there.
#[odm_tests::test]
fn a_committed_transaction_does_not_fail_for_its_pending_work() {
    use later::*;
    with_db(async |t| {
        let odm = made(&t).await;
        require_transactions(&odm).await;
        let given = odm
            .transaction(async |tx| {
                let all = [thing(1, 1, i32::MAX), thing(2, 1, i32::MAX), thing(3, 2, 5)];
                tx.collection::<Thing>().insert_many(all).await?;
                Ok("committed")
            })
            .await;
        assert_eq!(given.unwrap(), "committed");
        assert_eq!(
            numbers(&odm).await,
            [(0, 2), (5, 1), (0, 0)],
            "the work for the other boxes is done"
        );
        let error = odm.recover().await.unwrap_err().to_string();
        assert!(
            error.contains("boxes: `n`") && error.contains("with _id 1 "),
            "{error}"
        );
        odm.transaction(async |tx| tx.collection::<Thing>().delete(2).await)
            .await
            .unwrap();
        odm.recover().await.unwrap();
        assert_eq!(numbers(&odm).await, [(i32::MAX, 1), (5, 1), (0, 0)]);
        assert_clean(&odm).await;
    });
}

/// This holds for any number of documents of an operation, wherever among them is the one whose work fails.
#[odm_tests::test]
fn pending_work_that_fails_does_not_block_other_work_of_the_same_write() {
    odm_tests::takes_long();
    use later::*;
    const BOXES: i32 = 500;
    with_db(async |t| {
        let odm = t.standalone_of(&made(&t).await).await;
        let (boxes, things) = (odm.collection::<Box>(), odm.collection::<Thing>());
        let more = (4..=BOXES).map(|id| NewBox { id });
        boxes.insert_many(more).await.unwrap();
        let one_each = (2..=BOXES).map(|id| thing(id, id, id));
        let too_great = [thing(1, 1, i32::MAX), thing(BOXES + 1, 1, i32::MAX)];
        let all: Vec<Thing> = too_great.into_iter().chain(one_each).collect();
        let error = things.insert_many(all).await.unwrap_err().to_string();
        assert!(error.contains("boxes: `n`"), "{error}");
        let expected = |id: i32| if id == 1 { (0, 2) } else { (id, 1) };
        assert_eq!(numbers(&odm).await, (1..=BOXES).map(expected).collect::<Vec<_>>());
        let raw = things.driver::<Doc>();
        let pending = async || {
            let pending = raw
                .distinct("_id", doc! { "_odm.pending.operation": { "$exists": true } })
                .await;
            pending
                .unwrap()
                .iter()
                .filter_map(Bson::as_i32)
                .collect::<Vec<_>>()
        };
        assert_eq!(pending().await, [1, BOXES + 1]);
        things.delete(BOXES + 1).await.unwrap();
        odm.recover().await.unwrap();
        // A box that can't be written: `_odm` is no document, so nothing can be added within it.
        let spoil = async |update: Doc| {
            let of = boxes.driver::<Doc>();
            of.update_one(doc! { "_id": 3 }, update).await.unwrap();
        };
        spoil(doc! { "$set": { "_odm": "?" } }).await;
        let refused = things.delete_where(|t| t.id.gt(0)).await;
        assert!(matches!(refused, Err(Error::NotADocument { .. })), "{refused:?}");
        let left = raw.distinct("_id", doc! {}).await.unwrap();
        assert_eq!(left, [Bson::Int32(3)]);
        assert_eq!(pending().await, [3]);
        let expected = |id: i32| if id == 3 { (3, 1) } else { (0, 0) };
        assert_eq!(numbers(&odm).await, (1..=BOXES).map(expected).collect::<Vec<_>>());
        spoil(doc! { "$unset": { "_odm": "" } }).await;
        odm.recover().await.unwrap();
        assert_eq!(raw.count_documents(doc! {}).await.unwrap(), 0);
        assert_clean(&odm).await;
    });
}

/// Others may change the children while their parent is derived, and what is said is what it came to at last.
#[odm_tests::test]
fn a_sum_that_overflows_only_between_two_changes_is_no_error() {
    use later::*;
    with_db(async |t| {
        let odm = made(&t).await;
        let name = t.db.name().to_owned();
        let step: Step = (
            |name, command| name == "update" && command.get_str("update").is_ok_and(|of| of == "boxes"),
            std::boxed::Box::new(move |runtime| {
                runtime.block_on(async {
                    let (client, _) = odm_tests::client().await;
                    let db = client.database(&name);
                    let things = db.collection::<Doc>("things");
                    things.delete_one(doc! { "_id": 2 }).await.unwrap();
                    let boxes = db.collection::<Doc>("boxes");
                    let changed = doc! { "$inc": { "_odm.revision": 1_i64 } };
                    boxes.update_one(doc! { "_id": 1 }, changed).await.unwrap();
                });
            }),
        );
        let (others, taken) = meddled(&odm, models![Box, Thing], vec![step]).await;
        let both = [thing(1, 1, i32::MAX), thing(2, 1, i32::MAX)];
        let inserted = others.collection::<Thing>().insert_many(both).await;
        assert_eq!(taken.load(Ordering::SeqCst), 1);
        assert!(inserted.is_ok(), "{inserted:?}");
        assert_eq!(numbers(&odm).await, [(i32::MAX, 1), (0, 0), (0, 0)]);
        assert_eq!(odm.recover().await.unwrap().documents, 0);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn an_insert_is_refused_whose_value_overflows_the_sum() {
    use at_once::*;
    with_db(async |t| {
        let odm = made(&t).await;
        require_transactions(&odm).await;
        let things = odm.collection::<Thing>();
        things.insert(thing(1, 1, i32::MAX)).await.unwrap();
        let one = things.insert(thing(2, 1, 1)).await.unwrap_err().to_string();
        let both = [thing(3, 2, i32::MAX), thing(4, 2, i32::MAX)];
        let two = things.insert_many(both).await.unwrap_err().to_string();
        // Before MongoDB 5.0 a validator does not say which field it refuses.
        let says_which = odm.server().await.unwrap().max_wire_version() >= 13;
        for error in [one, two] {
            assert!(error.contains("boxes"), "{error}");
            assert!(error.contains("`n`") || !says_which, "{error}");
        }
        assert_eq!(numbers(&odm).await, [(i32::MAX, 1), (0, 0), (0, 0)]);
        // The opposite of the least number is of a greater type.
        things.insert(thing(5, 3, i32::MIN)).await.unwrap();
        things.delete(5).await.unwrap();
        assert_eq!(numbers(&odm).await, [(i32::MAX, 1), (0, 0), (0, 0)]);
        assert_clean(&odm).await;
    });
}

mod alone {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "crates")]
    pub struct Crate {
        pub id: i32,
        #[index(unique)]
        pub label: String,
        #[computed(sum = Good.n, consistency = eventual)]
        pub n: i32,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "goods")]
    pub struct Good {
        pub id: i32,
        #[parent_ref]
        pub within: Ref<Crate>,
        pub n: i32,
    }
}

/// Where the only number of a parent does not fit, nothing is written: least of all a document without its other fields.
#[odm_tests::test]
fn an_overflowing_sum_leaves_its_parent_unchanged() {
    use alone::*;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Crate, Good]).unwrap();
        odm.sync().await.unwrap();
        for (_, odm) in both(&t, &odm).await {
            let (crates, goods) = (odm.collection::<Crate>(), odm.collection::<Good>());
            let label = |id: i32| format!("crate {id}");
            for id in [1, 2] {
                crates.insert(NewCrate { id, label: label(id) }).await.unwrap();
            }
            for id in 1..=3 {
                let within = Ref::new(1);
                let _ = goods
                    .insert(Good {
                        id,
                        within,
                        n: i32::MAX,
                    })
                    .await;
            }
            // One is deleted, one is moved there and back, and the sum is too great all the time.
            let _ = goods.delete(3).await;
            for within in [2, 1] {
                let _ = goods.update(2).set(|g| g.within, Ref::new(within)).await;
            }
            let all = crates.find_all().sort(|c| c.id.asc()).all().await.unwrap();
            let labels: Vec<String> = all.into_iter().map(|one| one.label).collect();
            assert_eq!(labels, [label(1), label(2)]);
            let _ = goods.delete(2).await;
            odm.recover().await.unwrap();
            assert_eq!(crates.get(1).await.unwrap().unwrap().n, i32::MAX);
            assert_clean(&odm).await;
            t.db.collection::<Doc>("goods")
                .delete_many(doc! {})
                .await
                .unwrap();
            t.db.collection::<Doc>("crates")
                .delete_many(doc! {})
                .await
                .unwrap();
        }
    });
}

mod fractions {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "jars")]
    pub struct Jar {
        pub id: i32,
        #[computed(sum = Pour.litres)]
        pub litres: f64,
        #[computed(avg = Pour.litres)]
        pub mean: Average,
        #[computed(min = Pour.at)]
        pub first: Option<i32>,
        #[computed(max = Pour.at)]
        pub last: Option<i32>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "pours")]
    pub struct Pour {
        pub id: i32,
        #[parent_ref]
        pub jar: Ref<Jar>,
        pub litres: f64,
        pub at: i32,
    }

    pub fn pour(id: i32, litres: f64) -> Pour {
        Pour {
            id,
            jar: Ref::new(1),
            litres,
            at: id,
        }
    }

    pub async fn made(t: &odm_tests::TestDb) -> Odm {
        let odm = Odm::new(t.db.clone(), models![Jar, Pour]).unwrap();
        odm.sync().await.unwrap();
        odm.collection::<Jar>().insert(NewJar { id: 1 }).await.unwrap();
        odm
    }

    pub async fn jar(odm: &Odm) -> Jar {
        odm.collection::<Jar>().get(1).await.unwrap().unwrap()
    }
}

#[odm_tests::test]
fn subtracting_from_a_sum_of_fractions_equals_the_sum_of_the_rest() {
    use fractions::*;
    with_db(async |t| {
        let odm = made(&t).await;
        for (mode, odm) in both(&t, &odm).await {
            let pours = odm.collection::<Pour>();
            pours.insert(pour(1, 0.1)).await.unwrap();
            pours.insert(pour(2, 0.2)).await.unwrap();
            pours.delete(1).await.unwrap();
            assert_eq!(jar(&odm).await.litres, 0.2, "{mode}");
            pours.delete(2).await.unwrap();
            let empty = jar(&odm).await;
            assert_eq!((empty.litres, empty.mean.value()), (0.0, None), "{mode}");
            pours.insert(pour(1, 1e16)).await.unwrap();
            pours.insert(pour(2, 1.0)).await.unwrap();
            pours.update(1).set(|p| p.litres, 2.0).await.unwrap();
            let now = jar(&odm).await;
            assert_eq!((now.litres, now.mean.value()), (3.0, Some(1.5)), "{mode}");
            assert_clean_after(&odm, mode).await;
            pours.delete_where(|p| p.id.gt(0)).await.unwrap();
        }
    });
}

#[odm_tests::test]
fn a_minimum_that_is_stored_as_null_is_found_by_an_audit() {
    use fractions::*;
    with_db(async |t| {
        let odm = made(&t).await;
        let raw = odm.collection::<Jar>().driver::<Doc>();
        let null = doc! { "$set": { "first": Bson::Null, "last": Bson::Null } };
        raw.update_one(doc! {}, null).await.unwrap();
        let audit = odm.audit().await.unwrap();
        assert_eq!(audit.stale_copies(), 2, "{audit}");
        odm.backfill().again().await.unwrap();
        assert_clean(&odm).await;
        odm.collection::<Pour>().insert(pour(7, 1.0)).await.unwrap();
        let jar = jar(&odm).await;
        assert_eq!((jar.first, jar.last), (Some(7), Some(7)));
    });
}
