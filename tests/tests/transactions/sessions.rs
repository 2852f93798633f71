//! Everything takes a session: each operation within one transaction, every command of it as a part of that transaction, what
//! it has written so far seen by what follows, and nothing of it left when it is rolled back.

use super::copying::{self, auto, watched};
use futures::{StreamExt, TryStreamExt};
use odm::bson::{Bson, Document as Doc, doc};
use odm::mongodb::event::command::CommandEvent;
use odm::prelude::*;
use odm::{Error, Tx};
use odm_tests::{TestDb, require_transactions, with_db};
use std::sync::{Arc, Mutex};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "writers")]
pub struct Writer {
    pub id: i32,
    pub name: String,
    pub rank: i32,
    #[embed(max = 3)]
    pub tags: Vec<String>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "works")]
pub struct Work {
    pub id: i32,
    #[parent_ref(order(-year), on_delete = cascade)]
    pub writer: Ref<Writer>,
    pub year: i32,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Writer, size = 2)]
pub struct Remark {
    pub n: i32,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = Writer)]
pub struct Named {
    pub name: String,
}

fn models() -> [odm::Model; 3] {
    models![Writer, Work, RemarkBucket]
}

fn writer(id: i32) -> Writer {
    Writer {
        id,
        name: format!("writer {id}"),
        rank: id,
        tags: vec![],
    }
}

fn work(id: i32, writer: i32) -> Work {
    Work {
        id,
        writer: Ref::new(writer),
        year: 1900 + id,
    }
}

/// The commands of a client as they are sent.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<Doc>>>);

impl Sent {
    /// Another process, whose commands are recorded.
    async fn by(t: &TestDb, models: impl IntoIterator<Item = odm::Model>) -> (Odm, Sent) {
        let sent = Sent::default();
        let record = sent.clone();
        let odm = watched(t, models, move |event| {
            if let CommandEvent::Started(started) = event
                && !matches!(
                    started.command_name.as_str(),
                    "hello" | "isMaster" | "endSessions" | "killCursors"
                )
            {
                record.0.lock().unwrap().push(started.command);
            }
        })
        .await;
        sent.0.lock().unwrap().clear();
        (odm, sent)
    }

    fn take(&self) -> Vec<Doc> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// The checks after each operation of a transaction.
struct Steps<'a> {
    sent: &'a Sent,
    /// The transaction: its session and number.
    of: Option<(Bson, Bson)>,
    done: Vec<&'static str>,
}

impl Steps<'_> {
    /// All commands since the step before are of the one transaction, and one of them is this.
    fn step(&mut self, what: &'static str, command: &str) {
        let sent = self.sent.take();
        for command in &sent {
            let of = (command.get("lsid").cloned(), command.get("txnNumber").cloned());
            let (Some(session), Some(number)) = of else {
                panic!("{what}: outside of any transaction: {command}");
            };
            assert_eq!(
                command.get("autocommit"),
                Some(&Bson::Boolean(false)),
                "{what}: {command}"
            );
            let known = self.of.get_or_insert((session.clone(), number.clone()));
            assert_eq!(
                known,
                &(session, number),
                "{what}: in another transaction: {command}"
            );
            let first = command.get("startTransaction") == Some(&Bson::Boolean(true));
            let is_first = self.done.is_empty() && std::ptr::eq(command, &sent[0]);
            assert_eq!(first, is_first, "{what}: {command}");
        }
        let names: Vec<&String> = sent.iter().filter_map(|command| command.keys().next()).collect();
        assert!(names.iter().any(|name| *name == command), "{what}: {names:?}");
        self.done.push(what);
    }
}

/// Everything that is stored, as somebody outside of the transaction sees it.
async fn stored(t: &TestDb) -> Vec<(String, Doc)> {
    let mut all = Vec::new();
    let mut names = t.db.list_collection_names().await.unwrap();
    names.sort();
    for name in names {
        let collection = t.db.collection::<Doc>(&name);
        let found = collection.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
        let found: Vec<Doc> = found.try_collect().await.unwrap();
        all.extend(found.into_iter().map(|document| (name.clone(), document)));
    }
    all
}

/// The operations, each with the command that it sends.
async fn every_operation(tx: &Tx, steps: &mut Steps<'_>) -> odm::Result<()> {
    let (writers, works) = (tx.collection::<Writer>(), tx.collection::<Work>());

    let ten = writers.insert(writer(10)).await?;
    steps.step("insert", "insert");
    writers.insert_many((11..=15).map(writer)).await?;
    steps.step("insert_many", "insert");
    works
        .insert_many((20..26).map(|id| work(id, 10 + id % 2)))
        .await?;
    steps.step("insert_many with references", "insert");

    assert_eq!(writers.get(10).await?, Some(ten.clone()));
    steps.step("get", "find");
    assert_eq!(writers.get_many([15, 10, 99, 15]).await?.len(), 3);
    steps.step("get_many", "find");
    assert_eq!(writers.find(|w| w.rank.gte(10)).all().await?.len(), 6);
    steps.step("all", "find");
    let first = writers.find_all().sort(|w| w.rank.desc()).one().await?;
    assert_eq!(first.map(|writer| writer.id), Some(15));
    steps.step("one", "find");
    let named: Vec<Named> = writers.find(|w| w.id.eq(12)).select::<Named>().all().await?;
    assert_eq!(named[0].name, "writer 12");
    steps.step("select", "find");
    let streamed = writers.find_all().batch_size(2).stream().await?;
    assert_eq!(streamed.try_collect::<Vec<_>>().await?.len(), 8);
    steps.step("stream", "getMore");
    assert_eq!(writers.find_all().lossy().all().await?.items.len(), 8);
    steps.step("lossy", "find");
    assert_eq!(writers.find_all().count().await?, 8);
    steps.step("count", "aggregate");
    assert!(writers.find(|w| w.id.eq(13)).exists().await?);
    steps.step("exists", "find");
    let page = writers.find(|w| w.id.gte(10)).page(4).await?;
    steps.step("page", "find");
    let rest = writers
        .find(|w| w.id.gte(10))
        .page(4)
        .after(page.next.expect("more"))
        .await?;
    assert_eq!((rest.items.len(), rest.next), (2, None));
    steps.step("after", "find");
    let ranks: Vec<Doc> = writers
        .aggregate()
        .filter(|w| w.id.gte(10))
        .sort(|w| w.id.asc())
        .all()
        .await?;
    assert_eq!(ranks.len(), 6);
    steps.step("aggregate", "aggregate");
    let mut ranks = writers
        .aggregate()
        .stage(doc! { "$count": "n" })
        .stream::<Doc>()
        .await?;
    assert!(ranks.next().await.expect("a number")?.contains_key("n"));
    drop(ranks);
    steps.step("aggregate as a stream", "aggregate");

    let of_ten = works.children_of(&ten).all().await?;
    assert_eq!(
        of_ten.iter().map(|work| work.id).collect::<Vec<_>>(),
        [24, 22, 20]
    );
    steps.step("of", "find");
    assert_eq!(of_ten[0].writer.load(tx).await?, ten);
    steps.step("Ref::load", "find");
    let of_each: Vec<Ref<Writer>> = of_ten.iter().map(|work| work.writer).collect();
    assert_eq!(of_each.load(tx).await?.len(), 3);
    steps.step("load of many", "find");
    let children: Vec<Work> = writers.load(&ten, |w| w.children::<Work>().limit(2)).await?;
    assert_eq!(children.iter().map(|work| work.id).collect::<Vec<_>>(), [24, 22]);
    steps.step("Collection::load", "find");
    let joined = works.find(|w| w.id.gte(20)).include(|w| w.writer).all().await?;
    assert!(
        joined.len() == 6
            && joined
                .iter()
                .all(|(work, writer)| work.writer.key() == &writer.id)
    );
    steps.step("include", "find");
    let joined = works
        .find(|w| w.id.gte(20))
        .include(|w| w.writer)
        .stream()
        .await?;
    assert_eq!(joined.try_collect::<Vec<_>>().await?.len(), 6);
    steps.step("include in a stream", "find");
    let joined = works.find(|w| w.id.gte(20)).include(|w| w.writer).page(5).await?;
    assert_eq!(joined.items.len(), 5);
    steps.step("include in a page", "find");
    let by_queries = |w: WriterFields| w.children::<Work>().by_queries();
    let parents = writers.find(|w| w.id.eq(10)).include(by_queries).all().await?;
    assert_eq!(parents[0].1, of_ten);
    steps.step("children", "find");
    let joined = works
        .find(|w| w.id.eq(21))
        .include(|w| w.writer)
        .lookup()
        .all()
        .await?;
    assert_eq!(joined[0].1.id, 11);
    steps.step("lookup", "aggregate");

    let done = writers
        .update(10)
        .set(|w| w.name, "new")
        .push(|w| w.tags, "a")
        .await?;
    assert_eq!((done.matched, done.modified), (1, 1));
    steps.step("update", "update");
    let changed = writers.update(10).inc(|w| w.rank, 1).returning().await?;
    assert_eq!(
        (changed.name.as_str(), changed.rank, changed.tags.len()),
        ("new", 11, 1)
    );
    steps.step("returning", "findAndModify");
    let before = writers.update(10).inc(|w| w.rank, 1).returning_before().await?;
    assert_eq!(before.rank, 11);
    steps.step("returning_before", "findAndModify");
    let done = writers
        .update_where(|w| w.id.gte(10))
        .push(|w| w.tags, "all")
        .await?;
    assert_eq!((done.modified, done.refused), (6, 0));
    steps.step("update_where", "update");
    let tags = writers.find(|w| w.tags.contains("all")).count().await?;
    assert_eq!(tags, 6);
    steps.step("count of what was changed", "aggregate");
    let whole = writers
        .update(16)
        .set(|w| w.name, "up")
        .set(|w| w.rank, 1)
        .set(|w| w.tags, vec![])
        .upsert();
    assert_eq!(whole.await?.upserted, Some(Bson::Int32(16)));
    steps.step("upsert", "update");
    let moved = works.update(20).set(|w| w.writer, Ref::new(16)).await?;
    assert_eq!(moved.modified, 1);
    steps.step("update of a reference", "update");
    writers
        .replace(Writer {
            name: "whole".into(),
            ..writer(15)
        })
        .await?;
    assert_eq!(
        writers.get(15).await?.map(|writer| writer.name).as_deref(),
        Some("whole")
    );
    steps.step("replace", "update");
    let done = works.delete(25).await?;
    assert_eq!(done.deleted, 1);
    steps.step("delete", "delete");
    let done = works.delete_where(|w| w.year.eq(1923)).await?;
    assert_eq!(done.deleted, 1);
    steps.step("delete_where", "delete");
    let done = writers.delete(11).await?;
    assert_eq!((done.deleted, done.cascaded), (1, 1));
    steps.step("delete with a cascade", "delete");
    let bulk = tx
        .bulk()
        .add(writers.insert(writer(17)))
        .add(works.insert(work(27, 17)))
        .add(writers.update(17).inc(|w| w.rank, 1))
        .add(writers.update_where(|w| w.id.eq(12)).set(|w| w.rank, 0))
        .add(tx.collection().replace(Writer {
            name: "bulk".into(),
            ..writer(13)
        }))
        .add(works.delete(24))
        .add(works.delete_where(|w| w.id.eq(22)))
        .await?;
    assert_eq!((bulk.inserted, bulk.deleted), (2, 2));
    let command = if tx.collection::<Writer>().odm().server().await?.has_bulk_write() {
        "bulkWrite"
    } else {
        "insert"
    };
    steps.step("bulk", command);
    assert_eq!(works.find(|w| w.id.gte(20)).all().await?.len(), 2);
    steps.step("all that is left", "find");

    let remarks = tx.buckets::<Remark>();
    assert_eq!(remarks.push(10, Remark { n: 1 }).await?, 1);
    steps.step("push onto a bucket", "insert");
    remarks.push_many(10, (2..=5).map(|n| Remark { n })).await?;
    steps.step("push_many", "insert");
    assert_eq!(remarks.count(10).await?, 5);
    steps.step("count of a bucket", "aggregate");
    assert_eq!(remarks.page(10, 3).await?, [Remark { n: 5 }]);
    steps.step("page of a bucket", "find");
    let all: Vec<Remark> = remarks.stream(10).await?.try_collect().await?;
    assert_eq!(all.len(), 5);
    steps.step("stream of buckets", "find");

    let driver = writers.driver::<Doc>();
    let mut session = tx.session().await?;
    driver
        .delete_one(doc! { "_id": 12 })
        .session(&mut *session)
        .await?;
    drop(session);
    assert_eq!(writers.get(12).await?, None);
    steps.step("the driver's own", "delete");
    Ok(())
}

#[odm_tests::test]
fn every_operation_takes_the_transaction_and_leaves_nothing_when_it_is_rolled_back() {
    with_db(async |t| {
        let direct = Odm::new(t.db.clone(), models()).unwrap();
        direct.sync().await.unwrap();
        require_transactions(&direct).await;
        direct
            .collection::<Writer>()
            .insert_many([writer(1), writer(2)])
            .await
            .unwrap();
        direct.collection::<Work>().insert(work(3, 1)).await.unwrap();
        let before = stored(&t).await;
        let (odm, sent) = Sent::by(&t, models()).await;
        let all = Mutex::new(Vec::new());
        let outcome = odm
            .transaction(async |tx| {
                let mut steps = Steps {
                    sent: &sent,
                    of: None,
                    done: Vec::new(),
                };
                every_operation(&tx, &mut steps).await?;
                // No other client has seen any of it.
                assert_eq!(stored(&t).await, before);
                // The server refuses to explain here, which ends the transaction; it is asked within it all the same.
                let explained = tx.collection::<Writer>().find_all().explain().await;
                steps.step("explain", "explain");
                drop(explained);
                *all.lock().unwrap() = steps.done;
                Err::<(), _>(Error::application("enough"))
            })
            .await;
        assert!(matches!(&outcome, Err(Error::Application(_))), "{outcome:?}");
        let all = all.into_inner().unwrap();
        let named = [
            "insert insert_many get get_many all one select stream count exists page after aggregate of Ref::load include lookup",
            "update returning update_where upsert replace delete delete_where bulk explain",
        ];
        for name in named.iter().flat_map(|names| names.split(' ')) {
            assert!(all.contains(&name), "{name} of {all:?}");
        }
        let last = sent.take();
        let last: Vec<_> = last.iter().filter_map(|command| command.keys().next()).collect();
        assert_eq!(last, ["abortTransaction"], "nothing is looked at after it");
        assert_eq!(stored(&t).await, before);
    });
}

/// Writes with copies, two hops far, derived fields and cascades: all that the library writes by itself is of the
/// transaction too.
#[odm_tests::test]
fn writes_of_the_library_are_in_the_transaction_too() {
    with_db(async |t| {
        let direct = auto::stocked(&t).await;
        require_transactions(&direct).await;
        // The handle reads its facts about the database outside of any transaction.
        let (odm, sent) = Sent::by(&t, auto::models()).await;
        let authors = odm.collection::<auto::Author>();
        authors.update(1).set(|a| a.remark, "known").await.unwrap();
        authors.update(1).set(|a| a.name, "known").await.unwrap();
        sent.take();
        let before = stored(&t).await;
        let outcome = odm
            .transaction(async |tx| {
                let mut steps = Steps {
                    sent: &sent,
                    of: None,
                    done: Vec::new(),
                };
                let (authors, books) = (tx.collection::<auto::Author>(), tx.collection::<auto::Book>());
                authors.insert(auto::author(9)).await?;
                steps.step("a source", "insert");
                books.insert(auto::book(90, 9)).await?;
                steps.step("a child that is counted", "insert");
                let shelf = auto::NewShelf {
                    id: 9,
                    books: vec![Ref::new(90), Ref::new(1)],
                };
                tx.collection::<auto::Shelf>().insert(shelf).await?;
                steps.step("copies in an array", "insert");
                authors.update(1).set(|a| a.name, "new").await?;
                steps.step("a source's update", "update");
                let shelf = tx.collection::<auto::Shelf>().get(9).await?.expect("it is there");
                assert_eq!(shelf.books[1].author_name, "new", "two hops far");
                steps.step("its copies", "find");
                books.update(90).set(|b| b.author, Ref::new(2)).await?;
                steps.step("another parent", "update");
                authors.delete(1).await?;
                steps.step("a cascade", "delete");
                let two = authors.get(2).await?.expect("it is there");
                assert_eq!((two.books, books.find_all().count().await?), (2, 2));
                steps.step("what is left", "aggregate");
                Err::<(), _>(Error::application("enough"))
            })
            .await;
        assert!(matches!(&outcome, Err(Error::Application(_))), "{outcome:?}");
        let last = sent.take();
        let last: Vec<_> = last.iter().filter_map(|command| command.keys().next()).collect();
        assert_eq!(last, ["abortTransaction"]);
        assert_eq!(stored(&t).await, before);
        copying::assert_true(&direct).await;
    });
}
