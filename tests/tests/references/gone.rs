//! References to what is gone: a document that holds one can be written all the same, and none can be brought anew.

use odm::Error;
use odm::bson::{Bson, Document as Raw, doc};
use odm::prelude::*;
use odm::update::Change;
use odm_tests::{TestDb, with_db};

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "hosts")]
pub struct Host {
    pub id: i32,
    pub name: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "messages")]
pub struct Message {
    pub id: i32,
    pub text: String,
    #[reference(on_delete = keep)]
    pub origin: Option<Ref<Host>>,
    #[reference(many, max = 5, on_delete = keep)]
    pub seen: Vec<Ref<Host>>,
    #[embed(max = 3)]
    pub hops: Vec<Hop>,
    #[reference(on_delete = nullify)]
    pub main: Option<Ref<Host>>,
}

#[derive(Embed, Clone, Debug, PartialEq)]
pub struct Hop {
    #[reference(on_delete = keep)]
    pub to: Ref<Host>,
}

fn host(id: i32) -> Host {
    Host {
        id,
        name: format!("host {id}"),
    }
}

fn to(id: i32) -> Ref<Host> {
    Ref::new(id)
}

/// Host 1 was deleted by the library, which keeps references to it, and host 2 past it. Host 3 is there.
async fn odm(test: &TestDb) -> Odm {
    let odm = Odm::new(test.db.clone(), models![Host, Message]).unwrap();
    odm.sync().await.unwrap();
    let hosts = odm.collection::<Host>();
    hosts.insert_many([1, 2, 3].map(host)).await.unwrap();
    let message = |id: i32| Message {
        id,
        text: String::new(),
        origin: Some(to(1)),
        seen: vec![to(1), to(3)],
        hops: vec![Hop { to: to(1) }],
        main: Some(to(2)),
    };
    let bare = Message {
        origin: None,
        seen: vec![],
        hops: vec![],
        main: None,
        ..message(2)
    };
    odm.collection::<Message>()
        .insert_many([message(1), bare])
        .await
        .unwrap();
    hosts.delete(1).await.unwrap();
    hosts.driver::<Raw>().delete_one(doc! { "_id": 2 }).await.unwrap();
    test.commands.clear();
    odm
}

fn lacks<T: std::fmt::Debug>(result: odm::Result<T>) -> (String, Vec<i32>) {
    match result {
        Err(Error::MissingReference { field, ids, .. }) => {
            (field, ids.iter().filter_map(Bson::as_i32).collect())
        }
        other => panic!("{other:?}"),
    }
}

#[odm_tests::test]
fn a_document_with_a_dangling_reference_can_be_replaced() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let messages = odm.collection::<Message>();
        let mut message = messages.get(1).await.unwrap().unwrap();
        t.commands.clear();
        message.text = "replaced".into();
        messages.replace(message.clone()).await.unwrap();
        // The target, the document as it was; once more, since a deletion of host 2 would have taken that out; the write.
        let sent = t.commands.take();
        assert_eq!(sent, ["find", "find", "find", "update"], "{sent:?}");
        let mut kept = message.clone();
        kept.main = None;
        messages.replace(kept).await.unwrap();
        // No deletion takes out a reference with `keep`.
        assert_eq!(t.commands.take(), ["find", "find", "update"]);
        let back = doc! { "$set": { "main": 2 } };
        let raw = messages.driver::<Raw>();
        raw.update_one(doc! { "_id": 1 }, back).await.unwrap();
        t.commands.clear();
        assert_eq!(messages.get(1).await.unwrap().unwrap(), message);

        message.text = "in bulk".into();
        odm.bulk()
            .add(odm.collection().replace(message.clone()))
            .await
            .unwrap();
        assert_eq!(messages.get(1).await.unwrap().unwrap(), message);

        // Each value as it is, one by one and together with others.
        messages.update(1).set(|m| m.origin, to(1)).await.unwrap();
        messages.update(1).set(|m| m.main, to(2)).await.unwrap();
        messages
            .update(1)
            .set(|m| m.seen, vec![to(3), to(1)])
            .set(|m| m.hops, vec![Hop { to: to(3) }, Hop { to: to(1) }])
            .await
            .unwrap();
        messages
            .update_where(|m| m.id.eq(1))
            .set(|m| m.origin, to(1))
            .await
            .unwrap();
        let stored = messages.get(1).await.unwrap().unwrap();
        assert_eq!(stored.seen, [to(3), to(1)]);
        assert_eq!(stored.hops.len(), 2);
        assert_eq!((stored.origin, stored.main), (Some(to(1)), Some(to(2))));

        if odm.server().await.unwrap().has_transactions() {
            let mut stored = messages.get(1).await.unwrap().unwrap();
            stored.text = "in a transaction".into();
            let replacement = &stored;
            odm.transaction(
                |tx| async move { tx.collection::<Message>().replace(replacement.clone()).await },
            )
            .await
            .unwrap();
            assert_eq!(messages.get(1).await.unwrap().unwrap(), stored);
        }
    });
}

#[odm_tests::test]
fn a_dangling_reference_cannot_be_added_to_another_document() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let messages = odm.collection::<Message>();
        let one = messages.get(1).await.unwrap().unwrap();
        let two = messages.get(2).await.unwrap().unwrap();
        let replaced = |message: Message| messages.replace(message);
        let with = |ids: &[i32]| ids.iter().copied().map(to).collect::<Vec<_>>();

        // Another document, another field, and another one that is missing.
        let brings = Message {
            origin: Some(to(1)),
            ..two.clone()
        };
        assert_eq!(lacks(replaced(brings.clone()).await), ("origin".into(), vec![1]));
        let brings_another = Message {
            origin: Some(to(2)),
            ..one.clone()
        };
        assert_eq!(lacks(replaced(brings_another).await), ("origin".into(), vec![2]));
        let brings_one_more = Message {
            seen: with(&[1, 3, 9]),
            ..one.clone()
        };
        assert_eq!(
            lacks(replaced(brings_one_more).await),
            ("seen".into(), vec![9]),
            "only the new one"
        );
        let set = messages.update(1).set(|m| m.hops, vec![Hop { to: to(2) }]).await;
        assert_eq!(lacks(set), ("hops.to".into(), vec![2]));
        let pushed = messages.update(2).push(|m| m.seen, to(1)).await;
        assert_eq!(lacks(pushed), ("seen".into(), vec![1]));

        let once_more = messages.update(1).push(|m| m.seen, to(1)).await;
        assert_eq!(lacks(once_more), ("seen".into(), vec![1]), "added, it is new");
        let by_condition = messages
            .update_where(|m| m.id.eq(1))
            .set(|m| m.origin, to(1))
            .upsert_with(Message {
                origin: None,
                ..one.clone()
            })
            .await;
        assert_eq!(lacks(by_condition), ("origin".into(), vec![1]), "it might insert");

        // Of several documents all have to have it.
        let all = messages
            .update_where(|m| m.id.gte(1))
            .set(|m| m.origin, to(1))
            .await;
        assert_eq!(lacks(all), ("origin".into(), vec![1]));
        let bulk = odm
            .bulk()
            .add(odm.collection().replace(one.clone()))
            .add(odm.collection().replace(brings.clone()))
            .await;
        assert!(
            matches!(&bulk, Err(Error::MissingReference { .. } | Error::Bulk { .. })),
            "{bulk:?}"
        );
        // An insert has no document before it.
        let upserted = messages
            .update(3)
            .set(|m| m.text, "new")
            .set(|m| m.origin, to(1))
            .upsert_with(Message {
                id: 3,
                hops: vec![],
                seen: vec![],
                ..one.clone()
            })
            .await;
        assert_eq!(lacks(upserted), ("origin".into(), vec![1]));
        let inserted = messages.insert(Message { id: 3, ..one.clone() }).await;
        assert_eq!(lacks(inserted).1, [1]);

        assert_eq!(messages.get(1).await.unwrap().unwrap(), one);
        assert_eq!(messages.get(2).await.unwrap().unwrap(), two);
        assert_eq!(messages.find_all().count().await.unwrap(), 2);
    });
}

/// Orders that keep who ordered, with the name that he had.
macro_rules! orders {
    ($name:ident, $($sync:tt)*) => {
        mod $name {
            use odm::prelude::*;

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "customers")]
            pub struct Customer {
                pub id: i32,
                pub name: String,
                pub city: Option<String>,
            }

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "orders")]
            pub struct Order {
                pub id: i32,
                pub text: String,
                #[reference(on_delete = keep)]
                #[denormalize(from = Customer, fields(name: String, city: Option<String>) $($sync)*)]
                pub by: OrderBy,
                #[reference(many, max = 4, on_delete = keep)]
                #[denormalize(from = Customer, fields(name: String) $($sync)*)]
                pub with: Vec<OrderWith>,
            }
        }
    };
}
orders!(at_once,);
orders!(later, , consistency = eventual);

macro_rules! a_kept_copy_stays {
    ($name:ident, $of:ident) => {
        #[odm_tests::test]
        fn $name() {
            with_db(async |t| {
                use $of::*;
                let odm = Odm::new(t.db.clone(), models![Customer, Order]).unwrap();
                odm.sync().await.unwrap();
                for odm in [odm.clone(), t.standalone_of(&odm).await] {
                    let (customers, orders) = (odm.collection::<Customer>(), odm.collection::<Order>());
                    customers.delete_where(|c| c.id.gt(0)).await.unwrap();
                    orders.delete_where(|o| o.id.gt(0)).await.unwrap();
                    let customer = |id: i32| Customer {
                        id,
                        name: format!("customer {id}"),
                        city: (id == 1).then(|| "Bonn".to_owned()),
                    };
                    customers
                        .insert_many([1, 2, 3].map(customer))
                        .await
                        .unwrap();
                    let order = |id: i32, by: i32| NewOrder {
                        id,
                        text: String::new(),
                        by: Ref::new(by),
                        with: vec![Ref::new(2), Ref::new(3)],
                    };
                    orders
                        .insert_many([order(1, 1), order(2, 3)])
                        .await
                        .unwrap();
                    customers.delete_where(|c| c.id.lt(3)).await.unwrap();
                    let copies = |order: &Order| {
                        let with: Vec<String> = order.with.iter().map(|with| with.name.clone()).collect();
                        (order.by.name.clone(), order.by.city.clone(), with)
                    };
                    let kept = (
                        "customer 1".to_owned(),
                        Some("Bonn".to_owned()),
                        vec!["customer 2".to_owned(), "customer 3".to_owned()],
                    );

                    let mut first = orders.get(1).await.unwrap().unwrap();
                    assert_eq!(copies(&first), kept);
                    first.text = "replaced".into();
                    let stored = orders.replace(first.clone()).await.unwrap();
                    assert_eq!(stored, first);
                    assert_eq!(orders.get(1).await.unwrap().unwrap(), first);
                    first.text = "in bulk".into();
                    odm.bulk()
                        .add(odm.collection().replace(first.clone()))
                        .await
                        .unwrap();
                    assert_eq!(orders.get(1).await.unwrap().unwrap(), first);
                    orders.update(1).set(|o| o.by, Ref::new(1)).await.unwrap();
                    assert_eq!(orders.get(1).await.unwrap().unwrap(), first);
                    // Those that are there follow on.
                    customers
                        .update(3)
                        .set(|c| c.name, "renamed")
                        .await
                        .unwrap();
                    first.with[1].name = "renamed".into();
                    assert_eq!(orders.get(1).await.unwrap().unwrap(), first);

                    // A document that did not have it does not get it.
                    let second = orders.get(2).await.unwrap().unwrap();
                    let set = orders.update(2).set(|o| o.by, Ref::new(1)).await;
                    assert_eq!(lacks(set), ("by.id".to_owned(), vec![1]));
                    let once_more = orders.update(1).push(|o| o.with, Ref::new(2)).await;
                    assert_eq!(lacks(once_more), ("with.id".to_owned(), vec![2]));
                    let mut brings = second.clone();
                    brings.by.id = Ref::new(1);
                    assert_eq!(lacks(orders.replace(brings).await).1, [1]);
                    assert_eq!(orders.get(2).await.unwrap().unwrap(), second);
                    assert_eq!(odm.recover().await.unwrap().documents, 0);
                }
            });
        }
    };
}
a_kept_copy_stays!(a_replacement_keeps_the_copies_of_what_is_gone, at_once);
a_kept_copy_stays!(a_replacement_keeps_copies_that_follow_of_what_is_gone, later);

mod unchecked {
    use odm::prelude::*;

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "sources")]
    pub struct Source {
        pub id: i32,
        pub name: String,
    }

    #[derive(Document, Clone, Debug, PartialEq)]
    #[document(collection = "holders")]
    pub struct Holder {
        pub id: i32,
        #[reference(check = false)]
        pub source: Option<Ref<Source>>,
        #[denormalize(from = source.name)]
        pub name: Option<String>,
    }
}

/// There is nothing that could be copied.
#[odm_tests::test]
fn copies_need_their_source_whether_the_reference_is_checked_or_not() {
    use unchecked::*;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Source, Holder]).unwrap();
        odm.sync().await.unwrap();
        let (sources, holders) = (odm.collection::<Source>(), odm.collection::<Holder>());
        let holder = |id: i32, source: Option<i32>| NewHolder {
            id,
            source: source.map(Ref::new),
        };
        let refused = ("source".to_owned(), vec![7]);
        assert_eq!(lacks(holders.insert(holder(1, Some(7))).await), refused);
        holders.insert(holder(1, None)).await.unwrap();
        let set = holders.update(1).set(|h| h.source, Ref::new(7)).await;
        assert_eq!(lacks(set), refused);
        let seven = Source {
            id: 7,
            name: "seven".into(),
        };
        sources.insert(seven).await.unwrap();
        holders.update(1).set(|h| h.source, Ref::new(7)).await.unwrap();
        let stored = holders.get(1).await.unwrap().unwrap();
        assert_eq!(stored.name.as_deref(), Some("seven"));
    });
}
