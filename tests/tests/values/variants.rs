//! Typed paths into the variants of enums, in each way in which serde marks a variant.

use odm::bson::{Document as Raw, doc};
use odm::prelude::*;
use odm::query::Filter;
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
    #[serde(rename = "lost", alias = "gone")]
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
    let lost = || doc! { "$in": ["lost", "gone"] };
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
            step(doc! { "$and": [
                { "kind": shipped(), "code": { "$eq": 1 } },
                { "kind": shipped(), "tracking": { "$eq": "x" } },
            ] }),
        ),
        (
            o.status.shipped.boxes.label.ne("a"),
            doc! { "status.kind": shipped(), "status.boxes.label": { "$ne": "a" } },
        ),
    ] {
        assert_eq!(asked(filter), expected);
    }
}
