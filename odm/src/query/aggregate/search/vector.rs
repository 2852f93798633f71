//! The stage `$vectorSearch`.

use super::declared;
use super::operator::whole;
use crate::model::document::DocumentMeta;
use crate::model::meta::options::together;
use crate::query::aggregate::Aggregate;
use crate::store::core::Core;
use crate::{Document, Error, Filter, Result};
use mongodb::bson::{self, Binary, Bson, doc};
use std::marker::PhantomData;

/// How many documents are found where nothing is said.
const LIMIT: u32 = 10;

/// How many candidates Atlas looks at for each document, where nothing is said: what its documentation recommends to begin with.
const CANDIDATES: u32 = 20;

/// The most candidates that Atlas takes.
const MOST_CANDIDATES: u32 = 10_000;

/// The vector of a search: numbers, or a `bson::Binary` that holds them packed.
///
/// ```
/// use odm::atlas::QueryVector;
///
/// let vector = QueryVector::from([0.1_f32, -0.2, 0.3]);
/// let vector = QueryVector::from(vec![0.1_f64, -0.2, 0.3]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct QueryVector(VectorOf);

#[derive(Clone, Debug, PartialEq)]
enum VectorOf {
    Numbers(Vec<f64>),
    Packed(Binary),
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl From<&[$number]> for QueryVector {
            fn from(numbers: &[$number]) -> Self {
                QueryVector(VectorOf::Numbers(numbers.iter().map(|number| f64::from(*number)).collect()))
            }
        }
        impl From<Vec<$number>> for QueryVector {
            fn from(numbers: Vec<$number>) -> Self {
                numbers.as_slice().into()
            }
        }
        impl From<&Vec<$number>> for QueryVector {
            fn from(numbers: &Vec<$number>) -> Self {
                numbers.as_slice().into()
            }
        }
        impl<const N: usize> From<[$number; N]> for QueryVector {
            fn from(numbers: [$number; N]) -> Self {
                numbers.as_slice().into()
            }
        }
    )*};
}
numbers!(f32, f64);

impl From<Binary> for QueryVector {
    fn from(packed: Binary) -> Self {
        QueryVector(VectorOf::Packed(packed))
    }
}

/// A search for vectors, from [`Collection::vector_search`](crate::Collection::vector_search). [`aggregate`](VectorStage::aggregate) goes on
/// with the documents that it finds.
///
/// ```no_run
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// fn like(books: &Collection<Book>, book: &Book) -> odm::atlas::VectorStage<Book> {
///     books.vector_search("by_meaning", |b| b.embedding, &book.embedding).limit(5)
/// }
/// ```
#[must_use = "a search does nothing until its pipeline is awaited: `.aggregate().all()`"]
pub struct VectorStage<T> {
    core: Core,
    near: Near,
    of: PhantomData<fn() -> T>,
}

impl<T> std::fmt::Debug for VectorStage<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.near.fmt(f)
    }
}

/// A search for vectors without the type of its documents.
#[derive(Debug)]
struct Near {
    index: String,
    path: &'static str,
    vector: QueryVector,
    limit: u32,
    candidates: Option<u32>,
    exact: bool,
    filter: Result<bson::Document>,
}

impl<T: Document> VectorStage<T> {
    pub(crate) fn new(core: Core, index: String, path: &'static str, vector: QueryVector) -> Self {
        VectorStage {
            core,
            near: Near::new(index, path, vector),
            of: PhantomData,
        }
    }

    /// The maximum number of documents, 10 where nothing is said. It holds before the stages that follow, and before the condition of the handle:
    /// fewer may be left.
    ///
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # fn example(books: Collection<Book>, question: Vec<f32>) {
    /// let search = books.vector_search("by_meaning", |b| b.embedding, question).limit(5);
    /// # }
    /// ```
    pub fn limit(mut self, n: u32) -> Self {
        self.near.limit = n;
        self
    }

    /// How many vectors Atlas looks at: the more, the fewer near ones it misses, and the longer it takes. 20 for each document of the
    /// limit where nothing is said, and 10,000 at most.
    ///
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # fn example(books: Collection<Book>, question: Vec<f32>) {
    /// let search = books.vector_search("by_meaning", |b| b.embedding, question).limit(5).num_candidates(500);
    /// # }
    /// ```
    pub fn num_candidates(mut self, n: u32) -> Self {
        self.near.candidates = Some(n);
        self
    }

    /// Compares every vector of the index, and misses none: `exact: true`. It is for few documents, or a filter that leaves few.
    ///
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # fn example(books: Collection<Book>, question: Vec<f32>) {
    /// let search = books.vector_search("by_meaning", |b| b.embedding, question).exact();
    /// # }
    /// ```
    pub fn exact(mut self) -> Self {
        self.near.exact = true;
        self
    }

    /// Only documents that match, before the limit. It takes comparisons with values (`eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in_`,
    /// `not_in`, `exists`) on the fields that the index declares in `filter(…)`, with `&`, `|` and `!`. Called again, both hold.
    ///
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # fn example(books: Collection<Book>, question: Vec<f32>) {
    /// let search = books
    ///     .vector_search("by_meaning", |b| b.embedding, question)
    ///     .filter(|b| b.genre.eq("novel") & b.year.gte(1850));
    /// # }
    /// ```
    pub fn filter(mut self, filter: impl FnOnce(T::Paths) -> Filter<T>) -> Self {
        let filter = filter(T::paths()).into_document();
        self.near.filter = match (self.near.filter, filter) {
            // Not by `store::filter`: a search takes `$and`, and perhaps no two operators of a field in one document.
            (Ok(one), Ok(other)) => Ok(together(one, other)),
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        self
    }

    /// The pipeline that begins with this search. Its documents are those of the collection, so typed stages follow.
    ///
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # async fn example(books: Collection<Book>, question: Vec<f32>) -> odm::Result<()> {
    /// let near: Vec<Book> =
    ///     books.vector_search("by_meaning", |b| b.embedding, question).aggregate().all().await?;
    /// # Ok(()) }
    /// ```
    pub fn aggregate(self) -> Aggregate<T> {
        let scope = self.core.odm().scope_of(T::META);
        Aggregate::beginning_with(self.core, self.near.stage(T::META, scope))
    }
}

impl Near {
    fn new(index: String, path: &'static str, vector: QueryVector) -> Self {
        Near {
            index,
            path,
            vector,
            limit: LIMIT,
            candidates: None,
            exact: false,
            filter: Ok(bson::Document::new()),
        }
    }

    fn stage(self, meta: &'static DocumentMeta, scope: Option<bson::Document>) -> Result<bson::Document> {
        let refuse = |message: String| Error::Query {
            collection: meta.collection,
            message,
        };
        let declared = declared::vector(meta, &self.index, self.path).map_err(refuse)?;
        let dimensions = declared.map(|vector| vector.dimensions);
        let vector = as_bson(self.vector, dimensions).map_err(refuse)?;
        let mut filter = self.filter?;
        declared::filter(declared, &filter).map_err(refuse)?;
        // The condition of the handle holds behind the search in any case. Before it, it takes no place from the documents that are read.
        let is_declared =
            |name: &str| declared.is_some_and(|vector| vector.filter.iter().any(|field| field() == name));
        for (name, value) in scope.iter().flatten() {
            // The search takes no pattern, and compares by no collation.
            let equal = value.as_document().and_then(|operators| operators.get("$eq"));
            if let Some(equal) = equal.filter(|_| is_declared(name)) {
                filter = together(filter, doc! { name: { "$eq": equal } });
            }
        }
        let mut search = doc! { "index": self.index, "path": self.path, "queryVector": vector };
        match (self.exact, self.candidates) {
            (true, Some(_)) => {
                return Err(refuse(
                    "`exact` compares every vector, and `num_candidates` says how many to look at: leave one of them out".to_owned(),
                ));
            }
            (true, None) => drop(search.insert("exact", true)),
            (false, given) => {
                let candidates = given.unwrap_or_else(|| {
                    let few = self.limit.saturating_mul(CANDIDATES);
                    few.min(MOST_CANDIDATES)
                });
                if candidates < self.limit || candidates > MOST_CANDIDATES {
                    return Err(refuse(format!(
                        "{candidates} candidates for a limit of {}: Atlas takes from the limit to {MOST_CANDIDATES}, or `exact`",
                        self.limit
                    )));
                }
                search.insert("numCandidates", whole(candidates));
            }
        }
        if self.limit == 0 {
            return Err(refuse(
                "the limit of a search for vectors is at least 1".to_owned(),
            ));
        }
        search.insert("limit", whole(self.limit));
        if !filter.is_empty() {
            search.insert("filter", filter);
        }
        Ok(doc! { "$vectorSearch": search })
    }
}

/// As Atlas takes it, where it has the length of the index.
fn as_bson(vector: QueryVector, dimensions: Option<u32>) -> Result<Bson, String> {
    let numbers = match vector.0 {
        VectorOf::Packed(packed) => return Ok(Bson::Binary(packed)),
        VectorOf::Numbers(numbers) => numbers,
    };
    if numbers.is_empty() {
        return Err("the vector of the search has no numbers".to_owned());
    }
    if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
        return Err(format!(
            "the vector of the search has {} at position {at}, which is no number to compare by",
            numbers[at]
        ));
    }
    match dimensions.map(usize::try_from) {
        Some(Ok(dimensions)) if dimensions != numbers.len() => Err(format!(
            "the vector of the search has {} numbers, and its index {dimensions} dimensions: make both by the same model of embeddings",
            numbers.len()
        )),
        _ => Ok(numbers.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::MOVIE;
    use super::*;

    fn near() -> Near {
        Near::new("by_meaning".to_owned(), "plot_embedding", [1.0_f32, -0.5].into())
    }

    /// The examples of the page of `$vectorSearch`, with a shorter vector.
    #[test]
    fn a_search_is_sent_as_the_manual_has_it() {
        let mut filtered = near();
        filtered.limit = 10;
        filtered.candidates = Some(150);
        filtered.filter = Ok(doc! { "$and": [{ "year": { "$gt": 1955 } }, { "year": { "$lt": 1975 } }] });
        assert_eq!(
            filtered.stage(&MOVIE, None).unwrap(),
            doc! { "$vectorSearch": {
                "index": "by_meaning",
                "path": "plot_embedding",
                "queryVector": [1.0, -0.5],
                "numCandidates": 150,
                "limit": 10,
                "filter": { "$and": [{ "year": { "$gt": 1955 } }, { "year": { "$lt": 1975 } }] },
            } }
        );
        let mut exact = near();
        exact.exact = true;
        assert_eq!(
            exact.stage(&MOVIE, None).unwrap(),
            doc! { "$vectorSearch": {
                "index": "by_meaning", "path": "plot_embedding", "queryVector": [1.0, -0.5], "exact": true, "limit": 10,
            } }
        );
    }

    #[test]
    fn what_is_not_said_is_what_the_manual_recommends() {
        for (limit, candidates) in [(10, 200), (1, 20), (501, 10_000), (10_000, 10_000)] {
            let stage = Near { limit, ..near() }.stage(&MOVIE, None).unwrap();
            let search = stage.get_document("$vectorSearch").unwrap();
            assert_eq!(search.get_i32("numCandidates").unwrap(), candidates, "{search}");
        }
    }

    #[test]
    fn a_declared_field_of_the_scope_restricts_the_search_itself() {
        let scope = doc! { "genre": { "$eq": "a" }, "tenant": { "$eq": 1 }, "deleted_at": null };
        let mut filtered = near();
        filtered.filter = Ok(doc! { "genre": { "$ne": "b" } });
        let stage = filtered.stage(&MOVIE, Some(scope)).unwrap();
        let search = stage.get_document("$vectorSearch").unwrap();
        assert_eq!(
            *search.get_document("filter").unwrap(),
            doc! { "$and": [{ "genre": { "$ne": "b" } }, { "genre": { "$eq": "a" } }] }
        );
    }

    #[test]
    fn a_search_that_atlas_would_refuse_is_not_sent() {
        let exact = Near {
            exact: true,
            candidates: Some(10),
            ..near()
        };
        let few = Near {
            candidates: Some(9),
            ..near()
        };
        let many = Near {
            candidates: Some(10_001),
            ..near()
        };
        let none = Near {
            limit: 0,
            candidates: Some(1),
            ..near()
        };
        let filtered = Near {
            filter: Ok(doc! { "genre": { "$regex": "a" } }),
            ..near()
        };
        let undeclared = Near {
            filter: Ok(doc! { "title": { "$eq": "a" } }),
            ..near()
        };
        let vector = |vector: &[f64]| Near {
            vector: vector.into(),
            ..near()
        };
        let elsewhere = Near {
            path: "title",
            ..near()
        };
        let misnamed = Near {
            index: "default".to_owned(),
            ..near()
        };
        for (near, said) in [
            (exact, "leave one of them out"),
            (few, "9 candidates for a limit of 10"),
            (many, "10001 candidates"),
            (none, "at least 1"),
            (filtered, "no `$regex`"),
            (undeclared, "does not declare `title`"),
            (vector(&[]), "has no numbers"),
            (vector(&[1.0]), "has 1 numbers, and its index 2 dimensions"),
            (vector(&[1.0, f64::NAN]), "NaN at position 1"),
            (elsewhere, "is on `plot_embedding`"),
            (misnamed, "declares no vector index `default`"),
        ] {
            match near.stage(&MOVIE, None) {
                Err(Error::Query {
                    collection: "movies",
                    message,
                }) => assert!(message.contains(said), "{message}"),
                other => panic!("{said}: {other:?}"),
            }
        }
    }
}
