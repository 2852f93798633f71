//! Bounds at run time: before the network, in guarded updates, and in the server's validator.

use super::models::*;
use futures::future::join_all;
use odm::Error;
use odm::bson::{Bson, Document as Doc, doc};
use odm::error::Rule;
use odm::mongodb::error::{ErrorKind, WriteFailure};
use odm::prelude::*;
use odm_tests::{require_transactions, with_db};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "parcels")]
pub struct Parcel {
    #[serde(rename = "_id")]
    pub id: i32,
    #[embed(max = 3)]
    pub labels: Option<Vec<String>>,
    pub weight: Option<i32>,
    #[field(min = 0)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cents: Option<i64>,
    #[embed(max = 6, key_len = 10)]
    pub stops: BTreeMap<String, i32>,
}

fn parcel(id: i32, labels: Option<&[&str]>) -> NewParcel {
    NewParcel {
        id,
        labels: labels.map(|labels| labels.iter().map(|label| (*label).to_owned()).collect()),
        weight: None,
        cents: None,
        stops: BTreeMap::new(),
    }
}

fn rules(error: Error) -> Vec<(String, Rule)> {
    match error {
        Error::Invalid { violations, .. } => violations.into_iter().map(|v| (v.path, v.rule)).collect(),
        other => panic!("not refused for its values: {other}"),
    }
}

#[odm_tests::test]
fn an_insert_is_refused_before_the_network_with_every_reason() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let wrong = NewShop {
            stars: 6,
            tags: vec!["t".into(); 6],
            items: vec![item("a", -1)],
            hours: [("a very long key".to_owned(), 1)].into(),
            ..shop(&"é".repeat(41), 1)
        };
        let mut found = rules(shops.insert(wrong).await.unwrap_err());
        found.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(found[0], ("hours".into(), Rule::KeyLength(10)));
        assert_eq!(
            found[1],
            ("items.0.quantity".into(), Rule::Min(odm::types::Number::Int(0)))
        );
        assert_eq!(found[2], ("name".into(), Rule::MaxLength(40)));
        assert_eq!(found[3], ("stars".into(), Rule::Max(odm::types::Number::Int(5))));
        assert_eq!(found[4], ("tags".into(), Rule::MaxItems(5)));
        assert_eq!(found.len(), 5);
        // A key that MongoDB would take for a path or an operator is none.
        for key in ["$set", "a.b", ""] {
            let wrong = NewShop {
                hours: [(key.to_owned(), 1)].into(),
                ..shop("k", 1)
            };
            let found = rules(shops.insert(wrong).await.unwrap_err());
            assert!(
                matches!(&found[0].1, Rule::Key(k) if k == key),
                "{key}: {found:?}"
            );
        }
        assert!(t.commands.take().is_empty(), "nothing was sent");
        // Forty characters are forty, whatever their bytes.
        shops.insert(shop(&"é".repeat(40), 1)).await.unwrap();
    });
}

#[odm_tests::test]
fn an_update_is_refused_before_the_network() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let ada = shops.insert(shop("Ada", 1)).await.unwrap();
        t.commands.clear();
        let refused = |error: Error| rules(error).remove(0);
        assert_eq!(
            refused(shops.update(ada.id).set(|s| s.stars, 6).await.unwrap_err()).1,
            Rule::Max(odm::types::Number::Int(5))
        );
        assert_eq!(
            refused(
                shops
                    .update(ada.id)
                    .set(|s| s.tags, vec!["x".to_owned(); 6])
                    .await
                    .unwrap_err()
            ),
            ("tags".into(), Rule::MaxItems(5))
        );
        assert_eq!(
            refused(
                shops
                    .update(ada.id)
                    .push(|s| s.items, item("x", -2))
                    .await
                    .unwrap_err()
            )
            .1,
            Rule::Min(odm::types::Number::Int(0))
        );
        assert_eq!(
            refused(
                shops
                    .update(ada.id)
                    .push_all(|s| s.tags, ["a", "b", "c", "d", "e", "f"])
                    .await
                    .unwrap_err()
            )
            .1,
            Rule::MaxItems(5)
        );
        assert_eq!(
            refused(
                shops
                    .update_where(|s| s.stars.eq(1))
                    .set(|s| s.name, "x".repeat(41))
                    .await
                    .unwrap_err()
            )
            .1,
            Rule::MaxLength(40)
        );
        let elem =
            shops
                .update(ada.id)
                .elem(|s| s.items, |i| i.quantity.eq(1), |i| i.set(|i| i.quantity, -1));
        assert_eq!(
            refused(elem.await.unwrap_err()).1,
            Rule::Min(odm::types::Number::Int(0))
        );
        for key in ["$set", "a.b", "", "a key that is too long"] {
            let error = shops
                .update(ada.id)
                .set_key(|s| s.hours, key, 1)
                .await
                .unwrap_err();
            assert!(
                matches!(rules(error)[0].1, Rule::Key(_) | Rule::KeyLength(10)),
                "{key}"
            );
        }
        assert!(t.commands.take().is_empty(), "nothing was sent");
    });
}

#[odm_tests::test]
fn a_full_array_stays_full_under_concurrency() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let ada = shops
            .insert(NewShop {
                tags: vec![],
                ..shop("Ada", 1)
            })
            .await
            .unwrap();
        let pushes = (0..40).map(|n| {
            let (shops, id) = (shops.clone(), ada.id);
            tokio::spawn(async move { shops.update(id).push(|s| s.tags, format!("t{n}")).await })
        });
        let results: Vec<_> = join_all(pushes).await.into_iter().map(|r| r.unwrap()).collect();
        let done = results.iter().filter(|r| r.is_ok()).count();
        let full = results
            .iter()
            .filter(|r| matches!(r, Err(Error::ArrayFull { max: 5, field, .. }) if field == "tags"));
        assert_eq!((done, full.count()), (5, 35));
        assert_eq!(shops.get(ada.id).await.unwrap().unwrap().tags.len(), 5);
    });
}

#[odm_tests::test]
fn guards_hold_back_changes_that_would_break_a_bound() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let ada = shops
            .insert(NewShop {
                tags: ["a", "b", "c", "d"].map(String::from).into(),
                ..shop("Ada", 4)
            })
            .await
            .unwrap();
        // Two at once need room for two.
        let error = shops
            .update(ada.id)
            .push_all(|s| s.tags, ["x", "y"])
            .await
            .unwrap_err();
        assert!(matches!(error, Error::ArrayFull { max: 5, .. }), "{error}");
        shops.update(ada.id).push(|s| s.tags, "e").await.unwrap();
        // A set that has the value is not full for it.
        assert_eq!(
            shops
                .update(ada.id)
                .add_to_set(|s| s.tags, "e")
                .await
                .unwrap()
                .modified,
            0
        );
        assert!(matches!(
            shops.update(ada.id).add_to_set(|s| s.tags, "f").await,
            Err(Error::ArrayFull { .. })
        ));
        // A sum within its bounds, atomically.
        shops.update(ada.id).inc(|s| s.stars, 1).await.unwrap();
        let error = shops.update(ada.id).inc(|s| s.stars, 1).await.unwrap_err();
        assert_eq!(
            rules(error),
            [("stars".to_owned(), Rule::Max(odm::types::Number::Int(5)))]
        );
        let error = shops
            .update(ada.id)
            .inc(|s| s.stars, -6)
            .returning()
            .await
            .unwrap_err();
        assert_eq!(
            rules(error),
            [("stars".to_owned(), Rule::Min(odm::types::Number::Int(0)))]
        );
        // A map's new entry; one that is there is replaced.
        shops
            .update(ada.id)
            .set_key(|s| s.hours, "tue", 1)
            .set_key(|s| s.hours, "mon", 2)
            .await
            .unwrap();
        shops.update(ada.id).set_key(|s| s.hours, "wed", 1).await.unwrap();
        shops.update(ada.id).set_key(|s| s.hours, "wed", 2).await.unwrap();
        assert!(matches!(
            shops.update(ada.id).set_key(|s| s.hours, "thu", 1).await,
            Err(Error::ArrayFull { max: 3, .. })
        ));
        // Many documents: those without room are counted and left.
        shops.insert(shop("Bob", 1)).await.unwrap();
        let done = shops
            .update_where(|s| s.stars.gte(0))
            .push(|s| s.tags, "z")
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified, done.refused), (1, 1, 1));
    });
}

#[odm_tests::test]
fn the_bounds_of_items_hold_in_the_update_itself() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let items = vec![item("a", 3), item("b", 1)];
        let ada = shops
            .insert(NewShop {
                items,
                ..shop("Ada", 1)
            })
            .await
            .unwrap();
        // Eight buyers of three pieces.
        let buys = (0..8).map(|_| {
            let (shops, id) = (shops.clone(), ada.id);
            tokio::spawn(async move {
                shops
                    .update(id)
                    .elem(|s| s.items, |i| i.sku_code.eq("a"), |i| i.inc(|i| i.quantity, -1))
                    .await
            })
        });
        let results: Vec<_> = join_all(buys).await.into_iter().map(|r| r.unwrap()).collect();
        assert_eq!(results.iter().filter(|r| r.is_ok()).count(), 3);
        for error in results.into_iter().filter_map(Result::err) {
            assert_eq!(
                rules(error),
                [("items.quantity".to_owned(), Rule::Min(odm::types::Number::Int(0)))]
            );
        }
        let quantities = |s: Shop| s.items.iter().map(|i| i.quantity).collect::<Vec<_>>();
        assert_eq!(quantities(shops.get(ada.id).await.unwrap().unwrap()), [0, 1]);
        // A condition on the same field, all items, and many documents.
        let sold = shops
            .update(ada.id)
            .elem(|s| s.items, |i| i.quantity.gte(1), |i| i.inc(|i| i.quantity, -1))
            .await
            .unwrap();
        assert_eq!(sold.modified, 1);
        shops
            .update(ada.id)
            .each(|s| s.items, |i| i.inc(|i| i.quantity, 2))
            .await
            .unwrap();
        let error = shops
            .update(ada.id)
            .each(|s| s.items, |i| i.inc(|i| i.quantity, -3))
            .returning()
            .await
            .unwrap_err();
        assert_eq!(rules(error)[0].0, "items.quantity");
        assert_eq!(quantities(shops.get(ada.id).await.unwrap().unwrap()), [2, 2]);
        shops
            .insert(NewShop {
                items: vec![item("a", 9)],
                ..shop("Bob", 1)
            })
            .await
            .unwrap();
        let done = shops
            .update_where(|s| s.stars.eq(1))
            .each(|s| s.items, |i| i.inc(|i| i.quantity, -3))
            .await
            .unwrap();
        assert_eq!((done.modified, done.refused), (1, 1));
    });
}

#[odm_tests::test]
fn items_of_an_array_that_is_missing_are_not_changed() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let ada = shops.insert(shop("Ada", 1)).await.unwrap();
        t.db.run_command(doc! { "collMod": "shops", "validationLevel": "off" })
            .await
            .unwrap();
        shops
            .driver::<Doc>()
            .update_one(doc! {}, doc! { "$unset": { "items": "" } })
            .await
            .unwrap();
        let done = shops
            .update(ada.id)
            .elem(|s| s.items, |i| i.quantity.eq(1), |i| i.set(|i| i.quantity, 2))
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified), (1, 0));
        let done = shops
            .update(ada.id)
            .each(|s| s.items, |i| i.set(|i| i.quantity, 2))
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified), (1, 0));
    });
}

#[odm_tests::test]
fn a_document_of_more_than_16_mib_is_refused_with_its_largest_fields() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let notes = odm.collection::<Note>();
        let error = notes
            .insert(NewNote {
                text: "x".repeat(17 << 20),
                ..note(1)
            })
            .await
            .unwrap_err();
        let Error::TooLarge {
            size: Some(size),
            largest,
            source: None,
            ..
        } = &error
        else {
            panic!("{error}")
        };
        assert!(*size > 17 << 20);
        assert_eq!((largest[0].0.as_str(), largest[0].1), ("text", (17 << 20) + 11));
        assert!(t.commands.take().is_empty());
        // The server refuses a document that an update makes too large.
        let big = notes
            .insert(NewNote {
                text: "x".repeat(9 << 20),
                ..note(2)
            })
            .await
            .unwrap();
        let error = notes
            .update(&big)
            .push(|n| n.lines, "y".repeat(9 << 20))
            .await
            .unwrap_err();
        let Error::TooLarge {
            size: Some(size),
            largest,
            brought,
            source: Some(_),
            ..
        } = &error
        else {
            panic!("{error}")
        };
        let expected = (18 << 20) + 100;
        assert!(size.abs_diff(expected) < 100, "{size}");
        assert_eq!((largest[0].0.as_str(), largest[0].1), ("text", (9 << 20) + 11));
        assert_eq!((brought[0].0.as_str(), brought[0].1), ("lines", (9 << 20) + 12));
        let text = error.to_string();
        assert!(
            text.contains("its largest fields: `text` 9437195 bytes,")
                && text.contains("the update adds `lines` 9437196 bytes"),
            "{text}"
        );
        // It is as it was.
        assert_eq!(notes.get(2).await.unwrap(), Some(big));
    });
}

/// One more round trip reads the document; where it can't be read, the update's own part is known.
#[odm_tests::test]
fn an_update_past_16_mib_names_the_largest_fields() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let notes = odm.collection::<Note>();
        let text = || "x".repeat(9 << 20);
        for id in [1, 2] {
            notes
                .insert(NewNote {
                    text: text(),
                    ..note(id)
                })
                .await
                .unwrap();
        }
        // The size of what the server refused it may tell or not: mongod does not.
        let told = |error: &Error| {
            let Error::TooLarge {
                largest,
                brought,
                source,
                ..
            } = error
            else {
                panic!("{error}")
            };
            let names = |fields: &[(String, u64)]| fields.first().map(|(name, _)| name.clone());
            (names(largest), names(brought), source.is_some())
        };
        let (text_is, lines_are) = (Some("text".to_owned()), Some("lines".to_owned()));
        t.commands.clear();
        let pushed = notes.update(1).push(|n| n.lines, text()).returning();
        let error = pushed.await.unwrap_err();
        let sent = t.commands.take();
        // SecantusDB in Python answers this command with an error of its own, which says nothing of a size.
        if !format!("{error:?}").contains("InternalError") {
            assert_eq!(told(&error), (text_is.clone(), lines_are.clone(), true));
            assert_eq!(sent, ["findAndModify", "find"], "one more, which reads it");
        }
        let error = notes.update(1).set(|n| n.lines, vec![text()]).await.unwrap_err();
        assert_eq!(told(&error), (text_is, lines_are.clone(), true));
        assert!(matches!(error, Error::TooLarge { size: Some(_), .. }));
        assert_eq!(t.commands.take(), ["update", "find"]);
        // Of several, the server does not say which.
        let both = notes.update_where(|n| n.id.gte(1)).push(|n| n.lines, text());
        let error = both.await.unwrap_err();
        assert_eq!(told(&error), (None, lines_are.clone(), true));
        assert_eq!(t.commands.take(), ["aggregate", "update"]);
        let bulk = odm
            .bulk()
            .add(notes.update(1).set(|n| n.text, "small"))
            .add(notes.update(2).push(|n| n.lines, text()));
        let Err(Error::Bulk { errors, done }) = bulk.await else {
            panic!("it was stored")
        };
        assert_eq!((errors.len(), errors[0].0, done.modified), (1, 1, 1));
        assert_eq!(told(&errors[0].1), (None, lines_are.clone(), true));
        t.commands.clear();
        // A value that no document can hold is not sent.
        let large = notes.update(1).set(|n| n.text, "x".repeat(17 << 20)).await;
        let bulk = odm
            .bulk()
            .add(notes.update(1).push_all(|n| n.lines, [text(), text()]));
        let Err(Error::Bulk { errors, .. }) = bulk.await else {
            panic!("it was sent")
        };
        for (error, field) in [(&large.unwrap_err(), "text"), (&errors[0].1, "lines")] {
            assert_eq!(told(error), (None, Some(field.to_owned()), false));
        }
        assert!(t.commands.take().is_empty());
        // The error ends a transaction, in which nothing more can be asked.
        require_transactions(&odm).await;
        let pushed = odm.transaction(async |tx| {
            let notes = tx.collection::<Note>();
            notes.update(2).push(|n| n.lines, text()).await
        });
        let error = pushed.await.unwrap_err();
        assert_eq!(told(&error), (None, lines_are, true));
        assert_eq!(t.commands.take(), ["update", "abortTransaction"]);
    });
}

#[odm_tests::test]
fn the_server_refuses_out_of_band_values() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let ada = shops.insert(shop("Ada", 1)).await.unwrap();
        let raw = shops.driver::<Doc>();
        for (set, code) in [
            (doc! { "stars": 6 }, 121),
            (doc! { "tags": ["a", "b", "c", "d", "e", "f"] }, 121),
            (doc! { "name": "x".repeat(41) }, 121),
            (doc! { "items": [{ "skuCode": "a", "quantity": -1 }] }, 121),
            (doc! { "items": [{ "quantity": 1 }] }, 121),
            (doc! { "hours": { "a": 1, "b": 2, "c": 3, "d": 4 } }, 121),
            (doc! { "hours": { "a": "one" } }, 121),
        ] {
            let error = raw
                .update_one(doc! { "_id": ada.id }, doc! { "$set": set.clone() })
                .await
                .unwrap_err();
            let ErrorKind::Write(WriteFailure::WriteError(refusal)) = error.kind.as_ref() else {
                panic!("{set}: {error:?}");
            };
            assert_eq!(refusal.code, code, "{set}: {error:?}");
        }
        // The same by a raw update of this library: mapped, rule by rule.
        let error = shops
            .update(ada.id)
            .raw(doc! { "$set": { "stars": 6, "name": 7 } })
            .await
            .unwrap_err();
        // Some servers before MongoDB 5.0 say which, and some don't.
        let says_which = match error.driver_error().map(|error| &*error.kind) {
            Some(ErrorKind::Write(WriteFailure::WriteError(refusal))) => refusal
                .details
                .as_ref()
                .is_some_and(|info| info.contains_key("details")),
            _ => panic!("{error:?}"),
        };
        let mut found = rules(error);
        found.sort_by(|a, b| a.0.cmp(&b.0));
        if !says_which {
            assert!(
                matches!(&found[..], [(path, Rule::Other(_))] if path.is_empty()),
                "{found:?}"
            );
            return;
        }
        assert_eq!(found[0].0, "name");
        assert!(
            matches!(&found[0].1, Rule::Type(types) if types == &["string"]),
            "{found:?}"
        );
        assert_eq!(found[1], ("stars".into(), Rule::Max(odm::types::Number::Int(5))));
    });
}

/// serde stores `None` as `null`, with which MongoDB's operators of arrays and numbers can't do anything.
#[odm_tests::test]
fn adding_to_null_is_refused() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Parcel]).unwrap();
        odm.sync().await.unwrap();
        let parcels = odm.collection::<Parcel>();
        let new = [
            parcel(1, None),
            parcel(2, Some(&["a", "b"])),
            parcel(3, Some(&["a"])),
        ];
        parcels.insert_many(new).await.unwrap();
        let labels = async |id| parcels.get(id).await.unwrap().unwrap().labels;
        let refused = |error: Error, name: &str| {
            assert!(
                matches!(&error, Error::IsNull { field, .. } if field == name),
                "{error}"
            );
            assert!(error.to_string().contains("`null`"), "{error}");
        };
        refused(
            parcels.update(1).push(|p| p.labels, "x").await.unwrap_err(),
            "labels",
        );
        refused(
            parcels
                .update(1)
                .add_to_set(|p| p.labels, "x")
                .returning()
                .await
                .unwrap_err(),
            "labels",
        );
        refused(
            parcels.update(1).inc(|p| p.weight, 1).await.unwrap_err(),
            "weight",
        );
        refused(
            parcels
                .update(1)
                .mul(|p| p.weight, 2)
                .upsert_with(parcel(9, None))
                .await
                .unwrap_err(),
            "weight",
        );
        // With another change beside it, that would be lost without a word.
        let both = parcels.update(1).pull(|p| p.labels, "x").set(|p| p.weight, 1);
        refused(both.await.unwrap_err(), "labels");
        // Nothing is there to be taken.
        let done = parcels.update(1).pull(|p| p.labels, "a").await.unwrap();
        assert_eq!((done.matched, done.modified), (1, 0));
        let found = parcels.update(1).pop(|p| p.labels).returning().await.unwrap();
        assert_eq!(found.labels, None);
        // Of many, those are left, and the others are changed.
        let done = parcels
            .update_where(|p| p.id.gte(1))
            .push(|p| p.labels, "z")
            .await
            .unwrap();
        assert_eq!((done.matched, done.modified, done.refused), (2, 2, 1));
        let done = parcels
            .update_where(|p| p.id.gte(1))
            .pull(|p| p.labels, "a")
            .await
            .unwrap();
        assert_eq!((done.modified, done.refused), (2, 0));
        let done = parcels
            .update_where(|p| p.id.gte(1))
            .pop_first(|p| p.labels)
            .await
            .unwrap();
        assert_eq!((done.modified, done.refused), (2, 0));
        assert_eq!(labels(1).await, None);
        assert_eq!(labels(2).await, Some(vec!["z".to_owned()]));
        assert_eq!(labels(3).await, Some(vec![]));
        // A missing number counts as 0, and a stored one as itself.
        parcels.update(1).set(|p| p.weight, 1).await.unwrap();
        parcels
            .update(1)
            .inc(|p| p.weight, 1)
            .inc(|p| p.cents, 7)
            .await
            .unwrap();
        let stored = parcels.get(1).await.unwrap().unwrap();
        assert_eq!((stored.weight, stored.cents), (Some(2), Some(7)));
    });
}

#[odm_tests::test]
fn adding_to_null_in_an_item_is_refused() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let mut items = vec![item("a", 1), item("b", 2)];
        items[0].price = Some(1.5);
        let ada = shops
            .insert(NewShop {
                items,
                ..shop("Ada", 1)
            })
            .await
            .unwrap();
        let dearer =
            shops
                .update(ada.id)
                .elem(|s| s.items, |i| i.sku_code.eq("a"), |i| i.inc(|i| i.price, 1.0));
        assert_eq!(dearer.await.unwrap().modified, 1);
        let all = shops
            .update(ada.id)
            .each(|s| s.items, |i| i.inc(|i| i.price, 1.0));
        let error = all.await.unwrap_err();
        assert!(
            matches!(&error, Error::IsNull { field, .. } if field == "items.price"),
            "{error}"
        );
        let many = shops
            .update_where(|s| s.stars.eq(1))
            .each(|s| s.items, |i| i.mul(|i| i.price, 2.0));
        let done = many.await.unwrap();
        assert_eq!((done.modified, done.refused), (0, 1));
        let prices = shops.get(ada.id).await.unwrap().unwrap().items;
        assert_eq!(
            prices.iter().map(|item| item.price).collect::<Vec<_>>(),
            [Some(2.5), None]
        );
    });
}

#[odm_tests::test]
fn a_sum_with_a_missing_number_keeps_its_bound() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Parcel]).unwrap();
        // Without the validator, which would find it too.
        let parcels = odm.collection::<Parcel>();
        parcels.insert(parcel(1, None)).await.unwrap();
        let too_little = |error: Error| {
            assert_eq!(
                rules(error),
                [("cents".to_owned(), Rule::Min(odm::types::Number::Int(0)))]
            );
        };
        too_little(parcels.update(1).inc(|p| p.cents, -500).await.unwrap_err());
        for id in [1, 2] {
            too_little(
                parcels
                    .update(id)
                    .inc(|p| p.cents, -500)
                    .upsert_with(parcel(9, None))
                    .await
                    .unwrap_err(),
            );
        }
        let upsert = parcels
            .update(2)
            .inc(|p| p.cents, -500)
            .upsert_with(parcel(9, None))
            .returning();
        too_little(upsert.await.unwrap_err());
        let upsert = parcels
            .update_where(|p| p.id.eq(2))
            .inc(|p| p.cents, -500)
            .upsert_with(parcel(9, None));
        too_little(upsert.await.unwrap_err());
        let done = parcels
            .update_where(|p| p.id.eq(1))
            .inc(|p| p.cents, -500)
            .await
            .unwrap();
        assert_eq!((done.matched, done.refused), (0, 1));
        assert_eq!(parcels.find_all().count().await.unwrap(), 1);
        // The stored value may be enough, of an upsert too.
        parcels.update(1).inc(|p| p.cents, 700).await.unwrap();
        let done = parcels
            .update(1)
            .inc(|p| p.cents, -500)
            .upsert_with(parcel(9, None))
            .await
            .unwrap();
        assert_eq!(done.modified, 1);
        assert_eq!(parcels.get(1).await.unwrap().unwrap().cents, Some(200));
    });
}

#[odm_tests::test]
fn several_new_entries_of_a_map_are_counted_together() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let ada = shops.insert(shop("Ada", 1)).await.unwrap();
        shops.update(ada.id).set_key(|s| s.hours, "tue", 1).await.unwrap();
        // Two are there, of three.
        let full = |error: Error| {
            assert!(
                matches!(&error, Error::ArrayFull { field, max: 3, .. } if field == "hours"),
                "{error}"
            );
        };
        let two = shops
            .update(ada.id)
            .set_key(|s| s.hours, "wed", 1)
            .set_key(|s| s.hours, "thu", 2);
        full(two.await.unwrap_err());
        let known = shops
            .update(ada.id)
            .set_key(|s| s.hours, "mon", 1)
            .set_key(|s| s.hours, "wed", 3);
        known.await.unwrap();
        let stored = shops.get(ada.id).await.unwrap().unwrap().hours;
        assert_eq!(
            stored,
            BTreeMap::from([("mon", 1), ("tue", 1), ("wed", 3)].map(|(k, v)| (k.to_owned(), v)))
        );
        full(
            shops
                .update(ada.id)
                .set_key(|s| s.hours, "mon", 1)
                .set_key(|s| s.hours, "fri", 2)
                .await
                .unwrap_err(),
        );
        let four = ["a", "b", "c", "d"];
        let many = four.iter().fold(shops.update(ada.id), |update, key| {
            update.set_key(|s| s.hours, key, 1)
        });
        assert_eq!(
            rules(many.await.unwrap_err()),
            [("hours".to_owned(), Rule::MaxItems(3))]
        );
    });
}

#[odm_tests::test]
fn many_new_entries_of_a_map_are_counted_by_the_server() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Parcel]).unwrap();
        odm.sync().await.unwrap();
        let parcels = odm.collection::<Parcel>();
        parcels.insert(parcel(1, None)).await.unwrap();
        let keys = ["a", "b", "c", "d", "e"];
        let set = |keys: &[&'static str]| {
            let keys = keys.to_vec();
            let start = parcels.update(1);
            keys.into_iter()
                .fold(start, |update, key| update.set_key(|p| p.stops, key, 1))
        };
        set(&keys).await.unwrap();
        set(&keys).await.unwrap();
        let error = set(&["b", "c", "d", "x", "y"]).await.unwrap_err();
        assert!(matches!(error, Error::ArrayFull { max: 6, .. }), "{error}");
        set(&["a", "b", "c", "d", "x"]).await.unwrap();
        assert_eq!(parcels.get(1).await.unwrap().unwrap().stops.len(), 6);
        let error = set(&keys).upsert().await.unwrap_err();
        assert!(matches!(error, Error::Query { .. }), "{error}");
        set(&["a", "b", "c", "d"]).upsert().await.unwrap();
    });
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "games")]
pub struct Game {
    #[serde(rename = "_id")]
    pub id: i32,
    #[field(min = 10, max = 100)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<i32>,
    #[embed(max = 3)]
    pub rounds: Vec<Round>,
    #[embed]
    pub rating: Option<Rating>,
    #[embed(max = 6, key_len = 10)]
    pub settings: Option<BTreeMap<String, i32>>,
    #[embed(max = 2)]
    pub marks: Vec<Mark>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Round {
    pub n: i32,
    #[field(min = 10)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<i32>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Rating {
    #[field(min = 0)]
    pub value: i32,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Mark(#[field(opaque)] pub Bson);

fn game(id: i32, level: Option<i32>) -> NewGame {
    NewGame {
        id,
        level,
        rounds: Vec::new(),
        rating: None,
        settings: None,
        marks: Vec::new(),
    }
}

/// A number that is added to a missing one is the whole value then: it may lie before the bound that the sum moves away from.
#[odm_tests::test]
fn a_sum_with_a_missing_number_keeps_its_other_bound() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Game]).unwrap();
        // Without the validator, which would find it too.
        let games = odm.collection::<Game>();
        let new = [game(1, None), game(2, Some(50))];
        games.insert_many(new).await.unwrap();
        let too_little = |error: Error, path: &str| {
            assert_eq!(
                rules(error),
                [(path.to_owned(), Rule::Min(odm::types::Number::Int(10)))]
            );
        };
        for by in [5, 0] {
            let one = games.update(1).inc(|g| g.level, by);
            too_little(one.await.unwrap_err(), "level");
            for id in [1, 3] {
                let upsert = games.update(id).inc(|g| g.level, by).upsert_with(game(9, None));
                too_little(upsert.await.unwrap_err(), "level");
            }
            let upsert = games
                .update_where(|g| g.id.eq(3))
                .inc(|g| g.level, by)
                .upsert_with(game(9, None));
            too_little(upsert.await.unwrap_err(), "level");
            let many = games.update_where(|g| g.id.lte(2)).inc(|g| g.level, by);
            let done = many.await.unwrap();
            assert_eq!((done.matched, done.refused), (1, 1));
        }
        assert_eq!(games.find_all().count().await.unwrap(), 2);
        assert_eq!(games.get(2).await.unwrap().unwrap().level, Some(55));
        games.update(1).inc(|g| g.level, 10).await.unwrap();
        assert_eq!(games.get(1).await.unwrap().unwrap().level, Some(10));

        let round = |n, points| Round { n, points };
        let rounds = vec![round(1, None), round(2, Some(20))];
        games.update(1).set(|g| g.rounds, rounds).await.unwrap();
        let all = games.update(1).each(|g| g.rounds, |r| r.inc(|r| r.points, 5));
        too_little(all.await.unwrap_err(), "rounds.points");
        let first = games
            .update(1)
            .elem(|g| g.rounds, |r| r.n.eq(1), |r| r.inc(|r| r.points, 5));
        too_little(first.await.unwrap_err(), "rounds.points");
        let many = games
            .update_where(|g| g.id.eq(1))
            .each(|g| g.rounds, |r| r.inc(|r| r.points, 5));
        let done = many.await.unwrap();
        assert_eq!((done.matched, done.refused), (0, 1));
        let second = games
            .update(1)
            .elem(|g| g.rounds, |r| r.n.eq(2), |r| r.inc(|r| r.points, 5));
        assert_eq!(second.await.unwrap().modified, 1);
        games
            .update(1)
            .each(|g| g.rounds, |r| r.inc(|r| r.n, 1))
            .await
            .unwrap();
        let stored = games.get(1).await.unwrap().unwrap().rounds;
        assert_eq!(stored, [round(2, None), round(3, Some(25))]);
    });
}

/// The new document begins with what its condition says, of a whole struct too.
#[odm_tests::test]
fn an_upsert_adds_to_a_number_that_its_condition_says_within_a_struct() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Game]).unwrap();
        let games = odm.collection::<Game>();
        let upsert = |id, value| {
            games
                .update_where(move |g| g.id.eq(id) & g.rating.eq(Rating { value }))
                .inc(|g| g.rating.value, -5)
                .upsert_with(game(9, None))
        };
        assert!(upsert(1, 50).await.unwrap().upserted.is_some());
        let stored = t.db.collection::<Doc>("games").find_one(doc! { "_id": 1 }).await;
        assert_eq!(
            stored.unwrap().unwrap().get("rating"),
            Some(&doc! { "value": 45 }.into())
        );
        let error = upsert(2, 3).await.unwrap_err();
        assert_eq!(
            rules(error),
            [("rating.value".to_owned(), Rule::Min(odm::types::Number::Int(0)))]
        );
    });
}

#[odm_tests::test]
fn no_entry_is_set_in_a_map_that_is_null() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Game]).unwrap();
        odm.sync().await.unwrap();
        let games = odm.collection::<Game>();
        let with = NewGame {
            settings: Some(BTreeMap::new()),
            ..game(2, None)
        };
        games.insert_many([game(1, None), with]).await.unwrap();
        let error = games.update(1).set_key(|g| g.settings, "a", 1).await.unwrap_err();
        assert!(
            matches!(&error, Error::IsNull { field, .. } if field == "settings"),
            "{error}"
        );
        let many = games
            .update_where(|g| g.id.gte(1))
            .set_key(|g| g.settings, "a", 1);
        let done = many.await.unwrap();
        assert_eq!((done.matched, done.modified, done.refused), (1, 1, 1));
        let stored = games.get(2).await.unwrap().unwrap().settings;
        assert_eq!(stored, Some(BTreeMap::from([("a".to_owned(), 1)])));
        games
            .update(1)
            .set(|g| g.settings, BTreeMap::new())
            .await
            .unwrap();
        games.update(1).set_key(|g| g.settings, "a", 1).await.unwrap();
    });
}

/// A pattern among the items of a set is an item, and says nothing of the others.
#[odm_tests::test]
fn a_pattern_that_is_added_to_a_full_set_is_an_item() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Game]).unwrap();
        // Without the validator, which would find it too.
        let games = odm.collection::<Game>();
        let pattern = Mark(Bson::RegularExpression(odm::bson::Regex {
            pattern: odm::bson::cstr!("^a").into(),
            options: odm::bson::cstr!("").into(),
        }));
        let text = |text: &str| Mark(text.into());
        let marks = vec![text("abc"), text("x")];
        let new = NewGame {
            marks: marks.clone(),
            ..game(1, None)
        };
        games.insert(new).await.unwrap();
        let add = |mark: &Mark| games.update(1).add_to_set(|g| g.marks, mark.clone());
        let error = add(&pattern).await.unwrap_err();
        assert!(matches!(error, Error::ArrayFull { max: 2, .. }), "{error}");
        assert_eq!(games.get(1).await.unwrap().unwrap().marks, marks);
        // One that is there already is no new one.
        let marks = vec![pattern.clone(), text("x")];
        games.update(1).set(|g| g.marks, marks.clone()).await.unwrap();
        assert_eq!(add(&pattern).await.unwrap().matched, 1);
        assert_eq!(games.get(1).await.unwrap().unwrap().marks, marks);
    });
}

/// To the collation of the collection `a` and `A` are the same, and to a map they are two keys.
#[odm_tests::test]
fn the_keys_of_a_map_are_counted_as_they_are() {
    with_db(async |t| {
        let collation = odm::mongodb::options::Collation::builder()
            .locale("en")
            .strength(odm::mongodb::options::CollationStrength::Primary)
            .build();
        t.db.create_collection("parcels")
            .collation(collation)
            .await
            .unwrap();
        let odm = Odm::new(t.db.clone(), models![Parcel]).unwrap();
        // Without the validator, which would find it too.
        let parcels = odm.collection::<Parcel>();
        parcels.insert(parcel(1, None)).await.unwrap();
        let set = |keys: [&'static str; 5]| {
            let start = parcels.update(1);
            keys.into_iter()
                .fold(start, |update, key| update.set_key(|p| p.stops, key, 1))
        };
        set(["a", "b", "c", "d", "e"]).await.unwrap();
        let error = set(["A", "B", "C", "D", "E"]).await.unwrap_err();
        assert!(matches!(error, Error::ArrayFull { max: 6, .. }), "{error}");
        set(["a", "b", "c", "d", "A"]).await.unwrap();
        let error = set(["a", "b", "c", "A", "B"]).await.unwrap_err();
        assert!(matches!(error, Error::ArrayFull { max: 6, .. }), "{error}");
        assert_eq!(parcels.get(1).await.unwrap().unwrap().stops.len(), 6);
    });
}
