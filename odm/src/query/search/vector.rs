//! The stage `$vectorSearch`.

use super::declared;
use crate::model::document::DocumentMeta;
use crate::query::aggregate::Aggregate;
use crate::store::core::Core;
use crate::store::scopes::within;
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
pub struct QueryVector(Of);

#[derive(Clone, Debug, PartialEq)]
enum Of {
    Numbers(Vec<f64>),
    Packed(Binary),
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl From<&[$number]> for QueryVector {
            fn from(numbers: &[$number]) -> Self {
                QueryVector(Of::Numbers(numbers.iter().map(|number| f64::from(*number)).collect()))
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
        QueryVector(Of::Packed(packed))
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
#[derive(Debug)]
pub struct VectorStage<T> {
    core: Core,
    index: String,
    path: &'static str,
    vector: QueryVector,
    limit: u32,
    candidates: Option<u32>,
    exact: bool,
    filter: Result<bson::Document>,
    of: PhantomData<fn() -> T>,
}

impl<T: Document> VectorStage<T> {
    pub(crate) fn new(core: Core, index: String, path: &'static str, vector: QueryVector) -> Self {
        VectorStage {
            core,
            index,
            path,
            vector,
            limit: LIMIT,
            candidates: None,
            exact: false,
            filter: Ok(bson::Document::new()),
            of: PhantomData,
        }
    }

    /// At most so many documents, 10 where nothing is said. It holds before the stages that follow, and before the condition of the handle:
    /// fewer may be left.
    ///
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # fn example(books: Collection<Book>, question: Vec<f32>) {
    /// let search = books.vector_search("by_meaning", |b| b.embedding, question).limit(5);
    /// # }
    /// ```
    pub fn limit(mut self, n: u32) -> Self {
        self.limit = n;
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
        self.candidates = Some(n);
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
        self.exact = true;
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
        self.filter = match (self.filter, filter) {
            (Ok(one), Ok(other)) => Ok(within(one, &other)),
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
        let core = self.core.clone();
        let scope = core.odm().scope_of(T::META);
        Aggregate::beginning_with(core, self.stage(T::META, scope))
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
        let is_declared = |name: &str| declared.is_some_and(|vector| vector.filter.iter().any(|field| field() == name));
        for (name, value) in scope.iter().flatten() {
            let is_value = value.as_document().is_some_and(|equal| equal.contains_key("$eq"));
            if is_value && is_declared(name) {
                filter = within(filter, &doc! { name: value.clone() });
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
                search.insert("numCandidates", i64::from(candidates));
            }
        }
        if self.limit == 0 {
            return Err(refuse("the limit of a search for vectors is at least 1".to_owned()));
        }
        search.insert("limit", i64::from(self.limit));
        if !filter.is_empty() {
            search.insert("filter", filter);
        }
        Ok(doc! { "$vectorSearch": search })
    }
}

/// As Atlas takes it, where it has the length of the index.
fn as_bson(vector: QueryVector, dimensions: Option<u32>) -> Result<Bson, String> {
    let numbers = match vector.0 {
        Of::Packed(packed) => return Ok(Bson::Binary(packed)),
        Of::Numbers(numbers) => numbers,
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
