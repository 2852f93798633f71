//! Every write that gives a document a value, keeps it, or takes it away.

use crate::claims::{Account, Label, NewAccount, NewUser, User, account, assert_claimed, odm, taken, user};
use futures::future::join_all;
use odm::__private::SwitchBulk as _;
use odm::bson::{Document as Doc, doc};
use odm::prelude::*;
use odm::write::Tree;
use odm::{Error, Odm};
use odm_tests::with_transactions;

fn new_user(id: i64, email: Option<&str>) -> NewUser {
    NewUser {
        id,
        tenant: id % 3,
        email: email.map(str::to_owned),
        handle: None,
        team: 1,
        name: String::new(),
    }
}

async fn two_users(odm: &Odm) -> odm::Collection<User> {
    let users = odm.collection::<User>();
    users.insert_many([user(1, "a"), user(2, "b")]).await.unwrap();
    users
}

#[odm_tests::test]
fn an_insert_claims_its_values_and_none_claims_nothing() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let users = odm.collection::<User>();
        users.insert(new_user(1, Some("a"))).await.unwrap();
        users.insert(new_user(2, None)).await.unwrap();
        users.insert(new_user(3, None)).await.unwrap();
        assert_claimed(&odm, "inserts").await;
        let error = users.insert(new_user(4, Some("a"))).await.unwrap_err();
        match &error {
            Error::DuplicateKey {
                collection,
                index,
                fields,
                value,
                existing,
                ..
            } => {
                assert_eq!((collection.as_str(), index.as_str()), ("users", "email_1"));
                assert_eq!(fields, &["email"]);
                assert_eq!(**value, doc! { "email": "a" });
                assert_eq!(*existing, None);
            }
            error => panic!("{error:?}"),
        }
        assert!(error.to_string().contains("`email` \"a\""), "{error}");
        assert_eq!(users.find_all().count().await.unwrap(), 3);
        assert_claimed(&odm, "a refused insert").await;
    });
}

#[odm_tests::test]
fn a_key_of_several_fields_is_claimed_as_a_whole() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let users = odm.collection::<User>();
        let of_team = |id, handle: &str, team| User {
            handle: Some(handle.to_owned()),
            team,
            ..user(id, "")
        };
        users
            .insert_many([of_team(1, "kate", 1), of_team(2, "kate", 2)])
            .await
            .unwrap();
        let refused = users.insert(of_team(3, "kate", 2)).await;
        assert_eq!(taken(refused), doc! { "handle": "kate", "team": 2_i64 });
        let refused = users.update(2).set(|u| u.team, 1).await;
        assert_eq!(taken(refused), doc! { "handle": "kate", "team": 1_i64 });
        users.update(1).set(|u| u.team, 3).await.unwrap();
        users.update(2).set(|u| u.team, 1).await.unwrap();
        users.update(1).set(|u| u.handle, None).await.unwrap();
        assert_claimed(&odm, "a key of two fields").await;
    });
}

#[odm_tests::test]
fn many_inserts_are_refused_at_the_position_of_the_duplicate() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let users = two_users(&odm).await;
        for ordered in [true, false] {
            let insert = users.insert_many([user(3, "c"), user(4, "b"), user(5, "e")]);
            let insert = if ordered { insert } else { insert.unordered() };
            match insert.await.unwrap_err() {
                Error::InsertMany { inserted, errors, .. } => {
                    assert_eq!((inserted, errors.len(), errors[0].0), (0, 1, 1));
                    assert_eq!(
                        taken(Err::<(), _>(errors.into_iter().next().unwrap().1)),
                        doc! { "email": "b" }
                    );
                }
                error => panic!("{error:?}"),
            }
        }
        // Two of one insert have the same value.
        let refused = users.insert_many([user(3, "c"), user(4, "c")]).await;
        assert_eq!(taken(refused), doc! { "email": "c" });
        assert_eq!(users.find_all().count().await.unwrap(), 2);
        assert_claimed(&odm, "refused inserts").await;
        // More than one transaction holds.
        let many: Vec<User> = (10..1_100).map(|id| user(id, &format!("m{id}"))).collect();
        users.insert_many(many).await.unwrap();
        assert_claimed(&odm, "many inserts").await;
    });
}

#[odm_tests::test]
fn every_way_of_an_update_moves_the_claim() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let users = two_users(&odm).await;
        let a = || "a".to_owned();
        users.update(1).set(|u| u.email, Some("x".into())).await.unwrap();
        assert_claimed(&odm, "update").await;
        users
            .update(1)
            .set(|u| u.email, Some(a()))
            .returning()
            .await
            .unwrap();
        users
            .update(1)
            .set(|u| u.email, Some("x".into()))
            .returning_before()
            .await
            .unwrap();
        assert_claimed(&odm, "update returning").await;
        users
            .update_by(|u| u.email, "x")
            .set(|u| u.email, Some(a()))
            .await
            .unwrap();
        assert_claimed(&odm, "update_by").await;
        let first = users.update_first(|u| u.email.eq(Some(a())));
        first.set(|u| u.email, Some("x".into())).await.unwrap();
        assert_claimed(&odm, "update_first").await;
        let done = users
            .update_where(|u| u.id.lte(1))
            .set(|u| u.email, Some(a()))
            .await
            .unwrap();
        assert_eq!(done.modified, 1);
        assert_claimed(&odm, "update_where").await;
        // Two documents, one value.
        let refused = users.update_all().set(|u| u.email, Some("x".into())).await;
        assert_eq!(taken(refused), doc! { "email": "x" });
        users.update_all().set(|u| u.email, None).await.unwrap();
        assert_claimed(&odm, "update_all").await;
        users.update(2).set(|u| u.email, Some("b".into())).await.unwrap();
        for refused in [
            users.update(1).set(|u| u.email, Some("b".into())).await,
            users
                .update_where(|u| u.id.eq(1))
                .set(|u| u.email, Some("b".into()))
                .await,
            users
                .update_first(|u| u.id.eq(1))
                .set(|u| u.email, Some("b".into()))
                .await,
        ] {
            assert_eq!(taken(refused), doc! { "email": "b" });
        }
        assert_claimed(&odm, "refused updates").await;
        // The same value, and another field.
        users.update(2).set(|u| u.email, Some("b".into())).await.unwrap();
        users.update(2).set(|u| u.name, "Bea".to_owned()).await.unwrap();
        assert_claimed(&odm, "a kept value").await;
    });
}

#[odm_tests::test]
fn operators_change_the_value_as_the_server_computes_it() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let accounts = odm.collection::<Account>();
        accounts
            .insert_many([account(1, 10), account(2, 20)])
            .await
            .unwrap();
        accounts.update(1).inc(|a| a.number, 5).await.unwrap();
        assert_claimed(&odm, "inc").await;
        accounts.update(1).mul(|a| a.number, 2).await.unwrap();
        accounts.update(1).max(|a| a.number, 40).await.unwrap();
        accounts.update(1).min(|a| a.number, 7).await.unwrap();
        assert_claimed(&odm, "mul, max, min").await;
        assert_eq!(accounts.get_by(|a| a.number, 7).await.unwrap().unwrap().id, 1);
        let refused = accounts.update(1).inc(|a| a.number, 13).await;
        assert_eq!(taken(refused), doc! { "number": 20_i64 });
        let all = accounts.update_all().inc(|a| a.number, 13).await.unwrap();
        assert_eq!(all.modified, 2);
        assert_claimed(&odm, "inc of all, past each other").await;
    });
}

#[odm_tests::test]
fn replacements_and_saves_claim_what_they_store() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let users = two_users(&odm).await;
        users.replace(user(1, "x")).await.unwrap();
        users.replace(user(1, "x")).await.unwrap();
        assert_claimed(&odm, "replace").await;
        assert_eq!(taken(users.replace(user(1, "b")).await), doc! { "email": "b" });
        users.save(user(1, "a")).await.unwrap();
        users.save(user(3, "c")).await.unwrap();
        assert_claimed(&odm, "save").await;
        assert_eq!(taken(users.save(user(4, "c")).await), doc! { "email": "c" });
        assert_eq!(taken(users.save(user(2, "c")).await), doc! { "email": "c" });
        users.replace(user(2, "")).await.unwrap();
        assert_claimed(&odm, "replaced by none").await;
        let accounts = odm.collection::<Account>();
        let mut one = accounts.insert(account(1, 10)).await.unwrap();
        one.number = 11;
        let one = accounts.save(one).await.unwrap().document;
        accounts.update(&one).set(|a| a.number, 12).await.unwrap();
        assert_claimed(&odm, "with a version").await;
    });
}

#[odm_tests::test]
fn upserts_claim_what_they_insert_and_what_they_change() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let accounts = odm.collection::<Account>();
        let name = || String::new();
        accounts
            .update(1)
            .set(|a| a.number, 10)
            .set(|a| a.name, name())
            .upsert()
            .await
            .unwrap();
        assert_claimed(&odm, "an upsert that inserts").await;
        accounts
            .update(1)
            .set(|a| a.number, 11)
            .set(|a| a.name, name())
            .upsert()
            .await
            .unwrap();
        assert_claimed(&odm, "an upsert that changes").await;
        let refused = accounts
            .update(2)
            .set(|a| a.number, 11)
            .set(|a| a.name, name())
            .upsert()
            .await;
        assert_eq!(taken(refused), doc! { "number": 11_i64 });
        let labels = odm.collection::<Label>();
        for uses in 1..=2 {
            labels
                .update_by(|l| l.word, "x")
                .inc(|l| l.uses, 1)
                .upsert()
                .await
                .unwrap();
            assert_claimed(&odm, "an upsert by the key").await;
            assert_eq!(labels.get_by(|l| l.word, "x").await.unwrap().unwrap().uses, uses);
        }
        let found = labels
            .update_where(|l| l.word.eq("x"))
            .inc(|l| l.uses, 1)
            .upsert()
            .await;
        assert_eq!(found.unwrap().modified, 1);
        // A document with the word does not match the rest of the condition.
        let refused = labels
            .update_where(|l| l.word.eq("x") & l.uses.eq(9))
            .inc(|l| l.uses, 1)
            .upsert()
            .await;
        assert_eq!(taken(refused), doc! { "word": "x" });
        let got = accounts
            .insert(account(9, 11))
            .or_get_by(|a| a.number)
            .await
            .unwrap();
        assert_eq!(got.document.id, 1);
        let new = accounts
            .insert(account(9, 13))
            .or_get_by(|a| a.number)
            .await
            .unwrap();
        assert_eq!(new.document.id, 9);
        assert_claimed(&odm, "or_get_by").await;
    });
}

#[odm_tests::test]
fn a_bulk_names_the_write_whose_value_is_taken() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let users = two_users(&odm).await;
        // The two exchange their values.
        let bulk = odm
            .bulk()
            .without_bulk_write_command()
            .add(users.update(1).set(|u| u.email, Some("b".into())));
        let bulk = bulk.add(users.update(2).set(|u| u.email, Some("a".into())));
        bulk.add(users.insert(user(3, "c"))).await.unwrap();
        assert_claimed(&odm, "a bulk").await;
        for ordered in [true, false] {
            let bulk = odm
                .bulk()
                .without_bulk_write_command()
                .add(users.update(1).set(|u| u.name, "x"));
            let bulk = bulk.add(users.insert(user(4, "c"))).add(users.delete(3));
            let bulk = if ordered { bulk } else { bulk.unordered() };
            match bulk.await {
                Err(Error::Bulk { errors, .. }) => {
                    assert_eq!(errors[0].0, 1);
                    assert_eq!(
                        taken(Err::<(), _>(errors.into_iter().next().unwrap().1)),
                        doc! { "email": "c" }
                    );
                }
                other => panic!("{other:?}"),
            }
            assert_claimed(&odm, "a refused bulk").await;
        }
    });
}

#[odm_tests::test]
fn a_transaction_claims_with_its_commit_and_nothing_without_it() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        two_users(&odm).await;
        let moved = odm.transaction(async |tx| {
            let users = tx.collection::<User>();
            users.update(1).set(|u| u.email, Some("x".into())).await?;
            users.insert(user(3, "a")).await?;
            users.update(1).set(|u| u.email, Some("y".into())).await?;
            users.delete(2).await?;
            users.insert(user(4, "b")).await.map(drop)
        });
        moved.await.unwrap();
        assert_claimed(&odm, "a transaction").await;
        let rolled_back = odm.transaction(async |tx| {
            let users = tx.collection::<User>();
            users.update(1).set(|u| u.email, Some("z".into())).await?;
            users.insert(user(5, "a")).await.map(drop)
        });
        assert_eq!(taken(rolled_back.await), doc! { "email": "a" });
        assert_claimed(&odm, "a transaction that is rolled back").await;
        // There and back.
        let back = odm.transaction(async |tx| {
            let users = tx.collection::<User>();
            users.update(1).set(|u| u.email, Some("z".into())).await?;
            users.update(1).set(|u| u.email, Some("y".into())).await.map(drop)
        });
        back.await.unwrap();
        assert_claimed(&odm, "there and back").await;
    });
}

#[odm_tests::test]
fn a_tree_is_inserted_with_the_claims_of_all_its_documents() {
    with_transactions(async |t| {
        use crate::claims::{Bank, Card, NewBank, NewCard};
        let odm = odm(&t).await;
        odm.collection::<Bank>()
            .insert_many([NewBank { id: 1 }, NewBank { id: 2 }])
            .await
            .unwrap();
        let new = |id, number| NewAccount {
            id,
            number,
            name: String::new(),
            bank: None,
        };
        let card = |id, account, digits: &str| NewCard {
            id,
            account,
            bank: odm::Ref::new(1),
            digits: digits.into(),
        };
        let tree = Tree::<Account>::new(new(1, 10)).with_trees(|account| {
            ["7", "8"].map(|digits| Tree::<Card>::new(card(digits.parse().unwrap(), account, digits)))
        });
        odm.collection::<Account>().insert_tree(tree).await.unwrap();
        assert_claimed(&odm, "a tree").await;
        let tree =
            Tree::<Account>::new(new(2, 20)).with_trees(|account| [Tree::<Card>::new(card(9, account, "8"))]);
        let refused = odm.collection::<Account>().insert_tree(tree).await;
        assert_eq!(taken(refused), doc! { "bank": 1_i64, "digits": "8" });
        assert_claimed(&odm, "a refused tree").await;
        assert_eq!(odm.collection::<Account>().find_all().count().await.unwrap(), 1);
    });
}

#[odm_tests::test]
fn a_document_is_got_by_its_claim_and_by_its_fields_where_there_may_be_none() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let users = two_users(&odm).await;
        let by_email = async |email: &str| {
            users
                .get_by(|u| u.email, email)
                .await
                .unwrap()
                .map(|user| user.id)
        };
        assert_eq!(by_email("a").await, Some(1));
        assert_eq!(by_email("x").await, None);
        // As another program stores it.
        let raw = t.db.collection::<Doc>("users");
        raw.insert_one(doc! { "_id": 7_i64, "tenant": 1_i64, "email": "x", "team": 1_i64, "name": "", "deleted_at": null })
            .await
            .unwrap();
        assert_eq!(by_email("x").await, Some(7));
        odm.backfill().await.unwrap();
        assert_claimed(&odm, "a backfill").await;
        raw.update_one(doc! { "_id": 7_i64 }, doc! { "$set": { "email": "y" } })
            .await
            .unwrap();
        // Its claim says something else: the fields tell.
        assert_eq!(by_email("x").await, None);
        // All documents are known to have claimed their values.
        assert_eq!(by_email("y").await, None);
        odm.repair_all().await.unwrap();
        assert_eq!(by_email("y").await, Some(7));
        users.delete(1).await.unwrap();
        assert_eq!(by_email("a").await, None);
        let in_transaction = odm.transaction(async |tx| {
            let users = tx.collection::<User>();
            users.insert(user(9, "a")).await?;
            users.get_by(|u| u.email, "a").await
        });
        assert_eq!(in_transaction.await.unwrap().map(|user| user.id), Some(9));
    });
}

#[odm_tests::test]
fn of_several_that_claim_a_value_at_once_one_has_it() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let users = odm.collection::<User>();
        let inserts = (0..12).map(|id| {
            users
                .insert(user(id, if id % 2 == 0 { "a" } else { "b" }))
                .into_future()
        });
        let made = join_all(inserts).await;
        assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 2, "{made:?}");
        for refused in made.into_iter().filter(Result::is_err) {
            taken(refused);
        }
        assert_claimed(&odm, "inserts at once").await;
        let accounts = odm.collection::<Account>();
        let got = (0..12).map(|id| {
            accounts
                .insert(account(id, 5))
                .or_get_by(|a| a.number)
                .into_future()
        });
        let got = join_all(got).await;
        let first = got[0].as_ref().unwrap().document.id;
        assert!(
            got.iter().all(|got| got.as_ref().unwrap().document.id == first),
            "{got:?}"
        );
        let labels = odm.collection::<Label>();
        let upserts = (0..12).map(|_| {
            labels
                .update_by(|l| l.word, "six")
                .inc(|l| l.uses, 1)
                .upsert()
                .into_future()
        });
        let made = join_all(upserts).await;
        assert!(made.iter().all(Result::is_ok), "{made:?}");
        assert_eq!(labels.get_by(|l| l.word, "six").await.unwrap().unwrap().uses, 12);
        assert_claimed(&odm, "upserts at once").await;
    });
}
