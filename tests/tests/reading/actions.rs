//! An operation is a value until it is awaited: it is stored, returned by a function, and run in a task of its own.

use futures::{StreamExt, TryStreamExt};
use odm::Error;
use odm::prelude::*;
use odm::query::Action;
use odm_tests::{TestDb, require_transactions, with_db};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "authors")]
struct Author {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "books")]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[index]
    title: String,
    #[reference]
    author: Ref<Author>,
}

#[derive(Projection, Deserialize, Debug, PartialEq)]
#[projection(of = Book)]
struct Title {
    title: String,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[bucket(of = Book, size = 2, time = at)]
struct Remark {
    at: DateTime,
    #[field(max_len = 10)]
    text: String,
}

fn ada() -> Author {
    Author {
        id: 1,
        name: "Ada".into(),
    }
}

fn book(id: i32) -> Book {
    Book {
        id,
        title: format!("Book {id}"),
        author: Ref::new(1),
    }
}

fn remark(second: i64) -> Remark {
    Remark {
        at: DateTime::from_millis(second * 1_000),
        text: format!("no. {second}"),
    }
}

async fn stocked(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Author, Book, RemarkBucket]).unwrap();
    odm.sync().await.unwrap();
    odm.collection::<Author>().insert(ada()).await.unwrap();
    odm.collection::<Book>()
        .insert_many((1..=5).map(book))
        .await
        .unwrap();
    odm
}

/// Executes an operation in a task of its own.
async fn in_a_task<Out, A>(action: A) -> Out
where
    Out: Send + 'static,
    A: IntoFuture<Output = odm::Result<Out>, IntoFuture: Send + 'static>,
{
    tokio::spawn(action.into_future()).await.unwrap().unwrap()
}

#[odm_tests::test]
fn a_query_runs_in_a_task_of_its_own() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        // The collection is dropped before the operation runs.
        let books = || odm.collection::<Book>();
        let first = || books().find(|b| b.id.lte(2)).sort(|b| b.id.asc());
        let both = [book(1), book(2)];
        let joined = [(book(1), ada()), (book(2), ada())];

        assert_eq!(in_a_task(books().get(2)).await, Some(book(2)));
        assert_eq!(in_a_task(books().get(9)).await, None);
        assert_eq!(in_a_task(books().get_many([3, 9, 1])).await, [book(3), book(1)]);
        assert_eq!(in_a_task(books().load(&book(1), |b| b.author)).await, ada());

        assert_eq!(in_a_task(first().all()).await, both);
        let title = "Book 1".to_owned();
        assert_eq!(in_a_task(first().select().one()).await, Some(Title { title }));
        assert_eq!(in_a_task(first().count()).await, 2);
        assert!(in_a_task(first().exists()).await);
        assert_eq!(in_a_task(first().explain()).await.joins, []);
        let page = tokio::spawn(first().page(1).into_future())
            .await
            .unwrap()
            .unwrap();
        assert_eq!((page.items, page.next.is_some()), (vec![book(1)], true));

        let include = || first().include(|b| b.author);
        assert_eq!(in_a_task(include().all()).await, joined);
        assert_eq!(in_a_task(include().one()).await.unwrap(), joined[0]);
        assert_eq!(in_a_task(include().lookup().all()).await, joined);
        assert_eq!(in_a_task(include().lookup().one()).await.unwrap(), joined[0]);
        let lossy = in_a_task(first().lossy().all()).await;
        assert_eq!((lossy.items, lossy.bad.len()), (both.to_vec(), 0));

        let stream = in_a_task(first().stream()).await;
        assert_eq!(stream.try_collect::<Vec<_>>().await.unwrap(), both);
        let stream = in_a_task(include().stream()).await;
        assert_eq!(stream.try_collect::<Vec<_>>().await.unwrap(), joined);
        let stream = in_a_task(first().resumable().stream()).await;
        assert_eq!(stream.try_collect::<Vec<_>>().await.unwrap(), both);
        let stream = in_a_task(first().lossy().stream()).await;
        let rows: Vec<odm::Result<Book>> = stream.try_collect().await.unwrap();
        assert_eq!(rows.into_iter().collect::<odm::Result<Vec<_>>>().unwrap(), both);

        let pipeline = || books().aggregate().filter(|b| b.id.lte(2)).sort(|b| b.id.asc());
        assert_eq!(in_a_task(pipeline().all::<Book>()).await, both);
        assert_eq!(in_a_task(pipeline().one::<Book>()).await, Some(book(1)));
        let stream = in_a_task(pipeline().stream::<Book>()).await;
        assert_eq!(stream.try_collect::<Vec<_>>().await.unwrap(), both);
    });
}

#[odm_tests::test]
fn an_operation_on_buckets_runs_in_a_task_of_its_own() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let remarks = || odm.buckets::<Remark>();
        assert_eq!(in_a_task(remarks().push(1, remark(1))).await, 1);
        in_a_task(remarks().push_many(1, (2..=5).map(remark))).await;
        let pages = in_a_task(remarks().pages(1)).await;
        assert_eq!(
            pages.iter().map(|bucket| bucket.count).collect::<Vec<_>>(),
            [2, 2, 1]
        );
        assert_eq!(in_a_task(remarks().count(1)).await, 5);
        assert_eq!(in_a_task(remarks().page(1, 2)).await, [remark(3), remark(4)]);
        assert_eq!(in_a_task(remarks().page(1, 9)).await, []);
        let time = remark(2).at..=remark(3).at;
        assert_eq!(in_a_task(remarks().range(1, time)).await, [remark(2), remark(3)]);
        let stream = in_a_task(remarks().stream(1)).await;
        let all: Vec<Remark> = stream.try_collect().await.unwrap();
        assert_eq!(all, (1..=5).map(remark).collect::<Vec<_>>());
        let edit = remarks().edit(1, |r| r.text.eq("no. 5"), |r| r.set(|r| r.text, "the last"));
        assert_eq!(in_a_task(edit).await, 1);
        assert_eq!(in_a_task(remarks().page(1, 3)).await[0].text, "the last");
        let delete = remarks().delete(1, |r| r.text.ne("the last"));
        assert_eq!(in_a_task(delete).await, 4);
        assert_eq!(in_a_task(remarks().count(1)).await, 1);
    });
}

#[odm_tests::test]
fn an_operation_on_the_whole_database_runs_in_a_task_of_its_own() {
    with_db(async |t| {
        let odm = || Odm::new(t.db.clone(), models![Author, Book, RemarkBucket]).unwrap();
        let plan = in_a_task(odm().plan()).await;
        assert!(!plan.is_empty());
        let apply = odm().apply(&plan);
        drop(plan);
        assert!(!in_a_task(apply).await.is_empty());
        assert!(in_a_task(odm().sync()).await.is_empty());
        in_a_task(odm().check_models()).await;
        assert_eq!(in_a_task(odm().undeclared_copies()).await, [""; 0]);
        assert_eq!(in_a_task(odm().forget_copies()).await, 0);
        assert_eq!(in_a_task(odm().delete_expired()).await.deleted, 0);
        require_transactions(&odm()).await;
        let reconciler = in_a_task(odm().reconciler().start()).await;
        in_a_task(reconciler.caught_up()).await;
        reconciler.stop().await.unwrap();
    });
}

/// A page of an application: its reads are built before the first is executed.
#[derive(Debug)]
struct Screen {
    titles: Vec<Action<Option<Title>>>,
    books: Action<u64>,
    remarks: Action<u64>,
}

fn screen(odm: &Odm) -> Screen {
    let books = odm.collection::<Book>();
    let title = |id: i32| books.find(|b| b.id.eq(id)).select().one();
    Screen {
        titles: vec![title(1), title(9)],
        books: books.find_all().count(),
        remarks: odm.buckets::<Remark>().count(1),
    }
}

#[odm_tests::test]
fn a_stored_operation_sends_nothing_until_it_is_awaited() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        t.commands.clear();
        let screen = screen(&odm);
        drop(odm.buckets::<Remark>().push(1, remark(1)));
        drop(odm.collection::<Book>().get(1));
        assert_eq!(t.commands.take(), [""; 0]);
        let shown = format!("{:?}", screen.books);
        assert_eq!(shown, r#"Action { collection: "books", operation: "count", .. }"#);

        odm.collection::<Book>().insert(book(6)).await.unwrap();
        odm.buckets::<Remark>()
            .push_many(1, (1..=3).map(remark))
            .await
            .unwrap();
        let titles = screen.titles.into_iter().map(IntoFuture::into_future);
        let titles = futures::future::try_join_all(titles).await.unwrap();
        let title = "Book 1".to_owned();
        assert_eq!(titles, [Some(Title { title }), None]);
        assert_eq!(screen.books.await.unwrap(), 6);
        assert_eq!(screen.remarks.await.unwrap(), 3);
    });
}

#[odm_tests::test]
fn an_argument_that_breaks_a_bound_is_an_error_of_the_operation_and_nothing_is_sent() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let remarks = odm.buckets::<Remark>();
        let long = || Remark {
            text: "much too long".into(),
            ..remark(1)
        };
        remarks.push(1, remark(1)).await.unwrap();
        let refused = |error: Error| assert!(matches!(error, Error::Invalid { .. }), "{error}");
        t.commands.clear();
        refused(remarks.push_many(1, [remark(2), long()]).await.unwrap_err());
        let edit = remarks.edit(1, |r| r.text.ne(""), |r| r.set(|r| r.text, "much too long"));
        refused(edit.await.unwrap_err());
        refused(remarks.push(1, long()).await.unwrap_err());
        assert_eq!(t.commands.take(), [""; 0]);
    });
}

#[odm_tests::test]
fn a_pipeline_takes_the_options_of_a_query() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let books = odm.collection::<Book>();
        let pipeline = || books.aggregate().filter(|b| b.title.starts_with("Book"));
        assert_eq!(pipeline().hint("title_1").all::<Book>().await.unwrap().len(), 5);
        let error = pipeline().hint("no_such_index").all::<Book>().await.unwrap_err();
        assert!(error.to_string().contains("hint"), "{error}");
        t.commands.clear();
        assert_eq!(pipeline().batch_size(3).all::<Book>().await.unwrap().len(), 5);
        assert_eq!(t.commands.take(), ["aggregate", "getMore"]);
        assert_eq!(pipeline().all::<Book>().await.unwrap().len(), 5);
        assert_eq!(t.commands.take(), ["aggregate"]);
    });
}

#[odm_tests::test]
fn the_next_batch_is_requested_while_one_is_read_from_the_second_on() {
    with_db(async |t| {
        let odm = stocked(&t).await;
        let books = odm.collection::<Book>();
        let pause = Duration::from_millis(100);
        t.commands.clear();

        let mut stream = books.find_all().batch_size(1).stream().await.unwrap();
        stream.next().await.unwrap().unwrap();
        tokio::time::sleep(pause).await;
        assert_eq!(t.commands.take(), ["find"], "the first batch is all that is read");
        stream.next().await.unwrap().unwrap();
        while t.commands.times("getMore") < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(pause).await;
        assert_eq!(
            t.commands.take(),
            ["getMore", "getMore"],
            "one batch is on its way"
        );
        stream.next().await.unwrap().unwrap();
        drop(stream);

        t.commands.clear();
        let three = books.find_all().batch_size(1).limit(3).stream().await.unwrap();
        assert_eq!(three.try_collect::<Vec<_>>().await.unwrap().len(), 3);
        assert_eq!(t.commands.take().len(), 3, "none behind the limit");

        require_transactions(&odm).await;
        let within = odm.transaction(async |tx| {
            let mut stream = tx.collection::<Book>().find_all().batch_size(1).stream().await?;
            for _ in 0..2 {
                stream.next().await.unwrap()?;
            }
            tokio::time::sleep(pause).await;
            assert_eq!(t.commands.take(), ["find", "getMore"], "in a transaction");
            Ok(())
        });
        within.await.unwrap();
    });
}
