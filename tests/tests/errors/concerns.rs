//! The concerns that the library sends where the application's client asks for less than it needs: `w: 1`, the read concern
//! `available`, and secondaries to read from.

use super::copying::{assert_true, atomic, eventual};
use odm::__private::SwitchBulk as _;
use odm::bson::Document as Doc;
use odm::mongodb::event::{EventHandler, command::CommandEvent};
use odm::mongodb::options::{ClientOptions, ReadConcern, ReadPreference, WriteConcern};
use odm::prelude::*;
use odm_tests::{TestDb, require_transactions, with_db, with_transactions};
use std::sync::{Arc, Mutex};

/// The commands as they were sent.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<(String, Doc)>>>);

impl Sent {
    fn take(&self) -> Vec<(String, Doc)> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

async fn weak(t: &TestDb, models: Vec<odm::Model>) -> (Odm, Sent) {
    let sent = Sent::default();
    let mut options = ClientOptions::parse(odm_tests::uri()).await.unwrap();
    let log = sent.0.clone();
    options.command_event_handler = Some(EventHandler::callback(move |event| {
        if let CommandEvent::Started(started) = event {
            log.lock().unwrap().push((started.command_name, started.command));
        }
    }));
    options.write_concern = Some(WriteConcern::nodes(1));
    options.read_concern = Some(ReadConcern::available());
    let secondaries = ReadPreference::SecondaryPreferred {
        options: Default::default(),
    };
    options.selection_criteria = Some(secondaries.into());
    let client = odm::mongodb::Client::with_options(options).unwrap();
    let odm = Odm::new(client.database(t.db.name()), models).unwrap();
    odm.sync().await.unwrap();
    (odm, sent)
}

fn w(command: &Doc) -> Option<String> {
    let w = command.get_document("writeConcern").ok()?.get("w")?;
    Some(w.as_str().map_or_else(|| w.to_string(), str::to_owned))
}

/// Every write is acknowledged by a majority, in a transaction by its commit, and no look of the library's sees what may be
/// taken back.
fn is_strong(sent: &Sent, what: &str) {
    let sent = sent.take();
    let mut writes = 0;
    for (name, command) in &sent {
        let within = command.contains_key("autocommit");
        let level = command
            .get_document("readConcern")
            .and_then(|concern| concern.get_str("level"))
            .ok();
        match name.as_str() {
            "insert" | "update" | "delete" | "findAndModify" | "bulkWrite" if !within => {
                writes += 1;
                assert_eq!(w(command).as_deref(), Some("majority"), "{what}: {command}");
            }
            "commitTransaction" => {
                writes += 1;
                assert_eq!(w(command).as_deref(), Some("majority"), "{what}: {command}");
            }
            "find" | "aggregate" if !within => {
                assert_ne!(level, Some("available"), "{what}: {command}");
                let preference = command.get_document("$readPreference").ok();
                let preference = preference.and_then(|preference| preference.get_str("mode").ok());
                assert_ne!(preference, Some("secondaryPreferred"), "{what}: {command}");
            }
            _ => {}
        }
        if command.get_bool("startTransaction").unwrap_or(false) {
            assert_eq!(level, Some("snapshot"), "{what}: {command}");
        }
    }
    assert!(writes > 0, "{what}: {sent:?}");
}

macro_rules! every_write {
    ($odm:expr, $sent:expr, $mode:ident) => {{
        use $mode::{Author, Book, NewShelf, Shelf, author, book};
        let (odm, sent) = ($odm, $sent);
        let (authors, books) = (odm.collection::<Author>(), odm.collection::<Book>());
        let shelves = odm.collection::<Shelf>();
        authors.insert_many([author(1), author(2)]).await.unwrap();
        sent.take();
        books.insert(book(1, 1)).await.unwrap();
        is_strong(&sent, "insert");
        books.insert_many([book(2, 1), book(3, 2)]).await.unwrap();
        is_strong(&sent, "insert_many");
        let new = NewShelf {
            id: 1,
            books: vec![Ref::new(1), Ref::new(2)],
        };
        shelves.insert(new).await.unwrap();
        is_strong(&sent, "insert of entries");
        authors.update(1).set(|a| a.name, "new").await.unwrap();
        is_strong(&sent, "update of a source");
        authors
            .update_where(|a| a.id.gt(0))
            .set(|a| a.city, Some("new".to_owned()))
            .await
            .unwrap();
        is_strong(&sent, "update_where of sources");
        books.update(1).set(|b| b.author, Ref::new(2)).await.unwrap();
        is_strong(&sent, "move");
        books.update(2).set(|b| b.pages, 7).await.unwrap();
        is_strong(&sent, "update of a child");
        books.update(2).set(|b| b.pages, 8).returning().await.unwrap();
        is_strong(&sent, "update and get");
        shelves.update(1).push(|s| s.books, Ref::new(3)).await.unwrap();
        is_strong(&sent, "push of an entry");
        let mut whole = books.get(2).await.unwrap().unwrap();
        sent.take();
        whole.title = "new".into();
        books.replace(whole).await.unwrap();
        is_strong(&sent, "replace");
        odm.bulk()
            .without_bulk_write_command()
            .add(odm.collection().insert(book(4, 1)))
            .add(authors.update(1).set(|a| a.name, "newer"))
            .await
            .unwrap();
        is_strong(&sent, "bulk");
        books.delete(3).await.unwrap();
        is_strong(&sent, "delete");
        authors.delete(1).await.unwrap();
        is_strong(&sent, "delete, cascade");
        assert_true(&odm).await;
    }};
}

#[odm_tests::test]
fn writes_that_touch_copies_use_majority_whatever_the_client_sets() {
    with_db(async |t| {
        let (odm, sent) = weak(&t, eventual::models().to_vec()).await;
        every_write!(odm, sent, eventual);
    });
}

#[odm_tests::test]
fn transactions_that_touch_copies_are_committed_with_majority() {
    with_transactions(async |t| {
        let (odm, sent) = weak(&t, atomic::models().to_vec()).await;
        require_transactions(&odm).await;
        every_write!(odm, sent, atomic);
    });
}

/// A recovery after a dead process does so, too.
#[odm_tests::test]
fn recover_and_repair_write_with_majority() {
    with_db(async |t| {
        let (odm, sent) = weak(&t, eventual::models().to_vec()).await;
        let (authors, books) = (
            odm.collection::<eventual::Author>(),
            odm.collection::<eventual::Book>(),
        );
        authors.insert(eventual::author(1)).await.unwrap();
        books
            .insert_many((1..=3).map(|id| eventual::book(id, 1)))
            .await
            .unwrap();
        let raw = t.db.collection::<Doc>("authors");
        let marked = odm::bson::doc! {
            "$set": { "name": "new", "_odm.pending.operation": ObjectId::new(), "_odm.pending.fields": { "*": ObjectId::new() } },
            "$inc": { "_odm.version": 1_i64 },
        };
        raw.update_one(odm::bson::doc! { "_id": 1_i64 }, marked)
            .await
            .unwrap();
        sent.take();
        let recovered = odm.recover().await.unwrap();
        assert_eq!(recovered.documents, 1);
        is_strong(&sent, "recover");
        assert_eq!(books.find(|b| b.author_name.eq("new")).count().await.unwrap(), 3);
        let past = odm::bson::doc! { "$set": { "author_name": "wrong" } };
        t.db.collection::<Doc>("books")
            .update_many(odm::bson::doc! {}, past)
            .await
            .unwrap();
        sent.take();
        odm.repair_all().await.unwrap();
        is_strong(&sent, "repair");
        odm.backfill().again().await.unwrap();
        assert_true(&odm).await;
    });
}
