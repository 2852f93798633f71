//! A value that a user sends stays a value.

use super::models::*;
use odm::Error;
use odm::bson::{self, Bson, oid::ObjectId};
use odm::prelude::*;
use odm_tests::with_db;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Input that a program takes as it comes.
#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "visits")]
struct Visit {
    #[serde(rename = "_id")]
    id: ObjectId,
    /// A text to who asks for it in a form for people, and bytes in a document.
    #[field(opaque)]
    from: IpAddr,
    #[field(opaque)]
    sent: serde_json::Value,
    #[field(opaque)]
    any: Bson,
}

fn visit(from: [u8; 4], sent: serde_json::Value) -> NewVisit {
    NewVisit {
        from: from.into(),
        sent,
        any: Bson::Null,
    }
}

#[odm_tests::test]
fn user_input_is_never_an_operator() {
    with_db(async |t| {
        let odm = odm(&t).await;
        let shops = odm.collection::<Shop>();
        let ada = shops.insert(shop("Ada", 1)).await.unwrap();
        let attempts = [
            "{\"$gt\": \"\"}",
            "$gt",
            "$where",
            "$name",
            "{ $ne: null }",
            ".*",
            "^",
            "a\0b",
            "$$ROOT",
            "name.$[]",
        ];
        for sent in attempts {
            let sent = sent.to_owned();
            assert_eq!(
                shops.find(|s| s.name.eq(&sent)).count().await.unwrap(),
                0,
                "{sent}"
            );
            assert_eq!(
                shops.find(|s| s.name.in_([&sent])).count().await.unwrap(),
                0,
                "{sent}"
            );
            assert_eq!(
                shops.find(|s| s.tags.contains(&sent)).count().await.unwrap(),
                0,
                "{sent}"
            );
            assert_eq!(
                shops.find(|s| s.name.contains_text(&sent)).count().await.unwrap(),
                0,
                "{sent}"
            );
            assert_eq!(
                shops.find(|s| s.name.starts_with(&sent)).count().await.unwrap(),
                0,
                "{sent}"
            );
            assert_eq!(
                shops.delete_where(|s| s.name.eq(&sent)).await.unwrap().deleted,
                0,
                "{sent}"
            );
            // Stored, it is read back as it was sent.
            shops
                .update(ada.id)
                .set(|s| s.note, Some(sent.clone()))
                .await
                .unwrap();
            assert_eq!(shops.get(ada.id).await.unwrap().unwrap().note, Some(sent.clone()));
            assert_eq!(
                shops
                    .find(|s| s.note.eq(Some(sent.clone())))
                    .count()
                    .await
                    .unwrap(),
                1,
                "{sent}"
            );
            // As a map's key it is refused or stored, never executed.
            let before = shops.get(ada.id).await.unwrap().unwrap();
            if shops.update(ada.id).set_key(|s| s.hours, &sent, 1).await.is_ok() {
                assert_eq!(
                    shops.get(ada.id).await.unwrap().unwrap().hours.get(&sent),
                    Some(&1)
                );
                shops.update(ada.id).unset_key(|s| s.hours, &sent).await.unwrap();
            }
            assert_eq!(
                shops.get(ada.id).await.unwrap().unwrap().hours,
                before.hours,
                "{sent}"
            );
            // As a page token it is refused.
            let page = shops.find_all().page(1).after(sent.clone()).await;
            assert!(matches!(page, Err(odm::Error::PageToken { .. })), "{sent}");
        }
        // JSON of a request becomes a String, or does not parse.
        let body: Result<String, _> = serde_json::from_str("{\"$gt\": \"\"}");
        assert!(body.is_err());
    });
}

#[odm_tests::test]
fn compared_and_set_values_equal_inserted_ones() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Visit]).unwrap();
        odm.sync().await.unwrap();
        let visits = odm.collection::<Visit>();
        let kept = visits.insert(visit([127, 0, 0, 1], "a".into())).await.unwrap();
        let other = visits.insert(visit([10, 0, 0, 1], "b".into())).await.unwrap();
        let (here, there) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        assert_eq!(
            visits.find(|v| v.from.eq(here)).all().await.unwrap(),
            std::slice::from_ref(&kept)
        );
        assert_eq!(
            visits.find(|v| v.from.in_([here])).all().await.unwrap(),
            std::slice::from_ref(&kept)
        );
        visits.update(other.id).set(|v| v.from, there).await.unwrap();
        let read = visits.find(|v| v.from.eq(there)).one().await.unwrap().unwrap();
        assert_eq!((read.id, read.from), (other.id, there));
    });
}

#[odm_tests::test]
fn extended_json_of_a_user_is_a_value() {
    with_db(async |t| {
        let odm = Odm::new(t.db.clone(), models![Visit]).unwrap();
        odm.sync().await.unwrap();
        let visits = odm.collection::<Visit>();
        let anything = serde_json::json!({ "$regularExpression": { "pattern": ".*", "options": "" } });
        let matched = serde_json::json!({ "$elemMatch": { "$exists": true } });
        let text = visits.insert(visit([1, 1, 1, 1], "text".into())).await.unwrap();
        let list = visits
            .insert(visit([1, 1, 1, 1], serde_json::json!(["text"])))
            .await
            .unwrap();
        for sent in [
            anything,
            matched,
            serde_json::json!({ "$oid": ObjectId::new().to_hex() }),
            serde_json::json!({ "$date": "2020-01-01T00:00:00Z" }),
            serde_json::json!({ "$gt": "" }),
        ] {
            let same = visits.insert(visit([1, 1, 1, 1], sent.clone())).await.unwrap();
            assert_eq!(
                visits.find(|v| v.sent.eq(&sent)).all().await.unwrap(),
                std::slice::from_ref(&same),
                "{sent}"
            );
            assert_eq!(
                visits.find(|v| v.sent.in_([&sent])).all().await.unwrap(),
                std::slice::from_ref(&same),
                "{sent}"
            );
            let others = visits.find(|v| v.sent.not_in([&sent])).all().await.unwrap();
            assert_eq!(others, [text.clone(), list.clone()], "{sent}");
            // Set, it is stored as it was sent; before MongoDB 5.0 an update refuses a name with a dollar (52).
            let other = serde_json::json!("another one");
            visits.update(same.id).set(|v| v.sent, &other).await.unwrap();
            let set = visits.update(same.id).set(|v| v.sent, &sent).await;
            let old = odm.server().await.unwrap().max_wire_version() < 13;
            let named = sent
                .as_object()
                .is_some_and(|object| object.keys().any(|key| key.starts_with('$')));
            let stored = visits.get(same.id).await.unwrap().unwrap().sent;
            match set {
                Ok(_) => assert_eq!(stored, sent),
                Err(Error::Refused { code, .. }) => {
                    assert!(old && named && code == 52, "{sent}: {code}");
                    assert_eq!(stored, other);
                }
                Err(other) => panic!("{sent}: {other:?}"),
            }
            visits.delete(same.id).await.unwrap();
        }
        // A pattern that the program itself stores is a value to every filter but `regex`.
        let pattern = Bson::RegularExpression(bson::Regex {
            pattern: ".*".try_into().unwrap(),
            options: "".try_into().unwrap(),
        });
        visits
            .update(text.id)
            .set(|v| v.any, Bson::from("text"))
            .await
            .unwrap();
        assert_eq!(visits.find(|v| v.any.in_([&pattern])).count().await.unwrap(), 0);
        visits.update(list.id).set(|v| v.any, &pattern).await.unwrap();
        assert_eq!(visits.find(|v| v.any.in_([&pattern])).count().await.unwrap(), 1);
        assert_eq!(visits.find(|v| v.any.eq(&pattern)).count().await.unwrap(), 1);
        assert_eq!(visits.find(|v| v.any.ne(&pattern)).count().await.unwrap(), 1);
        assert_eq!(
            visits.find(|v| v.any.not_in([&pattern])).count().await.unwrap(),
            1
        );
    });
}
