//! Titles have no spaces at their ends: each document is read as a frozen struct, and changed by a closure.

use odm::bson::doc;
use odm::migrate::Step;

#[derive(odm::Row)]
struct Titled {
    title: String,
}

pub async fn up(step: &Step) -> odm::Result<()> {
    let articles = step.collection("articles");
    articles
        .each::<Titled>(doc! { "title": { "$regex": " $" } })
        .update(|old| Ok(doc! { "$set": { "title": old.title.trim_end() } }))
        .await
}
