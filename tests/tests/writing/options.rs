//! Options of the driver on reads and writes, as the server receives them.

use odm::bson::{Document as Bson, doc};
use odm::mongodb::Client;
use odm::mongodb::event::EventHandler;
use odm::mongodb::event::command::CommandEvent;
use odm::mongodb::options::{
    Acknowledgment, Collation, CollationStrength, ReadConcern, ReadPreference, WriteConcern,
};
use odm::options::Options;
use odm::prelude::*;
use odm::{Error, Odm};
use odm_tests::{TestDb, with_db, with_transactions};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "readings", index(fields(name), name = "by_name"))]
struct Reading {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    value: i32,
}

/// Its name is copied, so its writes have a rule.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "sensors")]
struct Sensor {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "rooms")]
struct Room {
    #[serde(rename = "_id")]
    id: i32,
    #[reference(on_delete = restrict)]
    sensor: Ref<Sensor>,
    #[denormalize(from = sensor.name)]
    sensor_name: String,
}

/// An update that pulls an item which is not there leaves the version, so such documents are counted.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "alarms", version, index(fields(name), name = "by_name"))]
struct Alarm {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[embed(max = 3)]
    tags: Vec<String>,
    version: i64,
}

/// The commands that a client sent, whole.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<Bson>>>);

impl Sent {
    fn take(&self, name: &str) -> Vec<Bson> {
        let all = std::mem::take(&mut *self.0.lock().unwrap());
        all.into_iter()
            .filter(|command| command.contains_key(name))
            .collect()
    }

    fn one(&self, name: &str) -> Bson {
        let mut found = self.take(name);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }
}

async fn watched(t: &TestDb) -> (Odm, Sent) {
    let sent = Sent::default();
    let record = sent.clone();
    let mut options = odm_tests::options(false).await;
    options.command_event_handler = Some(EventHandler::callback(move |event| {
        if let CommandEvent::Started(started) = event {
            record.0.lock().unwrap().push(started.command);
        }
    }));
    let db = Client::with_options(options).unwrap().database(t.db.name());
    let odm = Odm::new(db, models![Reading, Sensor, Room, Alarm]).unwrap();
    odm.sync().await.unwrap();
    let readings = [(1, "a"), (2, "A"), (3, "b")].map(|(id, name)| Reading {
        id,
        name: name.into(),
        value: id,
    });
    odm.collection::<Reading>().insert_many(readings).await.unwrap();
    sent.take("none");
    (odm, sent)
}

#[odm_tests::test]
fn a_read_has_the_options_of_its_handle_and_its_own() {
    with_db(async |t| {
        let (odm, sent) = watched(&t).await;
        let reports = odm.with_options(
            Options::new()
                .comment("report")
                .max_time(Duration::from_secs(30))
                .read_concern(ReadConcern::local()),
        );
        let readings = reports.collection::<Reading>();
        readings.get(1).await.unwrap().unwrap();
        let find = sent.one("find");
        assert_eq!(find.get("comment"), Some(&"report".into()));
        assert_eq!(find.get("maxTimeMS"), Some(&30_000.into()));
        assert_eq!(find.get("readConcern"), Some(&doc! { "level": "local" }.into()));

        let own = readings
            .find_all()
            .comment(doc! { "page": 1 })
            .max_time(Duration::from_secs(5));
        assert_eq!(own.count().await.unwrap(), 3);
        let count = sent.one("aggregate");
        assert_eq!(count.get("comment"), Some(&doc! { "page": 1 }.into()));
        assert_eq!(count.get("maxTimeMS"), Some(&5_000.into()));
        assert_eq!(count.get("readConcern"), Some(&doc! { "level": "local" }.into()));

        let all = readings
            .find_all()
            .read_concern(ReadConcern::majority())
            .all()
            .await
            .unwrap();
        assert_eq!(all.len(), 3);
        let find = sent.one("find");
        assert_eq!(
            find.get("readConcern"),
            Some(&doc! { "level": "majority" }.into())
        );
        let nearest = ReadPreference::Nearest { options: None };
        let values = readings
            .find_all()
            .read_preference(nearest.clone())
            .distinct(|r| r.name);
        assert_eq!(values.await.unwrap().len(), 3);
        assert_eq!(sent.one("distinct").get("comment"), Some(&"report".into()));
        let page = readings
            .find_all()
            .sort(|r| r.value.asc())
            .comment("page")
            .page(2);
        page.await.unwrap();
        assert_eq!(sent.one("find").get("comment"), Some(&"page".into()));
        let sums = readings.aggregate().read_preference(nearest).comment("sums");
        let _: Vec<Bson> = sums
            .group(|_| (), |g| g.sum("all", |r| r.value))
            .all()
            .await
            .unwrap();
        assert_eq!(sent.one("aggregate").get("comment"), Some(&"sums".into()));
    });
}

#[odm_tests::test]
fn each_kind_of_write_has_the_comment_and_the_write_concern() {
    with_db(async |t| {
        let (odm, sent) = watched(&t).await;
        let two = WriteConcern::builder()
            .w(Acknowledgment::Nodes(1))
            .journal(true)
            .build();
        let stored = doc! { "w": 1, "j": true };
        let options = Options::new().comment("import").write_concern(two);
        let readings = odm.collection::<Reading>().with_options(options.clone());
        let has_them = |command: Bson| {
            assert_eq!(command.get("comment"), Some(&"import".into()), "{command}");
            assert_eq!(
                command.get("writeConcern"),
                Some(&stored.clone().into()),
                "{command}"
            );
        };
        let reading = |id| Reading {
            id,
            name: "c".into(),
            value: 1,
        };
        readings.insert(reading(4)).await.unwrap();
        has_them(sent.one("insert"));
        readings.insert_many([reading(5), reading(6)]).await.unwrap();
        has_them(sent.one("insert"));
        readings.update(4).inc(|r| r.value, 1).await.unwrap();
        has_them(sent.one("update"));
        readings.update(4).inc(|r| r.value, 1).returning().await.unwrap();
        has_them(sent.one("findAndModify"));
        readings
            .update_where(|r| r.name.eq("c"))
            .set(|r| r.value, 2)
            .await
            .unwrap();
        has_them(sent.one("update"));
        readings
            .update_first(|r| r.name.eq("c"))
            .set(|r| r.value, 3)
            .await
            .unwrap();
        has_them(sent.one("findAndModify"));
        readings.replace(reading(4)).await.unwrap();
        has_them(sent.one("update"));
        readings.delete(4).await.unwrap();
        has_them(sent.one("delete"));
        readings.delete_first(|r| r.name.eq("c")).await.unwrap().unwrap();
        has_them(sent.one("findAndModify"));
        readings.delete_where(|r| r.name.eq("c")).await.unwrap();
        has_them(sent.one("delete"));
        let bulk = odm
            .bulk()
            .options(options)
            .add(odm.collection().insert(reading(7)))
            .add(odm.collection::<Reading>().delete(1));
        bulk.await.unwrap();
        for command in [sent.take("bulkWrite"), sent.take("insert")].concat() {
            has_them(command);
        }
        odm.collection::<Reading>().insert(reading(8)).await.unwrap();
        assert_eq!(sent.one("insert").get("comment"), None);
    });
}

#[odm_tests::test]
fn the_write_concern_of_what_copies_depend_on_is_raised() {
    with_db(async |t| {
        let (odm, sent) = watched(&t).await;
        let one = WriteConcern::builder()
            .w(Acknowledgment::Nodes(1))
            .w_timeout(Duration::from_secs(9))
            .build();
        let sensors = odm.collection::<Sensor>();
        sensors
            .insert(Sensor {
                id: 1,
                name: "hall".into(),
            })
            .write_concern(one)
            .comment("install")
            .await
            .unwrap();
        let insert = sent.one("insert");
        assert_eq!(
            insert.get("writeConcern"),
            Some(&doc! { "w": "majority", "wtimeout": 9_000 }.into())
        );
        let room = NewRoom {
            id: 1,
            sensor: Ref::new(1),
        };
        odm.collection::<Room>().insert(room).await.unwrap();
        sent.take("none");
        // The library's own statements have the comment, too.
        sensors
            .update(1)
            .set(|s| s.name, "cellar")
            .comment("rename")
            .await
            .unwrap();
        let all = std::mem::take(&mut *sent.0.lock().unwrap());
        let statements: Vec<&Bson> = all
            .iter()
            .filter(|command| {
                ["update", "findAndModify"]
                    .iter()
                    .any(|name| command.contains_key(*name))
            })
            .collect();
        assert!(statements.len() >= 2, "{all:?}");
        for statement in statements {
            assert_eq!(statement.get("comment"), Some(&"rename".into()), "{statement}");
        }
    });
}

#[odm_tests::test]
fn a_transaction_has_the_concern_of_its_handle_and_an_operation_of_it_none() {
    with_transactions(async |t| {
        let (odm, sent) = watched(&t).await;
        let concern = WriteConcern::builder()
            .w(Acknowledgment::Nodes(1))
            .w_timeout(Duration::from_secs(7))
            .build();
        let handle = odm.with_options(
            Options::new()
                .write_concern(concern.clone())
                .read_concern(ReadConcern::local())
                .comment("transfer"),
        );
        handle
            .transaction(async |tx| {
                let readings = tx.collection::<Reading>();
                readings.get(1).await?;
                readings.update(1).inc(|r| r.value, 1).await?;
                let refused = readings
                    .update(1)
                    .inc(|r| r.value, 1)
                    .write_concern(concern.clone())
                    .await;
                let refused = refused.unwrap_err().to_string();
                assert!(
                    refused.contains("the `write_concern` of the transaction"),
                    "{refused}"
                );
                let refused = readings.find_all().read_concern(ReadConcern::local()).all().await;
                assert!(matches!(refused, Err(Error::Query { .. })), "{refused:?}");
                Ok(())
            })
            .await
            .unwrap();
        let all = std::mem::take(&mut *sent.0.lock().unwrap());
        let one = |name: &str| all.iter().find(|command| command.contains_key(name)).unwrap();
        assert_eq!(one("update").get("comment"), Some(&"transfer".into()));
        assert_eq!(one("update").get("writeConcern"), None);
        let raised = doc! { "w": "majority", "wtimeout": 7_000 };
        assert_eq!(
            one("commitTransaction").get("writeConcern"),
            Some(&raised.clone().into())
        );
        let begun = one("find").get_document("readConcern").unwrap();
        assert_eq!(begun.get("level"), Some(&"snapshot".into()));
    });
}

#[odm_tests::test]
fn a_write_concern_without_a_reply_is_refused() {
    with_db(async |t| {
        let (odm, sent) = watched(&t).await;
        let none = WriteConcern::builder().w(Acknowledgment::Nodes(0)).build();
        let refused = odm
            .collection::<Reading>()
            .update(1)
            .set(|r| r.value, 2)
            .write_concern(none)
            .await;
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("`w: 0`"), "{message}");
        assert!(sent.take("update").is_empty());
    });
}

#[odm_tests::test]
fn the_first_document_is_found_by_a_collation_and_by_the_index_that_is_named() {
    with_db(async |t| {
        let (odm, sent) = watched(&t).await;
        let readings = odm.collection::<Reading>();
        let ignores_case = Collation::builder()
            .locale("en")
            .strength(CollationStrength::Secondary)
            .build();
        let changed = readings
            .update_first(|r| r.name.eq("B"))
            .collation(ignores_case.clone())
            .set(|r| r.value, 30)
            .returning()
            .await
            .unwrap();
        let command = sent.one("findAndModify");
        assert_eq!(
            command.get_document("collation").unwrap().get("locale"),
            Some(&"en".into())
        );
        match changed {
            Some(changed) => assert_eq!((changed.id, changed.value), (3, 30)),
            None => odm_tests::skip("needs a server that compares by collations"),
        }
        readings
            .update_first(|r| r.name.eq("b"))
            .hint("by_name")
            .set(|r| r.value, 31)
            .await
            .unwrap();
        assert_eq!(sent.one("findAndModify").get("hint"), Some(&"by_name".into()));
        readings
            .update_where(|r| r.name.eq("b"))
            .hint("by_name")
            .set(|r| r.value, 32)
            .await
            .unwrap();
        let update = sent.one("update");
        let statement = update.get_array("updates").unwrap()[0].as_document().unwrap();
        assert_eq!(statement.get("hint"), Some(&"by_name".into()));
        let alarm = |id, tags: &[&str]| NewAlarm {
            id,
            name: "fire".into(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        };
        let alarms = odm.collection::<Alarm>();
        alarms
            .insert_many([alarm(1, &["loud"]), alarm(2, &[])])
            .await
            .unwrap();
        let update = alarms.update_where(|a| a.name.eq("fire")).hint("by_name");
        let done = update.pull(|a| a.tags, "loud").await.unwrap();
        assert_eq!((done.matched, done.modified), (2, 1));
        let update = sent.one("update");
        let both = update.get_array("updates").unwrap().iter();
        let hints = both.map(|statement| statement.as_document().unwrap().get("hint").cloned());
        assert_eq!(hints.collect::<Vec<_>>(), vec![Some("by_name".into()); 2]);
        readings
            .delete_where(|r| r.name.eq("b"))
            .hint("by_name")
            .await
            .unwrap();
        let delete = sent.one("delete");
        let statement = delete.get_array("deletes").unwrap()[0].as_document().unwrap();
        assert_eq!(statement.get("hint"), Some(&"by_name".into()));

        odm.collection::<Sensor>()
            .insert(Sensor {
                id: 1,
                name: "hall".into(),
            })
            .await
            .unwrap();
        let refused = odm
            .collection::<Sensor>()
            .delete_first(|s| s.name.eq("HALL"))
            .collation(ignores_case)
            .await;
        assert!(matches!(refused, Err(Error::Query { .. })), "{refused:?}");
    });
}

#[odm_tests::test]
fn operations_of_a_causally_consistent_handle_ask_for_what_was_seen_before() {
    with_transactions(async |t| {
        let (odm, sent) = watched(&t).await;
        let odm = odm.causally_consistent();
        let readings = odm.collection::<Reading>();
        readings.update(1).set(|r| r.value, 5).await.unwrap();
        let update = sent.one("update");
        assert!(update.contains_key("lsid"), "{update}");
        let read = readings.find(|r| r.value.eq(5)).one().await.unwrap();
        assert_eq!(read.map(|read| read.id), Some(1));
        let find = sent.one("find");
        let after = find
            .get_document("readConcern")
            .and_then(|concern| concern.get_timestamp("afterClusterTime"));
        let after = after.expect("the time of the update");
        // Of a cursor, each batch; and the time only advances.
        assert_eq!(readings.find_all().batch_size(1).all().await.unwrap().len(), 3);
        let finds = sent.take("find");
        let next = finds[0]
            .get_document("readConcern")
            .unwrap()
            .get_timestamp("afterClusterTime")
            .unwrap();
        assert!(next >= after);
        let both = futures::future::join(
            readings.update(2).set(|r| r.value, 6).into_future(),
            readings.update(3).set(|r| r.value, 7).into_future(),
        );
        let (one, other) = both.await;
        one.unwrap();
        other.unwrap();
        let all = readings.find(|r| r.value.gte(5)).count().await.unwrap();
        assert_eq!(all, 3);
        // The library's own transaction, for a copy, is one of these operations, and so is the application's.
        let after = |find: Bson| {
            find.get_document("readConcern")
                .unwrap()
                .get_timestamp("afterClusterTime")
                .unwrap()
        };
        let seen = async || {
            sent.take("none");
            readings.get(1).await.unwrap();
            after(sent.one("find"))
        };
        let before = seen().await;
        odm.collection::<Sensor>()
            .insert(Sensor {
                id: 1,
                name: "hall".into(),
            })
            .await
            .unwrap();
        let room = NewRoom {
            id: 1,
            sensor: Ref::new(1),
        };
        odm.collection::<Room>().insert(room).await.unwrap();
        let copied = seen().await;
        assert!(copied > before, "{copied:?} {before:?}");
        odm.transaction(async |tx| tx.collection::<Reading>().update(1).set(|r| r.value, 8).await)
            .await
            .unwrap();
        assert!(seen().await > copied);
        odm.transaction(async |tx| tx.collection::<Reading>().get(1).await)
            .await
            .unwrap();
    });
}
