//! One-to-many: an array of references that carries a copy of the part's name.
use mongodb::{Database, bson::oid::ObjectId};
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "parts")]
pub struct Part {
    pub id: ObjectId,
    #[index(unique)]
    pub partno: String,
    pub name: String,
    #[volatile] // changes often: a copy of it does not compile
    pub qty: i32,
    pub price: i64, // in cents
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "products")]
pub struct Product {
    pub id: ObjectId,
    pub name: String,
    #[index]
    pub manufacturer: String,
    #[index(unique)]
    pub catalog_number: i32,
    #[reference(many, max = 2000)]
    #[denormalize(from = Part, fields(name: String))]
    // generates PartEntry { id: Ref<Part>, name: String }
    pub parts: Vec<PartEntry>,
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
                    price: 399,
                }),
        )
        .await?;

    // The application names the parts; the library reads their names and writes the copies.
    products
        .insert(NewProduct {
            name: "left-handed smoke shifter".into(),
            manufacturer: "Acme Corp".into(),
            catalog_number: 1234,
            parts: made.iter().map(Part::to_ref).collect(),
        })
        .await?;

    // The names of all the parts: no join.
    let product = products.find(|p| p.catalog_number.eq(1234)).one().await?.unwrap();
    assert_eq!(product.parts[0].name, "#4 grommet");
    let names: Vec<&str> = product.parts.iter().map(|part| part.name.as_str()).collect();
    println!("{}: {}", product.name, names.join(", "));

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

    // An update of the source is a dual write: the part, and every product that carries its name.
    let done = parts.update(made[0].id).set(|p| p.name, "#5 grommet").await?;
    assert_eq!((done.modified, done.copies_updated), (1, 1));
    let product = products.get(product.id).await?.unwrap();
    assert_eq!(product.parts[0].name, "#5 grommet");
    println!("Renamed: the product shows {} now.", product.parts[0].name);

    // qty is not copied anywhere, so this is one plain write.
    parts.update(made[0].id).inc(|p| p.qty, -1).await?;

    // A part that a product still uses is not deleted from under it (the default: restrict).
    let refused = parts.delete(made[0].id).await;
    assert!(matches!(refused, Err(odm::Error::StillReferenced { .. })));
    if let Err(error) = refused {
        println!("Deleting a part that is used: {error}");
    }
    products
        .update(product.id)
        .pull(|p| p.parts, made[0].to_ref())
        .await?;
    parts.delete(made[0].id).await?;
    Ok(())
}
