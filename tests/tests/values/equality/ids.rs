//! An `_id` that is a struct is compared by its bytes, so the validator demands one form of it.

use odm::bson::{self, Bson, doc};
use odm::prelude::*;
use odm_tests::with_db;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "stock")]
struct Stock {
    #[serde(rename = "_id")]
    id: Key,
    count: i32,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[embed(id)]
struct Key {
    shop: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    shelf: Option<i32>,
    part: Part,
    lot: Option<i32>,
}

#[derive(Embed, Serialize, Deserialize, Clone, Debug, PartialEq)]
struct Part {
    kind: i32,
    number: i32,
}

fn key(shelf: Option<i32>) -> Key {
    Key {
        shop: 1,
        shelf,
        part: Part { kind: 2, number: 3 },
        lot: None,
    }
}

#[odm_tests::test]
fn an_id_is_stored_in_the_declared_order() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Stock]).unwrap();
        let raw = t.db.collection::<bson::Document>("stock");
        let part = || doc! { "kind": 2, "number": 3 };
        let wrong = [
            doc! { "part": part(), "shop": 1, "lot": null },
            doc! { "shop": 1, "part": { "number": 3, "kind": 2 }, "lot": null },
            doc! { "shop": 1, "shelf": null, "part": part(), "lot": null },
            doc! { "shop": 1, "part": part() },
            doc! { "shop": 1, "part": part(), "lot": null, "more": 1 },
        ];
        for id in &wrong {
            raw.insert_one(doc! { "_id": id, "count": 0 }).await.unwrap();
        }
        let stock = odm.collection::<Stock>();
        for (id, count) in [(key(None), 1), (key(Some(7)), 2)] {
            stock.insert(NewStock { id, count }).await.unwrap();
        }
        // The plan finds those that are there already.
        let plan = odm.plan().await.unwrap();
        let violations = plan.changes().iter().find_map(|change| change.violations());
        assert_eq!(violations.map(|found| found.count), Some(5), "{plan}");
        assert!(odm.sync().await.is_err());
        raw.delete_many(doc! { "count": 0 }).await.unwrap();
        odm.sync().await.unwrap();
        assert!(odm.plan().await.unwrap().is_empty());
        // And the server refuses new ones.
        for id in &wrong {
            let refused = raw.insert_one(doc! { "_id": id, "count": 0 }).await.unwrap_err();
            assert!(refused.to_string().contains("121"), "{id}: {refused}");
        }
        stock.delete(key(None)).await.unwrap();
        stock
            .insert(NewStock {
                id: key(None),
                count: 3,
            })
            .await
            .unwrap();
        let found = stock.find(|p| p.id.eq(key(None))).one().await.unwrap();
        assert_eq!(found.map(|stock| stock.count), Some(3));
        let stored: Vec<Bson> = raw.distinct("_id", doc! { "_id.shelf": 7 }).await.unwrap();
        assert_eq!(
            stored,
            [Bson::from(
                doc! { "shop": 1, "shelf": 7, "part": part(), "lot": null }
            )]
        );
    });
}
