//! How transactions end whose futures are dropped, and how a program ends.

use odm::bson::doc;
use odm::prelude::*;
use odm_tests::fixtures::edges::through;
use odm_tests::fixtures::operations::TENANTS;
use odm_tests::fixtures::operations::plain::{self, Customer, Note, Order};
use odm_tests::proxy::{Fate, Moment, Proxy, server};
use odm_tests::{TestDb, with_db, with_transactions};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The documents of a tenant, and a process at them whose connections go through a proxy.
struct Process {
    direct: Odm,
    odm: Odm,
    proxy: Arc<Proxy>,
}

impl Process {
    async fn new(t: &TestDb) -> Process {
        let direct = Odm::new(t.db.clone(), (plain::SET.models)()).unwrap();
        direct.sync().await.unwrap();
        (plain::SET.fill)(direct.clone(), TENANTS[0]).await;
        let proxy = Proxy::start(&server().await, 0).await;
        let odm = Odm::new(through(&proxy, t.db.name()).await, (plain::SET.models)()).unwrap();
        odm.check_models().await.unwrap();
        proxy.arm();
        Process {
            direct,
            odm,
            proxy: proxy.into(),
        }
    }

    /// Drops `work` while its n-th command is held.
    async fn dropped<T>(&self, (at, moment): (usize, Moment), work: impl Future<Output = T>) {
        self.proxy.hold(at, moment);
        tokio::select! {
            biased;
            () = self.proxy.reached() => {}
            _ = work => panic!("it ends before: {:?}", self.proxy.names()),
        }
    }

    /// Waits until every transaction has ended.
    async fn quiet(&self) {
        let begun = Instant::now();
        while !self.proxy.is_quiet() {
            assert!(
                begun.elapsed() < Duration::from_secs(5),
                "{:?}",
                self.proxy.names()
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Changes a value that an order has a copy of.
    async fn rename(odm: Odm, slug: &'static str) -> odm::Result<()> {
        odm.collection::<Customer>()
            .update(1)
            .set(|c| c.slug, slug)
            .await
            .map(drop)
    }

    /// The name of the customer, and the copy of an order.
    async fn names(&self) -> (String, String) {
        let customer = self.direct.collection::<Customer>().get(1).required().await;
        let order = self.direct.collection::<Order>().get(1).required().await;
        (customer.unwrap().slug, order.unwrap().customer_slug)
    }
}

#[odm_tests::test]
fn a_timeout_around_an_update_with_copies_leaves_nothing_to_the_next_one() {
    with_transactions(async |t| {
        let process = Process::new(&t).await;
        process.proxy.hold(1, Moment::BeforeReply);
        let renamed = Process::rename(process.odm.clone(), "first");
        let renamed = tokio::time::timeout(Duration::from_millis(200), renamed).await;
        assert!(renamed.is_err(), "its first reply is outstanding");
        // It waits for its turn, which the transaction has until it is rolled back.
        let next = tokio::spawn(Process::rename(process.odm.clone(), "second"));
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(process.proxy.names().len(), 1, "{:?}", process.proxy.names());
        process.proxy.release();
        next.await.unwrap().unwrap();
        let sent = process.proxy.take_names();
        assert_eq!(sent[1], "abortTransaction", "{sent:?}");
        assert_eq!(sent.iter().filter(|name| *name == "abortTransaction").count(), 1);
        assert_eq!(process.proxy.take_conflicts(), 0);
        assert_eq!(process.names().await, ("second".to_owned(), "second".to_owned()));
    });
}

#[odm_tests::test]
fn what_still_holds_a_dropped_transaction_sends_nothing() {
    with_transactions(async |t| {
        let process = Process::new(&t).await;
        let (given, taken) = tokio::sync::oneshot::channel();
        let given = std::sync::Mutex::new(Some(given));
        let work = process.odm.transaction(async |tx| {
            tx.collection::<Note>().update(1).inc(|n| n.cents, 1).await?;
            let _ = given.lock().unwrap().take().unwrap().send(tx.clone());
            tx.collection::<Note>().update(2).inc(|n| n.cents, 1).await
        });
        process.dropped((2, Moment::BeforeReply), work).await;
        let tx = taken.await.unwrap();
        let late = tokio::spawn(
            tx.collection::<Note>()
                .update(3)
                .inc(|n| n.cents, 1)
                .into_future(),
        );
        let read = tokio::spawn(tx.collection::<Note>().find_all().all().into_future());
        let session = tokio::spawn(async move { tx.session().await.map(drop) });
        tokio::time::sleep(Duration::from_millis(20)).await;
        process.proxy.release();
        for error in [
            late.await.unwrap().unwrap_err(),
            read.await.unwrap().unwrap_err(),
            session.await.unwrap().unwrap_err(),
        ] {
            assert!(matches!(error, odm::Error::Application(_)), "{error:?}");
            assert!(error.to_string().contains("its future was dropped"), "{error}");
        }
        process.quiet().await;
        assert_eq!(process.proxy.names(), ["update", "update", "abortTransaction"]);
    });
}

#[odm_tests::test]
fn a_transaction_that_only_the_driver_has_begun_is_rolled_back() {
    with_transactions(async |t| {
        let process = Process::new(&t).await;
        let work = process.odm.transaction(async |tx| {
            let notes = tx.collection::<Note>().driver::<odm::bson::Document>();
            let mut session = tx.session().await?;
            let update = notes.update_one(doc! { "_id": 1 }, doc! { "$inc": { "cents": 1 } });
            update.session(&mut *session).await?;
            Ok(())
        });
        process.dropped((2, Moment::BeforeReply), work).await;
        process.proxy.release();
        process.quiet().await;
        assert_eq!(
            process.proxy.names().last().map(String::as_str),
            Some("abortTransaction")
        );
        let note = process.direct.collection::<Note>().get(1).required();
        assert_eq!(note.await.unwrap().cents, 1);
    });
}

#[odm_tests::test]
fn a_transaction_whose_first_command_of_the_driver_was_dropped_ends_on_the_server() {
    with_transactions(async |t| {
        let process = Process::new(&t).await;
        for (commits, end) in [(true, "commitTransaction"), (false, "abortTransaction")] {
            let outcome = process.odm.transaction(async |tx| {
                let notes = tx.collection::<Note>().driver::<odm::bson::Document>();
                let mut session = tx.session().await?;
                let update = notes.update_one(doc! { "_id": 1 }, doc! { "$inc": { "cents": 1 } });
                let update = async { update.session(&mut *session).await };
                process.dropped((1, Moment::BeforeReply), update).await;
                process.proxy.release();
                if commits {
                    Ok(())
                } else {
                    Err(odm::Error::application("enough"))
                }
            });
            assert_eq!(outcome.await.is_ok(), commits);
            process.quiet().await;
            assert_eq!(process.proxy.take_names().last().map(String::as_str), Some(end));
            let next = process.odm.collection::<Note>().update(1).inc(|n| n.cents, 1);
            next.await.unwrap();
            assert_eq!(process.proxy.take_conflicts(), 0);
            process.proxy.take_names();
        }
    });
}

#[odm_tests::test]
fn a_commit_that_was_sent_is_sent_until_its_result_is_known() {
    with_transactions(async |t| {
        let process = Process::new(&t).await;
        Process::rename(process.odm.clone(), "before").await.unwrap();
        let commit = process.proxy.take_names();
        let commit = commit.iter().position(|name| name == "commitTransaction");
        let commit = commit.unwrap() + 1;
        // The driver sends it twice by itself.
        process.proxy.next("commitTransaction", 2, Fate::Unanswered);
        let work = Process::rename(process.odm.clone(), "after");
        process.dropped((commit, Moment::BeforeSending), work).await;
        process.proxy.release();
        let begun = Instant::now();
        while process.proxy.names().len() < commit + 2 || !process.proxy.is_quiet() {
            assert!(
                begun.elapsed() < Duration::from_secs(5),
                "{:?}",
                process.proxy.names()
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(process.names().await, ("after".to_owned(), "after".to_owned()));
        let sent = process.proxy.names();
        assert_eq!(sent[commit - 1..], ["commitTransaction"; 3], "{sent:?}");
    });
}

#[odm_tests::test]
fn a_shutdown_waits_for_what_is_open() {
    with_transactions(async |t| {
        let process = Process::new(&t).await;
        let kept = process.odm.clone();
        let worker = process.odm.worker(Duration::from_secs(60));
        let reconciler = process.odm.reconciler().start().await.unwrap();
        reconciler.caught_up().await.unwrap();
        // The worker sleeps.
        tokio::time::sleep(Duration::from_millis(200)).await;
        process.proxy.take_names();
        let work = Process::rename(process.odm.clone(), "dropped");
        process.dropped((1, Moment::BeforeReply), work).await;
        let shutdown = tokio::spawn(process.odm.clone().shutdown());
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!shutdown.is_finished());
        process.proxy.release();
        tokio::time::timeout(Duration::from_secs(10), shutdown)
            .await
            .expect("the shutdown ends")
            .unwrap();
        let sent = process.proxy.names();
        assert!(sent.contains(&"abortTransaction".to_owned()), "{sent:?}");
        // The proxy counts a reply after the client has it.
        let is_quiet = async {
            while !process.proxy.is_quiet() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), is_quiet)
            .await
            .expect("nothing is on its way");
        let (customer, copy) = process.names().await;
        assert_eq!(customer, copy);
        assert_ne!(customer, "dropped");
        let failed = Process::rename(kept, "late").await.unwrap_err();
        assert!(failed.to_string().contains("shut down"), "{failed}");
        assert!(reconciler.caught_up().await.is_err());
        worker.stop().await;
    });
}

#[odm_tests::test]
fn a_shutdown_within_a_transaction_follows_its_end() {
    with_transactions(async |t| {
        let process = Process::new(&t).await;
        let odm = process.odm.clone();
        let work = odm.transaction(async |tx| {
            tx.collection::<Note>().update(1).inc(|n| n.cents, 1).await?;
            odm.clone().shutdown().await;
            tx.collection::<Note>().update(2).inc(|n| n.cents, 1).await
        });
        let done = tokio::time::timeout(Duration::from_secs(10), work).await;
        done.expect("it does not wait for itself").unwrap();
        let names = process.proxy.take_names();
        assert_eq!(names, ["update", "update", "commitTransaction"]);
        let begun = Instant::now();
        while odm.collection::<Note>().get(1).await.is_ok() {
            assert!(
                begun.elapsed() < Duration::from_secs(5),
                "the client is not shut down"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
}

/// A program with several clients, which reads and ends: the driver ends the sessions of each in a task, while the runtime ends.
fn program(uri: &str, name: &str, shuts_down: bool) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut all = Vec::new();
        for _ in 0..CLIENTS {
            let client = odm::mongodb::Client::with_uri_str(uri).await.unwrap();
            let odm = Odm::new(client.database(name), models![Note]).unwrap();
            odm.collection::<Note>().find_all().count().await.unwrap();
            all.push(odm);
        }
        if shuts_down {
            futures::future::join_all(all.into_iter().map(Odm::shutdown)).await;
        }
    });
}

const PROGRAMS: usize = 10;
const CLIENTS: usize = 16;

#[odm_tests::test]
fn a_short_program_that_shuts_down_ends_without_panics() {
    with_db(async |t| {
        let panics = Arc::new(AtomicUsize::new(0));
        let before = std::panic::take_hook();
        let (counted, others) = (panics.clone(), Arc::new(before));
        let of_others = others.clone();
        std::panic::set_hook(Box::new(move |info| {
            let of_driver = |at: &std::panic::Location<'_>| at.file().contains("mongodb-");
            if info.location().is_some_and(of_driver) || info.to_string().contains("being shutdown") {
                counted.fetch_add(1, Ordering::SeqCst);
            } else {
                of_others(info);
            }
        }));
        let (uri, name) = (odm_tests::uri(), t.db.name().to_owned());
        let count = move |shuts_down| {
            panics.store(0, Ordering::SeqCst);
            for _ in 0..PROGRAMS {
                program(&uri, &name, shuts_down);
            }
            panics.load(Ordering::SeqCst)
        };
        let [without, with] = tokio::task::spawn_blocking(move || [count(false), count(true)])
            .await
            .unwrap();
        std::panic::set_hook(Box::new(move |info| others(info)));
        println!("{PROGRAMS} programs: {without} panics without a shutdown, {with} with one");
        assert_eq!(with, 0);
    });
}
