//! From `m0002_email_and_slug` to `m0003_views`:
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
