//! Capped collections, time series and views: created as declared, compared, read and written.

use futures::TryStreamExt;
use odm::bson::{self, doc};
use odm::mongodb::Client;
use odm::mongodb::event::EventHandler;
use odm::mongodb::event::command::CommandEvent;
use odm::prelude::*;
use odm::query::Aggregate;
use odm::{Error, Model, schema};
use odm_tests::{TestDb, assert_clean, skip, with_db};
use std::sync::{Arc, Mutex};

/// A handle whose commands of one name are recorded, whole.
async fn watched(
    t: &TestDb,
    name: &'static str,
    models: impl IntoIterator<Item = Model>,
) -> (Odm, Arc<Mutex<Vec<bson::Document>>>) {
    let sent: Arc<Mutex<Vec<bson::Document>>> = Arc::default();
    let record = sent.clone();
    let mut options = odm_tests::options(false).await;
    options.command_event_handler = Some(EventHandler::callback(move |event| {
        if let CommandEvent::Started(started) = event
            && started.command_name == name
        {
            record.lock().unwrap().push(started.command);
        }
    }));
    let db = Client::with_options(options).unwrap().database(t.db.name());
    (Odm::new(db, models).unwrap(), sent)
}

async fn conflict(t: &TestDb, models: impl IntoIterator<Item = Model>) -> String {
    let plan = Odm::new(t.db.clone(), models).unwrap().plan().await.unwrap();
    let conflicts = plan
        .changes()
        .iter()
        .filter(|change| matches!(change, schema::Change::Conflict { .. }));
    conflicts
        .map(schema::Change::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "lines", capped(size = 100_000, max = 3))]
struct Line {
    id: i32,
    text: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "lines", capped(size = 200_000))]
struct LargerLine {
    id: i32,
    text: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "lines")]
struct PlainLine {
    id: i32,
    text: String,
}

#[odm_tests::test]
fn a_capped_collection_is_created_as_it_is_declared() {
    with_db(async |t| {
        let (odm, sent) = watched(&t, "create", models![Line]).await;
        assert!(
            odm.plan()
                .await
                .unwrap()
                .to_string()
                .contains("create the capped collection `lines` with a validator")
        );
        odm.sync().await.unwrap();
        let create = sent.lock().unwrap().remove(0);
        assert_eq!(
            (create.get_bool("capped"), create.get("size"), create.get("max")).1,
            Some(&100_000.into())
        );
        assert_eq!(create.get("max"), Some(&3.into()));
        assert!(create.contains_key("validator"), "{create}");
        let names = doc! { "listCollections": 1, "filter": { "name": "lines", "options.capped": true } };
        if t.db
            .run_cursor_command(names)
            .await
            .unwrap()
            .try_next()
            .await
            .unwrap()
            .is_none()
        {
            skip("needs capped collections");
        }
        let plan = odm.plan().await.unwrap();
        assert!(plan.is_empty(), "{plan}");
        let lines = odm.collection::<Line>();
        for id in 1..=5 {
            lines.insert(NewLine { id, text: "x".into() }).await.unwrap();
        }
        let there = lines.find_all().sort(|l| l.id.asc()).all().await.unwrap();
        assert!(
            there.ends_with(&[Line {
                id: 5,
                text: "x".into()
            }]),
            "{there:?}"
        );
        let larger = conflict(&t, models![LargerLine]).await;
        assert!(
            larger.contains("declared 200000 bytes; a smaller one loses documents"),
            "{larger}"
        );
        let plain = Odm::new(t.db.clone(), models![PlainLine])
            .unwrap()
            .plan()
            .await
            .unwrap();
        let note = "that it is capped, which is not declared";
        assert!(plain.notes().iter().any(|one| one.contains(note)), "{plain}");
    });
}

#[odm_tests::test]
fn a_plain_collection_is_not_made_a_capped_one() {
    with_db(async |t| {
        Odm::new(t.db.clone(), models![PlainLine])
            .unwrap()
            .sync()
            .await
            .unwrap();
        let refused = conflict(&t, models![Line]).await;
        assert!(
            refused.contains("the collection is not capped, declared to be of 100000 bytes and 3 documents"),
            "{refused}"
        );
        assert!(refused.contains("convertToCapped"), "{refused}");
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "sensors")]
struct Sensor {
    id: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(
    collection = "readings",
    time_series(time = at, meta = sensor, granularity = minutes, expire_after = 86_400)
)]
struct Reading {
    id: ObjectId,
    #[field(name = "t")]
    at: DateTime,
    #[reference(on_delete = keep)]
    sensor: Ref<Sensor>,
    celsius: f64,
}

#[odm_tests::test]
fn a_time_series_is_created_as_it_is_declared() {
    with_db(async |t| {
        let (odm, sent) = watched(&t, "create", models![Sensor, Reading]).await;
        if let Err(Error::Unsupported { needs, .. }) = odm.plan().await {
            assert_eq!(needs, "MongoDB 5.0");
            skip("needs MongoDB 5.0");
        }
        let plan = odm.plan().await.unwrap().to_string();
        assert!(plan.contains("create the time series `readings`"), "{plan}");
        let synced = odm.sync().await;
        let sent: Vec<bson::Document> = sent.lock().unwrap().clone();
        let create = sent
            .iter()
            .find(|create| create.get_str("create").is_ok_and(|name| name == "readings"))
            .unwrap();
        let series = doc! { "timeField": "t", "metaField": "sensor", "granularity": "minutes" };
        assert_eq!(create.get_document("timeseries").unwrap(), &series);
        assert_eq!(create.get("expireAfterSeconds"), Some(&86_400.into()));
        assert!(!create.contains_key("validator"), "{create}");
        let listed = doc! { "listCollections": 1, "filter": { "name": "readings", "type": "timeseries" } };
        if t.db
            .run_cursor_command(listed)
            .await
            .unwrap()
            .try_next()
            .await
            .unwrap()
            .is_none()
        {
            skip("needs time series");
        }
        synced.unwrap();
        let plan = odm.plan().await.unwrap();
        assert!(plan.is_empty(), "{plan}");
        odm.collection::<Sensor>()
            .insert(NewSensor { id: 1 })
            .await
            .unwrap();
        let readings = odm.collection::<Reading>();
        let new = |sensor| NewReading {
            at: DateTime::now(),
            sensor: Ref::new(sensor),
            celsius: 20.5,
        };
        let error = readings.insert(new(2)).await.unwrap_err();
        assert!(matches!(error, Error::MissingReference { .. }), "{error}");
        let stored = readings.insert_many([new(1), new(1)]).await.unwrap();
        let warm = readings.find(|r| r.celsius.gt(20.0) & r.sensor.eq(Ref::new(1)));
        assert_eq!(warm.all().await.unwrap().len(), stored.len());
        let raw = readings
            .update(stored[0].id)
            .raw(doc! { "$set": { "celsius": 1.0 } })
            .await
            .unwrap_err();
        assert!(
            raw.to_string().contains("is a measurement of a time series"),
            "{raw}"
        );
        odm.collection::<Sensor>().delete(1).await.unwrap();
        assert_clean(&odm).await;
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "readings", time_series(time = at))]
struct Restricted {
    id: ObjectId,
    at: DateTime,
    #[reference]
    sensor: Ref<Sensor>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "alarms")]
struct Alarm {
    id: i32,
    #[reference]
    reading: Ref<Restricted>,
}

#[odm_tests::test]
fn rules_that_a_time_series_can_not_keep_are_refused() {
    with_db(async |t| {
        let error = Odm::new(t.db.clone(), models![Sensor, Restricted, Alarm])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`Restricted.sensor` has `on_delete = restrict`"),
            "{error}"
        );
        assert!(
            error.contains("`Restricted` is stored in a time series, where the server deletes documents"),
            "{error}"
        );
        assert!(error.contains("`Alarm.reading` refers to it"), "{error}");
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "customers", shared(cents))]
struct Customer {
    id: i32,
    name: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "orders", soft_delete)]
struct Order {
    id: i32,
    #[reference]
    customer: Ref<Customer>,
    #[denormalize(from = customer.name)]
    customer_name: String,
    cents: i64,
    shipped: bool,
    deleted_at: Option<DateTime>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "open_orders", view(of = Order, pipeline = open_orders))]
struct OpenOrder {
    id: i32,
    #[reference]
    customer: Ref<Customer>,
    customer_name: String,
    cents: i64,
}

fn open_orders(orders: Aggregate<Order>) -> Aggregate<Order> {
    orders.filter(|o| o.shipped.eq(false))
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "open_orders", view(of = Order, pipeline = large_orders))]
struct LargeOrder {
    id: i32,
    cents: i64,
}

fn large_orders(orders: Aggregate<Order>) -> Aggregate<Order> {
    orders.filter(|o| o.cents.gte(1_000))
}

async fn with_orders(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Customer, Order, OpenOrder]).unwrap();
    odm.sync().await.unwrap();
    odm.collection::<Customer>()
        .insert(NewCustomer {
            id: 1,
            name: "Kate".into(),
        })
        .await
        .unwrap();
    for (id, cents, shipped) in [
        (1, 500, false),
        (2, 1_500, false),
        (3, 2_500, true),
        (4, 3_500, false),
    ] {
        let order = NewOrder {
            id,
            customer: Ref::new(1),
            cents,
            shipped,
        };
        odm.collection::<Order>().insert(order).await.unwrap();
    }
    odm.collection::<Order>().delete(4).await.unwrap();
    odm
}

#[odm_tests::test]
fn a_view_is_read_as_other_documents_are() {
    with_db(async |t| {
        let odm = with_orders(&t).await;
        let plan = odm.plan().await.unwrap();
        assert!(plan.is_empty(), "{plan}");
        let open = odm.collection::<OpenOrder>();
        let ids = async |find: odm::query::Find<OpenOrder>| {
            find.sort(|o| o.id.asc())
                .all()
                .await
                .unwrap()
                .iter()
                .map(|o| o.id)
                .collect::<Vec<_>>()
        };
        // The shipped and the deleted one are not shown.
        assert_eq!(ids(open.find_all()).await, [1, 2]);
        assert_eq!(ids(open.find(|o| o.cents.gt(600))).await, [2]);
        assert_eq!(open.get(3).await.unwrap(), None);
        assert_eq!(open.find_all().count().await.unwrap(), 2);
        let page = open.find_all().sort(|o| o.id.asc()).page(1).await.unwrap();
        let next = open
            .find_all()
            .sort(|o| o.id.asc())
            .page(1)
            .after(page.next.unwrap())
            .await
            .unwrap();
        assert_eq!(next.items[0].id, 2);
        let (_, customer) = open
            .find(|o| o.id.eq(1))
            .include(|o| o.customer)
            .all()
            .await
            .unwrap()
            .remove(0);
        assert_eq!(customer.name, "Kate");
        // A view takes part in no rule: the customer's name follows in the orders, and is shown by the view.
        odm.collection::<Customer>()
            .update(1)
            .set(|c| c.name, "Ann")
            .await
            .unwrap();
        assert_eq!(open.get(1).await.unwrap().unwrap().customer_name, "Ann");
        let sum: Vec<bson::Document> = open
            .aggregate()
            .stage(doc! { "$group": { "_id": null, "cents": { "$sum": "$cents" } } })
            .all()
            .await
            .unwrap();
        assert_eq!(sum[0].get_i64("cents").unwrap(), 2_000);
        let raw = open
            .update(1)
            .raw(doc! { "$set": { "cents": 1 } })
            .await
            .unwrap_err();
        assert!(
            raw.to_string().contains("is shown by a view, and only read"),
            "{raw}"
        );
        let watched = open.watch_all().start().await.unwrap_err();
        let instead = "watch the documents that it shows";
        assert!(watched.to_string().contains(instead), "{watched}");
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn a_view_follows_its_declaration() {
    with_db(async |t| {
        with_orders(&t).await;
        let odm = Odm::new(t.db.clone(), models![Customer, Order, LargeOrder]).unwrap();
        let plan = odm.plan().await.unwrap().to_string();
        assert!(
            plan.contains("`open_orders`: change the pipeline of the view"),
            "{plan}"
        );
        if odm_tests::is_the_stand_in_in_python(&t.db).await {
            odm_tests::skip("needs a server that changes the pipeline of a view");
        }
        // The scope of a handle does not get into the view.
        let scoped = odm.scoped(Order::paths().cents, 1).unwrap();
        scoped.sync().await.unwrap();
        let plan = odm.plan().await.unwrap();
        assert!(plan.is_empty(), "{plan}");
        let large = odm
            .collection::<LargeOrder>()
            .find_all()
            .sort(|o| o.id.asc())
            .all()
            .await
            .unwrap();
        assert_eq!(large.iter().map(|o| o.id).collect::<Vec<_>>(), [2, 3]);
    });
}

#[odm_tests::test]
fn a_view_of_what_is_no_model_is_refused() {
    with_db(async |t| {
        let error = Odm::new(t.db.clone(), models![Customer, OpenOrder])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`OpenOrder` is a view of `Order`, which is not among the models"),
            "{error}"
        );
    });
}
