//! Articles without a slug get one of their ids.

use odm::bson::doc;
use odm::migrate::Step;

pub async fn up(step: &Step) -> odm::Result<()> {
    let slug = doc! { "$concat": ["article-", { "$toString": "$_id" }] };
    step.collection("articles")
        .update(doc! { "slug": "" }, [doc! { "$set": { "slug": slug } }])
        .await
}
