//! One-to-many: an array of references, joined by the application.
use mongodb::{Database, bson::oid::ObjectId};
use odm::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
pub struct Part {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    #[index(unique)]
    pub partno: String,
    pub name: String,
    pub qty: i32,
    pub price: f64,
}

#[derive(Document, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[document(collection = "products")]
pub struct Product {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
    #[index]
    pub manufacturer: String,
    #[index(unique)]
    pub catalog_number: i32,
    #[reference(many, max = 2000)]
    pub parts: Vec<Ref<Part>>,
}

pub async fn run(db: Database) -> odm::Result<()> {
    let odm = Odm::new(db, models![Part, Product])?;
    odm.sync().await?;
    let (parts, products) = (odm.collection::<Part>(), odm.collection::<Product>());

    let made = parts
        .insert_many(
            ["#4 grommet", "fan blade assembly", "power switch"]
                .iter()
                .enumerate()
                .map(|(n, name)| NewPart {
                    partno: format!("123-aff-{n}"),
                    name: name.to_string(),
                    qty: 94,
                    price: 3.99,
                }),
        )
        .await?;

    // The library checks that the parts exist.
    products
        .insert(NewProduct {
            name: "left-handed smoke shifter".into(),
            manufacturer: "Acme Corp".into(),
            catalog_number: 1234,
            parts: made.iter().map(Part::to_ref).collect(),
        })
        .await?;

    let product = products.find(|p| p.catalog_number.eq(1234)).one().await?.unwrap();

    // Everything about them: one more query, in the array's order.
    let joined: Vec<Part> = product.parts.load(&odm).await?;
    assert_eq!(joined, made);

    // The same join for many products is two queries in all, however many products and parts.
    let all: Vec<(Product, Vec<Part>)> = products
        .find(|p| p.manufacturer.eq("Acme Corp"))
        .include(|p| p.parts)
        .all()
        .await?;
    assert_eq!(all[0].1.len(), 3);

    parts
        .update(&made[0])
        .set(|p| p.name, "#5 grommet")
        .inc(|p| p.qty, -1)
        .await?;
    let joined = product.parts.load(&odm).await?;
    assert_eq!(joined[0].name, "#5 grommet");

    // A part that a product still uses is not deleted from under it (the default: restrict).
    assert!(matches!(
        parts.delete(&made[0]).await,
        Err(odm::Error::StillReferenced { .. })
    ));
    products
        .update(&product)
        .pull(|p| p.parts, made[0].to_ref())
        .await?;
    parts.delete(&made[0]).await?;
    Ok(())
}
