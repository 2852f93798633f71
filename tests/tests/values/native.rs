//! Types of other crates, by `#[serde(with = "odm::native")]`, in every place of a document.

use odm::__private::stored::Stored;
use odm::bson::{Bson, Document as Raw, doc};
use odm::prelude::*;
use odm_tests::with_db;
use proptest::prelude::{Strategy, any};
use proptest::strategy::ValueTree;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::path::Path;

/// A property of a type in a place. In the order of the table's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    /// It is read as it was stored.
    Stored,
    /// It is found by its value.
    Equal,
    /// It is found by a range.
    Range,
    /// It is changed by an update.
    Changed,
    /// The validator refuses another type.
    Validated,
}

const EVERYTHING: [Option<Holds>; 5] = [
    Some(Holds::Stored),
    Some(Holds::Equal),
    Some(Holds::Range),
    Some(Holds::Changed),
    Some(Holds::Validated),
];
const WITHOUT_RANGE: [Option<Holds>; 5] = [
    Some(Holds::Stored),
    Some(Holds::Equal),
    None,
    Some(Holds::Changed),
    Some(Holds::Validated),
];
const UNCHANGED: [Option<Holds>; 5] = [
    Some(Holds::Stored),
    Some(Holds::Equal),
    Some(Holds::Range),
    None,
    Some(Holds::Validated),
];

/// The places of a document, what holds there of every type of the table, and the case of `tests/ui` that does not compile for
/// what does not.
const PLACES: [(&str, [Option<Holds>; 5], &str); 13] = [
    ("a field", EVERYTHING, ""),
    ("a field with an index, in sorts and pages", EVERYTHING, ""),
    ("an `Option`", EVERYTHING, ""),
    ("the items of a `Vec`", EVERYTHING, ""),
    ("the values of a map", WITHOUT_RANGE, "native/range_in_enum"),
    ("the keys of a map", [None; 5], "native/as_map_key"),
    ("`_id`", UNCHANGED, "paths/set_id"),
    ("a struct around it", EVERYTHING, ""),
    ("an enum with a tag", WITHOUT_RANGE, "native/range_in_enum"),
    ("a flattened struct", EVERYTHING, ""),
    ("a copy, which follows its source", EVERYTHING, ""),
    ("an item of a bucket", EVERYTHING, ""),
    ("a computed field, which follows the children", EVERYTHING, ""),
];

/// The properties that a test has shown, by place.
#[derive(Default)]
struct Shown(BTreeMap<&'static str, Vec<Holds>>);

impl Shown {
    fn note(&mut self, place: &'static str, holds: Holds) {
        assert!(PLACES.iter().any(|(known, ..)| *known == place), "{place}");
        self.0.entry(place).or_default().push(holds);
    }

    /// Finds each document by its value, and those between two values.
    async fn found<R: Document + Debug, T: odm::types::Value + Stored + Clone + Debug>(
        &mut self,
        place: &'static str,
        all: &Collection<R>,
        (given, stored): (&[T], &[T]),
        read: impl Fn(&R) -> T,
        equal: impl Fn(T) -> Filter<R>,
        between: Option<&dyn Fn(T, T) -> Filter<R>>,
    ) {
        let found = async |filter: Filter<R>| {
            let found = all.find(|_| filter).all().await.unwrap();
            let mut found: Vec<Bson> = found.iter().map(|one| stored_form(&read(one))).collect();
            found.sort_by(in_order);
            found
        };
        let forms: Vec<Bson> = stored.iter().map(stored_form).collect();
        for (value, form) in given.iter().zip(&forms) {
            assert_eq!(
                found(equal(value.clone())).await,
                std::slice::from_ref(form),
                "{place}: {value:?}"
            );
        }
        self.note(place, Holds::Stored);
        self.note(place, Holds::Equal);
        let Some(between) = between else { return };
        let last = given.len() - 1;
        for (from, to) in [(0, last), (1, 2), (last / 2, last), (last / 3, last / 2)] {
            let range = between(given[from].clone(), given[to].clone());
            assert_eq!(found(range).await, forms[from..to], "{place}: {from} to {to}");
        }
        self.note(place, Holds::Range);
    }

    fn everything_holds(&mut self) {
        for (place, holds, _) in PLACES {
            let mut shown = self.0.remove(place).unwrap_or_default();
            shown.sort_unstable();
            assert_eq!(shown, holds.into_iter().flatten().collect::<Vec<_>>(), "{place}");
        }
    }
}

/// A value as a document stores it.
fn stored_form<T: Stored>(value: &T) -> Bson {
    odm::__private::to_bson(value).unwrap()
}

/// The order of the server, among values of one type.
fn in_order(a: &Bson, b: &Bson) -> Ordering {
    let decimal =
        |number: &odm::bson::Decimal128| number.to_string().parse::<rust_decimal::Decimal>().unwrap();
    match (a, b) {
        (Bson::DateTime(a), Bson::DateTime(b)) => a.cmp(b),
        (Bson::Int64(a), Bson::Int64(b)) => a.cmp(b),
        (Bson::String(a), Bson::String(b)) => a.cmp(b),
        (Bson::Binary(a), Bson::Binary(b)) => a.bytes.cmp(&b.bytes),
        (Bson::Decimal128(a), Bson::Decimal128(b)) => decimal(a).cmp(&decimal(b)),
        _ => panic!("{a} and {b}"),
    }
}

/// Values that differ as they are stored, in their order.
fn generated<T: Stored>(values: impl Strategy<Value = T>) -> Vec<T> {
    let mut runner = proptest::test_runner::TestRunner::default();
    let order = |a: &T, b: &T| in_order(&stored_form(a), &stored_form(b));
    let mut different: Vec<T> = Vec::new();
    for _ in 0..1000 {
        let value = values.new_tree(&mut runner).unwrap().current();
        if let Err(place) = different.binary_search_by(|other| order(other, &value)) {
            different.insert(place, value);
        }
        if different.len() == 14 {
            return different;
        }
    }
    panic!("only {} values differ", different.len())
}

/// [`Shown::found`], with a range or without.
macro_rules! found {
    (range) => {
        None
    };
    (range $range:expr) => {
        Some(&$range)
    };
    ($shown:ident, $pair:ident, $place:literal, $in:expr, $read:expr, $equal:expr $(, $range:expr)? $(,)?) => {
        $shown
            .found($place, $in, $pair, $read, $equal, found!(range $($range)?))
            .await
    };
}

/// For a type: models with it in every place, and tests that they take it. The values are in order.
macro_rules! table {
    ($($name:ident: $ty:ty as $bson:literal, $values:expr, $generated:expr;)*) => {$(
        mod $name {
            use super::*;

            type T = $ty;

            #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
            pub struct Wrapped(#[serde(with = "odm::native")] pub $ty);

            #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
            pub struct Inner {
                #[serde(with = "odm::native")]
                pub at: $ty,
            }

            #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[serde(tag = "kind")]
            pub enum Tagged {
                Some(Inner),
                None,
            }

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "totals")]
            pub struct Total {
                #[serde(rename = "_id")]
                pub id: i32,
                #[computed(max = Row.plain)]
                #[serde(default, with = "odm::native")]
                pub greatest: Option<$ty>,
            }

            #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[bucket(of = Total, size = 1, collection = "buckets")]
            pub struct Item {
                #[serde(with = "odm::native")]
                pub at: $ty,
            }

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "table", derive(Clone))]
            pub struct Row {
                #[serde(rename = "_id", with = "odm::native")]
                pub id: $ty,
                #[parent_ref]
                pub of: Ref<Total>,
                #[serde(with = "odm::native")]
                pub bare: $ty,
                #[serde(with = "odm::native")]
                #[index]
                pub plain: $ty,
                #[serde(default, with = "odm::native")]
                pub optional: Option<$ty>,
                #[serde(with = "odm::native")]
                #[embed(max = 5)]
                pub list: Vec<$ty>,
                #[serde(with = "odm::native")]
                #[embed(max = 5)]
                pub maybe: Vec<Option<$ty>>,
                #[serde(with = "odm::native")]
                #[embed(max = 5, key_len = 9)]
                pub map: BTreeMap<String, $ty>,
                #[embed]
                pub wrapped: Wrapped,
                #[embed]
                pub tagged: Tagged,
                #[serde(flatten)]
                pub inner: Inner,
            }

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "holders")]
            pub struct Holder {
                #[serde(rename = "_id")]
                pub id: i32,
                #[parent_ref]
                pub row: Ref<Row>,
                #[denormalize(from = row.plain)]
                #[serde(with = "odm::native")]
                pub plain: $ty,
            }

            fn row(value: &T) -> Row {
                Row {
                    id: value.clone(),
                    of: Ref::new(0),
                    bare: value.clone(),
                    plain: value.clone(),
                    optional: Some(value.clone()),
                    list: vec![value.clone()],
                    maybe: vec![None, Some(value.clone())],
                    map: [("k".to_owned(), value.clone())].into(),
                    wrapped: Wrapped(value.clone()),
                    tagged: Tagged::Some(Inner { at: value.clone() }),
                    inner: Inner { at: value.clone() },
                }
            }

            #[odm_tests::test]
            fn is_stored_found_and_changed_in_every_place() {
                with_db(async |t| {
                    let values: [T; 3] = $values;
                    let odm = Odm::new(t.db.clone(), models![Row, Holder, Total, ItemBucket]).unwrap();
                    odm.sync().await.unwrap();
                    assert!(odm.plan().await.unwrap().is_empty());
                    let rows = odm.collection::<Row>();
                    odm.collection::<Total>().insert(NewTotal { id: 0 }).await.unwrap();
                    let raw = t.db.collection::<Raw>("table");

                    // An insert returns the stored value.
                    let first = rows.insert(row(&values[0])).await.unwrap();
                    let mut all = vec![first];
                    all.extend(rows.insert_many(values[1..].iter().map(row)).await.unwrap());
                    for one in &all {
                        assert_eq!(rows.get(&one.id).await.unwrap().as_ref(), Some(one));
                    }
                    let replaced = rows.replace(row(&values[0])).await.unwrap();
                    assert_eq!(replaced, all[0]);

                    // As its type of BSON, wherever it stands.
                    for path in ["_id", "plain", "optional", "list", "map.k", "wrapped", "tagged.at", "at"] {
                        let typed = doc! { path: { "$type": $bson } };
                        assert_eq!(raw.count_documents(typed).await.unwrap(), 3, "{path}");
                    }

                    // Found by the given value, which may be longer than the stored one.
                    for (value, one) in values.iter().zip(&all) {
                        let filters = [
                            Row::paths().id.eq(value),
                            Row::paths().plain.eq(value),
                            Row::paths().plain.in_([value]),
                            Row::paths().optional.eq(value.clone()),
                            Row::paths().list.eq(vec![value.clone()]),
                            Row::paths().list.contains(value),
                            Row::paths().list.contains_any([value]),
                            Row::paths().list.any_item().eq(value),
                            Row::paths().list.elem(|item| item.gte(value) & item.lte(value)),
                            Row::paths().maybe.contains(Some(value.clone())),
                            Row::paths().map.eq(&one.map),
                            Row::paths().wrapped.eq(&one.wrapped),
                            Row::paths().inner.at.eq(value),
                        ];
                        for filter in filters {
                            let text = format!("{filter:?}");
                            let found = rows.find(|_| filter).all().await.unwrap();
                            assert_eq!(found, std::slice::from_ref(one), "{text}");
                        }
                        assert_eq!(rows.get(value).await.unwrap().as_ref(), Some(one));
                    }
                    // Ranges, orders, pages, different values.
                    assert_eq!(rows.find(|r| r.plain.gt(&values[0])).count().await.unwrap(), 2);
                    assert_eq!(rows.find(|r| r.optional.lt(values[1].clone())).count().await.unwrap(), 1);
                    let sorted = rows.find_all().sort(|r| r.plain.desc()).all().await.unwrap();
                    assert_eq!(sorted, all.iter().rev().cloned().collect::<Vec<_>>());
                    let page = rows.find_all().sort(|r| r.plain.asc()).page(2).await.unwrap();
                    let next = page.next.expect("there is a third");
                    let rest = rows.find_all().sort(|r| r.plain.asc()).page(2).after(next).await.unwrap();
                    assert_eq!((page.items, rest.items), (all[..2].to_vec(), all[2..].to_vec()));
                    let mut distinct = rows.find_all().distinct(|r| r.plain).await.unwrap();
                    distinct.sort();
                    assert_eq!(distinct, all.iter().map(|r| r.plain.clone()).collect::<Vec<_>>());
                    let mut items = rows.find_all().distinct(|r| r.list.any_item()).await.unwrap();
                    items.sort();
                    assert_eq!(items, distinct);

                    // Changed by given values; the copy and the reference follow.
                    let holders = odm.collection::<Holder>();
                    let new = NewHolder { id: 1, row: all[0].to_ref() };
                    let holder = holders.insert(new).await.unwrap();
                    assert_eq!(holder.plain, all[0].plain);
                    assert_eq!(holders.find(|h| h.row.eq(all[0].to_ref())).one().await.unwrap(), Some(holder));
                    let [_, b, c] = &values;
                    let changed = rows
                        .update(&all[0].id)
                        .set(|r| r.plain, c)
                        .set(|r| r.optional, None)
                        .push(|r| r.list, b)
                        .push(|r| r.maybe, Some(b.clone()))
                        .set_key(|r| r.map, "l", b)
                        .set(|r| r.wrapped, Wrapped(b.clone()))
                        .set(|r| r.inner.at, b)
                        .returning()
                        .await
                        .unwrap();
                    let (b, c) = (&all[1].plain, &all[2].plain);
                    assert_eq!((&changed.plain, &changed.optional), (c, &None));
                    assert_eq!(changed.list, [all[0].plain.clone(), b.clone()]);
                    assert_eq!(changed.maybe.last(), Some(&Some(b.clone())));
                    assert_eq!((&changed.map["l"], &changed.wrapped.0, &changed.inner.at), (b, b, b));
                    assert_eq!(holders.get(1).await.unwrap().unwrap().plain, *c);
                    let change = rows
                        .update(&all[0].id)
                        .elem(|r| r.list, |item| item.eq(&values[1]), |item| item.set(|item| item, &values[2]))
                        .min(|r| r.plain, &values[1])
                        .pull(|r| r.maybe, Some(values[1].clone()));
                    let changed = change.returning().await.unwrap();
                    assert_eq!((&changed.list[1], &changed.plain), (c, b));
                    assert_eq!(changed.maybe, all[0].maybe);
                    rows.update(&all[0].id).replace_item(|r| r.list, &values[2], &values[1]).await.unwrap();
                    rows.update(&all[0].id).add_to_set(|r| r.list, &values[1]).await.unwrap();
                    let changed = rows.update(&all[0].id).unset(|r| r.optional).returning().await.unwrap();
                    assert_eq!((changed.list.len(), changed.optional), (2, None));

                    // No other type is taken, nor read.
                    for path in ["plain", "optional", "list.0", "map.k", "wrapped", "at"] {
                        let set = doc! { "$set": { path: Bson::Boolean(true) } };
                        assert!(raw.update_one(doc! {}, set).await.is_err(), "{path}");
                    }

                    // A text format has serde's form, and reads it.
                    let json = serde_json::to_string(&all[1]).unwrap();
                    assert_eq!(serde_json::from_str::<Row>(&json).unwrap(), all[1]);
                    let bson = odm::bson::serialize_to_document(&all[1]).unwrap();
                    assert_eq!(odm::bson::deserialize_from_document::<Row>(bson).unwrap(), all[1]);

                    rows.delete(&values[2]).await.unwrap();
                    assert_eq!(rows.get(&values[2]).await.unwrap(), None);
                });
            }

            #[odm_tests::test]
            fn generated_values_hold_in_every_place() {
                with_db(async |t| {
                    let odm = Odm::new(t.db.clone(), models![Row, Holder, Total, ItemBucket]).unwrap();
                    odm.sync().await.unwrap();
                    let values = generated($generated);
                    let (rows, totals) = (odm.collection::<Row>(), odm.collection::<Total>());
                    let (holders, buckets) = (odm.collection::<Holder>(), odm.buckets::<Item>());
                    let ids = || (0..).zip(&values);
                    totals.insert_many(ids().map(|(id, _)| NewTotal { id })).await.unwrap();
                    let new = ids().map(|(id, value)| Row { of: Ref::new(id), ..row(value) });
                    let all = rows.insert_many(new).await.unwrap();
                    let new = (0..).zip(&all).map(|(id, row)| NewHolder { id, row: row.to_ref() });
                    holders.insert_many(new).await.unwrap();
                    for (id, value) in ids() {
                        buckets.push(id, Item { at: value.clone() }).await.unwrap();
                    }
                    let stored: Vec<T> = all.iter().map(|row| row.plain.clone()).collect();
                    let pair = (&values[..], &stored[..]);
                    let mut shown = Shown::default();

                    // Reads: by each value, and by ranges.
                    let p = Row::paths();
                    found!(shown, pair, "a field", &rows, |r| r.bare.clone(), |v| p.bare.eq(v), |a, b| p.bare.gte(a) & p.bare.lt(b));
                    found!(
                        shown, pair, "a field with an index, in sorts and pages",
                        &rows,
                        |r| r.plain.clone(),
                        |v| p.plain.eq(v),
                        |a, b| p.plain.gte(a) & p.plain.lt(b),
                    );
                    found!(
                        shown, pair, "an `Option`",
                        &rows,
                        |r| r.optional.clone().unwrap(),
                        |v| p.optional.eq(v),
                        |a, b| p.optional.gte(a) & p.optional.lt(b),
                    );
                    found!(
                        shown, pair, "the items of a `Vec`",
                        &rows,
                        |r| r.list[0].clone(),
                        |v| p.list.contains(v),
                        |a, b| p.list.elem(|item| item.gte(a) & item.lt(b)),
                    );
                    found!(shown, pair, "the values of a map", &rows, |r| r.map["k"].clone(), |v| {
                        p.map.eq(BTreeMap::from([("k".to_owned(), v)]))
                    });
                    found!(shown, pair, "`_id`", &rows, |r| r.id.clone(), |v| p.id.eq(v), |a, b| p.id.gte(a) & p.id.lt(b));
                    found!(
                        shown, pair, "a struct around it",
                        &rows,
                        |r| r.wrapped.0.clone(),
                        |v| p.wrapped.eq(Wrapped(v)),
                        |a, b| p.wrapped.gte(Wrapped(a)) & p.wrapped.lt(Wrapped(b)),
                    );
                    let tagged = |r: &Row| match &r.tagged {
                        Tagged::Some(inner) => inner.at.clone(),
                        Tagged::None => panic!("{r:?}"),
                    };
                    found!(shown, pair, "an enum with a tag", &rows, tagged, |v| p.tagged.eq(Tagged::Some(Inner { at: v })));
                    found!(
                        shown, pair, "a flattened struct",
                        &rows,
                        |r| r.inner.at.clone(),
                        |v| p.inner.at.eq(v),
                        |a, b| p.inner.at.gte(a) & p.inner.at.lt(b),
                    );
                    let h = Holder::paths();
                    found!(
                        shown, pair, "a copy, which follows its source",
                        &holders,
                        |h| h.plain.clone(),
                        |v| h.plain.eq(v),
                        |a, b| h.plain.gte(a) & h.plain.lt(b),
                    );
                    let b = ItemBucket::paths();
                    found!(
                        shown, pair, "an item of a bucket",
                        buckets.collection(),
                        |b| b.items[0].at.clone(),
                        |v| b.items.at.eq(v),
                        |from, to| b.items.at.gte(from) & b.items.at.lt(to),
                    );
                    let s = Total::paths();
                    found!(
                        shown, pair, "a computed field, which follows the children",
                        &totals,
                        |t| t.greatest.clone().unwrap(),
                        |v| s.greatest.eq(v),
                        |a, b| s.greatest.gte(a) & s.greatest.lt(b),
                    );

                    // The field with an index: by the index, in its order, page by page.
                    let by_index = rows.find(|r| r.plain.gte(&values[1])).hint("plain_1");
                    assert_eq!(by_index.count().await.unwrap(), values.len() as u64 - 1);
                    let sorted = rows.find_all().sort(|r| r.plain.asc()).all().await.unwrap();
                    assert_eq!(sorted, all);
                    let (mut paged, mut after) = (Vec::new(), None);
                    loop {
                        let pages = rows.find_all().sort(|r| r.plain.desc()).page(3);
                        let page = match after {
                            Some(token) => pages.after(token).await.unwrap(),
                            None => pages.await.unwrap(),
                        };
                        paged.extend(page.items);
                        after = page.next;
                        if after.is_none() {
                            break;
                        }
                    }
                    paged.reverse();
                    assert_eq!(paged, all);

                    // Updates: of the first document, to the last value.
                    let (given, last) = (values.last().unwrap(), stored.last().unwrap());
                    let changed = rows
                        .update(&all[0].id)
                        .set(|r| r.bare, given)
                        .set(|r| r.plain, given)
                        .set(|r| r.optional, given.clone())
                        .set(|r| r.list, vec![given.clone()])
                        .set_key(|r| r.map, "k", given)
                        .set(|r| r.wrapped, Wrapped(given.clone()))
                        .set(|r| r.tagged, Tagged::Some(Inner { at: given.clone() }))
                        .set(|r| r.inner.at, given)
                        .returning();
                    let changed = changed.await.unwrap();
                    buckets.edit(0, |i| i.at.eq(&values[0]), |i| i.set(|i| i.at, given)).await.unwrap();
                    let holder = holders.get(0).required().await.unwrap();
                    let total = totals.get(0).required().await.unwrap();
                    let page = buckets.pages(0).await.unwrap();
                    for (place, value) in [
                        ("a field", &changed.bare),
                        ("a field with an index, in sorts and pages", &changed.plain),
                        ("an `Option`", changed.optional.as_ref().unwrap()),
                        ("the items of a `Vec`", &changed.list[0]),
                        ("the values of a map", &changed.map["k"]),
                        ("a struct around it", &changed.wrapped.0),
                        ("an enum with a tag", &tagged(&changed)),
                        ("a flattened struct", &changed.inner.at),
                        ("a copy, which follows its source", &holder.plain),
                        ("an item of a bucket", &page[0].items[0].at),
                        ("a computed field, which follows the children", total.greatest.as_ref().unwrap()),
                    ] {
                        assert_eq!(value, last, "{place}");
                        shown.note(place, Holds::Changed);
                    }

                    // Another type is refused by the server, in each place.
                    for (place, collection, path) in [
                        ("a field", "table", "bare"),
                        ("a field with an index, in sorts and pages", "table", "plain"),
                        ("an `Option`", "table", "optional"),
                        ("the items of a `Vec`", "table", "list.0"),
                        ("the values of a map", "table", "map.k"),
                        ("`_id`", "table", "_id"),
                        ("a struct around it", "table", "wrapped"),
                        ("an enum with a tag", "table", "tagged.at"),
                        ("a flattened struct", "table", "at"),
                        ("a copy, which follows its source", "holders", "plain"),
                        ("an item of a bucket", "buckets", "items.0.at"),
                        ("a computed field, which follows the children", "totals", "greatest"),
                    ] {
                        let raw = t.db.collection::<Raw>(collection);
                        let refused = if path == "_id" {
                            let mut copy = raw.find_one(doc! {}).await.unwrap().unwrap();
                            copy.insert("_id", true);
                            raw.insert_one(copy).await.is_err()
                        } else {
                            let set = doc! { "$set": { path: Bson::Boolean(true) } };
                            raw.update_one(doc! {}, set).await.is_err()
                        };
                        assert!(refused, "{place}");
                        shown.note(place, Holds::Validated);
                    }
                    shown.everything_holds();
                });
            }
        }
    )*};
}

fn uuid(first: u8) -> uuid::Uuid {
    let mut bytes = [7; 16];
    bytes[0] = first;
    uuid::Uuid::from_bytes(bytes)
}

fn chrono(millis: i64, micros: i64) -> chrono::DateTime<chrono::Utc> {
    chrono::DateTime::from_timestamp_micros(millis * 1_000 + micros).unwrap()
}

fn jiff(millis: i64, nanos: i128) -> jiff::Timestamp {
    jiff::Timestamp::from_nanosecond(i128::from(millis) * 1_000_000 + nanos).unwrap()
}

fn time(millis: i128, nanos: i128) -> time::OffsetDateTime {
    let offset = time::UtcOffset::from_hms(5, 30, 0).unwrap();
    let utc = time::OffsetDateTime::from_unix_timestamp_nanos(millis * 1_000_000 + nanos).unwrap();
    utc.to_offset(offset)
}

/// Moments in nanoseconds, some of which are beside each other, and some at or before the beginning of 1970.
fn moments() -> impl Strategy<Value = i128> {
    use proptest::prelude::{Just, prop_oneof};
    let millis = prop_oneof![3 => -4_000_000_000_000_i128..4_000_000_000_000, 1 => -3_i128..3, 1 => Just(0)];
    (millis, 0..1_000_000_i128).prop_map(|(millis, nanos)| millis * 1_000_000 + nanos)
}

/// Addresses of both kinds.
fn ip() -> impl Strategy<Value = std::net::IpAddr> {
    any::<std::net::IpAddr>()
}

table! {
    uuids: uuid::Uuid as "binData",
        [uuid(0), uuid(1), uuid(255)],
        any::<u128>().prop_map(uuid::Uuid::from_u128);
    chrono_dates: chrono::DateTime<chrono::Utc> as "date",
        [chrono(-5, 999), chrono(0, 1), chrono(1_900_000_000_123, 456)],
        moments().prop_map(|nanos| chrono(0, (nanos / 1_000) as i64));
    chrono_durations: chrono::TimeDelta as "long",
        [chrono::TimeDelta::microseconds(-1), chrono::TimeDelta::zero(), chrono::TimeDelta::milliseconds(8)],
        moments().prop_map(|nanos| chrono::TimeDelta::nanoseconds(nanos as i64));
    jiff_dates: jiff::Timestamp as "date",
        [jiff(-5, 999_999), jiff(0, 1), jiff(1_900_000_000_123, 456)],
        moments().prop_map(|nanos| jiff(0, nanos));
    jiff_durations: jiff::SignedDuration as "long",
        [jiff::SignedDuration::from_micros(-1), jiff::SignedDuration::ZERO, jiff::SignedDuration::from_hours(9)],
        moments().prop_map(|nanos| jiff::SignedDuration::from_nanos(nanos as i64));
    time_dates: time::OffsetDateTime as "date",
        [time(-5, 999_999), time(0, 1), time(1_900_000_000_123, 456)],
        moments().prop_map(|nanos| time(0, nanos));
    time_utc_dates: time::UtcDateTime as "date",
        [time(-5, 999_999).to_utc(), time(0, 1).to_utc(), time(1_900_000_000_123, 456).to_utc()],
        moments().prop_map(|nanos| time(0, nanos).to_utc());
    time_durations: time::Duration as "long",
        [time::Duration::microseconds(-1), time::Duration::ZERO, time::Duration::weeks(9)],
        moments().prop_map(|nanos| time::Duration::nanoseconds(nanos as i64));
    decimals: rust_decimal::Decimal as "decimal",
        [rust_decimal::Decimal::new(-150, 2), rust_decimal::Decimal::new(3, 1), rust_decimal::Decimal::MAX],
        (any::<i64>(), 0..=28_u32).prop_map(|(digits, scale)| rust_decimal::Decimal::new(digits, scale));
    durations: std::time::Duration as "long",
        [std::time::Duration::from_nanos(1), std::time::Duration::from_millis(1), std::time::Duration::from_secs(3)],
        moments().prop_map(|nanos| std::time::Duration::from_nanos(nanos.unsigned_abs() as u64));
    addresses: std::net::IpAddr as "string",
        ["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap(), "::1".parse().unwrap()],
        ip();
    sockets: std::net::SocketAddr as "string",
        ["10.0.0.1:80".parse().unwrap(), "10.0.0.2:80".parse().unwrap(), "[::1]:80".parse().unwrap()],
        (ip(), any::<u16>()).prop_map(|(ip, port)| std::net::SocketAddr::new(ip, port));
    urls: url::Url as "string",
        ["https://a.org/", "https://a.org/b", "https://ä.org/?x=ü"].map(|url| url.parse().unwrap()),
        "https://[a-zä]{1,9}\\.org/[a-z]{0,5}(\\?[a-zü]{1,5}=[ -~]{0,5})?".prop_map(|url| url.parse().unwrap());
}

/// `ODM_WRITE_BOOK=1` writes the table.
#[odm_tests::test]
fn the_guide_shows_what_holds_in_every_place() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut table = String::from(
        "| place | read as it was stored | found by `eq` | by a range | changed | another type is refused |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    let mut reasons = String::new();
    for (place, holds, case) in PLACES {
        let cells = holds.map(|holds| if holds.is_some() { "✓" } else { "–" });
        table += &format!("| {place} | {} |\n", cells.join(" | "));
        assert_eq!(case.is_empty(), holds.iter().all(Option::is_some), "{place}");
        if case.is_empty() {
            continue;
        }
        let messages = fs::read_to_string(root.join("tests/ui").join(case).with_extension("stderr")).unwrap();
        let (_, message) = messages.lines().next().unwrap().split_once(": ").unwrap();
        reasons += &format!("- {place}: {message}\n");
    }
    let page = root.join("book/src/types.md");
    let text = fs::read_to_string(&page).unwrap();
    let (head, rest) = text
        .split_once("<!-- table of places -->\n\n")
        .expect("its beginning");
    let (_, tail) = rest.split_once("\n<!-- end of the table -->").expect("its end");
    let expected = format!(
        "{head}<!-- table of places -->\n\n{table}\nWhere a place has a –, it does not compile:\n\n{reasons}\n\
         <!-- end of the table -->{tail}"
    );
    if std::env::var_os("ODM_WRITE_BOOK").is_some() {
        fs::write(page, expected).unwrap();
    } else {
        assert_eq!(text, expected, "ODM_WRITE_BOOK=1 renews it");
    }
}

mod derived {
    //! Sums of such values, and bounds, projections, buckets, indexes, expressions and requests with them.

    use super::*;
    use chrono::{DateTime, TimeDelta, Utc};
    use odm::Projection;
    use odm::expr::expr;
    use odm::request::{Eq, Range};
    use rust_decimal::Decimal;
    use std::time::Duration;
    use uuid::Uuid;

    #[derive(Embed, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, PartialOrd)]
    struct Money(#[serde(with = "odm::native")] Decimal);

    #[derive(Embed, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
    struct Cents(i64);

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[serde(transparent)]
    struct Sku(#[field(max_len = 20)] String);

    #[derive(Embed, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
    #[embed(id)]
    struct ShopId(#[serde(with = "odm::native")] Uuid);

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "shops")]
    struct Shop {
        #[serde(rename = "_id")]
        id: ShopId,
        #[computed(sum = Sale.total)]
        total: Money,
        #[computed(sum = Sale.tip)]
        #[serde(with = "odm::native")]
        tips: Decimal,
        #[computed(sum = Sale.cents)]
        cents: Cents,
        #[computed(sum = Sale.took)]
        #[serde(with = "odm::native")]
        took: Duration,
        #[computed(max = Sale.at)]
        #[serde(default, with = "odm::native")]
        latest: Option<DateTime<Utc>>,
        #[computed(first = Sale.receipt, order(at))]
        #[serde(default, with = "odm::native")]
        first: Option<Uuid>,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "sales", derive(Clone), timestamps)]
    struct Sale {
        #[serde(rename = "_id")]
        id: ObjectId,
        #[parent_ref]
        shop: Ref<Shop>,
        total: Money,
        #[serde(with = "odm::native")]
        tip: Decimal,
        cents: Cents,
        #[serde(with = "odm::native")]
        #[field(max = 60_000)]
        took: Duration,
        #[serde(with = "odm::native")]
        #[index]
        at: DateTime<Utc>,
        #[serde(with = "odm::native")]
        closed: DateTime<Utc>,
        #[serde(with = "odm::native")]
        #[index(unique)]
        receipt: Uuid,
        #[embed(max = 9, key_len = 20)]
        items: BTreeMap<Sku, i32>,
        #[serde(with = "odm::native")]
        created_at: time::OffsetDateTime,
        #[serde(with = "odm::native")]
        updated_at: jiff::Timestamp,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[bucket(of = Shop, size = 2, time = at, sum(cents), sum(took))]
    struct Visit {
        id: ShopId,
        #[serde(with = "odm::native")]
        at: DateTime<Utc>,
        cents: Cents,
        #[serde(with = "odm::native")]
        took: Duration,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "traces")]
    struct Trace {
        #[serde(rename = "_id")]
        id: i32,
        #[serde(default, with = "odm::native")]
        #[index(expire_after = 1_000_000_000)]
        at: Option<DateTime<Utc>>,
    }

    #[derive(Projection, Deserialize, Debug, PartialEq)]
    #[projection(of = Sale)]
    struct Times {
        #[serde(with = "odm::native")]
        at: DateTime<Utc>,
        #[serde(with = "odm::native")]
        took: Duration,
        total: Money,
    }

    #[derive(RequestQuery, Debug)]
    #[request(of = Sale)]
    struct Asked {
        receipt: Eq<Uuid>,
        at: Range<DateTime<Utc>>,
        #[request(scan)]
        tip: Range<Decimal>,
        #[request(scan)]
        total: Range<Money>,
    }

    fn at(millis: i64) -> DateTime<Utc> {
        chrono(millis, 0)
    }

    fn sale(shop: ShopId, n: i64) -> NewSale {
        NewSale {
            shop: Ref::new(shop),
            total: Money(Decimal::new(n * 10 + 5, 2)),
            tip: Decimal::new(n, 1),
            cents: Cents(n),
            took: Duration::from_millis(n.unsigned_abs() * 100),
            at: at(1_700_000_000_000 + n),
            closed: at(1_700_000_000_000 + n) + TimeDelta::try_seconds(n).unwrap(),
            receipt: uuid(n as u8),
            items: [(Sku("a".to_owned()), n as i32)].into(),
        }
    }

    #[odm_tests::test]
    fn they_are_summed_compared_and_computed_with() {
        with_db(async |t| {
            let odm = Odm::new(t.db.clone(), models![Shop, Sale, VisitBucket, Trace]).unwrap();
            odm.sync().await.unwrap();
            assert!(odm.plan().await.unwrap().is_empty());
            let (shops, sales) = (odm.collection::<Shop>(), odm.collection::<Sale>());
            let id = ShopId(uuid(9));
            shops.insert(NewShop { id }).await.unwrap();
            let all = sales.insert_many((1..=3).map(|n| sale(id, n))).await.unwrap();
            assert_eq!(sales.get(all[0].id).await.unwrap().as_ref(), Some(&all[0]));
            let shop = shops.get(id).await.unwrap().unwrap();
            assert_eq!(
                (shop.total, shop.tips),
                (Money(Decimal::new(75, 2)), Decimal::new(6, 1))
            );
            assert_eq!((shop.cents, shop.took), (Cents(6), Duration::from_millis(600)));
            assert_eq!((shop.latest, shop.first), (Some(all[2].at), Some(uuid(1))));

            let changed = sales
                .update(all[0].id)
                .inc(|s| s.total, Money(Decimal::new(1, 2)))
                .inc(|s| s.tip, Decimal::ONE)
                .dec(|s| s.cents, Cents(1))
                .inc(|s| s.took, Duration::from_secs(1))
                .set_key(|s| s.items, "b", 2)
                .returning()
                .await
                .unwrap();
            assert_eq!(
                (changed.total, changed.tip),
                (Money(Decimal::new(16, 2)), Decimal::new(11, 1))
            );
            assert_eq!(
                (changed.cents, changed.took),
                (Cents(0), Duration::from_millis(1_100))
            );
            assert_eq!(changed.items[&Sku("b".to_owned())], 2);
            assert_eq!(changed.created_at, all[0].created_at);
            assert!(
                changed.updated_at >= all[0].updated_at
                    && changed.created_at.unix_timestamp() > 1_700_000_000
            );
            let refused = sales
                .update(all[0].id)
                .inc(|s| s.took, Duration::from_secs(59))
                .await;
            assert!(refused.is_err());
            let shop = shops.get(id).await.unwrap().unwrap();
            assert_eq!(
                (shop.total, shop.took),
                (Money(Decimal::new(76, 2)), Duration::from_millis(1_600))
            );
            assert!(odm.audit().await.unwrap().is_clean());

            let years: Vec<Raw> = sales
                .aggregate()
                .group(|s| s.at.year(), |g| g.count("n"))
                .all()
                .await
                .unwrap();
            assert_eq!(years.len(), 1);
            let visits = odm.buckets::<Visit>();
            let visit = |n: i64| Visit {
                id: ShopId(uuid(n as u8)),
                at: at(n),
                cents: Cents(n),
                took: Duration::from_secs(1),
            };
            visits.push_many(&shop, (1..=3).map(visit)).await.unwrap();
            let pages = visits.pages(&shop).await.unwrap();
            assert_eq!((pages[0].sum_cents, pages[0].sum_took), (3, 2_000));
            assert_eq!(pages[1].first, Some(odm::bson::DateTime::from_millis(3)));
            visits
                .edit(&shop, |v| v.at.eq(at(2)), |v| v.set(|v| v.at, at(9)))
                .await
                .unwrap();
            assert_eq!(
                visits.pages(&shop).await.unwrap()[0].last,
                Some(odm::bson::DateTime::from_millis(9))
            );

            let seen = sales
                .find(|s| s.receipt.eq(uuid(3)))
                .select::<Times>()
                .one()
                .await
                .unwrap();
            let times = Times {
                at: all[2].at,
                took: all[2].took,
                total: all[2].total,
            };
            assert_eq!(seen, Some(times));
            for (asked, expected) in [
                (format!("receipt={}", uuid(2)), 1),
                (
                    format!(
                        "at[gt]={}",
                        all[0].at.to_rfc3339_opts(::chrono::SecondsFormat::Millis, true)
                    ),
                    2,
                ),
                ("tip[lte]=0.3".to_owned(), 2),
                ("total[gt]=0.2".to_owned(), 2),
            ] {
                let asked = Asked::parse(&asked.replace('+', "%2B")).unwrap();
                let found = sales.find_all().request(asked).page(20).await.unwrap();
                assert_eq!(found.items.len(), expected);
            }
        });
    }
    #[odm_tests::test]
    fn they_stand_in_expressions() {
        with_db(async |t| {
            let odm = Odm::new(t.db.clone(), models![Shop, Sale]).unwrap();
            odm.sync().await.unwrap();
            let sales = odm.collection::<Sale>();
            let id = ShopId(uuid(9));
            odm.collection::<Shop>().insert(NewShop { id }).await.unwrap();
            let all = sales.insert_many((1..=3).map(|n| sale(id, n))).await.unwrap();
            let later = || sales.find(|s| s.closed.gt(expr(s.at) + Duration::from_millis(1_500)));
            if later().count().await.is_err() {
                odm_tests::skip("needs a server that computes with dates in `$expr`");
            }
            assert_eq!(later().count().await.unwrap(), 2);
            let slow = sales.find(|s| (expr(s.closed) - expr(s.at)).gt(expr(s.took)));
            assert_eq!(slow.count().await.unwrap(), 3);
            let changed = sales
                .update(all[1].id)
                .current_date(|s| s.closed)
                .returning()
                .await
                .unwrap();
            assert!(changed.closed > all[1].closed);
            let changed = sales
                .update(all[1].id)
                .compute(|s| s.closed, |s| expr(s.at))
                .returning()
                .await
                .unwrap();
            assert_eq!(changed.closed, all[1].at);
        });
    }

    /// 0.15 > 0.10, 0.25 > 0.20 and 0.35 > 0.30.
    #[odm_tests::test]
    fn decimals_are_compared_in_expressions() {
        with_db(async |t| {
            let probe = t.db.collection::<Raw>("probe");
            let decimal = |text: &str| text.parse::<odm::bson::Decimal128>().unwrap();
            let greater = doc! { "a": decimal("0.15"), "b": decimal("0.10") };
            probe.insert_one(greater).await.unwrap();
            let asked = doc! { "$expr": { "$gt": ["$a", "$b"] } };
            if probe.count_documents(asked).await.unwrap_or_default() != 1 {
                odm_tests::skip("needs a server that compares decimals in `$expr`");
            }
            let odm = Odm::new(t.db.clone(), models![Shop, Sale]).unwrap();
            odm.sync().await.unwrap();
            let sales = odm.collection::<Sale>();
            let id = ShopId(uuid(9));
            odm.collection::<Shop>().insert(NewShop { id }).await.unwrap();
            let all = sales.insert_many((1..=3).map(|n| sale(id, n))).await.unwrap();
            assert!(all.iter().all(|sale| sale.total.0 > sale.tip));
            let dear = sales.find(|s| expr(s.total).gt(expr(s.tip)));
            assert_eq!(dear.count().await.unwrap(), 3);
        });
    }
}

mod numbered {
    //! Enums that are stored as integers.

    use super::*;

    #[derive(Embed, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[embed(id, repr = i32)]
    enum Level {
        Low = 1,
        Mid = 5,
        High = 9,
    }

    #[derive(Embed, Clone, Copy, Debug, PartialEq)]
    #[embed(repr = i64)]
    #[repr(i64)]
    enum Code {
        None,
        Far = 5_000_000_000,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "tickets")]
    struct Ticket {
        #[serde(rename = "_id")]
        id: Level,
        #[index]
        level: Level,
        code: Option<Code>,
        #[embed(max = 5)]
        past: Vec<Level>,
        #[embed(max = 5, key_len = 5)]
        by: BTreeMap<String, Level>,
    }

    #[odm_tests::test]
    fn variants_are_stored_found_and_sorted_by_their_numbers() {
        with_db(async |t| {
            let odm = Odm::new(t.db.clone(), models![Ticket]).unwrap();
            odm.sync().await.unwrap();
            assert!(odm.plan().await.unwrap().is_empty());
            let tickets = odm.collection::<Ticket>();
            let ticket = |level| Ticket {
                id: level,
                level,
                code: Some(Code::Far),
                past: vec![level],
                by: [("a".to_owned(), level)].into(),
            };
            let all = [ticket(Level::Low), ticket(Level::Mid), ticket(Level::High)];
            tickets.insert_many(all.clone()).await.unwrap();
            let raw = t.db.collection::<Raw>("tickets");
            let stored = raw.find_one(doc! { "_id": 5 }).await.unwrap().unwrap();
            let expected = doc! {
                "_id": 5, "level": 5, "code": 5_000_000_000_i64, "past": [5], "by": { "a": 5 },
            };
            assert_eq!(stored, expected);
            assert_eq!(tickets.get(Level::Mid).await.unwrap().as_ref(), Some(&all[1]));
            let high = tickets
                .find(|t| t.level.gt(Level::Low))
                .sort(|t| t.level.desc())
                .all()
                .await
                .unwrap();
            assert_eq!(high, [all[2].clone(), all[1].clone()]);
            assert_eq!(
                tickets
                    .find(|t| t.past.contains(Level::Low))
                    .count()
                    .await
                    .unwrap(),
                1
            );
            let change = tickets
                .update(Level::Low)
                .set(|t| t.code, Code::None)
                .push(|t| t.past, Level::High);
            let changed = change.returning().await.unwrap();
            assert_eq!((changed.code, changed.past[1]), (Some(Code::None), Level::High));
            for wrong in [Bson::Int32(10), Bson::from("Low"), Bson::Double(1.5)] {
                let set = doc! { "$set": { "level": wrong.clone() } };
                assert!(raw.update_one(doc! { "_id": 1 }, set).await.is_err(), "{wrong}");
            }
            // Another client's number, within the range.
            raw.update_one(doc! { "_id": 1 }, doc! { "$set": { "level": 9.0, "past.0": 2 } })
                .await
                .unwrap();
            let error = tickets.get(Level::Low).await.unwrap_err().to_string();
            assert!(
                error.contains("`past.0`: the number is no `Level`: it is one of 1, 5, 9"),
                "{error}"
            );
        });
    }
}
