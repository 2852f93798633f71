//! What only odd input meets: numbers at their limits, keys that look like positions, very long lists of ids.

use super::models::{self, Note, Shop, note, shop};
use odm::bson::{Document as Doc, doc};
use odm::prelude::*;
use odm::{Error, Filter};
use odm_tests::with_db;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "sheets", version)]
struct Sheet {
    #[serde(rename = "_id")]
    id: String,
    #[embed(max = 3)]
    rows: Vec<Row>,
    #[embed(max = 2)]
    totals: BTreeMap<String, i32>,
    #[field(min = 0, max = 1_000_000_000_000_000_000)]
    micros: i64,
    #[field(min = 0, max = 1)]
    share: f64,
    version: i64,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Row(#[embed(max = 10)] BTreeMap<String, i32>);

fn sheet(id: &str) -> NewSheet {
    NewSheet {
        id: id.into(),
        rows: vec![],
        totals: BTreeMap::new(),
        micros: 0,
        share: 0.1,
    }
}

fn row(key: &str) -> Row {
    Row([(key.to_owned(), 1)].into())
}

async fn sheets(t: &odm_tests::TestDb) -> odm::Collection<Sheet> {
    let odm = Odm::new(t.db.clone(), models![Sheet]).unwrap();
    odm.sync().await.unwrap();
    odm.collection()
}

#[odm_tests::test]
fn a_key_that_looks_like_a_position_takes_no_room() {
    with_db(async |t| {
        let sheets = sheets(&t).await;
        sheets.insert(sheet("a")).await.unwrap();
        for key in ["2", "0", "1"] {
            sheets
                .update("a".to_owned())
                .push(|s| s.rows, row(key))
                .await
                .unwrap();
        }
        let full = sheets.update("a".to_owned()).push(|s| s.rows, row("x")).await;
        assert!(matches!(full, Err(Error::ArrayFull { max: 3, .. })), "{full:?}");
    });
}

#[odm_tests::test]
fn an_upsert_keeps_the_bound_of_a_map() {
    with_db(async |t| {
        let sheets = sheets(&t).await;
        sheets
            .insert(NewSheet {
                totals: [("x".to_owned(), 1), ("y".to_owned(), 1)].into(),
                ..sheet("full")
            })
            .await
            .unwrap();
        let key = |id: &str, key: &str| {
            let update = sheets.update(id.to_owned()).set_key(|s| s.totals, key, 2);
            update.upsert_with(sheet(id))
        };
        key("full", "y").await.unwrap();
        let refused = key("full", "z").await;
        assert!(
            matches!(refused, Err(Error::ArrayFull { max: 2, .. })),
            "{refused:?}"
        );
        let refused = key("full", "z").returning().await;
        assert!(
            matches!(refused, Err(Error::ArrayFull { max: 2, .. })),
            "{refused:?}"
        );
        let made = key("new", "z").await.unwrap();
        assert!(made.upserted.is_some());
        assert_eq!(
            sheets
                .get("new".to_owned())
                .await
                .unwrap()
                .unwrap()
                .totals
                .get("z"),
            Some(&2)
        );
    });
}

#[odm_tests::test]
fn sums_at_their_bounds() {
    with_db(async |t| {
        let sheets = sheets(&t).await;
        sheets
            .insert(NewSheet {
                micros: 1_000_000_000_000_000_000,
                ..sheet("a")
            })
            .await
            .unwrap();
        let update = || sheets.update("a".to_owned());
        // One more than 10^18 is not the same number as a double.
        for by in [1, i64::MAX, i64::MIN] {
            let refused = update().inc(|s| s.micros, by).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{by}: {refused:?}");
        }
        update().inc(|s| s.share, 0.9).await.unwrap();
        for by in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-9] {
            let refused = update().inc(|s| s.share, by).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{by}: {refused:?}");
        }
    });
}

#[odm_tests::test]
fn many_near_documents_are_changed_within_their_bounds() {
    with_db(async |t| {
        let odm = models::odm(&t).await;
        let shops = odm.collection::<Shop>();
        shops.insert(shop("Ada", 1)).await.unwrap();
        let here = odm::geo::Point::new(13.4, 52.5);
        let done = shops
            .update_where(|s| s.place.near(here, 1000.0))
            .push(|s| s.tags, "near")
            .await
            .unwrap();
        assert_eq!((done.modified, done.refused), (1, 0));
        // A value that the server refuses in a pipeline is not sent.
        assert_eq!(t.commands.take(), ["insert", "update"]);
    });
}

#[odm_tests::test]
fn very_long_ids_are_asked_for_in_parts() {
    with_db(async |t| {
        let sheets = sheets(&t).await;
        sheets.insert(sheet("a")).await.unwrap();
        sheets.insert(sheet("b")).await.unwrap();
        t.commands.clear();
        let mut ids: Vec<String> = (0..20).map(|n| format!("{n}{}", "x".repeat(1 << 20))).collect();
        ids.insert(0, "b".into());
        ids.push("a".into());
        let found = sheets.get_many(ids).await.unwrap();
        assert_eq!(
            found.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(),
            ["b", "a"]
        );
        assert_eq!(t.commands.take(), ["find", "find"]);
    });
}

#[odm_tests::test]
fn conditions_on_items_that_name_none() {
    with_db(async |t| {
        let odm = models::odm(&t).await;
        let shops = odm.collection::<Shop>();
        let ada = shops.insert(shop("Ada", 1)).await.unwrap();
        let quantities = async || -> Vec<i32> {
            let ada = shops.get(ada.id).await.unwrap().unwrap();
            ada.items.iter().map(|i| i.quantity).collect()
        };
        // A condition without a change is not sent: the server refuses one that nothing uses.
        shops
            .update(ada.id)
            .set(|s| s.stars, 2)
            .elem(|s| s.items, |i| i.quantity.eq(1), |i| i)
            .each(|s| s.items, |i| i)
            .raw(doc! { "$set": { "note": "seen" } })
            .await
            .unwrap();
        shops
            .update(ada.id)
            .elem(|s| s.items, |_| Filter::always(), |i| i.inc(|i| i.quantity, 5))
            .await
            .unwrap();
        assert_eq!(quantities().await, [6, 7]);
        shops
            .update(ada.id)
            .elem(|s| s.items, |_| Filter::or([]), |i| i.inc(|i| i.quantity, 5))
            .await
            .unwrap();
        assert_eq!(quantities().await, [6, 7]);
    });
}

#[odm_tests::test]
fn an_older_document_has_no_version_yet() {
    with_db(async |t| {
        let odm = models::odm(&t).await;
        let notes = odm.collection::<Note>();
        let new = notes.insert(note(1)).await.unwrap();
        t.db.run_command(doc! { "collMod": "notes", "validationLevel": "off" })
            .await
            .unwrap();
        let unset = doc! { "$unset": { "version": "" } };
        notes
            .driver::<Doc>()
            .update_one(doc! { "_id": 1_i64 }, unset)
            .await
            .unwrap();
        let lost = notes.update(&new).set(|n| n.text, "x").await;
        assert!(
            matches!(
                lost,
                Err(Error::Conflict {
                    seen: 1,
                    found: None,
                    ..
                })
            ),
            "{lost:?}"
        );
        let old = Note { version: 0, ..new };
        notes.update(&old).set(|n| n.text, "x").await.unwrap();
        let read = notes.get(1).await.unwrap().unwrap();
        assert_eq!((read.version, read.text.as_str()), (1, "x"));
        let lost = notes.replace(old).await;
        assert!(
            matches!(
                lost,
                Err(Error::Conflict {
                    seen: 0,
                    found: Some(1),
                    ..
                })
            ),
            "{lost:?}"
        );
    });
}
