//! Upserts by a whole unique key: of many clients at once one inserts the document, and the others change it.

use futures::future::join_all;
use odm::bson::oid::ObjectId;
use odm::bson::{Bson, Document as Raw, doc};
use odm::prelude::*;
use odm::{Error, Odm};
use odm_tests::{TestDb, with_db, with_transactions};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "members", version)]
struct Member {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[index(unique)]
    email: String,
    #[index(unique, sparse)]
    #[serde(skip_serializing_if = "Option::is_none")]
    nick: Option<String>,
    active: bool,
    visits: i64,
    version: i64,
}

/// Counted in its shop, so that an upsert is a transaction.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "visitors", index(fields(shop, name), unique))]
struct Visitor {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[parent_ref]
    shop: Ref<Shop>,
    name: String,
    visits: i64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "shops")]
struct Shop {
    #[serde(rename = "_id")]
    id: i32,
    #[computed(count = Visitor)]
    visitors: i64,
}

/// Each shop has one at most.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "tills")]
struct Till {
    #[serde(rename = "_id")]
    id: ObjectId,
    #[parent_ref(one)]
    shop: Ref<Shop>,
    sales: i64,
}

async fn odm(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Member, Visitor, Shop, Till]).unwrap();
    odm.sync().await.unwrap();
    odm
}

fn visit(members: &odm::Collection<Member>, email: &str) -> odm::update::UpdateMany<Member> {
    let upsert = members
        .update_where(|m| m.email.eq(email))
        .set_on_insert(|m| m.active, true);
    upsert.inc(|m| m.visits, 1).upsert()
}

/// Runs an upsert in several clients at once, none of which fails. Returns how many of them inserted the document.
async fn at_once<F, Fut>(clients: usize, upsert: F) -> usize
where
    F: Fn(usize) -> Fut,
    Fut: Future<Output = odm::Result<odm::update::Updated>> + Send + 'static,
{
    let tasks = join_all((0..clients).map(|client| tokio::spawn(upsert(client)))).await;
    let done = tasks.into_iter().map(|task| task.unwrap().unwrap());
    done.filter(|done| done.upserted.is_some()).count()
}

/// As in MongoDB's own manual: upserts by a unique key that race.
#[odm_tests::test]
fn no_client_fails_when_many_upsert_one_document() {
    with_db(async |t| {
        let odm = odm(&t).await;
        for round in 0..20 {
            let email = format!("{round}@example.org");
            let inserted = at_once(16, |_| {
                let (members, email) = (odm.collection::<Member>(), email.clone());
                async move { visit(&members, &email).await }
            });
            assert_eq!(inserted.await, 1, "round {round}");
        }
        let members = odm.collection::<Member>().find_all().all().await.unwrap();
        assert_eq!(members.len(), 20);
        assert!(
            members
                .iter()
                .all(|member| member.visits == 16 && member.version == 16)
        );
    });
}

#[odm_tests::test]
fn no_client_fails_when_many_upsert_one_id() {
    with_db(async |t| {
        let odm = odm(&t).await;
        for round in 0..10 {
            let id = ObjectId::new();
            let inserted = at_once(16, |client| {
                let members = odm.collection::<Member>();
                let email = format!("{round}@example.org");
                async move {
                    if client % 2 == 0 {
                        let upsert = members
                            .update_where(|m| m.id.eq(id))
                            .set_on_insert(|m| m.email, email);
                        return upsert
                            .set_on_insert(|m| m.active, true)
                            .inc(|m| m.visits, 1)
                            .upsert()
                            .await;
                    }
                    let upsert = members.update(id).set_on_insert(|m| m.email, email);
                    upsert
                        .set_on_insert(|m| m.active, true)
                        .inc(|m| m.visits, 1)
                        .upsert()
                        .await
                }
            });
            assert_eq!(inserted.await, 1, "round {round}");
            let member = odm.collection::<Member>().get(id).await.unwrap().unwrap();
            assert_eq!(member.visits, 16);
        }
    });
}

/// With an index over two fields, and one that a reference asks for; each upsert is a transaction.
#[odm_tests::test]
fn no_transaction_fails_when_many_upsert_one_document() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        odm.collection::<Shop>().insert(NewShop { id: 1 }).await.unwrap();
        for round in 0..4 {
            let inserted = at_once(6, |_| {
                let visitors = odm.collection::<Visitor>();
                async move {
                    let name = format!("visitor {round}");
                    let upsert = visitors.update_where(|v| v.shop.eq(Ref::new(1)) & v.name.eq(name));
                    upsert.inc(|v| v.visits, 1).upsert().await
                }
            });
            assert_eq!(inserted.await, 1, "round {round}");
        }
        assert_eq!(
            odm.collection::<Shop>().get(1).await.unwrap().unwrap().visitors,
            4
        );
        let inserted = at_once(6, |_| {
            let tills = odm.collection::<Till>();
            async move {
                tills
                    .update_where(|t| t.shop.eq(Ref::new(1)))
                    .inc(|t| t.sales, 1)
                    .upsert()
                    .await
            }
        });
        assert_eq!(inserted.await, 1);
        assert_eq!(
            odm.collection::<Till>()
                .find_all()
                .one()
                .await
                .unwrap()
                .unwrap()
                .sales,
            6
        );
    });
}

/// A transaction that began before another client inserted the document is run again.
#[odm_tests::test]
fn a_transaction_that_lost_the_race_is_run_again() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let id = ObjectId::new();
        for by_id in [false, true] {
            let runs = AtomicUsize::new(0);
            let (runs, other) = (&runs, &odm.collection::<Member>());
            let done = odm
                .transaction(|tx| async move {
                    let members = tx.collection::<Member>();
                    members.find_all().count().await?;
                    if runs.fetch_add(1, Ordering::Relaxed) == 0 {
                        let member = NewMember {
                            email: format!("{by_id}"),
                            nick: None,
                            active: true,
                            visits: 7,
                        };
                        let new = other.insert(member).await?;
                        if by_id {
                            raw(other, id, new.id).await;
                        }
                    }
                    if by_id {
                        let upsert = members.update(id).set_on_insert(|m| m.email, "another");
                        let upsert = upsert.set_on_insert(|m| m.active, true);
                        upsert.inc(|m| m.visits, 1).upsert().await
                    } else {
                        visit(&members, "false").await
                    }
                })
                .await
                .unwrap();
            assert_eq!((done.matched, done.upserted), (1, None), "by its id: {by_id}");
            assert!(runs.load(Ordering::Relaxed) > 1);
            let stored = other
                .find(|m| m.email.eq(format!("{by_id}")))
                .one()
                .await
                .unwrap()
                .unwrap();
            assert_eq!(stored.visits, 8);
        }
    });
}

/// Gives a document another id.
async fn raw(members: &odm::Collection<Member>, id: ObjectId, of: ObjectId) {
    let raw = members.driver::<Raw>();
    let mut document = raw
        .find_one_and_delete(doc! { "_id": of })
        .await
        .unwrap()
        .unwrap();
    document.insert("_id", id);
    raw.insert_one(document).await.unwrap();
}

#[odm_tests::test]
fn a_document_that_does_not_fit_the_rest_of_the_condition_is_named() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let members = odm.collection::<Member>();
        let member = |email: &str, nick: Option<&str>| NewMember {
            email: email.into(),
            nick: nick.map(str::to_owned),
            active: false,
            visits: 0,
        };
        let ann = members.insert(member("ann", Some("a"))).await.unwrap();
        members.insert(member("bob", None)).await.unwrap();
        let is_unfit = |error: Error| {
            let Error::DuplicateKey { fields, existing, .. } = &error else {
                panic!("{error}");
            };
            assert_eq!(
                (fields.as_slice(), existing),
                (&["email".to_owned()][..], &Some(Box::new(ann.id.into())))
            );
            assert!(
                error
                    .to_string()
                    .contains(&format!("the document with _id {}", Bson::from(ann.id))),
                "{error}"
            );
        };
        let upsert = async |members: odm::Collection<Member>| {
            let upsert = members.update_where(|m| m.email.eq("ann") & m.active.eq(true));
            upsert.inc(|m| m.visits, 1).upsert().await
        };
        is_unfit(upsert(members.clone()).await.unwrap_err());
        let runs = AtomicUsize::new(0);
        let (runs, upsert) = (&runs, &upsert);
        let work = |tx: odm::Tx| async move {
            runs.fetch_add(1, Ordering::Relaxed);
            upsert(tx.collection::<Member>()).await
        };
        if !odm_tests::lacks_transactions(&odm).await {
            is_unfit(odm.transaction(work).await.unwrap_err());
            assert_eq!(runs.load(Ordering::Relaxed), 1);
        }
        // Another unique key, and another value of this one, are another document's.
        let of_another = |error: Error, field: &str| {
            let Error::DuplicateKey { fields, existing, .. } = &error else {
                panic!("{error}");
            };
            assert_eq!((fields.as_slice(), existing), (&[field.to_owned()][..], &None));
        };
        let upsert = members
            .update_where(|m| m.email.eq("new"))
            .set(|m| m.nick, Some("a".to_owned()));
        of_another(
            upsert
                .set(|m| m.active, true)
                .set(|m| m.visits, 0)
                .upsert()
                .await
                .unwrap_err(),
            "nick",
        );
        let upsert = members
            .update_where(|m| m.email.eq("new"))
            .set(|m| m.email, "bob");
        of_another(
            upsert
                .set(|m| m.active, true)
                .set(|m| m.visits, 0)
                .upsert()
                .await
                .unwrap_err(),
            "email",
        );
        let stored = members.get(ann.id).await.unwrap();
        assert_eq!(stored, Some(ann));
    });
}

/// The `multi` of each update that a client sends.
async fn spied(t: &TestDb) -> (Odm, Arc<Mutex<Vec<bool>>>) {
    use odm::mongodb::event::{EventHandler, command::CommandEvent};
    let mut options = odm::mongodb::options::ClientOptions::parse(odm_tests::uri())
        .await
        .unwrap();
    let sent = Arc::new(Mutex::new(Vec::new()));
    let of_handler = sent.clone();
    options.command_event_handler = Some(EventHandler::callback(move |event| {
        let CommandEvent::Started(started) = event else {
            return;
        };
        for update in started.command.get_array("updates").into_iter().flatten() {
            let multi = update
                .as_document()
                .is_some_and(|update| update.get_bool("multi").is_ok_and(|multi| multi));
            of_handler.lock().unwrap().push(multi);
        }
    }));
    let client = odm::mongodb::Client::with_options(options).unwrap();
    let models = models![Member, Visitor, Shop, Till];
    (Odm::new(client.database(t.db.name()), models).unwrap(), sent)
}

/// The server itself tries the upsert of one document again, and not one of many.
#[odm_tests::test]
fn an_upsert_by_a_whole_unique_key_is_sent_as_one_documents() {
    with_db(async |t| {
        odm(&t).await;
        let (odm, sent) = spied(&t).await;
        let members = odm.collection::<Member>();
        for (filter, multi) in [
            (Member::paths().email.eq("a"), false),
            (
                Member::paths().active.eq(true) & Member::paths().email.eq("a"),
                false,
            ),
            (Member::paths().id.eq(ObjectId::new()), false),
            (Member::paths().email.in_(["a", "b"]), true),
            (Member::paths().email.gte("a"), true),
            (Member::paths().active.eq(true), true),
            (
                Member::paths().email.eq("a") | Member::paths().email.eq("b"),
                true,
            ),
        ] {
            let words = format!("{filter:?}");
            let new = NewMember {
                email: "c".into(),
                nick: None,
                active: true,
                visits: 0,
            };
            let upsert = members.update_where(|_| filter).set(|m| m.nick, None);
            drop(upsert.upsert_with(new).await);
            assert_eq!(sent.lock().unwrap().drain(..).next(), Some(multi), "{words}");
        }
        let shop = odm.collection::<Shop>().insert(NewShop { id: 1 }).await.unwrap();
        sent.lock().unwrap().clear();
        let visitors = odm.collection::<Visitor>();
        let one = visitors
            .update_where(|v| v.name.eq("a"))
            .set_on_insert(|v| v.shop, shop.to_ref())
            .inc(|v| v.visits, 1)
            .upsert();
        drop(one.await);
        assert_eq!(
            sent.lock().unwrap().drain(..).next(),
            Some(true),
            "half of a unique key"
        );
    });
}
