//! What other programs write, and undone writes: found, and repaired.

use crate::claims::{Account, Bank, Card, User, account, assert_claimed, faults, models, odm, taken, user};
use futures::future::{BoxFuture, FutureExt};
use odm::bson::{Document as Doc, doc};
use odm::mongodb::Collection;
use odm::prelude::*;
use odm::upkeep::RepairKind;
use odm::{Error, Odm};
use odm_tests::fixtures::interleaved::{Step, meddled};
use odm_tests::{TestDb, assert_clean_after, with_transactions};

fn raw(t: &TestDb, name: &str) -> Collection<Doc> {
    t.db.collection(name)
}

/// The repairs, each with its count.
async fn repaired(odm: &Odm) -> Vec<(RepairKind, u64)> {
    let repaired = odm.repair_all().await.unwrap();
    assert!(repaired.left.is_clean(), "{repaired}");
    repaired
        .repairs
        .iter()
        .map(|repair| (repair.what, repair.count))
        .collect()
}

#[odm_tests::test]
fn each_fault_is_found_and_repaired() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let users = odm.collection::<User>();
        users
            .insert_many((1..=4).map(|id| user(id, &format!("u{id}"))))
            .await
            .unwrap();
        let (documents, claims) = (raw(&t, "users"), raw(&t, "_odm_claims.users"));
        let of = |id: i64| doc! { "owner": id };
        let found = async |told: &str, expected: &[(RepairKind, u64)]| {
            let audit = odm.audit().await.unwrap();
            assert!(audit.to_string().contains(told), "{told}: {audit}");
            assert_eq!(repaired(&odm).await, expected, "{told}");
            assert_claimed(&odm, told).await;
        };
        // No owner.
        documents.delete_one(doc! { "_id": 1_i64 }).await.unwrap();
        let told = "`_odm_claims.users`.`owner`: 1 of the 4 claims has an owner in `users` that has not these values";
        found(told, &[(RepairKind::Freed, 1)]).await;
        let deleted = doc! { "$set": { "deleted_at": DateTime::now() } };
        documents
            .update_one(doc! { "_id": 2_i64 }, deleted)
            .await
            .unwrap();
        found("1 of the 3 claims", &[(RepairKind::Freed, 1)]).await;
        // No claim.
        claims.delete_one(of(3)).await.unwrap();
        let told = "`users`.`email`: 1 of the 2 values is not claimed by its document in `_odm_claims.users`, or claimed by another";
        found(told, &[(RepairKind::Claimed, 1)]).await;
        // Another owner: one that is gone, and one that has another value.
        claims
            .update_one(of(3), doc! { "$set": { "owner": 99_i64 } })
            .await
            .unwrap();
        found(
            "`_odm_claims.users`.`owner`: 1 of",
            &[(RepairKind::Freed, 1), (RepairKind::Claimed, 1)],
        )
        .await;
        claims
            .update_one(of(3), doc! { "$set": { "owner": 4_i64 } })
            .await
            .unwrap();
        found(
            "`users`.`email`: 1 of",
            &[(RepairKind::Freed, 1), (RepairKind::Claimed, 1)],
        )
        .await;
        // Another value.
        documents
            .update_one(doc! { "_id": 4_i64 }, doc! { "$set": { "email": "x" } })
            .await
            .unwrap();
        found(
            "`users`.`email`: 1 of",
            &[(RepairKind::Freed, 1), (RepairKind::Claimed, 1)],
        )
        .await;
        // Two of them exchange their values.
        documents
            .update_one(doc! { "_id": 4_i64 }, doc! { "$set": { "email": "u3" } })
            .await
            .unwrap();
        documents
            .update_one(doc! { "_id": 3_i64 }, doc! { "$set": { "email": "x" } })
            .await
            .unwrap();
        found(
            "2 of the 2 values",
            &[(RepairKind::Freed, 2), (RepairKind::Claimed, 2)],
        )
        .await;
        // A chosen collection, and what an audit has found.
        claims.delete_many(doc! {}).await.unwrap();
        let audit = odm.audit().collection::<User>().await.unwrap();
        assert_eq!(audit.wrong(), 2, "{audit}");
        assert_eq!(odm.repair(&audit).await.unwrap().repaired, 2);
        documents.delete_many(doc! {}).await.unwrap();
        let audit = odm.audit().collection::<User>().await.unwrap();
        assert_eq!(audit.wrong(), 2, "{audit}");
        assert_eq!(odm.repair(&audit).await.unwrap().repaired, 2);
        assert_claimed(&odm, "chosen").await;
    });
}

#[odm_tests::test]
fn the_reconciler_claims_and_frees_what_others_write() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let users = odm.collection::<User>();
        users
            .insert_many((1..=4).map(|id| user(id, &format!("u{id}"))))
            .await
            .unwrap();
        odm.collection::<Account>().insert(account(1, 10)).await.unwrap();
        let reconciler = odm.reconciler().start().await.unwrap();
        let documents = raw(&t, "users");
        let set = async |id: i64, set: Doc| {
            drop(
                documents
                    .update_one(doc! { "_id": id }, doc! { "$set": set })
                    .await
                    .unwrap(),
            )
        };
        set(1, doc! { "email": "x" }).await;
        set(2, doc! { "deleted_at": DateTime::now() }).await;
        documents.delete_one(doc! { "_id": 3_i64 }).await.unwrap();
        set(4, doc! { "email": null }).await;
        let new = doc! { "_id": 5_i64, "tenant": 1_i64, "email": "u3", "handle": "h", "team": 1_i64, "name": "", "deleted_at": null };
        documents.insert_one(new).await.unwrap();
        raw(&t, "accounts").delete_one(doc! {}).await.unwrap();
        reconciler.caught_up().await.unwrap();
        reconciler.stop().await.unwrap();
        assert_claimed(&odm, "others").await;
        assert_eq!(taken(users.insert(user(6, "x")).await), doc! { "email": "x" });
    });
}

/// Whether it is this command.
fn is(name: &'static str) -> fn(&str, &Doc) -> bool {
    match name {
        "commit" => |sent, _| sent == "commitTransaction",
        "insert of accounts" => {
            |sent, command| sent == "insert" && command.get_str(sent).is_ok_and(|name| name == "accounts")
        }
        "find by conditions" => |sent, command| {
            sent == "find"
                && command
                    .get_document("filter")
                    .is_ok_and(|of| of.contains_key("$or"))
        },
        _ => panic!("{name}"),
    }
}

/// A step of another process before a command.
fn step(
    t: &TestDb,
    before: &'static str,
    work: impl Fn(Odm) -> BoxFuture<'static, ()> + Send + Sync + 'static,
) -> Step {
    let name = t.db.name().to_owned();
    let step = move |runtime: &tokio::runtime::Runtime| {
        runtime.block_on(async {
            let (client, _) = odm_tests::client().await;
            work(Odm::new(client.database(&name), models()).unwrap()).await;
        });
    };
    (is(before), Box::new(step))
}

/// A step that deletes a document before the commit.
fn deletes(t: &TestDb, collection: &'static str, id: i64) -> Step {
    step(t, "commit", move |other| {
        async move {
            let of = other.database().collection::<Doc>(collection);
            of.delete_one(doc! { "_id": id }).await.unwrap();
        }
        .boxed()
    })
}

#[odm_tests::test]
fn an_undone_write_gives_its_values_up_and_claims_those_of_before() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let accounts = odm.collection::<Account>();
        accounts.insert(account(1, 10)).await.unwrap();
        let bank = async |id| {
            odm.collection::<Bank>().insert(Bank { id }).await.unwrap();
        };
        let card = |id, bank, digits: &str| Card {
            id,
            account: Ref::new(1),
            bank: Ref::new(bank),
            digits: digits.into(),
        };
        bank(1).await;
        bank(2).await;
        odm.collection::<Card>().insert(card(1, 1, "7")).await.unwrap();
        // Its bank is gone when the insert is committed.
        let (meddled_with, steps) = meddled(&odm, models(), vec![deletes(&t, "banks", 2)]).await;
        let refused = meddled_with.collection::<Card>().insert(card(2, 2, "8")).await;
        assert!(
            matches!(refused, Err(Error::MissingReference { .. })),
            "{refused:?}"
        );
        assert_eq!(steps.load(std::sync::atomic::Ordering::SeqCst), 1);
        assert_claimed(&odm, "an undone insert").await;
        bank(2).await;
        // And so is the bank of an updated card, which is a part of its key.
        let (meddled_with, _) = meddled(&odm, models(), vec![deletes(&t, "banks", 2)]).await;
        let cards = meddled_with.collection::<Card>();
        let refused = cards
            .update(1)
            .set(|c| c.bank, Ref::new(2))
            .set(|c| c.digits, "9")
            .await;
        assert!(
            matches!(refused, Err(Error::MissingReference { .. })),
            "{refused:?}"
        );
        assert_claimed(&odm, "an undone update").await;
        let stored = odm.collection::<Card>().get(1).required().await.unwrap();
        assert_eq!((stored.bank, stored.digits.as_str()), (Ref::new(1), "9"));
        // Of another tree.
        bank(2).await;
        let (meddled_with, _) = meddled(&odm, models(), vec![deletes(&t, "banks", 2)]).await;
        let cards = meddled_with.collection::<Card>();
        let refused = cards.replace(card(1, 2, "10")).await;
        assert!(
            matches!(refused, Err(Error::MissingReference { .. })),
            "{refused:?}"
        );
        assert_claimed(&odm, "an undone replacement").await;
    });
}

/// A step that makes holds on these accounts before the commit.
fn holds(t: &TestDb, accounts: &'static [i64]) -> Step {
    step(t, "commit", |other| {
        let holds = accounts.iter().map(|id| doc! { "_id": *id, "account": *id });
        async move {
            let of = other.database().collection::<Doc>("holds");
            of.insert_many(holds).await.unwrap();
        }
        .boxed()
    })
}

/// Deletes the accounts 1 and 2, on which holds are made, while another process does something before they are put back. Gives how that ends, and
/// which accounts there are then.
async fn put_back(
    t: &TestDb,
    odm: &Odm,
    meets: impl Fn(Odm) -> BoxFuture<'static, ()> + Send + Sync + 'static,
) -> (odm::Result<()>, Vec<i64>) {
    let accounts = odm.collection::<Account>();
    accounts
        .insert_many([account(1, 10), account(2, 20)])
        .await
        .unwrap();
    let steps = vec![holds(t, &[1, 2]), step(t, "insert of accounts", meets)];
    let (meddled_with, taken) = meddled(odm, models(), steps).await;
    let deleted = meddled_with
        .collection::<Account>()
        .delete_where(|a| a.id.lte(2))
        .await;
    assert_eq!(taken.load(std::sync::atomic::Ordering::SeqCst), 2);
    let faults = faults(&t.db).await;
    assert!(faults.is_empty(), "{faults:#?}");
    let there = accounts.find_all().sort(|a| a.id.asc()).all().await.unwrap();
    (
        deleted.map(drop),
        there.into_iter().map(|account| account.id).collect(),
    )
}

#[odm_tests::test]
fn an_undone_deletion_leaves_values_to_a_document_that_has_taken_them() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let takes = |other: Odm| {
            async move {
                let accounts = other.collection::<Account>();
                accounts.insert(account(3, 10)).await.unwrap();
            }
            .boxed()
        };
        let (refused, there) = put_back(&t, &odm, takes).await;
        assert_eq!(taken(refused), doc! { "number": 10_i64 });
        assert_eq!(there, [2, 3]);
        let accounts = odm.collection::<Account>();
        assert_eq!(
            taken(accounts.insert(account(4, 20)).await),
            doc! { "number": 20_i64 }
        );
        accounts.delete(3).await.unwrap();
        accounts.insert(account(4, 10)).await.unwrap();
        assert_eq!(
            accounts.get_by(|a| a.number, 10).await.unwrap().map(|a| a.id),
            Some(4)
        );
    });
}

#[odm_tests::test]
fn an_undone_deletion_takes_values_from_a_claim_without_an_owner() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let claims = |other: Odm| {
            async move {
                let claim = doc! { "_id": { "number": 10_i64 }, "owner": 99_i64, "writes": 1_i64 };
                let claims = other.database().collection::<Doc>("_odm_claims.accounts");
                claims.insert_one(claim).await.unwrap();
            }
            .boxed()
        };
        let (refused, there) = put_back(&t, &odm, claims).await;
        assert!(
            matches!(refused, Err(Error::StillReferenced { .. })),
            "{refused:?}"
        );
        assert_eq!(there, [1, 2]);
        assert_claimed(&odm, "a claim without an owner").await;
    });
}

#[odm_tests::test]
fn an_undone_deletion_leaves_a_document_that_is_there_again() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let inserts = |other: Odm| {
            async move {
                let accounts = other.collection::<Account>();
                accounts.insert(account(1, 30)).await.unwrap();
            }
            .boxed()
        };
        let (refused, there) = put_back(&t, &odm, inserts).await;
        assert!(
            matches!(refused, Err(Error::StillReferenced { .. })),
            "{refused:?}"
        );
        assert_eq!(there, [1, 2]);
        assert_claimed(&odm, "an insert with the id").await;
        let accounts = odm.collection::<Account>();
        assert_eq!(accounts.get(1).required().await.unwrap().number, 30);
    });
}

/// Two cards, the second of which has not claimed its values, and the banks 1 to 3.
async fn two_cards(t: &TestDb) -> Odm {
    let odm = odm(t).await;
    odm.collection::<Account>().insert(account(1, 10)).await.unwrap();
    let banks = (1..=3).map(|id| Bank { id });
    odm.collection::<Bank>().insert_many(banks).await.unwrap();
    let card = Card {
        id: 1,
        account: Ref::new(1),
        bank: Ref::new(1),
        digits: "7".into(),
    };
    odm.collection::<Card>().insert(card).await.unwrap();
    let other = doc! { "_id": 2_i64, "account": 1_i64, "bank": 2_i64, "digits": "5" };
    raw(t, "cards").insert_one(other).await.unwrap();
    odm
}

/// Gives both cards the bank 2, which is deleted meanwhile: that changes the first, and is undone, with these steps before that.
async fn undone(t: &TestDb, odm: &Odm, steps: impl IntoIterator<Item = Step>) {
    let steps: Vec<Step> = [deletes(t, "banks", 2)].into_iter().chain(steps).collect();
    let number = steps.len();
    let (meddled_with, taken) = meddled(odm, models(), steps).await;
    let cards = meddled_with.collection::<Card>();
    let refused = cards
        .update_where(|c| c.id.lte(2))
        .set(|c| c.bank, Ref::new(2))
        .await;
    assert!(
        matches!(refused, Err(Error::MissingReference { .. })),
        "{refused:?}"
    );
    assert_eq!(taken.load(std::sync::atomic::Ordering::SeqCst), number);
}

#[odm_tests::test]
fn an_undone_write_claims_nothing_for_documents_that_it_has_not_changed() {
    with_transactions(async |t| {
        let odm = two_cards(&t).await;
        // A duplicate from before would be refused.
        let card = Card {
            id: 3,
            account: Ref::new(1),
            bank: Ref::new(2),
            digits: "5".into(),
        };
        odm.collection::<Card>().insert(card).await.unwrap();
        let before = faults(&t.db).await;
        assert_eq!(before.len(), 1, "{before:#?}");
        undone(&t, &odm, []).await;
        assert_eq!(faults(&t.db).await, before);
        let stored = odm.collection::<Card>().get(1).required().await.unwrap();
        assert_eq!((stored.bank, stored.digits.as_str()), (Ref::new(1), "7"));
    });
}

#[odm_tests::test]
fn an_undone_write_leaves_the_claims_of_others_to_their_writes() {
    with_transactions(async |t| {
        let odm = two_cards(&t).await;
        let moves = step(&t, "commit", |other| {
            async move {
                let cards = other.collection::<Card>();
                cards.update(2).set(|c| c.digits, "6").await.unwrap();
            }
            .boxed()
        });
        undone(&t, &odm, [moves]).await;
        assert!(faults(&t.db).await.is_empty(), "{:#?}", faults(&t.db).await);
    });
}

#[odm_tests::test]
fn an_undone_write_leaves_a_document_that_has_changed_since() {
    with_transactions(async |t| {
        let odm = two_cards(&t).await;
        let moves = step(&t, "find by conditions", |other| {
            async move {
                let cards = other.collection::<Card>();
                cards.update(1).set(|c| c.bank, Ref::new(3)).await.unwrap();
            }
            .boxed()
        });
        undone(&t, &odm, [moves]).await;
        let stored = odm.collection::<Card>().get(1).required().await.unwrap();
        assert_eq!((stored.bank, stored.digits.as_str()), (Ref::new(3), "7"));
        let faults = faults(&t.db).await;
        assert_eq!(faults.len(), 1, "that from before: {faults:#?}");
        assert!(faults[0].contains("of 2 is claimed by None"), "{faults:#?}");
    });
}

#[odm_tests::test]
fn a_document_whose_deletion_is_undone_claims_its_values_again() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        odm.collection::<Account>().insert(account(1, 10)).await.unwrap();
        // The hold comes when the deletion has looked for holds.
        let (meddled_with, _) = meddled(&odm, models(), vec![holds(&t, &[1])]).await;
        let refused = meddled_with.collection::<Account>().delete(1).await;
        assert!(
            matches!(refused, Err(Error::StillReferenced { .. })),
            "{refused:?}"
        );
        assert!(faults(&t.db).await.is_empty(), "{:#?}", faults(&t.db).await);
        assert_clean_after(&odm, "an undone deletion").await;
        assert_eq!(
            taken(odm.collection::<Account>().insert(account(2, 10)).await),
            doc! { "number": 10_i64 }
        );
    });
}
