//! A product with its newest ten reviews.

use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "products")]
pub struct Product {
    pub id: i32,
    pub name: String,
    // Generates ReviewEntry { id: Ref<Review>, date: DateTime, text: String }
    #[subset(
        of = Review, limit = 10, order(-date),
        fields(date: DateTime, text: String)
    )]
    pub reviews: Vec<ReviewEntry>,
    #[computed(count = Review)]
    pub review_count: i64,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "reviews")]
pub struct Review {
    pub id: i32,
    #[parent_ref(order(-date), on_delete = cascade)]
    pub product: Ref<Product>,
    pub date: DateTime,
    #[field(min = 1, max = 5)]
    pub stars: i32,
    #[field(max_len = 2_000)]
    pub text: String,
}

/// Some data: a product with a review for each of the first twelve days of 1970.
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
    let review = |day: i32| NewReview {
        id: day,
        product: widget.to_ref(),
        date: DateTime::from_millis(i64::from(day) * 86_400_000),
        stars: 4,
        text: format!("day {day}"),
    };
    odm.collection::<Review>()
        .insert_many((1..=12).map(review))
        .await?;
    Ok(odm)
}
