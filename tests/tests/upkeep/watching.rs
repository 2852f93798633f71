//! Change streams: of a collection and of the database, with filters, stored positions and pre-images.

use futures::StreamExt;
use odm::bson::{Document as Doc, doc};
use odm::prelude::*;
use odm::watch::{AnyChange, ChangeEvent, ChangeStream, Watched};
use odm::{Error, geo::Point};
use odm_tests::fixtures::copying::auto as library;
use odm_tests::fixtures::models::{self, Note, Shop, item, note, shop};
use odm_tests::fixtures::routed::routed;
use odm_tests::proxy::{Fate, Proxy, server};
use odm_tests::{TestDb, is_the_stand_in, skip, with_db, with_transactions};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Embed, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub enum State {
    Ready,
    Running,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(
    collection = "jobs",
    pre_and_post_images,
    collation(locale = "en", strength = 2)
)]
pub struct Job {
    #[serde(rename = "_id")]
    pub id: i32,
    pub kind: String,
    #[embed]
    pub state: State,
}

/// The same collection, declared without images.
mod plain {
    use super::*;

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "jobs", collation(locale = "en", strength = 2))]
    pub struct Job {
        #[serde(rename = "_id")]
        pub id: i32,
        pub kind: String,
        #[embed]
        pub state: State,
    }
}

fn job(id: i32, kind: &str, state: State) -> NewJob {
    NewJob {
        id,
        kind: kind.into(),
        state,
    }
}

async fn jobs(t: &TestDb) -> Collection<Job> {
    let odm = Odm::new(t.db.clone(), models![Job]).unwrap();
    odm.sync().await.unwrap();
    if !odm.server().await.unwrap().has_pre_and_post_images() {
        skip("needs pre- and post-images: MongoDB 6.0");
    }
    odm.collection()
}

fn raw(t: &TestDb, name: &str) -> mongodb::Collection<Doc> {
    t.db.collection(name)
}

/// The next item, which has to come soon.
async fn next<E: Watched>(changes: &mut ChangeStream<E>) -> odm::Result<E> {
    let next = tokio::time::timeout(Duration::from_secs(20), changes.next()).await;
    next.expect("a change comes").expect("the stream goes on")
}

async fn ends<E: Watched>(changes: &mut ChangeStream<E>) {
    let next = tokio::time::timeout(Duration::from_secs(20), changes.next()).await;
    assert!(next.expect("the stream ends").is_none());
}

/// The id of a document that was inserted, which is the next change.
async fn inserted(changes: &mut ChangeStream<ChangeEvent<Note>>) -> i64 {
    match next(changes).await.unwrap() {
        ChangeEvent::Inserted { id, .. } => id,
        other => panic!("{other:?}"),
    }
}

#[odm_tests::test]
fn each_kind_of_change_is_an_event() {
    with_transactions(async |t| {
        let odm = models::odm(&t).await;
        let notes = odm.collection::<Note>();
        let mut changes = notes.watch_all().await.unwrap();
        assert_eq!(t.commands.take(), ["aggregate"]);
        let stored = notes.insert(note(1)).await.unwrap();
        notes.update(1).set(|n| n.text, "u").await.unwrap();
        let replacement = Note {
            text: "r".into(),
            ..notes.get(1).await.unwrap().unwrap()
        };
        raw(&t, "notes")
            .replace_one(
                doc! { "_id": 1_i64 },
                odm::bson::serialize_to_document(&replacement).unwrap(),
            )
            .await
            .unwrap();
        notes.delete(1).await.unwrap();
        match next(&mut changes).await.unwrap() {
            ChangeEvent::Inserted { id, after, .. } => assert_eq!((id, after), (1, stored)),
            other => panic!("{other:?}"),
        }
        match next(&mut changes).await.unwrap() {
            ChangeEvent::Updated {
                id, before, fields, ..
            } => {
                assert_eq!((id, before), (1, None));
                assert_eq!(fields.names(), ["text", "updated_at", "version"]);
                assert!(fields.contains(|n| n.text) && !fields.contains(|n| n.lines));
            }
            other => panic!("{other:?}"),
        }
        match next(&mut changes).await.unwrap() {
            ChangeEvent::Replaced { id, after, .. } => assert_eq!((id, after), (1, replacement)),
            // Servers from MongoDB 5.0 on may say a replacement as an update.
            ChangeEvent::Updated { fields, .. } => assert!(fields.contains(|n| n.text)),
            other => panic!("{other:?}"),
        }
        match next(&mut changes).await.unwrap() {
            ChangeEvent::Deleted { id, before, .. } => assert_eq!((id, before), (1, None)),
            other => panic!("{other:?}"),
        }
    });
}

/// A document whose shard key is changed may move to another shard: it is deleted on one and inserted on the other.
#[odm_tests::test]
fn a_document_that_has_moved_to_another_shard_is_not_shown_as_deleted() {
    with_transactions(async |t| {
        models::odm(&t).await;
        let (odm, _proxy, sent) = routed(&t, models![Note]).await;
        let notes = odm.collection::<Note>();
        let mut changes = notes.watch_all().await.unwrap();
        let mut every = odm.watch().start().await.unwrap();
        // The stand-in shows inserts shortly before the stream as well, so both streams read them here.
        notes.insert_many([note(1), note(2), note(3)]).await.unwrap();
        for _ in 0..3 {
            next(&mut changes).await.unwrap();
            next(&mut every).await.unwrap();
        }
        let raw = raw(&t, "notes");
        let mut session = t.db.client().start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        let id = doc! { "_id": 1_i64 };
        let mut moved = raw.find_one(id.clone()).await.unwrap().unwrap();
        moved.insert("text", "moved");
        for id in [id, doc! { "_id": 2_i64 }] {
            raw.delete_one(id).session(&mut session).await.unwrap();
        }
        raw.insert_one(moved).session(&mut session).await.unwrap();
        session.commit_transaction().await.unwrap();
        raw.delete_one(doc! { "_id": 3_i64 }).await.unwrap();
        sent.take();
        // The events of a transaction come in any order where it has written on two shards.
        let mut of_transaction = Vec::new();
        for _ in 0..2 {
            of_transaction.push(match next(&mut changes).await.unwrap() {
                ChangeEvent::Inserted { id, after, .. } => (id, after.text),
                ChangeEvent::Deleted { id, .. } => (id, "deleted".to_owned()),
                other => panic!("{other:?}"),
            });
        }
        of_transaction.sort_unstable();
        assert_eq!(
            of_transaction,
            [(1, "moved".to_owned()), (2, "deleted".to_owned())]
        );
        match next(&mut changes).await.unwrap() {
            ChangeEvent::Deleted { id, .. } => assert_eq!(id, 3),
            other => panic!("{other:?}"),
        }
        let looks = sent.named("find").len();
        assert_eq!(looks, 2, "one for each deletion of a transaction");
        let mut shown = Vec::new();
        for _ in 0..3 {
            shown.push(next(&mut every).await.unwrap().id().cloned());
        }
        shown.sort_by_key(|id| id.as_ref().and_then(odm::bson::Bson::as_i64));
        assert_eq!(shown, [1_i64, 2, 3].map(|id| Some(id.into())));
    });
}

#[odm_tests::test]
fn a_stream_of_a_dropped_collection_ends_and_the_next_one_goes_on_behind_it() {
    with_transactions(async |t| {
        let odm = models::odm(&t).await;
        let notes = odm.collection::<Note>();
        let mut changes = notes.watch_all().resume_as("notes").start().await.unwrap();
        raw(&t, "notes").drop().await.unwrap();
        assert!(matches!(next(&mut changes).await.unwrap(), ChangeEvent::Dropped));
        assert!(matches!(
            next(&mut changes).await.unwrap(),
            ChangeEvent::Invalidated
        ));
        ends(&mut changes).await;
        changes.stop().await.unwrap();
        odm.sync().await.unwrap();
        notes.insert(note(2)).await.unwrap();
        let mut changes = notes.watch_all().resume_as("notes").start().await.unwrap();
        assert_eq!(inserted(&mut changes).await, 2);
    });
}

#[odm_tests::test]
fn a_stream_of_a_renamed_collection_ends() {
    with_transactions(async |t| {
        let odm = models::odm(&t).await;
        let mut changes = odm.collection::<Note>().watch_all().start().await.unwrap();
        let name = |collection: &str| format!("{}.{collection}", t.db.name());
        let rename = doc! { "renameCollection": name("notes"), "to": name("aside") };
        t.db.client().database("admin").run_command(rename).await.unwrap();
        match next(&mut changes).await.unwrap() {
            ChangeEvent::Renamed { from, to, .. } => {
                assert_eq!((from.as_str(), to.as_str()), ("notes", "aside"))
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(
            next(&mut changes).await.unwrap(),
            ChangeEvent::Invalidated
        ));
        ends(&mut changes).await;
    });
}

/// Each filter lets the first shop through, and not the second.
#[odm_tests::test]
fn a_filter_is_on_the_document_after_the_change() {
    with_transactions(async |t| {
        let odm = models::odm(&t).await;
        let shops = odm.collection::<Shop>();
        let filter = |number: i32| {
            let p = Shop::paths();
            match number {
                0 => p.name.eq("a"),
                1 => p.owner.since.gt(2_000) & (p.stars.eq(3) | p.name.starts_with("x")),
                2 => !(p.stars.gte(4) | p.name.eq("b")),
                3 => p.items.elem(|i| i.sku_code.eq("a") & i.quantity.gte(7)),
                4 => p.tags.contains("old") | p.items.contains(item("a", 7)),
                5 => p
                    .place
                    .within(odm::geo::Area::circle(Point::new(0.0, 0.0), 1_000.0)),
                6 => Filter::raw(doc! { "$expr": { "$lt": ["$stars", { "$add": ["$owner.since", 1] }] } }),
                _ => Filter::raw(doc! { "$jsonSchema": { "properties": { "stars": { "maximum": 3 } } } }),
            }
        };
        let mut streams = Vec::new();
        for number in 0..8 {
            streams.push(shops.watch(|_| filter(number)).start().await.unwrap());
        }
        for (name, stars) in [("b", 5), ("a", 3)] {
            let mut new = shop(name, stars);
            if name == "a" {
                new.items = vec![item("a", 7)];
                new.place = Some(Point::new(0.0, 0.0));
            } else {
                new.owner = None;
            }
            shops.insert(new).await.unwrap();
        }
        for (number, changes) in streams.iter_mut().enumerate() {
            match next(changes).await.unwrap() {
                ChangeEvent::Inserted { after, .. } => assert_eq!(after.name, "a", "{number}"),
                other => panic!("{number}: {other:?}"),
            }
        }
    });
}

#[odm_tests::test]
fn a_filter_compares_texts_as_the_collection_does() {
    with_transactions(async |t| {
        let jobs = jobs(&t).await;
        let mut changes = jobs.watch(|j| j.kind.eq("MAIL")).start().await.unwrap();
        for (id, kind) in [(1, "print"), (2, "mail"), (3, "MAIL")] {
            jobs.insert(job(id, kind, State::Ready)).await.unwrap();
        }
        match next(&mut changes).await.unwrap() {
            ChangeEvent::Inserted { id: 3, .. } if is_the_stand_in(&t.db).await => {
                skip("needs collations of change streams")
            }
            ChangeEvent::Inserted { id, .. } => assert_eq!(id, 2),
            other => panic!("{other:?}"),
        }
    });
}

#[odm_tests::test]
fn what_the_server_can_no_longer_compare_is_shown() {
    with_transactions(async |t| {
        let odm = models::odm(&t).await;
        let notes = odm.collection::<Note>();
        notes.insert_many([note(1), note(2)]).await.unwrap();
        let mut changes = notes.watch(|n| n.text.eq("x")).start().await.unwrap();
        notes.update(2).set(|n| n.text, "y").await.unwrap();
        notes.update(1).set(|n| n.text, "x").await.unwrap();
        match next(&mut changes).await.unwrap() {
            ChangeEvent::Updated { id, after, .. } => assert_eq!((id, after.unwrap().text), (1, "x".into())),
            other => panic!("{other:?}"),
        }
        notes.delete(2).await.unwrap();
        match next(&mut changes).await.unwrap() {
            ChangeEvent::Deleted { id, .. } => assert_eq!(id, 2, "its text was another one"),
            other => panic!("{other:?}"),
        }
    });
}

#[odm_tests::test]
fn the_librarys_bookkeeping_is_not_shown() {
    with_transactions(async |t| {
        let odm = library::stocked(&t).await;
        let (authors, books) = (
            odm.collection::<library::Author>(),
            odm.collection::<library::Book>(),
        );
        let mut changes = books.watch(|b| b.id.eq(6)).start().await.unwrap();
        let set = doc! { "_odm.revision": 9_i64, "_copied.author": 1_i64 };
        raw(&t, "books")
            .update_one(doc! { "_id": 6_i64 }, doc! { "$set": set })
            .await
            .unwrap();
        authors.update(2).set(|a| a.name, "Anna").await.unwrap();
        // The stand-in shows inserts from shortly before the stream as well.
        let mut change = next(&mut changes).await.unwrap();
        while let ChangeEvent::Inserted { .. } = change {
            change = next(&mut changes).await.unwrap();
        }
        match change {
            ChangeEvent::Updated { after, fields, .. } => {
                assert!(fields.contains(|b| b.author_name));
                let names = fields.names();
                assert!(
                    names
                        .iter()
                        .all(|name| !name.contains("_odm") && !name.contains("_copied")),
                    "{names:?}"
                );
                assert_eq!(after.unwrap().author_name, "Anna");
            }
            other => panic!("{other:?}"),
        }
    });
}

#[odm_tests::test]
fn a_change_that_does_not_decode_is_an_error_and_the_stream_goes_on() {
    with_transactions(async |t| {
        let odm = models::odm(&t).await;
        let notes = odm.collection::<Note>();
        let mut changes = notes.watch_all().resume_as("notes").start().await.unwrap();
        let off = doc! { "collMod": "notes", "validationLevel": "off" };
        t.db.run_command(off).await.unwrap();
        raw(&t, "notes")
            .insert_one(doc! { "_id": 1_i64, "text": 5 })
            .await
            .unwrap();
        notes.insert(note(2)).await.unwrap();
        let error = next(&mut changes).await.unwrap_err();
        assert!(
            matches!(&error, Error::Decode { collection, id: Some(id), .. } if collection == "notes" && id.as_i64() == Some(1)),
            "{error}"
        );
        assert_eq!(inserted(&mut changes).await, 2);
        // Nor does it come again.
        changes.stop().await.unwrap();
        notes.insert(note(3)).await.unwrap();
        let mut changes = notes.watch_all().resume_as("notes").start().await.unwrap();
        assert_eq!(inserted(&mut changes).await, 3);
    });
}

#[odm_tests::test]
fn a_stream_goes_on_at_its_stored_position() {
    with_transactions(async |t| {
        let odm = models::odm(&t).await;
        let notes = odm.collection::<Note>();
        let mut other = notes.watch_all().resume_as("index").start().await.unwrap();
        let watch = || notes.watch_all().resume_as("mailer").start();
        t.commands.clear();
        let first = watch().await.unwrap();
        assert_eq!(t.commands.take(), ["find", "aggregate", "update"]);
        // It has stored where it began.
        drop(first);
        notes.insert_many((1..=5).map(note)).await.unwrap();
        t.commands.clear();
        let mut changes = watch().await.unwrap();
        assert_eq!(t.commands.take(), ["find", "aggregate"]);
        assert_eq!(inserted(&mut changes).await, 1);
        assert_eq!(inserted(&mut changes).await, 2);
        changes.store_position().await.unwrap();
        assert_eq!(t.commands.times("update"), 1);
        changes.store_position().await.unwrap();
        assert_eq!(t.commands.times("update"), 1, "it is stored");
        // Handed out, and not stored: the process ends before it has done anything.
        assert_eq!(inserted(&mut changes).await, 3);
        drop(changes);
        let mut changes = watch().await.unwrap();
        assert_eq!(inserted(&mut changes).await, 3);
        assert_eq!(inserted(&mut changes).await, 4);
        changes.stop().await.unwrap();
        let mut changes = watch().await.unwrap();
        assert_eq!(inserted(&mut changes).await, 5);
        // Another name is another position.
        assert_eq!(inserted(&mut other).await, 1);
    });
}

#[odm_tests::test]
fn a_position_is_kept_by_a_stream_with_another_filter() {
    with_transactions(async |t| {
        let odm = models::odm(&t).await;
        let notes = odm.collection::<Note>();
        let mut changes = notes
            .watch(|n| n.id.lte(1))
            .resume_as("mailer")
            .start()
            .await
            .unwrap();
        notes.insert_many((1..=2).map(note)).await.unwrap();
        assert_eq!(inserted(&mut changes).await, 1);
        changes.stop().await.unwrap();
        let mut changes = notes
            .watch(|n| n.id.gte(2))
            .resume_as("mailer")
            .start()
            .await
            .unwrap();
        assert_eq!(inserted(&mut changes).await, 2);
    });
}

#[odm_tests::test]
fn two_streams_have_all_changes_each() {
    with_transactions(async |t| {
        let odm = models::odm(&t).await;
        let notes = odm.collection::<Note>();
        let mut all = notes.watch_all().start().await.unwrap();
        let mut even = notes.watch(|n| n.id.in_([2, 4])).start().await.unwrap();
        notes.insert_many((1..=4).map(note)).await.unwrap();
        for id in 1..=4 {
            assert_eq!(inserted(&mut all).await, id);
        }
        for id in [2, 4] {
            assert_eq!(inserted(&mut even).await, id);
        }
    });
}

/// A handle of another process, by way of a proxy.
async fn far(t: &TestDb) -> (Proxy, Collection<Note>) {
    let proxy = Proxy::start(&server().await, 0).await;
    let client = odm::mongodb::Client::with_options(proxy.options().await).unwrap();
    let odm = Odm::new(client.database(t.db.name()), models![Note]).unwrap();
    odm.server().await.unwrap();
    (proxy, odm.collection())
}

/// The answer of a server whose oplog has not the changes since a position any more.
fn history_lost() -> Fate {
    Fate::Answered(doc! {
        "ok": 0.0, "code": 286, "codeName": "ChangeStreamHistoryLost",
        "errmsg": "Resume of change stream was not possible, as the resume point may no longer be in the oplog.",
        "errorLabels": ["NonResumableChangeStreamError"],
    })
}

#[odm_tests::test]
fn a_lost_position_is_an_error_and_a_fresh_start_goes_on() {
    with_transactions(async |t| {
        models::odm(&t).await;
        let (proxy, notes) = far(&t).await;
        let watch = || notes.watch_all().resume_as("mailer");
        watch().start().await.unwrap().stop().await.unwrap();
        proxy.next("aggregate", 1, history_lost());
        let error = watch().start().await.unwrap_err();
        assert!(
            matches!(&error, Error::PositionLost { collection: "notes", name: Some(name), .. } if name == "mailer"),
            "{error}"
        );
        assert!(error.to_string().contains("start_fresh"), "{error}");
        let mut changes = watch().start_fresh().await.unwrap();
        notes.insert(note(2)).await.unwrap();
        assert_eq!(inserted(&mut changes).await, 2);
        // A reader that is too slow.
        proxy.next("getMore", 1, history_lost());
        let error = next(&mut changes).await.unwrap_err();
        assert!(matches!(error, Error::PositionLost { .. }), "{error}");
        ends(&mut changes).await;
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn a_stream_outlives_failures_of_the_network() {
    with_transactions(async |t| {
        let odm = models::odm(&t).await;
        let (proxy, far) = far(&t).await;
        let notes = odm.collection::<Note>();
        let mut changes = far.watch_all().start().await.unwrap();
        notes.insert(note(1)).await.unwrap();
        assert_eq!(inserted(&mut changes).await, 1);
        // More than the driver gets over by itself.
        proxy.next("getMore", 1, Fate::Lost);
        proxy.next("aggregate", 5, Fate::Lost);
        notes.insert(note(2)).await.unwrap();
        assert_eq!(inserted(&mut changes).await, 2);
        notes.insert(note(3)).await.unwrap();
        assert_eq!(inserted(&mut changes).await, 3);
        assert!(proxy.is_done());
        drop(changes);
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn pre_images_show_the_document_before_a_change() {
    with_transactions(async |t| {
        let jobs = jobs(&t).await;
        let mut changes = jobs
            .watch(|j| j.state.eq(State::Ready))
            .pre_images()
            .start()
            .await
            .unwrap();
        jobs.insert(job(1, "mail", State::Ready)).await.unwrap();
        jobs.insert(job(2, "mail", State::Running)).await.unwrap();
        jobs.update(1).set(|j| j.kind, "print").await.unwrap();
        jobs.delete(2).await.unwrap();
        jobs.delete(1).await.unwrap();
        assert!(matches!(
            next(&mut changes).await.unwrap(),
            ChangeEvent::Inserted { id: 1, .. }
        ));
        match next(&mut changes).await.unwrap() {
            ChangeEvent::Updated { id, before, .. } => {
                assert_eq!((id, before.unwrap().kind), (1, "mail".to_owned()))
            }
            other => panic!("{other:?}"),
        }
        // The deletion of a job that was not ready is not shown.
        match next(&mut changes).await.unwrap() {
            ChangeEvent::Deleted { id, before, .. } => {
                assert_eq!((id, before.unwrap().kind), (1, "print".to_owned()))
            }
            other => panic!("{other:?}"),
        }
    });
}

#[odm_tests::test]
fn sync_makes_the_server_keep_images() {
    with_transactions(async |t| {
        let plain = Odm::new(t.db.clone(), models![plain::Job]).unwrap();
        plain.sync().await.unwrap();
        if !plain.server().await.unwrap().has_pre_and_post_images() {
            skip("needs pre- and post-images: MongoDB 6.0");
        }
        let odm = Odm::new(t.db.clone(), models![Job]).unwrap();
        let plan = odm.plan().await.unwrap();
        let expected = "`jobs`: keep pre- and post-images of changed documents, for change streams";
        assert_eq!(plan.to_string(), expected);
        assert_eq!(odm.sync().await.unwrap().changes().len(), 1);
        assert!(odm.plan().await.unwrap().is_empty());
        let plan = plain.plan().await.unwrap();
        assert!(plan.is_empty(), "{plan}");
        assert_eq!(
            plan.notes(),
            ["`jobs`: its pre- and post-images, which are not declared"]
        );
    });
}

#[odm_tests::test]
fn a_standalone_server_has_no_change_streams() {
    with_db(async |t| {
        let odm = Odm::new(t.standalone().await, models![Job]).unwrap();
        odm.sync().await.unwrap();
        let plan = odm.plan().await.unwrap();
        assert!(plan.is_empty(), "{plan}");
        let warning = plan.warning().unwrap();
        assert!(
            warning.contains("no pre- and post-images are kept of `jobs`"),
            "{warning}"
        );
        for watch in [
            odm.collection::<Job>().watch_all(),
            odm.collection::<Job>().watch_all().pre_images(),
        ] {
            let error = watch.start().await.unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::Unsupported {
                        operation: "a change stream",
                        ..
                    }
                ),
                "{error}"
            );
        }
    });
}

#[odm_tests::test]
fn a_filter_that_no_change_stream_takes_is_an_error() {
    with_transactions(async |t| {
        let odm = models::odm(&t).await;
        let shops = odm.collection::<Shop>();
        for watch in [
            shops.watch(|s| s.place.near(Point::new(0.0, 0.0), 10.0)),
            shops.watch(|_| Filter::raw(doc! { "$where": "true" })),
        ] {
            let error = watch.start().await.unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::Query {
                        collection: "shops",
                        ..
                    }
                ),
                "{error}"
            );
        }
        let within = odm.transaction(async |tx| {
            let _ = tx.collection::<Shop>().watch_all().start().await?;
            Ok(())
        });
        assert!(matches!(within.await, Err(Error::Query { .. })));
        let mut unnamed = shops.watch_all().start().await.unwrap();
        assert!(matches!(unnamed.store_position().await, Err(Error::Query { .. })));
        assert!(unnamed.stop().await.is_ok());
    });
}

#[odm_tests::test]
fn a_stream_of_the_database_has_the_changes_of_the_registered_collections() {
    with_transactions(async |t| {
        let odm = models::odm(&t).await;
        let mut changes = odm.watch().resume_as("all").start().await.unwrap();
        raw(&t, "elsewhere").insert_one(doc! { "_id": 1 }).await.unwrap();
        odm.collection::<Note>().insert(note(1)).await.unwrap();
        odm.collection::<Shop>().insert(shop("a", 1)).await.unwrap();
        let change: AnyChange = next(&mut changes).await.unwrap();
        assert_eq!(
            (change.collection(), change.id().and_then(|id| id.as_i64())),
            (Some("notes"), Some(1))
        );
        assert!(change.of::<Shop>().unwrap().is_none());
        assert!(matches!(
            change.of::<Note>().unwrap(),
            Some(ChangeEvent::Inserted { id: 1, .. })
        ));
        // Between the two are the writes of the position, which are not shown.
        changes.store_position().await.unwrap();
        let change = next(&mut changes).await.unwrap();
        assert!(matches!(
            change.of::<Shop>().unwrap(),
            Some(ChangeEvent::Inserted { .. })
        ));
        raw(&t, "notes").drop().await.unwrap();
        let change = next(&mut changes).await.unwrap();
        assert!(matches!(change.of::<Note>().unwrap(), Some(ChangeEvent::Dropped)));
        odm.collection::<Shop>().insert(shop("b", 1)).await.unwrap();
        let change = next(&mut changes).await.unwrap();
        assert_eq!(change.collection(), Some("shops"), "the stream goes on");
    });
}
