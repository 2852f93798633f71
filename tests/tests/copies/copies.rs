//! Copies that stay true: the promises of each mode, while other processes write, die and recover.

use super::copying::{assert_true, atomic, auto, eventual, mortal, mortal_in, raw, with_pending_work};
use futures::TryStreamExt;
use odm::Error;
use odm::bson::{Bson, Document as Doc, doc};
use odm::prelude::*;
use odm::references::FanOut;
use odm_tests::{TestDb, assert_clean, require_transactions, with_db};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Runs `work` on a thread and a client of its own, each of whose commands may wait a moment before it is sent.
fn apart<R: Send + 'static, Fut: Future<Output = R>>(
    t: &TestDb,
    n: u64,
    models: impl IntoIterator<Item = odm::Model> + Send + 'static,
    standalone: bool,
    work: impl FnOnce(Odm) -> Fut + Send + 'static,
) -> std::thread::JoinHandle<R> {
    use odm::mongodb::event::{EventHandler, command::CommandEvent};
    let name = t.db.name().to_owned();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut options = odm_tests::options(standalone).await;
            let state = AtomicU64::new(n);
            options.command_event_handler = Some(EventHandler::callback(move |event| {
                if let CommandEvent::Started(_) = event {
                    let next = state
                        .load(Ordering::Relaxed)
                        .wrapping_mul(6_364_136_223_846_793_005);
                    let next = next.wrapping_add(2 * n + 1);
                    state.store(next, Ordering::Relaxed);
                    // One in four pauses.
                    if (next >> 60).is_multiple_of(4) {
                        std::thread::sleep(Duration::from_micros((next >> 33) % 8_000));
                    }
                }
            }));
            let client = odm::mongodb::Client::with_options(options).unwrap();
            work(Odm::new(client.database(&name), models).unwrap()).await
        })
    })
}

/// How long the conflict tests go on.
const LONG: Duration = Duration::from_secs(5);
const SOURCES: i64 = 40;
const INSERTERS: i64 = 16;

/// Inserters that pause between their commands, updaters and a mover, for some seconds; afterwards nothing is stale. While
/// they run, a reader looks, and gives how often.
macro_rules! conflict {
    ($t:ident, $mode:ident, $models:expr, $alone:expr, $look:expr) => {{
        let odm = Odm::new($t.db.clone(), $models).unwrap();
        odm.sync().await.unwrap();
        odm.collection::<$mode::Author>()
            .insert_many((0..SOURCES).map($mode::author))
            .await
            .unwrap();
        let until = Instant::now() + LONG;
        let going = move || Instant::now() < until;
        let mut writers = Vec::new();
        for n in 0..INSERTERS {
            writers.push(apart(&$t, n as u64 + 1, $models, $alone, async move |odm| {
                let mut i = 0;
                while going() {
                    i += 1;
                    let book = $mode::book(n * 100_000 + i, (n + i * 7) % SOURCES);
                    odm.collection::<$mode::Book>().insert(book).await.unwrap();
                }
                i
            }));
        }
        for n in 0..3_i64 {
            writers.push(apart(&$t, n as u64 + 50, $models, $alone, async move |odm| {
                let mut i = 0;
                while going() {
                    i += 1;
                    // Both fields change as one.
                    let id = (n * 13 + i) % SOURCES;
                    let value = format!("{n}-{i}");
                    odm.collection::<$mode::Author>()
                        .update(id)
                        .set(|a| a.name, value.clone())
                        .set(|a| a.city, value)
                        .await
                        .unwrap();
                }
                i
            }));
        }
        let mut looks = 0;
        while going() {
            looks += $look(odm.clone()).await;
        }
        let written: Vec<i64> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        let inserted: i64 = written[..INSERTERS as usize].iter().sum();
        let stored = odm.collection::<$mode::Book>().find_all().count().await.unwrap();
        assert_eq!(stored as i64, inserted, "nothing is lost");
        assert!(written.iter().all(|n| *n > 0), "{written:?}");
        assert!(
            with_pending_work(&odm).await.is_empty(),
            "every writer has applied its own pending work"
        );
        assert_true(&odm).await;
        looks
    }};
}

/// The fields that are copied together differ in no book.
fn assert_not_torn(book: &Doc) {
    let (name, city) = (
        book.get_str("author_name").unwrap(),
        book.get_str("author_city").unwrap(),
    );
    let is_first = name
        .strip_prefix("author ")
        .is_some_and(|n| city == format!("city {n}"));
    assert!(is_first || name == city, "{book}");
}

#[odm_tests::test]
fn atomic_copies_agree_in_every_snapshot_while_others_write() {
    with_db(async |t| {
        require_transactions(&Odm::new(t.db.clone(), auto::models()).unwrap()).await;
        let looks = conflict!(
            t,
            atomic,
            models![atomic::Author, atomic::Book],
            false,
            async |odm: Odm| {
                // One snapshot: the sources with all that is copied and derived of them.
                let (authors, books) = odm
                    .transaction(async |tx| {
                        let authors = tx
                            .collection::<atomic::Author>()
                            .find(|a| a.id.lt(10))
                            .all()
                            .await?;
                        let books = tx.collection::<atomic::Book>().find_all().all().await?;
                        Ok((authors, books))
                    })
                    .await
                    .unwrap();
                for author in &authors {
                    let own: Vec<_> = books
                        .iter()
                        .filter(|book| *book.author.key() == author.id)
                        .collect();
                    assert_eq!(author.books, own.len() as i64);
                    assert_eq!(
                        author.pages,
                        own.iter().map(|book| i64::from(book.pages)).sum::<i64>()
                    );
                    for book in own {
                        assert_eq!(
                            (&book.author_name, &book.author_city),
                            (&author.name, &author.city)
                        );
                    }
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
                1
            }
        );
        assert!(looks > 0);
    });
}

#[odm_tests::test]
fn eventual_copies_are_never_torn_and_true_when_all_is_quiet() {
    with_db(async |t| {
        let looks = conflict!(t, eventual, eventual::models(), false, async |odm: Odm| {
            let books = odm.database().collection::<Doc>("books");
            let found: Vec<Doc> = books
                .find(doc! {})
                .limit(300)
                .await
                .unwrap()
                .try_collect()
                .await
                .unwrap();
            found.iter().for_each(assert_not_torn);
            tokio::time::sleep(Duration::from_millis(50)).await;
            1
        });
        assert!(looks > 0);
    });
}

#[odm_tests::test]
fn on_a_standalone_server_copies_are_true_when_all_is_quiet() {
    with_db(async |t| {
        let looks = conflict!(t, auto, auto::models(), true, async |odm: Odm| {
            let books = odm.database().collection::<Doc>("books");
            let found: Vec<Doc> = books
                .find(doc! {})
                .limit(300)
                .await
                .unwrap()
                .try_collect()
                .await
                .unwrap();
            found.iter().for_each(assert_not_torn);
            tokio::time::sleep(Duration::from_millis(50)).await;
            1
        });
        assert!(looks > 0);
    });
}

#[odm_tests::test]
fn an_atomic_copy_is_refused_where_there_are_no_transactions() {
    with_db(async |t| {
        let odm = Odm::new(t.standalone().await, atomic::models()).unwrap();
        let told = odm.sync().await.unwrap_err();
        assert!(matches!(told, Error::Unsupported { .. }), "{told}");
        assert!(
            t.db.list_collection_names().await.unwrap().is_empty(),
            "nothing was changed"
        );
        let refused = odm
            .collection::<atomic::Author>()
            .insert(atomic::author(1))
            .await
            .unwrap_err();
        assert!(matches!(refused, Error::Unsupported { .. }), "{refused}");
    });
}

#[odm_tests::test]
fn an_atomic_copy_changes_with_its_source_or_not_at_all() {
    with_db(async |t| {
        require_transactions(&Odm::new(t.db.clone(), auto::models()).unwrap()).await;
        let odm = atomic::stocked(&t).await;
        let undone = odm
            .transaction(async |tx| {
                tx.collection::<atomic::Author>()
                    .update(1)
                    .set(|a| a.name, "inside")
                    .await?;
                let inside = tx.collection::<atomic::Book>().get(1).await?.unwrap();
                assert_eq!(inside.author_name, "inside");
                let outside = raw(&odm, "books", 1).await;
                assert_eq!(outside.get_str("author_name").unwrap(), "author 1");
                Err::<(), _>(Error::application("no"))
            })
            .await;
        assert!(undone.is_err());
        assert_eq!(
            raw(&odm, "books", 1).await.get_str("author_name").unwrap(),
            "author 1"
        );
        assert!(
            with_pending_work(&odm).await.is_empty(),
            "an atomic copy leaves no pending work"
        );
        assert_true(&odm).await;
    });
}

#[odm_tests::test]
fn an_eventual_copy_is_pending_in_the_same_write_as_the_change() {
    with_db(async |t| {
        let odm = eventual::stocked(&t).await;
        let dead = mortal(&t, eventual::models()).await;
        // Dead after one command: the source is changed, and holds the pending work.
        let died = dead
            .dies_after(1, async |odm| {
                let authors = odm.collection::<eventual::Author>();
                authors.update(1).set(|a| a.name, "new").await.unwrap();
            })
            .await;
        assert!(died);
        let author = raw(&odm, "authors", 1).await;
        assert_eq!(author.get_str("name").unwrap(), "new");
        assert!(author.get_document("_odm").unwrap().contains_key("pending"));
        assert_eq!(
            raw(&odm, "books", 1).await.get_str("author_name").unwrap(),
            "author 1"
        );
        // The window can be measured: what is stale, and since when.
        let audit = odm.audit().await.unwrap();
        assert_eq!(audit.stale_copies(), 5, "{audit}");
        tokio::time::sleep(std::time::Duration::from_millis(2_100)).await;
        let recovered = odm.recover().await.unwrap();
        assert!(recovered.documents >= 1 && recovered.copies >= 5, "{recovered:?}");
        let oldest = recovered.oldest.unwrap().as_secs();
        assert!((2..600).contains(&oldest), "{recovered:?}");
        assert_eq!(odm.recover().await.unwrap().oldest, None);
        assert_true(&odm).await;
        assert_eq!(odm.recover().await.unwrap().documents, 0);
    });
}

#[odm_tests::test]
fn several_processes_can_recover_at_once_and_a_worker_recovers_by_itself() {
    with_db(async |t| {
        let odm = eventual::stocked(&t).await;
        let books = (10..300).map(|id| eventual::book(id, 1 + id % 2));
        odm.collection::<eventual::Book>()
            .insert_many(books)
            .await
            .unwrap();
        for by_worker in [false, true] {
            let dead = mortal(&t, eventual::models()).await;
            for id in [1, 2] {
                let died = dead
                    .dies_after(1, async move |odm| {
                        let authors = odm.collection::<eventual::Author>();
                        authors
                            .update(id)
                            .set(|a| a.name, format!("new {by_worker}"))
                            .await
                            .unwrap();
                    })
                    .await;
                assert!(died);
            }
            assert_eq!(with_pending_work(&odm).await.len(), 2);
            if by_worker {
                // The worker leaves alone what may have been made by the living.
                let old = odm::bson::oid::ObjectId::from_bytes([1; 12]);
                let authors = t.db.collection::<Doc>("authors");
                let aged = doc! { "$set": { "_odm.pending.operation": old } };
                let indebted = doc! { "_odm.pending.operation": { "$exists": true } };
                authors.update_many(indebted, aged).await.unwrap();
                let worker = odm.worker(Duration::from_millis(20));
                let until = Instant::now() + Duration::from_secs(20);
                while !with_pending_work(&odm).await.is_empty() && Instant::now() < until {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                worker.stop().await;
            } else {
                let all: Vec<_> = (0..6)
                    .map(|n| apart(&t, n, eventual::models(), false, async |odm| odm.recover().await))
                    .collect();
                all.into_iter()
                    .for_each(|one| assert!(one.join().unwrap().is_ok()));
            }
            assert!(with_pending_work(&odm).await.is_empty());
            assert_clean(&odm).await;
        }
    });
}

/// Copies that are taken once.
mod orders {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "parts")]
    pub struct Part {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
        pub price: f64,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "orders")]
    pub struct Order {
        #[serde(rename = "_id")]
        pub id: i32,
        pub note: String,
        #[reference(on_delete = keep)]
        pub gift: Option<Ref<Part>>,
        #[denormalize(from = gift.price, consistency = snapshot)]
        pub gift_price: Option<f64>,
        #[reference(many, max = 20, on_delete = keep)]
        #[denormalize(from = Part, fields(name: String, price: f64), consistency = snapshot)]
        pub lines: Vec<PartEntry>,
    }

    pub async fn stocked(t: &odm_tests::TestDb) -> Odm {
        let odm = Odm::new(t.db.clone(), models![Part, Order]).unwrap();
        odm.sync().await.unwrap();
        let parts = (1..=4).map(|id| Part {
            id,
            name: format!("part {id}"),
            price: f64::from(id),
        });
        odm.collection::<Part>().insert_many(parts).await.unwrap();
        odm.collection::<Order>()
            .insert(NewOrder {
                id: 1,
                note: String::new(),
                gift: Some(Ref::new(1)),
                lines: vec![Ref::new(1), Ref::new(2), Ref::new(1)],
            })
            .await
            .unwrap();
        odm
    }
}

#[odm_tests::test]
fn a_snapshot_is_never_updated() {
    use orders::{Order, Part};
    with_db(async |t| {
        let odm = orders::stocked(&t).await;
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            let (orders, parts) = (odm.collection::<Order>(), odm.collection::<Part>());
            let first = orders.get(1).await.unwrap().unwrap();
            assert_eq!(first.gift_price, Some(1.0));
            assert_eq!(
                first.lines.iter().map(|line| line.price).collect::<Vec<_>>(),
                [1.0, 2.0, 1.0]
            );
            t.commands.clear();
            let done = parts
                .update_where(|p| p.id.gt(0))
                .inc(|p| p.price, 10.0)
                .await
                .unwrap();
            assert_eq!(done.copies_updated, 0);
            assert_eq!(t.commands.take(), ["update"], "and costs its source nothing");
            assert_eq!(orders.get(1).await.unwrap().unwrap(), first);
            // Nor by a replacement, which the application makes of what it has read, whatever it did to the copies.
            let mut changed = first.clone();
            changed.note = "replaced".into();
            changed.lines[0].price = 0.0;
            changed.gift_price = Some(0.0);
            orders.replace(changed).await.unwrap();
            let now = orders.get(1).await.unwrap().unwrap();
            assert_eq!(
                now,
                Order {
                    note: "replaced".into(),
                    ..first.clone()
                }
            );
            // A line that comes with the replacement is taken as it is then; the others stay, in whatever order.
            let mut changed = now.clone();
            let mut more = changed.lines[1].clone();
            more.id = Ref::new(3);
            changed.lines.swap(0, 1);
            changed.lines.insert(0, more);
            orders.replace(changed).await.unwrap();
            let now = orders.get(1).await.unwrap().unwrap();
            let lines: Vec<_> = now
                .lines
                .iter()
                .map(|line| (*line.id.key(), line.name.as_str(), line.price))
                .collect();
            let third = parts.get(3).await.unwrap().unwrap().price;
            assert_eq!(
                lines,
                [
                    (3, "part 3", third),
                    (2, "part 2", 2.0),
                    (1, "part 1", 1.0),
                    (1, "part 1", 1.0)
                ]
            );
            // A reference that is set again gets its copies again.
            orders
                .update(1)
                .set(|o| o.lines, vec![Ref::new(2)])
                .await
                .unwrap();
            orders.update(1).push(|o| o.lines, Ref::new(1)).await.unwrap();
            let now = orders.get(1).await.unwrap().unwrap();
            let prices = [2, 1].map(|id| parts.get(id));
            for (line, part) in now.lines.iter().zip(prices) {
                assert_eq!(line.price, part.await.unwrap().unwrap().price);
            }
            assert!(
                odm.audit().await.unwrap().is_clean(),
                "a snapshot that differs is not stale"
            );
            // As it was, for the other way.
            parts
                .update_where(|p| p.id.gt(0))
                .inc(|p| p.price, -10.0)
                .await
                .unwrap();
            let anew = [1, 2, 1].map(Ref::new).to_vec();
            orders
                .update(1)
                .set(|o| o.lines, anew)
                .set(|o| o.note, "")
                .await
                .unwrap();
        }
    });
}

/// Prices at the time of purchase, in structs that the application reads and sets again.
mod bills {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "articles")]
    pub struct Article {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
        pub price: f64,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "bills")]
    pub struct Bill {
        #[serde(rename = "_id")]
        pub id: i32,
        #[embed(max = 20)]
        pub lines: Vec<Line>,
        #[embed]
        pub gift: Option<Line>,
    }

    #[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
    pub struct Line {
        pub pieces: i32,
        #[reference(on_delete = keep)]
        pub article: Ref<Article>,
        #[denormalize(from = article.price, consistency = snapshot)]
        pub price: f64,
    }

    pub fn line(pieces: i32, article: i32) -> Line {
        Line {
            pieces,
            article: Ref::new(article),
            price: 0.0,
        }
    }
}

#[odm_tests::test]
fn a_struct_that_is_set_again_keeps_its_snapshots() {
    use bills::{Article, Bill, line};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Article, Bill]).unwrap();
        odm.sync().await.unwrap();
        for (id, odm) in [(1, odm.clone()), (2, t.standalone_of(&odm).await)] {
            let (articles, bills) = (odm.collection::<Article>(), odm.collection::<Bill>());
            for article in [1, 2] {
                let name = String::new();
                let price = f64::from(article);
                articles
                    .update(10 * id + article)
                    .set(|a| a.name, name)
                    .set(|a| a.price, price)
                    .upsert()
                    .await
                    .unwrap();
            }
            let (first, second) = (10 * id + 1, 10 * id + 2);
            let lines = vec![line(1, first), line(1, second)];
            let gift = Some(line(1, first));
            bills.insert(Bill { id, lines, gift }).await.unwrap();
            articles
                .update_where(|a| a.id.gt(0))
                .inc(|a| a.price, 10.0)
                .await
                .unwrap();
            let prices = async || {
                let bill = bills.get(id).await.unwrap().unwrap();
                let of_lines: Vec<(i32, f64)> =
                    bill.lines.iter().map(|line| (line.pieces, line.price)).collect();
                (of_lines, bill.gift.map(|gift| (gift.pieces, gift.price)))
            };
            assert_eq!(prices().await, (vec![(1, 1.0), (1, 2.0)], Some((1, 1.0))));

            // The document that was read, with other pieces, in another order, and a line more.
            let read = bills.get(id).await.unwrap().unwrap();
            let mut lines = read.lines.clone();
            lines.iter_mut().for_each(|line| line.pieces = 5);
            lines.reverse();
            lines.push(line(7, first));
            let mut gift = read.gift.clone();
            gift.as_mut().unwrap().pieces = 3;
            bills
                .update(id)
                .set(|b| b.lines, lines)
                .set(|b| b.gift, gift.clone())
                .await
                .unwrap();
            let expected = vec![(5, 2.0), (5, 1.0), (7, 11.0)];
            assert_eq!(prices().await, (expected, Some((3, 1.0))));

            // In a bulk, and where the document is given.
            let again = bills.get(id).await.unwrap().unwrap();
            let mut lines = again.lines;
            lines.truncate(1);
            let kept = lines.clone();
            odm.bulk()
                .add(bills.update(id).set(|b| b.lines, kept))
                .await
                .unwrap();
            assert_eq!(prices().await.0, [(5, 2.0)]);
            lines[0].pieces = 6;
            let given = bills
                .update(id)
                .set(|b| b.lines, lines)
                .returning()
                .await
                .unwrap();
            assert_eq!((given.lines[0].pieces, given.lines[0].price), (6, 2.0));

            // Another article has the price of now, and what is pushed too.
            let mut other = gift.unwrap();
            other.article = Ref::new(second);
            bills
                .update(id)
                .set(|b| b.gift, other)
                .push(|b| b.lines, line(9, second))
                .await
                .unwrap();
            assert_eq!(prices().await, (vec![(6, 2.0), (9, 12.0)], Some((3, 12.0))));
            assert_clean(&odm).await;
        }
    });
}

/// Copied and derived fields beside fields that a condition may ask for.
mod asked {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "towns")]
    pub struct Town {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "bars")]
    pub struct Bar {
        #[serde(rename = "_id")]
        pub id: i32,
        pub open: bool,
        #[reference]
        pub town: Option<Ref<Town>>,
        #[denormalize(from = town.name)]
        pub town_name: Option<String>,
        #[computed(count = Vote)]
        pub votes: i64,
        #[computed(max = Vote.stars)]
        pub most: Option<i32>,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "votes")]
    pub struct Vote {
        #[serde(rename = "_id")]
        pub id: i32,
        #[parent_ref]
        pub bar: Ref<Bar>,
        pub stars: i32,
    }
}

#[odm_tests::test]
fn an_upsert_takes_no_copy_and_no_number_from_its_condition() {
    use asked::{Bar, Town, Vote};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Town, Bar, Vote]).unwrap();
        odm.sync().await.unwrap();
        for (id, odm) in [(1, odm.clone()), (2, t.standalone_of(&odm).await)] {
            let (bars, votes) = (odm.collection::<Bar>(), odm.collection::<Vote>());
            let name = format!("town {id}");
            odm.collection::<Town>().insert(Town { id, name }).await.unwrap();
            let new = bars
                .update_where(|b| b.id.eq(id) & b.votes.eq(7) & b.town_name.eq("ghost".to_owned()))
                .set(|b| b.open, true)
                .upsert()
                .await
                .unwrap();
            assert!(new.upserted.is_some());
            let expected = Bar {
                id,
                open: true,
                town: None,
                town_name: None,
                votes: 0,
                most: None,
            };
            assert_eq!(bars.get(id).await.unwrap(), Some(expected));
            assert_clean(&odm).await;
            let vote = Vote {
                id,
                bar: Ref::new(id),
                stars: 3,
            };
            votes.insert(vote).await.unwrap();
            assert_eq!(bars.get(id).await.unwrap().unwrap().most, Some(3));
            t.commands.clear();
            let of_children = bars
                .update_where(|b| b.id.eq(20 + id) & b.most.eq(5))
                .set(|b| b.open, true);
            let refused = of_children.upsert().await.unwrap_err();
            assert!(refused.to_string().contains("leave `most` out"), "{refused}");
            assert!(t.commands.take().is_empty());
            // One that the changes set is copied all the same.
            let with_town = bars
                .update_where(|b| b.id.eq(10 + id) & b.town_name.eq("ghost".to_owned()))
                .set(|b| b.open, true)
                .set(|b| b.town, Some(Ref::new(id)))
                .upsert();
            assert!(with_town.await.unwrap().upserted.is_some());
            let bar = bars.get(10 + id).await.unwrap().unwrap();
            assert_eq!(bar.town_name, Some(format!("town {id}")));
            assert_clean(&odm).await;
        }
    });
}

#[odm_tests::test]
fn a_chain_of_copies_is_true_to_its_end() {
    with_db(async |t| {
        let odm = auto::stocked(&t).await;
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            let authors = odm.collection::<auto::Author>();
            let names = async |shelf: i64| {
                let shelf = odm.collection::<auto::Shelf>().get(shelf).await.unwrap().unwrap();
                shelf
                    .books
                    .into_iter()
                    .map(|entry| entry.author_name)
                    .collect::<Vec<_>>()
            };
            authors.update(2).set(|a| a.name, "Second").await.unwrap();
            assert_eq!(names(2).await, ["Second", "author 1", "Second"]);
            // A book that gets another author changes what its shelves say of it.
            let books = odm.collection::<auto::Book>();
            books.update(3).set(|b| b.author, Ref::new(2)).await.unwrap();
            assert_eq!(names(2).await, ["Second", "Second", "Second"]);
            assert_eq!(names(1).await, ["author 1", "author 1", "Second"]);
            assert_true(&odm).await;
            books.update(3).set(|b| b.author, Ref::new(1)).await.unwrap();
            authors.update(2).set(|a| a.name, "author 2").await.unwrap();
            assert_true(&odm).await;
        }
    });
}

#[odm_tests::test]
fn a_chain_of_copies_is_one_transaction() {
    with_db(async |t| {
        let odm = auto::stocked(&t).await;
        require_transactions(&odm).await;
        let names = async |shelves: odm::Collection<auto::Shelf>| {
            let shelf = shelves.get(2).await.unwrap().unwrap();
            let names = shelf.books.into_iter().map(|entry| entry.author_name);
            names.collect::<Vec<_>>()
        };
        let before = names(odm.collection()).await;
        let rolled_back = odm
            .transaction(async |tx| {
                let authors = tx.collection::<auto::Author>();
                authors.update(2).set(|a| a.name, "Second").await?;
                assert_eq!(names(tx.collection()).await, ["Second", "author 1", "Second"]);
                Err::<(), _>(odm::Error::application("changed its mind"))
            })
            .await;
        assert!(rolled_back.is_err());
        assert_eq!(names(odm.collection()).await, before);
        assert_true(&odm).await;
    });
}

#[odm_tests::test]
fn moving_children_updates_their_previous_parents() {
    with_db(async |t| {
        let odm = auto::stocked(&t).await;
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            let (authors, books) = (odm.collection::<auto::Author>(), odm.collection::<auto::Book>());
            let of = async |id: i64| {
                let author = authors.get(id).await.unwrap().unwrap();
                let newest: Vec<i64> = author.newest.iter().map(|book| *book.id.key()).collect();
                (newest, author.books, author.last)
            };
            assert_eq!(of(1).await, (vec![5, 4, 3], 5, Some(1905)));
            books.update(5).set(|b| b.author, Ref::new(2)).await.unwrap();
            assert_eq!(of(1).await, (vec![4, 3, 2], 4, Some(1904)));
            assert_eq!(of(2).await, (vec![6, 5], 2, Some(1906)));
            books
                .update_where(|b| b.id.lte(4))
                .set(|b| b.author, Ref::new(2))
                .await
                .unwrap();
            assert_eq!(of(1).await, (vec![], 0, None));
            assert_eq!(of(2).await, (vec![6, 5, 4], 6, Some(1906)));
            // By a replacement, and by what decides the order.
            let book = books.get(5).await.unwrap().unwrap();
            books
                .replace(auto::Book {
                    author: Ref::new(1),
                    ..book
                })
                .await
                .unwrap();
            books.update(6).set(|b| b.year, 1800).await.unwrap();
            assert_eq!(of(1).await, (vec![5], 1, Some(1905)));
            assert_eq!(of(2).await, (vec![4, 3, 2], 5, Some(1904)));
            assert_true(&odm).await;
            books
                .update_where(|b| b.id.lte(5))
                .set(|b| b.author, Ref::new(1))
                .await
                .unwrap();
            books.update(6).set(|b| b.year, 1906).await.unwrap();
            books.delete(4).await.unwrap();
            assert_eq!(of(1).await, (vec![5, 3, 2], 4, Some(1905)));
            books.insert(auto::book(4, 1)).await.unwrap();
            assert_eq!(of(1).await, (vec![5, 4, 3], 5, Some(1905)));
            assert_true(&odm).await;
        }
    });
}

/// A process that dies in the middle of moving a child, after each of its commands.
macro_rules! moves_that_die {
    ($t:ident, $mode:ident, $work:expr) => {{
        let odm = $mode::stocked(&$t).await;
        let dead = mortal(&$t, $mode::models()).await;
        for commands in 0.. {
            let from = *odm
                .collection::<$mode::Book>()
                .get(5)
                .await
                .unwrap()
                .unwrap()
                .author
                .key();
            let to = 3 - from;
            let died = dead.dies_after(commands, move |odm| $work(odm, to)).await;
            odm.recover().await.unwrap();
            let audit = odm.audit().await.unwrap();
            assert!(audit.is_clean(), "dead after {commands} commands: {audit}");
            assert_true(&odm).await;
            if !died {
                assert!(commands >= 3, "{commands}");
                break;
            }
        }
        $t.db.drop().await.unwrap();
    }};
}

#[odm_tests::test]
fn a_crash_while_a_child_is_moved_leaves_no_parent_stale() {
    with_db(async |t| {
        moves_that_die!(t, eventual, async |odm: Odm, to| {
            let books = odm.collection::<eventual::Book>();
            books.update(5).set(|b| b.author, Ref::new(to)).await.unwrap();
        });
        moves_that_die!(t, eventual, async |odm: Odm, to| {
            let books = odm.collection::<eventual::Book>();
            books
                .update_where(|b| b.id.eq(5))
                .set(|b| b.author, Ref::new(to))
                .await
                .unwrap();
        });
        moves_that_die!(t, eventual, async |odm: Odm, to| {
            let books = odm.collection::<eventual::Book>();
            let book = books.get(5).await.unwrap().unwrap();
            books
                .replace(eventual::Book {
                    author: Ref::new(to),
                    ..book
                })
                .await
                .unwrap();
        });
    });
}

#[odm_tests::test]
fn a_late_delivery_does_not_restore_a_deleted_value() {
    with_db(async |t| {
        let odm = eventual::stocked(&t).await;
        // The author is about to be told to the books when it is deleted, inserted again, and has a new book.
        let slow =
            odm_tests::fixtures::interleaved::interrupted(&t, eventual::models(), "update", "books", |db| {
                Box::pin(async move {
                    let odm = Odm::new(db, eventual::models()).unwrap();
                    odm.collection::<eventual::Author>().delete(1).await.unwrap();
                    let again = eventual::NewAuthor {
                        name: "again".into(),
                        ..eventual::author(1)
                    };
                    odm.collection::<eventual::Author>().insert(again).await.unwrap();
                    odm.collection::<eventual::Book>()
                        .insert(eventual::book(1, 1))
                        .await
                        .unwrap();
                })
            })
            .await;
        slow.collection::<eventual::Author>()
            .update(1)
            .set(|a| a.name, "late")
            .await
            .unwrap();
        let books = odm
            .collection::<eventual::Book>()
            .find(|b| b.author.eq(Ref::new(1)))
            .all()
            .await
            .unwrap();
        let all: Vec<_> = books
            .iter()
            .map(|book| (book.id, book.author_name.as_str()))
            .collect();
        assert_eq!(all, [(1, "again")]);
        assert_true(&odm).await;
    });
}

#[odm_tests::test]
fn a_crash_while_a_source_is_deleted_leaves_it_deleted_or_complete() {
    with_db(async |t| {
        for alone in [true, false] {
            let odm = auto::stocked(&t).await;
            let dead = mortal_in(alone, &t, auto::models()).await;
            for commands in 0.. {
                let died = dead
                    .dies_after(commands, async |odm| {
                        assert!(odm.collection::<auto::Book>().delete(3).await.is_ok())
                    })
                    .await;
                assert_true(&odm).await;
                let there = odm.collection::<auto::Book>().get(3).await.unwrap().is_some();
                let author = odm.collection::<auto::Author>().get(1).await.unwrap().unwrap();
                assert_eq!(
                    author.books,
                    4 + i64::from(there),
                    "dead after {commands} commands"
                );
                if !died {
                    assert!(!there);
                    break;
                }
                if !there {
                    odm.collection::<auto::Book>()
                        .insert(auto::book(3, 1))
                        .await
                        .unwrap();
                }
            }
            t.db.drop().await.unwrap();
        }
    });
}

#[odm_tests::test]
fn a_large_fan_out_reports_progress_and_resumes() {
    with_db(async |t| {
        let odm = eventual::stocked(&t).await;
        let books = odm.collection::<eventual::Book>();
        books
            .insert_many((10..2_010).map(|id| eventual::book(id, 2)))
            .await
            .unwrap();
        let told: Arc<Mutex<Vec<u64>>> = Arc::default();
        let tell = told.clone();
        let fan_out = FanOut::new()
            .batch(150)
            .pause(Duration::from_millis(30))
            .progress(move |progress| {
                if progress.collection == "books" {
                    tell.lock().unwrap().push(progress.changed);
                }
            });
        let slow = odm.clone().with_fan_out(fan_out);
        let working = slow.clone();
        let work = tokio::spawn(async move {
            let authors = working.collection::<eventual::Author>();
            authors.update(2).set(|a| a.name, "cancelled").await
        });
        let until = Instant::now() + Duration::from_secs(30);
        while told.lock().unwrap().len() < 4 && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        work.abort();
        assert!(work.await.unwrap_err().is_cancelled());
        let before = books
            .find(|b| b.author_name.eq("cancelled"))
            .count()
            .await
            .unwrap();
        assert!((600..2_001).contains(&before), "{before}");
        // A copy that is there is not looked at again.
        told.lock().unwrap().clear();
        slow.recover().await.unwrap();
        let after = told.lock().unwrap().clone();
        assert!(
            after.last().is_some_and(|changed| *changed <= 2_001 - before),
            "{after:?} after {before}"
        );
        assert!(
            after.len() as u64 <= (2_001 - before) / 150 + 2,
            "{after:?} after {before}"
        );
        assert_eq!(
            books
                .find(|b| b.author_name.eq("cancelled"))
                .count()
                .await
                .unwrap(),
            2_001
        );
        assert_true(&odm).await;
    });
}

#[odm_tests::test]
fn the_last_of_a_burst_of_changes_updates_the_copies_for_all() {
    odm_tests::takes_long();
    with_db(async |t| {
        let odm = eventual::stocked(&t).await;
        odm.collection::<eventual::Book>()
            .insert_many((10..1_510).map(|id| eventual::book(id, 2)))
            .await
            .unwrap();
        let batches = Arc::new(AtomicU64::new(0));
        let count = batches.clone();
        let odm = odm.with_fan_out(FanOut::new().batch(100).progress(move |progress| {
            count.fetch_add(u64::from(progress.collection == "books"), Ordering::SeqCst);
        }));
        let authors = odm.collection::<eventual::Author>();
        let burst = (0..8).map(|n| {
            authors
                .update(2)
                .set(|a| a.name, format!("name {n}"))
                .into_future()
        });
        futures::future::try_join_all(burst).await.unwrap();
        let sent = batches.load(Ordering::SeqCst);
        assert!(sent >= 16, "the last one told all: {sent}");
        assert!(sent < 8 * 16, "and not each of them: {sent}");
        assert_true(&odm).await;

        // One that is in the middle of it leaves the rest to the later change.
        let begun = Arc::new(tokio::sync::Notify::new());
        let (told, tell) = (batches.clone(), begun.clone());
        let gentle = FanOut::new().batch(100).pause(Duration::from_millis(100));
        let slow = odm.clone().with_fan_out(gentle.progress(move |progress| {
            told.fetch_add(u64::from(progress.collection == "books"), Ordering::SeqCst);
            tell.notify_one();
        }));
        batches.store(0, Ordering::SeqCst);
        let first = tokio::spawn(async move {
            let authors = slow.collection::<eventual::Author>();
            authors.update(2).set(|a| a.name, "first").await.unwrap();
        });
        begun.notified().await;
        authors.update(2).set(|a| a.name, "second").await.unwrap();
        first.await.unwrap();
        let sent = batches.load(Ordering::SeqCst);
        assert!(
            (17..=24).contains(&sent),
            "one delivery, and the beginning of another: {sent}"
        );
        assert_true(&odm).await;
    });
}

/// The shelves of the library before they had copies, and a process that knows of none.
mod before {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "authors")]
    pub struct Author {
        #[serde(rename = "_id")]
        pub id: i64,
        pub name: String,
    }
}

#[odm_tests::test]
fn a_process_that_does_not_know_a_copy_is_warned_and_leaves_it_to_others() {
    use before::Author;
    with_db(async |t| {
        let full = auto::stocked(&t).await;
        let odm = Odm::new(t.db.clone(), models![Author]).unwrap();
        let told = odm.sync().await.unwrap_err();
        let Error::UnknownCopies { edges } = &told else {
            panic!("{told}")
        };
        let is_named = |name: &String| name.starts_with("books.author") && name.contains(" from authors.");
        assert!(edges.iter().any(is_named), "{edges:?}");
        let authors = odm.collection::<Author>();
        let refused = [
            authors.delete(1).await.unwrap_err(),
            authors.delete_where(|a| a.id.eq(1)).await.unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(error, Error::UnknownReferences { .. }), "{error}");
        }
        authors.update(1).set(|a| a.name, "x").await.unwrap();
        full.recover().await.unwrap();
        assert_true(&full).await;
        // Also where it says that it is meant; before a recovery those who have the models find what it did.
        let odm = odm.allow_unknown_copies();
        odm.sync().await.unwrap();
        odm.collection::<Author>()
            .update(1)
            .set(|a| a.name, "unseen")
            .await
            .unwrap();
        let audit = full.audit().await.unwrap();
        assert_eq!(audit.stale_copies(), 5, "{audit}");
        full.repair(&audit).await.unwrap();
        assert_true(&full).await;
        assert_eq!(
            raw(&full, "books", 1).await.get_str("author_name").unwrap(),
            "unseen"
        );
        // A copy that is not declared any more can be forgotten.
        let odm = Odm::new(t.db.clone(), models![Author]).unwrap();
        assert!(odm.forget_copies().await.unwrap() > 0);
        odm.sync().await.unwrap();
        odm.collection::<Author>()
            .update(1)
            .set(|a| a.name, "y")
            .await
            .unwrap();
    });
}

#[odm_tests::test]
fn copies_that_are_declared_later_are_filled_while_others_write() {
    odm_tests::takes_long();
    with_db(async |t| {
        let now = odm::bson::DateTime::now();
        let times = doc! { "created_at": now, "updated_at": now, "version": 1_i64 };
        let with = |mut document: Doc| {
            document.extend(times.clone());
            document
        };
        let authors =
            (1..=3_i64).map(|id| with(doc! { "_id": id, "name": format!("author {id}"), "remark": "" }));
        t.db.collection::<Doc>("authors")
            .insert_many(authors)
            .await
            .unwrap();
        let books = (0..1_500_i64).map(|id| {
            with(doc! { "_id": id, "title": format!("book {id}"), "year": 1900, "pages": 7, "author": 1 + id % 3 })
        });
        t.db.collection::<Doc>("books").insert_many(books).await.unwrap();
        let shelves =
            (0..50_i64).map(|id| with(doc! { "_id": id, "books": [{ "id": id }, { "id": id + 1 }] }));
        t.db.collection::<Doc>("shelves")
            .insert_many(shelves)
            .await
            .unwrap();
        let odm = Odm::new(t.db.clone(), auto::models()).unwrap();
        // The validator of the new fields waits until they are there.
        odm.sync().await.ok();
        let stop = Arc::new(AtomicU64::new(0));
        let until = stop.clone();
        let writer = apart(&t, 3, auto::models(), false, async move |odm| {
            let mut n = 0;
            while until.load(Ordering::SeqCst) == 0 {
                n += 1;
                let authors = odm.collection::<auto::Author>();
                authors
                    .update(1 + n % 3)
                    .set(|a| a.name, format!("name {n}"))
                    .await
                    .unwrap();
                odm.collection::<auto::Book>()
                    .insert(auto::book(10_000 + n, 1 + n % 3))
                    .await
                    .unwrap();
            }
            n
        });
        let filled = odm.backfill().await.unwrap();
        stop.store(1, Ordering::SeqCst);
        let written = writer.join().unwrap();
        assert!(written > 0);
        assert!(filled.edges.contains(&"books.author".to_owned()), "{filled:?}");
        assert!(
            filled.edges.contains(&"shelves.books.id".to_owned()),
            "{filled:?}"
        );
        assert_true(&odm).await;
        odm.sync().await.unwrap();
        let author = odm.collection::<auto::Author>().get(2).await.unwrap().unwrap();
        assert!(author.books >= 500 && author.newest.len() == 3);
        let shelf = odm.collection::<auto::Shelf>().get(7).await.unwrap().unwrap();
        assert_eq!(shelf.books[1].title, "book 8");
    });
}

/// References that are emptied when their target goes, and copies of what stands beside them.
mod emptied {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "firms")]
    pub struct Firm {
        #[serde(rename = "_id")]
        pub id: i64,
        pub name: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "people")]
    pub struct Person {
        #[serde(rename = "_id")]
        pub id: i64,
        #[reference(on_delete = nullify)]
        pub firm: Option<Ref<Firm>>,
        #[denormalize(from = firm.name)]
        pub firm_name: Option<String>,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "cards")]
    pub struct Card {
        #[serde(rename = "_id")]
        pub id: i64,
        #[reference(on_delete = cascade)]
        pub person: Ref<Person>,
        #[denormalize(from = person.firm_name)]
        pub firm_name: Option<String>,
    }
}

#[odm_tests::test]
fn a_reference_that_is_emptied_empties_its_copies_and_their_copies() {
    use emptied::{Card, Firm, NewCard, NewPerson, Person};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Firm, Person, Card]).unwrap();
        odm.sync().await.unwrap();
        for (odm, id) in [(odm.clone(), 1), (t.standalone_of(&odm).await, 2)] {
            odm.collection::<Firm>()
                .insert(Firm {
                    id,
                    name: "Acme".into(),
                })
                .await
                .unwrap();
            odm.collection::<Person>()
                .insert(NewPerson {
                    id,
                    firm: Some(Ref::new(id)),
                })
                .await
                .unwrap();
            let card = odm
                .collection::<Card>()
                .insert(NewCard {
                    id,
                    person: Ref::new(id),
                })
                .await
                .unwrap();
            assert_eq!(card.firm_name.as_deref(), Some("Acme"));
            let done = odm.collection::<Firm>().delete(id).await.unwrap();
            assert_eq!((done.deleted, done.nullified), (1, 1));
            let person = odm.collection::<Person>().get(id).await.unwrap().unwrap();
            assert_eq!((person.firm, person.firm_name), (None, None));
            let card = odm.collection::<Card>().get(id).await.unwrap().unwrap();
            assert_eq!(card.firm_name, None);
            odm.recover().await.unwrap();
            assert_clean(&odm).await;
        }
    });
}

/// Two references, of which each may have copies of its own mode, and one with copies of two.
mod mixed {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "sources")]
    pub struct Source {
        #[serde(rename = "_id")]
        pub id: i64,
        pub a: String,
        pub b: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "holders")]
    pub struct Holder {
        #[serde(rename = "_id")]
        pub id: i64,
        #[reference]
        pub of: Ref<Source>,
        #[denormalize(from = of.a, consistency = eventual)]
        pub a: String,
        #[denormalize(from = of.b, consistency = atomic)]
        pub b: String,
    }
}

#[odm_tests::test]
fn copies_beside_one_reference_are_of_one_mode() {
    with_db(async |t| {
        let error = Odm::new(t.db.clone(), models![mixed::Source, mixed::Holder]).unwrap_err();
        let Error::Models { problems } = &error else {
            panic!("{error}")
        };
        assert!(
            problems[0].contains("Holder.of") && problems[0].contains("consistency"),
            "{problems:?}"
        );
    });
}

#[odm_tests::test]
fn an_audit_finds_and_a_repair_corrects_out_of_band_writes_of_copies() {
    with_db(async |t| {
        let odm = auto::stocked(&t).await;
        let authors = t.db.collection::<Doc>("authors");
        // A write that knows nothing of versions, and a replacement that loses them.
        authors
            .update_one(
                doc! { "_id": 1_i64 },
                doc! { "$set": { "name": "changed outside" } },
            )
            .await
            .unwrap();
        let mut whole = raw(&odm, "authors", 2).await;
        whole.remove("_odm");
        whole.insert("name", "replaced outside");
        authors.replace_one(doc! { "_id": 2_i64 }, whole).await.unwrap();
        let audit = odm.audit().await.unwrap();
        assert!(!audit.is_clean());
        odm.repair(&audit).await.unwrap();
        assert_true(&odm).await;
        for (book, name) in [(1, "changed outside"), (6, "replaced outside")] {
            assert_eq!(
                raw(&odm, "books", book).await.get("author_name"),
                Some(&Bson::from(name))
            );
        }
        // And the library goes on from there: its next change reaches the copies.
        for id in [1, 2] {
            odm.collection::<auto::Author>()
                .update(id)
                .set(|a| a.name, "from inside")
                .await
                .unwrap();
        }
        assert_eq!(
            raw(&odm, "books", 6).await.get_str("author_name").unwrap(),
            "from inside"
        );
        assert_true(&odm).await;
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "plain")]
struct Plain {
    #[serde(rename = "_id")]
    id: i64,
}

#[odm_tests::test]
fn a_document_without_copies_costs_nothing_more() {
    with_db(async |t| {
        let models = auto::models().into_iter().chain(models![Plain]);
        let odm = Odm::new(t.db.clone(), models).unwrap();
        odm.sync().await.unwrap();
        odm.server().await.unwrap();
        t.commands.clear();
        odm.collection::<Plain>().insert(Plain { id: 1 }).await.unwrap();
        odm.collection::<Plain>().delete(1).await.unwrap();
        assert_eq!(t.commands.take(), ["insert", "delete"]);
        let stored = auto::stocked(&t).await;
        t.commands.clear();
        // The remark is not copied.
        stored
            .collection::<auto::Author>()
            .update(1)
            .set(|a| a.remark, "x")
            .await
            .unwrap();
        assert_eq!(t.commands.take(), ["update"]);
    });
}

/// References that are kept where their target is deleted, with copies beside them.
mod kept {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "makers")]
    pub struct Maker {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "tools")]
    pub struct Tool {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference(on_delete = keep)]
        pub maker: Ref<Maker>,
        #[denormalize(from = maker.name)]
        pub maker_name: String,
        #[field(min = 0)]
        pub left: i32,
    }
}

#[odm_tests::test]
fn an_upsert_takes_the_copies_of_the_references_in_its_condition() {
    use kept::{Maker, Tool};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Maker, Tool]).unwrap();
        odm.sync().await.unwrap();
        for (id, odm) in [(1, odm.clone()), (2, t.standalone_of(&odm).await)] {
            let (makers, tools) = (odm.collection::<Maker>(), odm.collection::<Tool>());
            let name = format!("maker {id}");
            makers.insert(Maker { id, name }).await.unwrap();
            let stock = async |maker: i32, more: i32| {
                tools
                    .update_where(|t| t.maker.eq(Ref::new(maker)) & t.id.eq(10 + maker))
                    .inc(|t| t.left, more)
                    .upsert()
                    .await
            };
            assert!(stock(id, 3).await.unwrap().upserted.is_some());
            assert!(stock(id, 4).await.unwrap().upserted.is_none());
            let tool = tools.get(10 + id).await.unwrap().unwrap();
            let expected = Tool {
                id: 10 + id,
                maker: Ref::new(id),
                maker_name: format!("maker {id}"),
                left: 7,
            };
            assert_eq!(tool, expected);
            makers.update(id).set(|m| m.name, "renamed").await.unwrap();
            assert_eq!(tools.get(10 + id).await.unwrap().unwrap().maker_name, "renamed");
            let error = stock(99, 1).await.unwrap_err();
            assert!(matches!(error, Error::MissingReference { .. }), "{error}");
            assert_clean(&odm).await;
        }
    });
}

#[odm_tests::test]
fn an_upsert_that_restores_a_source_updates_copies_that_were_kept() {
    use kept::{Maker, NewTool, Tool};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Maker, Tool]).unwrap();
        odm.sync().await.unwrap();
        for odm in [odm.clone(), t.standalone_of(&odm).await] {
            let (makers, tools) = (odm.collection::<Maker>(), odm.collection::<Tool>());
            let name = "first".to_owned();
            makers.insert(Maker { id: 1, name }).await.unwrap();
            let maker = Ref::new(1);
            tools
                .insert(NewTool {
                    id: 1,
                    maker,
                    left: 0,
                })
                .await
                .unwrap();
            let shown = async || tools.get(1).await.unwrap().unwrap().maker_name;

            makers.delete(1).await.unwrap();
            assert_eq!(shown().await, "first");
            makers.update(1).set(|m| m.name, "second").upsert().await.unwrap();
            assert_eq!(shown().await, "second");
            makers.update(1).set(|m| m.name, "third").await.unwrap();
            assert_eq!(shown().await, "third");

            makers.delete(1).await.unwrap();
            makers
                .update_where(|m| m.id.eq(1))
                .set(|m| m.name, "fourth")
                .upsert()
                .await
                .unwrap();
            assert_eq!(shown().await, "fourth");

            assert_clean(&odm).await;
            makers.delete_where(|m| m.id.gt(0)).await.unwrap();
            tools.delete_where(|t| t.id.gt(0)).await.unwrap();
        }
    });
}

mod left_out {
    use odm::prelude::*;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "poets")]
    pub struct Poet {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
    }

    /// An option that its function writes as the type does, and wants to be there.
    mod plainly {
        use super::{Deserialize, Deserializer, Serialize, Serializer};

        pub fn serialize<S: Serializer>(name: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
            name.serialize(to)
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
            Option::deserialize(from)
        }
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "poems")]
    pub struct Poem {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference(on_delete = nullify)]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub poet: Option<Ref<Poet>>,
        #[denormalize(from = poet.name)]
        #[serde(with = "plainly")]
        #[field(stored = Option<String>, max_len = 40)]
        pub poet_name: Option<String>,
        pub lines: i32,
    }
}

/// A copy that a function reads must be there, whether the reference beside it is or not.
#[odm_tests::test]
fn a_copy_that_must_be_there_is_null_without_its_reference() {
    with_db(async |t| {
        use left_out::{NewPoem, NewPoet, Poem, Poet};
        let odm = Odm::new(t.db.clone(), models![Poet, Poem]).unwrap();
        odm.sync().await.unwrap();
        let (poets, poems) = (odm.collection::<Poet>(), odm.collection::<Poem>());
        let ada = NewPoet {
            id: 1,
            name: "Ada".into(),
        };
        let ada = poets.insert(ada).await.unwrap();
        let poem = |id, poet| NewPoem { id, poet, lines: 4 };
        let name = async |id| poems.get(id).await.unwrap().unwrap().poet_name;
        let anonymous = poems.insert(poem(1, None)).await.unwrap();
        assert_eq!(anonymous.poet_name, None);
        let stored = raw(&odm, "poems", 1).await;
        assert!(!stored.contains_key("poet"), "{stored}");
        assert_eq!(stored.get("poet_name"), Some(&Bson::Null));
        poems
            .insert_many([poem(2, Some(ada.to_ref())), poem(3, None)])
            .await
            .unwrap();
        assert_eq!(name(2).await.as_deref(), Some("Ada"));
        assert_clean(&odm).await;
        // The application's own value is no copy of anything.
        let whole = Poem {
            poet_name: Some("no poet".into()),
            ..anonymous
        };
        poems.replace(whole).await.unwrap();
        assert_eq!(name(1).await, None);
        poems.update(1).set(|p| p.poet, ada.to_ref()).await.unwrap();
        assert_eq!(name(1).await.as_deref(), Some("Ada"));
        poems.update(1).unset(|p| p.poet).await.unwrap();
        assert_eq!(name(1).await, None);
        // A new document of an upsert has it too, with a reference or without.
        poems.update(4).set(|p| p.lines, 8).upsert().await.unwrap();
        poems
            .update_where(|p| p.id.eq(5) & p.poet.eq(ada.to_ref()))
            .set(|p| p.lines, 8)
            .upsert()
            .await
            .unwrap();
        assert_eq!((name(4).await, name(5).await.as_deref()), (None, Some("Ada")));
        assert_clean(&odm).await;
    });
}

/// A source of copies, and no parent.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "makers")]
pub struct Maker {
    #[serde(rename = "_id")]
    pub id: i64,
    pub name: String,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
pub struct Part {
    #[serde(rename = "_id")]
    pub id: i64,
    #[reference]
    pub maker: Ref<Maker>,
    #[denormalize(from = maker.name)]
    pub maker_name: String,
}

/// Where a document is contended, pending work takes the place of the transaction of a single write alone.
#[odm_tests::test]
fn writes_that_are_sent_together_are_made_at_a_contended_document_too() {
    use odm::__private::{SwitchBulk as _, SwitchOdm as _};
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Maker, Part]).unwrap();
        require_transactions(&odm).await;
        odm.sync().await.unwrap();
        let (makers, parts) = (odm.collection::<Maker>(), odm.collection::<Part>());
        // The stand-in does not take `bulkWrite` as the first command of a transaction.
        let bulk = || odm.bulk().without_bulk_write_command();
        makers
            .insert(NewMaker {
                id: 1,
                name: "before".into(),
            })
            .await
            .unwrap();
        let part = |id| NewPart {
            id,
            maker: Ref::new(1),
        };
        let contend = || odm.contend("makers", 1_i64.into());
        contend();
        parts.insert(part(1)).await.unwrap();
        contend();
        assert_eq!(parts.insert_many([part(2)]).await.unwrap().len(), 1);
        contend();
        assert_eq!(
            bulk()
                .add(odm.collection().insert(part(3)))
                .await
                .unwrap()
                .inserted,
            1
        );
        for name in ["by an update", "by a bulk"] {
            contend();
            if name == "by a bulk" {
                let done = bulk().add(makers.update(1).set(|m| m.name, name)).await;
                assert_eq!(done.unwrap().matched, 1);
            } else {
                makers.update(1).set(|m| m.name, name).await.unwrap();
            }
            let names: Vec<String> = parts
                .find_all()
                .all()
                .await
                .unwrap()
                .into_iter()
                .map(|p| p.maker_name)
                .collect();
            assert_eq!(names, vec![name; 3]);
        }
        assert_clean(&odm).await;
    });
}

/// Each applies the work that it has recorded, though both take their turn at one document.
#[odm_tests::test]
fn writes_of_two_collections_that_fall_back_at_one_document_leave_nothing_pending() {
    use odm::__private::SwitchOdm as _;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Maker, Part]).unwrap();
        require_transactions(&odm).await;
        odm.sync().await.unwrap();
        let (makers, parts) = (odm.collection::<Maker>(), odm.collection::<Part>());
        let maker = |id| NewMaker {
            id,
            name: "new".into(),
        };
        makers.insert_many((1..=20).map(maker)).await.unwrap();
        let part = |id| NewPart {
            id,
            maker: Ref::new(id % 20 + 1),
        };
        for round in 0..20_i64 {
            let id = round + 1;
            odm.contend("makers", id.into());
            let name = format!("name {round}");
            let inserts = (0..4).map(|n| parts.insert(part(round + 20 * n)).into_future());
            let inserts = futures::future::try_join_all(inserts);
            let updated = makers.update(id).set(|m| m.name, name).into_future();
            let (inserted, updated) = tokio::join!(inserts, updated);
            inserted.unwrap();
            updated.unwrap();
        }
        assert!(with_pending_work(&odm).await.is_empty());
        assert_clean(&odm).await;
    });
}
