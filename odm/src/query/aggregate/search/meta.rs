//! Values that a search gives beside its documents, as expressions of the stages that follow.

use crate::query::filter::expression::Expression;
use crate::query::filter::expression::sealed::Sealed;
use mongodb::bson::{Bson, doc};

/// A value that a search gives beside each document: [`score`], [`highlights`], [`total`], [`vector_score`].
/// [`add_fields`](crate::query::Aggregate::add_fields) takes it.
///
/// ```
/// let score: odm::atlas::Meta = odm::atlas::score();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a value does nothing until a pipeline takes it"]
pub struct Meta(MetaOf);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MetaOf {
    Document(&'static str),
    Search(&'static str),
}

/// How well a document matches a [search](crate::Collection::search): the greater the better. Behind other stages it is missing, or the
/// server refuses it.
///
/// ```no_run
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// # async fn example(books: Collection<Book>) -> odm::Result<()> {
/// use odm::atlas::{score, text};
///
/// let scored: Vec<odm::bson::Document> = books
///     .search("default", |b| text("whale").path(b.title))
///     .aggregate()
///     .add_fields(|f| f.field("score", |_| score()))
///     .all()
///     .await?;
/// # Ok(()) }
/// ```
pub fn score() -> Meta {
    Meta(MetaOf::Document("searchScore"))
}

/// The parts of texts that matched, where the search has [`highlight`](crate::atlas::SearchStage::highlight): an array of documents, as Atlas
/// gives them.
///
/// ```no_run
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// # async fn example(books: Collection<Book>) -> odm::Result<()> {
/// use odm::atlas::{highlights, text};
///
/// let marked: Vec<odm::bson::Document> = books
///     .search("default", |b| text("whale").path(b.title))
///     .highlight(|b| b.title)
///     .aggregate()
///     .add_fields(|f| f.field("parts", |_| highlights()))
///     .all()
///     .await?;
/// # Ok(()) }
/// ```
pub fn highlights() -> Meta {
    Meta(MetaOf::Document("searchHighlights"))
}

/// How many documents a search matches, where it has [`count_total`](crate::atlas::SearchStage::count_total): the same number beside each
/// document.
///
/// ```no_run
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// # async fn example(books: Collection<Book>) -> odm::Result<()> {
/// use odm::atlas::{text, total};
///
/// let counted: Vec<odm::bson::Document> = books
///     .search("default", |b| text("whale").path(b.title))
///     .count_total()
///     .aggregate()
///     .limit(10)
///     .add_fields(|f| f.field("of", |_| total()))
///     .all()
///     .await?;
/// # Ok(()) }
/// ```
pub fn total() -> Meta {
    Meta(MetaOf::Search("count.total"))
}

/// How near the vector of a document is, in a [search for vectors](crate::Collection::vector_search): from 0 to 1, the greater the nearer.
///
/// ```no_run
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// # async fn example(books: Collection<Book>, question: Vec<f32>) -> odm::Result<()> {
/// let near: Vec<odm::bson::Document> = books
///     .vector_search("by_meaning", |b| b.embedding, question)
///     .aggregate()
///     .add_fields(|f| f.field("score", |_| odm::atlas::vector_score()))
///     .all()
///     .await?;
/// # Ok(()) }
/// ```
pub fn vector_score() -> Meta {
    Meta(MetaOf::Document("vectorSearchScore"))
}

impl Sealed for Meta {}

impl<T> Expression<T> for Meta {
    fn expression(&self) -> Bson {
        match self.0 {
            MetaOf::Document(name) => doc! { "$meta": name }.into(),
            MetaOf::Search(path) => format!("$$SEARCH_META.{path}").into(),
        }
    }

    fn name(&self) -> String {
        let (MetaOf::Document(name) | MetaOf::Search(name)) = self.0;
        name.replace('.', "_")
    }
}
