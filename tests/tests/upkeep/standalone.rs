//! A standalone server, which has no transactions: what `sync` and `plan` say of it, and what a crash between the two statements of
//! a link, or of the move of a child, leaves for an audit and a repair.

use odm::bson::{Document as Doc, doc};
use odm::prelude::*;
use odm_tests::fixtures::edges::through;
use odm_tests::proxy::{Proxy, server};
use odm_tests::{TestDb, assert_clean, with_db};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "hosts", version)]
pub struct Host {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[computed(count = Message)]
    pub messages: i64,
    #[reference(many, inverse = hosts, max = 3)]
    pub admins: Vec<Ref<Admin>>,
    pub version: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "admins")]
pub struct Admin {
    #[serde(rename = "_id")]
    pub id: i32,
    #[reference(many, inverse = admins, max = 3)]
    pub hosts: Vec<Ref<Host>>,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "messages")]
pub struct Message {
    #[serde(rename = "_id")]
    pub id: i32,
    #[parent_ref(on_delete = cascade)]
    pub host: Ref<Host>,
    #[denormalize(from = host.name)]
    pub host_name: String,
}

fn models() -> [odm::Model; 3] {
    models![Host, Admin, Message]
}

fn host(id: i32) -> NewHost {
    NewHost {
        id,
        name: format!("host {id}"),
        admins: Vec::new(),
    }
}

/// Two hosts, of which the first has three messages and an admin.
async fn stocked(odm: &Odm) {
    for name in ["hosts", "admins", "messages"] {
        let all = odm.database().collection::<Doc>(name);
        all.delete_many(doc! {}).await.unwrap();
    }
    odm.collection::<Host>()
        .insert_many([host(1), host(2)])
        .await
        .unwrap();
    let admin = |id, hosts: &[i32]| NewAdmin {
        id,
        hosts: hosts.iter().copied().map(Ref::new).collect(),
    };
    let admins = [admin(1, &[1]), admin(2, &[])];
    odm.collection::<Admin>().insert_many(admins).await.unwrap();
    let message = |id| NewMessage {
        id,
        host: Ref::new(1),
    };
    let messages = odm.collection::<Message>();
    messages.insert_many((1..=3).map(message)).await.unwrap();
}

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What `sync` of this handle warns of.
async fn warned(odm: &Odm) -> String {
    let captured = Captured::default();
    let writer = captured.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    odm.sync().await.unwrap();
    String::from_utf8(std::mem::take(&mut *captured.0.lock().unwrap())).unwrap()
}

#[odm_tests::test]
fn sync_warns_once_and_plan_says_the_same() {
    with_db(async |t| {
        let odm = Odm::new(t.standalone().await, models()).unwrap();
        let log = warned(&odm).await;
        for part in ["mongod --replSet rs0", "rs.initiate()"] {
            assert_eq!(log.matches(part).count(), 1, "{log}");
        }
        let plan = odm.plan().await.unwrap();
        let warning = plan.warning().expect("a warning");
        assert!(log.contains(warning), "{log}");
        assert!(
            plan.to_string().ends_with(&format!("warning: {warning}")),
            "{plan}"
        );
    });
}

#[odm_tests::test]
fn nothing_is_said_where_there_are_transactions() {
    odm_tests::with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models()).unwrap();
        assert_eq!(warned(&odm).await, "");
        assert_eq!(odm.plan().await.unwrap().warning(), None);
    });
}

/// The writes that are two statements, and those that are one with pending work.
async fn work(odm: Odm, what: &'static str) -> odm::Result<()> {
    let (hosts, admins) = (odm.collection::<Host>(), odm.collection::<Admin>());
    let messages = odm.collection::<Message>();
    match what {
        "link" => hosts.update(2).push(|h| h.admins, Ref::new(1)).await.map(drop),
        "link from the other side" => admins.update(2).push(|a| a.hosts, Ref::new(1)).await.map(drop),
        "unlink" => hosts.update(1).pull(|h| h.admins, Ref::new(1)).await.map(drop),
        "insert what is linked" => {
            let linked = NewHost {
                admins: vec![Ref::new(1), Ref::new(2)],
                ..host(3)
            };
            hosts.insert(linked).await.map(drop)
        }
        "delete what is linked" => admins.delete(1).await.map(drop),
        "move" => messages.update(1).set(|m| m.host, Ref::new(2)).await.map(drop),
        "move many" => {
            let all = messages.update_where(|m| m.id.lte(2));
            all.set(|m| m.host, Ref::new(2)).await.map(drop)
        }
        "copy" => hosts.update(1).set(|h| h.name, "renamed").await.map(drop),
        "delete a child" => messages.delete(1).await.map(drop),
        "delete a parent" => hosts.delete(1).await.map(drop),
        other => panic!("{other}"),
    }
}

const WORKS: [&str; 10] = [
    "link",
    "link from the other side",
    "unlink",
    "insert what is linked",
    "delete what is linked",
    "move",
    "move many",
    "copy",
    "delete a child",
    "delete a parent",
];

async fn pending(t: &TestDb) -> u64 {
    let mut all = 0;
    for name in ["hosts", "admins", "messages"] {
        let pending = doc! { "_odm.pending": { "$exists": true } };
        all +=
            t.db.collection::<Doc>(name)
                .count_documents(pending)
                .await
                .unwrap();
    }
    all
}

#[odm_tests::test]
fn the_effect_of_a_crash_between_two_statements_is_found_and_repaired() {
    with_db(async |t| {
        let other = Odm::new(t.standalone().await, models()).unwrap();
        other.sync().await.unwrap();
        let (mut by_audit, mut by_recovery) = (0, 0);
        for what in WORKS {
            // With 0 it is not cut.
            for at in 0.. {
                stocked(&other).await;
                let proxy = Proxy::standalone(&server().await, at).await;
                let odm = Odm::new(through(&proxy, t.db.name()).await, models()).unwrap();
                assert!(!odm.server().await.unwrap().has_transactions());
                odm.check_models().await.unwrap();
                proxy.arm();
                let mut process = tokio::spawn(work(odm, what));
                let ended = tokio::select! {
                    ended = &mut process => Some(ended.unwrap()),
                    () = proxy.cut() => {
                        process.abort();
                        None
                    }
                    () = tokio::time::sleep(Duration::from_secs(20)) => panic!("{what}, cut {at}: it hangs"),
                };
                let cut = proxy.is_cut();
                proxy.bury().await;
                if !cut {
                    ended.expect("it has ended").unwrap();
                    assert_clean(&other).await;
                    assert_eq!(pending(&t).await, 0, "{what}");
                    if at > 0 {
                        assert!(at > 1, "{what} is several commands");
                        break;
                    }
                    continue;
                }
                by_recovery += other.recover().await.unwrap().documents;
                assert_eq!(pending(&t).await, 0, "{what}, cut {at}");
                let found = !other.audit().await.unwrap().is_clean();
                by_audit += u32::from(found);
                let repaired = other.repair_all().await.unwrap();
                assert_eq!(repaired.repaired > 0, found, "{what}, cut {at}: {repaired}");
                assert!(repaired.left.is_clean(), "{what}, cut {at}: {repaired}");
                assert_clean(&other).await;
            }
        }
        assert!(by_audit >= 4, "an audit has found {by_audit}");
        assert!(by_recovery >= 4, "a recovery has found {by_recovery}");
    });
}
