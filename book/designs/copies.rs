//! Three kinds of copies.

use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "suppliers")]
pub struct Supplier {
    pub id: i32,
    pub name: String,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
pub struct Part {
    pub id: i32,
    pub name: String,
    #[volatile] // changes often: a copy of it does not compile
    pub qty: i32,
    #[reference]
    pub supplier: Ref<Supplier>,
    #[denormalize(from = supplier.name)]
    pub maker: String, // 1: a field beside a reference
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "products", index(fields(parts.maker)))]
pub struct Product {
    pub id: i32,
    pub name: String,
    // 2: an entry for each reference of an array. Generates the struct
    // PartEntry { id: Ref<Part>, name: String, maker: String }
    // 3: `maker` is a copy of a copy
    #[reference(many, max = 2000)]
    #[denormalize(from = Part, fields(name: String, maker: String))]
    pub parts: Vec<PartEntry>,
}

/// Some data: a supplier, its two parts, and a product of both.
pub async fn stocked(db: odm::mongodb::Database) -> odm::Result<Odm> {
    let odm = Odm::new(db, models![Supplier, Part, Product])?;
    odm.sync().await?;
    let acme = odm
        .collection()
        .insert(Supplier {
            id: 1,
            name: "Acme".into(),
        })
        .await?;
    let part = |id, name: &str| NewPart {
        id,
        name: name.into(),
        qty: 94,
        supplier: acme.to_ref(),
    };
    let parts = odm.collection::<Part>();
    parts
        .insert_many([part(1, "#4 grommet"), part(2, "power switch")])
        .await?;
    odm.collection::<Product>()
        .insert(NewProduct {
            id: 1,
            name: "smoke shifter".into(),
            parts: vec![Ref::new(1), Ref::new(2)],
        })
        .await?;
    Ok(odm)
}
