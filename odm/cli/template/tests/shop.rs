//! Each test has a database of its own, which is dropped when the test ends.

use odm::prelude::*;
use shop::models::{NewPart, NewProduct, NewReview, Part, Product, Review};

#[tokio::test]
async fn a_renamed_part_is_renamed_in_products() -> odm::Result<()> {
    let db = odm::testing::database().await.deny_scans();
    let odm = db.odm(shop::models()).await?;
    let (parts, products) = (odm.collection::<Part>(), odm.collection::<Product>());

    let part = parts
        .insert(NewPart {
            name: "grommet".into(),
            qty: 1,
        })
        .await?;
    let new = NewProduct {
        name: "fan".into(),
        pictures: vec![],
        parts: vec![part.to_ref()],
    };
    let fan = products.insert(new).await?;
    parts.update(part.id).set(|p| p.name, "#4 grommet").await?;

    let page = products.get(fan.id).await?.expect("it was inserted above");
    assert_eq!(page.parts[0].name, "#4 grommet");
    assert!(odm.audit().await?.is_clean());
    db.close().await
}

#[tokio::test]
async fn stars_beyond_five_are_refused() -> odm::Result<()> {
    let db = odm::testing::database().await;
    let odm = db.odm(shop::models()).await?;
    let fan = NewProduct {
        name: "fan".into(),
        pictures: vec![],
        parts: vec![],
    };
    let fan = odm.collection::<Product>().insert(fan).await?;

    let review = NewReview {
        product: fan.to_ref(),
        at: DateTime::now(),
        stars: 6,
        text: "excellent".into(),
    };
    let refused = odm.collection::<Review>().insert(review).await;
    assert!(
        matches!(refused, Err(odm::Error::Invalid { .. })),
        "{refused:?}"
    );
    db.close().await
}
