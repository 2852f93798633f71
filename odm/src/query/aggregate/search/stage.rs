//! The stage `$search`.

use super::declared::{self, Use};
use super::operator::{Operator, Uses, Wrong};
use crate::model::asserts::SearchedText;
use crate::model::document::DocumentMeta;
use crate::model::path::{Path, Step};
use crate::query::aggregate::Aggregate;
use crate::store::core::Core;
use crate::{Document, Error, Result};
use mongodb::bson::{self, doc};
use std::marker::PhantomData;

/// A search by a search index of Atlas, from [`Collection::search`](crate::Collection::search). [`aggregate`](SearchStage::aggregate) goes
/// on with the documents that it finds.
///
/// ```no_run
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// fn by_title(books: &Collection<Book>, words: &str) -> odm::atlas::SearchStage<Book> {
///     books.search("default", |b| odm::atlas::text(words).path(b.title))
/// }
/// ```
#[must_use = "a search does nothing until its pipeline is awaited: `.aggregate().all()`"]
pub struct SearchStage<T> {
    core: Core,
    search: Search,
    of: PhantomData<fn() -> T>,
}

/// A search without the type of its documents.
#[derive(Debug)]
struct Search {
    index: String,
    operator: Result<bson::Document, Wrong>,
    uses: Uses,
    highlighted: Vec<&'static str>,
    counts: bool,
}

impl<T> std::fmt::Debug for SearchStage<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.search.fmt(f)
    }
}

impl<T: Document> SearchStage<T> {
    pub(crate) fn new<K>(core: Core, index: String, operator: Operator<T, K>) -> Self {
        SearchStage {
            core,
            search: Search::new(index, operator),
            of: PhantomData,
        }
    }

    /// Has Atlas give the parts of this field that matched, which [`highlights`](super::highlights) reads. It may be called for several
    /// fields. Atlas reads the text of each document for it.
    ///
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # fn example(books: Collection<Book>) {
    /// let search = books.search("default", |b| odm::atlas::text("whale").path(b.title)).highlight(|b| b.title);
    /// # }
    /// ```
    pub fn highlight<V: SearchedText, P: Step, C>(
        mut self,
        field: impl FnOnce(T::Paths) -> Path<T, V, P, C>,
    ) -> Self {
        field(T::paths());
        self.search.highlighted.push(P::PATH);
        self.search.uses.push((P::PATH, Use::Words));
        self
    }

    /// Has Atlas count all documents that match, which [`total`](super::total) reads. It takes the longer the more there are.
    ///
    /// # Errors
    /// The pipeline is [`Error::Query`] on a handle with a condition (a tenant, documents that are not deleted): Atlas counts before that
    /// condition, so the number would tell of documents that the handle does not read.
    ///
    /// # Example
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # fn example(books: Collection<Book>) {
    /// let search = books.search("default", |b| odm::atlas::text("whale").path(b.title)).count_total();
    /// # }
    /// ```
    pub fn count_total(mut self) -> Self {
        self.search.counts = true;
        self
    }

    /// The pipeline that begins with this search. Its documents are those of the collection, so typed stages follow.
    ///
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # async fn example(books: Collection<Book>) -> odm::Result<()> {
    /// let search = books.search("default", |b| odm::atlas::text("whale").path(b.title));
    /// let recent: Vec<Book> = search.aggregate().filter(|b| b.year.gte(1900)).limit(10).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn aggregate(self) -> Aggregate<T> {
        let has_scope = self.core.odm().scope_of(T::META).is_some();
        Aggregate::beginning_with(self.core, self.search.stage(T::META, has_scope))
    }
}

impl Search {
    fn new<T, K>(index: String, operator: Operator<T, K>) -> Self {
        let (operator, uses) = match operator.into_parts() {
            Ok((operator, uses)) => (Ok(operator), uses),
            Err(wrong) => (Err(wrong), Vec::new()),
        };
        Search {
            index,
            operator,
            uses,
            highlighted: Vec::new(),
            counts: false,
        }
    }

    fn stage(self, meta: &'static DocumentMeta, has_scope: bool) -> Result<bson::Document> {
        let refuse = |message: String| Error::Query {
            collection: meta.collection,
            message,
        };
        let operator = self.operator.map_err(|wrong| match wrong {
            Wrong::Said(message) => refuse(message),
            Wrong::Error(error) => *error,
        })?;
        declared::search(meta, &self.index, &self.uses).map_err(refuse)?;
        if self.counts && has_scope {
            return Err(refuse(
                "`count_total` counts documents that this handle does not read: its condition stands behind the search. Count the results: \
                 `.aggregate().group(|_| (), |g| g.count(\"found\"))`"
                    .to_owned(),
            ));
        }
        let mut search = doc! { "index": self.index };
        search.extend(operator);
        match self.highlighted.as_slice() {
            [] => {}
            [path] => drop(search.insert("highlight", doc! { "path": *path })),
            paths => drop(search.insert("highlight", doc! { "path": paths.to_vec() })),
        }
        if self.counts {
            search.insert("count", doc! { "type": "total" });
        }
        Ok(doc! { "$search": search })
    }
}

#[cfg(test)]
mod tests {
    use super::super::operator::text;
    use super::super::testing::{MOVIE, Movie, plot, title};
    use super::*;

    fn search(index: &str) -> Search {
        Search::new(index.to_owned(), text::<Movie>("Hobbit").path(title()))
    }

    /// The examples of the pages of `$search`, of the count and of highlights.
    #[test]
    fn a_search_is_sent_as_the_manual_has_it() {
        assert_eq!(
            search("default").stage(&MOVIE, true).unwrap(),
            doc! { "$search": { "index": "default", "text": { "query": "Hobbit", "path": "title" } } }
        );
        let mut counted = search("default");
        counted.counts = true;
        counted.highlighted = vec![title().name()];
        assert_eq!(
            counted.stage(&MOVIE, false).unwrap(),
            doc! { "$search": {
                "index": "default",
                "text": { "query": "Hobbit", "path": "title" },
                "highlight": { "path": "title" },
                "count": { "type": "total" },
            } }
        );
    }

    #[test]
    fn what_would_find_nothing_or_tell_too_much_is_refused() {
        let mut counted = search("default");
        counted.counts = true;
        let undeclared = Search::new("default".to_owned(), text::<Movie>("Hobbit").path(plot()));
        for (search, has_scope, said) in [
            (counted, true, "documents that this handle does not read"),
            (search("defualt"), false, "declares no search index `defualt`"),
            (
                search("by_meaning"),
                false,
                "declares no search index `by_meaning`",
            ),
            (undeclared, false, "declare `string(plot)`"),
        ] {
            match search.stage(&MOVIE, has_scope) {
                Err(Error::Query {
                    collection: "movies",
                    message,
                }) => assert!(message.contains(said), "{message}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
