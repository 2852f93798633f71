//! A product with what is counted, summed and averaged of its reviews.

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

/// Some data: a product with three reviews.
pub async fn stocked(db: odm::mongodb::Database) -> odm::Result<Odm> {
    let odm = Odm::new(db, models![Product, Review])?;
    odm.sync().await?;
    let widget = odm
        .collection::<Product>()
        .insert(NewProduct {
            id: 1,
            name: "Super Widget".into(),
        })
        .await?;
    for (id, stars, text) in [(1, 5, "Great"), (2, 2, "Broke"), (3, 4, "Fine")] {
        let review = NewReview {
            id,
            product: widget.to_ref(),
            date: DateTime::from_millis(i64::from(id) * 86_400_000),
            stars,
            helpful: 10 * id,
            text: text.into(),
        };
        odm.collection::<Review>().insert(review).await?;
    }
    Ok(odm)
}
