//! From `m0002_titles` to `m0003_email_and_slug`:
//!
//! - `articles` has larger documents: without a bound (was at most 4554 bytes)
//! - `articles.slug` is new: string, optional, "" where it is missing
//! - `authors.email` is the new name of `mail`

use odm::migrate::Step;

pub async fn up(step: &Step) -> odm::Result<()> {
    let articles = step.collection("articles");
    articles.add("slug", "").await?;
    let authors = step.collection("authors");
    authors.rename("mail", "email").await?;
    step.declare().await?;
    Ok(())
}
