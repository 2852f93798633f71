//! The rows of documents with keys that are unique over all shards, each of whose writes is a transaction: not on a standalone server.

use super::{Edge, Effect, Row};
use crate::claims::{Account, Badge, Bank, Card, User, account, models, user};
use futures::FutureExt;
use odm::prelude::*;

pub fn edges() -> Vec<Edge> {
    vec![kept(), removed()]
}

fn badge(id: i64, owner: i64, code: &str) -> Badge {
    Badge {
        id,
        user: Ref::new(owner),
        code: code.to_owned(),
        deleted_at: None,
    }
}

fn kept() -> Edge {
    Edge {
        name: "unique over all shards, and a deletion that keeps",
        models: || models().into(),
        copies: &[],
        setup: |odm| {
            async move {
                let users = odm.collection::<User>();
                users
                    .insert_many([user(1, "a"), user(2, "b"), user(3, ""), user(4, "d")])
                    .await?;
                odm.collection::<Badge>()
                    .insert_many([badge(1, 1, "x"), badge(2, 4, "y")])
                    .await?;
                users.delete(4).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let users = odm.collection::<User>();
                users
                    .update_where(|u| u.id.lt(4))
                    .set(|u| u.name, "again")
                    .await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("insert", One, |odm| {
                odm.collection::<User>().insert(user(5, "e")).await?;
            }),
            row!("insert_many", Many, |odm| {
                let users = [user(5, "e"), user(6, ""), user(7, "g")];
                odm.collection::<User>().insert_many(users).await?;
            }),
            row!("set another value", One, |odm| {
                let email = Some("c".to_owned());
                odm.collection::<User>().update(1).set(|u| u.email, email).await?;
            }),
            row!("set a part of two fields", One, |odm| {
                let users = odm.collection::<User>();
                users.update(1).set(|u| u.handle, Some("h".to_owned())).await?;
            }),
            row!("unset", One, |odm| {
                odm.collection::<User>().update(1).set(|u| u.email, None).await?;
            }),
            row!("replace", One, |odm| {
                odm.collection::<User>().replace(user(1, "c")).await?;
            }),
            row!("exchange in a transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    let users = tx.collection::<User>();
                    let set = async |id: i64, email: Option<&str>| {
                        let email = email.map(str::to_owned);
                        users.update(id).set(|u| u.email, email).await
                    };
                    set(1, None).await?;
                    set(2, Some("a")).await?;
                    set(1, Some("b")).await
                })
                .await?;
            }),
            row!("delete", Kept, |odm| {
                odm.collection::<User>().delete(1).await?;
            }),
            row!("restore", Restored, |odm| {
                odm.collection::<User>().restore(4).await?;
            }),
            row!("purge", Parts, |odm| {
                odm.collection::<User>().purge(4).await?;
            }),
        ],
    }
}

fn removed() -> Edge {
    Edge {
        name: "unique over all shards",
        models: || models().into(),
        copies: &[],
        setup: |odm| {
            async move {
                let bank = Bank { id: 1 };
                odm.collection::<Bank>().insert(bank).await?;
                let accounts = [account(1, 10), account(2, 20)];
                odm.collection::<Account>().insert_many(accounts).await?;
                odm.collection::<Card>()
                    .insert_many([card(1, "1"), card(2, "2")])
                    .await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let accounts = odm.collection::<Account>();
                accounts
                    .update_where(|a| a.id.gte(1))
                    .set(|a| a.name, "again")
                    .await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("upsert that inserts", One, |odm| {
                let accounts = odm.collection::<Account>();
                accounts
                    .update(3)
                    .set(|a| a.number, 30)
                    .set(|a| a.name, "new")
                    .upsert()
                    .await?;
            }),
            row!("upsert that updates", One, |odm| {
                let accounts = odm.collection::<Account>();
                let change = accounts.update(1).set(|a| a.number, 11);
                change.set_on_insert(|a| a.name, "new").upsert().await?;
            }),
            row!("inc", One, |odm| {
                odm.collection::<Account>().update(1).inc(|a| a.number, 1).await?;
            }),
            row!("update_where", Many, |odm| {
                let accounts = odm.collection::<Account>();
                accounts
                    .update_where(|a| a.id.gte(1))
                    .inc(|a| a.number, 5)
                    .await?;
            }),
            row!("save", One, |odm| {
                odm.collection::<Account>().save(account(3, 30)).await?;
            }),
            row!("insert or get", One, |odm| {
                odm.collection::<Account>()
                    .insert(account(3, 30))
                    .or_get_by(|a| a.number)
                    .await?;
            }),
            row!("delete with its cascade", Parts, |odm| {
                odm.collection::<Account>().delete(1).await?;
            }),
            row!("delete_where", Parts, |odm| {
                odm.collection::<Account>().delete_where(|a| a.id.gte(1)).await?;
            }),
        ],
    }
}

fn card(account: i64, digits: &str) -> Card {
    Card {
        id: account,
        account: Ref::new(account),
        bank: Ref::new(1),
        digits: digits.to_owned(),
    }
}
