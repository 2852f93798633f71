//! The rows of the matrix: for each kind of edge what is there before, and every kind of write that can touch it.

use super::*;
use crate::matrix::{Edge, Effect, Row};
use futures::FutureExt;
use odm::__private::SwitchBulk as _;
use odm::write::Tree;

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn tags(tags: &[&str]) -> Vec<String> {
    tags.iter().map(|tag| (*tag).to_owned()).collect()
}

pub fn edges() -> Vec<Edge> {
    vec![
        fields(),
        entries(),
        single(),
        reviews(),
        votes(),
        chain(),
        two_way(),
        late_parents(),
        offers(),
        grades(),
        lines(),
        snapshot(),
        embedded(),
        comments(),
        readings(),
        kept(),
        scoped(),
    ]
}

fn host(id: i32) -> NewHost {
    NewHost {
        id,
        name: format!("host {id}"),
        ip: some("10.0.0.1"),
        load: id,
    }
}

fn log(id: i32, host: i32) -> NewLog {
    NewLog {
        id,
        text: format!("log {id}"),
        host: Ref::new(host),
    }
}

fn fields() -> Edge {
    Edge {
        name: "field copy",
        models: || models![Host, Log].into(),
        copies: &[("logs", "host_name"), ("logs", "host_ip"), ("logs", "host_load")],
        setup: |odm| {
            async move {
                odm.collection::<Host>().insert_many((1..=3).map(host)).await?;
                let logs = [log(1, 1), log(2, 1), log(3, 2), log(4, 1)];
                odm.collection::<Log>().insert_many(logs).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                odm.collection::<Host>()
                    .update_where(|h| h.id.gt(0))
                    .set(|h| h.name, "again")
                    .inc(|h| h.load, 1)
                    .await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("insert", One, |odm| {
                odm.collection::<Log>().insert(log(5, 1)).await?;
            }),
            row!("insert with children", Transaction, |odm| {
                odm.collection::<Host>()
                    .insert(host(4))
                    .with(|host| [5, 6].map(|n| NewLog { host, ..log(n, 0) }))
                    .await?;
            }),
            row!("insert_many", Many, |odm| {
                let logs = [log(5, 1), log(6, 2), log(7, 1)];
                odm.collection::<Log>().insert_many(logs).await?;
            }),
            row!("set the source", One, |odm| {
                odm.collection::<Host>()
                    .update(1)
                    .set(|h| h.name, "new")
                    .set(|h| h.ip, some("10.0.0.2"))
                    .await?;
            }),
            row!("unset the source", One, |odm| {
                odm.collection::<Host>().update(1).unset(|h| h.ip).await?;
            }),
            row!("inc the source", One, |odm| {
                odm.collection::<Host>().update(1).inc(|h| h.load, 5).await?;
            }),
            row!("update returning", One, |odm| {
                let hosts = odm.collection::<Host>();
                hosts.update(1).set(|h| h.name, "new").returning().await?;
            }),
            row!("update_where", Many, |odm| {
                let hosts = odm.collection::<Host>();
                hosts.update_where(|h| h.id.lt(3)).set(|h| h.name, "new").await?;
            }),
            row!("move", One, |odm| {
                let logs = odm.collection::<Log>();
                logs.update(1).set(|l| l.host, Ref::new(3)).await?;
            }),
            row!("move with update_where", Many, |odm| {
                let logs = odm.collection::<Log>();
                logs.update_where(|l| l.id.lt(3))
                    .set(|l| l.host, Ref::new(3))
                    .await?;
            }),
            row!("upsert a holder", One, |odm| {
                let logs = odm.collection::<Log>();
                logs.update(9)
                    .set(|l| l.text, "new")
                    .set(|l| l.host, Ref::new(2))
                    .upsert()
                    .await?;
            }),
            row!("upsert a source", One, |odm| {
                let hosts = odm.collection::<Host>();
                hosts
                    .update(1)
                    .set(|h| h.name, "new")
                    .set(|h| h.load, 7)
                    .upsert()
                    .await?;
            }),
            row!("replace a source", One, |odm| {
                let new = Host {
                    id: 1,
                    name: "new".into(),
                    ip: None,
                    load: 9,
                    version: 1,
                };
                odm.collection::<Host>().replace(new).await?;
            }),
            row!("replace a holder", One, |odm| {
                let new = Log {
                    id: 1,
                    text: odm::Deferred::not_read(),
                    host: Ref::new(2),
                    host_name: "a lie".into(),
                    host_ip: None,
                    host_load: 0,
                    version: 1,
                };
                odm.collection::<Log>().replace(new).await?;
            }),
            row!("delete a holder", One, |odm| {
                odm.collection::<Log>().delete(1).optional().await?;
            }),
            row!("delete_where", Parts, |odm| {
                odm.collection::<Log>().delete_where(|l| l.id.lt(4)).await?;
            }),
            row!("delete, cascade", Parts, |odm| {
                odm.collection::<Host>().delete(1).optional().await?;
            }),
            row!("bulk", Many, |odm| {
                odm.bulk()
                    .add(odm.collection().insert(log(5, 1)))
                    .add(odm.collection::<Host>().update(1).set(|h| h.name, "new"))
                    .add(odm.collection::<Log>().update(3).set(|l| l.host, Ref::new(3)))
                    .add(
                        odm.collection::<Host>()
                            .update_where(|h: HostFields| h.id.eq(2))
                            .inc(|h| h.load, 1),
                    )
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    tx.collection::<Host>().insert(host(4)).await?;
                    tx.collection::<Log>().insert(log(5, 4)).await?;
                    let hosts = tx.collection::<Host>();
                    hosts.update(1).set(|h| h.name, "new").await?;
                    tx.collection::<Log>()
                        .update(3)
                        .set(|l| l.host, Ref::new(1))
                        .await?;
                    tx.collection::<Log>().delete(2).optional().await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

fn part(id: i32) -> NewPart {
    NewPart {
        id,
        name: format!("part {id}"),
        note: some("note"),
        tags: tags(&["a", "b"]),
    }
}

fn product(id: i32, parts: &[i32]) -> NewProduct {
    NewProduct {
        id,
        title: format!("product {id}"),
        parts: parts.iter().copied().map(Ref::new).collect(),
    }
}

fn entries() -> Edge {
    Edge {
        name: "entries of an array",
        models: || models![Part, Product].into(),
        copies: &[
            ("products", "parts.name"),
            ("products", "parts.note"),
            ("products", "parts.tags"),
        ],
        setup: |odm| {
            async move {
                odm.collection::<Part>().insert_many((1..=4).map(part)).await?;
                let products = [product(1, &[1, 2]), product(2, &[2, 1, 3]), product(3, &[3])];
                odm.collection::<Product>().insert_many(products).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let parts = odm.collection::<Part>();
                parts
                    .update_where(|p| p.id.gt(0))
                    .set(|p| p.name, "again")
                    .await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("insert", One, |odm| {
                odm.collection::<Product>().insert(product(4, &[1, 4])).await?;
            }),
            row!("insert_many", Many, |odm| {
                let products = [product(4, &[1]), product(5, &[2, 1])];
                odm.collection::<Product>().insert_many(products).await?;
            }),
            row!("set the source", One, |odm| {
                odm.collection::<Part>()
                    .update(1)
                    .set(|p| p.name, "new")
                    .set(|p| p.note, some("x"))
                    .await?;
            }),
            row!("unset the source", One, |odm| {
                odm.collection::<Part>().update(1).unset(|p| p.note).await?;
            }),
            row!("push in the source", One, |odm| {
                odm.collection::<Part>().update(1).push(|p| p.tags, "c").await?;
            }),
            row!("pull in the source", One, |odm| {
                odm.collection::<Part>().update(1).pull(|p| p.tags, "a").await?;
            }),
            row!("update_where", Many, |odm| {
                let parts = odm.collection::<Part>();
                parts.update_where(|p| p.id.lt(3)).set(|p| p.name, "new").await?;
            }),
            row!("push an entry", One, |odm| {
                let products = odm.collection::<Product>();
                products.update(3).push(|p| p.parts, Ref::new(1)).await?;
            }),
            row!("push_all", One, |odm| {
                let products = odm.collection::<Product>();
                let new = [Ref::new(1), Ref::new(4)];
                products.update(3).push_all(|p| p.parts, new).await?;
            }),
            row!("pull an entry", One, |odm| {
                let products = odm.collection::<Product>();
                products.update(2).pull(|p| p.parts, Ref::new(1)).await?;
            }),
            row!("pop an entry", One, |odm| {
                odm.collection::<Product>().update(2).pop(|p| p.parts).await?;
            }),
            row!("replace_item", One, |odm| {
                let products = odm.collection::<Product>();
                products
                    .update(2)
                    .replace_item(|p| p.parts, Ref::new(1), Ref::new(4))
                    .await?;
            }),
            row!("set the array", One, |odm| {
                let products = odm.collection::<Product>();
                let new = vec![Ref::new(4), Ref::new(1)];
                products.update(2).set(|p| p.parts, new).await?;
            }),
            row!("push with update_where", Many, |odm| {
                let products = odm.collection::<Product>();
                products
                    .update_where(|p| p.id.gt(1))
                    .push(|p| p.parts, Ref::new(4))
                    .await?;
            }),
            row!("upsert a holder", One, |odm| {
                let products = odm.collection::<Product>();
                products
                    .update(9)
                    .set(|p| p.title, "new")
                    .set(|p| p.parts, vec![Ref::new(2)])
                    .upsert()
                    .await?;
            }),
            row!("replace a source", One, |odm| {
                let new = Part {
                    id: 1,
                    name: "new".into(),
                    note: None,
                    tags: tags(&["z"]),
                    version: 1,
                };
                odm.collection::<Part>().replace(new).await?;
            }),
            row!("replace a holder", One, |odm| {
                let new = Product {
                    id: 2,
                    title: "new".into(),
                    parts: vec![PartEntry {
                        id: Ref::new(4),
                        name: "a lie".into(),
                        note: None,
                        tags: vec![],
                    }],
                    version: 1,
                };
                odm.collection::<Product>().replace(new).await?;
            }),
            row!("delete a holder", One, |odm| {
                odm.collection::<Product>().delete(1).optional().await?;
            }),
            row!("delete, pull", Parts, |odm| {
                odm.collection::<Part>().delete(1).optional().await?;
            }),
            row!("delete_where", Parts, |odm| {
                odm.collection::<Part>().delete_where(|p| p.id.lt(3)).await?;
            }),
            row!("bulk", Many, |odm| {
                odm.bulk()
                    .add(odm.collection().insert(product(4, &[1, 2])))
                    .add(odm.collection::<Part>().update(1).set(|p| p.name, "new"))
                    .add(
                        odm.collection::<Product>()
                            .update(3)
                            .push(|p| p.parts, Ref::new(1)),
                    )
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    tx.collection::<Part>().insert(part(5)).await?;
                    let products = tx.collection::<Product>();
                    products.insert(product(4, &[5, 1])).await?;
                    let parts = tx.collection::<Part>();
                    parts.update(1).set(|p| p.name, "new").await?;
                    products.update(3).push(|p| p.parts, Ref::new(5)).await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

fn user(id: i32) -> NewUser {
    NewUser {
        id,
        name: format!("user {id}"),
        mail: some("mail"),
    }
}

fn order(id: i32, user: Option<i32>) -> NewOrder {
    NewOrder {
        id,
        what: format!("order {id}"),
        user: user.map(Ref::new),
    }
}

fn single() -> Edge {
    Edge {
        name: "extended reference",
        models: || models![User, Order].into(),
        copies: &[("orders", "user.name"), ("orders", "user.mail")],
        setup: |odm| {
            async move {
                odm.collection::<User>().insert_many((1..=3).map(user)).await?;
                let orders = [
                    order(1, Some(1)),
                    order(2, Some(1)),
                    order(3, Some(2)),
                    order(4, None),
                ];
                odm.collection::<Order>().insert_many(orders).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let users = odm.collection::<User>();
                users
                    .update_where(|u| u.id.gt(0))
                    .set(|u| u.name, "again")
                    .await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("insert", One, |odm| {
                odm.collection::<Order>().insert(order(5, Some(1))).await?;
            }),
            row!("insert_many", Many, |odm| {
                let orders = [order(5, Some(1)), order(6, None), order(7, Some(2))];
                odm.collection::<Order>().insert_many(orders).await?;
            }),
            row!("set the source", One, |odm| {
                odm.collection::<User>()
                    .update(1)
                    .set(|u| u.name, "new")
                    .set(|u| u.mail, some("x"))
                    .await?;
            }),
            row!("unset the source", One, |odm| {
                odm.collection::<User>().update(1).unset(|u| u.mail).await?;
            }),
            row!("update_where", Many, |odm| {
                let users = odm.collection::<User>();
                users.update_where(|u| u.id.lt(3)).set(|u| u.name, "new").await?;
            }),
            row!("move", One, |odm| {
                let orders = odm.collection::<Order>();
                orders.update(1).set(|o| o.user, Ref::new(3)).await?;
            }),
            row!("set where none was", One, |odm| {
                let orders = odm.collection::<Order>();
                orders.update(4).set(|o| o.user, Ref::new(3)).await?;
            }),
            row!("unset the reference", One, |odm| {
                odm.collection::<Order>().update(1).unset(|o| o.user).await?;
            }),
            row!("upsert a holder", One, |odm| {
                let orders = odm.collection::<Order>();
                orders
                    .update(9)
                    .set(|o| o.what, "new")
                    .set(|o| o.user, Ref::new(2))
                    .upsert()
                    .await?;
            }),
            row!("replace a source", One, |odm| {
                let new = User {
                    id: 1,
                    name: "new".into(),
                    mail: None,
                    version: 1,
                };
                odm.collection::<User>().replace(new).await?;
            }),
            row!("replace a holder", One, |odm| {
                let new = Order {
                    id: 1,
                    what: "new".into(),
                    user: Some(UserEntry {
                        id: Ref::new(2),
                        name: "a lie".into(),
                        mail: None,
                    }),
                    version: 1,
                };
                odm.collection::<Order>().replace(new).await?;
            }),
            row!("delete a holder", One, |odm| {
                odm.collection::<Order>().delete(1).optional().await?;
            }),
            row!("delete, nullify", Parts, |odm| {
                odm.collection::<User>().delete(1).optional().await?;
            }),
            row!("delete_where", Parts, |odm| {
                odm.collection::<User>().delete_where(|u| u.id.lt(3)).await?;
            }),
            row!("bulk", Many, |odm| {
                odm.bulk()
                    .add(odm.collection().insert(order(5, Some(1))))
                    .add(odm.collection::<User>().update(1).set(|u| u.name, "new"))
                    .add(odm.collection::<Order>().update(4).set(|o| o.user, Ref::new(1)))
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    tx.collection::<User>().insert(user(4)).await?;
                    tx.collection::<Order>().insert(order(5, Some(4))).await?;
                    tx.collection::<User>().update(1).set(|u| u.name, "new").await?;
                    tx.collection::<Order>()
                        .update(4)
                        .set(|o| o.user, Ref::new(1))
                        .await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

/// The writes of children from which something is derived in their parents.
macro_rules! children {
    ($Parent:ident, $NewParent:ident, $Child:ident, $NewChild:ident, $lie:expr) => {{
        fn parent(id: i32) -> $NewParent {
            $NewParent {
                id,
                name: format!("parent {id}"),
            }
        }
        fn child(id: i32, above: i32, stars: i32) -> $NewChild {
            $NewChild {
                id,
                text: some("text"),
                stars,
                public: id % 2 == 0,
                tags: vec![],
                above: Ref::new(above),
            }
        }
        let setup: crate::matrix::Run = |odm| {
            async move {
                odm.collection::<$Parent>()
                    .insert_many((1..=3).map(parent))
                    .await?;
                let children = [
                    child(1, 1, 5),
                    child(2, 1, 4),
                    child(3, 1, 3),
                    child(4, 1, 1),
                    child(5, 2, 2),
                    child(6, 2, 4),
                ];
                odm.collection::<$Child>().insert_many(children).await?;
                Ok(())
            }
            .boxed()
        };
        let rows = vec![
            row!("insert", One, |odm| {
                odm.collection::<$Child>().insert(child(8, 1, 5)).await?;
            }),
            row!("insert_many", Many, |odm| {
                let children = [child(7, 1, 5), child(8, 2, 3), child(9, 3, 3)];
                odm.collection::<$Child>().insert_many(children).await?;
            }),
            row!("insert a parent", One, |odm| {
                odm.collection::<$Parent>().insert(parent(4)).await?;
            }),
            row!("insert with children", Transaction, |odm| {
                odm.collection::<$Parent>()
                    .insert(parent(4))
                    .with(|above| {
                        [(8, 5), (9, 3)].map(|(id, stars)| $NewChild {
                            above,
                            ..child(id, 0, stars)
                        })
                    })
                    .await?;
            }),
            row!("set", One, |odm| {
                let children = odm.collection::<$Child>();
                children
                    .update(2)
                    .set(|c| c.text, some("new"))
                    .set(|c| c.stars, 1)
                    .await?;
            }),
            row!("inc", One, |odm| {
                odm.collection::<$Child>().update(4).inc(|c| c.stars, 3).await?;
            }),
            row!("unset", One, |odm| {
                odm.collection::<$Child>().update(1).unset(|c| c.text).await?;
            }),
            row!("push", One, |odm| {
                odm.collection::<$Child>()
                    .update(1)
                    .push(|c| c.tags, "new")
                    .await?;
            }),
            row!("set what is filtered by", One, |odm| {
                odm.collection::<$Child>()
                    .update(2)
                    .set(|c| c.public, false)
                    .await?;
            }),
            row!("set and get", One, |odm| {
                let children = odm.collection::<$Child>();
                children.update(1).set(|c| c.stars, 2).returning().await?;
            }),
            row!("update_where", Many, |odm| {
                let children = odm.collection::<$Child>();
                children
                    .update_where(|c| c.stars.gte(4))
                    .inc(|c| c.stars, -3)
                    .await?;
            }),
            row!("move", One, |odm| {
                let children = odm.collection::<$Child>();
                children.update(1).set(|c| c.above, Ref::new(2)).await?;
            }),
            row!("move with update_where", Many, |odm| {
                let children = odm.collection::<$Child>();
                children
                    .update_where(|c| c.stars.gte(4))
                    .set(|c| c.above, Ref::new(3))
                    .await?;
            }),
            row!("upsert", One, |odm| {
                let children = odm.collection::<$Child>();
                children
                    .update(9)
                    .set(|c| c.text, some("new"))
                    .set(|c| c.stars, 5)
                    .set(|c| c.public, true)
                    .set(|c| c.tags, vec![])
                    .set(|c| c.above, Ref::new(1))
                    .upsert()
                    .await?;
            }),
            row!("upsert returning", One, |odm| {
                let children = odm.collection::<$Child>();
                children
                    .update(9)
                    .set(|c| c.text, some("new"))
                    .set(|c| c.stars, 5)
                    .set(|c| c.public, true)
                    .set(|c| c.tags, vec![])
                    .set(|c| c.above, Ref::new(1))
                    .upsert()
                    .returning()
                    .await?;
            }),
            row!("replace", One, |odm| {
                let new = $Child {
                    id: 1,
                    text: some("new"),
                    stars: 3,
                    public: true,
                    tags: vec![],
                    above: Ref::new(2),
                    version: 1,
                };
                odm.collection::<$Child>().replace(new).await?;
            }),
            row!("delete", One, |odm| {
                odm.collection::<$Child>().delete(2).optional().await?;
            }),
            row!("delete_where", Parts, |odm| {
                odm.collection::<$Child>()
                    .delete_where(|c| c.stars.gte(4))
                    .await?;
            }),
            row!("delete, cascade", Parts, |odm| {
                odm.collection::<$Parent>().delete(1).optional().await?;
            }),
            row!("update a parent", One, |odm| {
                let parents = odm.collection::<$Parent>();
                parents.update(1).set(|p| p.name, "new").await?;
            }),
            row!("update_where of parents", Many, |odm| {
                let parents = odm.collection::<$Parent>();
                parents
                    .update_where(|p| p.id.lt(3))
                    .set(|p| p.name, "new")
                    .await?;
            }),
            row!("upsert a parent", One, |odm| {
                let parents = odm.collection::<$Parent>();
                parents.update(1).set(|p| p.name, "new").upsert().await?;
            }),
            row!("replace a parent", One, |odm| {
                let parents = odm.collection::<$Parent>();
                let mut parent = parents.get(1).await?.expect("it is there");
                let lie: fn(&mut $Parent) = $lie;
                lie(&mut parent);
                parent.name = "new".into();
                parents.replace(parent).await?;
            }),
            row!("bulk with a parent", Many, |odm| {
                // SecantusDB refuses the `bulkWrite` command as the first of a transaction.
                odm.bulk()
                    .without_bulk_write_command()
                    .add(odm.collection::<$Parent>().update(1).set(|p| p.name, "new"))
                    .add(odm.collection().insert(child(8, 1, 5)))
                    .add(odm.collection::<$Parent>().update(2).set(|p| p.name, "new"))
                    .await?;
            }),
            row!("transaction with a parent", Transaction, |odm| {
                odm.transaction(async |tx| {
                    let (parents, children) = (tx.collection::<$Parent>(), tx.collection::<$Child>());
                    parents.update(1).set(|p| p.name, "new").await?;
                    children.insert(child(8, 1, 5)).await?;
                    let mut parent = parents.get(1).await?.expect("it is there");
                    let lie: fn(&mut $Parent) = $lie;
                    lie(&mut parent);
                    parents.replace(parent).await?;
                    children.update(8).set(|c| c.stars, 2).await?;
                    Ok(())
                })
                .await?;
            }),
            row!("bulk", Many, |odm| {
                odm.bulk()
                    .add(odm.collection().insert(child(7, 1, 4)))
                    .add(odm.collection().insert(child(8, 2, 5)))
                    .add(odm.collection::<$Child>().update(2).set(|c| c.stars, 1))
                    .add(odm.collection::<$Child>().update(3).set(|c| c.above, Ref::new(3)))
                    .await?;
            }),
            row!("bulk of deletes", Parts, |odm| {
                // SecantusDB refuses the `bulkWrite` command as the first of a transaction.
                odm.bulk()
                    .without_bulk_write_command()
                    .add(odm.collection().insert(child(7, 1, 4)))
                    .add(odm.collection::<$Child>().delete(1))
                    .add(odm.collection::<$Child>().delete(5))
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    tx.collection::<$Parent>().insert(parent(4)).await?;
                    let children = tx.collection::<$Child>();
                    children.insert(child(8, 4, 5)).await?;
                    children.update(1).set(|c| c.stars, 1).await?;
                    children.update(2).set(|c| c.above, Ref::new(2)).await?;
                    children.delete(5).optional().await?;
                    Ok(())
                })
                .await?;
            }),
        ];
        let again: crate::matrix::Run = |odm| {
            async move {
                let children = odm.collection::<$Child>();
                children.update_where(|c| c.id.gt(0)).inc(|c| c.stars, 1).await?;
                Ok(())
            }
            .boxed()
        };
        (setup, again, rows)
    }};
}

fn reviews() -> Edge {
    let (setup, again, rows) = children!(Shop, NewShop, Review, NewReview, |p| p.best.clear());
    Edge {
        name: "subset",
        models: || models![Shop, Review].into(),
        copies: &[("shops", "best")],
        setup,
        again,
        rows,
    }
}

fn votes() -> Edge {
    let (setup, again, rows) = children!(Bar, NewBar, Vote, NewVote, |p| p.votes = 99);
    Edge {
        name: "computed fields",
        models: || models![Bar, Vote].into(),
        copies: &[
            ("bars", "votes"),
            ("bars", "public_votes"),
            ("bars", "rating"),
            ("bars", "total"),
            ("bars", "most"),
        ],
        setup,
        again,
        rows,
    }
}

fn region(id: i32) -> NewRegion {
    NewRegion {
        id,
        name: format!("region {id}"),
        code: some("code"),
    }
}

fn city(id: i32, region: i32) -> NewCity {
    NewCity {
        id,
        name: format!("city {id}"),
        region: Ref::new(region),
    }
}

fn street(id: i32, city: i32) -> NewStreet {
    NewStreet {
        id,
        name: format!("street {id}"),
        city: Ref::new(city),
    }
}

fn mayor(id: i32, city: i32) -> NewMayor {
    NewMayor {
        id,
        city: Ref::new(city),
    }
}

fn chain() -> Edge {
    Edge {
        name: "copy of a copy",
        models: || models![Region, City, Street, Mayor].into(),
        copies: &[
            ("cities", "region_name"),
            ("cities", "region_code"),
            ("cities", "streets"),
            ("streets", "region_name"),
            ("streets", "region_code"),
            ("mayors", "streets"),
        ],
        setup: |odm| {
            async move {
                odm.collection::<Region>()
                    .insert_many((1..=2).map(region))
                    .await?;
                let cities = [city(1, 1), city(2, 1), city(3, 2)];
                odm.collection::<City>().insert_many(cities).await?;
                let streets = [street(1, 1), street(2, 1), street(3, 2), street(4, 3)];
                odm.collection::<Street>().insert_many(streets).await?;
                let mayors = (1..=3).map(|id| mayor(id, id));
                odm.collection::<Mayor>().insert_many(mayors).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let regions = odm.collection::<Region>();
                regions
                    .update_where(|r| r.id.gt(0))
                    .set(|r| r.name, "again")
                    .await?;
                // A number that is copied is another one, too.
                odm.collection::<Street>().delete_where(|s| s.id.gt(3)).await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("insert at the end", One, |odm| {
                odm.collection::<Street>().insert(street(5, 1)).await?;
            }),
            row!("insert in the middle", One, |odm| {
                odm.collection::<City>().insert(city(4, 2)).await?;
            }),
            row!("insert with children", Transaction, |odm| {
                let tree = Tree::<Region>::new(region(3)).with_trees(|region| {
                    let city = Tree::<City>::new(NewCity { region, ..city(4, 0) });
                    let city = city.with(|city| {
                        [5, 6].map(|id| NewStreet {
                            city,
                            ..street(id, 0)
                        })
                    });
                    [city.with(|city| [NewMayor { city, ..mayor(4, 0) }])]
                });
                odm.collection::<Region>().insert_tree(tree).await?;
            }),
            row!("insert_many", Many, |odm| {
                let streets = [street(5, 1), street(6, 3)];
                odm.collection::<Street>().insert_many(streets).await?;
            }),
            row!("set the source", One, |odm| {
                odm.collection::<Region>()
                    .update(1)
                    .set(|r| r.name, "new")
                    .await?;
            }),
            row!("unset the source", One, |odm| {
                odm.collection::<Region>().update(1).unset(|r| r.code).await?;
            }),
            row!("update_where", Many, |odm| {
                let regions = odm.collection::<Region>();
                regions
                    .update_where(|r| r.id.gt(0))
                    .set(|r| r.name, "new")
                    .await?;
            }),
            row!("move in the middle", One, |odm| {
                let cities = odm.collection::<City>();
                cities.update(1).set(|c| c.region, Ref::new(2)).await?;
            }),
            row!("move at the end", One, |odm| {
                let streets = odm.collection::<Street>();
                streets.update(1).set(|s| s.city, Ref::new(3)).await?;
            }),
            row!("upsert in the middle", One, |odm| {
                let cities = odm.collection::<City>();
                cities
                    .update(2)
                    .set(|c| c.name, "new")
                    .set(|c| c.region, Ref::new(2))
                    .upsert()
                    .await?;
            }),
            row!("replace the source", One, |odm| {
                let new = Region {
                    id: 1,
                    name: "new".into(),
                    code: None,
                    version: 1,
                };
                odm.collection::<Region>().replace(new).await?;
            }),
            row!("replace in the middle", One, |odm| {
                let new = City {
                    id: 1,
                    name: "new".into(),
                    region: Ref::new(2),
                    region_name: "a lie".into(),
                    region_code: None,
                    streets: 99,
                    version: 1,
                };
                odm.collection::<City>().replace(new).await?;
            }),
            row!("delete at the end", One, |odm| {
                odm.collection::<Street>().delete(1).optional().await?;
            }),
            row!("delete, cascade", Parts, |odm| {
                odm.collection::<Region>().delete(1).optional().await?;
            }),
            row!("move with update_where", Many, |odm| {
                let cities = odm.collection::<City>();
                let moved = cities.update_where(|c| c.id.lt(3));
                moved.set(|c| c.region, Ref::new(2)).await?;
            }),
            row!("upsert at the end", One, |odm| {
                let streets = odm.collection::<Street>();
                let upsert = streets.update(9).set(|s| s.name, "new");
                upsert.set(|s| s.city, Ref::new(1)).upsert().await?;
            }),
            row!("replace at the end", One, |odm| {
                let new = Street {
                    id: 1,
                    name: "new".into(),
                    city: Ref::new(3),
                    region_name: "a lie".into(),
                    region_code: None,
                    version: 1,
                };
                odm.collection::<Street>().replace(new).await?;
            }),
            row!("delete_where at the end", Parts, |odm| {
                odm.collection::<Street>().delete_where(|s| s.id.lt(3)).await?;
            }),
            row!("delete_where, cascade", Parts, |odm| {
                odm.collection::<City>().delete_where(|c| c.id.lt(3)).await?;
            }),
            row!("bulk", Many, |odm| {
                odm.bulk()
                    .add(odm.collection().insert(street(5, 1)))
                    .add(odm.collection::<Region>().update(1).set(|r| r.name, "new"))
                    .add(odm.collection::<City>().update(3).set(|c| c.region, Ref::new(1)))
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    tx.collection::<City>().insert(city(4, 1)).await?;
                    tx.collection::<Street>().insert(street(5, 4)).await?;
                    let regions = tx.collection::<Region>();
                    regions.update(1).set(|r| r.name, "new").await?;
                    let cities = tx.collection::<City>();
                    cities.update(1).set(|c| c.region, Ref::new(2)).await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

fn team(id: i32, members: &[i32]) -> NewTeam {
    NewTeam {
        id,
        name: format!("team {id}"),
        members: members.iter().copied().map(Ref::new).collect(),
    }
}

fn member(id: i32, team: Option<i32>) -> NewMember {
    NewMember {
        id,
        name: format!("member {id}"),
        team: team.map(Ref::new),
        fan_of: Some(Ref::new(1)),
    }
}

fn two_way() -> Edge {
    Edge {
        name: "beside a two-way reference",
        models: || models![Team, Member].into(),
        copies: &[("members", "fan_of_name"), ("teams", "size")],
        setup: |odm| {
            async move {
                let teams = (1..=3).map(|id| team(id, &[]));
                odm.collection::<Team>().insert_many(teams).await?;
                let members = [
                    member(1, Some(1)),
                    member(2, Some(1)),
                    member(3, Some(2)),
                    member(4, None),
                ];
                odm.collection::<Member>().insert_many(members).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let teams = odm.collection::<Team>();
                teams
                    .update_where(|t| t.id.gt(0))
                    .set(|t| t.name, "again")
                    .await?;
                let members = odm.collection::<Member>();
                members.update_where(|m| m.id.gt(1)).unset(|m| m.team).await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("insert", Linked, |odm| {
                odm.collection::<Member>().insert(member(5, Some(1))).await?;
            }),
            row!("insert the other side", Linked, |odm| {
                odm.collection::<Team>().insert(team(4, &[1, 4])).await?;
            }),
            row!("insert with children", Transaction, |odm| {
                let members = |team| {
                    [5, 6].map(|id| NewMember {
                        team: Some(team),
                        ..member(id, None)
                    })
                };
                odm.collection::<Team>()
                    .insert(team(4, &[1]))
                    .with(members)
                    .await?;
            }),
            row!("insert_many", Linked, |odm| {
                let members = [member(5, Some(1)), member(6, Some(2))];
                odm.collection::<Member>().insert_many(members).await?;
            }),
            row!("set the source", One, |odm| {
                odm.collection::<Team>().update(1).set(|t| t.name, "new").await?;
            }),
            row!("update_where", Many, |odm| {
                let teams = odm.collection::<Team>();
                teams.update_where(|t| t.id.lt(3)).set(|t| t.name, "new").await?;
            }),
            row!("move", Linked, |odm| {
                let members = odm.collection::<Member>();
                members.update(1).set(|m| m.team, Ref::new(2)).await?;
            }),
            row!("move both", Linked, |odm| {
                let members = odm.collection::<Member>();
                members
                    .update(1)
                    .set(|m| m.team, Ref::new(2))
                    .set(|m| m.fan_of, Ref::new(2))
                    .await?;
            }),
            row!("move the copies' alone", One, |odm| {
                let members = odm.collection::<Member>();
                members.update(1).set(|m| m.fan_of, Ref::new(2)).await?;
            }),
            row!("unset the reference", Linked, |odm| {
                odm.collection::<Member>().update(1).unset(|m| m.team).await?;
            }),
            row!("push on the other side", Linked, |odm| {
                let teams = odm.collection::<Team>();
                teams.update(2).push(|t| t.members, Ref::new(1)).await?;
            }),
            row!("pull on the other side", Linked, |odm| {
                let teams = odm.collection::<Team>();
                teams.update(1).pull(|t| t.members, Ref::new(1)).await?;
            }),
            row!("move with update_where", Linked, |odm| {
                let members = odm.collection::<Member>();
                let moved = members.update_where(|m| m.id.lt(3));
                moved.set(|m| m.team, Ref::new(3)).await?;
            }),
            row!("upsert", Linked, |odm| {
                let members = odm.collection::<Member>();
                let upsert = members.update(9).set(|m| m.name, "new");
                let upsert = upsert.set(|m| m.team, Ref::new(1)).set(|m| m.fan_of, Ref::new(2));
                upsert.upsert().await?;
            }),
            row!("upsert the source", One, |odm| {
                let teams = odm.collection::<Team>();
                let upsert = teams.update(1).set(|t| t.name, "new");
                upsert.set_on_insert(|t| t.members, vec![]).upsert().await?;
            }),
            row!("replace a holder", Linked, |odm| {
                let new = Member {
                    id: 1,
                    name: "new".into(),
                    team: Some(Ref::new(2)),
                    fan_of: Some(Ref::new(3)),
                    fan_of_name: some("a lie"),
                    version: 1,
                };
                odm.collection::<Member>().replace(new).await?;
            }),
            row!("delete a holder", Linked, |odm| {
                odm.collection::<Member>().delete(1).optional().await?;
            }),
            row!("delete the source", LinkedParts, |odm| {
                odm.collection::<Team>().delete(1).optional().await?;
            }),
            row!("delete_where", LinkedParts, |odm| {
                odm.collection::<Member>().delete_where(|m| m.id.lt(3)).await?;
            }),
            row!("bulk", Linked, |odm| {
                odm.bulk()
                    .add(odm.collection().insert(member(5, Some(1))))
                    .add(odm.collection::<Team>().update(1).set(|t| t.name, "new"))
                    .add(
                        odm.collection::<Member>()
                            .update(3)
                            .set(|m| m.team, Ref::new(1))
                            .set(|m| m.fan_of, Ref::new(2)),
                    )
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    tx.collection::<Member>().insert(member(5, Some(1))).await?;
                    let teams = tx.collection::<Team>();
                    teams.update(1).set(|t| t.name, "new").await?;
                    teams.update(2).push(|t| t.members, Ref::new(1)).await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

fn well(id: i32) -> NewWell {
    NewWell {
        id,
        name: format!("well {id}"),
    }
}

fn sample(id: i32, well: i32) -> NewSample {
    NewSample {
        id,
        depth: 10 * id,
        well: Ref::new(well),
    }
}

fn late_parents() -> Edge {
    Edge {
        name: "a parent after its children",
        models: || models![Well, Sample, Guard, Pump].into(),
        copies: &[
            ("wells", "samples"),
            ("wells", "deepest"),
            ("wells", "guards"),
            ("pumps", "samples"),
        ],
        setup: |odm| {
            async move {
                odm.collection::<Well>().insert(well(1)).await?;
                let samples = [sample(1, 1), sample(2, 2), sample(3, 2), sample(4, 3)];
                odm.collection::<Sample>().insert_many(samples).await?;
                let guards = (1..=2).map(|id| NewGuard {
                    id,
                    well: Some(Ref::new(1)),
                });
                odm.collection::<Guard>().insert_many(guards).await?;
                let pump = NewPump {
                    id: 1,
                    well: Ref::new(1),
                };
                odm.collection::<Pump>().insert(pump).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let samples = odm.collection::<Sample>();
                samples.update_where(|s| s.id.gt(0)).inc(|s| s.depth, 10).await?;
                samples.delete_where(|s| s.id.eq(2)).await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("insert a child", One, |odm| {
                odm.collection::<Sample>().insert(sample(5, 1)).await?;
            }),
            row!("insert a child alone", One, |odm| {
                odm.collection::<Sample>().insert(sample(5, 9)).await?;
            }),
            row!("insert a parent", One, |odm| {
                odm.collection::<Well>().insert(well(2)).await?;
            }),
            row!("insert with children", Transaction, |odm| {
                odm.collection::<Well>()
                    .insert(well(2))
                    .with(|well| {
                        [5, 6].map(|id| NewSample {
                            well,
                            ..sample(id, 0)
                        })
                    })
                    .await?;
            }),
            row!("insert_many", Many, |odm| {
                odm.collection::<Well>().insert_many([well(2), well(3)]).await?;
            }),
            row!("upsert a parent", One, |odm| {
                let wells = odm.collection::<Well>();
                wells.update(2).set(|w| w.name, "new").upsert().await?;
            }),
            row!("move a child", One, |odm| {
                let samples = odm.collection::<Sample>();
                samples.update(2).set(|s| s.well, Ref::new(1)).await?;
            }),
            row!("set a child", One, |odm| {
                let samples = odm.collection::<Sample>();
                samples.update(1).set(|s| s.depth, 99).await?;
            }),
            row!("update_where", Many, |odm| {
                let samples = odm.collection::<Sample>();
                let deeper = samples.update_where(|s| s.id.lt(3));
                deeper.inc(|s| s.depth, 100).await?;
            }),
            row!("move with update_where", Many, |odm| {
                let samples = odm.collection::<Sample>();
                let moved = samples.update_where(|s| s.id.gt(1));
                moved.set(|s| s.well, Ref::new(1)).await?;
            }),
            row!("upsert a child", One, |odm| {
                let samples = odm.collection::<Sample>();
                let upsert = samples.update(9).set(|s| s.depth, 99);
                upsert.set(|s| s.well, Ref::new(1)).upsert().await?;
            }),
            row!("replace a child", One, |odm| {
                let new = Sample {
                    id: 1,
                    depth: 99,
                    well: Ref::new(9),
                    version: 1,
                };
                odm.collection::<Sample>().replace(new).await?;
            }),
            row!("replace a parent", One, |odm| {
                let new = Well {
                    id: 1,
                    name: "new".into(),
                    samples: 99,
                    deepest: vec![],
                    guards: 99,
                    version: 1,
                };
                odm.collection::<Well>().replace(new).await?;
            }),
            row!("delete a child", One, |odm| {
                odm.collection::<Sample>().delete(1).optional().await?;
            }),
            row!("delete_where", Parts, |odm| {
                odm.collection::<Sample>().delete_where(|s| s.id.lt(3)).await?;
            }),
            row!("delete a parent", Parts, |odm| {
                odm.collection::<Well>().delete(1).optional().await?;
            }),
            row!("bulk", Many, |odm| {
                odm.bulk()
                    .add(odm.collection().insert(well(2)))
                    .add(odm.collection().insert(sample(5, 2)))
                    .add(odm.collection::<Sample>().update(1).set(|s| s.well, Ref::new(2)))
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    tx.collection::<Well>().insert(well(2)).await?;
                    tx.collection::<Sample>().insert(sample(5, 2)).await?;
                    tx.collection::<Sample>().delete(1).optional().await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

fn offers() -> Edge {
    let (setup, again, rows) = children!(Market, NewMarket, Offer, NewOffer, |p| p.cheapest.clear());
    Edge {
        name: "subset, filtered, first",
        models: || models![Market, Offer].into(),
        copies: &[("markets", "cheapest")],
        setup,
        again,
        rows,
    }
}

fn grades() -> Edge {
    let (setup, again, rows) = children!(Course, NewCourse, Grade, NewGrade, |p| p.least = Some(99));
    Edge {
        name: "computed min, max, avg",
        models: || models![Course, Grade].into(),
        copies: &[
            ("courses", "least"),
            ("courses", "greatest"),
            ("courses", "mean"),
            ("courses", "least_public"),
            ("courses", "sum_public"),
        ],
        setup,
        again,
        rows,
    }
}

fn board(id: i32) -> NewBoard {
    NewBoard {
        id,
        name: format!("board {id}"),
    }
}

fn line(id: i32, board: i32) -> Line {
    Line {
        id,
        // Some are of one time.
        at: id / 2,
        text: format!("line {id}"),
        board: Ref::new(board),
    }
}

fn lines() -> Edge {
    Edge {
        name: "subset without ids",
        models: || models![Board, Line].into(),
        copies: &[("boards", "newest")],
        setup: |odm| {
            async move {
                odm.collection::<Board>().insert_many((1..=3).map(board)).await?;
                let lines = [line(2, 1), line(3, 1), line(4, 1), line(5, 2), line(6, 1)];
                odm.collection::<Line>().insert_many(lines).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                for board in 1..=3 {
                    match odm.collection::<Line>().insert(line(90 + board, board)).await {
                        Ok(_) | Err(odm::Error::MissingReference { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("insert", One, |odm| {
                odm.collection::<Line>().insert(line(7, 1)).await?;
            }),
            row!("insert an old one", One, |odm| {
                odm.collection::<Line>().insert(line(1, 1)).await?;
            }),
            row!("insert_many", Many, |odm| {
                let lines = [line(7, 1), line(8, 2), line(9, 3)];
                odm.collection::<Line>().insert_many(lines).await?;
            }),
            row!("insert a parent", One, |odm| {
                odm.collection::<Board>().insert(board(4)).await?;
            }),
            row!("update a parent", One, |odm| {
                let boards = odm.collection::<Board>();
                boards.update(1).set(|b| b.name, "new").await?;
            }),
            row!("update_where of parents", Many, |odm| {
                let boards = odm.collection::<Board>();
                let some = boards.update_where(|b| b.id.lt(3));
                some.set(|b| b.name, "new").await?;
            }),
            row!("upsert a parent", One, |odm| {
                let boards = odm.collection::<Board>();
                boards.update(9).set(|b| b.name, "new").upsert().await?;
            }),
            row!("replace a parent", One, |odm| {
                let new = Board {
                    id: 1,
                    name: "new".into(),
                    newest: vec![],
                    version: 1,
                };
                odm.collection::<Board>().replace(new).await?;
            }),
            row!("delete", One, |odm| {
                odm.collection::<Line>().delete(6).optional().await?;
            }),
            row!("delete_where", Parts, |odm| {
                odm.collection::<Line>().delete_where(|l| l.id.gte(4)).await?;
            }),
            row!("delete, cascade", Parts, |odm| {
                odm.collection::<Board>().delete(1).optional().await?;
            }),
            row!("bulk", Many, |odm| {
                odm.bulk()
                    .without_bulk_write_command()
                    .add(odm.collection().insert(line(7, 1)))
                    .add(odm.collection::<Board>().update(2).set(|b| b.name, "new"))
                    .add(odm.collection().insert(line(8, 2)))
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    tx.collection::<Board>().insert(board(4)).await?;
                    let lines = tx.collection::<Line>();
                    lines.insert(line(7, 4)).await?;
                    lines.insert(line(8, 1)).await?;
                    lines.delete(6).optional().await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

fn article(id: i32) -> NewArticle {
    NewArticle { id, price: 10 * id }
}

fn sale(id: i32, article: Option<i32>) -> NewSale {
    NewSale {
        id,
        what: format!("sale {id}"),
        article: article.map(Ref::new),
    }
}

fn snapshot() -> Edge {
    Edge {
        name: "snapshot",
        models: || models![Article, Sale].into(),
        // A snapshot stays, so there is nothing that may be one or the other.
        copies: &[],
        setup: |odm| {
            async move {
                let articles = odm.collection::<Article>();
                articles.insert_many((1..=3).map(article)).await?;
                let sales = [
                    sale(1, Some(1)),
                    sale(2, Some(1)),
                    sale(3, Some(2)),
                    sale(4, None),
                ];
                odm.collection::<Sale>().insert_many(sales).await?;
                // The earlier snapshots have another value than those from now on.
                articles.update_where(|a| a.id.gt(0)).inc(|a| a.price, 1).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let articles = odm.collection::<Article>();
                articles.update_where(|a| a.id.gt(0)).inc(|a| a.price, 1).await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("insert", One, |odm| {
                odm.collection::<Sale>().insert(sale(5, Some(1))).await?;
            }),
            row!("insert_many", Many, |odm| {
                let sales = [sale(5, Some(1)), sale(6, None), sale(7, Some(2))];
                odm.collection::<Sale>().insert_many(sales).await?;
            }),
            row!("set the source", One, |odm| {
                let articles = odm.collection::<Article>();
                articles.update(1).set(|a| a.price, 99).await?;
            }),
            row!("update_where", Many, |odm| {
                let articles = odm.collection::<Article>();
                articles.update_where(|a| a.id.lt(3)).set(|a| a.price, 99).await?;
            }),
            row!("move", One, |odm| {
                let sales = odm.collection::<Sale>();
                sales.update(1).set(|s| s.article, Ref::new(2)).await?;
            }),
            row!("move with update_where", Many, |odm| {
                let sales = odm.collection::<Sale>();
                sales
                    .update_where(|s| s.id.lt(3))
                    .set(|s| s.article, Ref::new(3))
                    .await?;
            }),
            row!("set where none was", One, |odm| {
                let sales = odm.collection::<Sale>();
                sales.update(4).set(|s| s.article, Ref::new(2)).await?;
            }),
            row!("unset the reference", One, |odm| {
                odm.collection::<Sale>().update(1).unset(|s| s.article).await?;
            }),
            row!("upsert a holder", One, |odm| {
                let sales = odm.collection::<Sale>();
                sales
                    .update(9)
                    .set(|s| s.what, "new")
                    .set(|s| s.article, Ref::new(2))
                    .upsert()
                    .await?;
            }),
            row!("replace a source", One, |odm| {
                let new = Article {
                    id: 1,
                    price: 99,
                    version: 2,
                };
                odm.collection::<Article>().replace(new).await?;
            }),
            row!("replace a holder", One, |odm| {
                let new = Sale {
                    id: 1,
                    what: "new".into(),
                    article: Some(Ref::new(2)),
                    cost: Some(99),
                    version: 1,
                };
                odm.collection::<Sale>().replace(new).await?;
            }),
            row!("delete a holder", One, |odm| {
                odm.collection::<Sale>().delete(1).optional().await?;
            }),
            row!("delete, nullify", Parts, |odm| {
                odm.collection::<Article>().delete(1).optional().await?;
            }),
            row!("delete_where", Parts, |odm| {
                odm.collection::<Article>().delete_where(|a| a.id.lt(3)).await?;
            }),
            row!("bulk", Many, |odm| {
                odm.bulk()
                    .add(odm.collection().insert(sale(5, Some(1))))
                    .add(odm.collection::<Article>().update(1).set(|a| a.price, 99))
                    .add(odm.collection::<Sale>().update(4).set(|s| s.article, Ref::new(1)))
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    tx.collection::<Article>().insert(article(4)).await?;
                    tx.collection::<Sale>().insert(sale(5, Some(4))).await?;
                    let articles = tx.collection::<Article>();
                    articles.update(4).set(|a| a.price, 99).await?;
                    tx.collection::<Sale>()
                        .update(4)
                        .set(|s| s.article, Ref::new(4))
                        .await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

fn good(id: i32) -> NewGood {
    NewGood {
        id,
        name: format!("good {id}"),
        note: some("note"),
    }
}

fn item(n: i32, good: Option<i32>) -> Item {
    Item {
        n,
        good: good.map(Ref::new),
        name: some("a lie"),
        note: None,
    }
}

fn gift(good: Option<i32>) -> Gift {
    Gift {
        good: good.map(Ref::new),
        name: None,
    }
}

fn basket(id: i32, goods: &[i32], given: Option<i32>) -> NewBasket {
    NewBasket {
        id,
        title: format!("basket {id}"),
        items: (0..).zip(goods).map(|(n, good)| item(n, Some(*good))).collect(),
        gift: gift(given),
    }
}

fn embedded() -> Edge {
    Edge {
        name: "copies in an embed",
        models: || models![Good, Basket].into(),
        copies: &[
            ("baskets", "items.name"),
            ("baskets", "items.note"),
            ("baskets", "gift.name"),
        ],
        setup: |odm| {
            async move {
                odm.collection::<Good>().insert_many((1..=4).map(good)).await?;
                let baskets = [
                    basket(1, &[1, 2], Some(1)),
                    basket(2, &[2, 1, 1], Some(2)),
                    basket(3, &[3], None),
                ];
                odm.collection::<Basket>().insert_many(baskets).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let goods = odm.collection::<Good>();
                goods
                    .update_where(|g| g.id.gt(0))
                    .set(|g| g.name, "again")
                    .await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("insert", One, |odm| {
                let baskets = odm.collection::<Basket>();
                baskets.insert(basket(4, &[1, 4], Some(2))).await?;
            }),
            row!("insert_many", Many, |odm| {
                let baskets = [basket(4, &[1], None), basket(5, &[2, 1], Some(1))];
                odm.collection::<Basket>().insert_many(baskets).await?;
            }),
            row!("set the source", One, |odm| {
                odm.collection::<Good>()
                    .update(1)
                    .set(|g| g.name, "new")
                    .set(|g| g.note, some("x"))
                    .await?;
            }),
            row!("unset the source", One, |odm| {
                odm.collection::<Good>().update(1).unset(|g| g.note).await?;
            }),
            row!("update_where", Many, |odm| {
                let goods = odm.collection::<Good>();
                goods.update_where(|g| g.id.lt(3)).set(|g| g.name, "new").await?;
            }),
            row!("push an item", One, |odm| {
                let baskets = odm.collection::<Basket>();
                baskets.update(3).push(|b| b.items, item(9, Some(1))).await?;
            }),
            row!("set the array", One, |odm| {
                let baskets = odm.collection::<Basket>();
                let new = vec![item(7, Some(4)), item(8, None), item(9, Some(1))];
                baskets.update(2).set(|b| b.items, new).await?;
            }),
            row!("change an item", One, |odm| {
                let baskets = odm.collection::<Basket>();
                baskets
                    .update(2)
                    .elem(|b| b.items, |i| i.n.eq(1), |i| i.set(|i| i.good, Ref::new(4)))
                    .await?;
            }),
            row!("set the reference", One, |odm| {
                let baskets = odm.collection::<Basket>();
                baskets.update(1).set(|b| b.gift.good, Ref::new(3)).await?;
            }),
            row!("unset the reference", One, |odm| {
                let baskets = odm.collection::<Basket>();
                baskets.update(1).unset(|b| b.gift.good).await?;
            }),
            row!("set the embed", One, |odm| {
                let baskets = odm.collection::<Basket>();
                baskets.update(1).set(|b| b.gift, gift(Some(4))).await?;
            }),
            row!("set with update_where", Many, |odm| {
                let baskets = odm.collection::<Basket>();
                baskets
                    .update_where(|b| b.id.gt(1))
                    .set(|b| b.gift.good, Ref::new(4))
                    .await?;
            }),
            row!("upsert a holder", One, |odm| {
                let baskets = odm.collection::<Basket>();
                baskets
                    .update(9)
                    .set(|b| b.title, "new")
                    .set(|b| b.items, vec![item(1, Some(2))])
                    .set(|b| b.gift, gift(Some(2)))
                    .upsert()
                    .await?;
            }),
            row!("replace a source", One, |odm| {
                let new = Good {
                    id: 1,
                    name: "new".into(),
                    note: None,
                    version: 1,
                };
                odm.collection::<Good>().replace(new).await?;
            }),
            row!("replace a holder", One, |odm| {
                let new = Basket {
                    id: 2,
                    title: "new".into(),
                    items: vec![item(1, Some(4)), item(2, None)],
                    gift: gift(Some(1)),
                    version: 1,
                };
                odm.collection::<Basket>().replace(new).await?;
            }),
            row!("delete a holder", One, |odm| {
                odm.collection::<Basket>().delete(1).optional().await?;
            }),
            row!("delete, nullify", LinkedParts, |odm| {
                odm.collection::<Good>().delete(1).optional().await?;
            }),
            row!("delete_where", LinkedParts, |odm| {
                odm.collection::<Good>().delete_where(|g| g.id.lt(3)).await?;
            }),
            row!("bulk", Many, |odm| {
                odm.bulk()
                    .add(odm.collection().insert(basket(4, &[1, 2], None)))
                    .add(odm.collection::<Good>().update(1).set(|g| g.name, "new"))
                    .add(
                        odm.collection::<Basket>()
                            .update(3)
                            .push(|b| b.items, item(9, Some(1))),
                    )
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    tx.collection::<Good>().insert(good(5)).await?;
                    let baskets = tx.collection::<Basket>();
                    baskets.insert(basket(4, &[5, 1], Some(5))).await?;
                    let goods = tx.collection::<Good>();
                    goods.update(5).set(|g| g.name, "new").await?;
                    baskets.update(3).set(|b| b.gift.good, Ref::new(5)).await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

fn comment(n: i32) -> Comment {
    Comment {
        n,
        text: format!("comment {n}"),
        stars: n % 5,
        at: DateTime::from_millis(i64::from(n) * 1_000),
    }
}

fn comments() -> Edge {
    Edge {
        name: "buckets by count",
        models: || models![Post, CommentBucket].into(),
        copies: &[],
        setup: |odm| {
            async move {
                let post = |id| NewPost {
                    id,
                    name: format!("post {id}"),
                };
                odm.collection::<Post>().insert_many((1..=3).map(post)).await?;
                let comments = odm.buckets::<Comment>();
                comments.push_many(1, (1..=7).map(comment)).await?;
                // All pages of this one are full.
                comments.push_many(2, (1..=3).map(comment)).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let comments = odm.buckets::<Comment>();
                comments.edit(1, |c| c.n.gt(0), |c| c.inc(|c| c.stars, 1)).await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("push", One, |odm| {
                odm.buckets::<Comment>().push(1, comment(8)).await?;
            }),
            row!("push, a new page", One, |odm| {
                odm.buckets::<Comment>().push(2, comment(8)).await?;
            }),
            row!("push, the first", One, |odm| {
                odm.buckets::<Comment>().push(3, comment(8)).await?;
            }),
            row!("push_many", One, |odm| {
                let comments = odm.buckets::<Comment>();
                comments.push_many(1, (8..=9).map(comment)).await?;
            }),
            row!("push_many, new pages", Parts, |odm| {
                let comments = odm.buckets::<Comment>();
                comments.push_many(1, (8..=15).map(comment)).await?;
            }),
            row!("edit an item", One, |odm| {
                let comments = odm.buckets::<Comment>();
                comments
                    .edit(1, |c| c.n.eq(2), |c| c.set(|c| c.text, "new"))
                    .await?;
            }),
            row!("edit what is summed", One, |odm| {
                let comments = odm.buckets::<Comment>();
                comments.edit(1, |c| c.n.eq(2), |c| c.inc(|c| c.stars, 5)).await?;
            }),
            row!("edit a time", One, |odm| {
                let comments = odm.buckets::<Comment>();
                let at = DateTime::from_millis(99_000);
                comments.edit(1, |c| c.n.eq(2), |c| c.set(|c| c.at, at)).await?;
            }),
            row!("edit items of several", Parts, |odm| {
                let comments = odm.buckets::<Comment>();
                comments.edit(1, |c| c.n.gt(1), |c| c.set(|c| c.stars, 9)).await?;
            }),
            row!("delete an item", One, |odm| {
                odm.buckets::<Comment>().delete(1, |c| c.n.eq(3)).await?;
            }),
            row!("delete a whole page", One, |odm| {
                odm.buckets::<Comment>().delete(1, |c| c.n.lte(3)).await?;
            }),
            row!("delete items of several", Parts, |odm| {
                odm.buckets::<Comment>().delete(1, |c| c.n.gt(1)).await?;
            }),
            row!("update the parent", One, |odm| {
                let posts = odm.collection::<Post>();
                posts.update(1).set(|p| p.name, "new").await?;
            }),
            row!("delete, cascade", Parts, |odm| {
                odm.collection::<Post>().delete(1).optional().await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    let comments = tx.buckets::<Comment>();
                    comments.push_many(1, (8..=12).map(comment)).await?;
                    comments.push(2, comment(8)).await?;
                    comments.edit(1, |c| c.n.gt(5), |c| c.set(|c| c.stars, 9)).await?;
                    comments.delete(1, |c| c.n.eq(3)).await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

/// This number of minutes after the beginning of time.
fn reading(n: i32, minute: i64) -> Reading {
    Reading {
        n,
        at: DateTime::from_millis(minute * 60_000),
        degrees: n,
    }
}

fn readings() -> Edge {
    Edge {
        name: "buckets by time",
        models: || models![Sensor, ReadingBucket].into(),
        copies: &[],
        setup: |odm| {
            async move {
                let sensor = |id| NewSensor {
                    id,
                    name: format!("sensor {id}"),
                };
                let sensors = odm.collection::<Sensor>();
                sensors.insert_many((1..=2).map(sensor)).await?;
                let readings = odm.buckets::<Reading>();
                // Three of the first hour, which is full; two of the second.
                let at = [(1, 0), (2, 30), (3, 59), (4, 60), (5, 90)];
                readings
                    .push_many(1, at.map(|(n, minute)| reading(n, minute)))
                    .await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let readings = odm.buckets::<Reading>();
                readings
                    .edit(1, |r| r.n.gt(0), |r| r.inc(|r| r.degrees, 1))
                    .await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("push", One, |odm| {
                odm.buckets::<Reading>().push(1, reading(6, 100)).await?;
            }),
            row!("push, a new hour", One, |odm| {
                odm.buckets::<Reading>().push(1, reading(6, 150)).await?;
            }),
            row!("push, the hour is full", One, |odm| {
                odm.buckets::<Reading>().push(1, reading(6, 15)).await?;
            }),
            row!("push_many", Parts, |odm| {
                let readings = odm.buckets::<Reading>();
                let at = [(6, 100), (7, 15), (8, 101), (9, 150)];
                readings
                    .push_many(1, at.map(|(n, minute)| reading(n, minute)))
                    .await?;
            }),
            row!("edit what is summed", One, |odm| {
                let readings = odm.buckets::<Reading>();
                readings
                    .edit(1, |r| r.n.eq(2), |r| r.inc(|r| r.degrees, 5))
                    .await?;
            }),
            row!("edit a time", One, |odm| {
                let readings = odm.buckets::<Reading>();
                let at = reading(0, 10).at;
                readings.edit(1, |r| r.n.eq(3), |r| r.set(|r| r.at, at)).await?;
            }),
            row!("edit items of several", Parts, |odm| {
                let readings = odm.buckets::<Reading>();
                readings
                    .edit(1, |r| r.n.gt(1), |r| r.set(|r| r.degrees, 0))
                    .await?;
            }),
            row!("delete an item", One, |odm| {
                odm.buckets::<Reading>().delete(1, |r| r.n.eq(3)).await?;
            }),
            row!("delete items of several", Parts, |odm| {
                odm.buckets::<Reading>().delete(1, |r| r.n.gt(1)).await?;
            }),
            row!("delete, cascade", Parts, |odm| {
                odm.collection::<Sensor>().delete(1).optional().await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    let readings = tx.buckets::<Reading>();
                    readings.push_many(1, [reading(6, 100), reading(7, 15)]).await?;
                    readings.push(2, reading(8, 15)).await?;
                    readings
                        .edit(1, |r| r.n.gt(3), |r| r.inc(|r| r.degrees, 1))
                        .await?;
                    readings.delete(1, |r| r.n.eq(3)).await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

fn draft(id: i32, folder: i32, topic: i32, follows: Option<i32>) -> NewDraft {
    NewDraft {
        id,
        text: format!("draft {id}"),
        folder: Ref::new(folder),
        topic: Ref::new(topic),
        follows: follows.map(Ref::new),
    }
}

fn kept() -> Edge {
    Edge {
        name: "kept deletions",
        models: || models![Folder, Topic, Draft].into(),
        copies: &[("folders", "drafts")],
        setup: |odm| {
            async move {
                let (folders, drafts) = (odm.collection::<Folder>(), odm.collection::<Draft>());
                folders.insert_many((1..=4).map(|id| NewFolder { id })).await?;
                let topics = odm.collection::<Topic>();
                topics.insert_many((1..=2).map(|id| NewTopic { id })).await?;
                let new = [
                    draft(1, 1, 1, None),
                    draft(2, 1, 2, Some(1)),
                    draft(3, 1, 2, Some(2)),
                    draft(4, 2, 1, None),
                    draft(5, 2, 2, Some(4)),
                    draft(6, 3, 1, None),
                    draft(7, 4, 1, None),
                    draft(8, 4, 1, None),
                ];
                drafts.insert_many(new).await?;
                // Two in a circle, on each side of which one is deleted.
                for (id, follows) in [(9, None), (10, Some(9)), (11, None), (12, Some(11))] {
                    drafts.insert(draft(id, 3, 1, follows)).await?;
                }
                drafts.update(9).set(|d| d.follows, Ref::new(10)).await?;
                drafts.update(11).set(|d| d.follows, Ref::new(12)).await?;
                drafts.delete(11).optional().await?;
                folders.delete(2).optional().await?;
                folders.delete(4).optional().await?;
                // A part of a deletion, which can be restored alone.
                let deleted = drafts.with_deleted();
                deleted.update(7).set(|d| d.folder, Ref::new(3)).await?;
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let drafts = odm.collection::<Draft>().with_deleted();
                drafts
                    .update_where(|d| d.id.gt(0))
                    .set(|d| d.text, "again")
                    .await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("delete", One, |odm| {
                odm.collection::<Draft>().delete(6).optional().await?;
            }),
            row!("delete, cascade", Kept, |odm| {
                odm.collection::<Folder>().delete(1).optional().await?;
            }),
            row!("delete, a circle", Kept, |odm| {
                odm.collection::<Draft>().delete(9).optional().await?;
            }),
            row!("delete_where", Kept, |odm| {
                odm.collection::<Topic>().delete_where(|t| t.id.gt(0)).await?;
            }),
            row!("insert below", One, |odm| {
                odm.collection::<Draft>().insert(draft(20, 1, 1, None)).await?;
            }),
            row!("restore, two parents", Restored, |odm| {
                odm.collection::<Folder>().restore(2).await?;
            }),
            row!("restore, a circle", Restored, |odm| {
                odm.collection::<Draft>().restore(12).await?;
            }),
            row!("restore, a part", One, |odm| {
                odm.collection::<Draft>().restore(7).await?;
            }),
            row!("purge", Parts, |odm| {
                odm.collection::<Folder>().purge(2).optional().await?;
            }),
            row!("purge_where", Parts, |odm| {
                odm.collection::<Folder>().purge_where(|f| f.id.gt(0)).await?;
            }),
            row!("transaction", Transaction, |odm| {
                odm.transaction(async |tx| {
                    tx.collection::<Folder>().restore(2).await?;
                    tx.collection::<Topic>().delete(1).optional().await?;
                    tx.collection::<Draft>().insert(draft(20, 1, 2, None)).await?;
                    Ok(())
                })
                .await?;
            }),
        ],
    }
}

fn of(odm: &Odm, tenant: &str) -> Odm {
    odm.scoped(Shelf::paths().tenant, tenant).unwrap()
}

fn volume(id: i32, shelf: i32) -> NewVolume {
    NewVolume {
        id,
        title: format!("volume {id}"),
        shelf: Ref::new(shelf),
    }
}

/// By the handle of a tenant, beside the documents of another one.
fn scoped() -> Edge {
    Edge {
        name: "documents of a tenant",
        models: || models![Shelf, Volume].into(),
        copies: &[("shelves", "volumes"), ("volumes", "shelf_name")],
        setup: |odm| {
            async move {
                for (tenant, first) in [("acme", 1), ("ACME", 11)] {
                    let of = of(&odm, tenant);
                    let shelves = (first..first + 3).map(|id| NewShelf {
                        id,
                        name: format!("shelf {id}"),
                    });
                    of.collection::<Shelf>().insert_many(shelves).await?;
                    let volumes = [
                        volume(first, first),
                        volume(first + 1, first),
                        volume(first + 2, first + 1),
                    ];
                    of.collection::<Volume>().insert_many(volumes).await?;
                }
                Ok(())
            }
            .boxed()
        },
        again: |odm| {
            async move {
                let shelves = odm.collection::<Shelf>();
                shelves
                    .update_where(|s| s.id.gt(0))
                    .set(|s| s.name, "again")
                    .await?;
                Ok(())
            }
            .boxed()
        },
        rows: vec![
            row!("insert", One, |odm| {
                of(&odm, "acme")
                    .collection::<Volume>()
                    .insert(volume(5, 1))
                    .await?;
            }),
            row!("insert_many", Many, |odm| {
                let volumes = [volume(5, 1), volume(6, 2)];
                of(&odm, "acme")
                    .collection::<Volume>()
                    .insert_many(volumes)
                    .await?;
            }),
            row!("set the source", One, |odm| {
                let shelves = of(&odm, "acme").collection::<Shelf>();
                shelves.update(1).set(|s| s.name, "new").await?;
            }),
            row!("update_where", Many, |odm| {
                let shelves = of(&odm, "acme").collection::<Shelf>();
                shelves
                    .update_where(|s| s.id.gt(0))
                    .set(|s| s.name, "new")
                    .await?;
            }),
            row!("move", One, |odm| {
                let volumes = of(&odm, "acme").collection::<Volume>();
                volumes.update(1).set(|v| v.shelf, Ref::new(3)).await?;
            }),
            row!("upsert", One, |odm| {
                let volumes = of(&odm, "acme").collection::<Volume>();
                volumes
                    .update(9)
                    .set(|v| v.title, "new")
                    .set(|v| v.shelf, Ref::new(2))
                    .upsert()
                    .await?;
            }),
            row!("replace", One, |odm| {
                let volumes = of(&odm, "acme").collection::<Volume>();
                let Some(mut volume) = volumes.get(1).await? else {
                    return Ok(());
                };
                volume.title = "new".into();
                volume.shelf = Ref::new(2);
                volumes.replace(volume).await?;
            }),
            row!("delete", One, |odm| {
                of(&odm, "acme")
                    .collection::<Volume>()
                    .delete(1)
                    .optional()
                    .await?;
            }),
            row!("delete, cascade", Parts, |odm| {
                of(&odm, "acme")
                    .collection::<Shelf>()
                    .delete(1)
                    .optional()
                    .await?;
            }),
            row!("delete_where", Parts, |odm| {
                let shelves = of(&odm, "acme").collection::<Shelf>();
                shelves.delete_where(|s| s.id.gt(1)).await?;
            }),
            row!("bulk", Many, |odm| {
                let odm = of(&odm, "acme");
                odm.bulk()
                    .without_bulk_write_command()
                    .add(odm.collection::<Shelf>().update(2).set(|s| s.name, "new"))
                    .add(odm.collection::<Volume>().insert(volume(5, 1)))
                    .await?;
            }),
            row!("transaction", Transaction, |odm| {
                of(&odm, "acme")
                    .transaction(async |tx| {
                        let shelves = tx.collection::<Shelf>();
                        shelves.update(1).set(|s| s.name, "new").await?;
                        tx.collection::<Volume>().insert(volume(5, 2)).await?;
                        tx.collection::<Volume>().delete(2).optional().await?;
                        Ok(())
                    })
                    .await?;
            }),
        ],
    }
}
