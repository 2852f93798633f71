//! Holders that lose their reference when its target is deleted, and what others derive of them.

use odm::bson::{Bson, Document as Doc, doc};
use odm::mongodb::Database;
use odm::prelude::*;
use odm::references::FanOut;
use odm_tests::fixtures::interleaved::interrupted;
use odm_tests::{TestDb, assert_clean, require_transactions, with_transactions};
use std::sync::{Arc, Mutex};

/// Items lose their maker. Tags copy from an item what it has copied from its maker; shops list their items and count those with
/// a maker.
macro_rules! makers {
    ($mode:ident $(, $sync:ident)?) => {
        mod $mode {
            use odm::prelude::*;

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "makers")]
            pub struct Maker {
                pub id: i32,
                pub name: String,
            }

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "items")]
            pub struct Item {
                pub id: i32,
                #[reference(on_delete = nullify)]
                pub maker: Option<Ref<Maker>>,
                #[denormalize(from = maker.name)]
                pub maker_name: Option<String>,
                #[parent_ref]
                pub shop: Ref<Shop>,
            }

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "tags")]
            pub struct Tag {
                pub id: i32,
                #[reference]
                pub item: Ref<Item>,
                #[denormalize(from = item.maker_name $(, consistency = $sync)?)]
                pub maker_name: Option<String>,
            }

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "shops")]
            pub struct Shop {
                pub id: i32,
                #[subset(of = Item, limit = 9, order(id), fields(maker_name: Option<String>) $(, consistency = $sync)?)]
                pub list: Vec<ListEntry>,
                #[computed(count = Item, filter = |i| i.maker.exists(true) $(, consistency = $sync)?)]
                pub made: i64,
            }

            pub fn models() -> [odm::Model; 4] {
                models![Maker, Item, Tag, Shop]
            }

            /// Two makers, and items of the first one in one shop, each with a tag.
            pub async fn stocked(t: &odm_tests::TestDb, items: i32) -> Odm {
                let odm = Odm::new(t.db.clone(), models()).unwrap();
                odm.sync().await.unwrap();
                let makers = (1..=2).map(|id| Maker { id, name: format!("maker {id}") });
                odm.collection::<Maker>().insert_many(makers).await.unwrap();
                odm.collection::<Shop>().insert(NewShop { id: 1 }).await.unwrap();
                let new_items = (0..items).map(|id| NewItem {
                    id,
                    maker: Some(Ref::new(1)),
                    shop: Ref::new(1),
                });
                odm.collection::<Item>().insert_many(new_items).await.unwrap();
                let tags = (0..items).map(|id| NewTag { id, item: Ref::new(id) });
                odm.collection::<Tag>().insert_many(tags).await.unwrap();
                t.commands.clear();
                odm
            }
        }
    };
}
makers!(auto);
makers!(atomic, atomic);
makers!(eventual, eventual);

/// The values derived of the items at one moment: the names in items, tags and the shop, and the count.
async fn seen(db: &Database) -> [Vec<Bson>; 4] {
    let mut session = db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let mut names = Vec::new();
    for name in ["items", "tags", "shops"] {
        let all = db.collection::<Doc>(name);
        let mut found = all
            .find(doc! {})
            .sort(doc! { "_id": 1 })
            .session(&mut session)
            .await
            .unwrap();
        let mut documents = Vec::new();
        while let Some(document) = found.next(&mut session).await {
            documents.push(document.unwrap());
        }
        names.push(documents);
    }
    session.abort_transaction().await.unwrap();
    let name = |document: &Doc| document.get("maker_name").cloned().unwrap_or(Bson::Null);
    let [items, tags, shops] = names.try_into().unwrap();
    let shop = shops.first().unwrap();
    let list = shop
        .get_array("list")
        .unwrap()
        .iter()
        .filter_map(Bson::as_document);
    [
        items.iter().map(name).collect(),
        tags.iter().map(name).collect(),
        list.map(name).collect(),
        vec![shop.get("made").cloned().unwrap()],
    ]
}

fn nobodys(items: usize) -> [Vec<Bson>; 4] {
    let names = || vec![Bson::Null; items];
    [names(), names(), names(), vec![Bson::Int64(0)]]
}

#[odm_tests::test]
fn in_a_transaction_what_is_derived_of_holders_follows_with_them() {
    use atomic::{Item, Maker, Shop, Tag};
    with_transactions(async |t| {
        let odm = atomic::stocked(&t, 3).await;
        odm.transaction(async |tx| {
            let done = tx.collection::<Maker>().delete(1).await?;
            assert_eq!((done.deleted, done.nullified), (1, 3));
            let names: Vec<_> = (tx.collection::<Item>().find_all().all().await?.iter())
                .map(|item| item.maker_name.clone())
                .collect();
            assert_eq!(names, [None, None, None]);
            let names: Vec<_> = (tx.collection::<Tag>().find_all().all().await?.iter())
                .map(|tag| tag.maker_name.clone())
                .collect();
            assert_eq!(names, [None, None, None]);
            let shop = tx.collection::<Shop>().get(1).await?.unwrap();
            assert!(
                shop.list.iter().all(|entry| entry.maker_name.is_none()),
                "{shop:?}"
            );
            assert_eq!((shop.list.len(), shop.made), (3, 0));
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(seen(&t.db).await, nobodys(3));
        assert_eq!(odm.recover().await.unwrap().documents, 0);
        assert_clean(&odm).await;
    });
}

/// A handle whose deletion of a maker waits until another client has seen what is derived of its items.
async fn watched(t: &TestDb, models: [odm::Model; 4]) -> (Odm, Arc<Mutex<Vec<[Vec<Bson>; 4]>>>) {
    let all = Arc::new(Mutex::new(Vec::new()));
    let into = all.clone();
    let odm = interrupted(t, models, "delete", "makers", move |db| {
        Box::pin(async move {
            let now = seen(&db).await;
            into.lock().unwrap().push(now);
        })
    })
    .await;
    (odm, all)
}

#[odm_tests::test]
fn a_reader_sees_holders_with_what_is_derived_of_them() {
    with_transactions(async |t| {
        atomic::stocked(&t, 3).await;
        let (odm, found) = watched(&t, atomic::models()).await;
        let done = odm.collection::<atomic::Maker>().delete(1).await.unwrap();
        assert_eq!((done.deleted, done.nullified), (1, 3));
        assert_eq!(*found.lock().unwrap(), [nobodys(3)]);
        assert_clean(&odm).await;
    });
}

#[odm_tests::test]
fn the_values_of_few_holders_follow_in_their_transaction() {
    with_transactions(async |t| {
        auto::stocked(&t, 5).await;
        let (odm, found) = watched(&t, auto::models()).await;
        odm.collection::<auto::Maker>().delete(1).await.unwrap();
        assert_eq!(*found.lock().unwrap(), [nobodys(5)]);
        assert_clean(&odm).await;
        t.db.drop().await.unwrap();

        // Of more than these they are updated afterwards, by the pending work of the holders.
        let odm = auto::stocked(&t, 5)
            .await
            .with_fan_out(FanOut::new().in_transaction(4));
        let commits = |sent: &[String]| sent.iter().filter(|name| *name == "commitTransaction").count();
        odm.collection::<auto::Maker>().delete(1).await.unwrap();
        let sent = t.commands.take();
        assert_eq!(commits(&sent), 0, "{sent:?}");
        assert_eq!(seen(&t.db).await, nobodys(5));
        assert_clean(&odm).await;
        t.db.drop().await.unwrap();

        // With `consistency = atomic` their number does not matter, and with `consistency = eventual` neither.
        let odm = atomic::stocked(&t, 5)
            .await
            .with_fan_out(FanOut::new().in_transaction(4));
        odm.collection::<atomic::Maker>().delete(1).await.unwrap();
        let sent = t.commands.take();
        let of_tags = ["update"]; // of all holders, however many
        let of_shops = ["find", "find", "aggregate", "update"]; // as they are, the items for the list and for the count
        let expected = [
            &["find", "find", "update", "find"][..], // the maker, its items, which let it go and are read again
            &of_tags,
            &of_shops,
            &["commitTransaction", "delete", "find"],
        ];
        assert_eq!(sent, expected.concat());
        assert_eq!(seen(&t.db).await, nobodys(5));
        t.db.drop().await.unwrap();
        let odm = eventual::stocked(&t, 5).await;
        odm.collection::<eventual::Maker>().delete(1).await.unwrap();
        let sent = t.commands.take();
        assert_eq!(commits(&sent), 0, "{sent:?}");
        assert_eq!(seen(&t.db).await, nobodys(5));
        assert_clean(&odm).await;
    });
}

/// Herds, which count and list their sheep; these lose their herd.
macro_rules! herds {
    ($mode:ident, $sync:ident) => {
        mod $mode {
            use odm::prelude::*;

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "herds")]
            pub struct Herd {
                pub id: i32,
                #[computed(count = Sheep, consistency = $sync)]
                pub sheep: i64,
                #[subset(of = Sheep, limit = 9, order(id), fields(name: String), consistency = $sync)]
                pub list: Vec<ListEntry>,
            }

            #[derive(Document, Clone, Debug, PartialEq)]
            #[document(collection = "sheep")]
            pub struct Sheep {
                pub id: i32,
                pub name: String,
                #[parent_ref(on_delete = nullify)]
                pub herd: Option<Ref<Herd>>,
            }

            /// A herd of three.
            pub async fn stocked(t: &odm_tests::TestDb) -> Odm {
                let odm = Odm::new(t.db.clone(), models![Herd, Sheep]).unwrap();
                odm.sync().await.unwrap();
                odm.collection::<Herd>()
                    .insert(NewHerd { id: 1 })
                    .await
                    .unwrap();
                let sheep = (0..3).map(|id| Sheep {
                    id,
                    name: format!("sheep {id}"),
                    herd: Some(Ref::new(1)),
                });
                odm.collection::<Sheep>().insert_many(sheep).await.unwrap();
                odm
            }
        }
    };
}
herds!(followed, atomic);
herds!(pending, eventual);

/// The herd as it is stored, the number of sheep that name it, and the number of notes about parents.
async fn herd(db: &Database) -> (Doc, u64, u64) {
    let all = |name: &str| db.collection::<Doc>(name);
    let herd = all("herds").find_one(doc! {}).await.unwrap().unwrap();
    let sheep = all("sheep").count_documents(doc! { "herd": 1 }).await.unwrap();
    let notes = doc! { "parents": { "$exists": true } };
    let notes = all("_odm_edges").count_documents(notes).await.unwrap();
    (herd, sheep, notes)
}

/// The parent of detached children stays for a moment, or after all: it does not count them any more.
#[odm_tests::test]
fn a_parent_is_seen_without_the_children_that_are_detached() {
    use followed::{Herd, Sheep};
    with_transactions(async |t| {
        followed::stocked(&t).await;
        let seen = Arc::new(Mutex::new(None));
        let into = seen.clone();
        let odm = interrupted(&t, models![Herd, Sheep], "delete", "herds", move |db| {
            Box::pin(async move {
                let now = herd(&db).await;
                *into.lock().unwrap() = Some(now);
            })
        })
        .await;
        let done = odm.collection::<Herd>().delete(1).await.unwrap();
        assert_eq!((done.deleted, done.nullified), (1, 3));
        let (herd, sheep, notes) = seen.lock().unwrap().take().unwrap();
        assert_eq!((herd.get_i64("sheep").unwrap(), sheep), (0, 0), "{herd}");
        assert!(herd.get_array("list").unwrap().is_empty(), "{herd}");
        assert_eq!(notes, 0, "nothing is left to be derived anew");
        assert_clean(&odm).await;
    });
}

/// Where the values are eventual, the parent has pending work from the transaction that detaches its children.
#[odm_tests::test]
fn a_deletion_that_dies_leaves_pending_work_in_the_parent() {
    use pending::{Herd, Sheep};
    with_transactions(async |t| {
        pending::stocked(&t).await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let into = seen.clone();
        let odm = interrupted(&t, models![Herd, Sheep], "delete", "herds", move |db| {
            Box::pin(async move {
                let before = herd(&db).await;
                // The process might have died by now.
                let other = Odm::new(db.clone(), models![Herd, Sheep]).unwrap();
                other.recover().await.unwrap();
                let after = herd(&db).await;
                into.lock().unwrap().extend([before, after]);
            })
        })
        .await;
        let done = odm.collection::<Herd>().delete(1).await.unwrap();
        assert_eq!((done.deleted, done.nullified), (1, 3));
        let found = std::mem::take(&mut *seen.lock().unwrap());
        let [(before, 0, 0), (after, 0, 0)] = found.as_slice() else {
            panic!("all sheep have left, and nothing is noted: {found:?}");
        };
        let pending = |herd: &Doc| herd.get_document("_odm").unwrap().contains_key("pending");
        assert!(
            pending(before) && before.get_i64("sheep").unwrap() == 3,
            "{before}"
        );
        assert!(!pending(after) && after.get_i64("sheep").unwrap() == 0, "{after}");
        assert_clean(&odm).await;
    });
}

/// The holders are found before the transaction that detaches them.
#[odm_tests::test]
fn a_holder_that_changes_meanwhile_is_detached_as_it_is_then() {
    with_transactions(async |t| {
        atomic::stocked(&t, 2).await;
        // The first item gets the other maker, just before the items are detached.
        let odm = interrupted(&t, atomic::models(), "update", "items", |db| {
            Box::pin(async move {
                let other = Odm::new(db, atomic::models()).unwrap();
                other
                    .collection::<atomic::Item>()
                    .update(0)
                    .set(|item| item.maker, Ref::new(2))
                    .await
                    .unwrap();
            })
        })
        .await;
        require_transactions(&odm).await;
        let done = odm.collection::<atomic::Maker>().delete(1).await.unwrap();
        assert_eq!((done.deleted, done.nullified), (1, 1));
        let [items, tags, list, made] = seen(&t.db).await;
        let names = [Bson::from("maker 2"), Bson::Null];
        assert_eq!(
            (&items[..], &tags[..], &list[..]),
            (&names[..], &names[..], &names[..])
        );
        assert_eq!(made, [Bson::Int64(1)]);
        assert_clean(&odm).await;
    });
}
