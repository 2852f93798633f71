//! Computed fields: numbers of the children that the parent stores, so that its page reads no child.
use mongodb::Database;
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "products")]
pub struct Product {
    pub id: i32,
    pub name: String,
    #[computed(count = Review)]
    #[index] // for lists that begin with the products with the most reviews
    pub reviews: i64,
    #[computed(count = Review, filter = |r| r.stars.gte(4))]
    pub good: i64,
    #[computed(sum = Review.helpful)]
    pub helpful: i64,
    #[computed(avg = Review.stars)]
    pub rating: Average,
    #[computed(min = Review.stars)]
    pub worst: Option<i32>,
    #[computed(max = Review.stars)]
    pub best: Option<i32>,
    #[computed(first = Review.text, order(-date))]
    pub newest: Option<String>,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "reviews")]
pub struct Review {
    pub id: i32,
    #[parent_ref(order(-date), on_delete = cascade)]
    pub product: Ref<Product>,
    pub date: DateTime,
    pub stars: i32,
    pub helpful: i32, // the number of readers that the review has helped
    pub text: String,
}

pub async fn run(db: Database) -> odm::Result<()> {
    let odm = Odm::new(db, models![Product, Review])?;
    odm.sync().await?;
    let (products, reviews) = (odm.collection::<Product>(), odm.collection::<Review>());

    // `NewProduct` has no computed field. Without children they are 0 or `None`.
    let widget = products
        .insert(NewProduct {
            id: 1,
            name: "Super Widget".into(),
        })
        .await?;
    assert_eq!(
        (widget.reviews, widget.rating.value(), widget.best),
        (0, None, None)
    );
    show(&widget);

    for (id, stars, text) in [(1, 5, "Great"), (2, 2, "Broke"), (3, 4, "Fine")] {
        reviews
            .insert(NewReview {
                id,
                product: widget.to_ref(),
                date: DateTime::from_millis(i64::from(id) * 86_400_000),
                stars,
                helpful: 10 * id,
                text: text.into(),
            })
            .await?;
    }
    let product = products.get(1).await?.expect("it was inserted");
    assert_eq!((product.reviews, product.good, product.helpful), (3, 2, 60));
    assert_eq!(product.rating.value(), Some(11.0 / 3.0));
    assert_eq!((product.worst, product.best), (Some(2), Some(5)));
    assert_eq!(product.newest.as_deref(), Some("Fine"));
    show(&product);

    // The numbers change with each write of a child.
    reviews.update(2).set(|r| r.stars, 5).await?;
    reviews.delete(3).await?;
    let product = products.get(1).await?.expect("it was inserted");
    assert_eq!((product.reviews, product.good, product.helpful), (2, 2, 30));
    assert_eq!((product.rating.value(), product.worst), (Some(5.0), Some(5)));
    assert_eq!(product.newest.as_deref(), Some("Broke"));
    show(&product);

    // They are queried and sorted by like any other field: the products with the most reviews first.
    let top = products
        .find(|p| p.reviews.gte(1))
        .sort(|p| p.reviews.desc())
        .page(20)
        .await?;
    assert_eq!(top.items, [product]);

    assert_eq!(products.delete(1).await?.cascaded, 2);
    Ok(())
}

fn show(product: &Product) {
    let rating = product
        .rating
        .value()
        .map_or("no stars yet".into(), |stars| format!("{stars:.1} stars"));
    let newest = product.newest.as_deref().unwrap_or("-");
    println!(
        "{}: {} reviews, {rating}, the newest says: {newest}",
        product.name, product.reviews
    );
}
