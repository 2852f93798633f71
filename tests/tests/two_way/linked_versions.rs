//! A link is a field of both documents: a write from the other side raises the version, and an older replacement is a conflict.

use odm::bson::{DateTime, Document as Raw, doc};
use odm::prelude::*;
use odm::{Error, Odm};
use odm_tests::{TestDb, assert_clean, with_db, with_transactions};
use std::time::Duration;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "people", version, timestamps)]
struct Person {
    id: i32,
    name: String,
    #[reference(many, inverse = owner, on_delete = pull, max = 50)]
    tasks: Vec<Ref<Task>>,
    #[reference(many, inverse = friends, on_delete = pull, max = 50)]
    friends: Vec<Ref<Person>>,
    created_at: DateTime,
    updated_at: DateTime,
    version: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "tasks", version, timestamps)]
struct Task {
    id: i32,
    text: String,
    #[reference(inverse = tasks, on_delete = nullify)]
    owner: Option<Ref<Person>>,
    #[reference(on_delete = nullify)]
    place: Option<Ref<Place>>,
    created_at: DateTime,
    updated_at: DateTime,
    version: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "places")]
struct Place {
    id: i32,
}

/// A badge restricts the deletion of its person.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "badges")]
struct Badge {
    id: i32,
    #[reference(on_delete = restrict)]
    person: Ref<Person>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "authors", version, timestamps)]
struct Author {
    id: i32,
    #[reference(many, inverse = authors, on_delete = pull, max = 50)]
    books: Vec<Ref<Book>>,
    created_at: DateTime,
    updated_at: DateTime,
    version: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "books", version, timestamps)]
struct Book {
    id: i32,
    title: String,
    #[reference(many, inverse = books, on_delete = pull, max = 50)]
    authors: Vec<Ref<Author>>,
    /// The shelf names it too, and it goes with the shelf.
    #[reference(inverse = books, on_delete = cascade)]
    shelf: Option<Ref<Shelf>>,
    created_at: DateTime,
    updated_at: DateTime,
    version: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "shelves", version, timestamps)]
struct Shelf {
    id: i32,
    #[reference(many, inverse = shelf, on_delete = pull, max = 50)]
    books: Vec<Ref<Book>>,
    created_at: DateTime,
    updated_at: DateTime,
    version: i64,
}

fn task(id: i32, owner: Option<i32>) -> NewTask {
    NewTask {
        id,
        text: "text".into(),
        owner: owner.map(Ref::new),
        place: None,
    }
}

fn book(id: i32, authors: &[i32]) -> NewBook {
    NewBook {
        id,
        title: "title".into(),
        authors: authors.iter().copied().map(Ref::new).collect(),
        shelf: None,
    }
}

/// Kate (1) with task 10, a friend of Ann (3); Rod (2) without a task; and task 20 without a person.
async fn some(t: &TestDb) -> Odm {
    let models = models![Person, Task, Place, Badge, Author, Book, Shelf];
    let odm = Odm::new(t.db.clone(), models).unwrap();
    odm.sync().await.unwrap();
    let person = |id: i32| NewPerson {
        id,
        name: "name".into(),
        tasks: vec![],
        friends: vec![],
    };
    odm.collection::<Person>()
        .insert_many((1..=3).map(person))
        .await
        .unwrap();
    odm.collection::<Task>()
        .insert_many([task(10, Some(1)), task(20, None)])
        .await
        .unwrap();
    odm.collection::<Place>().insert(Place { id: 1 }).await.unwrap();
    let people = odm.collection::<Person>();
    people.update(1).push(|p| p.friends, Ref::new(3)).await.unwrap();
    odm.collection::<Author>()
        .insert_many((1..=2).map(|id| NewAuthor { id, books: vec![] }))
        .await
        .unwrap();
    odm.collection::<Book>().insert(book(1, &[1])).await.unwrap();
    odm
}

/// A document as somebody has read it.
enum Read {
    Person(Person),
    Task(Task),
    Author(Author),
    Book(Book),
    Shelf(Shelf),
}

impl Read {
    async fn of(odm: &Odm, collection: &str, id: i32) -> Read {
        match collection {
            "people" => Read::Person(odm.collection().get(id).await.unwrap().unwrap()),
            "tasks" => Read::Task(odm.collection().get(id).await.unwrap().unwrap()),
            "authors" => Read::Author(odm.collection().get(id).await.unwrap().unwrap()),
            "books" => Read::Book(odm.collection().get(id).await.unwrap().unwrap()),
            _ => Read::Shelf(odm.collection().get(id).await.unwrap().unwrap()),
        }
    }

    /// Writes it back.
    async fn replace(self, odm: &Odm) -> odm::Result<()> {
        match self {
            Read::Person(person) => odm.collection().replace(person).await.map(drop),
            Read::Task(task) => odm.collection().replace(task).await.map(drop),
            Read::Author(author) => odm.collection().replace(author).await.map(drop),
            Read::Book(book) => odm.collection().replace(book).await.map(drop),
            Read::Shelf(shelf) => odm.collection().replace(shelf).await.map(drop),
        }
    }
}

/// Of every document the version and the time of the last update.
async fn versions(t: &TestDb) -> Vec<((&'static str, i32), (i64, DateTime))> {
    let mut all = Vec::new();
    for name in ["people", "tasks", "authors", "books", "shelves"] {
        let mut found = t.db.collection::<Raw>(name).find(doc! {}).await.unwrap();
        while found.advance().await.unwrap() {
            let one = Raw::try_from(found.current()).unwrap();
            let versions = (
                one.get_i64("version").unwrap(),
                *one.get_datetime("updated_at").unwrap(),
            );
            all.push(((name, one.get_i32("_id").unwrap()), versions));
        }
    }
    all
}

/// Links or unlinks documents behind the back of those who have read them: to replace these is a conflict then. Their time of the
/// last update stays, and the version of every other document that the write does not change itself.
async fn protects(t: &TestDb, odm: &Odm, linked: &[(&'static str, i32)], write: impl Future<Output = ()>) {
    let mut read = Vec::new();
    for (collection, id) in linked {
        read.push(Read::of(odm, collection, *id).await);
    }
    let before = versions(t).await;
    tokio::time::sleep(Duration::from_millis(3)).await;
    write.await;
    let after = versions(t).await;
    let now = |which| {
        after
            .iter()
            .find(|(other, _)| *other == which)
            .map(|(_, versions)| *versions)
    };
    for (which, (version, time)) in before {
        match now(which) {
            Some(now) if linked.contains(&which) => {
                assert!(now.0 > version, "{which:?} keeps version {version}");
                assert_eq!(now.1, time, "{which:?}");
            }
            Some(now) => assert!(
                now.1 > time || now.0 == version,
                "{which:?}: {version} -> {}",
                now.0
            ),
            None => assert!(!linked.contains(&which), "{which:?} is gone"),
        }
    }
    for (read, which) in read.into_iter().zip(linked) {
        let error = read.replace(odm).await.expect_err("a link was overwritten");
        assert!(matches!(error, Error::Conflict { .. }), "{which:?}: {error}");
    }
    assert_clean(odm).await;
}

/// A test of one way in which the library links documents.
macro_rules! ways {
    ($($name:ident: [$($linked:expr),*] by |$t:ident, $odm:ident| $write:block)*) => {$(
        #[odm_tests::test]
        fn $name() {
            with_transactions(async |$t| {
                let $odm = some(&$t).await;
                protects(&$t, &$odm, &[$($linked),*], async { $write }).await;
            });
        }
    )*};
}

/// By what an operation says of itself, whose error is the test's.
macro_rules! done {
    ($($operation:tt)*) => {{ $($operation)*.await.unwrap(); }};
}

fn people(odm: &Odm) -> odm::Collection<Person> {
    odm.collection()
}

fn tasks(odm: &Odm) -> odm::Collection<Task> {
    odm.collection()
}

ways! {
    an_insert: [("people", 2)] by |_t, odm| {
        done!(tasks(&odm).insert(task(30, Some(2))));
    }
    an_insert_of_many: [("people", 1), ("people", 2)] by |_t, odm| {
        done!(tasks(&odm).insert_many([task(30, Some(2)), task(31, Some(1)), task(32, Some(1))]));
    }
    an_upsert_that_inserts: [("people", 2)] by |_t, odm| {
        done!(tasks(&odm).update(30).set(|t| t.text, "new").set(|t| t.owner, Some(Ref::new(2))).upsert());
    }
    an_upsert_by_a_condition: [("people", 2)] by |_t, odm| {
        let upsert = tasks(&odm);
        done!(upsert.update_where(|t| t.id.eq(30) & t.owner.eq(Some(Ref::new(2)))).set(|t| t.text, "new").upsert());
    }
    a_bulk: [("people", 1), ("people", 2)] by |_t, odm| {
        let bulk = odm.bulk().add(odm.collection::<Task>().insert(task(30, Some(2))));
        done!(bulk.add(odm.collection::<Task>().update(10).set(|t| t.owner, None)));
    }
    // From the one it goes to the other, and both have read their lists before.
    a_set_of_a_single_reference: [("people", 1), ("people", 2)] by |_t, odm| {
        done!(tasks(&odm).update(10).set(|t| t.owner, Some(Ref::new(2))));
    }
    an_unset_of_a_single_reference: [("people", 1)] by |_t, odm| {
        done!(tasks(&odm).update(10).unset(|t| t.owner));
    }
    an_update_that_gives_its_document: [("people", 1), ("people", 2)] by |_t, odm| {
        done!(tasks(&odm).update(10).set(|t| t.owner, Some(Ref::new(2))).returning());
    }
    // Taken over from Kate.
    a_push_onto_the_list: [("people", 1), ("tasks", 10)] by |_t, odm| {
        done!(people(&odm).update(2).push(|p| p.tasks, Ref::new(10)));
    }
    a_pull_from_the_list: [("tasks", 10)] by |_t, odm| {
        done!(people(&odm).update(1).pull(|p| p.tasks, Ref::new(10)));
    }
    an_update_of_many: [("people", 1), ("people", 2)] by |_t, odm| {
        done!(tasks(&odm).update_where(|t| t.id.gt(0)).set(|t| t.owner, Some(Ref::new(2))));
    }
    a_replacement: [("people", 1), ("people", 2)] by |_t, odm| {
        let mut task = tasks(&odm).get(10).await.unwrap().unwrap();
        task.owner = Some(Ref::new(2));
        done!(tasks(&odm).replace(task));
    }
    a_replacement_of_the_list: [("tasks", 10), ("tasks", 20)] by |_t, odm| {
        let mut kate = people(&odm).get(1).await.unwrap().unwrap();
        kate.tasks = vec![Ref::new(20)];
        done!(people(&odm).replace(kate));
    }
    many_to_many: [("authors", 1), ("authors", 2)] by |_t, odm| {
        done!(odm.collection::<Book>().update(1).set(|b| b.authors, vec![Ref::new(2)]));
    }
    many_to_many_from_the_other_side: [("books", 1)] by |_t, odm| {
        done!(odm.collection::<Author>().update(2).push(|a| a.books, Ref::new(1)));
    }
    // The field is its own other side.
    a_friend: [("people", 2), ("people", 3)] by |_t, odm| {
        done!(people(&odm).update(1).set(|p| p.friends, vec![Ref::new(2)]));
    }
    a_deletion: [("people", 1)] by |_t, odm| {
        done!(tasks(&odm).delete(10));
    }
    a_deletion_of_the_one: [("tasks", 10), ("people", 3)] by |_t, odm| {
        done!(people(&odm).delete(1));
    }
    a_deletion_of_many: [("people", 1)] by |_t, odm| {
        done!(tasks(&odm).delete_where(|t| t.id.gt(0)));
    }
    a_deletion_in_a_bulk: [("people", 1)] by |_t, odm| {
        done!(odm.bulk().add(odm.collection::<Task>().delete(10)));
    }
    a_transaction: [("people", 1), ("people", 2)] by |_t, odm| {
        let work = async |tx: odm::Tx| {
            let tasks = tx.collection::<Task>();
            tasks.update(10).set(|t| t.owner, Some(Ref::new(2))).await
        };
        done!(odm.transaction(work));
    }
    // Another program has written one side.
    a_repair_that_links: [("people", 2)] by |t, odm| {
        done!(raw(&t, "tasks").update_one(doc! { "_id": 20 }, doc! { "$set": { "owner": 2 } }));
        done!(odm.repair_all());
    }
    a_repair_that_unlinks: [("people", 2)] by |t, odm| {
        done!(raw(&t, "people").update_one(doc! { "_id": 2 }, doc! { "$set": { "tasks": [20] } }));
        done!(odm.repair_all());
    }
    a_repair_that_names_once: [("people", 1)] by |t, odm| {
        done!(raw(&t, "people").update_one(doc! { "_id": 1 }, doc! { "$set": { "tasks": [10, 10] } }));
        done!(odm.repair_all());
    }
    a_repair_of_what_dangles: [("tasks", 20)] by |t, odm| {
        done!(raw(&t, "tasks").update_one(doc! { "_id": 20 }, doc! { "$set": { "owner": 77 } }));
        done!(odm.repair_all());
    }
    the_reconciler: [("people", 1), ("people", 2)] by |t, odm| {
        let reconciler = odm.reconciler().start().await.unwrap();
        done!(raw(&t, "tasks").update_one(doc! { "_id": 10 }, doc! { "$set": { "owner": 2 } }));
        done!(reconciler.caught_up());
    }
    // Kate is deleted and restored: a badge was inserted at the same time.
    a_deletion_that_is_taken_back: [("tasks", 10), ("people", 3)] by |t, odm| {
        let badges = raw(&t, "badges");
        let work = async |tx: odm::Tx| {
            tx.collection::<Person>().delete(1).await?;
            badges.insert_one(doc! { "_id": 1, "person": 1 }).await?;
            Ok(())
        };
        let error = odm.transaction(work).await.unwrap_err();
        assert!(matches!(error, Error::StillReferenced { .. }), "{error}");
        assert_eq!(tasks(&odm).get(10).await.unwrap().unwrap().owner, Some(Ref::new(1)));
    }
    // Its place vanishes while it is inserted.
    an_insert_that_is_taken_back: [("people", 2)] by |t, odm| {
        let places = raw(&t, "places");
        let work = async |tx: odm::Tx| {
            let at_the_place = NewTask { place: Some(Ref::new(1)), ..task(30, Some(2)) };
            tx.collection::<Task>().insert(at_the_place).await?;
            places.delete_one(doc! { "_id": 1 }).await?;
            Ok(())
        };
        let error = odm.transaction(work).await.unwrap_err();
        assert!(matches!(error, Error::MissingReference { .. }), "{error}");
        assert_eq!(tasks(&odm).get(30).await.unwrap(), None);
    }
}

fn raw(t: &TestDb, name: &str) -> mongodb::Collection<Raw> {
    t.db.collection(name)
}

mod before {
    use super::{Document, Ref};

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "readers", version)]
    pub struct Reader {
        pub id: i32,
        pub version: i64,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "loans")]
    pub struct Loan {
        pub id: i32,
        #[reference]
        pub reader: Option<Ref<Reader>>,
    }
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "readers", version)]
struct Reader {
    id: i32,
    #[field(default)]
    #[reference(many, inverse = reader, max = 50)]
    loans: Vec<Ref<Loan>>,
    version: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "loans")]
struct Loan {
    id: i32,
    #[reference(inverse = loans)]
    reader: Option<Ref<Reader>>,
}

#[odm_tests::test]
fn a_backfill_of_the_other_side() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![before::Reader, before::Loan]).unwrap();
        odm.sync().await.unwrap();
        let readers = odm.collection::<before::Reader>();
        readers
            .insert_many([1, 2].map(|id| before::NewReader { id }))
            .await
            .unwrap();
        let loan = before::Loan {
            id: 1,
            reader: Some(Ref::new(1)),
        };
        odm.collection::<before::Loan>().insert(loan).await.unwrap();
        let odm = Odm::new(t.db.clone(), models![Reader, Loan]).unwrap();
        let plan = odm.plan().await.unwrap().accept_violations();
        odm.apply(&plan).await.unwrap();
        let readers = odm.collection::<Reader>();
        let (linked, other) = (
            readers.get(1).await.unwrap().unwrap(),
            readers.get(2).await.unwrap().unwrap(),
        );
        assert!(linked.loans.is_empty());
        odm.backfill().await.unwrap();
        let error = readers.replace(linked).await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::Conflict {
                    seen: 1,
                    found: Some(2),
                    ..
                }
            ),
            "{error}"
        );
        // Nothing came to this one.
        readers.replace(other).await.unwrap();
    });
}

/// A write of the other side that changes no link leaves the version, and so does a reference that only one document holds.
#[odm_tests::test]
fn a_write_that_changes_no_link_leaves_the_version() {
    with_transactions(async |t| {
        let odm = some(&t).await;
        let (people, tasks) = (people(&odm), tasks(&odm));
        tasks
            .update(20)
            .set(|t| t.place, Some(Ref::new(1)))
            .await
            .unwrap();
        protects(&t, &odm, &[], async {
            let plan = tasks.get(10).await.unwrap().unwrap();
            let plan = tasks.replace(plan).await.unwrap();
            tasks
                .update(&plan)
                .set(|t| t.owner, Some(Ref::new(1)))
                .await
                .unwrap();
            tasks.update(10).set(|t| t.text, "x").await.unwrap();
            people.update(1).push(|p| p.tasks, Ref::new(10)).await.unwrap();
            people.update(2).pull(|p| p.tasks, Ref::new(10)).await.unwrap();
            // One-way: the place goes, and the task's version stays.
            odm.collection::<Place>().delete(1).await.unwrap();
            // Both sides name each other before.
            raw(&t, "people")
                .update_one(doc! { "_id": 2 }, doc! { "$set": { "tasks": [20] } })
                .await
                .unwrap();
            tasks
                .update(20)
                .set(|t| t.owner, Some(Ref::new(2)))
                .await
                .unwrap();
        })
        .await;
        assert_eq!(tasks.get(20).await.unwrap().unwrap().place, None);
    });
}

/// An operation does not stand in its own way: the document that it was given has the version that it saw.
#[odm_tests::test]
fn an_operation_is_no_conflict_with_itself() {
    for alone in [false, true] {
        with_db(async |t| {
            let mut odm = some(&t).await;
            if alone {
                odm = t.standalone_of(&odm).await;
            }
            let (people, tasks) = (people(&odm), tasks(&odm));
            let kate = people.get(1).await.unwrap().unwrap();
            let friends = vec![Ref::new(1), Ref::new(2), Ref::new(3)];
            let kate = people
                .update(&kate)
                .set(|p| p.friends, friends)
                .returning()
                .await
                .unwrap();
            let kate = people
                .update(&kate)
                .push(|p| p.tasks, Ref::new(20))
                .returning()
                .await
                .unwrap();
            let mut kate = people
                .update(&kate)
                .pull(|p| p.tasks, Ref::new(10))
                .returning()
                .await
                .unwrap();
            kate.friends.pop();
            let kate = people.replace(kate).await.unwrap();
            assert_eq!(people.get(1).await.unwrap().unwrap(), kate);
            let plan = tasks.get(20).await.unwrap().unwrap();
            let plan = tasks
                .update(&plan)
                .set(|t| t.owner, Some(Ref::new(2)))
                .returning()
                .await
                .unwrap();
            assert_eq!(tasks.delete(&plan).await.unwrap().deleted, 1);
            // Friends of the same condition go together, and a shelf with its books, which unlink it.
            let (shelves, books) = (odm.collection::<Shelf>(), odm.collection::<Book>());
            let shelf = shelves.insert(NewShelf { id: 1, books: vec![] }).await.unwrap();
            let placed = (10..15).map(|id| NewBook {
                shelf: Some(shelf.to_ref()),
                ..book(id, &[1])
            });
            books.insert_many(placed).await.unwrap();
            let shelf = shelves.get(1).await.unwrap().unwrap();
            let done = shelves.delete(&shelf).await.unwrap();
            assert_eq!((done.deleted, done.cascaded), (1, 5));
            let version = people.get(1).await.unwrap().unwrap().version;
            let done = people.delete_where(|p| p.version.lte(version)).await.unwrap();
            assert_eq!(done.deleted, 3);
            assert_clean(&odm).await;
        });
    }
}
