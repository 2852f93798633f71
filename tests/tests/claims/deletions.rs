//! Deletions of every kind give values up, and restorations claim them.

use crate::claims::{Account, Badge, Bank, Card, User, account, assert_claimed, faults, odm, taken, user};
use odm::__private::SwitchBulk as _;
use odm::bson::doc;
use odm::prelude::*;
use odm::{Error, Odm};
use odm_tests::with_transactions;

async fn users(odm: &Odm) -> odm::Collection<User> {
    let users = odm.collection::<User>();
    users
        .insert_many((1..=4).map(|id| user(id, &format!("u{id}"))))
        .await
        .unwrap();
    let badge = |id, user, code: &str| Badge {
        id,
        user: Ref::new(user),
        code: code.into(),
        deleted_at: None,
    };
    let badges = [badge(1, 1, "one"), badge(2, 1, "two"), badge(3, 2, "three")];
    odm.collection::<Badge>().insert_many(badges).await.unwrap();
    users
}

#[odm_tests::test]
fn a_deletion_that_keeps_the_document_gives_its_values_up() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let users = users(&odm).await;
        users.delete(1).await.unwrap();
        assert_claimed(&odm, "a deletion with its cascade").await;
        users.insert(user(9, "u1")).await.unwrap();
        let badge = Badge {
            id: 9,
            user: Ref::new(9),
            code: "one".into(),
            deleted_at: None,
        };
        odm.collection::<Badge>().insert(badge).await.unwrap();
        let refused = users.restore(1).await;
        assert_eq!(taken(refused), doc! { "email": "u1" });
        assert_claimed(&odm, "a refused restoration").await;
        users.update(9).set(|u| u.email, None).await.unwrap();
        // That of the badge is taken.
        assert_eq!(taken(users.restore(1).await), doc! { "code": "one" });
        assert_claimed(&odm, "a restoration that is refused below").await;
        odm.collection::<Badge>().delete(9).await.unwrap();
        let restored = users.restore(1).await.unwrap();
        assert_eq!((restored.restored, restored.cascaded), (true, 2));
        assert_claimed(&odm, "a restoration").await;
    });
}

#[odm_tests::test]
fn deletions_by_conditions_and_purges_give_values_up() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let users = users(&odm).await;
        users.delete_where(|u| u.id.gte(3)).await.unwrap();
        assert_claimed(&odm, "delete_where").await;
        users.delete_first(|u| u.id.eq(2)).await.unwrap();
        assert_claimed(&odm, "delete_first").await;
        users.restore(3).await.unwrap();
        users.delete_by(|u| u.email, "u3").await.unwrap();
        users.purge_where(|u| u.id.gte(3)).await.unwrap();
        assert_claimed(&odm, "purge_where").await;
        users.delete(1).await.unwrap();
        users.purge(1).await.unwrap();
        users.purge(2).await.unwrap();
        assert!(faults(&t.db).await.is_empty());
        assert_eq!(users.find_all().count().await.unwrap(), 0);
        assert_eq!(
            t.db.collection::<odm::bson::Document>("_odm_claims.users")
                .count_documents(doc! {})
                .await
                .unwrap(),
            0
        );
    });
}

#[odm_tests::test]
fn removals_give_values_up_with_those_of_their_cascade() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let accounts = odm.collection::<Account>();
        odm.collection::<Bank>().insert(Bank { id: 1 }).await.unwrap();
        accounts
            .insert_many((1..=4).map(|id| account(id, id * 10)))
            .await
            .unwrap();
        let cards = (1..=8).map(|id| Card {
            id,
            account: Ref::new((id + 1) / 2),
            bank: Ref::new(1),
            digits: id.to_string(),
        });
        odm.collection::<Card>().insert_many(cards).await.unwrap();
        let done = accounts.delete(1).await.unwrap();
        assert_eq!((done.deleted, done.cascaded), (1, 2));
        assert_claimed(&odm, "delete").await;
        let stored = accounts.get(2).required().await.unwrap();
        accounts.delete(&stored).await.unwrap();
        assert_claimed(&odm, "delete of a version").await;
        accounts.delete_first(|a| a.id.eq(3)).await.unwrap();
        assert_claimed(&odm, "delete_first").await;
        odm.collection::<Card>().delete(7).await.unwrap();
        let in_transaction = odm.transaction(async |tx| {
            let accounts = tx.collection::<Account>();
            accounts.delete_all().await?;
            accounts.insert(account(9, 40)).await.map(drop)
        });
        in_transaction.await.unwrap();
        assert_claimed(&odm, "delete_all in a transaction").await;
        let bulk = odm.bulk().without_bulk_write_command().add(accounts.delete(9));
        bulk.add(accounts.insert(account(10, 40))).await.unwrap();
        assert_claimed(&odm, "a bulk").await;
        // A reference restricts it.
        let bank = odm.collection::<Bank>();
        accounts
            .update(10)
            .set(|a| a.bank, Some(Ref::new(1)))
            .await
            .unwrap();
        assert!(matches!(bank.delete(1).await, Err(Error::StillReferenced { .. })));
    });
}

#[odm_tests::test]
fn thousands_of_documents_give_their_values_up_in_parts() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let accounts = odm.collection::<Account>();
        accounts
            .insert_many((0..1_100).map(|id| account(id, id)))
            .await
            .unwrap();
        accounts
            .update_where(|a| a.id.lt(1_050))
            .inc(|a| a.number, 100_000)
            .await
            .unwrap();
        assert_claimed(&odm, "an update in parts").await;
        accounts.delete_where(|a| a.id.lt(1_020)).await.unwrap();
        assert_claimed(&odm, "a deletion in parts").await;
        let users = odm.collection::<User>();
        users
            .insert_many((0..1_100).map(|id| user(id, &format!("u{id}"))))
            .await
            .unwrap();
        users.delete_where(|u| u.id.lt(1_050)).await.unwrap();
        assert_claimed(&odm, "a deletion that keeps them, in parts").await;
    });
}
