//! Documents that expire, and what depends on them.

use odm::Error;
use odm::prelude::*;
use odm_tests::{assert_clean, with_db, with_transactions};
use std::time::Duration;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "threads", expire = closes)]
struct Thread {
    id: i32,
    closes: Option<DateTime>,
    #[computed(count = Post)]
    posts: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts", expire(field = written, after = 3600))]
struct Post {
    id: i32,
    #[parent_ref(on_delete = cascade)]
    thread: Ref<Thread>,
    written: DateTime,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "pins")]
struct Pin {
    id: i32,
    #[reference(on_delete = restrict)]
    thread: Ref<Thread>,
}

fn seconds_ago(seconds: i64) -> DateTime {
    DateTime::from_millis(DateTime::now().timestamp_millis() - seconds * 1_000)
}

async fn stocked(odm: &Odm) {
    odm.sync().await.unwrap();
    let (threads, posts) = (odm.collection::<Thread>(), odm.collection::<Post>());
    let closes = [Some(60), Some(-60), None, Some(60)];
    for (id, closes) in (1..).zip(closes) {
        let closes = closes.map(seconds_ago);
        threads.insert(NewThread { id, closes }).await.unwrap();
    }
    for (id, thread, age) in [(1, 1, 5), (2, 2, 5), (3, 2, 7_200), (4, 3, 5), (5, 4, 5)] {
        let written = seconds_ago(age);
        posts
            .insert(Post {
                id,
                thread: Ref::new(thread),
                written,
            })
            .await
            .unwrap();
    }
    // Held back by `restrict`.
    odm.collection::<Pin>()
        .insert(Pin {
            id: 1,
            thread: Ref::new(4),
        })
        .await
        .unwrap();
}

async fn left(odm: &Odm) -> (Vec<(i32, i64)>, Vec<i32>) {
    let threads = odm
        .collection::<Thread>()
        .find_all()
        .sort(|t| t.id.asc())
        .all()
        .await
        .unwrap();
    let posts = odm
        .collection::<Post>()
        .find_all()
        .sort(|p| p.id.asc())
        .all()
        .await
        .unwrap();
    (
        threads.iter().map(|thread| (thread.id, thread.posts)).collect(),
        posts.iter().map(|post| post.id).collect(),
    )
}

#[odm_tests::test]
fn expired_documents_are_deleted_by_the_rules() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Thread, Post, Pin]).unwrap();
        stocked(&odm).await;
        let done = odm.delete_expired().await.unwrap();
        // The first thread with its post, and the post that is two hours old.
        assert_eq!((done.deleted, done.cascaded), (2, 1));
        assert_eq!(left(&odm).await, (vec![(2, 1), (3, 1), (4, 1)], vec![2, 4, 5]));
        assert_clean(&odm).await;
        // What held it back is gone.
        odm.collection::<Pin>().delete(1).await.unwrap();
        let done = odm.delete_expired().await.unwrap();
        assert_eq!((done.deleted, done.cascaded), (1, 1));
        assert_eq!(left(&odm).await, (vec![(2, 1), (3, 1)], vec![2, 4]));
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn a_worker_deletes_expired_documents_in_its_rounds() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Thread, Post, Pin]).unwrap();
        stocked(&odm).await;
        let worker = odm.worker(Duration::from_millis(20));
        for _ in 0..500 {
            if left(&odm).await == (vec![(2, 1), (3, 1), (4, 1)], vec![2, 4, 5]) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(left(&odm).await, (vec![(2, 1), (3, 1), (4, 1)], vec![2, 4, 5]));
        // One that expires while the worker runs.
        let threads = odm.collection::<Thread>();
        threads
            .update(3)
            .set(|t| t.closes, Some(DateTime::now()))
            .await
            .unwrap();
        for _ in 0..500 {
            if threads.get(3).await.unwrap().is_none() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        worker.stop().await;
        assert_eq!(left(&odm).await, (vec![(2, 1), (4, 1)], vec![2, 5]));
        assert_clean(&odm).await;
    });
}

/// The field has an index, which deletes nothing by itself.
#[odm_tests::test]
fn the_field_is_indexed_without_a_time_to_live() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Thread, Post, Pin]).unwrap();
        odm.sync().await.unwrap();
        let listed =
            t.db.run_command(mongodb::bson::doc! { "listIndexes": "posts" })
                .await
                .unwrap();
        let indexes = listed
            .get_document("cursor")
            .unwrap()
            .get_array("firstBatch")
            .unwrap();
        let mut indexes = indexes.iter().filter_map(|index| index.as_document());
        let of_expiry = indexes
            .find(|index| index.get_str("name").ok() == Some("written_1"))
            .unwrap();
        assert!(!of_expiry.contains_key("expireAfterSeconds"), "{of_expiry}");
        assert!(odm.plan().await.unwrap().is_empty());
    });
}

/// More than one step finds, of documents that nothing refers to.
#[odm_tests::test]
fn many_expired_documents_are_deleted_in_parts() {
    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "tokens", expire = until)]
    struct Token {
        id: i32,
        until: DateTime,
    }
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Token]).unwrap();
        odm.sync().await.unwrap();
        let tokens = odm.collection::<Token>();
        let token = |id: i32| Token {
            id,
            until: seconds_ago(if id < 2_500 { 1 } else { -3_600 }),
        };
        tokens.insert_many((0..2_510).map(token)).await.unwrap();
        t.commands.clear();
        assert_eq!(odm.delete_expired().await.unwrap().deleted, 2_500);
        assert_eq!(
            t.commands.take(),
            ["find", "delete", "find", "delete", "find", "delete"]
        );
        assert_eq!(tokens.find_all().count().await.unwrap(), 10);
    });
}

mod refused {
    use super::*;

    macro_rules! pair {
        ($name:ident, [$($on_session:tt)*], [$($on_user:tt)*]) => {
            pub mod $name {
                use super::*;

                #[derive(Document, Clone, Debug, PartialEq)]
                #[document(collection = "users")]
                pub struct User {
                    pub id: i32,
                    $($on_user)*
                }

                #[derive(Document, Clone, Debug, PartialEq)]
                #[document(collection = "sessions")]
                pub struct Session {
                    pub id: i32,
                    #[index(expire_after = 60)]
                    pub at: DateTime,
                    $($on_session)*
                }
            }
        };
    }

    pair!(referred, [], [#[reference(on_delete = cascade)] pub session: Ref<Session>,]);
    pair!(
        counted,
        [#[parent_ref(on_delete = cascade)] pub user: Ref<User>,],
        [#[computed(count = Session)] pub sessions: i64,]
    );
    pair!(
        linked,
        [#[reference(inverse = sessions, on_delete = cascade)] pub user: Ref<User>,],
        [#[reference(many, max = 10, inverse = user)] pub sessions: Vec<Ref<Session>>,]
    );
    pair!(kept, [], [#[reference(on_delete = keep)] pub session: Ref<Session>,]);
    pair!(holds, [#[reference(on_delete = cascade)] pub user: Ref<User>,], []);
}

/// Such an index deletes past every rule: what refers to the document dangles, counts and links are wrong.
#[odm_tests::test]
fn a_time_to_live_of_documents_that_others_depend_on_is_refused() {
    with_db(async |t| {
        macro_rules! said {
            ($name:ident) => {{
                use refused::$name::*;
                match Odm::new(t.db.clone(), models![User, Session]) {
                    Ok(_) => Vec::new(),
                    Err(Error::Models { problems }) => problems,
                    Err(error) => panic!("{error}"),
                }
            }};
        }
        let ways = "write `#[document(expire(field = at, after = 60))]` in its place, by which `Odm::worker` and `Odm::delete_expired` \
                    delete them by these rules, or ";
        for (problems, why, other_way) in [
            (
                said!(referred),
                "`User.session` refers to it (`on_delete = cascade`)",
                "say `on_delete = keep` for `User.session`",
            ),
            (
                said!(counted),
                "`User.sessions` is derived from its documents",
                "leave out `User.sessions`",
            ),
            (
                said!(linked),
                "`Session.user` is one side of a two-way reference",
                "leave out `inverse`",
            ),
        ] {
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(
                problems[0].starts_with("by the index on `Session.at` (`expire_after`) MongoDB deletes"),
                "{problems:?}"
            );
            assert!(
                problems[0].contains(why) && problems[0].contains(ways),
                "{problems:?}"
            );
            assert!(problems[0].contains(other_way), "{problems:?}");
        }
        assert_eq!(said!(kept), [""; 0]);
        assert_eq!(said!(holds), [""; 0]);
    });
}
