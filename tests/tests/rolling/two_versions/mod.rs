//! Processes of two versions of a program on one database: what the older one writes, the newer one derives.

use odm::__private::SwitchOdm as _;
use odm::Error;
use odm::bson::{Document as Raw, doc};
use odm::prelude::*;
use odm_tests::{TestDb, assert_clean, assert_clean_after, with_db, with_transactions};
use std::time::{Duration, Instant};

mod random;

/// The older version: books copy the name of their author.
mod old {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "authors")]
    pub struct Author {
        #[serde(rename = "_id")]
        pub id: i64,
        pub name: String,
        pub city: String,
        pub note: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "books")]
    pub struct Book {
        #[serde(rename = "_id")]
        pub id: i64,
        #[parent_ref(on_delete = cascade)]
        pub author: Ref<Author>,
        #[denormalize(from = author.name)]
        pub author_name: String,
        pub title: String,
    }

    pub fn odm(db: &odm::mongodb::Database) -> Odm {
        Odm::new(db.clone(), models![Author, Book]).unwrap()
    }

    pub fn author(id: i64) -> Author {
        Author {
            id,
            name: format!("author {id}"),
            city: "Paris".into(),
            note: String::new(),
        }
    }

    pub fn book(id: i64, author: i64) -> NewBook {
        NewBook {
            id,
            author: Ref::new(author),
            title: format!("book {id}"),
        }
    }

    /// A program that has no model of the books.
    pub fn without_books(db: &odm::mongodb::Database) -> Odm {
        Odm::new(db.clone(), models![Author]).unwrap()
    }
}

/// The newer version: books copy the city of their author, too, and authors count their books and hold the newest.
mod new {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "authors")]
    pub struct Author {
        #[serde(rename = "_id")]
        pub id: i64,
        pub name: String,
        pub city: String,
        pub note: String,
        #[computed(count = Book)]
        #[serde(default)]
        pub books: i64,
        #[subset(of = Book, limit = 2, order(-title), fields(title: String))]
        #[serde(default)]
        pub newest: Vec<NewestEntry>,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "books")]
    pub struct Book {
        #[serde(rename = "_id")]
        pub id: i64,
        #[parent_ref(on_delete = cascade)]
        pub author: Ref<Author>,
        #[denormalize(from = author.name)]
        pub author_name: String,
        #[denormalize(from = author.city)]
        pub author_city: Option<String>,
        pub title: String,
    }

    pub fn odm(db: &odm::mongodb::Database) -> Odm {
        Odm::new(db.clone(), models![Author, Book]).unwrap()
    }

    pub fn book(id: i64, author: i64) -> NewBook {
        NewBook {
            id,
            author: Ref::new(author),
            title: format!("book {id}"),
        }
    }
}

/// Two authors with three books by the older version, then the newer one is deployed. Both handles, the older one as of a process
/// that has just started and asks for nothing by itself.
async fn deployed(t: &TestDb) -> (Odm, Odm) {
    let first = old::odm(&t.db);
    first.sync().await.unwrap();
    let authors = first.collection::<old::Author>();
    authors.insert_many((1..=2).map(old::author)).await.unwrap();
    let books = (1..=3).map(|id| old::book(id, 1 + id % 2));
    first.collection::<old::Book>().insert_many(books).await.unwrap();
    let newer = new::odm(&t.db);
    newer.sync().await.unwrap();
    newer.backfill().await.unwrap();
    assert_clean(&newer).await;
    (old::odm(&t.db), newer)
}

async fn raw(t: &TestDb, collection: &str, id: i64) -> Raw {
    let all = t.db.collection::<Raw>(collection);
    all.find_one(doc! { "_id": id })
        .await
        .unwrap()
        .expect("a document")
}

/// How many documents of a collection say that work is pending in them.
async fn pending(t: &TestDb, collection: &str) -> u64 {
    let pending = doc! { "_odm.pending.operation": { "$exists": true } };
    t.db.collection::<Raw>(collection)
        .count_documents(pending)
        .await
        .unwrap()
}

/// The newer program does what is pending; then everything is right, and nothing is pending.
async fn delivered(t: &TestDb, newer: &Odm, after: &str) {
    newer
        .recover()
        .await
        .unwrap_or_else(|error| panic!("{after}: {error}"));
    assert_clean_after(newer, after).await;
    for collection in ["authors", "books"] {
        assert_eq!(pending(t, collection).await, 0, "{after}: {collection}");
    }
}

#[odm_tests::test]
fn a_source_is_written_by_a_process_that_does_not_know_its_copies() {
    with_db(async |t| {
        let (_, newer) = deployed(&t).await;
        let older = old::without_books(&t.db);
        let authors = older.collection::<old::Author>();
        let version = async || {
            raw(&t, "authors", 1)
                .await
                .get_document("_odm")
                .unwrap()
                .get_i64("version")
                .unwrap_or(0)
        };
        let before = version().await;

        t.commands.clear();
        authors.update(1).set(|a| a.city, "Rome").await.unwrap();
        assert_eq!(
            t.commands.take()[0],
            "find",
            "it reads the declarations before its first write"
        );
        assert!(version().await > before, "its copies are older from now on");
        assert_eq!(raw(&t, "books", 2).await.get_str("author_city").unwrap(), "Paris");
        assert_eq!(pending(&t, "authors").await, 1);
        delivered(&t, &newer, "an update").await;
        assert_eq!(raw(&t, "books", 2).await.get_str("author_city").unwrap(), "Rome");

        // Once in a process, and a field without copies leaves nothing pending.
        t.commands.clear();
        authors.update(1).set(|a| a.note, "x").await.unwrap();
        assert_eq!(t.commands.take(), ["update"]);
        assert_eq!(pending(&t, "authors").await, 0);
    });
}

#[odm_tests::test]
fn every_way_to_write_a_source_leaves_pending_work() {
    with_db(async |t| {
        let (_, newer) = deployed(&t).await;
        let older = old::without_books(&t.db);
        let authors = older.collection::<old::Author>();
        let name = |n: i32| format!("name {n}");

        authors
            .update_where(|a| a.id.gt(0))
            .set(|a| a.name, name(1))
            .await
            .unwrap();
        delivered(&t, &newer, "update_where").await;
        authors
            .update(1)
            .set(|a| a.name, name(2))
            .returning()
            .await
            .unwrap();
        delivered(&t, &newer, "returning").await;
        let mut author = authors.get(1).await.unwrap().unwrap();
        author.name = name(3);
        authors.replace(author).await.unwrap();
        delivered(&t, &newer, "replace").await;
        let bulk = older.bulk().add(authors.update(1).set(|a| a.name, name(4)));
        bulk.await.unwrap();
        delivered(&t, &newer, "bulk").await;
        authors
            .update(2)
            .set(|a| a.name, name(5))
            .set(|a| a.city, "x")
            .set(|a| a.note, "")
            .upsert()
            .await
            .unwrap();
        delivered(&t, &newer, "upsert").await;
        let book = newer.collection::<new::Book>().get(2).await.unwrap().unwrap();
        assert_eq!(
            (book.author_name, book.author_city),
            (name(4), Some("Paris".to_owned()))
        );
        if older.server().await.unwrap().has_transactions() {
            let in_transaction = older.transaction(async |tx| {
                let authors = tx.collection::<old::Author>();
                authors.update(1).set(|a| a.city, "Rome").await.map(drop)
            });
            in_transaction.await.unwrap();
            delivered(&t, &newer, "transaction").await;
        }
        // It comes with a version, so that its copies have one, too, and see the next change.
        authors.insert_many((3..5).map(old::author)).await.unwrap();
        assert!(
            raw(&t, "authors", 3)
                .await
                .get_document("_odm")
                .unwrap()
                .get_i64("version")
                .unwrap()
                > 0
        );
        delivered(&t, &newer, "insert").await;
        newer
            .collection::<new::Book>()
            .insert(new::book(9, 3))
            .await
            .unwrap();
        authors.update(3).set(|a| a.city, "Oslo").await.unwrap();
        delivered(&t, &newer, "a change of what was inserted").await;
    });
}

#[odm_tests::test]
fn a_holder_is_written_by_a_process_that_lacks_one_of_its_copies() {
    with_db(async |t| {
        let (older, newer) = deployed(&t).await;
        let books = older.collection::<old::Book>();
        let stored = books.insert(old::book(10, 1)).await.unwrap();
        assert_eq!(stored.author_name, "author 1", "what it knows it takes itself");
        delivered(&t, &newer, "insert").await;
        let book = newer.collection::<new::Book>().get(10).await.unwrap().unwrap();
        assert_eq!(book.author_city.as_deref(), Some("Paris"));

        older
            .collection::<old::Author>()
            .update(2)
            .set(|a| a.city, "Rome")
            .await
            .unwrap();
        books.update(10).set(|b| b.author, Ref::new(2)).await.unwrap();
        delivered(&t, &newer, "another reference").await;
        let book = newer.collection::<new::Book>().get(10).await.unwrap().unwrap();
        assert_eq!(
            (book.author_name.as_str(), book.author_city.as_deref()),
            ("author 2", Some("Rome"))
        );

        let mut book = books.get(10).await.unwrap().unwrap();
        book.author = Ref::new(1);
        if older.server().await.unwrap().has_transactions() {
            books.replace(book).await.unwrap();
            delivered(&t, &newer, "replace").await;
        }
        // A source with a copy that it knows and one that it does not.
        older
            .collection::<old::Author>()
            .update(1)
            .set(|a| a.name, "n")
            .set(|a| a.city, "c")
            .await
            .unwrap();
        delivered(&t, &newer, "both").await;
    });
}

#[odm_tests::test]
fn a_child_is_written_by_a_process_that_does_not_know_its_count() {
    with_transactions(async |t| {
        let (older, newer) = deployed(&t).await;
        let books = older.collection::<old::Book>();
        let count = async |id: i64| {
            newer
                .collection::<new::Author>()
                .get(id)
                .await
                .unwrap()
                .unwrap()
                .books
        };
        books
            .insert_many((10..14).map(|id| old::book(id, 1)))
            .await
            .unwrap();
        delivered(&t, &newer, "insert_many").await;
        assert_eq!((count(1).await, count(2).await), (5, 2));
        books.update(10).set(|b| b.author, Ref::new(2)).await.unwrap();
        delivered(&t, &newer, "a move").await;
        assert_eq!((count(1).await, count(2).await), (4, 3));
        // The parents between the first one and the last one are derived anew, too.
        for author in [1, 2, 1] {
            books
                .update(11)
                .set(|b| b.author, Ref::new(author))
                .await
                .unwrap();
        }
        books
            .update_where(|b| b.id.gt(11))
            .set(|b| b.author, Ref::new(2))
            .await
            .unwrap();
        books.update(11).set(|b| b.title, "zz").await.unwrap();
        delivered(&t, &newer, "several moves").await;
        assert_eq!((count(1).await, count(2).await), (2, 5));
        books.delete(10).await.unwrap();
        books.delete_where(|b| b.title.eq("zz")).await.unwrap();
        older.bulk().add(books.delete(12)).await.unwrap();
        assert!(books.get(10).await.unwrap().is_none(), "it is gone at once");
        delivered(&t, &newer, "deletions").await;
        assert_eq!((count(1).await, count(2).await), (1, 3));
        // The newer program deletes children that it has not counted yet.
        books.insert(old::book(20, 1)).await.unwrap();
        books.update(13).set(|b| b.author, Ref::new(1)).await.unwrap();
        newer.collection::<new::Book>().delete(20).await.unwrap();
        newer.collection::<new::Book>().delete(13).await.unwrap();
        delivered(&t, &newer, "deletions by the newer one").await;
        let deleted = older.collection::<old::Author>().delete(2).await.unwrap();
        assert_eq!((deleted.deleted, deleted.cascaded), (1, 2), "its own rule holds");
        delivered(&t, &newer, "a cascade").await;
        older
            .collection::<old::Author>()
            .insert(old::author(5))
            .await
            .unwrap();
        delivered(&t, &newer, "a parent").await;
        assert!(raw(&t, "authors", 5).await.contains_key("newest"));
    });
}

/// A program never removes the pending work of another one, also where it delivers its own part of it.
#[odm_tests::test]
fn pending_work_stays_until_a_process_applies_it_that_knows_all_copies() {
    with_db(async |t| {
        let (older, newer) = deployed(&t).await;
        older
            .collection::<old::Author>()
            .update(1)
            .set(|a| a.city, "Rome")
            .await
            .unwrap();
        let left = older.recover().await.unwrap_err();
        assert!(matches!(left, Error::UnknownCopies { .. }), "{left}");
        for _ in 0..3 {
            older
                .collection::<old::Author>()
                .update(1)
                .set(|a| a.name, "n")
                .await
                .unwrap();
            older
                .collection::<old::Book>()
                .update(1)
                .set(|b| b.title, "t")
                .await
                .unwrap();
        }
        assert_eq!((pending(&t, "authors").await, pending(&t, "books").await), (1, 1));
        // A write of the newer one in between delivers what the older one has left.
        newer
            .collection::<new::Author>()
            .update(1)
            .set(|a| a.name, "m")
            .await
            .unwrap();
        delivered(&t, &newer, "both have written").await;
        assert_eq!(raw(&t, "books", 2).await.get_str("author_city").unwrap(), "Rome");
    });
}

/// Another order of the newest, which both versions call by the same name.
mod other_way {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "authors")]
    pub struct Author {
        #[serde(rename = "_id")]
        pub id: i64,
        pub name: String,
        pub city: String,
        pub note: String,
        #[computed(count = Book, filter = |b| b.title.ne("book 2"))]
        #[serde(default)]
        pub books: i64,
        #[subset(of = Book, limit = 2, order(title), fields(title: String))]
        #[serde(default)]
        pub newest: Vec<NewestEntry>,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "books")]
    pub struct Book {
        #[serde(rename = "_id")]
        pub id: i64,
        #[parent_ref(on_delete = cascade)]
        pub author: Ref<Author>,
        #[denormalize(from = author.city)]
        pub author_name: String,
        #[denormalize(from = author.city)]
        pub author_city: Option<String>,
        pub title: String,
    }
}

#[odm_tests::test]
fn declarations_that_differ_are_left_to_the_newer_program() {
    with_transactions(async |t| {
        let (_, older) = deployed(&t).await;
        let newer = Odm::new(t.db.clone(), models![other_way::Author, other_way::Book]).unwrap();
        newer.sync().await.unwrap();
        newer.backfill().await.unwrap();
        assert_clean(&newer).await;
        // A process that has just started.
        drop(older);
        let older = new::odm(&t.db);
        let books = older.collection::<new::Book>();
        books.insert(new::book(10, 1)).await.unwrap();
        books
            .update(1)
            .set(|b| b.author, Ref::new(1))
            .set(|b| b.title, "a")
            .await
            .unwrap();
        books.delete(3).await.unwrap();
        older
            .collection::<new::Author>()
            .update(1)
            .set(|a| a.city, "Rome")
            .set(|a| a.name, "n")
            .await
            .unwrap();
        delivered(&t, &newer, "an older program").await;
        let book = newer
            .collection::<other_way::Book>()
            .get(10)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            book.author_name, "Rome",
            "not the name, which the older one has copied"
        );
    });
}

/// Copies of copies: the older version knows the first ones alone.
mod chain {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "lands")]
    pub struct Land {
        #[serde(rename = "_id")]
        pub id: i64,
        pub name: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "towns")]
    pub struct Town {
        #[serde(rename = "_id")]
        pub id: i64,
        #[reference]
        pub land: Ref<Land>,
        #[denormalize(from = land.name)]
        pub land_name: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "roads")]
    pub struct Road {
        #[serde(rename = "_id")]
        pub id: i64,
        #[reference]
        pub town: Ref<Town>,
        #[denormalize(from = town.land_name)]
        pub land: String,
    }
}

#[odm_tests::test]
fn a_fan_out_leaves_pending_work_for_copies_of_copies() {
    use chain::{Land, NewRoad, NewTown, Road, Town};
    with_db(async |t| {
        let newer = Odm::new(t.db.clone(), models![Land, Town, Road]).unwrap();
        newer.sync().await.unwrap();
        let land = Land {
            id: 1,
            name: "a".into(),
        };
        newer.collection::<Land>().insert(land).await.unwrap();
        let town = NewTown {
            id: 1,
            land: Ref::new(1),
        };
        newer.collection::<Town>().insert(town).await.unwrap();
        let road = NewRoad {
            id: 1,
            town: Ref::new(1),
        };
        newer.collection::<Road>().insert(road).await.unwrap();
        let older = Odm::new(t.db.clone(), models![Land, Town]).unwrap();
        older
            .collection::<Land>()
            .update(1)
            .set(|l| l.name, "b")
            .await
            .unwrap();
        assert_eq!(
            raw(&t, "towns", 1).await.get_str("land_name").unwrap(),
            "b",
            "its own copies it delivers"
        );
        assert_eq!(pending(&t, "lands").await, 0);
        assert_eq!(pending(&t, "towns").await, 1);
        delivered(&t, &newer, "a delivery").await;
        assert_eq!(raw(&t, "roads", 1).await.get_str("land").unwrap(), "b");
    });
}

/// Holders of a new collection come while older processes write their sources that have not read the declaration yet.
#[odm_tests::test]
fn the_first_holders_are_compared_once_by_a_backfill() {
    use chain::{Land, NewTown, Town};
    const HOLDING: Duration = Duration::from_millis(1_500);
    with_db(async |t| {
        let older = Odm::new(t.db.clone(), models![Land])
            .unwrap()
            .hold_declarations_for(HOLDING);
        let land = Land {
            id: 1,
            name: "a".into(),
        };
        older.collection::<Land>().insert(land).await.unwrap();
        let newer = Odm::new(t.db.clone(), models![Land, Town])
            .unwrap()
            .hold_declarations_for(HOLDING);
        assert!(
            newer.sync().await.unwrap().backfills().is_empty(),
            "there are no towns yet"
        );
        let town = NewTown {
            id: 1,
            land: Ref::new(1),
        };
        newer.collection::<Town>().insert(town).await.unwrap();
        older
            .collection::<Land>()
            .update(1)
            .set(|l| l.name, "b")
            .await
            .unwrap();
        assert_eq!(pending(&t, "lands").await, 0, "it does not know of them");
        let filled = newer.backfill().await.unwrap();
        assert_eq!(
            (filled.edges.as_slice(), filled.documents),
            (["towns.land".to_owned()].as_slice(), 1)
        );
        assert_clean(&newer).await;
        assert_eq!(newer.backfill().await.unwrap().documents, 0);
    });
}

/// What can't be left to another program.
mod refused {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "rates")]
    pub struct Rate {
        #[serde(rename = "_id")]
        pub id: i64,
        pub value: i64,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "offers")]
    pub struct Offer {
        #[serde(rename = "_id")]
        pub id: i64,
        #[reference]
        pub rate: Ref<Rate>,
        #[denormalize(from = rate.value, consistency = atomic)]
        pub value: i64,
    }
}

#[odm_tests::test]
fn copies_that_must_be_true_at_once_are_refused() {
    use refused::{NewOffer, Offer, Rate};
    with_transactions(async |t| {
        let newer = Odm::new(t.db.clone(), models![Rate, Offer]).unwrap();
        newer.sync().await.unwrap();
        newer
            .collection::<Rate>()
            .insert(Rate { id: 1, value: 1 })
            .await
            .unwrap();
        let offer = NewOffer {
            id: 1,
            rate: Ref::new(1),
        };
        newer.collection::<Offer>().insert(offer).await.unwrap();
        let older = Odm::new(t.db.clone(), models![Rate]).unwrap();
        let rates = older.collection::<Rate>();
        let refused = rates.update(1).set(|r| r.value, 2).await.unwrap_err();
        assert!(matches!(refused, Error::UnknownCopies { .. }), "{refused}");
        assert_eq!(
            rates.get(1).await.unwrap().unwrap().value,
            1,
            "nothing was written"
        );
        // A program that says that it is meant leaves it pending.
        let meant = older.allow_unknown_copies();
        meant
            .collection::<Rate>()
            .update(1)
            .set(|r| r.value, 3)
            .await
            .unwrap();
        newer.recover().await.unwrap();
        assert_clean(&newer).await;
    });
}

#[odm_tests::test]
fn a_source_is_not_deleted_by_a_process_that_does_not_know_its_holders() {
    with_db(async |t| {
        let (_, newer) = deployed(&t).await;
        let older = old::without_books(&t.db);
        let refused = older.collection::<old::Author>().delete(1).await.unwrap_err();
        let Error::UnknownReferences {
            collection,
            references,
        } = &refused
        else {
            panic!("{refused}")
        };
        assert_eq!(
            (*collection, references.as_slice()),
            ("authors", ["books.author".to_owned()].as_slice())
        );
        let deleted = newer.collection::<new::Author>().delete(1).await.unwrap();
        assert_eq!(deleted.cascaded, 1);
        assert_clean(&newer).await;
    });
}

/// A process holds what it has read of the declarations, so a backfill begins when all have read them again.
#[odm_tests::test]
fn a_backfill_waits_until_every_process_knows_the_new_declarations() {
    const HOLDING: Duration = Duration::from_millis(2_500);
    with_db(async |t| {
        let older = old::odm(&t.db).hold_declarations_for(HOLDING);
        older.sync().await.unwrap();
        let authors = older.collection::<old::Author>();
        authors.insert_many((1..=2).map(old::author)).await.unwrap();
        older
            .collection::<old::Book>()
            .insert_many((1..=3).map(|id| old::book(id, 1)))
            .await
            .unwrap();
        let newer = new::odm(&t.db).hold_declarations_for(HOLDING);
        newer.sync().await.unwrap();
        let stored = Instant::now();
        // It does not know of them yet, and leaves nothing.
        authors.update(1).set(|a| a.city, "unnoticed").await.unwrap();
        assert!(stored.elapsed() < HOLDING / 2, "the test was held up");
        assert_eq!(pending(&t, "authors").await, 0);
        let filling = newer.clone();
        let filling =
            tokio::spawn(async move { filling.backfill().await.map(|filled| (filled, Instant::now())) });
        tokio::time::sleep(HOLDING / 5 * 4).await;
        authors.update(2).set(|a| a.city, "noticed").await.unwrap();
        assert_eq!(pending(&t, "authors").await, 1);
        let (filled, end) = filling.await.unwrap().unwrap();
        assert_eq!(filled.edges.len(), 3, "{filled:?}");
        assert!(end.duration_since(stored) >= HOLDING - Duration::from_millis(500));
        delivered(&t, &newer, "the backfill").await;
        assert_eq!(
            raw(&t, "books", 1).await.get_str("author_city").unwrap(),
            "unnoticed"
        );
        // There is no wait where all is filled, nor where this is the only writer.
        let begun = Instant::now();
        newer.backfill().await.unwrap();
        newer.backfill().again().at_once().await.unwrap();
        assert!(begun.elapsed() < HOLDING / 2);
    });
}
