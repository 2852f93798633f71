//! Mixed writes in one request, or in one for each run of a kind.

use super::models::*;
use odm::__private::SwitchBulk as _;
use odm::Error;
use odm::prelude::*;
use odm_tests::{TestDb, assert_clean, require_transactions, with_db, with_transactions};

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
            .add(odm.collection().insert(shop("Bob", 2)))
            .add(odm.collection().insert(note(1)))
            .add(shops.update(ada.id).set(|s| s.stars, 3).push(|s| s.tags, "bulk"))
            .add(shops.update(gone.id).set(|s| s.stars, 3))
            .add(shops.update(full.id).push(|s| s.tags, "y"))
            .add(shops.update_where(|s: ShopFields| s.name.eq("Bob")).elem(
                |s| s.items,
                |i| i.quantity.eq(1),
                |i| i.inc(|i| i.quantity, 1),
            ))
            .add(shops.update(ada.id))
            .add(notes.delete(99_i64))
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
            odm.bulk().add(odm.collection().insert(shop("X", 9))).await,
            Err(Error::Bulk { errors, .. }) if matches!(&errors[..], [(0, Error::Invalid { .. })])
        ));
        assert!(t.commands.take().is_empty());
        // By the server, in order: the first ends it.
        let bulk = odm
            .bulk()
            .add(odm.collection().insert(shop("Bob", 1)))
            .add(odm.collection().insert(shop("Ada", 1)))
            .add(odm.collection().insert(shop("Cid", 1)));
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
            .add(odm.collection().insert(shop("Ada", 1)))
            .add(odm.collection().insert(shop("Cid", 1)))
            .add(odm.collection().insert(shop("Bob", 1)));
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
            .add(odm.collection().insert(shop("Bob", 2)))
            .add(odm.collection().insert(shop("Cid", 2)))
            .add(odm.collection().insert(note(1)))
            .add(shops.update(ada.id).set(|s| s.stars, 3).elem(
                |s| s.items,
                |i| i.quantity.eq(1),
                |i| i.set(|i| i.quantity, 9),
            ))
            .add(shops.update(gone.id).set(|s| s.stars, 3))
            .add(odm.collection().replace(Shop {
                stars: 2,
                ..gone.clone()
            }))
            .add(notes.delete(1_i64))
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
            .add(odm.collection().insert(shop("Dan", 1)))
            .add(odm.collection().insert(shop("Ada", 1)))
            .add(odm.collection().insert(note(1)));
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
            .add(odm.collection().insert(shop("Ada", 1)))
            .add(odm.collection().insert(note(1)))
            .add(shops.delete(ada.id));
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
                .add(odm.collection::<Shop>().update(ada.id))
                .add(odm.collection::<Shop>().update(ada.id))
                .add(odm.collection().insert(shop(if old { "Old" } else { "New" }, 1)))
                .add(odm.collection().insert(shop("Ada", 1)));
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
            .add(shops.update(ada.id).set(|s| s.name, "Bob")) // a twin
            .add(shops.update(ada.id).set(|s| s.stars, 2))
            .add(shops.update(bob.id).set(|s| s.stars, 2));
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
            .add(odm.collection().insert(large(1)))
            .add(odm.collection().insert(large(2)))
            .add(odm.collection().insert(large(3)))
            .add(odm.collection().insert(note(4)))
            .await
            .unwrap();
        assert_eq!(done.inserted, 4);
        assert_eq!(t.commands.take(), ["insert", "insert"]);
        // Updates are as large as their values.
        let done = odm
            .bulk()
            .without_bulk_write_command()
            .add(
                odm.collection::<Note>()
                    .update(1)
                    .set(|n| n.text, "y".repeat(9 << 20)),
            )
            .add(
                odm.collection::<Note>()
                    .update(2)
                    .set(|n| n.text, "y".repeat(9 << 20)),
            )
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
        let bulk = odm
            .bulk()
            .add(odm.collection::<Author>().delete(1))
            .add(odm.collection().insert(book(10, 1)));
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
    use odm::__private::SwitchBulk as _;
    use odm::Handle;
    use odm::prelude::*;
    use odm::write::Bulk;
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

    /// A bulk whose first write is refused where there is a cat called "one".
    pub fn two(handle: &impl Handle) -> Bulk {
        let cats = handle.collection::<Cat>();
        let bulk = handle.bulk().without_bulk_write_command();
        bulk.add(cats.insert(cat(2, "one")))
            .add(cats.update(1).set(|c| c.name, "another"))
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
            .add(cats.insert(cat(2, "two")))
            .add(cats.update(1).set(|c| c.above, Ref::new(2)))
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
        t.commands.clear();
        let alone = two(&odm).unordered().await.unwrap_err();
        assert!(matches!(alone, Error::Bulk { .. }), "{alone}");
        let inserts = |sent: Vec<String>| sent.iter().filter(|name| *name == "insert").count();
        assert_eq!(inserts(t.commands.take()), 1);
        let passed_over: odm::Result<()> = odm
            .transaction(async |tx| {
                let _ = two(&tx).await;
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
            bulk.add(cats.update(id).set(|c| c.name, format!("renamed {id}")))
        });
        bulk.await.unwrap();
        let sent = t.commands.take();
        assert!(sent.len() < 40, "{}: {sent:?}", sent.len());
        assert_clean(&odm).await;
        let renamed = cats.find(|c| c.above_name.starts_with("renamed ")).count().await;
        assert_eq!(renamed.unwrap(), 1_200);
    });
}

/// The error of a bulk for the last of its writes, which is refused before anything is sent.
async fn refused_at(bulk: odm::write::Bulk, at: usize, t: &TestDb) -> String {
    t.commands.clear();
    let done = bulk.await;
    let Err(Error::Bulk { errors, done }) = done else {
        panic!("{done:?}");
    };
    assert_eq!(*done, odm::write::BulkDone::default());
    assert!(t.commands.take().is_empty(), "{errors:?}");
    let [(position, error @ Error::Query { .. })] = &errors[..] else {
        panic!("{errors:?}");
    };
    assert_eq!(*position, at);
    error.to_string()
}

#[odm_tests::test]
fn a_write_of_another_handle_is_refused_at_its_position() {
    use odm::options::{Options, WriteOptions};
    use odm::references::FanOut;
    with_db(async |t| {
        let odm = odm(&t).await;
        let delete = |of: &Odm| of.collection::<Note>().delete(1);
        let refused = async |other: Odm, words: &str| {
            let bulk = odm.bulk().add(delete(&odm)).add(delete(&other));
            let error = refused_at(bulk, 1, &t).await;
            assert!(error.contains(words), "{error}");
        };
        let again = Odm::new(t.db.clone(), models![Shop, Note]).unwrap();
        refused(again, "another `Odm`").await;
        refused(odm.with_database("another"), "another `Odm`").await;
        refused(odm.clone().causally_consistent(), "another `Odm`").await;
        refused(odm.clone().allow_unknown_copies(), "another `Odm`").await;
        let slow = odm.clone().with_fan_out(FanOut::new().batch(10));
        refused(slow, "another `Odm`").await;
        refused(odm.with_deleted(), "another scope").await;
        let said = odm.clone().with_options(Options::new().comment("reports"));
        refused(said, "options of its own").await;

        // An option of one write, and of one collection.
        let notes = odm.collection::<Note>();
        let bulk = odm.bulk().add(notes.delete(1).comment("one"));
        assert!(refused_at(bulk, 0, &t).await.contains("`bulk.comment(…)`"));
        let said = notes.with_options(Options::new().comment("one"));
        let bulk = odm.bulk().comment("all").add(delete(&odm)).add(said.delete(1));
        assert!(refused_at(bulk, 1, &t).await.contains("options of its own"));

        // A clone is the same handle, and so is one that has no more options; those of the bulk are its own.
        let same = odm.clone().with_options(Options::new());
        let bulk = odm
            .bulk()
            .comment("all")
            .add(delete(&same))
            .add(delete(&odm.clone()));
        assert_eq!(bulk.await.unwrap().deleted, 0);
    });
}

#[odm_tests::test]
fn a_write_of_another_transaction_is_refused_at_its_position() {
    with_transactions(async |t| {
        let odm = odm(&t).await;
        let notes = odm.collection::<Note>();
        odm.transaction(async |tx| {
            let own = tx.collection::<Note>();
            let without = refused_at(tx.bulk().add(own.delete(1)).add(notes.delete(1)), 1, &t).await;
            assert!(without.contains("`tx.collection()`"), "{without}");
            let within = refused_at(odm.bulk().add(own.delete(1)), 0, &t).await;
            assert!(within.contains("`tx.bulk()`"), "{within}");
            let other = odm.transaction(async |other| {
                let bulk = tx.bulk().add(other.collection::<Note>().delete(1));
                Ok(refused_at(bulk, 0, &t).await)
            });
            let other = other.await?;
            assert!(other.contains("another transaction"), "{other}");
            // The transaction can go on.
            let bulk = tx.bulk().without_bulk_write_command();
            bulk.add(own.insert(note(1))).await.map(drop)
        })
        .await
        .unwrap();
        assert!(notes.get(1).await.unwrap().is_some());
    });
}

#[odm_tests::test]
fn a_write_that_a_bulk_cannot_execute_is_refused_at_its_position() {
    use odm::mongodb::options::Collation;
    with_db(async |t| {
        let odm = odm(&t).await;
        let (shops, notes) = (odm.collection::<Shop>(), odm.collection::<Note>());
        let en = || Collation::builder().locale("en").build();
        let of_one = "only `update_where` and `delete_where` take a collation";
        for (bulk, words) in [
            (odm.bulk().add(notes.delete(1).collation(en())), of_one),
            (
                odm.bulk()
                    .add(notes.update(1).set(|n| n.text, "x").collation(en())),
                of_one,
            ),
            (
                odm.bulk().add(
                    shops
                        .update_where(|s| s.name.eq("Ada"))
                        .inc(|s| s.revenue, 1.0)
                        .collation(en())
                        .upsert_with(shop("Ada", 1)),
                ),
                of_one,
            ),
            (
                odm.bulk()
                    .add(shops.update_all().inc(|s| s.stars, 1).count_refused()),
                "leave out `count_refused`",
            ),
            (
                odm.bulk().add(
                    shops
                        .update_where(|s| s.stars.eq(1))
                        .inc(|s| s.stars, 1)
                        .upsert_with(shop("Ada", 1)),
                ),
                "a unique key",
            ),
        ] {
            let error = refused_at(bulk, 0, &t).await;
            assert!(error.contains(words), "{error}");
        }
    });
}

#[odm_tests::test]
fn a_bulk_takes_what_names_a_document_in_each_way() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let (shops, notes) = (odm.collection::<Shop>(), odm.collection::<Note>());
        shops
            .insert_many(["Ada", "Bob", "Cid"].map(|name| shop(name, 1)))
            .await
            .unwrap();
        let first = notes.insert(note(1)).await.unwrap();
        notes.insert(note(2)).await.unwrap();
        for by_runs in [false, true] {
            let bulk = odm.bulk();
            let bulk = if by_runs {
                bulk.without_bulk_write_command()
            } else {
                bulk
            };
            let done = bulk
                .add(shops.update_by(|s| s.name, "Ada").inc(|s| s.stars, 1))
                .add(shops.update_by(|s| s.name, "Zoe").inc(|s| s.stars, 1))
                .add(
                    notes
                        .update(1)
                        .set(|n| n.text, "new")
                        .if_version(first.version + i64::from(by_runs)),
                )
                .add(notes.update(2).set(|n| n.text, "new").if_version(77))
                .await
                .unwrap();
            assert_eq!((done.matched, done.modified, done.missed), (2, 2, 2), "{by_runs}");
            let done = odm
                .bulk()
                .add(
                    shops
                        .update(ObjectId::new())
                        .inc(|s| s.stars, 1)
                        .upsert_with(shop("Eve", 0)),
                )
                .add(
                    shops
                        .update_where(|s| s.stars.gte(0))
                        .hint("name_1")
                        .inc(|s| s.revenue, 1.0),
                )
                .await
                .unwrap();
            assert_eq!((done.upserted, done.matched), (1, 4), "{by_runs}");
            let done = odm.bulk().add(shops.delete_by(|s| s.name, "Eve")).await.unwrap();
            assert_eq!(done.deleted, 1, "{by_runs}");
        }
        let ada = shops.find(|s| s.name.eq("Ada")).one().required().await.unwrap();
        assert_eq!((ada.stars, ada.revenue), (3, shop("Ada", 1).revenue + 2.0));
        let done = odm
            .bulk()
            .add(shops.update_all().set(|s| s.stars, 0))
            .add(notes.delete_all())
            .await;
        let done = done.unwrap();
        assert_eq!((done.matched, done.deleted), (3, 2));
        // An index that is not there is refused by the server, also where there is `bulkWrite`.
        let unknown = odm
            .bulk()
            .add(shops.delete_where(|s| s.stars.eq(0)).hint("nothing_1"));
        let left = unknown.await.is_err();
        assert!(left || odm_tests::is_the_stand_in(&t.db).await);
    });
}
