//! From `m0008_names` to `m0009_languages`:
//!
//! - `articles.language` is new: string, optional, "en" where it is missing
//! - `articles.title`: at most 200 long (was 100): wider
//! - `articles` has a new index `title_1` on title: each insertion and each change of these fields writes it too

use odm::migrate::Step;

pub async fn up(step: &Step) -> odm::Result<()> {
    let articles = step.collection("articles");
    articles.add("language", "en").await?;
    step.declare().await?;
    Ok(())
}
