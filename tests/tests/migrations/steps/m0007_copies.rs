//! From `m0006_counted` to `m0007_copies`:
//!
//! - `articles.author_name` is a new copy of authors.name through author, consistency = auto: a change of `authors.name` writes the documents of `articles` that hold it too: 3 round trips in one transaction, where a plain write takes 1, and batches after it where there are more than 1,000
//! - `articles` has a new index `author_1__id_1` on author, _id, for the reference: each insertion and each change of these fields writes it too
//! - `articles` no longer declares the index `author_1` on author, for the reference: it stays until it is retired or dropped
//! - `authors.articles` is a new count of articles, by articles.author, consistency = auto: inserting or deleting a document of `articles`, and changing what is computed, writes its `authors` too: 3 round trips in one transaction, where a plain write takes 1

use odm::migrate::Step;

pub async fn up(step: &Step) -> odm::Result<()> {
    let articles = step.collection("articles");
    articles.retire_index("author_1").await?;
    step.backfill().await?;
    step.declare().await?;
    Ok(())
}
