//! How many commands each operation sends.

use super::models::*;
use odm::__private::SwitchBulk as _;
use odm::Error;
use odm::prelude::*;
use odm_tests::round_trips::RoundTrips;
use odm_tests::with_db;

#[odm_tests::test]
fn every_operation_is_as_many_round_trips_as_it_says() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let sent = || t.commands.take();
        let ada = shops.insert(shop("Ada", 1)).await.unwrap();
        assert_eq!(sent(), ["insert"]);
        let many = shops
            .insert_many((0..1000).map(|n| shop(&format!("s{n}"), 2)))
            .await
            .unwrap();
        assert_eq!(sent(), ["insert"], "a thousand documents are one command");
        shops.get(ada.id).await.unwrap();
        assert_eq!(sent(), ["find"]);
        shops.get_many(many.iter().map(|s| s.id)).await.unwrap();
        assert_eq!(sent(), ["find"]);
        shops.find(|s| s.stars.eq(1)).all().await.unwrap();
        assert_eq!(sent(), ["find"]);
        assert_eq!(shops.find_all().all().await.unwrap().len(), 1001);
        assert_eq!(sent(), ["find"], "a thousand documents are one batch");
        assert_eq!(shops.find_all().page(500).await.unwrap().items.len(), 500);
        assert_eq!(sent(), ["find"]);
        assert_eq!(shops.find_all().batch_size(600).all().await.unwrap().len(), 1001);
        assert_eq!(sent(), ["find", "getMore"]);
        shops.find(|s| s.stars.eq(1)).one().await.unwrap();
        assert_eq!(sent(), ["find"]);
        shops.find(|s| s.stars.eq(1)).exists().await.unwrap();
        assert_eq!(sent(), ["find"]);
        shops.find(|s| s.stars.eq(1)).count().await.unwrap();
        assert_eq!(sent(), ["aggregate"]);
        shops.find_all().page(10).await.unwrap();
        assert_eq!(sent(), ["find"]);
        shops.find_all().explain().await.unwrap();
        assert_eq!(sent(), ["explain"]);
        shops
            .update(ada.id)
            .set(|s| s.stars, 2)
            .push(|s| s.tags, "x")
            .await
            .unwrap();
        assert_eq!(sent(), ["update"]);
        shops
            .update(ada.id)
            .set(|s| s.stars, 3)
            .returning()
            .await
            .unwrap();
        assert_eq!(sent(), ["findAndModify"]);
        shops
            .update_where(|s| s.stars.eq(2))
            .set(|s| s.stars, 1)
            .await
            .unwrap();
        assert_eq!(sent(), ["update"]);
        shops
            .update_where(|s| s.stars.eq(2))
            .push(|s| s.tags, "y")
            .await
            .unwrap();
        assert_eq!(
            sent(),
            ["aggregate", "update"],
            "a bound can refuse: counted first"
        );
        shops.replace(ada.clone()).await.unwrap();
        assert_eq!(sent(), ["update"]);
        shops
            .aggregate()
            .limit(1)
            .all::<odm::bson::Document>()
            .await
            .unwrap();
        assert_eq!(sent(), ["aggregate"]);
        shops.delete(ada.id).await.unwrap();
        assert_eq!(sent(), ["delete"]);
        assert!(shops.update(ada.id).set(|s| s.stars, 1).await.is_err());
        assert_eq!(sent(), ["update"], "nothing can hold it back but that it is gone");
        assert!(shops.update(ada.id).inc(|s| s.stars, 1).await.is_err());
        assert_eq!(
            sent(),
            ["update", "find"],
            "a bound can hold it back: one more to find out why"
        );
        shops.delete_where(|s| s.stars.gte(0)).await.unwrap();
        assert_eq!(sent(), ["delete"]);
    });
}

#[odm_tests::test]
fn spans_report_as_many_round_trips_as_refused_writes_and_those_that_change_nothing_send() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let (shops, notes) = (odm.collection::<Shop>(), odm.collection::<Note>());
        let ada = shops.insert(shop("Ada", 4)).await.unwrap();
        let first = notes.insert(note(1)).await.unwrap();
        t.commands.clear();
        let (round_trips, _counting) = RoundTrips::counted();
        macro_rules! sends {
            ($number:literal, $work:expr) => {{
                let made = $work.await;
                let (counted, sent) = (round_trips.take(), t.commands.take());
                assert_eq!(sent.len(), $number, "{sent:?}");
                assert_eq!(counted, $number, "{sent:?}");
                made
            }};
        }
        let bulk = || odm.bulk().without_bulk_write_command();
        let refused = bulk()
            .add(odm.collection().insert(note(2)))
            .add(odm.collection().insert(shop("Bea", 1)))
            .add(odm.collection().insert(note(2)));
        let refused = sends!(3, refused).unwrap_err();
        assert!(matches!(refused, Error::Bulk { errors, .. } if errors[0].0 == 2));
        let unordered = bulk()
            .unordered()
            .add(odm.collection().insert(note(1)))
            .add(odm.collection().insert(shop("Ada", 1)))
            .add(odm.collection().insert(note(3)));
        let refused = sends!(3, unordered).unwrap_err();
        assert!(matches!(refused, Error::Bulk { errors, .. } if errors.len() == 2));
        sends!(1, notes.insert(note(1))).unwrap_err();
        sends!(1, notes.insert_many([note(1), note(2)]).unordered()).unwrap_err();
        notes.update(1).set(|n| n.text, "x").await.unwrap();
        t.commands.clear();
        round_trips.take();
        sends!(2, notes.update(&first).set(|n| n.text, "y")).unwrap_err();
        sends!(2, notes.delete(&first)).unwrap_err();
        sends!(2, shops.update(ada.id).inc(|s| s.stars, 2)).unwrap_err();
        let tags = ["a", "b", "c", "d", "e"];
        sends!(2, shops.update(ada.id).push_all(|s| s.tags, tags)).unwrap_err();
        sends!(1, shops.update(ada.id)).unwrap();
        let found = sends!(1, shops.update(ada.id).returning()).unwrap();
        assert_eq!(found.stars, 4);
        let idle = notes.update(1).pull(|n| n.lines, "none").returning();
        assert_eq!(sends!(3, idle).unwrap().text, "x");
    });
}

#[derive(Document, Clone, Debug)]
#[document(collection = "letters")]
struct Letter {
    id: i32,
    text: String,
}

#[derive(Document, Clone, Debug)]
#[document(collection = "secrets")]
struct Secret {
    id: i32,
    #[field(sensitive)]
    text: String,
}

#[odm_tests::test]
fn a_sensitive_field_costs_no_round_trip() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Letter, Secret]).unwrap();
        odm.sync().await.unwrap();
        macro_rules! sent {
            ($Document:ident) => {{
                let all = odm.collection::<$Document>();
                let new = || $Document {
                    id: 1,
                    text: "x".into(),
                };
                t.commands.clear();
                all.insert(new()).await.unwrap();
                all.insert(new()).await.unwrap_err();
                all.update(1).set(|d| d.text, "y").await.unwrap();
                all.update(1)
                    .set(|d| d.text, "z")
                    .returning()
                    .await
                    .unwrap();
                all.update_where(|d| d.text.eq("z"))
                    .set(|d| d.text, "x")
                    .await
                    .unwrap();
                all.find(|d| d.text.eq("x")).all().await.unwrap();
                all.replace(new()).await.unwrap();
                all.delete(1).await.unwrap();
                t.commands.take()
            }};
        }
        let sent = [sent!(Letter), sent!(Secret)];
        assert_eq!(sent[0], sent[1]);
        assert_eq!(sent[0].len(), 8);
    });
}
