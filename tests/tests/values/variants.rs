//! Typed paths into the variants of enums, in each way in which serde marks a variant.

use odm::Error;
use odm::bson::{Document as Raw, doc};
use odm::prelude::*;
use odm_tests::{TestDb, with_db};
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "orders", version)]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    status: Status,
    parcel: Option<Parcel>,
    payment: Payment,
    #[embed(max = 5)]
    steps: Vec<Status>,
    #[serde(flatten)]
    more: More,
    stage: Stage,
    version: i64,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct More {
    last: Status,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
enum Stage {
    New,
    InWork,
}

/// Internally tagged. Two variants have a `code`, of different types.
#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "kind")]
enum Status {
    Draft,
    Shipped {
        tracking: String,
        code: i32,
        #[serde(default)]
        grams: i64,
        note: Option<String>,
        #[embed(max = 3)]
        boxes: Vec<Carton>,
    },
    #[serde(rename = "lost")]
    Lost(Loss),
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Loss {
    code: String,
    by: Option<String>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Carton {
    label: String,
    units: i32,
}

/// Externally tagged.
#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
enum Parcel {
    Unknown,
    Sealed {
        weight: i32,
        #[embed(max = 3)]
        marks: Vec<String>,
    },
    HTTPLabel(String),
    Pair(i32, i32),
}

/// Adjacently tagged.
#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "by", content = "with", rename_all = "snake_case")]
enum Payment {
    Cash,
    Card { last: i32, name: Option<String> },
    Voucher(Option<i32>),
    Mandate(Loss),
}

fn asked(filter: Filter<Order>) -> Raw {
    filter.into_document().expect("encodes")
}

#[odm_tests::test]
fn a_path_has_the_name_that_the_tag_gives_it() {
    let o = Order::paths();
    for (name, expected) in [
        (o.status.shipped.tracking.name(), "status.tracking"),
        (o.status.lost.code.name(), "status.code"),
        (o.more.last.shipped.code.name(), "last.code"),
        (o.parcel.sealed.weight.name(), "parcel.Sealed.weight"),
        (o.parcel.http_label.name(), "parcel.HTTPLabel"),
        (o.payment.card.last.name(), "payment.with.last"),
        (o.payment.voucher.name(), "payment.with"),
        (o.payment.mandate.by.name(), "payment.with.by"),
        (o.steps.shipped.boxes.label.name(), "steps.boxes.label"),
    ] {
        assert_eq!(name, expected);
    }
}

#[odm_tests::test]
fn the_variant_is_part_of_a_condition() {
    let o = Order::paths();
    let shipped = || doc! { "$eq": "Shipped" };
    let lost = || doc! { "$eq": "lost" };
    let sealed = || doc! { "$exists": true };
    for (filter, expected) in [
        (
            o.status.shipped.tracking.eq("x"),
            doc! { "status.kind": shipped(), "status.tracking": { "$eq": "x" } },
        ),
        (
            o.status.shipped.tracking.ne("x"),
            doc! { "status.kind": shipped(), "status.tracking": { "$ne": "x" } },
        ),
        (
            o.status.lost.code.starts_with("x"),
            doc! { "status.kind": lost(), "status.code": { "$regex": "^x" } },
        ),
        (o.status.is_lost(), doc! { "status.kind": lost() }),
        (o.status.is_draft(), doc! { "status.kind": { "$eq": "Draft" } }),
        (
            o.more.last.shipped.note.exists(false),
            doc! { "last.kind": shipped(), "last.note": { "$exists": false } },
        ),
        // A missing field is read as its default, in this variant alone.
        (
            o.status.shipped.grams.eq(0),
            doc! { "status.kind": shipped(), "status.grams": { "$in": [0_i64, null] } },
        ),
        (
            o.parcel.sealed.weight.ne(1),
            doc! { "parcel.Sealed": sealed(), "parcel.Sealed.weight": { "$ne": 1 } },
        ),
        (
            o.parcel.http_label.eq("x"),
            doc! { "parcel.HTTPLabel": { "$exists": true, "$eq": "x" } },
        ),
        (o.parcel.is_unknown(), doc! { "parcel": { "$eq": "Unknown" } }),
        (o.parcel.is_pair(), doc! { "parcel.Pair": sealed() }),
        (o.stage.is_in_work(), doc! { "stage": { "$eq": "InWork" } }),
        (
            o.payment.voucher.eq(None),
            doc! { "payment.by": { "$eq": "voucher" }, "payment.with": { "$eq": null } },
        ),
        (
            o.payment.card.last.in_([1, 2]),
            doc! { "payment.by": { "$eq": "card" }, "payment.with.last": { "$in": [1, 2] } },
        ),
    ] {
        assert_eq!(asked(filter), expected);
    }
}

#[odm_tests::test]
fn one_item_has_the_variant_and_meets_the_condition() {
    let o = Order::paths();
    let step = |item: Raw| doc! { "steps": { "$elemMatch": item } };
    let shipped = || doc! { "$eq": "Shipped" };
    for (filter, expected) in [
        (o.steps.is_shipped(), step(doc! { "kind": shipped() })),
        (
            o.steps.shipped.code.gt(1),
            step(doc! { "kind": shipped(), "code": { "$gt": 1 } }),
        ),
        (
            o.steps.shipped.code.ne(1),
            doc! {
                "steps": { "$elemMatch": { "kind": shipped() } },
                "$nor": [step(doc! { "kind": shipped(), "code": { "$eq": 1 } })],
            },
        ),
        (
            o.steps.shipped.note.exists(false),
            doc! {
                "steps": { "$elemMatch": { "kind": shipped() } },
                "$nor": [step(doc! { "kind": shipped(), "note": { "$exists": true } })],
            },
        ),
        (
            o.steps.shipped.grams.gte(0),
            step(doc! { "kind": shipped(), "$or": [{ "grams": { "$gte": 0_i64 } }, { "grams": null }] }),
        ),
        (
            o.steps.shipped.grams.ne(0),
            doc! {
                "steps": { "$elemMatch": { "kind": shipped() } },
                "$nor": [step(doc! { "kind": shipped(), "grams": { "$in": [0_i64, null] } })],
            },
        ),
        (
            o.steps.shipped.boxes.label.eq("a"),
            step(doc! { "kind": shipped(), "boxes.label": { "$eq": "a" } }),
        ),
        (
            o.steps.shipped.boxes.elem(|b| b.label.eq("a") & b.units.gt(1)),
            step(
                doc! { "kind": shipped(), "boxes": { "$elemMatch": { "label": { "$eq": "a" }, "units": { "$gt": 1 } } } },
            ),
        ),
        (
            o.steps
                .elem(|s| s.shipped.code.eq(1) & s.shipped.tracking.eq("x")),
            step(doc! { "kind": shipped(), "code": { "$eq": 1 }, "tracking": { "$eq": "x" } }),
        ),
        (
            o.status.shipped.boxes.label.ne("a"),
            doc! { "status.kind": shipped(), "status.boxes.label": { "$ne": "a" } },
        ),
    ] {
        assert_eq!(asked(filter), expected);
    }
}

fn shipped(tracking: &str, code: i32) -> Status {
    Status::Shipped {
        tracking: tracking.to_owned(),
        code,
        grams: 100,
        note: None,
        boxes: vec![Carton {
            label: "a".to_owned(),
            units: 1,
        }],
    }
}

fn lost(code: &str) -> Status {
    Status::Lost(Loss {
        code: code.to_owned(),
        by: None,
    })
}

fn order(id: i32, status: Status) -> NewOrder {
    NewOrder {
        id,
        status: status.clone(),
        parcel: None,
        payment: Payment::Cash,
        steps: vec![Status::Draft, status.clone()],
        more: More { last: status },
        stage: Stage::New,
    }
}

/// Four orders: a draft, one that is shipped and sealed, one that is lost, and another that is shipped.
async fn stocked(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Order]).unwrap();
    odm.sync().await.unwrap();
    let orders = odm.collection::<Order>();
    let sealed = NewOrder {
        parcel: Some(Parcel::Sealed {
            weight: 7,
            marks: vec!["x".to_owned()],
        }),
        payment: Payment::Card { last: 42, name: None },
        ..order(2, shipped("T2", 5))
    };
    let label = NewOrder {
        parcel: Some(Parcel::HTTPLabel("L".to_owned())),
        payment: Payment::Voucher(Some(3)),
        ..order(3, lost("5"))
    };
    let steps = vec![shipped("T4", 9), lost("T4")];
    let two = NewOrder {
        steps,
        parcel: Some(Parcel::Unknown),
        payment: Payment::Mandate(Loss {
            code: "M".to_owned(),
            by: Some("Kate".to_owned()),
        }),
        stage: Stage::InWork,
        ..order(4, shipped("T4", 9))
    };
    for new in [order(1, Status::Draft), sealed, label, two] {
        orders.insert(new).await.unwrap();
    }
    odm
}

#[odm_tests::test]
fn documents_are_found_by_what_is_in_a_variant() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let orders = odm.collection::<Order>();
        let o = Order::paths();
        for (filter, ids) in [
            (o.status.is_draft(), vec![1]),
            (o.status.is_shipped(), vec![2, 4]),
            (o.status.is_lost(), vec![3]),
            (o.stage.is_in_work(), vec![4]),
            (o.status.shipped.tracking.eq("T2"), vec![2]),
            (o.status.shipped.tracking.ne("T2"), vec![4]),
            (o.status.shipped.code.gte(5), vec![2, 4]),
            (o.status.shipped.code.not_in([5]), vec![4]),
            // `null` and missing are of this variant alone.
            (o.status.shipped.note.eq(None), vec![2, 4]),
            (o.status.lost.by.exists(true), vec![3]),
            (o.status.lost.code.eq("5"), vec![3]),
            (o.more.last.shipped.tracking.starts_with("T"), vec![2, 4]),
            (!o.status.shipped.tracking.eq("T2"), vec![1, 3, 4]),
            (o.status.shipped.boxes.label.eq("a"), vec![2, 4]),
            (o.status.shipped.code.eq(odm::expr::expr(o.id) + 3), vec![2]),
            (o.parcel.is_sealed(), vec![2]),
            (o.parcel.is_unknown(), vec![4]),
            (o.parcel.is_http_label(), vec![3]),
            (o.parcel.sealed.weight.ne(1), vec![2]),
            (o.parcel.sealed.marks.contains("x"), vec![2]),
            (o.parcel.http_label.in_(["L", "M"]), vec![3]),
            (o.payment.card.last.lt(50), vec![2]),
            (o.payment.card.name.eq(None), vec![2]),
            (o.payment.voucher.eq(3), vec![3]),
            (o.payment.mandate.by.eq("Kate"), vec![4]),
            (o.steps.is_lost(), vec![3, 4]),
            (o.steps.shipped.code.eq(5), vec![2]),
            (o.steps.shipped.tracking.ne("T2"), vec![4]),
            (o.steps.lost.code.eq("T4"), vec![4]),
            (o.steps.lost.code.in_(["5", "T2"]), vec![3]),
            (
                o.steps.shipped.boxes.elem(|b| b.label.eq("a") & b.units.eq(1)),
                vec![2, 4],
            ),
            (
                o.steps
                    .elem(|s| s.shipped.code.eq(9) & s.shipped.tracking.eq("T4")),
                vec![4],
            ),
            (o.steps.shipped.code.eq(9) & o.steps.lost.code.eq("T4"), vec![4]),
        ] {
            let shown = format!("{filter:?}");
            let found = orders.find(|_| filter).sort(|o| o.id.asc()).all().await.unwrap();
            let found: Vec<i32> = found.iter().map(|order| order.id).collect();
            assert_eq!(found, ids, "{shown}");
        }
        let sorted = orders.find(|o| o.status.is_shipped());
        let sorted = sorted.sort(|o| o.status.shipped.code.desc()).all().await.unwrap();
        assert_eq!(sorted.iter().map(|order| order.id).collect::<Vec<_>>(), [4, 2]);
    });
}

#[odm_tests::test]
fn a_change_within_a_variant_is_made_where_a_document_has_it() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let orders = odm.collection::<Order>();
        let done = orders
            .update(2)
            .set(|o| o.status.shipped.tracking, "new")
            .inc(|o| o.status.shipped.code, 2)
            .inc(|o| o.status.shipped.grams, 1)
            .push(
                |o| o.status.shipped.boxes,
                Carton {
                    label: "b".to_owned(),
                    units: 2,
                },
            )
            .elem(
                |o| o.status.shipped.boxes,
                |b| b.label.eq("a"),
                |b| b.set(|b| b.units, 9),
            )
            .set(|o| o.parcel.sealed.weight, 8)
            .set(|o| o.payment.card.name, "Kate")
            .await;
        // Pushed to and changed in one update.
        assert!(matches!(done, Err(Error::Query { .. })), "{done:?}");
        orders
            .update(2)
            .set(|o| o.status.shipped.tracking, "new")
            .inc(|o| o.status.shipped.code, 2)
            .inc(|o| o.status.shipped.grams, 1)
            .push(
                |o| o.status.shipped.boxes,
                Carton {
                    label: "b".to_owned(),
                    units: 2,
                },
            )
            .set(|o| o.parcel.sealed.weight, 8)
            .set(|o| o.payment.card.name, "Kate")
            .await
            .unwrap();
        let changed = orders.get(2).await.unwrap().unwrap();
        let Status::Shipped {
            tracking,
            code,
            grams,
            boxes,
            ..
        } = &changed.status
        else {
            panic!("{changed:?}");
        };
        assert_eq!(
            (tracking.as_str(), *code, *grams, boxes.len()),
            ("new", 7, 101, 2)
        );
        let name = Some("Kate".to_owned());
        assert_eq!(changed.payment, Payment::Card { last: 42, name });
        assert!(matches!(changed.parcel, Some(Parcel::Sealed { weight: 8, .. })));

        let other = |found: &str, error: Error| {
            assert!(
                matches!(&error, Error::OtherVariant { found: Some(has), .. } if has == found),
                "{error:?}"
            );
        };
        let error = orders
            .update(3)
            .set(|o| o.status.shipped.code, 1)
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "orders: `status` of the document with _id 3 is the variant `lost`, so nothing within `Shipped` can be changed: `set` \
             the whole field, or exclude such documents by the condition"
        );
        other("lost", error);
        let done = orders.update(1).push(|o| o.parcel.sealed.marks, "y").await;
        assert!(
            matches!(&done, Err(Error::OtherVariant { found: None, .. })),
            "{done:?}"
        );
        other(
            "Unknown",
            orders
                .update(4)
                .inc(|o| o.parcel.sealed.weight, 1)
                .await
                .unwrap_err(),
        );
        other(
            "HTTPLabel",
            orders
                .update(3)
                .inc(|o| o.parcel.sealed.weight, 1)
                .await
                .unwrap_err(),
        );
        other(
            "cash",
            orders.update(1).set(|o| o.payment.voucher, 7).await.unwrap_err(),
        );
        other(
            "Draft",
            orders
                .update(1)
                .unset(|o| o.status.shipped.note)
                .await
                .unwrap_err(),
        );

        // Of many documents, those with another variant stay as they are.
        let done = orders
            .update_all()
            .inc(|o| o.status.shipped.code, 10)
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified, done.refused), (2, 2, 2));
        let done = orders
            .update_where(|o| o.status.is_lost())
            .set(|o| o.status.lost.code, "6")
            .await
            .unwrap();
        assert_eq!((done.modified, done.refused), (1, 0));
        assert_eq!(
            orders.find(|o| o.status.lost.code.eq("6")).count().await.unwrap(),
            1
        );

        // A whole enum is set as before.
        orders
            .update(1)
            .set(|o| o.status, shipped("T1", 1))
            .await
            .unwrap();
        let both = orders
            .update(1)
            .set(|o| o.status.shipped.code, 1)
            .set(|o| o.status.lost.code, "1")
            .await
            .unwrap_err();
        assert!(
            both.to_string()
                .contains("the variants `Shipped` and `lost` of `status`"),
            "{both}"
        );
    });
}

#[odm_tests::test]
fn items_with_another_variant_stay_as_they_are() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let orders = odm.collection::<Order>();
        orders
            .update(4)
            .each(|o| o.steps, |s| s.set(|s| s.shipped.tracking, "all"))
            .await
            .unwrap();
        orders
            .update(4)
            .elem(
                |o| o.steps,
                |s| s.lost.code.eq("T4"),
                |s| s.set(|s| s.lost.by, "Kate"),
            )
            .await
            .unwrap();
        let steps = orders.get(4).await.unwrap().unwrap().steps;
        let by = Loss {
            code: "T4".to_owned(),
            by: Some("Kate".to_owned()),
        };
        assert_eq!(steps, [shipped("all", 9), Status::Lost(by)]);
        // No item is meant.
        let done = orders
            .update(1)
            .each(|o| o.steps, |s| s.set(|s| s.shipped.code, 1))
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified), (1, 0));
        orders
            .update(4)
            .pull_where(|o| o.steps, |s| s.lost.code.eq("T4"))
            .await
            .unwrap();
        assert_eq!(orders.get(4).await.unwrap().unwrap().steps, [shipped("all", 9)]);
    });
}

#[odm_tests::test]
fn pipelines_compute_of_documents_that_have_the_variant() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let orders = odm.collection::<Order>();
        // As another client stores it: no text, but a number in a field of this name.
        let raw = t.db.collection::<Raw>("orders");
        raw.update_one(doc! { "_id": 3 }, doc! { "$set": { "status.grams": 1000 } })
            .await
            .unwrap();
        let totals = orders
            .aggregate()
            .group(
                |_| (),
                |g| {
                    g.sum("grams", |o| o.status.shipped.grams)
                        .distinct("codes", |o| o.status.shipped.code)
                },
            )
            .one()
            .await
            .unwrap()
            .unwrap();
        let totals: Raw = totals;
        assert_eq!(totals.get_i64("grams").unwrap(), 200);
        let mut codes: Vec<i32> = totals
            .get_array("codes")
            .unwrap()
            .iter()
            .filter_map(odm::bson::Bson::as_i32)
            .collect();
        codes.sort_unstable();
        assert_eq!(codes, [5, 9]);
        let mut codes = orders
            .find_all()
            .distinct(|o| o.status.shipped.code)
            .await
            .unwrap();
        codes.sort_unstable();
        assert_eq!(codes, [5, 9]);
        let codes = orders.find_all().distinct(|o| o.steps.lost.code).await;
        assert!(matches!(codes, Err(Error::Query { .. })), "{codes:?}");
        let steps: Vec<Raw> = orders
            .aggregate()
            .unwind(|o| o.steps)
            .group(|o| o.steps.shipped.tracking, |g| g.count("orders"))
            .all()
            .await
            .unwrap();
        assert!(
            steps.iter().any(|row| row.get("_id") == Some(&"T2".into())),
            "{steps:?}"
        );
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(
    collection = "parcels",
    index(fields(status.shipped.tracking), unique, name = "tracking"),
    index(fields(id, content.sealed.weight), partial = |p| p.id.gt(1), name = "weight"),
    index(fields(steps.shipped.code), name = "code"),
)]
struct Sent {
    #[serde(rename = "_id")]
    id: i32,
    status: Status,
    content: Parcel,
    #[embed(max = 5)]
    steps: Vec<Status>,
}

#[odm_tests::test]
fn an_index_on_a_field_of_a_variant_holds_the_documents_that_have_it() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Sent]).unwrap();
        odm.sync().await.unwrap();
        assert!(odm.plan().await.unwrap().is_empty());
        let listed = t.db.run_command(doc! { "listIndexes": "parcels" }).await.unwrap();
        let listed = listed
            .get_document("cursor")
            .unwrap()
            .get_array("firstBatch")
            .unwrap()
            .clone();
        let partial = |name: &str| {
            let index = listed.iter().filter_map(|index| index.as_document());
            let index = index
                .clone()
                .find(|index| index.get_str("name").unwrap() == name)
                .unwrap();
            index
                .get_document("partialFilterExpression")
                .ok()
                .map(ToString::to_string)
        };
        assert!(partial("tracking").unwrap().contains("status.kind"));
        let weight = partial("weight").unwrap();
        assert!(
            weight.contains("content.Sealed") && weight.contains("_id"),
            "{weight}"
        );
        assert_eq!(partial("code"), None);
        let sent = odm.collection::<Sent>();
        let new = |id, status| NewSent {
            id,
            status,
            content: Parcel::Unknown,
            steps: Vec::new(),
        };
        // Two drafts have no tracking number, which is no duplicate.
        for (id, status) in [(1, Status::Draft), (2, Status::Draft), (3, shipped("T", 1))] {
            sent.insert(new(id, status)).await.unwrap();
        }
        let twice = sent.insert(new(4, shipped("T", 2))).await;
        assert!(matches!(twice, Err(Error::DuplicateKey { .. })), "{twice:?}");
        let explain = sent
            .find(|p| p.status.shipped.tracking.eq("T"))
            .explain()
            .await
            .unwrap();
        assert_eq!(explain.indexes, ["tracking"]);
    });
}
