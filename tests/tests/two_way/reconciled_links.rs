//! Out-of-band writes of two-way references, and the reconciler that makes both sides agree again.

use super::links::*;
use futures::future::join_all;
use odm::Odm;
use odm::bson::{Bson, Document as Raw, doc};
use odm::prelude::*;
use odm::upkeep::Reconciler;
use odm_tests::{TestDb, assert_clean, may_stand_still, with_transactions};
use std::time::{Duration, Instant};

fn raw(t: &TestDb, name: &str) -> mongodb::Collection<Raw> {
    t.db.collection(name)
}

async fn written(t: &TestDb, name: &str, id: i32, update: Raw) {
    let result = raw(t, name).update_one(doc! { "_id": id }, update).await.unwrap();
    assert_eq!(result.matched_count, 1, "{name} {id}");
}

/// Waits as `caught_up` does, but not for ever.
async fn soon(reconciler: &Reconciler) {
    let waited = tokio::time::timeout(Duration::from_secs(60), reconciler.caught_up()).await;
    waited.expect("it does not get any further").unwrap();
}

/// Whom one document names.
async fn names(odm: &Odm, collection: &str, field: &str, id: impl Into<Bson>) -> Vec<String> {
    named(odm, collection, field)
        .await
        .remove(&id.into().to_string())
        .unwrap()
}

/// Two people with a task each, two authors of whom the first has written a book, and two nodes.
async fn some(odm: &Odm) {
    odm.collection::<Person>()
        .insert_many((1..=2).map(person))
        .await
        .unwrap();
    odm.collection::<Task>()
        .insert_many([task(10, 1), task(20, 2)])
        .await
        .unwrap();
    odm.collection::<Book>()
        .insert_many((1..=3).map(|id| book(id, &[])))
        .await
        .unwrap();
    odm.collection::<Author>()
        .insert_many([author(1, &[1]), author(2, &[])])
        .await
        .unwrap();
    odm.collection::<Node>()
        .insert_many((1..=2).map(node))
        .await
        .unwrap();
}

#[odm_tests::test]
fn the_reconciler_follows_the_authoritative_side() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        some(&odm).await;
        let reconciler = odm.reconciler().start().await.unwrap();

        // Of one to many the single reference: set, it leaves the one list and comes into the other.
        written(&t, "tasks", 10, doc! { "$set": { "owner": 2 } }).await;
        soon(&reconciler).await;
        assert!(names(&odm, "people", "tasks", 1).await.is_empty());
        assert_eq!(names(&odm, "people", "tasks", 2).await, ["20", "10"]);
        agree(&odm).await;
        // The list is put right.
        written(&t, "people", 1, doc! { "$push": { "tasks": 20 } }).await;
        written(&t, "people", 2, doc! { "$pull": { "tasks": 10 } }).await;
        soon(&reconciler).await;
        assert!(names(&odm, "people", "tasks", 1).await.is_empty());
        assert_eq!(names(&odm, "people", "tasks", 2).await, ["20", "10"]);
        agree(&odm).await;

        // Of many to many the collection that comes first by its name: authors.
        written(
            &t,
            "authors",
            2,
            doc! { "$push": { "books": { "$each": [2, 1] } } },
        )
        .await;
        written(&t, "authors", 1, doc! { "$pull": { "books": 1 } }).await;
        written(&t, "books", 3, doc! { "$push": { "authors": 1 } }).await;
        soon(&reconciler).await;
        assert_eq!(names(&odm, "books", "authors", 1).await, ["2"]);
        assert_eq!(names(&odm, "books", "authors", 2).await, ["2"]);
        assert!(names(&odm, "books", "authors", 3).await.is_empty());
        agree(&odm).await;
        written(&t, "books", 1, doc! { "$set": { "authors": [] } }).await;
        soon(&reconciler).await;
        assert_eq!(names(&odm, "books", "authors", 1).await, ["2"]);

        // An out-of-band write of both sides is not disturbed, in whichever order; a document that is listed twice is listed once.
        written(&t, "books", 3, doc! { "$push": { "authors": 2 } }).await;
        written(&t, "authors", 2, doc! { "$push": { "books": 3 } }).await;
        soon(&reconciler).await;
        written(&t, "authors", 2, doc! { "$pull": { "books": 2 } }).await;
        soon(&reconciler).await;
        written(&t, "books", 2, doc! { "$pull": { "authors": 2 } }).await;
        written(&t, "authors", 1, doc! { "$push": { "books": 1 } }).await;
        soon(&reconciler).await;
        written(&t, "books", 1, doc! { "$push": { "authors": 1 } }).await;
        soon(&reconciler).await;
        assert_eq!(names(&odm, "books", "authors", 1).await, ["2", "1"]);
        assert_eq!(names(&odm, "books", "authors", 3).await, ["2"]);
        agree(&odm).await;

        // Within one collection, with a field that is its own other side.
        written(
            &t,
            "nodes",
            1,
            doc! { "$set": { "partner": 2, "parent": 2, "friends": [2] } },
        )
        .await;
        soon(&reconciler).await;
        assert_eq!(names(&odm, "nodes", "partner", 2).await, ["1"]);
        assert_eq!(names(&odm, "nodes", "children", 2).await, ["1"]);
        assert_eq!(names(&odm, "nodes", "friends", 2).await, ["1"]);
        agree(&odm).await;
        assert_clean(&odm).await;
        reconciler.stop().await.unwrap();
    });
}

#[odm_tests::test]
fn the_reconciler_links_documents_that_others_insert_and_replace() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        some(&odm).await;
        let reconciler = odm.reconciler().start().await.unwrap();
        let (books, authors) = (raw(&t, "books"), raw(&t, "authors"));
        // One collection after the other, as an import does it. A reference to a document that is not there yet is left alone.
        authors
            .insert_one(doc! { "_id": 5, "name": "five", "books": [1, 7] })
            .await
            .unwrap();
        soon(&reconciler).await;
        assert_eq!(names(&odm, "authors", "books", 5).await, ["1", "7"]);
        assert_eq!(names(&odm, "books", "authors", 1).await, ["1", "5"]);
        books
            .insert_one(doc! { "_id": 7, "title": "seven", "authors": [] })
            .await
            .unwrap();
        soon(&reconciler).await;
        assert_eq!(names(&odm, "books", "authors", 7).await, ["5"]);
        agree(&odm).await;
        // A replacement by somebody who knows nothing of what the library keeps.
        books
            .replace_one(doc! { "_id": 7 }, doc! { "title": "7", "authors": [2] })
            .await
            .unwrap();
        authors
            .replace_one(doc! { "_id": 2 }, doc! { "name": "two", "books": [3] })
            .await
            .unwrap();
        soon(&reconciler).await;
        assert_eq!(names(&odm, "books", "authors", 7).await, ["5"]);
        assert_eq!(names(&odm, "books", "authors", 3).await, ["2"]);
        agree(&odm).await;
        // Documents of the library's, as they were taken from elsewhere: with the count of later writes, or of the first one.
        for (id, count) in [(8, 4_i64), (9, 1)] {
            let linked = doc! { "_id": id, "title": "copied", "authors": [1], "_odm": { "links": count } };
            books.insert_one(linked).await.unwrap();
            soon(&reconciler).await;
            assert!(names(&odm, "books", "authors", id).await.is_empty(), "{count}");
            agree(&odm).await;
        }
        // Nor is a whole document that was read before and is set again, with what the library has in it.
        odm.collection::<Author>()
            .update(1)
            .add_to_set(|a| a.books, Ref::new(9))
            .await
            .unwrap();
        let before = books.find_one(doc! { "_id": 9 }).await.unwrap().unwrap();
        odm.collection::<Author>()
            .update(2)
            .add_to_set(|a| a.books, Ref::new(9))
            .await
            .unwrap();
        soon(&reconciler).await;
        books
            .update_one(doc! { "_id": 9 }, doc! { "$set": before })
            .await
            .unwrap();
        soon(&reconciler).await;
        assert_eq!(names(&odm, "books", "authors", 9).await, ["1", "2"]);
        agree(&odm).await;
        assert_clean(&odm).await;
        reconciler.stop().await.unwrap();
    });
}

#[odm_tests::test]
fn the_reconciler_finds_writes_made_while_none_ran() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        some(&odm).await;
        // Before the first one: everything is compared.
        written(&t, "tasks", 10, doc! { "$set": { "owner": 2 } }).await;
        let first = odm.reconciler().start().await.unwrap();
        soon(&first).await;
        assert_eq!(names(&odm, "people", "tasks", 2).await, ["20", "10"]);
        agree(&odm).await;
        first.stop().await.unwrap();
        // After its end: the stream goes on there.
        written(&t, "tasks", 20, doc! { "$set": { "owner": 1 } }).await;
        written(&t, "authors", 1, doc! { "$push": { "books": 2 } }).await;
        let second = odm.reconciler().start().await.unwrap();
        soon(&second).await;
        assert_eq!(names(&odm, "people", "tasks", 1).await, ["20"]);
        assert_eq!(names(&odm, "books", "authors", 2).await, ["1"]);
        agree(&odm).await;
        second.stop().await.unwrap();
        // One of other models has no place, and compares.
        written(&t, "authors", 2, doc! { "$push": { "books": 3 } }).await;
        let fewer = Odm::new(t.db.clone(), models![Author, Book]).unwrap();
        let third = fewer.reconciler().start().await.unwrap();
        soon(&third).await;
        assert_eq!(names(&odm, "books", "authors", 3).await, ["2"]);
        agree(&odm).await;
        third.stop().await.unwrap();
        assert_clean(&odm).await;
    });
}

/// The library's own writes are right already, and cost the reconciler nothing; out-of-band writes cost it less
/// than a query for each document, where they are many.
#[odm_tests::test]
fn the_reconciler_skips_links_that_the_library_writes() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        some(&odm).await;
        let (tasks, people) = (odm.collection::<Task>(), odm.collection::<Person>());
        let (books, authors) = (odm.collection::<Book>(), odm.collection::<Author>());
        // How often it reads something to take up what was written since the last time.
        let reads = async || {
            t.commands.clear();
            let reconciler = odm.reconciler().start().await.unwrap();
            soon(&reconciler).await;
            reconciler.stop().await.unwrap();
            let sent = t.commands.take();
            let is_read = |name: &&String| ["find", "aggregate"].contains(&name.as_str());
            sent.iter().filter(is_read).count()
        };
        let everything = reads().await;
        let nothing = reads().await;
        assert!(nothing < everything);
        books.insert(book(11, &[1])).await.unwrap();
        people.insert(person(3)).await.unwrap();
        tasks.insert_many((30..130).map(|id| task(id, 3))).await.unwrap();
        tasks.update(30).set(|t| t.owner, Ref::new(1)).await.unwrap();
        people.update(2).push(|p| p.tasks, Ref::new(31)).await.unwrap();
        tasks
            .update_where(|t| t.id.gte(32))
            .set(|t| t.owner, Ref::new(2))
            .await
            .unwrap();
        books.update(11).pull(|b| b.authors, Ref::new(1)).await.unwrap();
        authors.update(2).set(|a| a.books, refs(&[1, 11])).await.unwrap();
        let upsert = books
            .update(12)
            .set(|b| b.title, "twelve")
            .set(|b| b.authors, refs(&[]));
        upsert.upsert().await.unwrap();
        odm.bulk()
            .add(odm.collection().insert(book(13, &[2])))
            .add(books.update(1).pull(|b| b.authors, Ref::new(2)))
            .await
            .unwrap();
        tasks.update(31).set(|t| t.description, "other").await.unwrap();
        tasks.delete(31).await.unwrap();
        authors.delete(1).await.unwrap();
        assert_eq!(reads().await, nothing, "of the library's own writes");
        agree(&odm).await;
        let update = doc! { "$set": { "owner": 3 } };
        let one = raw(&t, "tasks");
        one.update_one(doc! { "_id": 30 }, update.clone()).await.unwrap();
        let of_one = reads().await;
        assert!(of_one > nothing);
        agree(&odm).await;
        one.update_many(doc! {}, doc! { "$set": { "owner": 1 } })
            .await
            .unwrap();
        let of_all = reads().await;
        // The stream gives them in as many parts as it likes: fewer on a quick machine.
        assert!(
            of_all - nothing < 101,
            "{of_all} for 101 documents, {of_one} for one, {nothing} for none"
        );
        agree(&odm).await;
        assert_clean(&odm).await;
    });
}

/// Without a validator an out-of-band write may make a list longer than its bound: its entries stay, none is added, and other
/// out-of-band writes are repaired all the same.
#[odm_tests::test]
fn an_array_that_others_have_overfilled_does_not_block_the_reconciler() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Team, Member]).unwrap();
        let (teams, members) = (raw(&t, "teams"), raw(&t, "members"));
        teams
            .insert_many([
                doc! { "_id": "a", "playing": [1_i64, 2_i64, 3_i64, 4_i64, 5_i64] },
                doc! { "_id": "b", "playing": [] },
            ])
            .await
            .unwrap();
        members
            .insert_many((1..=7_i64).map(|id| {
                let team = match id {
                    1..=5 => Bson::from("a"),
                    _ => Bson::Null,
                };
                doc! { "_id": id, "note": "", "plays_for": team }
            }))
            .await
            .unwrap();
        let reconciler = odm.reconciler().start().await.unwrap();
        soon(&reconciler).await;
        assert_eq!(
            names(&odm, "teams", "playing", "a").await,
            ["1", "2", "3", "4", "5"]
        );
        // One of the list is looked at, one comes for whom there is no room, and one comes to the other list.
        let playing = |team: &str| doc! { "$set": { "plays_for": team } };
        members
            .replace_one(doc! { "_id": 1_i64 }, doc! { "note": "new", "plays_for": "a" })
            .await
            .unwrap();
        written(&t, "members", 6, playing("a")).await;
        written(&t, "members", 7, playing("b")).await;
        soon(&reconciler).await;
        let all: [&[&str]; 2] = [&["1", "2", "3", "4", "5"], &["7"]];
        for (team, all) in ["a", "b"].into_iter().zip(all) {
            let mut named = names(&odm, "teams", "playing", team).await;
            named.sort();
            assert_eq!(named, all, "{team}");
        }
        // Where the list gets shorter there is room again.
        members
            .update_many(doc! { "_id": { "$in": [1_i64, 2_i64, 3_i64] } }, playing("b"))
            .await
            .unwrap();
        soon(&reconciler).await;
        let mut named = names(&odm, "teams", "playing", "b").await;
        named.sort();
        assert_eq!(named.len(), 3, "{named:?}");
        assert!(named.contains(&"7".to_owned()), "{named:?}");
        reconciler.stop().await.unwrap();
    });
}

mod posts {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "posts")]
    pub struct Post {
        pub id: i32,
        #[reference(many, inverse = posts, max = 100)]
        pub tags: Vec<Ref<Tag>>,
        #[reference(inverse = written)]
        pub author: Option<Ref<Writer>>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "tags")]
    pub struct Tag {
        pub id: i32,
        #[reference(many, inverse = tags, max = 100)]
        pub posts: Vec<Ref<Post>>,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "writers")]
    pub struct Writer {
        pub id: i32,
        #[reference(many, inverse = author, max = 100)]
        pub written: Vec<Ref<Post>>,
    }
}

/// A random number below `sides`.
fn roll(state: &mut u64, sides: u64) -> i32 {
    for shift in [13_i32, -7, 17] {
        *state ^= if shift > 0 {
            *state << shift
        } else {
            *state >> -shift
        };
    }
    i32::try_from(*state % sides).unwrap()
}

/// One write of the library's.
async fn of_the_library(odm: &Odm, state: &mut u64) -> odm::Result<()> {
    use posts::*;
    let (posts, tags) = (odm.collection::<Post>(), odm.collection::<Tag>());
    let writers = odm.collection::<Writer>();
    let (post, tag, writer) = (roll(state, 8), roll(state, 4), roll(state, 3));
    match roll(state, 8) {
        0 => posts
            .update(post)
            .add_to_set(|p| p.tags, Ref::new(tag))
            .await
            .map(drop),
        1 => posts.update(post).pull(|p| p.tags, Ref::new(tag)).await.map(drop),
        2 => tags
            .update(tag)
            .add_to_set(|t| t.posts, Ref::new(post))
            .await
            .map(drop),
        3 => tags.update(tag).pull(|t| t.posts, Ref::new(post)).await.map(drop),
        4 => posts
            .update(post)
            .set(|p| p.author, Ref::new(writer))
            .await
            .map(drop),
        5 => posts.update(post).unset(|p| p.author).await.map(drop),
        6 => writers
            .update(writer)
            .pull(|w| w.written, Ref::new(post))
            .await
            .map(drop),
        _ => tags
            .update(tag)
            .set(|t| t.posts, refs(&[post, (post + 1) % 8]))
            .await
            .map(drop),
    }
}

/// One out-of-band write, of one side.
async fn of_somebody_else(t: &TestDb, state: &mut u64) {
    let (post, tag, writer) = (roll(state, 8), roll(state, 4), roll(state, 3));
    let (name, id, update) = match roll(state, 8) {
        0 => ("posts", post, doc! { "$addToSet": { "tags": tag } }),
        1 => ("posts", post, doc! { "$pull": { "tags": tag } }),
        2 => ("tags", tag, doc! { "$push": { "posts": post } }),
        3 => ("tags", tag, doc! { "$pull": { "posts": post } }),
        4 => ("posts", post, doc! { "$set": { "author": writer } }),
        5 => ("posts", post, doc! { "$unset": { "author": "" } }),
        6 => ("writers", writer, doc! { "$addToSet": { "written": post } }),
        _ => ("tags", tag, doc! { "$set": { "posts": [post] } }),
    };
    // Beside an open transaction the stand-in has it tried again; a `mongod` lets it wait.
    while let Err(error) = raw(t, name).update_one(doc! { "_id": id }, update.clone()).await {
        assert!(error.to_string().contains("WriteConflict"), "{error}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn two(odm: &Odm) -> Vec<Reconciler> {
    let start = || async { odm.reconciler().start().await.unwrap() };
    vec![start().await, start().await]
}

async fn stopped(reconcilers: impl IntoIterator<Item = Reconciler>) {
    for reconciler in reconcilers {
        soon(&reconciler).await;
        reconciler.stop().await.unwrap();
    }
}

/// Eight tasks that use the library and two with out-of-band writes change the same documents, for ten seconds, or for as many as
/// `ODM_SECONDS` says, beside two reconcilers (which come afterwards where the server would stand still). When these have caught
/// up, both sides agree.
#[odm_tests::test]
fn whatever_others_write_at_once_both_sides_agree() {
    use posts::*;
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Post, Tag, Writer]).unwrap();
        odm.sync().await.unwrap();
        let seconds = std::env::var("ODM_SECONDS")
            .ok()
            .and_then(|text| text.parse().ok());
        let (posts, tags) = (odm.collection::<Post>(), odm.collection::<Tag>());
        let post = |id| NewPost {
            id,
            tags: vec![],
            author: None,
        };
        posts.insert_many((0..8).map(post)).await.unwrap();
        tags.insert_many((0..4).map(|id| NewTag { id, posts: vec![] }))
            .await
            .unwrap();
        let writer = |id| NewWriter { id, written: vec![] };
        odm.collection::<Writer>()
            .insert_many((0..3).map(writer))
            .await
            .unwrap();
        let mut reconcilers = two(&odm).await;
        let one_after_the_other = may_stand_still(&t.db).await;
        if one_after_the_other {
            stopped(reconcilers.drain(..)).await;
        }
        let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(10));
        let library = join_all((1..=8_u64).map(|seed| {
            let odm = &odm;
            async move {
                let (mut state, mut done) = (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15), 0);
                while Instant::now() < end {
                    match of_the_library(odm, &mut state).await {
                        Ok(()) => done += 1,
                        Err(error) => assert!(is_refusal(&error), "{error}"),
                    }
                }
                done
            }
        }));
        let others = join_all((1..=2_u64).map(|seed| {
            let t = &t;
            async move {
                let (mut state, mut done) = (seed.wrapping_mul(0xD1B5_4A32_D192_ED03), 0);
                while Instant::now() < end {
                    of_somebody_else(t, &mut state).await;
                    done += 1;
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                done
            }
        }));
        let (done, by_others) = futures::future::join(library, others).await;
        let (done, by_others): (u64, u64) = (done.iter().sum(), by_others.iter().sum());
        println!("{done} writes of the library's, {by_others} of others");
        assert!(done > 8 && by_others > 8, "{done}, {by_others}");
        if one_after_the_other {
            reconcilers = two(&odm).await;
        }
        stopped(reconcilers).await;
        assert_clean(&odm).await;
    });
}
