//! Buckets: nothing lost or overfilled, in order, with what is counted and summed; and what each operation costs.

use futures::TryStreamExt;
use odm::Error;
use odm::buckets::Buckets;
use odm::prelude::*;
use odm_tests::{TestDb, require_transactions, with_db};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "posts")]
pub struct Post {
    pub id: i32,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "users")]
pub struct User {
    pub id: i32,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, size = 5, time = at, sum(stars, weight), rename(sum_weight = total_weight))]
pub struct Comment {
    pub n: i32,
    #[field(min = 0, max = 10)]
    pub stars: i32,
    pub weight: f64,
    pub at: DateTime,
    #[reference]
    pub author: Option<Ref<User>>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, size = 5)]
pub struct Line {
    pub n: i32,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, size = 5, check = false, on_delete = keep)]
pub struct Free {
    pub n: i32,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, size = 1, on_delete = restrict)]
pub struct Single {
    pub n: i32,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[embed(rename_all = "camelCase")]
#[bucket(of = Post, per = hour, time = taken_at, size = 3, sum(degrees))]
pub struct Reading {
    pub n: i32,
    pub taken_at: DateTime,
    pub degrees: i64,
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Post, per = month, time = at, size = 10, rename(start = month))]
pub struct Visit {
    pub at: DateTime,
}

async fn odm(t: &TestDb) -> (Odm, Post) {
    let models = models![
        Post,
        User,
        CommentBucket,
        LineBucket,
        FreeBucket,
        SingleBucket,
        ReadingBucket,
        VisitBucket,
    ];
    let odm = Odm::new(t.db.clone(), models).expect("sound models");
    odm.sync().await.expect("the schema is made");
    odm.server().await.expect("the server answers");
    let post = odm
        .collection::<Post>()
        .insert(NewPost { id: 1 })
        .await
        .expect("a post");
    t.commands.clear();
    (odm, post)
}

fn line(n: i32) -> Line {
    Line { n }
}

fn comment(n: i32) -> Comment {
    Comment {
        n,
        stars: n % 6,
        weight: f64::from(n) / 4.0,
        at: DateTime::from_millis(1_000 * i64::from(n)),
        author: None,
    }
}

/// A minute of the first hours of 1970.
fn reading(n: i32, minute: i64) -> Reading {
    Reading {
        n,
        taken_at: DateTime::from_millis(60_000 * minute),
        degrees: i64::from(n),
    }
}

/// What every bucket says of itself is what it holds.
fn holds(bucket: &CommentBucket) {
    let items = &bucket.comments;
    assert_eq!(bucket.count, items.len() as i32, "{bucket:?}");
    assert_eq!(
        bucket.sum_stars,
        items.iter().map(|c| i64::from(c.stars)).sum::<i64>()
    );
    // Quarters are added without an error.
    assert_eq!(bucket.total_weight, items.iter().map(|c| c.weight).sum::<f64>());
    assert_eq!(bucket.first, items.iter().map(|c| c.at).min());
    assert_eq!(bucket.last, items.iter().map(|c| c.at).max());
}

async fn numbers(lines: &Buckets<Line>, post: &Post) -> Vec<i32> {
    let items: Vec<Line> = lines.stream(post).await.unwrap().try_collect().await.unwrap();
    items.into_iter().map(|line| line.n).collect()
}

#[odm_tests::test]
fn every_operation_is_as_many_round_trips_as_it_says() {
    with_db(async |t| {
        let (odm, post) = odm(&t).await;
        let sent = || t.commands.take();
        let lines = odm.buckets::<Line>();
        assert_eq!(lines.push(&post, line(0)).await.unwrap(), 1);
        let new_page = ["findAndModify", "find", "find", "insert", "find"];
        assert_eq!(
            sent(),
            new_page,
            "no bucket, the newest, the parent, the bucket, the parent"
        );
        for n in 1..5 {
            assert_eq!(lines.push(&post, line(n)).await.unwrap(), 1);
            assert_eq!(sent(), ["findAndModify"], "the happy path");
        }
        assert_eq!(lines.push(&post, line(5)).await.unwrap(), 2);
        assert_eq!(sent(), new_page);
        lines.push_many(&post, (6..9).map(line)).await.unwrap();
        assert_eq!(sent(), ["findAndModify"], "there is room for all");
        lines.push_many(&post, (9..25).map(line)).await.unwrap();
        assert_eq!(
            sent(),
            ["find", "findAndModify", "find", "find", "insert", "find"]
        );
        assert_eq!(lines.pages(&post).await.unwrap().len(), 5);
        assert_eq!(sent(), ["find"]);
        assert_eq!(
            lines.page(&post, 3).await.unwrap(),
            (10..15).map(line).collect::<Vec<_>>()
        );
        assert_eq!(sent(), ["find"]);
        assert_eq!(lines.count(&post).await.unwrap(), 25);
        assert_eq!(sent(), ["aggregate"]);
        assert_eq!(numbers(&lines, &post).await, (0..25).collect::<Vec<_>>());
        assert_eq!(sent(), ["find"]);
        lines
            .edit(&post, |l| l.n.eq(7), |l| l.set(|l| l.n, 70))
            .await
            .unwrap();
        assert_eq!(sent(), ["aggregate", "update"]);
        lines.delete(&post, |l| l.n.eq(70)).await.unwrap();
        assert_eq!(sent(), ["aggregate", "update"]);
        assert_eq!(lines.delete(&post, |l| l.n.eq(70)).await.unwrap(), 0);
        assert_eq!(sent(), ["aggregate"]);

        let free = odm.buckets::<Free>();
        free.push(&post, Free { n: 1 }).await.unwrap();
        assert_eq!(
            sent(),
            ["findAndModify", "find", "insert"],
            "no check asks for the parent"
        );

        let comments = odm.buckets::<Comment>();
        comments.push_many(&post, (0..7).map(comment)).await.unwrap();
        sent();
        comments.push(&post, comment(7)).await.unwrap();
        assert_eq!(sent(), ["findAndModify"], "what is summed goes with the push");
        comments
            .edit(&post, |c| c.n.eq(7), |c| c.set(|c| c.weight, 1.0))
            .await
            .unwrap();
        assert_eq!(sent(), ["aggregate", "find", "update"]);
        comments.delete(&post, |c| c.n.eq(7)).await.unwrap();
        assert_eq!(sent(), ["aggregate", "find", "update"]);
        comments
            .range(&post, DateTime::from_millis(0)..DateTime::from_millis(3_000))
            .await
            .unwrap();
        assert_eq!(sent(), ["find"]);
    });
}

#[odm_tests::test]
fn many_pushers_at_once_lose_and_overfill_nothing() {
    with_db(async |t| {
        let (odm, post) = odm(&t).await;
        let pushers = (0..16).map(|pusher| {
            let (odm, post) = (odm.clone(), post.clone());
            tokio::spawn(async move {
                let lines = odm.buckets::<Line>();
                for n in 0..10 {
                    let n = pusher * 100 + n * 2;
                    // One after the other, and some together.
                    if n % 3 == 0 {
                        lines.push_many(&post, [line(n), line(n + 1)]).await.unwrap();
                    } else {
                        lines.push(&post, line(n)).await.unwrap();
                        lines.push(&post, line(n + 1)).await.unwrap();
                    }
                }
            })
        });
        for pusher in pushers.collect::<Vec<_>>() {
            pusher.await.unwrap();
        }
        let lines = odm.buckets::<Line>();
        let buckets = lines.pages(&post).await.unwrap();
        assert_eq!(
            buckets.iter().map(|b| b.page).collect::<Vec<_>>(),
            (1..=64).collect::<Vec<_>>(),
            "no gap and none twice"
        );
        assert!(
            buckets
                .iter()
                .all(|b| b.count == 5 && b.lines.len() == 5 && b.room == 0)
        );
        assert!(
            buckets.iter().all(|b| (1..=5).contains(&b.version)),
            "one for each write"
        );
        let all = numbers(&lines, &post).await;
        for pusher in 0..16 {
            let mine: Vec<i32> = all.iter().copied().filter(|n| n / 100 == pusher).collect();
            let pushed: Vec<i32> = (0..20).map(|n| pusher * 100 + n).collect();
            assert_eq!(
                mine, pushed,
                "each one's items are all there, in the order in which it pushed them"
            );
        }
        assert_eq!(lines.count(&post).await.unwrap(), 320);
    });
}

#[odm_tests::test]
fn a_bucket_of_size_one_gets_a_new_page_with_every_push() {
    with_db(async |t| {
        let (odm, post) = odm(&t).await;
        let pushers = (0..8).map(|pusher| {
            let (odm, post) = (odm.clone(), post.clone());
            tokio::spawn(async move {
                let single = odm.buckets::<Single>();
                for n in 0..4 {
                    single.push(&post, Single { n: pusher * 10 + n }).await.unwrap();
                }
            })
        });
        for pusher in pushers.collect::<Vec<_>>() {
            pusher.await.unwrap();
        }
        let pages = odm.buckets::<Single>().pages(&post).await.unwrap();
        assert_eq!(
            pages.iter().map(|b| b.page).collect::<Vec<_>>(),
            (1..=32).collect::<Vec<_>>()
        );
        let refused = odm.collection::<Post>().delete(post.id).await.unwrap_err();
        assert!(matches!(refused, Error::StillReferenced { .. }), "{refused}");
    });
}

#[odm_tests::test]
fn a_push_needs_an_existing_parent() {
    with_db(async |t| {
        let (odm, post) = odm(&t).await;
        let lines = odm.buckets::<Line>();
        let error = lines.push(2, line(1)).await.unwrap_err();
        match error {
            Error::MissingReference {
                collection,
                target,
                ids,
                ..
            } => {
                assert_eq!((collection, target), ("line_buckets", "posts"));
                assert_eq!(ids, [odm::bson::Bson::Int32(2)]);
            }
            other => panic!("{other}"),
        }
        assert_eq!(
            odm.collection::<LineBucket>().find_all().count().await.unwrap(),
            0
        );
        let free = odm.buckets::<Free>();
        free.push(2, Free { n: 1 }).await.unwrap();

        // Items go with their parent, and a push after that finds neither bucket nor parent.
        lines.push_many(&post, (0..12).map(line)).await.unwrap();
        odm.collection::<Post>().delete(post.id).await.unwrap();
        assert_eq!(lines.count(&post).await.unwrap(), 0);
        let error = lines.push(&post, line(1)).await.unwrap_err();
        assert!(matches!(error, Error::MissingReference { .. }), "{error}");
        // Those that are kept are kept.
        assert_eq!(free.count(2).await.unwrap(), 1);
    });
}

#[odm_tests::test]
fn the_bounds_of_bucket_items_are_checked() {
    with_db(async |t| {
        let (odm, post) = odm(&t).await;
        let comments = odm.buckets::<Comment>();
        let wrong = Comment {
            stars: 11,
            ..comment(1)
        };
        for first in [true, false] {
            t.commands.clear();
            let error = comments.push(&post, wrong.clone()).await.unwrap_err();
            assert!(matches!(error, Error::Invalid { .. }), "{first} {error}");
            assert!(error.to_string().contains("stars"), "{error}");
            assert!(t.commands.take().is_empty(), "nothing was sent");
            comments.push(&post, comment(2)).await.unwrap();
        }
        let many = (0..20).map(comment).chain([wrong.clone()]);
        assert!(comments.push_many(&post, many).await.is_err());
        assert_eq!(comments.count(&post).await.unwrap(), 2, "none of them");
        let error = comments
            .edit(&post, |c| c.n.eq(2), |c| c.set(|c| c.stars, 12))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
        let error = comments
            .edit(&post, |c| c.n.eq(2), |c| c.inc(|c| c.stars, 9))
            .await
            .unwrap_err();
        assert!(
            !matches!(error, Error::Query { .. }),
            "the bound holds it back: {error}"
        );
        // A reference in an item.
        let by_nobody = Comment {
            author: Some(Ref::new(7)),
            ..comment(3)
        };
        let error = comments.push(&post, by_nobody.clone()).await.unwrap_err();
        assert!(matches!(error, Error::MissingReference { .. }), "{error}");
        odm.collection::<User>().insert(NewUser { id: 7 }).await.unwrap();
        comments.push(&post, by_nobody).await.unwrap();
        for bucket in comments.pages(&post).await.unwrap() {
            holds(&bucket);
        }
    });
}

#[odm_tests::test]
fn edits_and_deletions_of_items_keep_the_summaries() {
    with_db(async |t| {
        let (odm, post) = odm(&t).await;
        let comments = odm.buckets::<Comment>();
        comments.push_many(&post, (0..13).map(comment)).await.unwrap();
        let edited = comments
            .edit(
                &post,
                |c| c.n.gte(3) & c.n.lt(11),
                |c| c.set(|c| c.stars, 9).inc(|c| c.weight, 0.25),
            )
            .await
            .unwrap();
        assert_eq!(edited, 8);
        let error = comments
            .edit(&post, |c| c.n.eq(1), |c| c.mul(|c| c.weight, 2.0))
            .await
            .unwrap_err();
        assert!(error.to_string().contains("not `$mul`"), "{error}");
        let late = DateTime::from_millis(1_000_000);
        comments
            .edit(&post, |c| c.n.eq(1), |c| c.set(|c| c.at, late))
            .await
            .unwrap();
        assert_eq!(comments.delete(&post, |c| c.n.in_([0, 6, 7])).await.unwrap(), 3);
        let pages = comments.pages(&post).await.unwrap();
        pages.iter().for_each(holds);
        assert_eq!(pages.iter().map(|b| b.count).collect::<Vec<_>>(), [4, 3, 3]);
        assert_eq!(pages[0].last, Some(late));

        // A whole page: it stays, without times, and takes no more.
        assert_eq!(comments.delete(&post, |c| c.n.lt(5)).await.unwrap(), 4);
        let pages = comments.pages(&post).await.unwrap();
        pages.iter().for_each(holds);
        assert_eq!((pages[0].count, pages[0].first, pages[0].last), (0, None, None));
        assert_eq!(comments.push(&post, comment(20)).await.unwrap(), 3);
        assert_eq!(comments.page(&post, 1).await.unwrap(), []);

        // The newest, which still has room: its times begin anew.
        comments.delete(&post, |c| c.n.gte(10)).await.unwrap();
        comments.push(&post, comment(30)).await.unwrap();
        let pages = comments.pages(&post).await.unwrap();
        pages.iter().for_each(holds);
        assert_eq!(
            (pages[2].count, pages[2].room),
            (1, 0),
            "five were pushed, and four are gone"
        );
        assert_eq!(
            comments.delete(&post, |_| Filter::always()).await.unwrap(),
            comments_left(&pages)
        );
        assert_eq!(comments.count(&post).await.unwrap(), 0);
    });
}

fn comments_left(pages: &[CommentBucket]) -> u64 {
    pages.iter().map(|b| b.comments.len() as u64).sum()
}

#[odm_tests::test]
fn concurrent_edits_and_pushes_lose_nothing() {
    with_db(async |t| {
        let (odm, post) = odm(&t).await;
        let comments = odm.buckets::<Comment>();
        let pushers = (0..4).map(|pusher| {
            let (comments, post) = (comments.clone(), post.clone());
            tokio::spawn(async move {
                for n in 0..10 {
                    comments.push(&post, comment(pusher * 100 + n)).await.unwrap();
                }
            })
        });
        let pushers: Vec<_> = pushers.collect();
        let editor = {
            let (comments, post) = (comments.clone(), post.clone());
            tokio::spawn(async move {
                let mut edited = 0;
                for _ in 0..10 {
                    edited += comments
                        .edit(&post, |c| c.stars.lt(9), |c| c.set(|c| c.stars, 9))
                        .await
                        .unwrap();
                }
                edited
            })
        };
        let deleter = {
            let (comments, post) = (comments.clone(), post.clone());
            tokio::spawn(async move {
                let mut deleted = 0;
                for n in 0..10 {
                    deleted += comments.delete(&post, |c| c.n.eq(100 + n)).await.unwrap();
                }
                deleted
            })
        };
        for pusher in pushers {
            pusher.await.unwrap();
        }
        let edited = editor.await.unwrap();
        let mut deleted = deleter.await.unwrap();
        deleted += comments.delete(&post, |c| c.n.in_(100..110)).await.unwrap();
        assert_eq!(deleted, 10, "each once");
        assert!(edited <= 40);
        comments
            .edit(&post, |c| c.stars.lt(9), |c| c.set(|c| c.stars, 9))
            .await
            .unwrap();
        let pages = comments.pages(&post).await.unwrap();
        pages.iter().for_each(holds);
        assert_eq!(comments_left(&pages), 30);
        assert_eq!(pages.iter().map(|b| b.sum_stars).sum::<i64>(), 270);
    });
}

#[odm_tests::test]
fn buckets_by_time_hold_an_hour() {
    with_db(async |t| {
        let (odm, post) = odm(&t).await;
        let readings = odm.buckets::<Reading>();
        // Four of the first hour, which is one more than a bucket takes; not in order.
        readings
            .push_many(
                &post,
                [(0, 0), (1, 59), (2, 60), (3, 30)].map(|(n, at)| reading(n, at)),
            )
            .await
            .unwrap();
        assert_eq!(
            readings.push(&post, reading(4, 45)).await.unwrap(),
            2,
            "the hour goes on"
        );
        assert_eq!(readings.push(&post, reading(5, 119)).await.unwrap(), 1);
        assert_eq!(readings.push(&post, reading(6, 120)).await.unwrap(), 1);
        let pages = readings.pages(&post).await.unwrap();
        let told = pages.iter().map(|b| {
            let items: Vec<i32> = b.readings.iter().map(|r| r.n).collect();
            (
                b.start.timestamp_millis() / 3_600_000,
                b.page,
                b.count,
                b.sum_degrees,
                items,
            )
        });
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                (0, 1, 3, 4, vec![0, 1, 3]),
                (0, 2, 1, 4, vec![4]),
                (1, 1, 2, 7, vec![2, 5]),
                (2, 1, 1, 6, vec![6]),
            ]
        );
        assert_eq!(pages[0].first, Some(reading(0, 0).taken_at));
        assert_eq!(pages[0].last, Some(reading(0, 59).taken_at));
        let at = |minute| reading(0, minute).taken_at;
        let of = |items: Vec<Reading>| items.into_iter().map(|r| r.n).collect::<Vec<_>>();
        assert_eq!(
            of(readings.range(&post, at(30)..at(60)).await.unwrap()),
            [3, 4, 1]
        );
        assert_eq!(
            of(readings.range(&post, at(30)..=at(60)).await.unwrap()),
            [3, 4, 1, 2]
        );
        assert_eq!(of(readings.range(&post, at(60)..).await.unwrap()), [2, 5, 6]);
        assert_eq!(of(readings.range(&post, ..at(31)).await.unwrap()), [0, 3]);
        assert_eq!(
            of(readings.range(&post, ..).await.unwrap()),
            [0, 3, 4, 1, 2, 5, 6]
        );
        assert!(readings.range(&post, at(1)..at(2)).await.unwrap().is_empty());
        let in_order: Vec<Reading> = readings.stream(&post).await.unwrap().try_collect().await.unwrap();
        assert_eq!(of(in_order), [0, 1, 3, 4, 2, 5, 6]);

        let error = readings
            .edit(&post, |r| r.n.eq(3), |r| r.set(|r| r.taken_at, at(60)))
            .await
            .unwrap_err();
        assert!(error.to_string().contains("push it again"), "{error}");
        readings
            .edit(&post, |r| r.n.eq(1), |r| r.set(|r| r.taken_at, at(20)))
            .await
            .unwrap();
        let pages = readings.pages(&post).await.unwrap();
        assert_eq!(pages[0].last, Some(at(30)));

        let visits = odm.buckets::<Visit>();
        for day in [
            "2024-01-31T23:59:59.999Z",
            "2024-02-01T00:00:00Z",
            "2024-02-29T12:00:00Z",
        ] {
            let at = DateTime::parse_rfc3339_str(day).unwrap();
            visits.push(&post, Visit { at }).await.unwrap();
        }
        let pages = visits.pages(&post).await.unwrap();
        assert_eq!(pages.iter().map(|b| b.count).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(
            pages[1].month.try_to_rfc3339_string().unwrap(),
            "2024-02-01T00:00:00Z"
        );
    });
}

#[odm_tests::test]
fn a_transaction_pushes_all_or_nothing() {
    with_db(async |t| {
        let (odm, post) = odm(&t).await;
        require_transactions(&odm).await;
        let lines = odm.buckets::<Line>();
        lines.push(&post, line(0)).await.unwrap();
        let push = async |fail: bool| {
            let post = &post;
            odm.transaction(async |tx| {
                let lines = tx.buckets::<Line>();
                lines.push(post, line(1)).await?;
                lines.push_many(post, (2..12).map(line)).await?;
                lines.delete(post, |l| l.n.eq(3)).await?;
                lines.edit(post, |l| l.n.eq(4), |l| l.set(|l| l.n, 40)).await?;
                assert_eq!(lines.count(post).await?, 11);
                if fail {
                    Err(Error::application("no"))
                } else {
                    Ok(())
                }
            })
            .await
        };
        assert!(push(true).await.is_err());
        assert_eq!(numbers(&lines, &post).await, [0]);
        push(false).await.unwrap();
        assert_eq!(numbers(&lines, &post).await, [0, 1, 2, 40, 5, 6, 7, 8, 9, 10, 11]);
    });
}

#[odm_tests::test]
fn other_parents_are_not_touched() {
    with_db(async |t| {
        let (odm, post) = odm(&t).await;
        odm.collection::<Post>().insert(NewPost { id: 2 }).await.unwrap();
        let lines = odm.buckets::<Line>();
        for n in 0..7 {
            lines.push(&post, line(n)).await.unwrap();
            lines.push(2, line(n)).await.unwrap();
        }
        assert_eq!(lines.delete(2, |l| l.n.gte(3)).await.unwrap(), 4);
        assert_eq!(
            lines
                .edit(2, |l| l.n.eq(1), |l| l.inc(|l| l.n, 10))
                .await
                .unwrap(),
            1
        );
        assert_eq!(numbers(&lines, &post).await, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(lines.page(2, 1).await.unwrap(), [0, 11, 2].map(line));
        // Buckets are documents like others.
        let children = odm
            .collection::<Post>()
            .find_all()
            .sort(|p| p.id.asc())
            .include(|p| p.children::<LineBucket>())
            .all()
            .await
            .unwrap();
        let pages: Vec<Vec<i32>> = children
            .iter()
            .map(|(_, buckets)| buckets.iter().map(|b| b.page).collect())
            .collect();
        assert_eq!(pages, [[1, 2], [1, 2]]);
    });
}

#[derive(Clone, Debug)]
enum Step {
    Push(i32),
    Many(Vec<i32>),
    Stars(i32, i32),
    Time(i32, i64),
    Delete(i32),
}

fn steps() -> impl proptest::strategy::Strategy<Value = Vec<Step>> {
    use proptest::prelude::*;
    let step = prop_oneof![
        4 => (0..40).prop_map(Step::Push),
        2 => proptest::collection::vec(0..40, 0..14).prop_map(Step::Many),
        2 => (2..7, 0..10).prop_map(|(by, stars)| Step::Stars(by, stars)),
        1 => (2..7, 0_i64..100).prop_map(|(by, at)| Step::Time(by, at)),
        2 => (3..9).prop_map(Step::Delete),
    ];
    proptest::collection::vec(step, 1..20)
}

/// Pages as a plain list of lists.
#[derive(Default)]
struct Model(Vec<(usize, Vec<Comment>)>);

impl Model {
    fn push(&mut self, item: Comment) {
        match self.0.last_mut() {
            Some((taken, items)) if *taken < 5 => {
                *taken += 1;
                items.push(item);
            }
            _ => self.0.push((1, vec![item])),
        }
    }

    fn each(&mut self, mut change: impl FnMut(&mut Comment)) {
        self.0
            .iter_mut()
            .flat_map(|(_, items)| items)
            .for_each(&mut change);
    }
}

#[odm_tests::test]
fn random_bucket_operations_equal_those_on_a_plain_list() {
    use proptest::strategy::{Strategy, ValueTree};
    with_db(async |t| {
        let (odm, _) = odm(&t).await;
        let comments = odm.buckets::<Comment>();
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        for round in 100..125 {
            odm.collection::<Post>()
                .insert(NewPost { id: round })
                .await
                .unwrap();
            let steps = steps().new_tree(&mut runner).unwrap().current();
            let mut model = Model::default();
            for step in &steps {
                match step {
                    Step::Push(n) => {
                        let page = comments.push(round, comment(*n)).await.unwrap();
                        model.push(comment(*n));
                        assert_eq!(page as usize, model.0.len());
                    }
                    Step::Many(many) => {
                        comments
                            .push_many(round, many.iter().copied().map(comment))
                            .await
                            .unwrap();
                        many.iter().for_each(|n| model.push(comment(*n)));
                    }
                    Step::Stars(n, stars) => {
                        comments
                            .edit(
                                round,
                                |c| c.n.lt(*n),
                                |c| c.set(|c| c.stars, *stars).inc(|c| c.weight, 0.25),
                            )
                            .await
                            .unwrap();
                        model.each(|c| {
                            if c.n < *n {
                                (c.stars, c.weight) = (*stars, c.weight + 0.25);
                            }
                        });
                    }
                    Step::Time(n, at) => {
                        let at = DateTime::from_millis(*at);
                        comments
                            .edit(
                                round,
                                |c| c.n.gt(*n),
                                |c| c.set(|c| c.at, at).inc(|c| c.weight, 0.5),
                            )
                            .await
                            .unwrap();
                        model.each(|c| {
                            if c.n > *n {
                                (c.at, c.weight) = (at, c.weight + 0.5);
                            }
                        });
                    }
                    Step::Delete(n) => {
                        let gone = comments
                            .delete(round, |c| c.stars.in_([n % 4, n % 3]))
                            .await
                            .unwrap();
                        let before: usize = model.0.iter().map(|(_, items)| items.len()).sum();
                        for (_, items) in &mut model.0 {
                            items.retain(|c| c.stars != n % 4 && c.stars != n % 3);
                        }
                        let after: usize = model.0.iter().map(|(_, items)| items.len()).sum();
                        assert_eq!(gone as usize, before - after);
                    }
                }
            }
            let pages = comments.pages(round).await.unwrap();
            pages.iter().for_each(holds);
            let found: Vec<_> = pages
                .iter()
                .map(|b| (5 - b.room as usize, b.comments.clone()))
                .collect();
            assert_eq!(found, model.0, "{steps:?}");
            assert_eq!(
                pages.iter().map(|b| b.page as usize).collect::<Vec<_>>(),
                (1..=model.0.len()).collect::<Vec<_>>()
            );
        }
    });
}

/// The same buckets, by declarations with another size.
macro_rules! notes {
    ($name:ident, $size:literal) => {
        mod $name {
            use odm::prelude::*;

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "boards")]
            pub struct Board {
                pub id: i32,
            }

            #[derive(Embed, Clone, Debug, PartialEq)]
            #[bucket(of = Board, size = $size)]
            pub struct Note {
                pub n: i32,
            }

            pub async fn notes(t: &odm_tests::TestDb) -> odm::buckets::Buckets<Note> {
                let odm = Odm::new(t.db.clone(), models![Board, NoteBucket]).unwrap();
                let plan = odm.plan().await.unwrap().accept_violations();
                odm.apply(&plan).await.unwrap();
                // The second one finds it there.
                let boards = (1..8).map(|id| Board { id });
                let _ = odm.collection::<Board>().insert_many(boards).await;
                odm.buckets::<Note>()
            }
        }
    };
}
notes!(large, 8);
notes!(small, 3);

#[odm_tests::test]
fn a_page_of_a_greater_size_takes_no_more_than_the_present_one() {
    with_db(async |t| {
        let before = large::notes(&t).await;
        for held in 1..8 {
            let items = (0..held).map(|n| large::Note { n });
            before.push_many(held, items).await.unwrap();
        }
        let now = small::notes(&t).await;
        for held in 1..8 {
            for n in held..10 {
                now.push(held, small::Note { n }).await.unwrap();
            }
            let mut expected = vec![held.max(3)];
            while expected.iter().sum::<i32>() < 10 {
                expected.push(3.min(10 - expected.iter().sum::<i32>()));
            }
            let pages = now.pages(held).await.unwrap();
            let counts: Vec<i32> = pages.iter().map(|page| page.count).collect();
            assert_eq!(counts, expected, "{held} were there: {pages:?}");
            let all: Vec<i32> = pages
                .into_iter()
                .flat_map(|page| page.notes)
                .map(|note| note.n)
                .collect();
            assert_eq!(all, (0..10).collect::<Vec<_>>());
        }
        // Nor does it take any where some of its own are deleted: they would stand before those of later pages.
        assert_eq!(now.delete(5, |n| n.n.lt(3)).await.unwrap(), 3);
        now.push(5, small::Note { n: 10 }).await.unwrap();
        let pages = now.pages(5).await.unwrap();
        let all = pages.into_iter().flat_map(|page| page.notes).map(|note| note.n);
        assert_eq!(all.collect::<Vec<_>>(), (3..11).collect::<Vec<_>>());
    });
}
