//! The subset pattern: a product keeps its ten most recent reviews, and its rating, up to date.
use mongodb::{
    Database,
    bson::{DateTime, oid::ObjectId},
};
use odm::prelude::*;

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "products")]
pub struct Product {
    pub id: i32,
    pub name: String,
    #[subset(of = Review, limit = 10, order(-published_date))]
    pub reviews: Vec<RecentReview>, // a struct of the application's own: see below
    #[computed(count = Review)]
    pub review_count: i64,
    #[computed(avg = Review.stars)]
    pub rating: Average,
}

/// The part of a review that a product page shows. Checked against Review, field by field, at compile time.
#[derive(Embed, Clone, Debug, PartialEq)]
#[denormalize(from = Review)]
pub struct RecentReview {
    #[field(name = "review_id")]
    pub id: Ref<Review>,
    pub review_author: String,
    pub review_text: String,
    pub published_date: DateTime,
}

#[derive(Document, Clone, Debug, PartialEq)]
#[document(collection = "reviews")]
pub struct Review {
    pub id: ObjectId,
    #[parent_ref(order(-published_date), on_delete = cascade)]
    #[field(name = "product_id")]
    pub product: Ref<Product>,
    pub review_author: String,
    pub review_text: String,
    pub stars: i32,
    pub published_date: DateTime,
}

fn review(product: &Product, day: i64, stars: i32) -> NewReview {
    NewReview {
        product: product.to_ref(),
        review_author: "Kristina".into(),
        review_text: format!("day {day}"),
        stars,
        published_date: DateTime::from_millis(day * 86_400_000),
    }
}

pub async fn run(db: Database) -> odm::Result<()> {
    let odm = Odm::new(db, models![Product, Review])?;
    odm.sync().await?;
    let (products, reviews) = (odm.collection::<Product>(), odm.collection::<Review>());
    let widget = products
        .insert(NewProduct {
            id: 1,
            name: "Super Widget".into(),
        })
        .await?;

    // Inserted out of order, kept in order.
    let mut all = Vec::new();
    for day in [5, 1, 12, 3, 9, 2, 11, 4, 8, 6, 10, 7] {
        all.push(reviews.insert(review(&widget, day, 4)).await?);
    }
    let days = |p: &Product| {
        p.reviews
            .iter()
            .map(|r| r.published_date.timestamp_millis() / 86_400_000)
            .collect::<Vec<_>>()
    };
    let page = products.get(1).await?.unwrap();
    assert_eq!(days(&page), [12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
    assert_eq!((page.review_count, page.rating.value()), (12, Some(4.0)));
    println!(
        "The newest ten of {} reviews: those of the days {:?}",
        page.review_count,
        days(&page)
    );

    // An edit reaches the copy; a change of the order key moves it; a delete pulls the next one in.
    let newest = all.iter().find(|r| r.review_text == "day 12").unwrap();
    reviews
        .update(newest.id)
        .set(|r| r.review_text, "updated")
        .set(|r| r.stars, 1)
        .await?;
    let page = products.get(1).await?.unwrap();
    assert_eq!(page.reviews[0].review_text, "updated");
    assert_eq!(page.rating.value(), Some(45.0 / 12.0));

    reviews
        .update(newest.id)
        .set(|r| r.published_date, DateTime::from_millis(0))
        .await?;
    assert_eq!(
        days(&products.get(1).await?.unwrap()),
        [11, 10, 9, 8, 7, 6, 5, 4, 3, 2]
    );

    reviews.delete_where(|r| r.review_text.eq("day 11")).await?;
    let page = products.get(1).await?.unwrap();
    assert_eq!(days(&page), [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    println!("One was moved and one deleted: {:?}", days(&page));

    // The rest of the reviews are one call away, page by page, without skip.
    let first = reviews.children_of(&widget).page(5).await?;
    let second = reviews
        .children_of(&widget)
        .page(5)
        .after(first.next.unwrap())
        .await?;
    assert_eq!((first.items.len(), second.items.len()), (5, 5));

    products.delete(widget.id).await?; // cascades, as declared
    assert_eq!(reviews.find_all().count().await?, 0);
    Ok(())
}
