//! Declarations over documents that are there already: summaries of buckets, and the other side of a reference.
//!
//! Each is filled by a backfill, which goes on where it was interrupted, and not by a `repair`, which would believe a side that
//! no write has filled yet.

use super::stopped::Process;
use odm::Error;
use odm::bson::{Document as Doc, doc};
use odm::prelude::*;
use odm_tests::{TestDb, assert_clean, with_db};

/// Posts and their comments, in buckets that count them and nothing more.
mod counted {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "posts")]
    pub struct Post {
        #[serde(rename = "_id")]
        pub id: i32,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[bucket(of = Post, size = 3)]
    pub struct Comment {
        pub stars: i32,
        pub at: DateTime,
    }
}

/// The same with times and a sum, which the posts add up.
mod summed {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "posts")]
    pub struct Post {
        #[serde(rename = "_id")]
        pub id: i32,
        #[serde(default)]
        #[computed(sum = CommentBucket.sum_stars)]
        pub stars: i64,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[bucket(of = Post, size = 3, time = at, sum(stars))]
    pub struct Comment {
        pub stars: i32,
        pub at: DateTime,
    }
}

/// People who don't know their tasks.
mod tasks_before {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "people")]
    pub struct Person {
        #[serde(rename = "_id")]
        pub id: i32,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "tasks")]
    pub struct Task {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference]
        pub owner: Option<Ref<Person>>,
    }
}

mod tasks {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "people")]
    pub struct Person {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference(many, max = 4000, inverse = owner)]
        pub tasks: Vec<Ref<Task>>,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "tasks")]
    pub struct Task {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference(inverse = tasks)]
        pub owner: Option<Ref<Person>>,
    }
}

/// Books that know their authors. The side of the authors, which comes first by its name, is the one that a repair believes.
mod books_before {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "authors")]
    pub struct Author {
        #[serde(rename = "_id")]
        pub id: i32,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "books")]
    pub struct Book {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference(many, max = 20)]
        pub authors: Vec<Ref<Author>>,
    }
}

mod books {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "authors")]
    pub struct Author {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference(many, max = 4000, inverse = authors)]
        pub books: Vec<Ref<Book>>,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "books")]
    pub struct Book {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference(many, max = 20, inverse = books)]
        pub authors: Vec<Ref<Author>>,
    }
}

/// Makes the schema over documents that it does not allow yet.
async fn synced(odm: &Odm) -> Vec<String> {
    let plan = odm.plan().await.unwrap().accept_violations();
    let due = plan.backfills().to_vec();
    let applied = odm.apply(&plan).await.unwrap();
    assert_eq!(applied.backfills(), due);
    due
}

/// Lets processes die in a backfill at these of their commands. Says after how many of them it was not done yet.
async fn dies_in_a_backfill(
    t: &TestDb,
    models: impl Fn() -> Vec<odm::Model>,
    at: impl IntoIterator<Item = usize>,
) -> usize {
    let mut died = 0;
    for at in at {
        let process = Process::new(t).await;
        let odm = Odm::new(process.db.clone(), models()).unwrap();
        if let Ok(stopped) = process.until(at, async move { odm.backfill().await }).await {
            stopped.dies().await;
            died += 1;
        }
    }
    died
}

fn raw(t: &TestDb, collection: &str) -> mongodb::Collection<Doc> {
    t.db.collection(collection)
}

/// 2,500 buckets of a post, as a program without times and sums has written them.
async fn counted_buckets(t: &TestDb) {
    let odm = Odm::new(t.db.clone(), models![counted::Post, counted::CommentBucket]).unwrap();
    odm.sync().await.unwrap();
    odm.collection::<counted::Post>()
        .insert(counted::Post { id: 1 })
        .await
        .unwrap();
    let comments = (0..7_500).map(|n| counted::Comment {
        stars: n % 5,
        at: DateTime::from_millis(n.into()),
    });
    let comments: Vec<counted::Comment> = comments.collect();
    odm.buckets::<counted::Comment>()
        .push_many(&Ref::<counted::Post>::new(1), comments)
        .await
        .unwrap();
    assert_clean(&odm).await;
}

fn summed_models() -> Vec<odm::Model> {
    models![summed::Post, summed::CommentBucket].to_vec()
}

#[odm_tests::test]
fn summaries_that_are_declared_later_are_filled() {
    with_db(async |t| {
        counted_buckets(&t).await;
        let odm = Odm::new(t.db.clone(), summed_models()).unwrap();
        assert_eq!(synced(&odm).await, ["comment_buckets.comments", "posts.stars"]);
        let without = doc! { "sum_stars": { "$exists": false } };
        let open = async || {
            raw(&t, "comment_buckets")
                .count_documents(without.clone())
                .await
                .unwrap()
        };
        assert_eq!(open().await, 2_500);
        // It dies in the second thousand.
        assert_eq!(dies_in_a_backfill(&t, summed_models, [8]).await, 1);
        assert!((1..2_500).contains(&open().await), "{}", open().await);
        // Somebody pushes meanwhile.
        let post = Ref::<summed::Post>::new(1);
        let comment = summed::Comment {
            stars: 9,
            at: DateTime::from_millis(1 << 40),
        };
        odm.buckets::<summed::Comment>()
            .push(post, comment)
            .await
            .unwrap();
        t.commands.clear();
        let filled = odm.backfill().await.unwrap();
        assert_eq!(filled.edges, ["comment_buckets.comments", "posts.stars"]);
        assert!(
            filled.documents < 2_500,
            "it goes on where it was: {}",
            filled.documents
        );
        assert_eq!(open().await, 0);
        assert_clean(&odm).await;
        let post = odm.collection::<summed::Post>().get(1).await.unwrap().unwrap();
        assert_eq!(post.stars, 15_009);
        let bucket = raw(&t, "comment_buckets")
            .find_one(doc! { "comments.at": DateTime::from_millis(0) })
            .await
            .unwrap()
            .unwrap();
        assert_eq!(bucket.get_i64("sum_stars").unwrap(), 3);
        assert_eq!(
            bucket.get_datetime("last").unwrap(),
            &DateTime::from_millis(2),
            "{bucket}"
        );
        t.commands.clear();
        assert!(odm.backfill().await.unwrap().edges.is_empty());
        assert_eq!(t.commands.take(), ["find"], "it knows that it is done");
        assert!(odm.sync().await.unwrap().backfills().is_empty());
    });
}

/// One for the declarations; for three thousands of buckets each one to read, one to write, one for the place; and the end.
#[odm_tests::test]
fn a_backfill_of_summaries_costs_three_round_trips_for_a_thousand() {
    odm_tests::takes_long();
    with_db(async |t| {
        counted_buckets(&t).await;
        let models = models![counted::Post, counted::CommentBucket];
        raw(&t, "comment_buckets")
            .update_many(doc! {}, doc! { "$set": { "count": 1 } })
            .await
            .unwrap();
        let odm = Odm::new(t.db.clone(), models).unwrap();
        raw(&t, "_odm_edges")
            .update_many(doc! {}, doc! { "$set": { "filled": false } })
            .await
            .unwrap();
        odm.server().await.unwrap();
        t.commands.clear();
        let filled = odm.backfill().await.unwrap();
        assert_eq!(filled.documents, 2_500);
        let sent = t.commands.take();
        let sent: Vec<&str> = sent.iter().map(String::as_str).collect();
        let batch = ["update", "update"];
        let count = |name: &str| sent.iter().filter(|sent| **sent == name).count();
        assert_eq!(count("update"), 3 * batch.len() + 1, "{sent:?}");
        assert!(sent.len() <= 1 + 3 * 3 + 2, "{sent:?}");
    });
}

#[odm_tests::test]
fn a_program_that_lacks_a_sum_does_not_write_its_buckets() {
    odm_tests::takes_long();
    with_db(async |t| {
        counted_buckets(&t).await;
        let new = Odm::new(t.db.clone(), summed_models()).unwrap();
        synced(&new).await;
        new.backfill().await.unwrap();
        let old = Odm::new(t.db.clone(), models![counted::Post, counted::CommentBucket]).unwrap();
        let told = old.sync().await.unwrap_err();
        let Error::UnknownCopies { edges } = &told else {
            panic!("{told}")
        };
        let sum = "comment_buckets.sum_stars from comment_buckets.comments.stars";
        assert!(edges.iter().any(|name| name == sum), "{edges:?}");
        let comment = || counted::Comment {
            stars: 1,
            at: DateTime::from_millis(0),
        };
        let post = Ref::<counted::Post>::new(1);
        let comments = old.buckets::<counted::Comment>();
        for refused in [
            comments.push(post, comment()).await.map(drop),
            comments.push_many(&post, vec![comment()]).await.map(drop),
            comments
                .edit(post, |c| c.stars.eq(1), |c| c.set(|c| c.stars, 2))
                .await
                .map(drop),
            comments.delete(post, |c| c.stars.eq(1)).await.map(drop),
            old.repair_all().await.map(drop),
        ] {
            assert!(matches!(refused, Err(Error::UnknownCopies { .. })), "{refused:?}");
        }
        assert_clean(&new).await;
        // The declarations of the newer one are as they were.
        assert!(new.sync().await.unwrap().backfills().is_empty());
        // The sum is gone for good.
        assert!(old.forget_copies().await.unwrap() > 0);
        old.sync().await.unwrap();
        comments.push(post, comment()).await.unwrap();
    });
}

async fn owned_tasks(t: &TestDb, many: i32) {
    use tasks_before::{Person, Task};
    let odm = Odm::new(t.db.clone(), models![Person, Task]).unwrap();
    odm.sync().await.unwrap();
    let people = (0..4).map(|id| Person { id });
    odm.collection::<Person>().insert_many(people).await.unwrap();
    let tasks = (0..many).map(|id| Task {
        id,
        // The last of the people has none, and some tasks have no owner.
        owner: (id % 4 < 3).then(|| Ref::new(id % 4)),
    });
    odm.collection::<Task>().insert_many(tasks).await.unwrap();
}

fn task_models() -> Vec<odm::Model> {
    models![tasks::Person, tasks::Task].to_vec()
}

#[odm_tests::test]
fn an_other_side_that_is_declared_later_is_filled() {
    odm_tests::takes_long();
    with_db(async |t| {
        owned_tasks(&t, 3_000).await;
        let odm = Odm::new(t.db.clone(), task_models()).unwrap();
        assert_eq!(synced(&odm).await, ["tasks.owner", "people.tasks"]);
        assert_eq!(dies_in_a_backfill(&t, task_models, [12]).await, 1);
        let person = async |id: i32| {
            let found = raw(&t, "people").find_one(doc! { "_id": id }).await.unwrap();
            let found = found.unwrap();
            found.get_array("tasks").map_or(0, Vec::len)
        };
        assert!((1..750).contains(&person(0).await), "{}", person(0).await);
        // Meanwhile a task gets another owner.
        let tasks = odm.collection::<tasks::Task>();
        tasks.update(2_996).set(|t| t.owner, Ref::new(2)).await.unwrap();
        let filled = odm.backfill().await.unwrap();
        assert_eq!(filled.edges, ["tasks.owner", "people.tasks"]);
        assert_clean(&odm).await;
        assert_eq!(
            (person(0).await, person(1).await, person(2).await),
            (749, 750, 751)
        );
        // A person whom no task names has an empty list, and is as declared.
        let last = odm.collection::<tasks::Person>().get(3).await.unwrap().unwrap();
        assert!(last.tasks.is_empty());
        assert!(odm.plan().await.unwrap().backfills().is_empty());
        assert!(odm.backfill().await.unwrap().edges.is_empty());
    });
}

/// Earlier links are not removed because the side that is believed is the new one.
#[odm_tests::test]
fn nothing_is_lost_where_the_new_side_is_the_one_that_is_believed() {
    odm_tests::takes_long();
    with_db(async |t| {
        {
            use books_before::{Author, Book};
            let odm = Odm::new(t.db.clone(), models![Author, Book]).unwrap();
            odm.sync().await.unwrap();
            let authors = (0..3).map(|id| Author { id });
            odm.collection::<Author>().insert_many(authors).await.unwrap();
            let books = (0..1_101).map(|id| Book {
                id,
                authors: vec![Ref::new(id % 3), Ref::new((id + 1) % 3)],
            });
            odm.collection::<Book>().insert_many(books).await.unwrap();
        }
        let models = || models![books::Author, books::Book].to_vec();
        let named = async || {
            let books = raw(&t, "books");
            let sum = doc! { "$group": { "_id": null, "n": { "$sum": { "$size": "$authors" } } } };
            let mut all = books.aggregate([sum]).await.unwrap();
            assert!(all.advance().await.unwrap());
            all.current().get_i32("n").unwrap()
        };
        for alone in [false, true] {
            let db = if alone { t.standalone().await } else { t.db.clone() };
            let odm = || Odm::new(db.clone(), models()).unwrap();
            assert_eq!(synced(&odm()).await, ["authors.books", "books.authors"]);
            // A process that has not learned of it by a `sync` looks, too.
            let repaired = odm().repair_all().await.unwrap();
            assert_eq!((named().await, repaired.repaired), (2_202, 0), "{repaired}");
            assert_eq!(repaired.left.wrong(), 2_202);
            odm().recover().await.unwrap();
            assert_eq!(dies_in_a_backfill(&t, models, [14]).await, 1);
            let filled = odm().backfill().await.unwrap();
            assert_eq!(filled.edges.last().unwrap(), "books.authors");
            assert_eq!(named().await, 2_202);
            assert_clean(&odm()).await;
            let author = odm().collection::<books::Author>().get(1).await.unwrap();
            assert_eq!(author.unwrap().books.len(), 734);
            // From now on the side that is believed decides.
            raw(&t, "authors")
                .update_one(doc! { "_id": 0 }, doc! { "$set": { "books": [] } })
                .await
                .unwrap();
            odm().repair_all().await.unwrap();
            assert_eq!(named().await, 1_468);
            // And the same once more, as if the authors had never known them.
            let unfilled = doc! { "$unset": { "books": "", "_odm": "" } };
            raw(&t, "authors")
                .update_many(doc! {}, unfilled)
                .bypass_document_validation(true)
                .await
                .unwrap();
            let restored = doc! { "$set": { "authors": [{ "$mod": ["$_id", 3] }, { "$mod": [{ "$add": ["$_id", 1] }, 3] }] } };
            raw(&t, "books")
                .update_many(doc! {}, vec![restored])
                .await
                .unwrap();
            let edges = raw(&t, "_odm_edges");
            edges
                .delete_many(doc! { "_id": { "$in": ["authors.books", "books.authors"] } })
                .await
                .unwrap();
        }
    });
}

/// A reconciler that begins compares everything, and so fills what is new.
#[odm_tests::test]
fn a_reconciler_fills_the_other_side_and_takes_nothing_out() {
    with_db(async |t| {
        owned_tasks(&t, 40).await;
        let odm = Odm::new(t.db.clone(), task_models()).unwrap();
        odm_tests::require_transactions(&odm).await;
        // An entry of a list that the task does not know: of a task without an owner, and of one with another owner.
        raw(&t, "people")
            .update_one(doc! { "_id": 3 }, doc! { "$set": { "tasks": [3, 1] } })
            .await
            .unwrap();
        synced(&odm).await;
        let reconciler = odm.reconciler().start().await.unwrap();
        reconciler.caught_up().await.unwrap();
        reconciler.stop().await.unwrap();
        assert_clean(&odm).await;
        let tasks = odm.collection::<tasks::Task>();
        let owner = async |id: i32| tasks.get(id).await.unwrap().unwrap().owner.map(Ref::into_key);
        assert_eq!(
            (owner(3).await, owner(1).await, owner(7).await),
            (Some(3), Some(1), None)
        );
        assert!(odm.plan().await.unwrap().backfills().is_empty());
    });
}
