//! The operators of `$search`, made of typed paths. A word or a value is never an operator.

use super::declared::Use;
use crate::model::asserts::SearchedText;
use crate::model::path::{Codec, Step};
use crate::query::Path;
use crate::query::filter::operand::{Operand, encode_bson};
use crate::{Error, Result};
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Bson, Document, doc};
use std::marker::PhantomData;

/// An operator of a search: what [`text`], [`phrase`], [`autocomplete`], [`equals`], [`range`], [`exists`], [`compound`] and [`raw`]
/// give. `K` says which options it takes.
///
/// ```
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// use odm::atlas::{Operator, Text, text};
///
/// fn by_title(words: &str) -> Operator<Book, Text> {
///     text(words).path(Book::paths().title)
/// }
/// ```
#[must_use = "an operator does nothing until a search takes it"]
pub struct Operator<T, K = Whole> {
    name: &'static str,
    /// Of a range: none has been given yet.
    needs_limit: bool,
    body: Result<Document, Wrong>,
    /// The fields that it looks into, where they are named one by one.
    paths: Vec<&'static str>,
    /// How it and all within it read fields.
    uses: Uses,
    of: PhantomData<fn() -> (T, K)>,
}

/// How an operator reads fields, by their dotted names.
pub(in crate::query) type Uses = Vec<(&'static str, Use)>;

/// What makes a search one that is not sent.
#[derive(Debug)]
pub(in crate::query) enum Wrong {
    /// In a sentence.
    Said(String),
    Error(Box<Error>),
}

/// The options of [`text`].
#[derive(Clone, Copy, Debug)]
pub struct Text(());
/// The options of [`phrase`].
#[derive(Clone, Copy, Debug)]
pub struct Phrase(());
/// The options of [`autocomplete`].
#[derive(Clone, Copy, Debug)]
pub struct Autocomplete(());
/// The limits of [`range`] on a field of type `V`.
pub struct Range<V, C>(PhantomData<fn() -> (V, C)>);
/// The clauses of [`compound`].
#[derive(Clone, Copy, Debug)]
pub struct Clauses(());
/// An operator without options.
#[derive(Clone, Copy, Debug)]
pub struct Whole(());

/// The words of a search: a text, or several, of which one has to match. Whatever they hold, they are words.
///
/// ```
/// use odm::atlas::Words;
///
/// let one = Words::from("white whale");
/// let any = Words::from(["whale", "shark"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Words(Bson);

impl From<&str> for Words {
    fn from(words: &str) -> Self {
        Words(words.into())
    }
}

impl From<String> for Words {
    fn from(words: String) -> Self {
        Words(words.into())
    }
}

impl From<&String> for Words {
    fn from(words: &String) -> Self {
        Words(words.into())
    }
}

impl<const N: usize> From<[&str; N]> for Words {
    fn from(words: [&str; N]) -> Self {
        Words(words.map(Bson::from).to_vec().into())
    }
}

impl From<Vec<String>> for Words {
    fn from(words: Vec<String>) -> Self {
        Words(words.into())
    }
}

impl Words {
    fn is_empty(&self) -> bool {
        match &self.0 {
            Bson::Array(all) => all.is_empty() || all.iter().any(|words| words.as_str() == Some("")),
            words => words.as_str() == Some(""),
        }
    }
}

impl<T, K> std::fmt::Debug for Operator<T, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(self.name)
            .field("body", &self.body)
            .field("paths", &self.paths)
            .finish()
    }
}

impl<T, K> Operator<T, K> {
    fn new(name: &'static str, body: Document) -> Self {
        Operator {
            name,
            needs_limit: false,
            body: Ok(body),
            paths: Vec::new(),
            uses: Vec::new(),
            of: PhantomData,
        }
    }

    fn of_words(name: &'static str, words: Words) -> Self {
        let mut operator = Operator::new(name, Document::new());
        if words.is_empty() {
            operator.fail(Wrong::Said(format!(
                "`{name}` has no words, which Atlas refuses: leave the search out where a user gives none"
            )));
        }
        operator.set("query", words.0);
        operator
    }

    fn fail(&mut self, wrong: Wrong) {
        if self.body.is_ok() {
            self.body = Err(wrong);
        }
    }

    fn set(&mut self, name: &str, value: impl Into<Bson>) {
        if let Ok(body) = &mut self.body {
            body.insert(name, value);
        }
    }

    fn on(mut self, path: &'static str, used: Use) -> Self {
        self.paths.push(path);
        self.uses.push((path, used));
        self
    }

    fn with_fuzzy(mut self, max_edits: u32) -> Self {
        if !(1..=2).contains(&max_edits) {
            self.fail(Wrong::Said(format!(
                "`fuzzy` takes 1 or 2 differing letters in a word, and not {max_edits}: leave it out for words as they are"
            )));
        }
        self.set("fuzzy", doc! { "maxEdits": whole(max_edits) });
        self
    }

    /// Multiplies its part of the score of a document: `score: { boost: … }`.
    ///
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # fn example(books: Collection<Book>) {
    /// use odm::atlas::{compound, text};
    ///
    /// let search = books.search("default", |b| {
    ///     compound().should(text("whale").path(b.title).boost(3.0)).should(text("whale").path(b.tags))
    /// });
    /// # }
    /// ```
    pub fn boost(mut self, factor: f64) -> Self {
        if !(factor.is_finite() && factor > 0.0) {
            self.fail(Wrong::Said(format!(
                "`boost` takes a number above 0, and not {factor}"
            )));
        }
        self.set("score", doc! { "boost": { "value": factor } });
        self
    }

    /// As Atlas takes it, and how it reads fields.
    pub(in crate::query) fn into_parts(self) -> Result<(Document, Uses), Wrong> {
        let mut body = self.body?;
        match self.paths.as_slice() {
            [] => {}
            [path] => drop(body.insert("path", *path)),
            paths => drop(body.insert("path", paths.to_vec())),
        }
        let names_fields = ["text", "phrase"].contains(&self.name);
        if names_fields && !body.contains_key("path") {
            return Err(Wrong::Said(format!(
                "`{}` names no field: write `.path(b.title)`, or `.any_path()` for all that are indexed",
                self.name
            )));
        }
        if self.needs_limit {
            return Err(Wrong::Said(
                "`range` has no limit: write `.gte(…)`, `.gt(…)`, `.lte(…)` or `.lt(…)`, or `exists(b.year)`"
                    .to_owned(),
            ));
        }
        let has_clause = |clause: &&str| body.contains_key(clause);
        if self.name == "compound" && !["must", "mustNot", "should", "filter"].iter().any(has_clause) {
            return Err(Wrong::Said(
                "`compound` has no operators: write `.must(…)`, `.must_not(…)`, `.should(…)` or `.filter(…)`"
                    .to_owned(),
            ));
        }
        let document = match self.name {
            "" => body,
            name => doc! { name: body },
        };
        Ok((document, self.uses))
    }
}

/// Documents with these words: the operator `text`. [`path`](Operator::path) names the fields to look into.
///
/// ```no_run
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// # fn example(books: Collection<Book>) {
/// let search = books.search("default", |b| odm::atlas::text("white whale").path(b.title).path(b.tags));
/// # }
/// ```
pub fn text<T>(words: impl Into<Words>) -> Operator<T, Text> {
    Operator::of_words("text", words.into())
}

macro_rules! over_texts {
    ($($kind:ident)*) => {$(
        impl<T> Operator<T, $kind> {
            /// Looks into this field too.
            ///
            /// ```no_run
            /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
            /// # fn example(books: Collection<Book>) {
            /// let search = books.search("default", |b| odm::atlas::text("whale").path(b.title).path(b.tags));
            /// # }
            /// ```
            pub fn path<V: SearchedText, P: Step, C>(self, _: Path<T, V, P, C>) -> Self {
                self.on(P::PATH, Use::Words)
            }

            /// Looks into every field that the index holds: `path: { wildcard: "*" }`.
            ///
            /// ```no_run
            /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
            /// # fn example(books: Collection<Book>) {
            /// let search = books.search("default", |_| odm::atlas::text("whale").any_path());
            /// # }
            /// ```
            pub fn any_path(mut self) -> Self {
                self.set("path", doc! { "wildcard": "*" });
                self
            }
        }
    )*};
}
over_texts!(Text Phrase);

impl<T> Operator<T, Text> {
    /// Also finds words that differ by 1 letter, or by 2.
    ///
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # fn example(books: Collection<Book>) {
    /// let search = books.search("default", |b| odm::atlas::text("wahle").path(b.title).fuzzy(2));
    /// # }
    /// ```
    pub fn fuzzy(self, max_edits: u32) -> Self {
        self.with_fuzzy(max_edits)
    }
}

/// Documents with these words in this order: the operator `phrase`.
///
/// ```no_run
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// # fn example(books: Collection<Book>) {
/// let search = books.search("default", |b| odm::atlas::phrase("white whale").path(b.title).slop(1));
/// # }
/// ```
pub fn phrase<T>(words: impl Into<Words>) -> Operator<T, Phrase> {
    Operator::of_words("phrase", words.into())
}

impl<T> Operator<T, Phrase> {
    /// How many words may stand between, or out of order; 0 where nothing is said.
    ///
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # fn example(books: Collection<Book>) {
    /// let search = books.search("default", |b| odm::atlas::phrase("white whale").path(b.title).slop(2));
    /// # }
    /// ```
    pub fn slop(mut self, words: u32) -> Self {
        self.set("slop", whole(words));
        self
    }
}

/// Documents with a word that begins so, while a user is typing: the operator `autocomplete`. The index declares the field as
/// `autocomplete(title)`.
///
/// ```no_run
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// # fn example(books: Collection<Book>) {
/// let search = books.search("default", |b| odm::atlas::autocomplete("mob", b.title));
/// # }
/// ```
pub fn autocomplete<T, V: SearchedText, P: Step, C>(
    words: impl Into<Words>,
    _: Path<T, V, P, C>,
) -> Operator<T, Autocomplete> {
    Operator::of_words("autocomplete", words.into()).on(P::PATH, Use::Prefix)
}

impl<T> Operator<T, Autocomplete> {
    /// Also finds words that differ by 1 letter, or by 2.
    ///
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # fn example(books: Collection<Book>) {
    /// let search = books.search("default", |b| odm::atlas::autocomplete("mbo", b.title).fuzzy(1));
    /// # }
    /// ```
    pub fn fuzzy(self, max_edits: u32) -> Self {
        self.with_fuzzy(max_edits)
    }

    /// The words stand in this order: `tokenOrder: "sequential"`.
    ///
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # fn example(books: Collection<Book>) {
    /// let search = books.search("default", |b| odm::atlas::autocomplete("moby d", b.title).in_order());
    /// # }
    /// ```
    pub fn in_order(mut self) -> Self {
        self.set("tokenOrder", "sequential");
        self
    }
}

/// Documents whose field is this value: the operator `equals`, for booleans, dates, numbers, ObjectIds, UUIDs, and texts that the index
/// declares as `token(genre)`. Of an array, an item is named by `b.tags.any_item()`.
///
/// ```no_run
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// # fn example(books: Collection<Book>) {
/// let search = books.search("default", |b| odm::atlas::equals(b.genre, "novel"));
/// # }
/// ```
pub fn equals<T, V, P: Step, C: Codec<V>>(_: Path<T, V, P, C>, value: impl Operand<V>) -> Operator<T, Whole> {
    let mut operator = Operator::new("equals", Document::new()).on(P::PATH, Use::Value);
    operator.compare("value", encode_bson::<V, C>(P::PATH, value));
    operator
}

/// Documents whose field lies in a range: the operator `range`, for numbers, dates, and texts that the index declares as a token.
///
/// ```no_run
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// # fn example(books: Collection<Book>) {
/// let search = books.search("default", |b| odm::atlas::range(b.year).gte(1850).lt(1900));
/// # }
/// ```
pub fn range<T, V, P: Step, C>(_: Path<T, V, P, C>) -> Operator<T, Range<V, C>> {
    let mut operator = Operator::new("range", Document::new()).on(P::PATH, Use::Range);
    operator.needs_limit = true;
    operator
}

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        ///
        /// ```no_run
        /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
        /// # fn example(books: Collection<Book>) {
        /// let search = books.search("default", |b| odm::atlas::range(b.year).gte(1850).lt(1900));
        /// # }
        /// ```
        pub fn $name(mut self, limit: impl Operand<V>) -> Self {
            self.needs_limit = false;
            let path = self.paths.first().copied().unwrap_or_default();
            self.compare(stringify!($name), encode_bson::<V, C>(path, limit));
            self
        }
    )*};
}

impl<T, V, C: Codec<V>> Operator<T, Range<V, C>> {
    limits! {
        /// Above this.
        gt
        /// This, or above it.
        gte
        /// Below this.
        lt
        /// This, or below it.
        lte
    }
}

/// Documents that have the field, be it `null`: the operator `exists`. The field stands in the index.
///
/// ```no_run
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// # fn example(books: Collection<Book>) {
/// let search = books.search("default", |b| odm::atlas::exists(b.genre));
/// # }
/// ```
pub fn exists<T, V: ?Sized, P: Step, C>(_: Path<T, V, P, C>) -> Operator<T> {
    Operator::new("exists", Document::new()).on(P::PATH, Use::Any)
}

/// Several operators: those that must match, must not, should (and raise the score), and filter (and don't change it): the operator
/// `compound`.
///
/// ```no_run
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// # fn example(books: Collection<Book>) {
/// use odm::atlas::{compound, equals, phrase, range, text};
///
/// let search = books.search("default", |b| {
///     compound()
///         .must(text("whale").path(b.title))
///         .must_not(equals(b.genre, "children"))
///         .should(phrase("white whale").path(b.title))
///         .filter(range(b.year).gte(1850))
/// });
/// # }
/// ```
pub fn compound<T>() -> Operator<T, Clauses> {
    Operator::new("compound", Document::new())
}

macro_rules! clauses {
    ($($(#[$doc:meta])* $name:ident => $clause:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ```no_run
        /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
        /// # fn example(books: Collection<Book>) {
        /// use odm::atlas::{compound, equals, text};
        ///
        /// let search = books.search("default", |b| {
        ///     compound().must(text("whale").path(b.title)).must_not(equals(b.genre, "children"))
        /// });
        /// # }
        /// ```
        pub fn $name<K>(self, operator: Operator<T, K>) -> Self {
            self.with($clause, operator)
        }
    )*};
}

impl<T> Operator<T, Clauses> {
    clauses! {
        /// A document matches this, too.
        must => "must";
        /// No document matches this.
        must_not => "mustNot";
        /// A document that matches this comes before others. Where nothing else is given, one of these has to match.
        should => "should";
        /// A document matches this, too, which does not count in its score.
        filter => "filter";
    }

    /// How many of the operators of [`should`](Operator::should) have to match; 0 where nothing is said.
    ///
    /// ```no_run
    /// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
    /// # fn example(books: Collection<Book>) {
    /// use odm::atlas::{compound, text};
    ///
    /// let search = books.search("default", |b| {
    ///     let words = ["white", "whale", "sea"];
    ///     words.into_iter().fold(compound(), |all, word| all.should(text(word).path(b.title))).minimum_should_match(2)
    /// });
    /// # }
    /// ```
    pub fn minimum_should_match(mut self, n: u32) -> Self {
        let should = match &self.body {
            Ok(body) => body.get_array("should").map_or(0, Vec::len),
            Err(_) => usize::MAX,
        };
        if usize::try_from(n).is_ok_and(|n| n > should) {
            self.fail(Wrong::Said(format!(
                "`minimum_should_match({n})` asks for more than the {should} operators of `should`: give them first"
            )));
        }
        self.set("minimumShouldMatch", whole(n));
        self
    }

    fn with<K>(mut self, clause: &str, operator: Operator<T, K>) -> Self {
        match operator.into_parts() {
            Ok((operator, uses)) => {
                self.uses.extend(uses);
                if let Ok(body) = &mut self.body {
                    match body.get_array_mut(clause) {
                        Ok(all) => all.push(operator.into()),
                        Err(_) => drop(body.insert(clause, vec![operator])),
                    }
                }
            }
            Err(wrong) => self.fail(wrong),
        }
        self
    }
}

/// An operator in MongoDB's own words, for what is not typed here: `geoWithin`, `moreLikeThis`, `wildcard`, synonyms, other scores.
/// Input of a user may only be a value in it. Nothing is checked.
///
/// ```no_run
/// # mod atlas { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/atlas.rs")); } use atlas::*;
/// # fn example(books: Collection<Book>) {
/// let search = books.search("default", |_| {
///     odm::atlas::raw(doc! { "queryString": { "defaultPath": "title", "query": "white AND whale" } })
/// });
/// # }
/// ```
pub fn raw<T>(operator: Document) -> Operator<T> {
    Operator::new("", operator)
}

/// As Atlas takes counts: an integer of 32 bits.
pub(in crate::query) fn whole(n: u32) -> Bson {
    i32::try_from(n).map_or_else(|_| Bson::Int64(i64::from(n)), Bson::Int32)
}

/// Whether `equals` and `range` take a value of this type.
fn is_compared(value: &Bson, in_range: bool) -> bool {
    match value {
        Bson::Int32(_) | Bson::Int64(_) | Bson::DateTime(_) | Bson::ObjectId(_) | Bson::String(_) => true,
        Bson::Double(number) => !number.is_nan(),
        Bson::Boolean(_) | Bson::Null => !in_range,
        Bson::Binary(binary) => !in_range && binary.subtype == BinarySubtype::Uuid,
        _ => false,
    }
}

impl<T, K> Operator<T, K> {
    fn compare(&mut self, name: &str, value: Result<Bson>) {
        let in_range = self.name == "range";
        match value {
            Ok(value) if is_compared(&value, in_range) => {
                // A text is compared as a token, which no index holds that does not declare it.
                if let (Bson::String(_), Some((_, used))) = (&value, self.uses.last_mut()) {
                    *used = Use::Token;
                }
                self.set(name, value);
            }
            Ok(value) => self.fail(Wrong::Said(format!(
                "`{}` of Atlas compares no such value: {value}. It takes numbers but decimals, dates, texts and ObjectIds{}; filter behind the \
                 search: `.aggregate().filter(…)`",
                self.name,
                if in_range { "" } else { ", booleans and UUIDs" }
            ))),
            Err(error) => self.fail(Wrong::Error(Box::new(error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Movie, plot, released, title, year};
    use super::*;
    use mongodb::bson::DateTime;

    fn of<K>(operator: Operator<Movie, K>) -> Document {
        operator.into_parts().unwrap().0
    }

    /// The examples of the pages of the operators.
    #[test]
    fn operators_are_those_of_the_manual() {
        assert_eq!(
            of(text("surfer").path(title())),
            doc! { "text": { "query": "surfer", "path": "title" } }
        );
        assert_eq!(
            of(text("naw yark").path(title()).fuzzy(1)),
            doc! { "text": { "query": "naw yark", "fuzzy": { "maxEdits": 1 }, "path": "title" } }
        );
        assert_eq!(
            of(phrase(["the man", "the moon"]).path(title()).path(plot())),
            doc! { "phrase": { "query": ["the man", "the moon"], "path": ["title", "plot"] } }
        );
        assert_eq!(
            of(phrase("men women").path(title()).slop(5)),
            doc! { "phrase": { "query": "men women", "slop": 5, "path": "title" } }
        );
        assert_eq!(
            of(autocomplete("off", title())),
            doc! { "autocomplete": { "query": "off", "path": "title" } }
        );
        assert_eq!(
            of(autocomplete("men with", title()).in_order()),
            doc! { "autocomplete": { "query": "men with", "tokenOrder": "sequential", "path": "title" } }
        );
        assert_eq!(
            of(equals(title(), "jane")),
            doc! { "equals": { "value": "jane", "path": "title" } }
        );
        assert_eq!(
            of(range(year()).gte(2).lte(3)),
            doc! { "range": { "gte": 2, "lte": 3, "path": "year" } }
        );
        let from = DateTime::from_millis(1_262_304_000_000);
        assert_eq!(
            of(range(released()).gt(from)),
            doc! { "range": { "gt": from, "path": "released" } }
        );
        assert_eq!(of(exists(plot())), doc! { "exists": { "path": "plot" } });
        assert_eq!(
            of(text("x").any_path()),
            doc! { "text": { "query": "x", "path": { "wildcard": "*" } } }
        );
    }

    #[test]
    fn a_compound_holds_its_clauses() {
        let operator = compound()
            .must(text("varieties").path(title()).boost(3.0))
            .must_not(equals(year(), 1900))
            .should(text("Fuji").path(title()))
            .should(text("Golden Delicious").path(title()))
            .filter(range(year()).lt(2000))
            .minimum_should_match(1);
        assert_eq!(
            of(operator),
            doc! { "compound": {
                "must": [{ "text": { "query": "varieties", "score": { "boost": { "value": 3.0 } }, "path": "title" } }],
                "mustNot": [{ "equals": { "value": 1900, "path": "year" } }],
                "should": [
                    { "text": { "query": "Fuji", "path": "title" } },
                    { "text": { "query": "Golden Delicious", "path": "title" } },
                ],
                "filter": [{ "range": { "lt": 2000, "path": "year" } }],
                "minimumShouldMatch": 1,
            } }
        );
        let within = compound().filter(compound::<Movie>().must(exists(title())));
        assert_eq!(
            of(within),
            doc! { "compound": { "filter": [{ "compound": { "must": [{ "exists": { "path": "title" } }] } }] } }
        );
    }

    #[test]
    fn words_and_values_are_never_operators() {
        let words = r#"{ "compound": {} } $where * path:title"#;
        assert_eq!(
            of(text(words).path(title())),
            doc! { "text": { "query": words, "path": "title" } }
        );
        assert_eq!(
            of(equals(title(), "$$ROOT")),
            doc! { "equals": { "value": "$$ROOT", "path": "title" } }
        );
        let raw = doc! { "wildcard": { "query": "a*", "path": "title" } };
        assert_eq!(of(super::raw(raw.clone())), raw);
    }

    #[test]
    fn a_text_is_compared_as_a_token() {
        let uses = |operator: Operator<Movie>| operator.into_parts().unwrap().1;
        assert_eq!(uses(equals(title(), "Hobbit")), [("title", Use::Token)]);
        assert_eq!(uses(equals(year(), 1937)), [("year", Use::Value)]);
        let (_, of_range) = range(title()).gte("H").into_parts().unwrap();
        assert_eq!(of_range, [("title", Use::Token)]);
    }

    #[test]
    fn what_atlas_would_refuse_is_not_sent() {
        fn said<K>(operator: Operator<Movie, K>) -> String {
            match operator.into_parts() {
                Err(Wrong::Said(said)) => said,
                other => panic!("{other:?}"),
            }
        }
        for (said, expected) in [
            (said(text("").path(title())), "has no words"),
            (said(text(Vec::<String>::new()).path(title())), "has no words"),
            (said(text("a")), "`text` names no field"),
            (said(text("a").path(title()).fuzzy(3)), "1 or 2 differing letters"),
            (said(text("a").path(title()).boost(-1.0)), "above 0"),
            (said(range(year())), "has no limit"),
            (said(compound()), "has no operators"),
            (
                said(compound().minimum_should_match(1)),
                "more than the 0 operators",
            ),
            (said(compound().must(phrase("a"))), "`phrase` names no field"),
        ] {
            assert!(said.contains(expected), "{said}");
        }
    }
}
