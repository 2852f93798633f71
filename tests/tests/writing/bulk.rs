//! Mixed writes in one request, or in one for each run of a kind.

use super::models::*;
use odm::__private::SwitchBulk as _;
use odm::Error;
use odm::prelude::*;
use odm_tests::{assert_clean, require_transactions, with_db, with_transactions};

#[odm_tests::test]
fn a_bulk_writes_to_several_collections() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let (shops, notes) = (odm.collection::<Shop>(), odm.collection::<Note>());
        let ada = shops.insert(shop("Ada", 1)).await.unwrap();
        let gone = shops.insert(shop("Gone", 1)).await.unwrap();
        shops.delete(gone.id).await.unwrap();
        let full = shops
            .insert(NewShop {
                tags: vec!["x".into(); 5],
                ..shop("Full", 1)
            })
            .await
            .unwrap();
        t.commands.clear();
        let later = odm.server().await.unwrap().has_bulk_write();
        let done = odm
            .bulk()
            .insert(shop("Bob", 2))
            .insert(note(1))
            .update::<Shop>(ada.id, |u| u.set(|s| s.stars, 3).push(|s| s.tags, "bulk"))
            .update::<Shop>(gone.id, |u| u.set(|s| s.stars, 3))
            .update::<Shop>(full.id, |u| u.push(|s| s.tags, "y"))
            .update_where(
                |s: ShopFields| s.name.eq("Bob"),
                |u| u.elem(|s| s.items, |i| i.quantity.eq(1), |i| i.inc(|i| i.quantity, 1)),
            )
            .update::<Shop>(ada.id, |u| u)
            .delete::<Note>(99_i64)
            .await
            .unwrap();
        assert_eq!((done.inserted, done.matched, done.deleted), (2, 2, 0));
        let sent = t.commands.take();
        // Before 8.0: one for each run of a kind to a collection, and no telling what missed beside an update of many.
        let (commands, missed): (&[&str], u64) = if later {
            (&["bulkWrite"], 2)
        } else {
            (&["insert", "insert", "update", "delete"], 0)
        };
        assert_eq!(
            (sent.as_slice(), done.missed),
            (
                commands
                    .iter()
                    .map(|c| (*c).to_owned())
                    .collect::<Vec<_>>()
                    .as_slice(),
                missed
            )
        );
        assert_eq!(shops.get(ada.id).await.unwrap().unwrap().tags, ["food", "bulk"]);
        assert_eq!(
            shops
                .find(|s| s.name.eq("Bob"))
                .one()
                .await
                .unwrap()
                .unwrap()
                .items[0]
                .quantity,
            2
        );
        assert_eq!(notes.find_all().count().await.unwrap(), 1);
    });
}

#[odm_tests::test]
fn a_bulk_names_refused_operations() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        shops.insert(shop("Ada", 1)).await.unwrap();
        // Before the network.
        t.commands.clear();
        assert!(matches!(
            odm.bulk().insert(shop("X", 9)).await,
            Err(Error::Bulk { errors, .. }) if matches!(&errors[..], [(0, Error::Invalid { .. })])
        ));
        assert!(t.commands.take().is_empty());
        // By the server, in order: the first ends it.
        let bulk = odm
            .bulk()
            .insert(shop("Bob", 1))
            .insert(shop("Ada", 1))
            .insert(shop("Cid", 1));
        let Err(Error::Bulk { errors, done }) = bulk.await else {
            panic!("a twin was inserted")
        };
        assert_eq!((errors.len(), errors[0].0, done.inserted), (1, 1, 1));
        assert!(
            matches!(&errors[0].1, Error::DuplicateKey { index, .. } if index == "name_1"),
            "{:?}",
            errors[0].1
        );
        // Without order, the others are inserted.
        let bulk = odm
            .bulk()
            .unordered()
            .insert(shop("Ada", 1))
            .insert(shop("Cid", 1))
            .insert(shop("Bob", 1));
        let Err(Error::Bulk { errors, done }) = bulk.await else {
            panic!("a twin was inserted")
        };
        assert_eq!(
            (errors.iter().map(|e| e.0).collect::<Vec<_>>(), done.inserted),
            (vec![0, 2], 1)
        );
        assert_eq!(odm.bulk().await.unwrap(), odm::write::BulkDone::default());
    });
}

#[odm_tests::test]
fn the_way_of_older_servers_does_the_same() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let (shops, notes) = (odm.collection::<Shop>(), odm.collection::<Note>());
        let ada = shops.insert(shop("Ada", 1)).await.unwrap();
        let gone = shops.insert(shop("Gone", 1)).await.unwrap();
        shops.delete(gone.id).await.unwrap();
        t.commands.clear();
        let done = odm
            .bulk()
            .without_bulk_write_command()
            .insert(shop("Bob", 2))
            .insert(shop("Cid", 2))
            .insert(note(1))
            .update::<Shop>(ada.id, |u| {
                u.set(|s| s.stars, 3)
                    .elem(|s| s.items, |i| i.quantity.eq(1), |i| i.set(|i| i.quantity, 9))
            })
            .update::<Shop>(gone.id, |u| u.set(|s| s.stars, 3))
            .replace(Shop {
                stars: 2,
                ..gone.clone()
            })
            .delete::<Note>(1_i64)
            .await
            .unwrap();
        assert_eq!(t.commands.take(), ["insert", "insert", "update", "delete"]);
        assert_eq!(
            (
                done.inserted,
                done.matched,
                done.modified,
                done.deleted,
                done.missed
            ),
            (3, 1, 1, 1, 2)
        );
        assert_eq!(shops.get(ada.id).await.unwrap().unwrap().items[0].quantity, 9);
        assert_eq!(notes.find_all().count().await.unwrap(), 0);

        let bulk = odm
            .bulk()
            .without_bulk_write_command()
            .insert(shop("Dan", 1))
            .insert(shop("Ada", 1))
            .insert(note(1));
        let Err(Error::Bulk { errors, done }) = bulk.await else {
            panic!("a twin was inserted")
        };
        assert_eq!((errors.len(), errors[0].0, done.inserted), (1, 1, 1));
        assert!(
            matches!(&errors[0].1, Error::DuplicateKey { value, .. } if value.get_str("name").is_ok()),
            "{:?}",
            errors[0].1
        );
        let bulk = odm
            .bulk()
            .without_bulk_write_command()
            .unordered()
            .insert(shop("Ada", 1))
            .insert(note(1))
            .delete::<Shop>(ada.id);
        let Err(Error::Bulk { errors, done }) = bulk.await else {
            panic!("a twin was inserted")
        };
        assert_eq!(
            (errors.len(), errors[0].0, done.inserted, done.deleted),
            (1, 0, 1, 1)
        );
    });
}

#[odm_tests::test]
fn positions_are_those_of_the_writes_that_were_given() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let ada = odm.collection::<Shop>().insert(shop("Ada", 1)).await.unwrap();
        for old in [false, true] {
            // The first two change nothing, so they are not sent.
            let bulk = odm
                .bulk()
                .update::<Shop>(ada.id, |u| u)
                .update::<Shop>(ada.id, |u| u)
                .insert(shop(if old { "Old" } else { "New" }, 1))
                .insert(shop("Ada", 1));
            let bulk = if old {
                bulk.without_bulk_write_command()
            } else {
                bulk
            };
            let Err(Error::Bulk { errors, .. }) = bulk.await else {
                panic!("a twin was inserted")
            };
            assert_eq!((errors.len(), errors[0].0), (1, 3), "{old}");
        }
    });
}

#[odm_tests::test]
fn writes_that_a_bulk_did_not_try_are_not_reported_as_missing() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let ada = shops.insert(shop("Ada", 1)).await.unwrap();
        let bob = shops.insert(shop("Bob", 1)).await.unwrap();
        let bulk = odm
            .bulk()
            .without_bulk_write_command()
            .update::<Shop>(ada.id, |u| u.set(|s| s.name, "Bob")) // a twin
            .update::<Shop>(ada.id, |u| u.set(|s| s.stars, 2))
            .update::<Shop>(bob.id, |u| u.set(|s| s.stars, 2));
        let Err(Error::Bulk { errors, done }) = bulk.await else {
            panic!("a twin was made")
        };
        assert_eq!(
            (errors.len(), errors[0].0, done.matched, done.missed),
            (1, 0, 0, 0)
        );
    });
}

#[odm_tests::test]
fn a_command_of_a_bulk_is_no_larger_than_a_document() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let large = |id| NewNote {
            text: "x".repeat(7 << 20),
            ..note(id)
        };
        let done = odm
            .bulk()
            .without_bulk_write_command()
            .insert(large(1))
            .insert(large(2))
            .insert(large(3))
            .insert(note(4))
            .await
            .unwrap();
        assert_eq!(done.inserted, 4);
        assert_eq!(t.commands.take(), ["insert", "insert"]);
        // Updates are as large as their values.
        let done = odm
            .bulk()
            .without_bulk_write_command()
            .update::<Note>(1, |u| u.set(|n| n.text, "y".repeat(9 << 20)))
            .update::<Note>(2, |u| u.set(|n| n.text, "y".repeat(9 << 20)))
            .await
            .unwrap();
        assert_eq!((done.matched, t.commands.take().len()), (2, 2));
    });
}

/// The error of a part of a bulk says what was done before it.
#[odm_tests::test]
fn a_bulk_reports_its_progress_before_a_missing_reference() {
    use crate::copying::auto::{Author, book, stocked};
    with_db(async |t| {
        let odm = stocked(&t).await;
        let bulk = odm.bulk().delete::<Author>(1).insert(book(10, 1));
        let Err(Error::Bulk { errors, done }) = bulk.await else {
            panic!("a book without an author was inserted")
        };
        assert!(
            matches!(&errors[..], [(1, Error::MissingReference { .. })]),
            "{errors:?}"
        );
        assert_eq!((done.deleted, done.cascaded, done.inserted), (1, 5, 0));
        crate::copying::assert_true(&odm).await;
    });
}

mod cats {
    use odm::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[document(collection = "cats")]
    pub struct Cat {
        #[serde(rename = "_id")]
        pub id: i32,
        #[index(unique)]
        pub name: String,
        #[reference]
        pub above: Option<Ref<Cat>>,
        #[denormalize(from = above.name)]
        pub above_name: Option<String>,
    }

    pub fn cat(id: i32, name: &str) -> NewCat {
        NewCat {
            id,
            name: name.to_owned(),
            above: None,
        }
    }
}

/// A document that a bulk updates may copy from one that it inserts, of its own kind too.
#[odm_tests::test]
fn an_update_copies_from_documents_inserted_by_the_same_bulk() {
    use cats::*;
    with_transactions(async |t| {
        let odm = Odm::new(t.db.clone(), models![Cat]).unwrap();
        odm.sync().await.unwrap();
        let cats = odm.collection::<Cat>();
        cats.insert(cat(1, "one")).await.unwrap();
        odm.bulk()
            .insert::<Cat>(cat(2, "two"))
            .update::<Cat>(1, |c| c.set(|c| c.above, Ref::new(2)))
            .await
            .unwrap();
        let one = cats.get(1).await.unwrap().unwrap();
        assert_eq!(one.above_name.as_deref(), Some("two"));
        // Whether a lesser one takes its place, only the server knows.
        t.commands.clear();
        let least = cats.update(1).min(|c| c.above, Ref::<Cat>::new(1)).await;
        assert!(matches!(least, Err(Error::Query { .. })), "{least:?}");
        assert!(t.commands.take().is_empty());
        assert_clean(&odm).await;
    });
}

/// The reply of a run with a refused write is no error of the driver's, but has ended the transaction.
#[odm_tests::test]
fn a_refusal_in_a_run_ends_the_transaction_at_once() {
    use cats::*;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Cat]).unwrap();
        odm.sync().await.unwrap();
        require_transactions(&odm).await;
        let cats = odm.collection::<Cat>();
        cats.insert(cat(1, "one")).await.unwrap();
        let bulk = |odm: odm::write::Bulk| {
            odm.without_bulk_write_command()
                .insert::<Cat>(cat(2, "one"))
                .update::<Cat>(1, |c| c.set(|c| c.name, "another"))
        };
        t.commands.clear();
        let alone = bulk(odm.bulk()).unordered().await.unwrap_err();
        assert!(matches!(alone, Error::Bulk { .. }), "{alone}");
        let inserts = |sent: Vec<String>| sent.iter().filter(|name| *name == "insert").count();
        assert_eq!(inserts(t.commands.take()), 1);
        let passed_over: odm::Result<()> = odm
            .transaction(async |tx| {
                let _ = bulk(tx.bulk()).await;
                tx.collection::<Cat>().insert(cat(3, "three")).await?;
                Ok(())
            })
            .await;
        assert!(passed_over.is_err());
        assert!(inserts(t.commands.take()) <= 2);
        assert_eq!(cats.find_all().count().await.unwrap(), 1);
        assert_eq!(cats.get(1).await.unwrap().unwrap().name, "one");
    });
}

/// Many sources with some holders each are delivered together, and children that are moved are marked together.
#[odm_tests::test]
fn the_commands_do_not_grow_with_the_writes() {
    use cats::*;
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Cat]).unwrap();
        odm.sync().await.unwrap();
        let cats = odm.collection::<Cat>();
        let sources = (1..=40).map(|id| cat(id, &format!("source {id}")));
        cats.insert_many(sources).await.unwrap();
        let holders = (0..1_200).map(|n| NewCat {
            above: Some(Ref::new(n % 40 + 1)),
            ..cat(100 + n, &format!("holder {n}"))
        });
        cats.insert_many(holders).await.unwrap();
        t.commands.clear();
        let renamed = cats.update_where(|c| c.id.lte(40)).unset(|c| c.above);
        renamed.await.unwrap();
        let bulk = (1..=40).fold(odm.bulk(), |bulk, id| {
            bulk.update::<Cat>(id, |c| c.set(|c| c.name, format!("renamed {id}")))
        });
        bulk.await.unwrap();
        let sent = t.commands.take();
        assert!(sent.len() < 40, "{}: {sent:?}", sent.len());
        assert_clean(&odm).await;
        let renamed = cats.find(|c| c.above_name.starts_with("renamed ")).count().await;
        assert_eq!(renamed.unwrap(), 1_200);
    });
}
