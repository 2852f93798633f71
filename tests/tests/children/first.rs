//! A field of the first or the last child: `#[computed(first = …)]` and `last`.

use odm::bson::{Document as Doc, doc};
use odm::prelude::*;
use odm_tests::{TestDb, assert_clean_after, with_db, with_transactions};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "products")]
pub struct Product {
    pub id: i32,
    #[computed(first = Review.text, order(-day))]
    pub newest: Option<String>,
    #[computed(last = Review.text, order(-day), filter = |r| r.stars.gte(4))]
    pub oldest_good: Option<String>,
    /// The review may have none.
    #[computed(first = Review.note, order(-day, stars), consistency = eventual)]
    pub note: Option<String>,
    #[computed(first = Review.place, order(day))]
    pub first_place: Option<Place>,
    #[computed(first = Review.tags, order(day))]
    #[embed(max = 3)]
    pub first_tags: Option<Vec<String>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "reviews")]
pub struct Review {
    pub id: i32,
    #[parent_ref(on_delete = cascade)]
    pub product: Ref<Product>,
    #[field(name = "d")]
    pub day: i32,
    pub stars: i32,
    #[field(name = "t")]
    pub text: String,
    pub note: Option<String>,
    pub place: Place,
    #[embed(max = 3)]
    pub tags: Vec<String>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Place {
    pub city: String,
}

/// The products before anything was derived in them.
mod before {
    use super::Place;
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "products")]
    pub struct Product {
        pub id: i32,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "reviews")]
    pub struct Review {
        pub id: i32,
        #[parent_ref(on_delete = cascade)]
        pub product: Ref<Product>,
        #[field(name = "d")]
        pub day: i32,
        pub stars: i32,
        #[field(name = "t")]
        pub text: String,
        pub note: Option<String>,
        pub place: Place,
        #[embed(max = 3)]
        pub tags: Vec<String>,
    }
}

fn review(id: i32, product: i32, (day, stars): (i32, i32), text: &str, note: Option<&str>) -> NewReview {
    NewReview {
        id,
        product: Ref::new(product),
        day,
        stars,
        text: text.into(),
        note: note.map(str::to_owned),
        place: Place {
            city: format!("city {id}"),
        },
        tags: vec![format!("tag {id}")],
    }
}

fn handle(t: &TestDb) -> Odm {
    Odm::new(t.db.clone(), models![Product, Review]).unwrap()
}

async fn odm(t: &TestDb) -> Odm {
    let odm = handle(t);
    odm.sync().await.unwrap();
    odm.collection::<Product>()
        .insert_many([1, 2].map(|id| NewProduct { id }))
        .await
        .unwrap();
    odm
}

/// Two products with three reviews of the first, of which two have one day.
async fn reviewed(t: &TestDb) -> Odm {
    let odm = odm(t).await;
    let reviews = [
        review(1, 1, (1, 5), "a", None),
        review(2, 1, (2, 2), "b", Some("n2")),
        review(3, 1, (2, 4), "c", None),
    ];
    odm.collection::<Review>().insert_many(reviews).await.unwrap();
    odm
}

type Texts<'t> = [Option<&'t str>; 3];

/// The texts that a product holds; and the whole is what its reviews make of it.
async fn assert_holds(odm: &Odm, id: i32, texts: Texts<'_>, what: &str) {
    let product = odm.collection::<Product>().get(id).await.unwrap().unwrap();
    let held = [&product.newest, &product.oldest_good, &product.note];
    assert_eq!(held.map(Option::as_deref), texts, "{what}: product {id}");
    let reviews = odm.collection::<Review>().find(|r| r.product.eq(Ref::new(id)));
    let oldest = reviews.sort(|r| (r.day.asc(), r.id.asc())).one().await.unwrap();
    assert_eq!(
        product.first_place,
        oldest.as_ref().map(|r| r.place.clone()),
        "{what}"
    );
    assert_eq!(product.first_tags, oldest.map(|r| r.tags), "{what}");
}

#[odm_tests::test]
fn every_write_of_a_child_updates_the_value_of_the_first_one() {
    with_db(async |t| {
        let replicated = odm(&t).await;
        let standalone = t.standalone_of(&replicated).await;
        for (mode, odm) in [("as it is", replicated), ("standalone", standalone)] {
            let reviews = odm.collection::<Review>();
            let check = async |what: &str, one: Texts<'_>, two: Texts<'_>| {
                let what = format!("{mode}, {what}");
                assert_holds(&odm, 1, one, &what).await;
                assert_holds(&odm, 2, two, &what).await;
                assert_clean_after(&odm, &what).await;
            };
            let none = [None; 3];
            check("before", none, none).await;
            reviews.insert(review(1, 1, (1, 5), "a", None)).await.unwrap();
            check("insert", [Some("a"), Some("a"), None], none).await;
            // Of one day the greater id is before the other, in the direction of the order.
            for (id, stars, text, note) in [(3, 4, "c", None), (2, 2, "b", Some("n2"))] {
                reviews
                    .insert(review(id, 1, (2, stars), text, note))
                    .await
                    .unwrap();
            }
            check("ties", [Some("c"), Some("a"), Some("n2")], none).await;
            reviews.update(3).set(|r| r.text, "c2").await.unwrap();
            check("update of the value", [Some("c2"), Some("a"), Some("n2")], none).await;
            reviews.update(1).set(|r| r.day, 9).await.unwrap();
            check("update of the order", [Some("a"), Some("c2"), None], none).await;
            reviews.delete(1).await.unwrap();
            check(
                "deletion of the first",
                [Some("c2"), Some("c2"), Some("n2")],
                none,
            )
            .await;
            reviews.update(3).set(|r| r.stars, 3).await.unwrap();
            check(
                "update of what is filtered by",
                [Some("c2"), None, Some("n2")],
                none,
            )
            .await;
            reviews.update(3).set(|r| r.product, Ref::new(2)).await.unwrap();
            let moved = [Some("c2"), None, None];
            check("move", [Some("b"), None, Some("n2")], moved).await;
            odm.bulk()
                .add(odm.collection().insert(review(4, 1, (7, 5), "d", Some("n4"))))
                .add(
                    odm.collection()
                        .update(Ref::<Review>::new(3))
                        .set(|r| r.text, "c3"),
                )
                .add(odm.collection().delete(Ref::<Review>::new(2)))
                .await
                .unwrap();
            check(
                "bulk",
                [Some("d"), Some("d"), Some("n4")],
                [Some("c3"), None, None],
            )
            .await;
            let more = [review(5, 1, (7, 1), "e", None), review(6, 2, (0, 4), "f", None)];
            reviews.insert_many(more).await.unwrap();
            check(
                "insert_many",
                [Some("e"), Some("d"), None],
                [Some("c3"), Some("f"), None],
            )
            .await;
            reviews
                .update_where(|r| r.id.gt(0))
                .inc(|r| r.day, 1)
                .await
                .unwrap();
            check(
                "update_where",
                [Some("e"), Some("d"), None],
                [Some("c3"), Some("f"), None],
            )
            .await;
            let other = review(5, 2, (20, 5), "g", Some("n5"));
            let other = Review {
                id: other.id,
                product: other.product,
                day: other.day,
                stars: other.stars,
                text: other.text,
                note: other.note,
                place: other.place,
                tags: other.tags,
            };
            reviews.replace(other).await.unwrap();
            check(
                "replace",
                [Some("d"), Some("d"), Some("n4")],
                [Some("g"), Some("f"), Some("n5")],
            )
            .await;
            reviews.update(5).unset(|r| r.note).await.unwrap();
            check(
                "unset",
                [Some("d"), Some("d"), Some("n4")],
                [Some("g"), Some("f"), None],
            )
            .await;
            reviews.delete_where(|r| r.id.gt(0)).await.unwrap();
            check("delete_where", none, none).await;
            let stored = odm.database().collection::<Doc>("products");
            let with_any = ["newest", "note", "first_tags"].map(|name| doc! { name: { "$exists": true } });
            let with_any = doc! { "$or": with_any.to_vec() };
            assert_eq!(
                stored.count_documents(with_any).await.unwrap(),
                0,
                "{mode}: a field without a value is missing"
            );
        }
    });
}

#[odm_tests::test]
fn a_transaction_sees_the_first_child_of_its_own_writes() {
    with_transactions(async |t| {
        let odm = reviewed(&t).await;
        odm.transaction(async |tx| {
            let (products, reviews) = (tx.collection::<Product>(), tx.collection::<Review>());
            reviews.update(1).set(|r| r.day, 5).await?;
            let product = products.get(1).await?.expect("it is there");
            assert_eq!(product.newest.as_deref(), Some("a"));
            reviews.delete(1).await?;
            reviews.update(2).set(|r| r.product, Ref::new(2)).await?;
            reviews.insert(review(4, 2, (3, 4), "d", None)).await?;
            Ok(())
        })
        .await
        .unwrap();
        assert_holds(&odm, 1, [Some("c"), Some("c"), None], "after").await;
        assert_holds(&odm, 2, [Some("d"), Some("d"), None], "after").await;
        assert_clean_after(&odm, "the transaction").await;
    });
}

/// In a transaction; and the children are found by the index that a subset with this order has.
#[odm_tests::test]
fn an_insert_reads_one_child_for_each_such_field() {
    with_transactions(async |t| {
        let odm = reviewed(&t).await;
        t.commands.clear();
        odm.collection::<Review>()
            .insert(review(4, 1, (3, 4), "d", None))
            .await
            .unwrap();
        let sent = t.commands.take();
        let in_transaction: Vec<&str> = sent
            .iter()
            .map(String::as_str)
            .take_while(|name| *name != "commitTransaction")
            .collect();
        // Four fields that are not eventual.
        assert_eq!(
            in_transaction,
            ["insert", "find", "find", "find", "find", "update"],
            "{sent:?}"
        );
        let indexes = odm.database().collection::<Doc>("reviews");
        let names = indexes.list_index_names().await.unwrap();
        assert!(names.contains(&"product_1_d_-1__id_-1".to_owned()), "{names:?}");
    });
}

#[odm_tests::test]
fn an_audit_finds_a_stale_value_and_a_repair_corrects_it() {
    with_db(async |t| {
        let odm = reviewed(&t).await;
        let products = odm.database().collection::<Doc>("products");
        let wrong = doc! { "$set": { "newest": "z", "note": null }, "$unset": { "oldest_good": "" } };
        products.update_one(doc! { "_id": 1 }, wrong).await.unwrap();
        let wrong = doc! { "$set": { "newest": "z" } };
        products.update_one(doc! { "_id": 2 }, wrong).await.unwrap();
        let audit = odm.audit().await.unwrap();
        let stale = |name: &str| {
            let one = |copies: &&odm::upkeep::AuditedCopies| copies.fields == [name.to_owned()];
            let copies = audit.copies.iter().find(one).unwrap();
            (copies.source.as_str(), copies.stale.count)
        };
        assert_eq!(stale("newest"), ("first of reviews.t", 2), "{audit}");
        assert_eq!(stale("oldest_good"), ("last of reviews.t", 1), "{audit}");
        assert_eq!(stale("note"), ("first of reviews.note", 1), "{audit}");
        assert_eq!(stale("first_place").1, 0, "{audit}");
        odm.repair_all().await.unwrap();
        assert_holds(&odm, 1, [Some("c"), Some("a"), Some("n2")], "repaired").await;
        assert_holds(&odm, 2, [None; 3], "repaired").await;
        assert_clean_after(&odm, "the repair").await;
    });
}

#[odm_tests::test]
fn a_reconciler_updates_the_value_after_an_out_of_band_write() {
    with_transactions(async |t| {
        let odm = reviewed(&t).await;
        let reconciler = odm.reconciler().start().await.unwrap();
        reconciler.caught_up().await.unwrap();
        let reviews = odm.database().collection::<Doc>("reviews");
        let later = doc! { "$set": { "d": 8, "t": "later" } };
        reviews.update_one(doc! { "_id": 1 }, later).await.unwrap();
        reviews.delete_one(doc! { "_id": 2 }).await.unwrap();
        reconciler.caught_up().await.unwrap();
        reconciler.stop().await.unwrap();
        assert_holds(&odm, 1, [Some("later"), Some("c"), None], "reconciled").await;
        assert_clean_after(&odm, "the reconciler").await;
    });
}

#[odm_tests::test]
fn a_backfill_fills_in_a_field_that_is_declared_later() {
    with_db(async |t| {
        let older = Odm::new(t.db.clone(), models![before::Product, before::Review]).unwrap();
        older.sync().await.unwrap();
        let products = older.collection::<before::Product>();
        products
            .insert_many([1, 2].map(|id| before::NewProduct { id }))
            .await
            .unwrap();
        for (id, day, text) in [(1, 3, "a"), (2, 5, "b"), (3, 4, "c")] {
            let review = review(id, 1, (day, 4), text, Some(text));
            older
                .collection::<before::Review>()
                .insert(before::NewReview {
                    id,
                    product: Ref::new(1),
                    day,
                    stars: review.stars,
                    text: review.text,
                    note: review.note,
                    place: review.place,
                    tags: review.tags,
                })
                .await
                .unwrap();
        }
        let odm = handle(&t);
        odm.sync().await.unwrap();
        assert_eq!(odm.audit().await.unwrap().stale_copies(), 5);
        let filled = odm.backfill().await.unwrap();
        assert!(filled.edges.contains(&"products.newest".to_owned()), "{filled:?}");
        assert_holds(&odm, 1, [Some("b"), Some("a"), Some("b")], "filled").await;
        assert_holds(&odm, 2, [None; 3], "filled").await;
        assert_clean_after(&odm, "the backfill").await;
    });
}
