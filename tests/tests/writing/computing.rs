//! Expressions: fields compared with fields, and fields that the server computes.

use odm::Error;
use odm::bson::doc;
use odm::expr::{expr, value};
use odm::prelude::*;
use odm_tests::{TestDb, assert_clean, with_db};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "orders", version)]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    ordered: DateTime,
    shipped: Option<DateTime>,
    price: i64,
    #[serde(default = "one")]
    qty: i32,
    #[field(min = 0, max = 1_000)]
    total: i64,
    share: Option<f64>,
    small: i32,
    version: i64,
}

fn one() -> i32 {
    1
}

/// Its price is copied, and counted in its shop.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "goods")]
struct Good {
    #[serde(rename = "_id")]
    id: i32,
    #[parent_ref(on_delete = cascade)]
    shop: Ref<Store>,
    price: i64,
    cost: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "stores")]
struct Store {
    #[serde(rename = "_id")]
    id: i32,
    #[computed(sum = Good.price)]
    value: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "lines")]
struct Line {
    #[serde(rename = "_id")]
    id: i32,
    #[reference(on_delete = restrict)]
    good: Ref<Good>,
    #[denormalize(from = good.price)]
    price: i64,
}

const DAY: Duration = Duration::from_secs(86_400);

fn at(day: u64) -> DateTime {
    DateTime::from_millis(i64::try_from(DAY.as_millis()).unwrap() * i64::try_from(day).unwrap())
}

fn order(id: i32, price: i64, qty: i32, shipped: Option<u64>) -> NewOrder {
    NewOrder {
        id,
        ordered: at(10),
        shipped: shipped.map(at),
        price,
        qty,
        total: 0,
        share: None,
        small: 0,
    }
}

async fn orders(t: &TestDb) -> Collection<Order> {
    let odm = Odm::new(t.db.clone(), models![Order]).unwrap();
    odm.sync().await.unwrap();
    let orders = odm.collection::<Order>();
    let all = [
        order(1, 10, 3, Some(12)),
        order(2, 300, 4, Some(9)),
        order(3, 5, 0, None),
    ];
    orders.insert_many(all).await.unwrap();
    orders
}

async fn ids(found: odm::query::Find<Order>) -> Vec<i32> {
    let found = found.sort(|o| o.id.asc()).all().await.unwrap();
    found.into_iter().map(|order| order.id).collect()
}

#[odm_tests::test]
fn a_field_is_compared_with_a_field() {
    with_db(async |t| {
        let orders = orders(&t).await;
        // A missing value is neither before nor after.
        assert_eq!(ids(orders.find(|o| o.shipped.gt(expr(o.ordered)))).await, [1]);
        assert_eq!(ids(orders.find(|o| o.shipped.lt(expr(o.ordered)))).await, [2]);
        assert_eq!(ids(orders.find(|o| o.ordered.gte(expr(o.shipped)))).await, [2]);
        assert_eq!(
            ids(orders.find(|o| o.shipped.ne(expr(o.ordered)))).await,
            [1, 2, 3]
        );
        assert_eq!(ids(orders.find(|o| !o.shipped.gt(expr(o.ordered)))).await, [2, 3]);
        let dear = orders.find(|o| (expr(o.price) * expr(o.qty)).gte(value(30)) | o.id.eq(3));
        assert_eq!(ids(dear).await, [1, 2, 3]);
        // A missing field has its default.
        let unset = doc! { "$unset": { "qty": "" } };
        orders
            .driver::<odm::bson::Document>()
            .update_one(doc! { "_id": 3 }, unset)
            .await
            .unwrap();
        assert_eq!(ids(orders.find(|o| expr(o.qty).eq(value(1)))).await, [3]);
    });
}

#[odm_tests::test]
fn a_duration_is_added_to_a_date_and_two_dates_are_subtracted() {
    with_db(async |t| {
        let orders = orders(&t).await;
        let took = orders.find(|o| (expr(o.shipped) - expr(o.ordered)).gt(value(1_000_i64)));
        if took.count().await.is_err() {
            odm_tests::skip("needs a server that computes with dates in `$expr`");
        }
        let took = orders.find(|o| (expr(o.shipped) - expr(o.ordered)).gt(value(1_000_i64)));
        assert_eq!(ids(took).await, [1]);
        let late = orders.find(|o| o.shipped.gte(expr(o.ordered) + DAY) & o.price.lt(100));
        assert_eq!(ids(late).await, [1]);
        orders
            .update(3)
            .compute(|o| o.shipped, |o| expr(o.ordered) + DAY)
            .await
            .unwrap();
        assert_eq!(orders.get(3).required().await.unwrap().shipped, Some(at(11)));
    });
}

#[odm_tests::test]
fn the_server_computes_a_field_in_one_round_trip() {
    with_db(async |t| {
        let orders = orders(&t).await;
        orders.find_all().count().await.unwrap();
        t.commands.clear();
        let done = orders
            .update(1)
            .compute(|o| o.total, |o| expr(o.price) * expr(o.qty))
            .inc(|o| o.qty, 1)
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified), (1, 1));
        assert_eq!(t.commands.take(), ["update"]);
        // The expression sees the document as it was before.
        let stored = orders.get(1).required().await.unwrap();
        assert_eq!((stored.total, stored.qty, stored.version), (30, 4, 2));
        let returned = orders
            .update(1)
            .compute(|o| o.share, |o| expr(o.price) / expr(o.total))
            .compute(|o| o.small, |o| (expr(o.price) * 0.25).round())
            .returning()
            .await
            .unwrap();
        assert_eq!((returned.share, returned.small), (Some(10.0 / 30.0), 2));
        // Division by zero is `null`, which an `Option` takes.
        orders
            .update(3)
            .compute(|o| o.share, |o| expr(o.price) / expr(o.qty))
            .await
            .unwrap();
        assert_eq!(orders.get(3).required().await.unwrap().share, None);
    });
}

#[odm_tests::test]
fn a_result_beyond_the_bounds_of_its_field_is_refused_with_its_value() {
    with_db(async |t| {
        let orders = orders(&t).await;
        let refused = orders
            .update(2)
            .compute(|o| o.total, |o| expr(o.price) * expr(o.qty))
            .await;
        let Err(Error::Invalid { violations, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(violations[0].path, "total");
        assert_eq!(violations[0].value, Some(1_200_i64.into()));
        assert_eq!(orders.get(2).required().await.unwrap().version, 1);

        let refused = orders
            .update(2)
            .compute(|o| o.small, |o| expr(o.price) * 10_000_000)
            .await;
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
        let refused = orders
            .update(3)
            .compute(|o| o.small, |o| (expr(o.price) / expr(o.qty)).round())
            .await;
        assert!(
            matches!(refused, Err(Error::IsNull { ref field, .. }) if field == "small"),
            "{refused:?}"
        );
        let missing = orders.update(9).compute(|o| o.small, |o| expr(o.qty)).await;
        assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");

        let done = orders
            .update_where(|o| o.id.gte(1))
            .compute(|o| o.total, |o| expr(o.price) * expr(o.qty))
            .await
            .unwrap();
        assert_eq!((done.matched, done.refused), (2, 1));
        let first = orders
            .update_first(|o| o.price.lt(100))
            .sort(|o| o.price.asc())
            .compute(|o| o.small, |o| expr(o.qty) + 7)
            .returning()
            .await
            .unwrap();
        assert_eq!(first.map(|order| (order.id, order.small)), Some((3, 7)));
        // Beyond an `i64` the server goes on with floating-point numbers.
        let done = orders
            .update_where(|o| o.id.eq(2))
            .compute(|o| o.price, |o| expr(o.price) * i64::MAX)
            .count_refused()
            .await;
        match done {
            Ok(done) => assert_eq!((done.matched, done.refused), (0, 1)),
            Err(error) => assert!(error.driver_error().is_some(), "{error:?}"),
        }
    });
}

#[odm_tests::test]
fn copies_and_sums_follow_a_computed_field() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Store, Good, Line]).unwrap();
        odm.sync().await.unwrap();
        odm.collection::<Store>()
            .insert(NewStore { id: 1 })
            .await
            .unwrap();
        let goods = odm.collection::<Good>();
        for (id, price, cost) in [(1, 10, 7), (2, 20, 9)] {
            let good = NewGood {
                id,
                shop: Ref::new(1),
                price,
                cost,
            };
            goods.insert(good).await.unwrap();
        }
        odm.collection::<Line>()
            .insert(NewLine {
                id: 1,
                good: Ref::new(1),
            })
            .await
            .unwrap();
        goods
            .update(1)
            .compute(|g| g.price, |g| expr(g.cost) * 2)
            .await
            .unwrap();
        let value = async || odm.collection::<Store>().get(1).required().await.unwrap().value;
        assert_eq!(
            odm.collection::<Line>().get(1).required().await.unwrap().price,
            14
        );
        assert_eq!(value().await, 34);
        goods
            .update_where(|g| g.id.gte(1))
            .compute(|g| g.price, |g| expr(g.price) + expr(g.cost))
            .await
            .unwrap();
        assert_eq!(value().await, 21 + 29);
        odm.bulk()
            .add(goods.update(2).compute(|g| g.price, |g| expr(g.cost) - 1))
            .await
            .unwrap();
        assert_eq!(value().await, 21 + 8);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn what_no_pipeline_can_do_beside_a_computed_field_is_refused() {
    with_db(async |t| {
        let orders = orders(&t).await;
        t.commands.clear();
        let compute = || orders.update(1).compute(|o| o.total, |o| expr(o.price));
        let refused = compute().upsert().await.unwrap_err().to_string();
        assert!(
            refused.contains("no document to compute a field from"),
            "{refused}"
        );
        let refused = compute()
            .raw(doc! { "$bit": { "qty": { "and": 1 } } })
            .await
            .unwrap_err()
            .to_string();
        assert!(refused.contains("by an update of their own"), "{refused}");
        let refused = compute().inc(|o| o.total, 1).await.unwrap_err().to_string();
        assert!(refused.contains("total"), "{refused}");
        assert!(t.commands.take().is_empty());
    });
}
