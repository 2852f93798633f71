//! Copies: a field of another document is stored beside the reference to it, and is kept equal to its source.
use mongodb::Database;
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

pub async fn run(db: Database) -> odm::Result<()> {
    let odm = Odm::new(db, models![Supplier, Part, Product])?;
    odm.sync().await?;
    let suppliers = odm.collection::<Supplier>();
    let (parts, products) = (odm.collection::<Part>(), odm.collection::<Product>());

    // The application names the other document; the library reads it and writes the copies.
    let acme = suppliers
        .insert(NewSupplier {
            id: 1,
            name: "Acme".into(),
        })
        .await?;
    for (id, name) in [(1, "#4 grommet"), (2, "power switch")] {
        let part = parts
            .insert(NewPart {
                id,
                name: name.into(),
                qty: 94,
                supplier: acme.to_ref(),
            })
            .await?;
        assert_eq!(part.maker, "Acme");
    }
    let product = products
        .insert(NewProduct {
            id: 1,
            name: "smoke shifter".into(),
            parts: vec![Ref::new(1), Ref::new(2)],
        })
        .await?;
    show(&product);

    // A change of a source changes its copies, and the copies of these.
    let done = parts.update(1).set(|p| p.name, "#5 grommet").await?;
    assert_eq!((done.modified, done.copies_updated), (1, 1));
    suppliers.update(1).set(|s| s.name, "Acme Ltd").await?;
    let product = products.get(1).await?.expect("it was inserted");
    assert_eq!(
        (&*product.parts[0].name, &*product.parts[0].maker),
        ("#5 grommet", "Acme Ltd")
    );
    show(&product);

    // A field that is not copied: one plain update.
    let done = parts.update(1).inc(|p| p.qty, -1).await?;
    assert_eq!(done.copies_updated, 0);

    // Another reference brings its own copies.
    suppliers
        .insert(NewSupplier {
            id: 2,
            name: "Best".into(),
        })
        .await?;
    parts.update(2).set(|p| p.supplier, Ref::new(2)).await?;
    let product = products.get(1).await?.expect("it was inserted");
    assert_eq!(product.parts[1].maker, "Best");
    show(&product);

    // Copies can be queried like any other field.
    assert_eq!(products.find(|p| p.parts.maker.eq("Best")).count().await?, 1);

    // A source is not deleted while a document refers to it (the default: restrict).
    let refused = parts.delete(1).await;
    assert!(matches!(
        refused,
        Err(odm::Error::StillReferenced { by: "products", .. })
    ));
    products.update(1).pull(|p| p.parts, Ref::new(1)).await?;
    assert_eq!(parts.delete(1).await?.deleted, 1);

    // The audit compares every copy with its source.
    assert!(odm.audit().await?.is_clean());
    println!("The audit has compared every copy with its source: all are equal.");
    Ok(())
}

/// Prints what the page of a product shows, which is one document.
fn show(product: &Product) {
    let parts = product.parts.iter();
    let parts: Vec<String> = parts
        .map(|part| format!("{} by {}", part.name, part.maker))
        .collect();
    println!("{}: {}", product.name, parts.join(", "));
}
