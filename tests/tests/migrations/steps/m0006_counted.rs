//! Counts how often each article of the first version is changed by this step: once.

use odm::bson::doc;
use odm::migrate::Step;

#[derive(odm::Row)]
struct Article {
    title: String,
}

pub async fn up(step: &Step) -> odm::Result<()> {
    step.collection("articles")
        .each::<Article>(doc! { "of_title": { "$exists": false }, "_id": { "$lt": 1_000_000 } })
        .update(|article| Ok(doc! { "$inc": { "times": 1 }, "$set": { "of_title": article.title } }))
        .await
}
