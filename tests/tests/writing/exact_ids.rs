//! A statement of one document names it by an exact `_id`, which a router of a sharded cluster takes, whichever operation sends it
//! and whatever other conditions it has.

use odm::bson::{Bson, Document as Doc, doc};
use odm::mongodb::Client;
use odm::mongodb::event::EventHandler;
use odm::mongodb::event::command::CommandEvent;
use odm::mongodb::options::ClientOptions;
use odm::prelude::*;
use odm_tests::{TestDb, assert_clean, options, with_db};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "boards")]
struct Board {
    #[serde(rename = "_id")]
    id: i32,
    tenant: String,
    name: String,
}

/// It goes with its board, so the deletion of a board is a walk.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "cards")]
struct Card {
    #[serde(rename = "_id")]
    id: i32,
    tenant: String,
    #[reference(on_delete = cascade)]
    board: Ref<Board>,
}

/// No rule concerns it.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "notes")]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    tenant: String,
}

#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<Doc>>>);

impl Sent {
    /// The updates, deletions and `findAndModify` commands of a collection since the last time: the filter of each, and whether it is of
    /// one document.
    fn take(&self, collection: &str) -> Vec<(Doc, bool)> {
        let commands = std::mem::take(&mut *self.0.lock().unwrap());
        let mut all = Vec::new();
        for command in commands {
            let name = command.keys().next().cloned().unwrap();
            if name == "bulkWrite" {
                for op in documents(&command, "ops") {
                    if let Ok(filter) = op.get_document("filter") {
                        all.push((filter.clone(), !op.get_bool("multi").unwrap_or(false)));
                    }
                }
            }
            if command.get_str(&name).ok() != Some(collection) {
                continue;
            }
            match name.as_str() {
                "update" => all.extend(documents(&command, "updates").map(|one| {
                    let filter = one.get_document("q").unwrap().clone();
                    (filter, !one.get_bool("multi").unwrap_or(false))
                })),
                "delete" => all.extend(documents(&command, "deletes").map(|one| {
                    let filter = one.get_document("q").unwrap().clone();
                    (filter, one.get_i32("limit").ok() == Some(1))
                })),
                "findAndModify" => all.push((command.get_document("query").unwrap().clone(), true)),
                _ => {}
            }
        }
        all
    }
}

fn documents<'c>(command: &'c Doc, list: &str) -> impl Iterator<Item = &'c Doc> {
    command
        .get_array(list)
        .into_iter()
        .flatten()
        .filter_map(Bson::as_document)
}

async fn recorded(t: &TestDb, mut options: ClientOptions) -> (Odm, Sent) {
    let sent = Sent::default();
    let record = sent.clone();
    options.command_event_handler = Some(EventHandler::callback(move |event| {
        if let CommandEvent::Started(started) = event {
            record.0.lock().unwrap().push(started.command);
        }
    }));
    let db = Client::with_options(options).unwrap().database(t.db.name());
    let odm = Odm::new(db, models![Board, Card, Note]).unwrap();
    (odm, sent)
}

async fn fill(t: &TestDb) {
    let insert = async |name: &str, document: Doc| {
        let collection = t.db.collection::<Doc>(name);
        collection.delete_many(doc! {}).await.unwrap();
        collection.insert_one(document).await.unwrap();
    };
    insert("boards", doc! { "_id": 1, "tenant": "a", "name": "b" }).await;
    insert("cards", doc! { "_id": 1, "tenant": "a", "board": 1 }).await;
    insert("notes", doc! { "_id": 1, "tenant": "a" }).await;
}

/// Deletions of one document, each with its name.
macro_rules! deletions {
    ($($name:literal |$odm:ident| $delete:expr;)*) => {
        [$(($name, Box::new(|$odm: Odm| -> futures::future::BoxFuture<'static, ()> {
            Box::pin(async move { $delete.await.map(drop).unwrap() })
        }) as Box<dyn Fn(Odm) -> futures::future::BoxFuture<'static, ()>>)),*]
    };
}

#[odm_tests::test]
fn a_deletion_of_one_document_is_sent_by_its_exact_id() {
    with_db(async |t| {
        let boards = deletions! {
            "delete" |odm| odm.collection::<Board>().delete(1);
            "delete of a document" |odm| async move {
                let board = odm.collection::<Board>().get(1).await?.unwrap();
                odm.collection::<Board>().delete(board.id).await
            };
            "bulk" |odm| odm.bulk().add(odm.collection::<Board>().delete(1));
            "delete_where" |odm| odm.collection::<Board>().delete_where(|b| b.id.eq(1) & b.tenant.eq("a"));
            "delete_where, the id twice" |odm| {
                odm.collection::<Board>().delete_where(|b| b.id.in_([1]) & b.name.eq("b") & b.id.eq(1))
            };
            "delete_first" |odm| odm.collection::<Board>().delete_first(|b| b.tenant.eq("a") & b.name.eq("b"));
            "delete_first by the id" |odm| odm.collection::<Board>().delete_first(|b| b.id.in_([1, 2]));
        };
        for standalone in [false, true] {
            let (odm, sent) = recorded(&t, options(standalone).await).await;
            let scoped = odm.scoped(Board::paths().tenant, "a").unwrap();
            for (handle, scope) in [(odm.clone(), false), (scoped, true)] {
                for (name, delete) in &boards {
                    fill(&t).await;
                    sent.take("boards");
                    delete(handle.clone()).await;
                    let statements = sent.take("boards");
                    let what = format!("{name}, scoped: {scope}, standalone: {standalone}: {statements:?}");
                    assert!(!statements.is_empty(), "{what}");
                    for (filter, of_one) in &statements {
                        assert!(*of_one && filter.get("_id") == Some(&Bson::Int32(1)), "{what}");
                        let twice = |name: &str| {
                            let more = documents(filter, "$and").filter(|one| one.contains_key(name));
                            more.count() > 0
                        };
                        assert!(!twice("_id") && !twice("tenant"), "{what}");
                    }
                    for name in ["boards", "cards"] {
                        let collection = t.db.collection::<Doc>(name);
                        let left = collection.count_documents(doc! {}).await.unwrap();
                        assert_eq!(left, 0, "{what}");
                    }
                }
            }
            assert_clean(&odm).await;
        }
    });
}

#[odm_tests::test]
fn a_condition_that_repeats_the_scope_is_sent_once() {
    with_db(async |t| {
        let (odm, sent) = recorded(&t, options(false).await).await;
        let scoped = odm.scoped(Board::paths().tenant, "a").unwrap();
        let notes = scoped.collection::<Note>();
        fill(&t).await;
        sent.take("notes");
        let found = notes
            .update_first(|n| n.id.eq(1) & n.tenant.eq("a"))
            .set(|n| n.tenant, "a");
        assert!(found.returning().await.unwrap().is_some());
        notes
            .update_where(|n| n.tenant.eq("a") & n.id.eq(1))
            .set(|n| n.tenant, "a")
            .await
            .unwrap();
        assert!(
            notes
                .delete_first(|n| n.tenant.eq("a") & n.id.eq(1))
                .await
                .unwrap()
                .is_some()
        );
        let filters = sent.take("notes");
        assert_eq!(filters.len(), 3, "{filters:?}");
        for (filter, _) in filters {
            let tenant = match filter.get("tenant").unwrap() {
                Bson::Document(operators) => operators.get("$eq").unwrap().clone(),
                value => value.clone(),
            };
            assert_eq!(tenant, Bson::from("a"), "{filter}");
            assert!(
                filter.get("_id").is_some() && !filter.contains_key("$and"),
                "{filter}"
            );
        }
    });
}

/// Which statements the harness takes: see `filters` of `odm_tests`.
#[odm_tests::test]
fn a_test_fails_that_sends_a_filter_which_a_router_refuses() {
    let sends = |filter: Doc| {
        std::panic::catch_unwind(move || {
            with_db(|t| {
                let filter = filter.clone();
                async move {
                    let deleted = t.db.collection::<Doc>("c").delete_one(filter).await;
                    assert_eq!(deleted.unwrap().deleted_count, 0);
                }
            });
        })
    };
    assert!(sends(doc! { "_id": 1, "a": 2 }).is_ok());
    assert!(sends(doc! { "a": 2, "$and": [{ "_id": { "$in": [1] } }, { "_id": 1 }] }).is_err());
}
