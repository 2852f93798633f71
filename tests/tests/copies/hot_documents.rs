//! Documents that many writes meet at: a source of copies, and a parent. The transactions of one handle take turns there, and
//! those of two handles meet as those of two processes do.

use futures::future::{join_all, try_join_all};
use odm::bson::{Document as Raw, doc};
use odm::mongodb::ClientSession;
use odm::prelude::*;
use odm_tests::fixtures::interleaved::{Step, meddled};
use odm_tests::{TestDb, assert_clean, with_transactions};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Meters with their readings, and channels with their messages, in a consistency mode.
macro_rules! metering {
    ($mode:ident $(, $sync:ident)?) => {
        mod $mode {
            use odm::prelude::*;
            use serde::{Deserialize, Serialize};

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "meters")]
            pub struct Meter {
                #[serde(rename = "_id")]
                pub id: i32,
                pub name: String,
                /// Is not copied.
                pub visits: i32,
            }

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "readings")]
            pub struct Reading {
                #[serde(rename = "_id")]
                pub id: i32,
                #[reference]
                pub meter: Ref<Meter>,
                #[denormalize(from = meter.name $(, consistency = $sync)?)]
                pub name: String,
            }

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "channels")]
            pub struct Channel {
                #[serde(rename = "_id")]
                pub id: i32,
                #[computed(count = Message $(, consistency = $sync)?)]
                pub messages: i64,
                #[computed(sum = Message.length $(, consistency = $sync)?)]
                pub length: i64,
                #[subset(of = Message, limit = 3, order(-length), fields(length: i64) $(, consistency = $sync)?)]
                pub longest: Vec<LongestEntry>,
            }

            #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
            #[document(collection = "messages")]
            pub struct Message {
                #[serde(rename = "_id")]
                pub id: i32,
                #[parent_ref(order(-length), on_delete = cascade)]
                pub channel: Ref<Channel>,
                pub length: i64,
            }

            pub fn handle(db: odm::mongodb::Database) -> Odm {
                Odm::new(db, models![Meter, Reading, Channel, Message]).unwrap()
            }

            /// Two meters with four readings each, and two channels.
            pub async fn stocked(t: &odm_tests::TestDb) -> Odm {
                let odm = handle(t.db.clone());
                odm.sync().await.unwrap();
                for id in [1, 2] {
                    let meter = Meter { id, name: "new".to_owned(), visits: 0 };
                    odm.collection::<Meter>().insert(meter).await.unwrap();
                    odm.collection::<Channel>().insert(NewChannel { id }).await.unwrap();
                    let readings = (0..4).map(|n| NewReading { id: id * 10_000 + n, meter: Ref::new(id) });
                    odm.collection::<Reading>().insert_many(readings).await.unwrap();
                }
                t.commands.clear();
                odm
            }

            pub async fn rename(odm: &Odm, id: i32, name: String) -> odm::Result<()> {
                let meters = odm.collection::<Meter>();
                meters.update(id).set(|m| m.name, name).await.map(drop)
            }

            pub async fn read(odm: &Odm, id: i32) -> odm::Result<()> {
                let reading = NewReading { id, meter: Ref::new(1) };
                odm.collection::<Reading>().insert(reading).await.map(drop)
            }

            pub async fn send(odm: &Odm, id: i32) -> odm::Result<()> {
                let message = NewMessage { id, channel: Ref::new(1), length: id.into() };
                odm.collection::<Message>().insert(message).await.map(drop)
            }
        }
    };
}
metering!(auto);
metering!(atomic, atomic);

/// Changes what the parent of a message sums up.
async fn lengthen(odm: &Odm, id: i32) -> odm::Result<()> {
    let messages = odm.collection::<auto::Message>();
    messages.update(id).inc(|m| m.length, 1).await.map(drop)
}

/// Changes a field that nothing depends on.
async fn visit(odm: &impl odm::Handle) -> odm::Result<()> {
    let meters = odm.collection::<atomic::Meter>();
    meters.update(1).inc(|m| m.visits, 1).await.map(drop)
}

/// Nothing is left to do, and everything is right.
async fn assert_done(odm: &Odm) {
    assert_eq!(
        odm.recover().await.unwrap().documents,
        0,
        "pending work is left behind"
    );
    assert_clean(odm).await;
}

/// How often the client has sent this command, of these.
fn times(commands: &[String], name: &str) -> usize {
    commands.iter().filter(|command| *command == name).count()
}

/// How many writes meet at a document.
const WRITES: i32 = 300;

#[odm_tests::test]
fn three_hundred_writes_of_one_process_take_turns_at_a_document() {
    with_transactions(async |t| {
        let odm = auto::stocked(&t).await;
        let ids = 1..=WRITES;
        try_join_all(ids.clone().map(|n| auto::rename(&odm, 1, format!("name {n}"))))
            .await
            .unwrap();
        try_join_all(ids.clone().map(|id| auto::read(&odm, id)))
            .await
            .unwrap();
        try_join_all(ids.clone().map(|id| auto::send(&odm, id)))
            .await
            .unwrap();
        let commands = t.commands.take();
        assert_eq!(
            times(&commands, "abortTransaction"),
            0,
            "none has met another one"
        );
        assert_eq!(times(&commands, "commitTransaction"), 900);
        let channel = odm.collection::<auto::Channel>().get(1).await.unwrap().unwrap();
        assert_eq!((channel.messages, channel.length), (300, 300 * 301 / 2));
        assert_done(&odm).await;
    });
}

/// The parent of a changed child is not known before its transaction: one that meets another one learns of it.
#[odm_tests::test]
fn changes_of_the_children_of_one_parent_learn_where_they_meet() {
    with_transactions(async |t| {
        let odm = auto::stocked(&t).await;
        let ids = 1..=50;
        for id in ids.clone() {
            auto::send(&odm, id).await.unwrap();
        }
        t.commands.clear();
        try_join_all(ids.clone().map(|id| lengthen(&odm, id)))
            .await
            .unwrap();
        let commands = t.commands.take();
        assert_eq!(times(&commands, "commitTransaction"), 50);
        let aborted = times(&commands, "abortTransaction");
        assert!(aborted <= 100, "{aborted} for 50 changes");
        let channel = odm.collection::<auto::Channel>().get(1).await.unwrap().unwrap();
        assert_eq!(channel.length, 50 * 51 / 2 + 50);
        assert_done(&odm).await;
    });
}

#[odm_tests::test]
fn writes_of_several_handles_at_one_document_all_succeed() {
    with_transactions(async |t| {
        // The copies of one change are updated outside a transaction while another transaction writes one of their documents.
        if odm_tests::may_stand_still(&t.db).await {
            odm_tests::skip("needs a server that does not come to a standstill where transactions meet");
        }
        let stocked = auto::stocked(&t).await;
        let handles: Vec<Odm> = (0..4).map(|_| auto::handle(t.db.clone())).collect();
        let all = handles.iter().enumerate().map(|(n, odm)| async move {
            for id in (0..20).map(|id| id * 4 + n as i32 + 1) {
                // Of each kind some at once, and each handle one kind after the other.
                let names = (0..3).map(|k| auto::rename(odm, 1, format!("name {id} {k}")));
                try_join_all(names).await?;
                auto::read(odm, id).await?;
                auto::send(odm, id).await?;
            }
            Ok::<(), odm::Error>(())
        });
        try_join_all(all).await.unwrap();
        let channel = stocked
            .collection::<auto::Channel>()
            .get(1)
            .await
            .unwrap()
            .unwrap();
        assert_eq!((channel.messages, channel.length), (80, 80 * 81 / 2));
        let readings = stocked.collection::<auto::Reading>();
        assert_eq!(readings.find_all().count().await.unwrap(), 88);
        assert_done(&stocked).await;
    });
}

#[odm_tests::test]
fn atomic_writes_of_several_handles_at_one_document_all_succeed() {
    with_transactions(async |t| {
        let stocked = atomic::stocked(&t).await;
        let handles: Vec<Odm> = (0..4).map(|_| atomic::handle(t.db.clone())).collect();
        let all = handles.iter().enumerate().map(|(n, odm)| async move {
            let ids = (0..20).map(|id| id * 4 + n as i32 + 1);
            let names = join_all(ids.clone().map(|id| atomic::rename(odm, 1, format!("name {id}"))));
            let (names, read, sent) = futures::join!(
                names,
                join_all(ids.clone().map(|id| atomic::read(odm, id))),
                join_all(ids.map(|id| atomic::send(odm, id))),
            );
            names
                .into_iter()
                .chain(read)
                .chain(sent)
                .collect::<odm::Result<Vec<()>>>()
        });
        try_join_all(all).await.unwrap();
        let commands = t.commands.take();
        assert_eq!(
            times(&commands, "commitTransaction"),
            240,
            "each was a transaction"
        );
        assert_done(&stocked).await;
    });
}

/// A transaction of another client that has written this document.
async fn held(t: &TestDb, collection: &str, id: i32) -> ClientSession {
    let mut session = t.db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let all = t.db.collection::<Raw>(collection);
    let touched = all.update_one(doc! { "_id": id }, doc! { "$inc": { "held": 1 } });
    let touched = touched.session(&mut session).await.unwrap();
    assert_eq!(touched.matched_count, 1);
    session
}

/// Waits until this command was sent this often.
async fn wait_for(t: &TestDb, name: &str, often: usize) {
    for _ in 0..2_000 {
        if t.commands.times(name) >= often {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("`{name}` was not sent {often} times");
}

/// The first write has its turn at meter 1, and is held up by another client at a holder.
#[odm_tests::test]
fn a_held_up_write_holds_up_none_but_those_behind_it_and_its_end_lets_them_on() {
    with_transactions(async |t| {
        let odm = atomic::stocked(&t).await;
        let mut other = held(&t, "readings", 10_000).await;
        t.commands.clear();
        let first = tokio::spawn({
            let odm = odm.clone();
            async move { atomic::rename(&odm, 1, "first".to_owned()).await }
        });
        wait_for(&t, "abortTransaction", 2).await;
        let second = tokio::spawn({
            let odm = odm.clone();
            async move { atomic::rename(&odm, 1, "second".to_owned()).await }
        });
        // Another document, a field that nothing depends on, and a transaction of the application's.
        let limit = Duration::from_secs(20);
        let renamed = tokio::time::timeout(limit, atomic::rename(&odm, 2, "other".to_owned())).await;
        renamed.expect("documents have queues of their own").unwrap();
        let visited = tokio::time::timeout(limit, visit(&odm)).await;
        visited
            .expect("a write without effects is not in the queue")
            .unwrap();
        let work = odm.transaction(async |tx| visit(&tx).await);
        let visited = tokio::time::timeout(limit, work).await;
        visited
            .expect("the application's transactions don't wait")
            .unwrap();
        assert!(!first.is_finished() && !second.is_finished());
        // The future of the first one is dropped while it has the turn.
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        other.abort_transaction().await.unwrap();
        let renamed = tokio::time::timeout(limit, second).await;
        renamed
            .expect("the turn of the first one is free")
            .unwrap()
            .unwrap();
        let meter = odm.collection::<atomic::Meter>().get(1).await.unwrap().unwrap();
        assert_eq!((meter.name.as_str(), meter.visits), ("second", 2));
        assert_done(&odm).await;
    });
}

/// Holds a meter, and lets a write meet that.
async fn beside_held<F: Future<Output = odm::Result<()>>>(t: &TestDb, write: F) -> Vec<String> {
    let mut other = held(t, "meters", 1).await;
    t.commands.clear();
    let end = async {
        wait_for(t, "abortTransaction", 3).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let commands = t.commands.take();
        other.abort_transaction().await.unwrap();
        commands
    };
    let (written, mut commands) = tokio::join!(write, end);
    written.unwrap();
    commands.extend(t.commands.take());
    commands
}

#[odm_tests::test]
fn an_auto_write_that_meets_others_again_and_again_is_eventual() {
    with_transactions(async |t| {
        let odm = auto::stocked(&t).await;
        let commands = beside_held(&t, auto::rename(&odm, 1, "changed".to_owned())).await;
        assert_eq!(times(&commands, "commitTransaction"), 0, "{commands:?}");
        let name = |id: i32| {
            let odm = &odm;
            async move {
                odm.collection::<auto::Reading>()
                    .get(id)
                    .await
                    .unwrap()
                    .unwrap()
                    .name
            }
        };
        assert_eq!(name(10_003).await, "changed");
        assert_done(&odm).await;
        // For a moment the next ones don't try a transaction at all: one drains the work of all.
        t.commands.clear();
        let renamed = (0..20).map(|n| auto::rename(&odm, 1, format!("changed {n}")));
        try_join_all(renamed).await.unwrap();
        let commands = t.commands.take();
        assert_eq!(times(&commands, "commitTransaction"), 0, "{commands:?}");
        assert!(commands.len() <= 20 + 20 * 4, "{commands:?}");
        assert_done(&odm).await;
        // At another document they do.
        auto::rename(&odm, 2, "changed".to_owned()).await.unwrap();
        assert_eq!(times(&t.commands.take(), "commitTransaction"), 1);
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        auto::rename(&odm, 1, "at last".to_owned()).await.unwrap();
        assert_eq!(
            times(&t.commands.take(), "commitTransaction"),
            1,
            "the moment is over"
        );
        let commands = beside_held(&t, auto::read(&odm, 5)).await;
        assert_eq!(times(&commands, "commitTransaction"), 0, "{commands:?}");
        assert_eq!(name(5).await, "at last");
        assert_done(&odm).await;
    });
}

#[odm_tests::test]
fn an_atomic_write_stays_a_transaction_however_often_it_meets_others() {
    with_transactions(async |t| {
        let odm = atomic::stocked(&t).await;
        let commands = beside_held(&t, atomic::rename(&odm, 1, "changed".to_owned())).await;
        assert_eq!(times(&commands, "commitTransaction"), 1, "{commands:?}");
        let commands = beside_held(&t, atomic::read(&odm, 5)).await;
        assert_eq!(times(&commands, "commitTransaction"), 1, "{commands:?}");
        assert_done(&odm).await;
    });
}

#[odm_tests::test]
fn a_write_that_meets_a_lock_for_longer_than_its_attempts_ends_as_pending_work() {
    with_transactions(async |t| {
        let odm = auto::stocked(&t).await;
        let mut other = held(&t, "readings", 10_000).await;
        t.commands.clear();
        let write = tokio::spawn({
            let odm = odm.clone();
            async move { auto::rename(&odm, 1, "changed".to_owned()).await }
        });
        let meters = t.db.collection::<Raw>("meters");
        let is_pending = doc! { "_id": 1, "name": "changed", "_odm.pending": { "$exists": true } };
        let is_pending = async || meters.count_documents(is_pending.clone()).await.unwrap() == 1;
        let begun = Instant::now();
        while !is_pending().await {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "{:?}",
                t.commands.take()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // It stays so while the copy is locked.
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(is_pending().await);
        let commands = t.commands.take();
        assert_eq!(times(&commands, "abortTransaction"), 3, "{commands:?}");
        assert_eq!(times(&commands, "commitTransaction"), 0, "{commands:?}");
        other.abort_transaction().await.unwrap();
        write.await.unwrap().unwrap();
        let reading = odm.collection::<auto::Reading>().get(10_000).required();
        assert_eq!(reading.await.unwrap().name, "changed");
        assert_done(&odm).await;
    });
}

mod guarded {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "lamps")]
    pub struct Lamp {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
        #[embed(max = 1)]
        pub marks: Vec<String>,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "rooms")]
    pub struct Room {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference]
        pub lamp: Ref<Lamp>,
        #[denormalize(from = lamp.name)]
        pub lamp_name: String,
    }
}

/// Another client fills the array before each of four attempts, and empties it before the document is read to learn why the
/// attempt has changed nothing. The fifth is the last one.
#[odm_tests::test]
fn a_transaction_that_meets_others_is_none_of_the_attempts_of_a_write() {
    use guarded::*;
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Lamp, Room]).unwrap();
        odm.sync().await.unwrap();
        let lamp = Lamp {
            id: 1,
            name: "new".to_owned(),
            marks: vec![],
        };
        odm.collection::<Lamp>().insert(lamp).await.unwrap();
        let room = NewRoom {
            id: 1,
            lamp: Ref::new(1),
        };
        odm.collection::<Room>().insert(room).await.unwrap();
        let name = t.db.name().to_owned();
        let set = |marks: &'static [&'static str]| {
            let name = name.clone();
            Box::new(move |runtime: &tokio::runtime::Runtime| {
                runtime.block_on(async {
                    let (client, _) = odm_tests::client().await;
                    let lamps = client.database(&name).collection::<Raw>("lamps");
                    let update = doc! { "$set": { "marks": marks.to_vec() } };
                    lamps.update_one(doc! { "_id": 1 }, update).await.unwrap();
                });
            })
        };
        let mut steps: Vec<Step> = Vec::new();
        for _ in 0..4 {
            // Out of a transaction.
            steps.push((
                |name, command| name == "update" && !command.contains_key("autocommit"),
                set(&["full"]),
            ));
            steps.push((|name, _| name == "find", set(&[])));
        }
        let (others, taken) = meddled(&odm, models![Lamp, Room], steps).await;
        others.check_models().await.unwrap();
        let mut other = held(&t, "rooms", 1).await;
        let write = tokio::spawn(async move {
            let update = others.collection::<Lamp>().update(1).set(|l| l.name, "changed");
            update.push(|l| l.marks, "one").await
        });
        let begun = Instant::now();
        while taken.load(Ordering::SeqCst) < 8 && !write.is_finished() {
            assert!(begun.elapsed() < Duration::from_secs(20));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        other.abort_transaction().await.unwrap();
        write.await.unwrap().unwrap();
        assert_eq!(taken.load(Ordering::SeqCst), 8);
        let lamp = odm.collection::<Lamp>().get(1).required().await.unwrap();
        assert_eq!((lamp.name.as_str(), lamp.marks.len()), ("changed", 1));
        assert_done(&odm).await;
    });
}
