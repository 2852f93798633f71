//! Out-of-band writes, and the reconciler that follows them.

use futures::TryStreamExt;
use odm::bson::{Bson, DateTime, Document as Doc, doc};
use odm::prelude::*;
use odm_examples::one_to_squillions::{Host, LogMsg, NewHost, NewLogMsg};
use odm_examples::subset::{NewReview, Product, Review};
use odm_tests::{TestDb, assert_clean, with_db, with_transactions};
use std::time::Duration;

async fn logs(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Host, LogMsg]).unwrap();
    odm.sync().await.unwrap();
    odm
}

async fn host(odm: &Odm, name: &str, messages: i64) -> Host {
    let ipaddr = format!("10.0.0.{name}");
    let host = NewHost {
        name: name.into(),
        ipaddr,
    };
    let host = odm.collection::<Host>().insert(host).await.unwrap();
    let message = |n| NewLogMsg {
        time: DateTime::from_millis(n),
        message: n.to_string(),
        host: host.to_ref(),
    };
    odm.collection::<LogMsg>()
        .insert_many((0..messages).map(message))
        .await
        .unwrap();
    host
}

fn raw(t: &TestDb, name: &str) -> mongodb::Collection<Doc> {
    t.db.collection(name)
}

/// A product with thirty reviews.
async fn reviewed(t: &TestDb) -> Odm {
    let odm = Odm::new(t.db.clone(), models![Product, Review]).unwrap();
    odm.sync().await.unwrap();
    let product = odm_examples::subset::NewProduct {
        id: 1,
        name: "Super Widget".into(),
    };
    let product = odm.collection::<Product>().insert(product).await.unwrap();
    let review = |n: i64| NewReview {
        product: product.to_ref(),
        review_author: "Kristina".into(),
        review_text: format!("{n}"),
        published_date: DateTime::from_millis(n),
        stars: 5,
    };
    let reviews = odm.collection::<Review>();
    reviews.insert_many((0..30).map(review)).await.unwrap();
    odm
}

/// The places that reconcilers have stored: one for each set of models.
async fn places(t: &TestDb) -> Vec<Doc> {
    let filter = doc! { "token": { "$exists": true } };
    let found = raw(t, "_odm_state").find(filter).await.unwrap();
    found.try_collect().await.unwrap()
}

/// The only one of them.
async fn place(t: &TestDb) -> Doc {
    let mut places = places(t).await;
    assert_eq!(places.len(), 1, "{places:?}");
    places.remove(0)
}

/// Passes on all that has come so far.
async fn reconcile(odm: &Odm) {
    let reconciler = odm.reconciler().start().await.unwrap();
    reconciler.caught_up().await.unwrap();
    reconciler.stop().await.unwrap();
}

#[odm_tests::test]
fn sources_and_holders_that_others_write() {
    with_transactions(async |t| {
        let odm = logs(&t).await;
        let (a, b) = (host(&odm, "1", 20).await, host(&odm, "2", 20).await);
        let reconciler = odm.reconciler().start().await.unwrap();
        let (hosts, messages) = (raw(&t, "hosts"), raw(&t, "logmsg"));
        // A source; a copy in a holder; a holder without its copy; a reference without its copy.
        hosts
            .update_one(doc! { "_id": a.id }, doc! { "$set": { "ipaddr": "10.9.9.9" } })
            .await
            .unwrap();
        messages
            .update_one(
                doc! { "message": "3", "host": b.id },
                doc! { "$set": { "ipaddr": "wrong" } },
            )
            .await
            .unwrap();
        messages
            .insert_one(doc! { "_id": ObjectId::new(), "time": DateTime::from_millis(99), "message": "new", "host": b.id, "ipaddr": "?" })
            .await
            .unwrap();
        messages
            .update_many(
                doc! { "host": a.id, "message": "4" },
                doc! { "$set": { "host": b.id } },
            )
            .await
            .unwrap();
        reconciler.caught_up().await.unwrap();
        assert_clean(&odm).await;
        let newest = odm.collection::<Host>().get(b.id).await.unwrap().unwrap();
        assert_eq!(newest.logmsgs.last().map(|m| m.message.as_str()), Some("new"));
        let of_a = odm.collection::<LogMsg>();
        assert_eq!(of_a.find(|m| m.ipaddr.eq("10.9.9.9")).count().await.unwrap(), 19);
        reconciler.stop().await.unwrap();
    });
}

#[odm_tests::test]
fn a_source_that_others_replace_loses_its_version_and_gets_a_greater_one() {
    with_transactions(async |t| {
        let odm = logs(&t).await;
        let a = host(&odm, "1", 5).await;
        let reconciler = odm.reconciler().start().await.unwrap();
        let whole = doc! { "name": "a", "ipaddr": "10.8.8.8", "logmsgs": [] };
        raw(&t, "hosts")
            .replace_one(doc! { "_id": a.id }, whole)
            .await
            .unwrap();
        reconciler.caught_up().await.unwrap();
        assert_clean(&odm).await;
        // And later writes of the library are newer still.
        let hosts = odm.collection::<Host>();
        hosts.update(a.id).set(|h| h.ipaddr, "10.8.8.9").await.unwrap();
        assert_clean(&odm).await;
        reconciler.stop().await.unwrap();
    });
}

/// Without a reconciler the repair does the same.
#[odm_tests::test]
fn a_repair_raises_a_source_that_others_replaced() {
    with_db(async |t| {
        let odm = logs(&t).await;
        let a = host(&odm, "1", 5).await;
        let whole = doc! { "name": "a", "ipaddr": "10.8.8.8", "logmsgs": [] };
        raw(&t, "hosts")
            .replace_one(doc! { "_id": a.id }, whole)
            .await
            .unwrap();
        let audit = odm.audit().await.unwrap();
        assert_eq!(audit.stale_copies(), 6, "{audit}");
        odm.repair(&audit).await.unwrap();
        assert_clean(&odm).await;
        let messages = odm.collection::<LogMsg>();
        assert_eq!(
            messages.find(|m| m.ipaddr.eq("10.8.8.8")).count().await.unwrap(),
            5
        );
    });
}

#[odm_tests::test]
fn children_that_others_insert_change_and_delete() {
    with_transactions(async |t| {
        let odm = reviewed(&t).await;
        let products = odm.collection::<Product>();
        let reconciler = odm.reconciler().start().await.unwrap();
        let children = raw(&t, "reviews");
        children
            .update_one(doc! { "review_text": "29" }, doc! { "$set": { "stars": 1 } })
            .await
            .unwrap();
        children
            .delete_many(doc! { "review_text": { "$in": ["3", "28"] } })
            .await
            .unwrap();
        reconciler.caught_up().await.unwrap();
        assert_clean(&odm).await;
        let product = products.get(1).await.unwrap().unwrap();
        assert_eq!(product.review_count, 28);
        assert_eq!(product.reviews.len(), 10);
        assert!(product.reviews.iter().all(|r| r.review_text != "28"));
        reconciler.stop().await.unwrap();
    });
}

/// "Resume token stored before the event is applied": a reconciler that dies loses nothing, wherever it was.
#[odm_tests::test]
fn another_reconciler_applies_changes_that_a_dead_one_has_not() {
    with_transactions(async |t| {
        let odm = logs(&t).await;
        let a = host(&odm, "1", 3).await;
        reconcile(&odm).await;
        let hosts = raw(&t, "hosts");
        for round in 0..12_u64 {
            let reconciler = odm.reconciler().start().await.unwrap();
            let ipaddr = format!("10.1.0.{round}");
            hosts
                .update_one(doc! { "_id": a.id }, doc! { "$set": { "ipaddr": &ipaddr } })
                .await
                .unwrap();
            // It is ended in the middle of what it does, a little later each time.
            tokio::time::sleep(Duration::from_millis(2 * round)).await;
            drop(reconciler);
            // No process listens to this one.
            raw(&t, "logmsg")
                .update_one(doc! { "message": "1" }, doc! { "$set": { "ipaddr": "wrong" } })
                .await
                .unwrap();
            let next = odm.reconciler().start().await.unwrap();
            next.caught_up().await.unwrap();
            // The work that it had begun stays pending, as after every writer that ends.
            odm.recover().await.unwrap();
            assert_clean(&odm).await;
            let messages = odm.collection::<LogMsg>();
            let fresh = messages.find(|m| m.ipaddr.eq(ipaddr.as_str()));
            assert_eq!(fresh.count().await.unwrap(), 3);
            next.stop().await.unwrap();
        }
    });
}

#[odm_tests::test]
fn a_lost_resume_token_makes_the_reconciler_compare_everything() {
    with_transactions(async |t| {
        let odm = logs(&t).await;
        let a = host(&odm, "1", 3).await;
        reconcile(&odm).await;
        // As if it were of another time: the timestamp is the first that a token of the server's own form says.
        let state = raw(&t, "_odm_state");
        let stored = place(&t).await;
        let token = stored.get_document("token").unwrap().get_str("_data").unwrap();
        let ancient = format!("{}{}{}", &token[..2], "0000000100000001", &token[18..]);
        let ancient = doc! { "$set": { "token": { "_data": ancient } } };
        state
            .update_one(doc! { "_id": stored.get("_id") }, ancient)
            .await
            .unwrap();
        raw(&t, "hosts")
            .update_one(doc! { "_id": a.id }, doc! { "$set": { "ipaddr": "10.7.7.7" } })
            .await
            .unwrap();
        reconcile(&odm).await;
        assert_clean(&odm).await;
    });
}

/// Copies that no reconciler has followed from the beginning are compared once: there is no place before which they were taken up.
#[odm_tests::test]
fn the_first_reconciler_compares_everything() {
    with_transactions(async |t| {
        let odm = logs(&t).await;
        let a = host(&odm, "1", 3).await;
        raw(&t, "hosts")
            .update_one(doc! { "_id": a.id }, doc! { "$set": { "ipaddr": "10.4.4.4" } })
            .await
            .unwrap();
        reconcile(&odm).await;
        assert_clean(&odm).await;
    });
}

/// As long as the comparison fails, there is no place from which anybody could go on without it.
#[odm_tests::test]
fn a_comparison_that_fails_is_made_again() {
    with_transactions(async |t| {
        let odm = logs(&t).await;
        let a = host(&odm, "1", 3).await;
        let others = doc! { "$set": { "ipaddr": "10.3.3.3", "logmsgs": [] } };
        raw(&t, "hosts")
            .update_one(doc! { "_id": a.id }, others)
            .await
            .unwrap();
        // It notes there how far it has come.
        let validated = async |validator: Doc| {
            let command = doc! { "collMod": "_odm_edges", "validator": validator };
            t.db.run_command(command).await.unwrap();
        };
        validated(doc! { "missing": { "$exists": true } }).await;
        let reconciler = odm.reconciler().start().await.unwrap();
        let waited = tokio::time::timeout(Duration::from_millis(500), reconciler.caught_up()).await;
        assert!(waited.is_err(), "it can't have compared everything");
        assert!(places(&t).await.is_empty());
        validated(doc! {}).await;
        reconciler.caught_up().await.unwrap();
        assert_clean(&odm).await;
        place(&t).await;
        reconciler.stop().await.unwrap();
    });
}

/// A program that was down would not see what happened in between, if it went on where another one is.
#[odm_tests::test]
fn programs_with_different_models_have_resume_tokens_of_their_own() {
    with_transactions(async |t| {
        let (lines, products) = (logs(&t).await, reviewed(&t).await);
        let a = host(&lines, "1", 3).await;
        reconcile(&products).await;
        raw(&t, "reviews")
            .update_one(doc! { "review_text": "29" }, doc! { "$set": { "stars": 1 } })
            .await
            .unwrap();
        // The other one goes past that.
        let of_lines = lines.reconciler().start().await.unwrap();
        raw(&t, "hosts")
            .update_one(doc! { "_id": a.id }, doc! { "$set": { "ipaddr": "10.2.2.2" } })
            .await
            .unwrap();
        of_lines.caught_up().await.unwrap();
        assert_clean(&lines).await;
        assert!(!products.audit().await.unwrap().is_clean());
        let of_products = products.reconciler().start().await.unwrap();
        of_products.caught_up().await.unwrap();
        assert_clean(&products).await;
        assert_eq!(places(&t).await.len(), 2);
        // The order of the models is none of it.
        let again = Odm::new(t.db.clone(), models![Review, Product]).unwrap();
        let again = again.reconciler().start().await.unwrap();
        again.caught_up().await.unwrap();
        assert_eq!(places(&t).await.len(), 2);
        for reconciler in [of_lines, of_products, again] {
            reconciler.stop().await.unwrap();
        }
    });
}

#[odm_tests::test]
fn an_unused_resume_token_is_removed_after_some_weeks() {
    with_transactions(async |t| {
        let odm = logs(&t).await;
        let days_ago = |days: i64| {
            DateTime::from_millis(DateTime::now().timestamp_millis() - days * 24 * 60 * 60 * 1_000)
        };
        let left = [("long ago", 40), ("lately", 20)]
            .map(|(id, days)| doc! { "_id": id, "token": { "_data": "82" }, "at": days_ago(days) });
        raw(&t, "_odm_state").insert_many(left).await.unwrap();
        reconcile(&odm).await;
        let places = places(&t).await;
        assert_eq!(places.len(), 2, "{places:?}");
        assert!(
            places
                .iter()
                .all(|place| place.get_str("_id").unwrap() != "long ago")
        );
    });
}

#[odm_tests::test]
fn a_source_that_others_delete_and_insert_again() {
    with_transactions(async |t| {
        let odm = logs(&t).await;
        let a = host(&odm, "1", 5).await;
        let reconciler = odm.reconciler().start().await.unwrap();
        let hosts = raw(&t, "hosts");
        hosts.delete_one(doc! { "_id": a.id }).await.unwrap();
        hosts
            .insert_one(doc! { "_id": a.id, "name": "a", "ipaddr": "10.8.1.1", "logmsgs": [] })
            .await
            .unwrap();
        reconciler.caught_up().await.unwrap();
        assert_clean(&odm).await;
        let messages = odm.collection::<LogMsg>();
        let fresh = messages.find(|m| m.ipaddr.eq("10.8.1.1"));
        assert_eq!(fresh.count().await.unwrap(), 5);
        // Later writes of the library are newer.
        let hosts = odm.collection::<Host>();
        hosts.update(a.id).set(|h| h.ipaddr, "10.8.1.2").await.unwrap();
        assert_clean(&odm).await;
        reconciler.stop().await.unwrap();
    });
}

/// A document whose shard key is changed may move to another shard: it is deleted there and inserted here, in a transaction, with all
/// that the library keeps in it.
async fn moved(t: &TestDb, collection: &str, filter: Doc, change: impl Fn(&mut Doc)) {
    let collection = raw(t, collection);
    let mut session = t.db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let found = collection.find_one(filter).session(&mut session).await.unwrap();
    let mut document = found.expect("it is there");
    let id = doc! { "_id": document.get("_id").cloned() };
    collection.delete_one(id).session(&mut session).await.unwrap();
    change(&mut document);
    collection
        .insert_one(document)
        .session(&mut session)
        .await
        .unwrap();
    session.commit_transaction().await.unwrap();
}

#[odm_tests::test]
fn documents_that_others_move_to_another_shard() {
    with_transactions(async |t| {
        let odm = logs(&t).await;
        let (a, b) = (host(&odm, "1", 5).await, host(&odm, "2", 3).await);
        let reconciler = odm.reconciler().start().await.unwrap();
        // A source that changes as it moves, and one that does not.
        for (host, address) in [(a.id, "10.9.9.9"), (b.id, "10.0.0.2")] {
            let change = |document: &mut Doc| drop(document.insert("ipaddr", address));
            moved(&t, "hosts", doc! { "_id": host }, change).await;
        }
        reconciler.caught_up().await.unwrap();
        assert_clean(&odm).await;
        let messages = odm.collection::<LogMsg>();
        let fresh = messages.find(|m| m.ipaddr.eq("10.9.9.9"));
        assert_eq!(fresh.count().await.unwrap(), 5);
        // A child, to another parent.
        let change = |document: &mut Doc| drop(document.insert("host", b.id));
        moved(&t, "logmsg", doc! { "host": a.id, "message": "4" }, change).await;
        reconciler.caught_up().await.unwrap();
        assert_clean(&odm).await;
        for (host, expected) in [(&a, 4), (&b, 4)] {
            assert_eq!(messages.children_of(host).count().await.unwrap(), expected);
            let stored = odm.collection::<Host>().get(host.id).await.unwrap().unwrap();
            assert_eq!(stored.logmsgs.len(), expected as usize);
        }
        reconciler.stop().await.unwrap();
    });
}

/// A collection that is dropped, or gets the name of another one, has no change for each of its documents.
#[odm_tests::test]
fn collections_that_others_drop_and_rename() {
    with_transactions(async |t| {
        let odm = reviewed(&t).await;
        let products = odm.collection::<Product>();
        let reconciler = odm.reconciler().start().await.unwrap();
        let counted = async |expected: i64| {
            reconciler.caught_up().await.unwrap();
            assert_clean(&odm).await;
            let product = products.get(1).await.unwrap().unwrap();
            assert_eq!(product.review_count, expected);
            assert_eq!(product.reviews.len() as i64, expected.min(10));
        };
        counted(30).await;
        let renamed = async |from: &str, to: &str| {
            let name = |collection: &str| format!("{}.{collection}", t.db.name());
            let command = doc! { "renameCollection": name(from), "to": name(to), "dropTarget": true };
            let admin = t.db.client().database("admin");
            admin.run_command(command).await.unwrap();
        };
        // Away, and back again.
        renamed("reviews", "put_aside").await;
        counted(0).await;
        renamed("put_aside", "reviews").await;
        counted(30).await;
        // Another one in its place.
        let others = (0..3).map(|n| {
            doc! {
                "_id": ObjectId::new(), "product_id": 1, "review_author": "Anna", "review_text": "new",
                "published_date": DateTime::from_millis(n), "stars": 4,
            }
        });
        raw(&t, "others").insert_many(others).await.unwrap();
        renamed("others", "reviews").await;
        counted(3).await;
        raw(&t, "reviews").drop().await.unwrap();
        counted(0).await;
        reconciler.stop().await.unwrap();
    });
}

/// The stream ends with the database. It is opened again behind that, and who waits is not forgotten.
#[odm_tests::test]
fn a_database_that_others_drop() {
    with_transactions(async |t| {
        let odm = logs(&t).await;
        host(&odm, "1", 3).await;
        let reconciler = odm.reconciler().start().await.unwrap();
        reconciler.caught_up().await.unwrap();
        t.db.drop().await.unwrap();
        reconciler.caught_up().await.unwrap();
        odm.sync().await.unwrap();
        let b = host(&odm, "2", 3).await;
        raw(&t, "hosts")
            .update_one(doc! { "_id": b.id }, doc! { "$set": { "ipaddr": "10.8.3.3" } })
            .await
            .unwrap();
        reconciler.caught_up().await.unwrap();
        assert_clean(&odm).await;
        reconciler.stop().await.unwrap();
    });
}

#[odm_tests::test]
fn the_reconciler_skips_writes_of_the_library() {
    with_transactions(async |t| {
        let odm = logs(&t).await;
        let a = host(&odm, "1", 3).await;
        let reconciler = odm.reconciler().start().await.unwrap();
        reconciler.caught_up().await.unwrap();
        let hosts = odm.collection::<Host>();
        hosts.update(a.id).set(|h| h.ipaddr, "10.6.6.6").await.unwrap();
        let version = async || {
            let host = raw(&t, "hosts")
                .find_one(doc! { "_id": a.id })
                .await
                .unwrap()
                .unwrap();
            host.get_document("_odm").unwrap().get("version").cloned()
        };
        let before: Option<Bson> = version().await;
        assert!(before.is_some());
        t.commands.clear();
        reconciler.caught_up().await.unwrap();
        // Heartbeats and places, but neither a look at the documents nor a write to them.
        let sent = t.commands.take();
        assert!(
            sent.iter().all(|name| name == "update" || name == "getMore"),
            "{sent:?}"
        );
        assert_eq!(version().await, before);
        reconciler.stop().await.unwrap();
        let left = raw(&t, "_odm_state").count_documents(doc! {}).await.unwrap();
        assert_eq!(left, 1, "the place alone");
    });
}

mod signs {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    /// So small that a server may tell of any change as of a replacement.
    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "signs")]
    pub struct Sign {
        #[serde(rename = "_id")]
        pub id: i32,
        pub name: String,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "houses")]
    pub struct House {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference]
        pub sign: Ref<Sign>,
        #[denormalize(from = sign.name)]
        pub name: String,
    }
}

/// The stream contains the writes of a reconciler, too.
#[odm_tests::test]
fn the_reconciler_skips_its_own_repairs() {
    use signs::*;
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Sign, House]).unwrap();
        odm.sync().await.unwrap();
        let sign = Sign {
            id: 1,
            name: "A".into(),
        };
        odm.collection::<Sign>().insert(sign).await.unwrap();
        let houses = odm.collection::<House>();
        let house = NewHouse {
            id: 1,
            sign: Ref::new(1),
        };
        houses.insert(house).await.unwrap();
        let reconciler = odm.reconciler().start().await.unwrap();
        reconciler.caught_up().await.unwrap();
        let version = async || {
            let sign = raw(&t, "signs")
                .find_one(doc! { "_id": 1 })
                .await
                .unwrap()
                .unwrap();
            sign.get_document("_odm").unwrap().get_i64("version").unwrap()
        };
        for (name, replaced) in [("B", false), ("C", true)] {
            let before = version().await;
            let (signs, id) = (raw(&t, "signs"), doc! { "_id": 1 });
            if replaced {
                signs.replace_one(id, doc! { "name": name }).await.unwrap();
            } else {
                let set = doc! { "$set": { "name": name } };
                signs.update_one(id, set).await.unwrap();
            }
            reconciler.caught_up().await.unwrap();
            assert_eq!(houses.get(1).await.unwrap().unwrap().name, name);
            let after = version().await;
            assert!(before < after, "{name}: {before}, {after}");
            t.commands.clear();
            reconciler.caught_up().await.unwrap();
            let sent = t.commands.take();
            assert!(
                sent.iter()
                    .all(|command| command == "update" || command == "getMore"),
                "{name}: {sent:?}"
            );
            assert_eq!(version().await, after, "{name}");
        }
        reconciler.stop().await.unwrap();
        assert_clean(&odm).await;
    });
}

/// A number that may be too great for its field, another one of the same children, and a copy of the first.
mod crates {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "crates")]
    pub struct Crate {
        #[serde(rename = "_id")]
        pub id: i32,
        #[computed(sum = Good.n, consistency = eventual)]
        pub n: i32,
        #[computed(count = Good, consistency = eventual)]
        pub goods: i64,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "goods")]
    pub struct Good {
        #[serde(rename = "_id")]
        pub id: i32,
        #[parent_ref]
        pub within: Ref<Crate>,
        pub n: i32,
    }

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "tags")]
    pub struct Tag {
        #[serde(rename = "_id")]
        pub id: i32,
        #[reference]
        pub of: Ref<Crate>,
        #[denormalize(from = of.n, consistency = eventual)]
        pub n: i32,
    }
}

/// Waits as `caught_up` does, but not for ever.
async fn soon(reconciler: &odm::upkeep::Reconciler) {
    let waited = tokio::time::timeout(Duration::from_secs(30), reconciler.caught_up()).await;
    waited.expect("it does not get any further").unwrap();
}

#[odm_tests::test]
fn a_document_that_cannot_be_repaired_does_not_block_others() {
    use crates::*;
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Crate, Good, Tag]).unwrap();
        odm.sync().await.unwrap();
        let (crates, tags) = (odm.collection::<Crate>(), odm.collection::<Tag>());
        for id in [1, 2] {
            crates.insert(NewCrate { id }).await.unwrap();
            tags.insert(NewTag { id, of: Ref::new(id) }).await.unwrap();
        }
        let reconciler = odm.reconciler().start().await.unwrap();
        soon(&reconciler).await;
        // The sum of the first two is greater than the field may hold.
        let goods = [(1, 1, i32::MAX), (2, 1, i32::MAX), (3, 2, 5)];
        let goods = goods.map(|(id, within, n)| doc! { "_id": id, "within": within, "n": n });
        raw(&t, "goods").insert_many(goods).await.unwrap();
        soon(&reconciler).await;
        let all = crates.find_all().sort(|c| c.id.asc()).all().await.unwrap();
        let all: Vec<(i32, i64)> = all.iter().map(|one| (one.n, one.goods)).collect();
        assert_eq!(all, [(0, 2), (5, 1)]);
        // And repaired values are passed on.
        let tag = tags.get(2).await.unwrap().unwrap();
        assert_eq!(tag.n, 5);
        reconciler.stop().await.unwrap();
    });
}

/// Whatever the server says of a document, the stream goes on behind it.
#[odm_tests::test]
fn a_document_that_cannot_be_written_does_not_stop_the_change_stream() {
    with_transactions(async |t| {
        let odm = logs(&t).await;
        let a = host(&odm, "1", 3).await;
        let reconciler = odm.reconciler().start().await.unwrap();
        soon(&reconciler).await;
        // Nothing can be set within what is no document.
        let message = |time: i64, copied: Bson| {
            doc! {
                "_id": ObjectId::new(), "time": DateTime::from_millis(time), "message": "new", "host": a.id,
                "ipaddr": "wrong", "_copied": copied,
            }
        };
        let both = [message(100, "?".into()), message(101, doc! {}.into())];
        raw(&t, "logmsg").insert_many(both).await.unwrap();
        soon(&reconciler).await;
        let audit = odm.audit().await.unwrap();
        assert_eq!(audit.stale_copies(), 1, "{audit}");
        raw(&t, "logmsg")
            .update_many(doc! { "_copied": "?" }, doc! { "$unset": { "_copied": "" } })
            .await
            .unwrap();
        let audit = odm.audit().await.unwrap();
        odm.repair(&audit).await.unwrap();
        assert_clean(&odm).await;
        // So does everything that is compared.
        raw(&t, "logmsg")
            .update_many(doc! { "message": "new" }, doc! { "$set": { "ipaddr": "wrong" } })
            .await
            .unwrap();
        raw(&t, "logmsg")
            .update_one(doc! { "message": "new" }, doc! { "$set": { "_copied": "?" } })
            .await
            .unwrap();
        reconciler.stop().await.unwrap();
        raw(&t, "_odm_state").delete_many(doc! {}).await.unwrap();
        let reconciler = odm.reconciler().start().await.unwrap();
        soon(&reconciler).await;
        let audit = odm.audit().await.unwrap();
        assert_eq!(audit.stale_copies(), 1, "{audit}");
        reconciler.stop().await.unwrap();
    });
}

/// Several at once do no harm, whichever of them comes first and whichever ends.
#[odm_tests::test]
fn several_reconcilers_together_repair_everything() {
    with_transactions(async |t| {
        // The writer has no transactions: SecantusDB hangs where an `updateMany` of a reconciler meets a transaction of the writer.
        let odm = t.standalone_of(&logs(&t).await).await;
        let (a, b) = (host(&odm, "1", 10).await, host(&odm, "2", 10).await);
        let mut reconcilers = Vec::new();
        for _ in 0..3 {
            let other = Odm::new(t.db.clone(), models![Host, LogMsg]).unwrap();
            reconcilers.push(other.reconciler().start().await.unwrap());
        }
        for round in 0..6 {
            for (n, host) in [a.id, b.id].into_iter().enumerate() {
                let ipaddr = format!("10.{round}.1.{n}");
                raw(&t, "hosts")
                    .update_one(doc! { "_id": host }, doc! { "$set": { "ipaddr": ipaddr } })
                    .await
                    .unwrap();
            }
            raw(&t, "logmsg")
                .update_one(
                    doc! { "message": "3", "host": b.id },
                    doc! { "$set": { "ipaddr": "wrong", "host": a.id } },
                )
                .await
                .unwrap();
            raw(&t, "logmsg")
                .delete_one(doc! { "message": round.to_string(), "host": a.id })
                .await
                .unwrap();
            // The library writes itself at the same time as the reconciler repairs.
            let message = NewLogMsg {
                time: DateTime::from_millis(100 + round),
                message: "new".into(),
                host: b.to_ref(),
            };
            odm.collection::<LogMsg>().insert(message).await.unwrap();
            match round {
                // One is dropped on the way, and one is ended.
                2 => drop(reconcilers.pop()),
                4 => reconcilers.remove(0).stop().await.unwrap(),
                _ => {}
            }
            for reconciler in &reconcilers {
                reconciler.caught_up().await.unwrap();
            }
            odm.recover().await.unwrap();
            assert_clean(&odm).await;
        }
        let newest = odm.collection::<Host>().get(b.id).await.unwrap().unwrap();
        assert_eq!(
            newest.logmsgs.last().map(|line| line.message.as_str()),
            Some("new")
        );
        for reconciler in reconcilers {
            reconciler.stop().await.unwrap();
        }
        assert_clean(&odm).await;
    });
}

/// "an idle stream needs a heartbeat, or its token ages out of the oplog": without writes the resume token advances nevertheless.
#[odm_tests::test]
fn a_heartbeat_advances_the_resume_token_without_writes() {
    with_transactions(async |t| {
        let odm = logs(&t).await;
        let a = host(&odm, "1", 3).await;
        let reconciler = odm.reconciler().start().await.unwrap();
        reconciler.caught_up().await.unwrap();
        let place = async || place(&t).await.get_document("token").unwrap().clone();
        let before = place().await;
        let started = std::time::Instant::now();
        // Once a minute.
        while place().await == before {
            assert!(started.elapsed() < Duration::from_secs(90), "there is none");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(
            started.elapsed() > Duration::from_secs(30),
            "{:?}",
            started.elapsed()
        );
        // From there it goes on.
        raw(&t, "hosts")
            .update_one(doc! { "_id": a.id }, doc! { "$set": { "ipaddr": "10.5.5.5" } })
            .await
            .unwrap();
        reconciler.caught_up().await.unwrap();
        assert_clean(&odm).await;
        reconciler.stop().await.unwrap();
    });
}

/// A program that lacks a copy leaves out-of-band writes of its source to a program that has it, and goes on.
#[odm_tests::test]
fn a_reconciler_leaves_unknown_copies_to_another_one() {
    mod fewer {
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
        #[document(collection = "streets")]
        pub struct Street {
            #[serde(rename = "_id")]
            pub id: i32,
            #[reference]
            pub town: Ref<Town>,
            #[denormalize(from = town.name, consistency = eventual)]
            pub town_name: String,
        }
    }
    mod all {
        use odm::prelude::*;
        use serde::{Deserialize, Serialize};

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "towns")]
        pub struct Town {
            #[serde(rename = "_id")]
            pub id: i32,
            pub name: String,
            pub code: String,
        }

        #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
        #[document(collection = "streets")]
        pub struct Street {
            #[serde(rename = "_id")]
            pub id: i32,
            #[reference]
            pub town: Ref<Town>,
            #[denormalize(from = town.name, consistency = eventual)]
            pub town_name: String,
            #[denormalize(from = town.code, consistency = eventual)]
            pub town_code: String,
        }
    }
    use odm_examples::one_to_squillions as log;
    with_transactions(async |t| {
        let whole = Odm::new(
            t.db.clone(),
            models![all::Town, all::Street, log::Host, log::LogMsg],
        )
        .unwrap();
        whole.sync().await.unwrap();
        let town = all::Town {
            id: 1,
            name: "a".into(),
            code: "a".into(),
        };
        whole.collection::<all::Town>().insert(town).await.unwrap();
        let street = all::NewStreet {
            id: 1,
            town: Ref::new(1),
        };
        whole.collection::<all::Street>().insert(street).await.unwrap();
        let host = host(&whole, "1", 3).await;
        let older = Odm::new(
            t.db.clone(),
            models![fewer::Town, fewer::Street, log::Host, log::LogMsg],
        )
        .unwrap();
        let told = older.sync().await.unwrap_err();
        assert!(
            matches!(&told, odm::Error::UnknownCopies { edges } if edges == &["streets.town_code from towns.code"]),
            "{told}"
        );

        let reconciler = older.reconciler().start().await.unwrap();
        let set = doc! { "$set": { "name": "b", "code": "b" } };
        raw(&t, "towns").update_one(doc! { "_id": 1 }, set).await.unwrap();
        let set = doc! { "$set": { "ipaddr": "10.3.3.3" } };
        raw(&t, "hosts")
            .update_one(doc! { "_id": host.id }, set)
            .await
            .unwrap();
        reconciler.caught_up().await.unwrap();
        // Copies that it knows are repaired, also after changes that it skipped.
        let of_host = whole.collection::<LogMsg>();
        assert_eq!(
            of_host.find(|m| m.ipaddr.eq("10.3.3.3")).count().await.unwrap(),
            3
        );
        let street = async || whole.collection::<all::Street>().get(1).await.unwrap().unwrap();
        let of_town = |street: all::Street| (street.town_name, street.town_code);
        assert_eq!(
            of_town(street().await),
            ("a".to_owned(), "a".to_owned()),
            "not one of the two"
        );
        reconciler.stop().await.unwrap();

        reconcile(&whole).await;
        assert_eq!(of_town(street().await), ("b".to_owned(), "b".to_owned()));
        assert_clean(&whole).await;
    });
}
