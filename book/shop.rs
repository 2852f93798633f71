//! The models of the samples about joins: a shop for spare parts.
#![allow(missing_docs)] // the models are read, not linked

use mongodb::Database;
use mongodb::bson::DateTime;
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "suppliers")]
pub struct Supplier {
    pub id: i32,
    #[field(max_len = 100)]
    pub name: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
pub struct Part {
    pub id: i32,
    #[field(max_len = 100)]
    pub name: String,
    #[reference]
    pub supplier: Option<Ref<Supplier>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "products")]
pub struct Product {
    pub id: i32,
    #[field(max_len = 100)]
    pub name: String,
    #[reference(many, max = 2000)]
    pub parts: Vec<Ref<Part>>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "reviews")]
pub struct Review {
    pub id: i32,
    #[parent_ref(order(-at), on_delete = cascade)]
    pub product: Ref<Product>,
    pub at: DateTime,
    #[field(min = 1, max = 5)]
    pub stars: i32,
    #[field(max_len = 500)]
    pub text: String,
}

/// Some goods in a database: two suppliers, four parts, three products, and thirty reviews of the first two of these.
pub async fn stocked(db: Database) -> odm::Result<Odm> {
    let odm = Odm::new(db, models![Supplier, Part, Product, Review])?;
    odm.sync().await?;
    let supplier = |id, name: &str| NewSupplier {
        id,
        name: name.into(),
    };
    let part = |id, name: &str, supplier: Option<i32>| NewPart {
        id,
        name: name.into(),
        supplier: supplier.map(Ref::new),
    };
    let product = |id, name: &str, parts: &[i32]| NewProduct {
        id,
        name: name.into(),
        parts: parts.iter().map(|id| Ref::new(*id)).collect(),
    };
    odm.collection::<Supplier>()
        .insert_many([supplier(1, "Acme Corp"), supplier(2, "Spacely Sprockets")])
        .await?;
    odm.collection::<Part>()
        .insert_many([
            part(1, "#4 grommet", Some(1)),
            part(2, "fan blade assembly", Some(2)),
            part(3, "power switch", Some(1)),
            part(4, "left-handed screw", None),
        ])
        .await?;
    odm.collection::<Product>()
        .insert_many([
            product(1, "smoke shifter", &[3, 1, 2, 1]),
            product(2, "sky hook", &[4]),
            product(3, "elbow grease", &[]),
        ])
        .await?;
    odm.collection::<Review>()
        .insert_many((0..30).map(|n| NewReview {
            id: n,
            product: Ref::new(n % 2 + 1),
            at: DateTime::from_millis(i64::from(n) * 86_400_000),
            stars: n % 5 + 1,
            text: format!("Review {n}"),
        }))
        .await?;
    Ok(odm)
}
