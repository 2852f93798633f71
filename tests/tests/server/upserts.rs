//! Upserts of documents that hold copies, or that others copy from.

use odm::bson::DateTime;
use odm::prelude::*;
use odm_examples::one_to_squillions::{Host, LogMsg, NewLogMsg};
use odm_examples::subset::{NewReview, Product, Review};
use odm_tests::{assert_clean, with_db};

#[test]
fn what_is_derived_is_there_from_the_start() {
    for alone in [false, true] {
        with_db(async |t| {
            let mut odm = Odm::new(t.db, models![Product, Review]).unwrap();
            if alone {
                odm = odm.without_transactions();
            }
            odm.sync().await.unwrap();
            let (products, reviews) = (odm.collection::<Product>(), odm.collection::<Review>());
            for name in ["Widget", "Super Widget"] {
                let upsert = products.update(1).set(|p| p.name, name).upsert();
                upsert.await.unwrap();
            }
            let product = products.get(1).await.unwrap().unwrap();
            assert_eq!((product.name.as_str(), product.review_count), ("Super Widget", 0));
            let review = NewReview {
                product: product.to_ref(),
                review_author: "Kristina".into(),
                review_text: "Nice".into(),
                stars: 4,
                published_date: DateTime::from_millis(1),
            };
            reviews.insert(review).await.unwrap();
            products
                .update(1)
                .set(|p| p.name, "Hyper Widget")
                .upsert()
                .await
                .unwrap();
            let product = products.get(1).await.unwrap().unwrap();
            assert_eq!((product.name.as_str(), product.review_count), ("Hyper Widget", 1));
            assert_eq!(product.reviews.len(), 1);
            assert_clean(&odm).await;
        });
    }
}

#[test]
fn sources_holders_and_children_can_be_upserted() {
    for alone in [false, true] {
        with_db(async |t| {
            let mut odm = Odm::new(t.db, models![Host, LogMsg]).unwrap();
            if alone {
                odm = odm.without_transactions();
            }
            odm.sync().await.unwrap();
            let (hosts, messages) = (odm.collection::<Host>(), odm.collection::<LogMsg>());
            let id = ObjectId::new();
            let upsert = hosts
                .update(id)
                .set(|h| h.name, "a")
                .set(|h| h.ipaddr, "10.0.0.1")
                .upsert();
            upsert.await.unwrap();
            let host = hosts.get(id).await.unwrap().unwrap();
            let message = NewLogMsg {
                time: DateTime::from_millis(1),
                message: "up".into(),
                host: host.to_ref(),
            };
            messages.insert(message).await.unwrap();
            // A holder, which is also a child.
            let (first, second) = (ObjectId::new(), ObjectId::new());
            for id in [first, second] {
                let upsert = messages
                    .update(id)
                    .set(|m| m.host, host.to_ref())
                    .set(|m| m.message, "down")
                    .set(|m| m.time, DateTime::from_millis(2))
                    .upsert();
                upsert.await.unwrap();
            }
            hosts
                .update(id)
                .set(|h| h.ipaddr, "10.0.0.2")
                .upsert()
                .await
                .unwrap();
            let count = messages.find(|m| m.ipaddr.eq("10.0.0.2")).count().await.unwrap();
            assert_eq!(count, 3);
            let host = hosts.get(id).await.unwrap().unwrap();
            assert_eq!(host.logmsgs.len(), 3);
            assert_clean(&odm).await;
        });
    }
}
