//! Text search: the condition, its options, and the score of each document that is found.

use crate::model::stored::Row;
use crate::query::join::{Join, Work, without_joined};
use crate::query::untyped::Query;
use crate::store::action::Action;
use crate::{Document, Error, Filter, Find, Result};
use mongodb::bson::{self, Bson, RawBsonRef, RawDocument, doc};

/// The words of a text search, with its options: [`text`] takes it. A text alone has the options of the index.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// use odm::query::{Search, text};
///
/// let search = Search::new("Straße").language("german").diacritic_sensitive();
/// let found = people.find_text(search).all().await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    words: String,
    language: Option<String>,
    case_sensitive: bool,
    diacritic_sensitive: bool,
}

impl Search {
    /// These words, in [MongoDB's search syntax](https://www.mongodb.com/docs/manual/reference/operator/query/text/).
    ///
    /// ```
    /// # use samples::model::*;
    /// use odm::query::{Search, text};
    ///
    /// let filter: Filter<Person> = text(Search::new("coffee").case_sensitive());
    /// assert_eq!(filter.into_document()?, doc! { "$text": { "$search": "coffee", "$caseSensitive": true } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn new(words: impl Into<String>) -> Search {
        Search {
            words: words.into(),
            language: None,
            case_sensitive: false,
            diacritic_sensitive: false,
        }
    }

    /// By the stems and stop words of this language instead of those of the index: `german` or `de`, and `none` for words as they
    /// are. The server refuses a language that it does not know.
    ///
    /// ```
    /// # use samples::model::*;
    /// use odm::query::{Search, text};
    ///
    /// let filter: Filter<Person> = text(Search::new("Kaffee").language("de"));
    /// assert_eq!(filter.into_document()?, doc! { "$text": { "$search": "Kaffee", "$language": "de" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn language(mut self, language: impl Into<String>) -> Search {
        self.language = Some(language.into());
        self
    }

    /// `Coffee` is not found by `coffee`.
    ///
    /// ```
    /// # use samples::model::*;
    /// let search = odm::query::Search::new("Coffee").case_sensitive();
    /// ```
    pub fn case_sensitive(mut self) -> Search {
        self.case_sensitive = true;
        self
    }

    /// `café` is not found by `cafe`.
    ///
    /// ```
    /// # use samples::model::*;
    /// let search = odm::query::Search::new("café").diacritic_sensitive();
    /// ```
    pub fn diacritic_sensitive(mut self) -> Search {
        self.diacritic_sensitive = true;
        self
    }

    fn into_document(self) -> bson::Document {
        let mut search = doc! { "$search": self.words };
        search.extend(
            self.language
                .map(|language| ("$language".to_owned(), Bson::String(language))),
        );
        let options = [
            ("$caseSensitive", self.case_sensitive),
            ("$diacriticSensitive", self.diacritic_sensitive),
        ];
        let options = options.into_iter().filter(|(_, is_set)| *is_set);
        search.extend(options.map(|(name, _)| (name.to_owned(), Bson::Boolean(true))));
        search
    }
}

impl From<&str> for Search {
    fn from(words: &str) -> Self {
        Search::new(words)
    }
}

impl From<String> for Search {
    fn from(words: String) -> Self {
        Search::new(words)
    }
}

impl From<&String> for Search {
    fn from(words: &String) -> Self {
        Search::new(words)
    }
}

/// Documents whose text index matches these words: `$text`. The collection needs a text index.
///
/// The words follow [MongoDB's search syntax](https://www.mongodb.com/docs/manual/reference/operator/query/text/): a word
/// with `-` before it must not be there, and words in double quotes must stand together. [`Search`] has options, and
/// [`Find::with_score`] tells how well each document matches.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let found = people.find(|p| odm::query::text("coffee -decaf") & p.age.gte(18)).all().await?;
/// # Ok(()) }
/// ```
pub fn text<R>(search: impl Into<Search>) -> Filter<R> {
    Filter::raw(doc! { "$text": search.into().into_document() })
}

/// Whether a condition has `$text`, which stands at its top or within `$and` and `$or`.
fn has_text(filter: &bson::Document) -> bool {
    filter.iter().any(|(name, value)| match value {
        Bson::Array(list) => list.iter().filter_map(Bson::as_document).any(has_text),
        _ => name == "$text",
    })
}

/// The name under which the server gives the score.
const SCORE: &str = "__odm_score";

/// A text search whose documents come with their scores: [`Find::with_score`].
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let best = people.find_text("coffee").limit(10).with_score().all().await?;
/// for (score, person) in best {
///     println!("{score:.2} {}", person.name);
/// }
/// # Ok(()) }
/// ```
#[must_use = "a query does nothing until its `all` or `one` is awaited"]
pub struct Scored<T, Out, J = ()> {
    find: Find<T, Out, J>,
}

impl<T: Document, Out, J> std::fmt::Debug for Scored<T, Out, J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scored").field("find", &self.find).finish()
    }
}

impl<T: Document, Out: Row + Send + 'static, J: Join<T>> Find<T, Out, J> {
    /// Reads the score of each document of a [text search](text) beside it. The best come first, unless the query has an order.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let best: Option<(f64, Person)> = people.find_text("coffee").with_score().one().await?;
    /// # Ok(()) }
    /// ```
    pub fn with_score(self) -> Scored<T, Out, J> {
        Scored { find: self }
    }
}

impl<T: Document, Out: Row + Send + 'static, J: Join<T>> Scored<T, Out, J> {
    /// All of them, each with its score.
    ///
    /// # Errors
    /// As [`Find::all`]; [`Error::Query`] where the condition has no text search.
    ///
    /// # Cost
    /// That of [`Find::all`].
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let found: Vec<(f64, Person)> = people.find_text("coffee").with_score().all().await?;
    /// # Ok(()) }
    /// ```
    pub fn all(self) -> Action<Vec<(f64, J::Row<Out>)>> {
        Action::new(T::META.collection, "find", Box::new(self.rows()))
    }

    /// The first, with its score, if there is one.
    ///
    /// # Errors
    /// As [`all`](Scored::all).
    ///
    /// # Cost
    /// That of [`Find::one`].
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let best: Option<(f64, Person)> = people.find_text("coffee").with_score().one().await?;
    /// # Ok(()) }
    /// ```
    pub fn one(mut self) -> Action<Option<(f64, J::Row<Out>)>> {
        if self.find.query.options.limit != Some(0) {
            self.find.query.options.limit = Some(1);
        }
        let one = async move { Ok(self.rows().await?.pop()) };
        Action::new(T::META.collection, "find", Box::new(one))
    }

    async fn rows(self) -> Result<Vec<(f64, J::Row<Out>)>> {
        let (query, join) = self.find.into_query();
        let from = query.source();
        let mut work = Work::of_query(&join, query.is_projected());
        let (mut scores, mut items) = (Vec::new(), Vec::new());
        let mut take = |document: &RawDocument| {
            scores.push(score(T::META.collection, document)?);
            items.push(without_joined(T::META, document)?);
            work.parent(document)
        };
        scored(query)?.each("find", &mut take).await?;
        work.run(&from).await?;
        Ok(scores.into_iter().zip(work.rows(items)?).collect())
    }
}

/// A query that gives the scores, too.
fn scored(mut query: Query) -> Result<Query> {
    if query.filter.document().is_some_and(|filter| !has_text(filter)) {
        return Err(Error::Query {
            collection: query.meta().collection,
            message: "`with_score` reads the score of a text search, and the condition has none: add `odm::query::text(…)`"
                .to_owned(),
        });
    }
    let score = doc! { "$meta": "textScore" };
    query.prepare_projection();
    let mut projection = query.options.projection.take().unwrap_or_default();
    projection.insert(SCORE, score.clone());
    query.options.projection = Some(projection);
    if query.sort.is_empty() {
        query.options.sort = Some(doc! { SCORE: score });
    }
    Ok(query)
}

fn score(collection: &str, document: &RawDocument) -> Result<f64> {
    match document.get(SCORE) {
        Ok(Some(RawBsonRef::Double(score))) => Ok(score),
        _ => Err(Error::Decode {
            collection: collection.to_owned(),
            id: None,
            ty: "f64",
            path: SCORE.to_owned(),
            message: "the server gave no score".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_stand_beside_the_words() {
        let search = Search::new("-a \"b c\"")
            .language("$none")
            .case_sensitive()
            .diacritic_sensitive();
        let filter: Filter<()> = text(search);
        assert_eq!(
            filter.into_document().unwrap(),
            doc! { "$text": {
                "$search": "-a \"b c\"", "$language": "$none", "$caseSensitive": true, "$diacriticSensitive": true,
            } }
        );
    }

    #[test]
    fn a_search_is_found_within_other_conditions() {
        let search = doc! { "$text": { "$search": "x" } };
        assert!(has_text(
            &doc! { "$and": [{ "a": 1 }, { "$or": [search, { "b": 2 }] }] }
        ));
        assert!(!has_text(&doc! { "$and": [{ "a": 1 }], "b": { "$eq": "$text" } }));
    }
}
