//! From `m0004_slugs` to `m0005_views`:
//!
//! - `articles.legacy` is no longer declared (was bool)
//! - `articles.views` has another type: string (was int)

use odm::bson::doc;
use odm::migrate::Step;

pub async fn up(step: &Step) -> odm::Result<()> {
    let articles = step.collection("articles");
    articles
        .retype("views", "string", doc! { "$toString": "$$value" })
        .await?;
    articles.remove("legacy").await?;
    step.declare().await?;
    Ok(())
}
