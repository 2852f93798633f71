//! What a user sends is a value and stays one.

use super::models::*;
use odm::prelude::*;
use odm_tests::with_db;

#[test]
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
                shops.find(|s| s.name.regex(&sent)).count().await.unwrap(),
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
                .update(&ada)
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
            // As a map's key it is refused or stored, never carried out.
            let before = shops.get(ada.id).await.unwrap().unwrap();
            if shops.update(&ada).set_key(|s| s.hours, &sent, 1).await.is_ok() {
                assert_eq!(
                    shops.get(ada.id).await.unwrap().unwrap().hours.get(&sent),
                    Some(&1)
                );
                shops.update(&ada).unset_key(|s| s.hours, &sent).await.unwrap();
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
