//! A reading that is interrupted: a connection that is lost, a right that is missing, a process that is killed.

use mongodb::Client;
use mongodb::bson::{Document, doc};
use odm_introspect::design::Collection;
use odm_introspect::read::{ReadOptions, Source};
use odm_tests::proxy::{Fate, Proxy, server};
use odm_tests::{TestDb, uri, with_db};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The environment variables of a process that a test starts: its database, the file of its state, and that of its result.
pub const DATABASE: &str = "ODM_INTROSPECT_DATABASE";
const STATE: &str = "ODM_INTROSPECT_STATE";
const RESULT: &str = "ODM_INTROSPECT_RESULT";

fn everything() -> ReadOptions {
    ReadOptions {
        sample: None,
        ..ReadOptions::default()
    }
}

async fn fill(t: &TestDb, number: i32) {
    let orders = t.db.collection::<Document>("orders");
    let documents = (0..number).map(|n| {
        let status = ["new", "paid", "sent"][(n % 3) as usize];
        let mut order = doc! {
            "_id": n,
            "customer": n % 500,
            "total": f64::from(n) / 7.0,
            "status": status,
            "lines": (0..n % 5).map(|line| doc! { "sku": format!("SKU-{}", (n + line) % 900), "price": line }).collect::<Vec<_>>(),
            "stock": { format!("place-{}", n % 2_000): n },
        };
        if n % 4 == 0 {
            order.insert("note", format!("note {n}"));
        }
        order
    });
    orders.insert_many(documents).await.unwrap();
    let customers = (0..500).map(|n| doc! { "_id": n, "name": format!("Customer {n}") });
    t.db.collection::<Document>("customers")
        .insert_many(customers)
        .await
        .unwrap();
}

async fn collection(source: &Source, name: &str) -> Collection {
    let collections = source.collections().await.unwrap();
    collections.into_iter().find(|of| of.name == name).unwrap()
}

/// A source by way of a proxy.
async fn through(t: &TestDb) -> (Proxy, Source) {
    let proxy = Proxy::start(&server().await, 0).await;
    let client = Client::with_options(proxy.options().await).unwrap();
    let source = Source::new(&client.database(t.db.name()), everything());
    proxy.arm();
    (proxy, source)
}

#[odm_tests::test]
fn a_pass_goes_on_after_its_connection_or_its_cursor_was_lost() {
    with_db(async |t| {
        fill(&t, 9_000).await;
        let (proxy, source) = through(&t).await;
        let orders = collection(&source, "orders").await;
        let gone =
            doc! { "ok": 0.0, "code": 43, "codeName": "CursorNotFound", "errmsg": "cursor id 1 not found" };
        for fate in [Fate::Lost, Fate::Unanswered, Fate::Answered(gone)] {
            proxy.next("getMore", 1, fate.clone());
            let mut next = 0;
            let read = source
                .pass(&orders, &mut |document| {
                    assert_eq!(document.get_i32("_id").unwrap(), next, "{fate:?}");
                    next += 1;
                })
                .await
                .unwrap();
            assert_eq!(read, 9_000, "{fate:?}");
            assert!(proxy.is_done(), "{fate:?}");
        }
        let refused = doc! { "ok": 0.0, "code": 13, "codeName": "Unauthorized", "errmsg": "not authorized" };
        proxy.next("find", 1, Fate::Answered(refused));
        let error = source.pass(&orders, &mut |_| {}).await.unwrap_err().to_string();
        assert!(
            error.contains("`orders` can't be read to its end (0 of some 9000 documents were)"),
            "{error}"
        );
        assert!(error.contains("the role `read`"), "{error}");
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn what_the_user_may_not_see_is_a_note() {
    with_db(async |t| {
        fill(&t, 10).await;
        let (proxy, source) = through(&t).await;
        let refused = || {
            Fate::Answered(
                doc! { "ok": 0.0, "code": 13, "codeName": "Unauthorized", "errmsg": "not authorized" },
            )
        };
        proxy.next("listCollections", 1, refused());
        proxy.next("aggregate", 1, refused());
        proxy.next("count", 1, refused());
        let collections = source.collections().await.unwrap();
        let names: Vec<_> = collections.iter().map(|of| of.name.as_str()).collect();
        assert_eq!(names, ["customers", "orders"]);
        let notes = source.notes();
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert!(notes[0].contains("`listCollections`"), "{notes:?}");
        assert!(notes[1].contains("documents can't be counted"), "{notes:?}");
        assert!(notes[2].contains("`$indexStats`"), "{notes:?}");
        proxy.bury().await;
    });
}

/// The work of a process that a test has started: it reads the database, and writes the design into a file.
pub fn process(database: &str) -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let of = |name: &str| PathBuf::from(std::env::var_os(name).unwrap());
        let client = Client::with_uri_str(uri()).await.unwrap();
        let options = ReadOptions {
            state: Some(of(STATE)),
            every: Duration::ZERO,
            ..everything()
        };
        let source = Source::new(&client.database(database), options);
        let design = odm_introspect::introspect(&source).await.unwrap();
        std::fs::write(of(RESULT), serde_json::to_vec_pretty(&design).unwrap()).unwrap();
    });
    ExitCode::SUCCESS
}

/// A process, which ends with this.
struct Process(Child);

impl Process {
    fn start(t: &TestDb, folder: &Path, result: &str) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .env(DATABASE, t.db.name())
            .env(STATE, folder.join("state"))
            .env(RESULT, folder.join(result))
            .stdout(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[odm_tests::test]
fn a_reading_that_is_killed_goes_on_and_comes_to_the_same_design() {
    with_db(async |t| {
        fill(&t, 20_000).await;
        let folder = tempfile::tempdir().unwrap();
        let part = folder.path().join("state.part");
        let mut kills = 0;
        let begun = Instant::now();
        loop {
            let before = std::fs::metadata(&part).and_then(|part| part.modified()).ok();
            let mut process = Process::start(&t, folder.path(), "resumed");
            // Three times it is killed, each time after it has come further.
            let ended = loop {
                if let Some(status) = process.0.try_wait().unwrap() {
                    break Some(status);
                }
                let now = std::fs::metadata(&part).and_then(|part| part.modified()).ok();
                if kills < 3 && now.is_some() && now != before {
                    process.0.kill().unwrap();
                    process.0.wait().unwrap();
                    break None;
                }
                assert!(begun.elapsed() < Duration::from_secs(120), "it takes too long");
                tokio::time::sleep(Duration::from_millis(2)).await;
            };
            match ended {
                Some(status) => {
                    assert!(status.success());
                    break;
                }
                None => kills += 1,
            }
        }
        assert_eq!(kills, 3, "it ended before it was killed");
        let left: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["resumed"], "a reading that has ended leaves no state");
        let mut process = Process::start(&t, folder.path(), "whole");
        assert!(process.0.wait().unwrap().success());
        // How often an index was used is counted by the server.
        let read = |name: &str| -> String {
            let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
            let lines = text.lines().filter(|line| !line.contains("\"used\""));
            lines.collect::<Vec<_>>().join("\n")
        };
        let (resumed, whole) = (read("resumed"), read("whole"));
        let differ = resumed.lines().zip(whole.lines()).find(|(a, b)| a != b);
        assert!(resumed == whole, "{differ:?}");
        assert!(whole.contains("\"read\": 20000"));
    });
}
