//! How other systems fail at this: one test for each failure that damaged somebody's production data.
//!
//! Each quotes the row of the list that it stands for: the failure, and where it was seen.

use super::copying::{
    assert_true, atomic, auto, eventual, mortal, mortal_in, raw, watched, with_pending_work,
};
use futures::FutureExt;
use odm::__private::SwitchBulk as _;
use odm::Error;
use odm::bson::{Document as Doc, doc};
use odm::mongodb::event::command::CommandEvent;
use odm::prelude::*;
use odm::references::FanOut;
use odm_tests::fixtures::interleaved::{interrupted, interrupted_in};
use odm_tests::{lacks_transactions, require_transactions, with_db, with_transactions};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// "crash between source and copies: copies stale for ever": every hook-based library read (mongoid_alize,
/// herteby:denormalize, MongoEngine CachedReferenceField, …).
#[odm_tests::test]
fn a_crash_between_source_and_copies_leaves_nothing_stale() {
    with_db(async |t| {
        let odm = auto::stocked(&t).await;
        let books = odm.collection::<auto::Book>();
        let modes = if lacks_transactions(&odm).await {
            &[true][..]
        } else {
            &[false, true]
        };
        for alone in modes.iter().copied() {
            let dead = mortal_in(alone, &t, auto::models()).await;
            let (mut cuts, mut pending) = (0, 0);
            loop {
                let name = format!("after {cuts} commands, {alone}");
                let new = name.clone();
                let died = dead
                    .dies_after(cuts, async move |odm| {
                        let authors = odm.collection::<auto::Author>();
                        authors.update(1).set(|a| a.name, new).await.unwrap();
                    })
                    .await;
                pending += with_pending_work(&odm).await.len();
                assert_true(&odm).await;
                let author = odm.collection::<auto::Author>().get(1).await.unwrap().unwrap();
                let right = books.find(|b| b.author_name.eq(author.name.clone())).count();
                assert_eq!(right.await.unwrap(), 5, "{name}");
                if !died {
                    assert_eq!(author.name, name);
                    break;
                }
                cuts += 1;
            }
            assert!(cuts >= 4, "a write with copies is several commands, not {cuts}");
            // In a transaction nothing is in between, also not in a chain.
            assert_eq!(pending > 0, alone, "{pending} documents have pending work");
        }
    });
}

/// "older update overtakes newer, old value wins": PeerDB (guards by value, not version), mongodb-data-sync.
#[odm_tests::test]
fn an_older_update_that_overtakes_a_newer_one_does_not_win() {
    with_db(async |t| {
        let odm = eventual::stocked(&t).await;
        // The first is about to deliver when the second comes, and is done before the first goes on. The second sets the
        // name that was there before, too: a guard by value would take it for the first one's starting point.
        for newer in ["newer", "author 1"] {
            let slow = interrupted(&t, eventual::models(), "update", "books", move |db| {
                async move {
                    let odm = Odm::new(db, eventual::models()).unwrap();
                    let authors = odm.collection::<eventual::Author>();
                    authors.update(1).set(|a| a.name, newer).await.unwrap();
                    let book = odm.collection::<eventual::Book>().get(1).await.unwrap().unwrap();
                    assert_eq!(book.author_name, newer);
                }
                .boxed()
            })
            .await;
            let authors = slow.collection::<eventual::Author>();
            authors.update(1).set(|a| a.name, "older").await.unwrap();
            for book in odm.collection::<eventual::Book>().of_author(1).await {
                assert_eq!(book.author_name, newer, "book {}", book.id);
            }
            assert_true(&odm).await;
        }
    });
}

trait OfAuthor {
    async fn of_author(&self, id: i64) -> Vec<eventual::Book>;
}

impl OfAuthor for odm::Collection<eventual::Book> {
    async fn of_author(&self, id: i64) -> Vec<eventual::Book> {
        let author = Ref::new(id);
        self.find(|b| b.author.eq(author)).all().await.unwrap()
    }
}

/// The place that the reconcilers have stored.
async fn place(t: &odm_tests::TestDb) -> Doc {
    let state = t.db.collection::<Doc>("_odm_state");
    let found = state.find_one(doc! { "token": { "$exists": true } }).await;
    found.unwrap().expect("a place is stored")
}

/// The changes that a reconciler sees until now are taken up.
async fn reconcile(odm: &Odm) {
    let reconciler = odm.reconciler().start().await.unwrap();
    reconciler.caught_up().await.unwrap();
    reconciler.stop().await.unwrap();
}

/// Changes an author as a program does that knows nothing of the library.
async fn past_the_library(db: &odm::mongodb::Database, name: &str) {
    let author = (db.collection::<Doc>("authors"), doc! { "$set": { "name": name } });
    let mut session = db.client().start_session().await.unwrap();
    // Within a transaction: an update outside of one keeps the lock of its collection on SecantusDB while it waits for a transaction, whose
    // next statement waits for that lock.
    let changed = session
        .start_transaction()
        .and_run(author, |session, (authors, set)| {
            let changed = authors.update_one(doc! { "_id": 1_i64 }, set.clone());
            async move { changed.session(session).await }.boxed()
        });
    assert_eq!(changed.await.unwrap().modified_count, 1);
}

/// "resume token stored before the event is applied": mongodb-data-sync.
#[odm_tests::test]
fn the_resume_token_is_stored_after_its_changes_are_applied() {
    with_db(async |t| {
        let odm = eventual::stocked(&t).await;
        require_transactions(&odm).await;
        reconcile(&odm).await;
        let mut writes = 0;
        loop {
            // It dies at its n-th write of documents, which is not sent any more.
            let (left, died) = (AtomicU64::new(writes), Arc::new(AtomicU64::new(0)));
            let dies = died.clone();
            let dying = watched(&t, eventual::models(), move |event| {
                let CommandEvent::Started(started) = event else {
                    return;
                };
                let name = started.command_name.as_str();
                let is_write = matches!(
                    name,
                    "update" | "insert" | "delete" | "findAndModify" | "bulkWrite"
                );
                let of_its_own = started.command.get_str(name).is_ok_and(|of| of.starts_with('_'));
                let before =
                    || left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
                if is_write && !of_its_own && before().is_err() {
                    dies.store(1, Ordering::SeqCst);
                    // Unwinding without the hook's message, which would only confuse.
                    std::panic::resume_unwind(Box::new("killed"));
                }
            })
            .await;
            let reconciler = dying.reconciler().start().await.unwrap();
            // Behind what was written before, which it passes without a write.
            reconciler.caught_up().await.unwrap();
            let before = place(&t).await;
            let name = format!("after {writes} writes");
            past_the_library(&t.db, &name).await;
            let ended = reconciler.caught_up().await;
            if died.load(Ordering::SeqCst) == 0 {
                ended.unwrap();
                reconciler.stop().await.unwrap();
                break;
            }
            assert!(matches!(ended, Err(Error::Query { .. })), "{ended:?}");
            assert_eq!(place(&t).await, before, "it died {name}");
            drop(reconciler);
            // So another one comes by the same change.
            reconcile(&odm).await;
            for book in odm.collection::<eventual::Book>().of_author(1).await {
                assert_eq!(book.author_name, name, "book {}", book.id);
            }
            assert_ne!(place(&t).await, before);
            assert_true(&odm).await;
            writes += 1;
        }
        assert!(
            writes >= 2,
            "the version is raised, and the copies are written: not {writes} writes"
        );
        assert_true(&odm).await;
    });
}

/// "events of one source applied in parallel": mongodb-data-sync.
#[odm_tests::test]
fn several_reconcilers_with_changes_of_one_source_end_with_the_newest() {
    with_db(async |t| {
        let odm = eventual::stocked(&t).await;
        require_transactions(&odm).await;
        reconcile(&odm).await;
        let all_are = async |name: &str| {
            for book in odm.collection::<eventual::Book>().of_author(1).await {
                assert_eq!(book.author_name, name, "book {}", book.id);
            }
        };
        // One is about to write the older value when another one has written the newer, and is done before it goes on.
        let held = Arc::new(AtomicU64::new(0));
        let holds = held.clone();
        let slow = interrupted(&t, eventual::models(), "update", "books", move |db| {
            async move {
                past_the_library(&db, "newer").await;
                let odm = Odm::new(db, eventual::models()).unwrap();
                reconcile(&odm).await;
                let book = odm.collection::<eventual::Book>().get(1).await.unwrap().unwrap();
                assert_eq!(book.author_name, "newer");
                holds.store(1, Ordering::SeqCst);
            }
            .boxed()
        })
        .await;
        let reconciler = slow.reconciler().start().await.unwrap();
        past_the_library(&t.db, "older").await;
        reconciler.caught_up().await.unwrap();
        reconciler.stop().await.unwrap();
        assert_eq!(held.load(Ordering::SeqCst), 1, "it was held back");
        all_are("newer").await;
        assert_true(&odm).await;

        // Many changes, which all of three take up, each as it comes to them.
        let mut reconcilers = Vec::new();
        for _ in 0..3 {
            let other = watched(&t, eventual::models(), |_| ()).await;
            reconcilers.push(other.reconciler().start().await.unwrap());
        }
        for n in 0..60 {
            past_the_library(&t.db, &format!("name {n}")).await;
            if n % 20 == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
        for reconciler in reconcilers {
            reconciler.caught_up().await.unwrap();
            reconciler.stop().await.unwrap();
        }
        all_are("name 59").await;
        assert_true(&odm).await;
    });
}

/// "array element found by index, then `$set arr.<index>` while another writer shifts the array": herteby:denormalize.
#[odm_tests::test]
fn an_array_that_is_shifted_meanwhile_gets_the_copy_at_the_right_item() {
    with_db(async |t| {
        // Where there are transactions, the one of the two waits for the other.
        let odm = t.standalone_of(&auto::stocked(&t).await).await;
        let shift = |db: odm::mongodb::Database| {
            async move {
                let odm = Odm::new(db, auto::models()).unwrap();
                let shelves = odm.collection::<auto::Shelf>();
                shelves.update(1).pull(|s| s.books, Ref::new(1)).await.unwrap();
            }
            .boxed()
        };
        let slow = interrupted_in(true, &t, auto::models(), ("update", "shelves"), shift).await;
        let books = slow.collection::<auto::Book>();
        books.update(3).set(|b| b.title, "new").await.unwrap();
        let shelf = odm.collection::<auto::Shelf>().get(1).await.unwrap().unwrap();
        let titles: Vec<&str> = shelf.books.iter().map(|entry| entry.title.as_str()).collect();
        assert_eq!(titles, ["book 2", "new"]);
        assert_true(&odm).await;
    });
}

/// "`$pull` then `$push` as two writes: the entry is briefly missing": mongoid_alize.
#[odm_tests::test]
fn an_entry_is_never_missing_while_its_copy_changes() {
    with_db(async |t| {
        let odm = t.standalone_of(&auto::stocked(&t).await).await;
        let done = Arc::new(AtomicU64::new(0));
        let (reader, until) = (odm.clone(), done.clone());
        let reads = tokio::spawn(async move {
            let mut seen = 0;
            while until.load(Ordering::SeqCst) == 0 {
                let shelf = raw(&reader, "shelves", 2).await;
                let entries = shelf.get_array("books").unwrap();
                let ids = entries
                    .iter()
                    .map(|entry| entry.as_document().unwrap().get_i64("id").unwrap());
                assert_eq!(ids.collect::<Vec<_>>(), [6, 3, 6]);
                seen += 1;
            }
            seen
        });
        let books = odm.collection::<auto::Book>();
        for n in 0..30 {
            books
                .update(6)
                .set(|b| b.title, format!("title {n}"))
                .await
                .unwrap();
            let shelf = odm.collection::<auto::Shelf>().get(2).await.unwrap().unwrap();
            assert_eq!(shelf.books[0].title, format!("title {n}"));
            assert_eq!(shelf.books[2].title, format!("title {n}"));
        }
        done.store(1, Ordering::SeqCst);
        assert!(reads.await.unwrap() > 0);
        assert_true(&odm).await;
    });
}

/// "unsets never propagate": MongoEngine CachedReferenceField.
#[odm_tests::test]
fn a_field_that_is_unset_is_unset_in_its_copies() {
    with_db(async |t| {
        let odm = auto::stocked(&t).await;
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            let (authors, books) = (odm.collection::<auto::Author>(), odm.collection::<auto::Book>());
            let cities = async || {
                let found = books.find(|b| b.author.eq(Ref::new(1))).all().await.unwrap();
                found.into_iter().map(|book| book.author_city).collect::<Vec<_>>()
            };
            let there = vec![Some("Oslo".to_owned()); 5];
            authors.update(1).set(|a| a.city, "Oslo").await.unwrap();
            assert_eq!(cities().await, there);
            authors.update(1).unset(|a| a.city).await.unwrap();
            assert_eq!(cities().await, vec![None; 5]);
            assert!(!raw(&odm, "books", 1).await.contains_key("author_city"));
            authors.update(1).set(|a| a.city, "Oslo").await.unwrap();
            let whole = authors.get(1).await.unwrap().unwrap();
            authors
                .replace(auto::Author { city: None, ..whole })
                .await
                .unwrap();
            assert_eq!(cities().await, vec![None; 5], "by a replacement");
            assert_true(&odm).await;
        }
    });
}

/// "bulk or query updates bypass the hooks": Mongoose hooks, MongoEngine `QuerySet.update`.
#[odm_tests::test]
fn bulk_and_query_updates_change_the_copies_too() {
    with_db(async |t| {
        let odm = auto::stocked(&t).await;
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            let authors = odm.collection::<auto::Author>();
            // One command for each kind of write: a stand-in for a server may not take `bulkWrite` as the first command
            // of a transaction.
            let bulk = || odm.bulk().without_bulk_write_command();
            let check = async |name: &str| {
                assert_true(&odm).await;
                let author = authors.get(1).await.unwrap().unwrap();
                assert_eq!(author.name, name);
                let book = raw(&odm, "books", 2).await;
                assert_eq!(book.get_str("author_name").unwrap(), name);
            };
            authors
                .update_where(|a| a.id.lt(9))
                .set(|a| a.name, "by a query")
                .await
                .unwrap();
            check("by a query").await;
            bulk()
                .add(authors.update(1).set(|a| a.name, "by a bulk"))
                .await
                .unwrap();
            check("by a bulk").await;
            let query = bulk().add(
                authors
                    .update_where(|a: auto::AuthorFields| a.id.eq(1))
                    .set(|a| a.name, "by a query in a bulk"),
            );
            query.await.unwrap();
            check("by a query in a bulk").await;
            authors
                .update(1)
                .raw(doc! { "$set": { "name": "by hand" } })
                .await
                .unwrap();
            check("by hand").await;
            authors
                .update(1)
                .set(|a| a.name, "by an upsert")
                .set_on_insert(|a| a.remark, "none")
                .upsert()
                .await
                .unwrap();
            check("by an upsert").await;
            authors
                .update(1)
                .set(|a| a.name, "and given back")
                .returning()
                .await
                .unwrap();
            check("and given back").await;
            let more = (10..15).map(|id| auto::book(id, 1));
            let made = odm.collection::<auto::Book>().insert_many(more).await.unwrap();
            assert!(made.iter().all(|book| book.author_name == "and given back"));
            assert_eq!(authors.get(1).await.unwrap().unwrap().books, 10);
            odm.collection::<auto::Book>()
                .delete_where(|b| b.id.gte(10))
                .await
                .unwrap();
            assert_eq!(authors.get(1).await.unwrap().unwrap().books, 5);
            assert_true(&odm).await;
        }
    });
}

/// The sources of the library, in a process that knows nothing of what copies them.
mod ignorant {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "authors")]
    pub struct Author {
        pub id: i64,
        pub name: String,
    }
}

/// "delete rules depend on what happens to be loaded in the process": MongoEngine, Beanie `DELETE_LINKS`.
#[odm_tests::test]
fn delete_rules_do_not_depend_on_loaded_documents() {
    with_transactions(async |t| {
        let odm = atomic::stocked(&t).await;
        // The rules are those of the models, whichever of them the process has used.
        let fresh = Odm::new(t.db.clone(), atomic::models()).unwrap();
        let gone = fresh.collection::<atomic::Author>().delete(2).await.unwrap();
        assert_eq!((gone.deleted, gone.cascaded, gone.pulled), (1, 1, 1));
        assert_true(&odm).await;
        // A model that refers to another can't be left out by accident.
        let lacking = Odm::new(t.db.clone(), models![atomic::Book]);
        assert!(matches!(lacking, Err(Error::Models { .. })));
        // One that is referred to can, and is refused the write where the database knows better.
        let other = Odm::new(t.db.clone(), models![ignorant::Author]).unwrap();
        let told = other.sync().await.unwrap_err();
        assert!(matches!(told, Error::UnknownCopies { .. }), "{told}");
        let refused = other
            .collection::<ignorant::Author>()
            .delete(1)
            .await
            .unwrap_err();
        assert!(matches!(refused, Error::UnknownCopies { .. }), "{refused}");
        assert_eq!(
            odm.collection::<atomic::Book>().find_all().count().await.unwrap(),
            5
        );
    });
}

/// References without copies, and a program that has a part of their models.
mod referred {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "rooms")]
    pub struct Room {
        pub id: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "chairs")]
    pub struct Chair {
        pub id: i64,
        #[reference(on_delete = cascade)]
        pub room: Ref<Room>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "stickers")]
    pub struct Sticker {
        pub id: i64,
        #[reference(any(Room, Chair))]
        pub on: StuckRef,
        #[reference(on_delete = keep)]
        pub made_in: Ref<Room>,
    }
}

/// The same, where the process lacks the model that refers: the database knows the reference.
#[odm_tests::test]
fn a_reference_that_is_not_loaded_is_not_left_dangling() {
    use referred::{Chair, Room, Sticker};
    with_db(async |t| {
        let full = Odm::new(t.db.clone(), models![Room, Chair, Sticker]).unwrap();
        full.sync().await.unwrap();
        full.sync().await.unwrap();
        let rooms = full.collection::<Room>();
        rooms.insert_many((0..6).map(|id| Room { id })).await.unwrap();
        let chairs = full.collection::<Chair>();
        let all = (0..6).map(|id| Chair {
            id,
            room: Ref::new(id),
        });
        chairs.insert_many(all).await.unwrap();
        let told = |error: Error, of: &str, by: &[&str]| match &error {
            Error::UnknownReferences {
                collection,
                references,
            } => {
                let mut references = references.clone();
                references.sort();
                assert_eq!(
                    (*collection, references),
                    (of, by.iter().map(|name| (*name).to_owned()).collect())
                );
            }
            _ => panic!("{error}"),
        };

        // One model, and two that refer to each other; it is known after a `sync`, or after a recovery.
        let small = Odm::new(t.db.clone(), models![Room]).unwrap();
        small.sync().await.unwrap();
        let middle = Odm::new(t.db.clone(), models![Room, Chair]).unwrap();
        middle.recover().await.unwrap();
        let of_rooms: &[&str] = &["chairs.room", "stickers.on: rooms"];
        let rooms = small.collection::<Room>();
        told(rooms.delete(1).await.unwrap_err(), "rooms", of_rooms);
        told(
            rooms.delete_where(|r| r.id.gt(0)).await.unwrap_err(),
            "rooms",
            of_rooms,
        );
        let bulk = small
            .bulk()
            .add(small.collection().insert(Room { id: 9 }))
            .add(rooms.delete(1));
        told(bulk.await.unwrap_err(), "rooms", of_rooms);
        let in_transaction = small.transaction(async |tx| tx.collection::<Room>().delete(1).await);
        if small.server().await.unwrap().has_transactions() {
            told(in_transaction.await.unwrap_err(), "rooms", of_rooms);
        }
        told(
            middle.collection::<Room>().delete(1).await.unwrap_err(),
            "rooms",
            &of_rooms[1..],
        );
        told(
            middle.collection::<Chair>().delete(1).await.unwrap_err(),
            "chairs",
            &["stickers.on: chairs"],
        );
        assert_eq!(rooms.find_all().count().await.unwrap(), 6);
        // Nothing else is refused.
        rooms.insert(Room { id: 7 }).await.unwrap();
        middle
            .collection::<Chair>()
            .update(1)
            .set(|c| c.room, Ref::new(7))
            .await
            .unwrap();

        // A caller that allows it leaves faults that a program with all models finds.
        let free = small.clone().allow_unknown_copies();
        assert_eq!(free.collection::<Room>().delete(2).await.unwrap().deleted, 1);
        let audit = full.audit().await.unwrap();
        let dangling = audit.references.iter().map(|found| found.dangling.count);
        assert_eq!(dangling.sum::<u64>(), 1, "{audit}");
        chairs.delete(2).await.unwrap();
        // A rule may change, and a reference that is declared nowhere any more is forgotten.
        assert!(middle.forget_copies().await.unwrap() > 0);
        middle.collection::<Chair>().delete(1).await.unwrap();
        assert_eq!(middle.forget_copies().await.unwrap(), 0);
        small.sync().await.unwrap();
        told(rooms.delete(3).await.unwrap_err(), "rooms", &of_rooms[..1]);
        assert_eq!(full.collection::<Room>().delete(3).await.unwrap().cascaded, 1);
    });
}

/// "copy writes bump the holder's `updatedAt`": Meteor denormalize.
#[odm_tests::test]
fn an_update_of_copies_does_not_change_the_version_of_the_holder() {
    with_db(async |t| {
        let odm = auto::stocked(&t).await;
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            let (authors, books) = (odm.collection::<auto::Author>(), odm.collection::<auto::Book>());
            let versions = async || {
                let (book, shelf) = (raw(&odm, "books", 3).await, raw(&odm, "shelves", 1).await);
                [book, shelf].map(|holder| {
                    let at = holder.get_datetime("updated_at").unwrap().timestamp_millis();
                    (at, holder.get_i64("version").unwrap())
                })
            };
            let before = versions().await;
            let parent = authors.get(2).await.unwrap().unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(3)).await;
            authors.update(1).set(|a| a.name, "another name").await.unwrap();
            authors.update(1).set(|a| a.name, "author 1").await.unwrap();
            assert_eq!(versions().await, before);
            // And what a child changes in its parent is none of the parent's own.
            books.insert(auto::book(50, 2)).await.unwrap();
            let now = authors.get(2).await.unwrap().unwrap();
            assert_eq!((now.version, now.updated_at), (parent.version, parent.updated_at));
            assert_eq!(now.books, parent.books + 1);
            // So a reader's own change is not refused for it.
            let kept = auto::Author {
                remark: "read before".into(),
                ..parent
            };
            authors.replace(kept).await.unwrap();
            let now = authors.get(2).await.unwrap().unwrap();
            assert_eq!((now.remark.as_str(), now.books), ("read before", 2));
            books.delete(50).await.unwrap();
            assert_true(&odm).await;
        }
    });
}

/// Documents as another program left them, before copies were declared.
async fn without_copies(t: &odm_tests::TestDb, many: i64) {
    let author = doc! { "_id": 1_i64, "name": "old", "remark": "", "created_at": odm::bson::DateTime::now(),
    "updated_at": odm::bson::DateTime::now(), "version": 1_i64 };
    t.db.collection::<Doc>("authors")
        .insert_one(author)
        .await
        .unwrap();
    let books = (0..many).map(|id| {
        doc! { "_id": id, "title": format!("book {id}"), "year": 1900, "pages": 10, "author": 1_i64,
        "created_at": odm::bson::DateTime::now(), "updated_at": odm::bson::DateTime::now(), "version": 1_i64 }
    });
    t.db.collection::<Doc>("books").insert_many(books).await.unwrap();
}

/// "backfill in one transaction dies at ~180,000 documents; backfill cursor meets its own writes again and never ends":
/// Beanie #727, #501.
#[odm_tests::test]
fn a_backfill_goes_in_batches_meets_each_document_once_and_resumes() {
    odm_tests::takes_long();
    with_db(async |t| {
        const MANY: u64 = 3_500;
        without_copies(&t, MANY as i64).await;
        let dead = mortal(&t, auto::models()).await;
        // A validator would refuse the documents as they are: the copies are required.
        dead.odm.clone().sync().await.ok();
        let filled = async || {
            let filter = doc! { "author_name": "old" };
            t.db.collection::<Doc>("books")
                .count_documents(filter)
                .await
                .unwrap()
        };
        let mut interrupted = 0;
        for commands in [4, 12, 24] {
            let before = filled().await;
            let died = dead
                .dies_after(commands, async |odm| drop(odm.backfill().await.unwrap()))
                .await;
            let now = filled().await;
            assert!(now >= before, "what was filled stays so: {now} after {before}");
            interrupted += u32::from(died && now > 0 && now < MANY);
        }
        assert!(
            interrupted > 0,
            "no one transaction: a part is there when it is interrupted"
        );
        let before = filled().await;
        let odm = Odm::new(t.db.clone(), auto::models()).unwrap();
        t.commands.clear();
        let done = odm.backfill().await.unwrap();
        assert_eq!(filled().await, MANY);
        // The author gets its numbers once, too; each book is met once, and none of those that were filled before.
        let rest = MANY - before;
        assert!(
            done.documents <= rest + 5 && done.documents >= rest,
            "{done:?} of {rest}"
        );
        let sent = t.commands.take();
        let writes = sent.iter().filter(|name| *name == "update").count();
        assert!(writes >= 3, "{sent:?}");
        assert!(
            sent.len() < 300,
            "and not a command for each document: {}",
            sent.len()
        );
        assert_true(&odm).await;
        t.commands.clear();
        assert_eq!(odm.backfill().await.unwrap().documents, 0);
        assert_eq!(t.commands.take(), ["find"], "it knows that it is done");
    });
}

/// "one huge `updateMany` times out": wildduck #148.
#[odm_tests::test]
fn many_holders_are_updated_in_batches() {
    with_db(async |t| {
        let tell: Arc<Mutex<Vec<(u64, u64)>>> = Arc::default();
        let told = tell.clone();
        let fan_out = FanOut::new().batch(100).progress(move |progress| {
            assert_eq!(
                (progress.collection, progress.field.as_str()),
                ("books", "author")
            );
            told.lock().unwrap().push((progress.batches, progress.changed));
        });
        let odm = eventual::stocked(&t).await.with_fan_out(fan_out);
        let books = odm.collection::<eventual::Book>();
        books
            .insert_many((10..1_210).map(|id| eventual::book(id, 1)))
            .await
            .unwrap();
        t.commands.clear();
        let done = odm
            .collection::<eventual::Author>()
            .update(1)
            .set(|a| a.name, "new")
            .await
            .unwrap();
        // And what copies it from the books.
        assert!(done.copies_updated >= 1_205 + 2, "{done:?}");
        let told = tell.lock().unwrap().clone();
        assert_eq!(told.len(), 13);
        let mut before = 0;
        for (at, (batches, changed)) in told.into_iter().enumerate() {
            assert_eq!(batches, at as u64 + 1);
            assert!(changed - before <= 100, "{changed} after {before}");
            before = changed;
        }
        assert_eq!(before, 1_205);
        let right = books.find(|b| b.author_name.eq("new")).count().await.unwrap();
        assert_eq!(right, 1_205);
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "topics")]
struct Topic {
    id: String,
    #[field(name = "n")]
    number: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "talks")]
#[document(rename_all = "camelCase")]
struct Talk {
    id: i32,
    #[reference(many, max = 5000, check = false, on_delete = keep)]
    the_topics: Vec<Ref<Topic>>,
    #[reference(check = false, on_delete = keep)]
    main_topic: Option<Ref<Topic>>,
    #[embed(max = 3)]
    given_at: Vec<GivenAt>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(rename_all = "SCREAMING_SNAKE_CASE")]
struct GivenAt {
    place_name: String,
}

/// A handle with topics `t0`, `t1`, … and a talk about them.
async fn talks(t: &odm_tests::TestDb, topics: usize) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Topic, Talk]).unwrap();
    odm.sync().await.unwrap();
    let all = (0..topics).map(|n| Topic {
        id: format!("t{n}"),
        number: n as i32,
    });
    odm.collection::<Topic>().insert_many(all).await.unwrap();
    let talk = Talk {
        id: 1,
        the_topics: (0..topics).map(|n| Ref::new(format!("t{n}"))).collect(),
        main_topic: Some(Ref::new("t1".to_owned())),
        given_at: vec![GivenAt {
            place_name: "Oslo".into(),
        }],
    };
    odm.collection::<Talk>().insert(talk).await.unwrap();
    t.commands.clear();
    odm
}

/// "populate collapses duplicates and loses the array's order; missing targets silently dropped": Beanie #414 #527,
/// Mongoose #4161 #6432 #9913.
#[odm_tests::test]
fn a_join_keeps_duplicates_order_and_tells_of_missing_targets() {
    with_db(async |t| {
        let odm = talks(&t, 4).await;
        let talks = odm.collection::<Talk>();
        let named = ["t2", "t0", "t2", "t3", "t0"];
        let topics = named.map(|id| Ref::new(id.to_owned())).to_vec();
        talks.update(1).set(|p| p.the_topics, topics).await.unwrap();
        let (talk, topics) = talks
            .find_all()
            .include(|p| p.the_topics)
            .one()
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            topics.iter().map(|topic| topic.id.as_str()).collect::<Vec<_>>(),
            named
        );
        assert_eq!(talk.the_topics.load(&odm).await.unwrap(), topics);
        odm.collection::<Topic>().delete("t3".to_owned()).await.unwrap();
        let error = talks
            .find_all()
            .include(|p| p.the_topics)
            .all()
            .await
            .unwrap_err();
        let Error::MissingReference { ids, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(ids, &["t3".into()]);
        assert!(matches!(
            talk.the_topics.load(&odm).await,
            Err(Error::MissingReference { .. })
        ));
    });
}

/// "`$in` beyond the message size; above a threshold one query per document": Mongoose #5890.
#[odm_tests::test]
fn a_join_of_thousands_is_one_query_and_keys_beyond_the_message_size_are_split() {
    with_db(async |t| {
        let odm = talks(&t, 1_500).await;
        let found = odm
            .collection::<Talk>()
            .find_all()
            .include(|p| p.the_topics)
            .one()
            .await
            .unwrap();
        assert_eq!(found.unwrap().1.len(), 1_500);
        assert_eq!(t.commands.take(), ["find", "find"]);
        let others = doc! { "_id": { "$ne": "t7" } };
        t.db.collection::<Doc>("topics")
            .delete_many(others)
            .await
            .unwrap();
        t.commands.clear();
        // 20 MB of keys, where a message may have 16.
        let long = "x".repeat(1_000);
        let ids = (0..20_000).map(|n| format!("{long}{n}")).chain(["t7".to_owned()]);
        let found = odm.collection::<Topic>().get_many(ids).await.unwrap();
        assert_eq!(found.iter().map(|topic| topic.number).collect::<Vec<_>>(), [7]);
        assert_eq!(t.commands.take(), ["find", "find"]);
    });
}

/// "two paths to one collection cost two queries": Mongoose #3812.
#[odm_tests::test]
fn two_paths_to_one_collection_are_one_query() {
    with_db(async |t| {
        let odm = talks(&t, 3).await;
        let talks = odm.collection::<Talk>();
        let all = talks
            .find_all()
            .include(|p| (p.the_topics, p.main_topic))
            .all()
            .await
            .unwrap();
        assert_eq!(t.commands.take(), ["find", "find"]);
        let (topics, main) = &all[0].1;
        assert_eq!(
            (topics.len(), main.as_ref().map(|topic| topic.number)),
            (3, Some(1))
        );
    });
}

/// "the session is ignored in nested loads, parallel loads inside one transaction": Mongoose #7742 #15210; the Rust
/// driver's `&mut ClientSession` forbids it.
#[odm_tests::test]
fn nested_and_parallel_loads_are_part_of_the_transaction() {
    with_transactions(async |t| {
        let odm = auto::stocked(&t).await;
        let outside = odm.clone();
        let done = odm
            .transaction(async |tx| {
                let (authors, books) = (tx.collection::<auto::Author>(), tx.collection::<auto::Book>());
                authors.insert(auto::author(9)).await?;
                books.insert(auto::book(90, 9)).await?;
                let shelf = auto::NewShelf {
                    id: 9,
                    books: vec![Ref::new(90), Ref::new(1)],
                };
                let shelf = tx.collection::<auto::Shelf>().insert(shelf).await?;
                // No other client sees them yet; in the transaction, a join finds them two hops away.
                assert!(outside.collection::<auto::Book>().get(90).await?.is_none());
                let nested = tx
                    .collection::<auto::Shelf>()
                    .find(|s| s.id.eq(9))
                    .include(|s| s.books.include(|b| b.author))
                    .all()
                    .await?;
                assert_eq!(nested[0].1[0].1.id, 9);
                let (a, b, c) = futures::try_join!(
                    shelf.books.load(&tx).into_future(),
                    shelf.books[0].load(&tx).into_future(),
                    authors.get(9).into_future(),
                )?;
                assert_eq!((a.len(), b.id, c.map(|author| author.books)), (2, 90, Some(1)));
                Err::<(), _>(Error::application("enough"))
            })
            .await;
        assert!(matches!(done, Err(Error::Application(_))), "{done:?}");
        assert!(odm.collection::<auto::Shelf>().get(9).await.unwrap().is_none());
        assert_true(&odm).await;
    });
}

/// "an array grows to 16 MB and its document can never be written again": sillsdev/TheCombine #4320.
#[odm_tests::test]
fn an_array_has_a_bound_and_its_document_stays_writable() {
    with_db(async |t| {
        let odm = auto::stocked(&t).await;
        let (shelves, books) = (odm.collection::<auto::Shelf>(), odm.collection::<auto::Book>());
        let full = [1, 2, 3, 4, 5]
            .repeat(10)
            .into_iter()
            .map(Ref::new)
            .collect::<Vec<_>>();
        shelves.update(1).set(|s| s.books, full).await.unwrap();
        let error = shelves
            .update(1)
            .push(|s| s.books, Ref::new(6))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::ArrayFull { .. }), "{error}");
        let skipped = shelves
            .update_where(|s| s.id.eq(1))
            .push(|s| s.books, Ref::new(6))
            .await
            .unwrap();
        assert_eq!((skipped.modified, skipped.refused), (0, 1));
        // A derived field has its bound too: the subset holds three of any number.
        books
            .insert_many((100..400).map(|id| auto::book(id, 1)))
            .await
            .unwrap();
        let author = odm.collection::<auto::Author>().get(1).await.unwrap().unwrap();
        assert_eq!((author.newest.len(), author.books), (3, 305));
        shelves.update(1).pull(|s| s.books, Ref::new(1)).await.unwrap();
        shelves.update(1).push(|s| s.books, Ref::new(6)).await.unwrap();
        assert_eq!(shelves.get(1).await.unwrap().unwrap().books.len(), 41);
        assert_true(&odm).await;
    });
}

/// "index sync drops what it did not declare": wither, mongodm, spark-orm.
#[odm_tests::test]
fn a_sync_keeps_the_indexes_that_it_did_not_declare() {
    with_db(async |t| {
        auto::stocked(&t).await;
        let own = odm::mongodb::IndexModel::builder()
            .keys(doc! { "pages": -1, "title": 1 })
            .build();
        t.db.collection::<Doc>("books").create_index(own).await.unwrap();
        let before = t.db.collection::<Doc>("books").list_index_names().await.unwrap();
        let odm = Odm::new(t.db.clone(), auto::models()).unwrap();
        odm.sync().await.unwrap();
        assert_eq!(
            t.db.collection::<Doc>("books").list_index_names().await.unwrap(),
            before
        );
        assert!(before.iter().any(|name| name == "pages_-1_title_1"), "{before:?}");
    });
}

/// "field name renamed in serde, not in the query": mongodm `field!`, mongo-rust-driver PR #1108.
#[odm_tests::test]
fn a_field_that_serde_renames_is_renamed_in_queries_updates_and_joins() {
    with_db(async |t| {
        let odm = talks(&t, 3).await;
        let (talks, topics) = (odm.collection::<Talk>(), odm.collection::<Topic>());
        let place = || talks.find(|p| p.given_at.place_name.eq("Oslo"));
        assert_eq!(place().count().await.unwrap(), 1);
        let found = talks.find(|p| p.the_topics.contains(Ref::new("t2".to_owned())));
        assert_eq!(found.count().await.unwrap(), 1);
        talks.update(1).unset(|p| p.main_topic).await.unwrap();
        talks
            .update(1)
            .elem(
                |p| p.given_at,
                |g| g.place_name.eq("Oslo"),
                |g| g.set(|g| g.place_name, "Rome"),
            )
            .await
            .unwrap();
        topics.update("t2".to_owned()).inc(|p| p.number, 5).await.unwrap();
        let stored =
            t.db.collection::<Doc>("talks")
                .find_one(doc! {})
                .await
                .unwrap()
                .unwrap();
        let names: Vec<&str> = stored.keys().map(String::as_str).collect();
        assert_eq!(names, ["_id", "theTopics", "givenAt"]);
        assert_eq!(
            stored.get_array("givenAt").unwrap()[0],
            doc! { "PLACE_NAME": "Rome" }.into()
        );
        let first = topics
            .find_all()
            .sort(|p| p.number.desc())
            .one()
            .await
            .unwrap()
            .unwrap();
        assert_eq!((first.id.as_str(), first.number), ("t2", 7));
        let joined = talks
            .find_all()
            .include(|p| p.the_topics)
            .lookup()
            .all()
            .await
            .unwrap();
        assert_eq!(joined[0].1.len(), 3);
    });
}
