//! Stores a product with its parts and reviews, reads it, and renames a part.

use odm::prelude::*;
use shop::models::{
    NewPart, NewProduct, NewReview, Part, Picture, Product, Review,
};
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let Err(error) = run().await else {
        return ExitCode::SUCCESS;
    };
    eprintln!("error: {error}");
    if matches!(error, odm::Error::Unavailable { .. }) {
        eprintln!(
            "is a server running? start one with `odm server`, or set MONGODB_URI"
        );
    }
    ExitCode::FAILURE
}

async fn run() -> odm::Result<()> {
    let odm = shop::open().await?;
    odm.sync().await?; // collections, validators and indexes
    let parts = odm.collection::<Part>();
    let products = odm.collection::<Product>();
    let reviews = odm.collection::<Review>();

    // Store. The program names the part; odm reads its name and writes the copy.
    let grommet = parts
        .insert(NewPart {
            name: "grommet".into(),
            qty: 94,
        })
        .await?;
    let picture = Picture {
        url: "https://example.com/1.jpg".into(),
        width: 640,
    };
    let product = products
        .insert(NewProduct {
            name: format!("smoke shifter {}", ObjectId::new()),
            pictures: vec![picture],
            parts: vec![grommet.to_ref()],
        })
        .await?;
    for n in 1..=12 {
        let review = NewReview {
            product: product.to_ref(),
            at: DateTime::from_millis(n * 1000),
            stars: 4,
            text: format!("review {n}"),
        };
        reviews.insert(review).await?;
    }
    println!(
        "stored:  {}, with the part {}",
        product.name, product.parts[0].name
    );

    // Join. One query reads all parts, in the order of the array.
    let joined: Vec<Part> = product.parts.load(&odm).await?;
    println!("joined:  {} of {} are left", joined[0].qty, joined[0].name);

    // Update. The part and every copy of its name change.
    let done = parts
        .update(grommet.id)
        .set(|p| p.name, "#4 grommet")
        .await?;
    println!(
        "updated: {} part, {} copy",
        done.modified, done.copies_updated
    );

    // Read. The page of the product is one document.
    let page = products
        .get(product.id)
        .await?
        .expect("it was inserted above");
    println!(
        "read:    {}, {} of 12 reviews",
        page.parts[0].name,
        page.newest.len()
    );
    println!("rating:  {:?}", page.rating.value());
    Ok(())
}
