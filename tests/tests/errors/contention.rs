//! `Error::Contention` says that another client changed the same documents at the same time. Each way to it has a test here in which
//! another client does, and operations without another client have other errors.

use odm::bson::{Document as Doc, doc};
use odm::mongodb::Client;
use odm::mongodb::event::EventHandler;
use odm::mongodb::event::command::CommandEvent;
use odm::prelude::*;
use odm::{Error, Model};
use odm_tests::proxy::{Fate, Proxy, server};
use odm_tests::{TestDb, with_db, with_transactions};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

/// What another client does for the n-th time: a condition and an update of a collection, which inserts where none matches.
type Edit = (&'static str, fn(i32) -> (Doc, Doc));

/// A client beside which another one changes documents: `before` each command of this name on a collection, and `after` it.
async fn disturbed(
    t: &TestDb,
    standalone: bool,
    models: impl IntoIterator<Item = Model>,
    (commands, collection): (&'static [&'static str], &'static str),
    before: Edit,
    after: Edit,
) -> Odm {
    let (jobs, received) = sync_channel::<(bool, SyncSender<()>)>(0);
    let name = t.db.name().to_owned();
    let other = odm_tests::options(standalone).await;
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let db = Client::with_options(other).unwrap().database(&name);
            let mut n = 0;
            while let Ok((is_before, done)) = received.recv() {
                n += 1;
                let (collection, edit) = if is_before { before } else { after };
                let (filter, update) = edit(n);
                let collection = db.collection::<Doc>(collection);
                let edited = collection.update_many(filter, update).upsert(true);
                edited.bypass_document_validation(true).await.unwrap();
                done.send(()).unwrap();
            }
        });
    });
    let open: Arc<Mutex<Vec<i32>>> = Arc::default();
    let mut options = odm_tests::options(standalone).await;
    options.command_event_handler = Some(EventHandler::callback(move |event| {
        let is_before = match &event {
            CommandEvent::Started(started) => {
                let of = started.command.get_str(&started.command_name);
                let is_asked =
                    commands.contains(&started.command_name.as_str()) && of.is_ok_and(|of| of == collection);
                if is_asked {
                    open.lock().unwrap().push(started.request_id);
                }
                is_asked.then_some(true)
            }
            CommandEvent::Succeeded(ended) => {
                let mut open = open.lock().unwrap();
                let at = open.iter().position(|id| *id == ended.request_id);
                at.map(|at| open.remove(at)).map(|_| false)
            }
            _ => None,
        };
        if let Some(is_before) = is_before {
            let (done, ended) = sync_channel(0);
            jobs.send((is_before, done)).unwrap();
            ended.recv().unwrap();
        }
    }));
    let db = Client::with_options(options).unwrap().database(t.db.name());
    Odm::new(db, models).unwrap()
}

fn is_contention<T: std::fmt::Debug>(done: odm::Result<T>, words: &str) {
    let Err(error @ Error::Contention { .. }) = done else {
        panic!("{done:?}");
    };
    assert!(error.is_transient());
    assert!(error.to_string().contains(words), "{error}");
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "jars")]
struct Jar {
    id: i32,
    #[field(max_len = 10)]
    state: String,
    #[field(max = 10)]
    coins: i32,
    big: i64,
    #[field(default)]
    ratio: f64,
}

fn jar(id: i32, coins: i32) -> Jar {
    Jar {
        id,
        state: "new".into(),
        coins,
        big: 1,
        ratio: 0.0,
    }
}

#[odm_tests::test]
fn an_update_that_is_held_back_by_another_client_each_time() {
    with_db(async |t| {
        let full: Edit = ("jars", |_| (doc! { "_id": 1 }, doc! { "$set": { "coins": 10 } }));
        let free: Edit = ("jars", |_| (doc! { "_id": 1 }, doc! { "$set": { "coins": 1 } }));
        let odm = disturbed(&t, false, models![Jar], (&["update"], "jars"), full, free).await;
        let jars = odm.collection::<Jar>();
        jars.insert(jar(1, 1)).await.unwrap();
        let done = jars.update(1).inc(|j| j.coins, 1).await;
        is_contention(done, "_id 1 changed during each of 5 attempts");
    });
}

#[odm_tests::test]
fn the_first_document_that_another_client_takes_each_time() {
    with_db(async |t| {
        let taken: Edit = ("jars", |_| {
            (doc! { "_id": 1 }, doc! { "$set": { "state": "old" } })
        });
        let free: Edit = ("jars", |_| {
            (doc! { "_id": 1 }, doc! { "$set": { "state": "new" } })
        });
        let odm = disturbed(&t, false, models![Jar], (&["update"], "jars"), taken, free).await;
        let jars = odm.collection::<Jar>();
        jars.insert(jar(1, 1)).await.unwrap();
        // A bound concerns the change, so the document is found first and written by its id.
        let done = jars.update_first(|j| j.state.eq("new")).inc(|j| j.coins, 1).await;
        is_contention(done, "changed by another client");
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "boxes", soft_delete)]
struct Case {
    id: i32,
    #[field(max_len = 10)]
    state: String,
    deleted_at: Option<odm::bson::DateTime>,
}

#[odm_tests::test]
fn the_first_document_that_another_client_takes_from_a_deletion() {
    with_db(async |t| {
        let taken: Edit = ("boxes", |_| {
            (doc! { "_id": 1 }, doc! { "$set": { "state": "old" } })
        });
        let free: Edit = ("boxes", |_| {
            (doc! { "_id": 1 }, doc! { "$set": { "state": "new" } })
        });
        let odm = disturbed(&t, false, models![Case], (&["update"], "boxes"), taken, free).await;
        let cases = odm.collection::<Case>();
        cases.insert(case(1, "new")).await.unwrap();
        let done = cases.delete_first(|c| c.state.eq("new")).await;
        is_contention(done, "changed by another client");
    });
}

fn case(id: i32, state: &str) -> NewCase {
    NewCase {
        id,
        state: state.into(),
    }
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "letters", version)]
struct Letter {
    id: i32,
    text: String,
    version: i64,
}

#[odm_tests::test]
fn a_replaced_document_that_another_client_writes_each_time() {
    with_db(async |t| {
        let other: Edit = ("letters", |_| {
            (doc! { "_id": 1 }, doc! { "$set": { "version": 2_i64 } })
        });
        let same: Edit = ("letters", |_| {
            (doc! { "_id": 1 }, doc! { "$set": { "version": 1_i64 } })
        });
        let commands = &["update", "findAndModify"];
        let odm = disturbed(&t, false, models![Letter], (commands, "letters"), other, same).await;
        let letters = odm.collection::<Letter>();
        let new = NewLetter {
            id: 1,
            text: "a".into(),
        };
        let letter = letters.insert(new).await.unwrap();
        let done = letters.replace(Letter {
            text: "b".into(),
            ..letter
        });
        is_contention(done.await, "_id 1 changed during each of 5 attempts");
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "owners")]
struct Owner {
    id: i32,
    #[computed(count = Pet)]
    count: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "pets")]
struct Pet {
    id: i32,
    #[parent_ref(on_delete = cascade)]
    owner: Ref<Owner>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "pilots")]
struct Pilot {
    id: i32,
    #[reference(inverse = pilot)]
    plane: Option<Ref<Plane>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "planes")]
struct Plane {
    id: i32,
    #[reference(inverse = plane)]
    pilot: Option<Ref<Pilot>>,
}

/// Without transactions a document with links is deleted only as it was read.
#[odm_tests::test]
fn a_document_that_another_client_changes_before_each_deletion() {
    with_db(async |t| {
        let touched: Edit = ("planes", |n| {
            (doc! { "_id": 1 }, doc! { "$set": { "touched": n } })
        });
        let models = models![Pilot, Plane];
        let odm = disturbed(&t, true, models, (&["delete"], "planes"), touched, touched).await;
        let (pilots, planes) = (odm.collection::<Pilot>(), odm.collection::<Plane>());
        pilots.insert(NewPilot { id: 1, plane: None }).await.unwrap();
        let plane = NewPlane {
            id: 1,
            pilot: Some(Ref::new(1)),
        };
        planes.insert(plane).await.unwrap();
        is_contention(planes.delete(1).await, "changed during each of");
    });
}

/// Without transactions a derived field is written only where no other writer has derived it since.
#[odm_tests::test]
fn a_count_that_another_client_writes_each_time() {
    with_db(async |t| {
        let written: Edit = ("owners", |n| {
            (
                doc! { "_id": 1 },
                doc! { "$set": { "_odm.revision": i64::from(n) * 1_000 } },
            )
        });
        let models = models![Owner, Pet];
        let odm = disturbed(&t, true, models, (&["update"], "owners"), written, written).await;
        let (owners, pets) = (odm.collection::<Owner>(), odm.collection::<Pet>());
        owners.insert(NewOwner { id: 1 }).await.unwrap();
        t.db.collection::<Doc>("pets")
            .insert_one(doc! { "_id": 1, "owner": 1 })
            .await
            .unwrap();
        is_contention(
            pets.delete(1).await,
            "in the document with `_id` 1 during each of 200 attempts",
        );
    });
}

/// Without transactions the other side of a link is looked at after it was written.
#[odm_tests::test]
fn the_other_side_of_a_link_that_another_client_takes() {
    with_db(async |t| {
        let taken: Edit = ("planes", |_| (doc! { "_id": 1 }, doc! { "$set": { "pilot": 2 } }));
        let models = models![Pilot, Plane];
        let odm = disturbed(&t, true, models, (&["update"], "planes"), taken, taken).await;
        let (pilots, planes) = (odm.collection::<Pilot>(), odm.collection::<Plane>());
        planes.insert(NewPlane { id: 1, pilot: None }).await.unwrap();
        let pilot = NewPilot {
            id: 1,
            plane: Some(Ref::new(1)),
        };
        match pilots.insert(pilot).await.unwrap_err() {
            Error::Unfinished { source, .. } => {
                is_contention::<()>(Err(*source), "was changed by another writer")
            }
            error => panic!("{error:?}"),
        }
    });
}

#[derive(Embed, Clone, Debug, PartialEq)]
#[bucket(of = Owner, size = 2)]
struct Entry {
    cents: i32,
}

#[odm_tests::test]
fn a_bucket_that_other_clients_make_before_each_push() {
    with_db(async |t| {
        let full: Edit = ("entry_buckets", |n| {
            let full =
                doc! { "count": 2, "room": 0, "version": 1_i64, "items": [{ "cents": 1 }, { "cents": 2 }] };
            (
                doc! { "owner": 1, "page": (n + 1) / 2 },
                doc! { "$setOnInsert": full },
            )
        });
        let nothing: Edit = ("others", |_| (doc! { "_id": 1 }, doc! { "$set": { "a": 1 } }));
        let models = models![Owner, Pet, EntryBucket];
        let odm = disturbed(&t, false, models, (&["insert"], "entry_buckets"), full, nothing).await;
        odm.sync().await.unwrap();
        odm.collection::<Owner>()
            .insert(NewOwner { id: 1 })
            .await
            .unwrap();
        let entries = odm.buckets::<Entry>();
        is_contention(
            entries.push(1, Entry { cents: 1 }).await,
            "other writers filled the newest bucket",
        );
    });
}

#[odm_tests::test]
fn a_bucket_that_another_client_changes_before_each_change_of_its_items() {
    with_db(async |t| {
        let written: Edit = ("entry_buckets", |n| {
            (
                doc! { "owner": 1 },
                doc! { "$set": { "version": 100 + i64::from(n) } },
            )
        });
        let models = models![Owner, Pet, EntryBucket];
        let odm = disturbed(
            &t,
            false,
            models,
            (&["update"], "entry_buckets"),
            written,
            written,
        )
        .await;
        odm.sync().await.unwrap();
        odm.collection::<Owner>()
            .insert(NewOwner { id: 1 })
            .await
            .unwrap();
        let entries = odm.buckets::<Entry>();
        entries.push(1, Entry { cents: 1 }).await.unwrap();
        let done = entries.edit(1, |e| e.cents.eq(1), |e| e.inc(|e| e.cents, 1));
        is_contention(done.await, "changed during each of");
    });
}

/// A copy of its owner's number makes an update of it a transaction, of up to 1,000 documents each.
#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "tags")]
struct Tag {
    id: i32,
    #[field(max_len = 10)]
    state: String,
    #[reference]
    jar: Ref<Jar>,
    #[denormalize(from = jar.coins)]
    coins: i32,
}

/// The documents of an upsert are more than one transaction takes, and gone when they are read part by part.
#[odm_tests::test]
fn the_documents_of_an_upsert_that_another_client_takes_each_time() {
    with_transactions(async |t| {
        let there_and_gone: Edit = ("tags", |n| {
            let state = if n % 4 == 1 { "new" } else { "old" };
            (
                doc! { "_id": { "$lt": 2_000 } },
                doc! { "$set": { "state": state } },
            )
        });
        let nothing: Edit = ("others", |_| (doc! { "_id": 1 }, doc! { "$set": { "a": 1 } }));
        let odm = disturbed(
            &t,
            false,
            models![Jar, Tag],
            (&["find"], "tags"),
            there_and_gone,
            nothing,
        )
        .await;
        let jar = odm.collection::<Jar>().insert(jar(1, 1)).await.unwrap();
        let tags = (0..1_001).map(|id| doc! { "_id": id, "state": "new", "jar": 1, "coins": 1 });
        t.db.collection::<Doc>("tags").insert_many(tags).await.unwrap();
        let new = NewTag {
            id: 5_000,
            state: "new".into(),
            jar: jar.to_ref(),
        };
        let tags = odm.collection::<Tag>();
        let upsert = tags
            .update_where(|t| t.state.eq("new"))
            .set(|t| t.jar, jar.to_ref());
        is_contention(
            upsert.upsert_with(new).await,
            "the matching documents changed during each of 5 attempts",
        );
    });
}

/// The replies of a server on which another client creates the collection before each attempt, and drops it again.
#[odm_tests::test]
fn a_schema_that_another_client_changes_each_time() {
    with_db(async |t| {
        let proxy = Proxy::start(&server().await, 0).await;
        proxy.arm();
        let exists = doc! { "ok": 0.0, "code": 48, "codeName": "NamespaceExists", "errmsg": "Collection already exists. NS: a.jars" };
        proxy.next("create", 100, Fate::Answered(exists));
        let client = Client::with_options(proxy.options().await).unwrap();
        let odm = Odm::new(client.database(t.db.name()), models![Jar]).unwrap();
        is_contention(
            odm.sync().await,
            "another client changed the schema during each of 8 attempts",
        );
        proxy.bury().await;
    });
}

#[odm_tests::test]
fn a_write_of_another_transaction() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Jar]).unwrap();
        let jars = odm.collection::<Jar>();
        jars.insert(jar(1, 1)).await.unwrap();
        let mut session = t.db.client().start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        let of_driver = t.db.collection::<Doc>("jars");
        let raised = of_driver.update_one(doc! { "_id": 1 }, doc! { "$inc": { "coins": 1 } });
        raised.session(&mut session).await.unwrap();
        let (first, session) = (Mutex::new(None), tokio::sync::Mutex::new(session));
        // The transaction is run again, when the other one has ended.
        let done = odm.transaction(async |tx| {
            let raised = tx.collection::<Jar>().update(1).inc(|j| j.coins, 1).await;
            if let Err(error) = &raised {
                first.lock().unwrap().get_or_insert(error.to_string());
                session.lock().await.abort_transaction().await.unwrap();
            }
            raised
        });
        assert_eq!(done.await.unwrap().modified, 1);
        let first = first.into_inner().unwrap().unwrap();
        assert!(
            first.contains("another writer changed the same document"),
            "{first}"
        );
    });
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "rooms", version)]
struct Room {
    id: i32,
    #[field(scope)]
    tenant: i32,
    #[field(max = 10)]
    coins: i32,
    version: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "drawers", soft_delete, version)]
struct Drawer {
    id: i32,
    #[field(max = 10)]
    coins: i32,
    deleted_at: Option<odm::bson::DateTime>,
    version: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "things", tag = "type", version)]
#[document(common(version: i64))]
enum Thing {
    Big(Big),
    Small(Small),
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(variant_of = Thing, version)]
struct Big {
    id: i32,
    #[field(max = 10)]
    coins: i32,
    version: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(variant_of = Thing, version)]
struct Small {
    id: i32,
    #[field(max = 10)]
    coins: i32,
    version: i64,
}

/// The errors of all operations that insert a document with the id 1.
macro_rules! inserts {
    ($odm:expr, $type:ident, $new:expr) => {{
        let (odm, new) = ($odm, || $new);
        let all = odm.collection::<$type>();
        vec![
            ("insert", all.insert(new()).await.map(drop)),
            ("or_get_by", all.insert(new()).or_get_by(|d| d.id).await.map(drop)),
            (
                "upsert",
                all.update(1).set(|d| d.coins, 1).upsert().await.map(drop),
            ),
            (
                "upsert with a bound",
                all.update(1).inc(|d| d.coins, 1).upsert().await.map(drop),
            ),
            (
                "upsert of nothing",
                all.update(1).upsert_with(new()).await.map(drop),
            ),
            (
                "upsert, returning",
                all.update(1)
                    .inc(|d| d.coins, 1)
                    .upsert()
                    .returning()
                    .await
                    .map(drop),
            ),
            (
                "upsert, returning before",
                all.update(1)
                    .inc(|d| d.coins, 1)
                    .upsert()
                    .returning_before()
                    .await
                    .map(drop),
            ),
            (
                "upsert by a condition",
                all.update_where(|d| d.id.eq(1))
                    .inc(|d| d.coins, 1)
                    .upsert()
                    .await
                    .map(drop),
            ),
            (
                "upsert by a key",
                all.update_by(|d| d.id, 1)
                    .inc(|d| d.coins, 1)
                    .upsert()
                    .await
                    .map(drop),
            ),
            (
                "bulk",
                odm.bulk()
                    .add(all.update(&1).set(|d| d.coins, 1).upsert())
                    .await
                    .map(drop),
            ),
            (
                "bulk with a bound",
                odm.bulk()
                    .add(all.update(&1).inc(|d| d.coins, 1).upsert())
                    .await
                    .map(drop),
            ),
            (
                "bulk by a key",
                odm.bulk()
                    .add(all.update_where(|d| d.id.eq(1)).set(|d| d.coins, 1).upsert())
                    .await
                    .map(drop),
            ),
            (
                "in a transaction",
                odm.transaction(async |tx| {
                    tx.collection::<$type>()
                        .update(1)
                        .inc(|d| d.coins, 1)
                        .upsert()
                        .await
                        .map(drop)
                })
                .await,
            ),
        ]
    }};
}

/// An id belongs to a document that the operation does not see, and stays there.
#[odm_tests::test]
fn an_id_that_another_document_has_is_no_contention() {
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Drawer, Thing]).unwrap();
        odm.sync().await.unwrap();
        let rooms = Odm::new(t.db.clone(), models![Room]).unwrap();
        let of_tenant = |tenant: i32| rooms.scoped(Room::paths().tenant, tenant).unwrap();
        let room = || NewRoom { id: 1, coins: 1 };
        of_tenant(2).collection::<Room>().insert(room()).await.unwrap();
        odm.collection::<Small>()
            .insert(NewSmall { id: 1, coins: 1 })
            .await
            .unwrap();
        let drawers = odm.collection::<Drawer>();
        drawers.insert(NewDrawer { id: 1, coins: 1 }).await.unwrap();
        drawers.delete(1).await.unwrap();
        let of_tenant = inserts!(of_tenant(1), Room, room());
        let of_variant = inserts!(odm.clone(), Big, NewBig { id: 1, coins: 1 });
        let of_deleted = inserts!(odm.clone(), Drawer, NewDrawer { id: 1, coins: 1 });
        let mut others = Vec::new();
        for (kind, rows) in [
            ("tenant", of_tenant),
            ("variant", of_variant),
            ("deleted", of_deleted),
        ] {
            for (name, done) in rows {
                let error = match done {
                    Err(Error::Bulk { mut errors, .. }) if errors.len() == 1 => errors.remove(0).1,
                    Err(error) => error,
                    Ok(()) => panic!("{kind}, {name}"),
                };
                let is_right = match &error {
                    Error::DuplicateKey { fields, .. } => *fields == ["_id"],
                    Error::NotFound { deleted, .. } => kind == "deleted" && *deleted,
                    _ => false,
                };
                if !is_right {
                    others.push(format!("{kind}, {name}: {error:?}"));
                }
            }
        }
        assert!(others.is_empty(), "{others:#?}");
    });
}

/// Without another client, another error says what holds the operation back.
#[odm_tests::test]
fn an_operation_without_another_client_says_what_holds_it_back() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Case]).unwrap();
        let cases = odm.collection::<Case>();
        for id in [1, 2] {
            cases.insert(case(id, "new")).await.unwrap();
            cases.delete(id).await.unwrap();
        }
        let all = cases.with_deleted();
        assert_eq!(all.delete_first(|c| c.state.eq("new")).await.unwrap(), None);
        assert_eq!(all.delete_first(|c| c.id.eq(1)).await.unwrap(), None);
        assert_eq!(all.find_all().count().await.unwrap(), 2);
    });
}
