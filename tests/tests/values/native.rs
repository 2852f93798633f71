//! Types of other crates, by `#[serde(with = "odm::native")]`, in every place of a document.

use odm::bson::{Bson, Document as Raw, doc};
use odm::prelude::*;
use odm_tests::with_db;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// For a type: models with it in every place, and a test that they take it. The values are in order.
macro_rules! table {
    ($($name:ident: $ty:ty as $bson:literal, $values:expr;)*) => {$(
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
            #[document(collection = "table", derive(Clone))]
            pub struct Row {
                #[serde(rename = "_id", with = "odm::native")]
                pub id: $ty,
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
                    let odm = Odm::new(t.db.clone(), models![Row, Holder]).unwrap();
                    odm.sync().await.unwrap();
                    assert!(odm.plan().await.unwrap().is_empty());
                    let rows = odm.collection::<Row>();
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
                            Row::paths().list.any().eq(value),
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
                    let mut items = rows.find_all().distinct(|r| r.list.any()).await.unwrap();
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
                        .update(&all[0])
                        .set(|r| r.plain, c)
                        .set(|r| r.optional, None)
                        .push(|r| r.list, b)
                        .push(|r| r.maybe, Some(b.clone()))
                        .set_key(|r| r.map, "l", b)
                        .set(|r| r.wrapped, Wrapped(b.clone()))
                        .set(|r| r.inner.at, b)
                        .returning()
                        .await
                        .unwrap()
                        .unwrap();
                    let (b, c) = (&all[1].plain, &all[2].plain);
                    assert_eq!((&changed.plain, &changed.optional), (c, &None));
                    assert_eq!(changed.list, [all[0].plain.clone(), b.clone()]);
                    assert_eq!(changed.maybe.last(), Some(&Some(b.clone())));
                    assert_eq!((&changed.map["l"], &changed.wrapped.0, &changed.inner.at), (b, b, b));
                    assert_eq!(holders.get(1).await.unwrap().unwrap().plain, *c);
                    let change = rows
                        .update(&all[0])
                        .elem(|r| r.list, |item| item.eq(&values[1]), |item| item.set(|item| item, &values[2]))
                        .min(|r| r.plain, &values[1])
                        .pull(|r| r.maybe, Some(values[1].clone()));
                    let changed = change.returning().await.unwrap().unwrap();
                    assert_eq!((&changed.list[1], &changed.plain), (c, b));
                    assert_eq!(changed.maybe, all[0].maybe);
                    rows.update(&all[0]).replace_item(|r| r.list, &values[2], &values[1]).await.unwrap();
                    rows.update(&all[0]).add_to_set(|r| r.list, &values[1]).await.unwrap();
                    let changed = rows.update(&all[0]).unset(|r| r.optional).returning().await.unwrap().unwrap();
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

table! {
    uuids: uuid::Uuid as "binData", [uuid(0), uuid(1), uuid(255)];
    chrono_dates: chrono::DateTime<chrono::Utc> as "date",
        [chrono(-5, 999), chrono(0, 1), chrono(1_900_000_000_123, 456)];
    chrono_durations: chrono::TimeDelta as "long",
        [chrono::TimeDelta::microseconds(-1), chrono::TimeDelta::zero(), chrono::TimeDelta::milliseconds(8)];
    jiff_dates: jiff::Timestamp as "date", [jiff(-5, 999_999), jiff(0, 1), jiff(1_900_000_000_123, 456)];
    jiff_durations: jiff::SignedDuration as "long",
        [jiff::SignedDuration::from_micros(-1), jiff::SignedDuration::ZERO, jiff::SignedDuration::from_hours(9)];
    time_dates: time::OffsetDateTime as "date", [time(-5, 999_999), time(0, 1), time(1_900_000_000_123, 456)];
    time_utc_dates: time::UtcDateTime as "date",
        [time(-5, 999_999).to_utc(), time(0, 1).to_utc(), time(1_900_000_000_123, 456).to_utc()];
    time_durations: time::Duration as "long",
        [time::Duration::microseconds(-1), time::Duration::ZERO, time::Duration::weeks(9)];
    decimals: rust_decimal::Decimal as "decimal",
        [rust_decimal::Decimal::new(-150, 2), rust_decimal::Decimal::new(3, 1), rust_decimal::Decimal::MAX];
    durations: std::time::Duration as "long",
        [std::time::Duration::from_nanos(1), std::time::Duration::from_millis(1), std::time::Duration::from_secs(3)];
    addresses: std::net::IpAddr as "string",
        ["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap(), "::1".parse().unwrap()];
    sockets: std::net::SocketAddr as "string",
        ["10.0.0.1:80".parse().unwrap(), "10.0.0.2:80".parse().unwrap(), "[::1]:80".parse().unwrap()];
    urls: url::Url as "string", ["https://a.org/", "https://a.org/b", "https://ä.org/?x=ü"].map(|url| url.parse().unwrap());
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
                .update(&all[0])
                .inc(|s| s.total, Money(Decimal::new(1, 2)))
                .inc(|s| s.tip, Decimal::ONE)
                .dec(|s| s.cents, Cents(1))
                .inc(|s| s.took, Duration::from_secs(1))
                .set_key(|s| s.items, "b", 2)
                .returning()
                .await
                .unwrap()
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
                .update(&all[0])
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
            if odm_tests::is_the_stand_in_in_python(&t.db).await {
                odm_tests::skip("needs a server that compares decimals in `$expr`");
            }
            assert_eq!(later().count().await.unwrap(), 2);
            let slow = sales.find(|s| (expr(s.closed) - expr(s.at)).gt(expr(s.took)));
            assert_eq!(slow.count().await.unwrap(), 3);
            let dear = sales.find(|s| expr(s.total).gt(expr(s.tip)));
            assert_eq!(dear.count().await.unwrap(), 1);
            let changed = sales
                .update(&all[1])
                .current_date(|s| s.closed)
                .returning()
                .await
                .unwrap()
                .unwrap();
            assert!(changed.closed > all[1].closed);
            let changed = sales
                .update(&all[1])
                .compute(|s| s.closed, |s| expr(s.at))
                .returning()
                .await
                .unwrap()
                .unwrap();
            assert_eq!(changed.closed, all[1].at);
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
            let changed = change.returning().await.unwrap().unwrap();
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
            assert!(error.contains("2 is no `Level`: it is one of 1, 5, 9"), "{error}");
        });
    }
}
