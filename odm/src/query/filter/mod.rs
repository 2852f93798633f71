//! Filters, sort orders and expressions, built from typed paths.
//!
//! A value always stands behind an operator (`{ name: { $eq: value } }`), so whatever it holds, it stays a value. Only
//! [`Filter::raw`] takes what the application wrote as it is.

pub(crate) mod condition;
pub(crate) mod equal;
pub mod expr;
pub(crate) mod expression;
mod flattened;
pub(crate) mod operand;
pub(crate) mod seen;
pub(crate) mod unique;

use crate::model::copy::Entry;
use crate::model::geo::{Area, Geometry, Located, Meters, Point};
use crate::model::normalize;
use crate::model::path::{Codec, Each, Holds, Path, PathEnd, Plain, PlainItems, Root, Step, StoredByType};
use crate::model::reference::{Wrapped, Wraps};
use crate::model::stored::Stored;
use crate::model::value::{List, Ordered, Text, Value, Whole};
use crate::query::filter::condition::{
    both, condition, denied, in_array, in_items_of_variants, is_of_items, is_variant_of, with_variants,
};
use crate::query::filter::equal::ComparedField;
use crate::query::filter::operand::{Operand, encode_bson};
use crate::query::filter::seen::{AskedValue, Seen};
use crate::{Error, Ref, Result};
use mongodb::bson::{Bson, Document, doc};
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, Not};

/// A condition on documents of type `R`. Combined with `&`, `|` and `!`.
///
/// ```
/// # use samples::model::*;
/// let p = Person::paths();
/// let filter = (p.age.gte(18) & p.age.lt(65)) | !p.tags.contains("rust");
/// assert_eq!(
///     filter.into_document()?,
///     doc! { "$or": [
///         { "$and": [{ "age": { "$gte": 18 } }, { "age": { "$lt": 65 } }] },
///         { "$nor": [{ "tags": { "$eq": "rust" } }] },
///     ] },
/// );
/// # Ok::<(), odm::Error>(())
/// ```
#[must_use = "a filter does nothing until a query takes it"]
pub struct Filter<R> {
    condition: Condition,
    of: PhantomData<fn() -> R>,
}

/// The condition of a filter without the type of the documents, so that what makes conditions is compiled once and not for each type.
struct Condition {
    doc: Result<Document, Box<Error>>,
    /// Values of fields that each document has which fits, and that the condition does not say as the server takes them for a new
    /// document.
    given: Vec<(&'static str, Bson)>,
}

impl<R> std::fmt::Debug for Filter<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.condition.doc {
            Ok(doc) => doc.fmt(f),
            Err(error) => error.fmt(f),
        }
    }
}

impl<R> Filter<R> {
    /// Every document.
    ///
    /// ```
    /// # use samples::model::*;
    /// assert_eq!(Filter::<Person>::always().into_document()?, doc! {});
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn always() -> Filter<R> {
        Filter::raw(Document::new())
    }

    /// A filter in MongoDB's query language, for conditions that the typed filters lack. The server executes its operators, so
    /// input of users may only be a value behind an operator.
    ///
    /// ```
    /// # use samples::model::*;
    /// let filter = Filter::<Person>::raw(doc! { "age": { "$mod": [10, 0] } });
    /// let p = Person::paths();
    /// assert_eq!(
    ///     (filter & p.name.eq("Kate")).into_document()?,
    ///     doc! { "age": { "$mod": [10, 0] }, "name": { "$eq": "Kate" } },
    /// );
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn raw(doc: Document) -> Filter<R> {
        Condition::raw(doc).typed()
    }

    /// All of these hold; none given, every document.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// let words = ["rust", "mongodb"];
    /// let filter = Filter::and(words.map(|word| p.name.contains_text(word)));
    /// assert_eq!(
    ///     filter.into_document()?,
    ///     doc! { "$and": [{ "name": { "$regex": "rust" } }, { "name": { "$regex": "mongodb" } }] },
    /// );
    /// assert_eq!(Filter::<Person>::and([]).into_document()?, doc! {});
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn and(filters: impl IntoIterator<Item = Filter<R>>) -> Filter<R> {
        filters
            .into_iter()
            .reduce(|a, b| a & b)
            .unwrap_or_else(Filter::always)
    }

    /// One of these holds at least; none given, no document.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// let filter = Filter::or([p.name.eq("Kate"), p.nickname.eq("Kate")]);
    /// assert_eq!(
    ///     filter.into_document()?,
    ///     doc! { "$or": [{ "name": { "$eq": "Kate" } }, { "nickname": { "$eq": "Kate" } }] },
    /// );
    /// assert_eq!(Filter::<Person>::or([]).into_document()?, doc! { "$nor": [{}] });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn or(filters: impl IntoIterator<Item = Filter<R>>) -> Filter<R> {
        filters
            .into_iter()
            .reduce(|a, b| a | b)
            .unwrap_or_else(|| Filter::raw(doc! { "$nor": [{}] }))
    }

    /// As MongoDB takes it.
    ///
    /// # Errors
    /// [`Error::Encode`] where a value can't be stored as BSON.
    ///
    /// # Example
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.addresses.city.eq("Bonn").into_document()?, doc! { "addresses.city": { "$eq": "Bonn" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn into_document(self) -> Result<Document> {
        self.condition.into_document()
    }

    /// The condition, unless it holds an error.
    pub(crate) fn document(&self) -> Option<&Document> {
        self.condition.doc.as_ref().ok()
    }

    /// The same, without the type of the documents.
    pub(crate) fn untyped(self) -> Filter<()> {
        self.condition.typed()
    }

    /// The same, of documents of this type.
    pub(crate) fn for_documents_of<T>(self) -> Filter<T> {
        self.condition.typed()
    }

    pub(crate) fn of(doc: Result<Document>) -> Filter<R> {
        Condition::of(doc).typed()
    }

    fn on(name: &str, operator: &str, value: Result<Bson>) -> Filter<R> {
        Condition::on(name, operator, value).typed()
    }

    /// On the value of a field as a reader sees it, or of items of its array: where it is missing, its default. Within a variant, of
    /// documents that have it.
    pub(crate) fn of_field<P: Step>(operator: &'static str, value: Result<Bson>, item: bool) -> Filter<R> {
        Condition::of_field(&P::END, operator, value, item).typed()
    }

    /// The condition on what is in a variant, for documents or items that have this variant.
    pub(crate) fn in_variant<P: Step>(self) -> Filter<R> {
        self.condition.in_variant(&P::END).typed()
    }

    /// The condition, and the values that a document has which an upsert by it inserts, so far as the server can't take them from
    /// the condition.
    pub(crate) fn into_upsert(self) -> Result<(Document, Vec<(&'static str, Bson)>)> {
        self.condition.into_upsert()
    }
}

impl Condition {
    fn raw(doc: Document) -> Condition {
        Condition {
            doc: Ok(doc),
            given: Vec::new(),
        }
    }

    fn of(doc: Result<Document>) -> Condition {
        Condition {
            doc: doc.map_err(Box::new),
            given: Vec::new(),
        }
    }

    fn on(name: &str, operator: &str, value: Result<Bson>) -> Condition {
        Condition::of(value.map(|value| condition(name, operator, value)))
    }

    fn typed<R>(self) -> Filter<R> {
        Filter {
            condition: self,
            of: PhantomData,
        }
    }

    fn into_document(self) -> Result<Document> {
        self.doc.map_err(|error| *error)
    }

    /// On the value of a field as a reader sees it, or of items of its array: where it is missing, its default. Within a variant, of
    /// documents that have it.
    fn of_field(
        end: &'static PathEnd,
        operator: &'static str,
        mut value: Result<Bson>,
        item: bool,
    ) -> Condition {
        if let (Some(field), Ok(value)) = (
            end.field.filter(|field| normalize::is_possible(field)),
            &mut value,
        ) {
            normalize::operand(field, item || end.is_item, operator, value);
        }
        if !end.in_variant {
            return Condition::of_seen(end, operator, value, item);
        }
        match denied(operator) {
            Some(operator) if in_items_of_variants(end.way) => {
                Condition::of_seen(end, operator, value, item).in_no_variant(end)
            }
            _ => Condition::of_seen(end, operator, value, item).in_variant(end),
        }
    }

    /// The condition on what is in a variant, for documents or items that have this variant.
    fn in_variant(self, end: &PathEnd) -> Condition {
        if !end.in_variant {
            return self;
        }
        Condition {
            doc: self.doc.map(|doc| with_variants(end.way, doc)),
            ..self
        }
    }

    /// That an item has the variant, and that of none which has it this is so.
    fn in_no_variant(self, end: &PathEnd) -> Condition {
        let there = with_variants(end.way, Document::new());
        let doc = self
            .doc
            .map(|doc| both(there, doc! { "$nor": [with_variants(end.way, doc)] }));
        Condition { doc, ..self }
    }

    fn of_seen(end: &'static PathEnd, operator: &'static str, value: Result<Bson>, item: bool) -> Condition {
        let seen = value.as_ref().ok();
        let seen = seen.and_then(|value| Seen::of(end.way, AskedValue::Operator(operator, value)));
        Condition::of_value(end, operator, value, item).seen(end.path, seen)
    }

    fn seen(self, name: &str, seen: Option<Seen>) -> Condition {
        match (self.doc, seen) {
            (Ok(stored), Some(seen)) => Condition {
                doc: Ok(seen.apply(name, stored)),
                ..self
            },
            (doc, _) => Condition { doc, ..self },
        }
    }

    /// The same for the value of a field, or of items of its array: one of several parts is compared by them.
    fn of_value(end: &'static PathEnd, operator: &str, value: Result<Bson>, item: bool) -> Condition {
        let place = match &value {
            Ok(_) => ComparedField::of(end, item),
            Err(_) => None,
        };
        let (Some(place), Ok(value)) = (place, &value) else {
            return match (item, operator, value) {
                // `null` is also what is not there.
                (true, "$eq", Ok(Bson::Null)) => {
                    Condition::raw(doc! { end.path: { "$elemMatch": { "$eq": Bson::Null } } })
                }
                (_, operator, value) => Condition::on(end.path, operator, value),
            };
        };
        let is_whole = operator == "$eq" && place.stands_alone() && *value != Bson::Null;
        let given = if is_whole && !place.is_inserted(value) {
            vec![(end.path, value.clone())]
        } else {
            Vec::new()
        };
        Condition {
            given,
            ..Condition::of(place.condition(operator, value.clone()))
        }
    }

    /// The condition, and the values that a document has which an upsert by it inserts, so far as the server can't take them from
    /// the condition.
    fn into_upsert(self) -> Result<(Document, Vec<(&'static str, Bson)>)> {
        let Condition { doc, given, .. } = self;
        let mut doc = doc.map_err(|error| *error)?;
        if !given.is_empty() {
            let of_given = |name: &str| {
                given
                    .iter()
                    .any(|(given, _)| crate::model::meta::names::meet(name, given))
            };
            doc = hidden(doc, &of_given);
        }
        Ok((doc, given))
    }

    fn join(mut self, other: Condition, operator: &str) -> Condition {
        let mut given = Vec::new();
        if operator == "$and" {
            given = std::mem::take(&mut self.given);
            given.extend(other.given);
        }
        let doc = match (self.doc, other.doc) {
            (Ok(mut a), Ok(b)) => {
                let plain = |doc: &Document| !doc.keys().any(|key| key.starts_with('$'));
                let differ = |(key, value): (&String, &Bson)| a.get(key).is_some_and(|there| there != value);
                if operator == "$and" && plain(&a) && plain(&b) && !b.iter().any(differ) {
                    // Conditions on different fields stand side by side, and one is said once: that a variant is there.
                    a.extend(b);
                    Ok(a)
                // `a & b & c` is one list of three.
                } else if a.len() == 1
                    && let Ok(list) = a.get_array_mut(operator)
                {
                    list.push(Bson::Document(b));
                    Ok(a)
                } else {
                    Ok(doc! { operator: [a, b] })
                }
            }
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        Condition { doc, given }
    }

    fn and(self, other: Condition) -> Condition {
        match (&self.doc, &other.doc) {
            (Ok(a), _) if a.is_empty() => other,
            (_, Ok(b)) if b.is_empty() => self,
            _ => self.join(other, "$and"),
        }
    }

    fn not(self) -> Condition {
        Condition {
            doc: self.doc.map(|doc| doc! { "$nor": [doc] }),
            given: Vec::new(),
        }
    }
}

impl<R> BitAnd for Filter<R> {
    type Output = Filter<R>;
    fn bitand(self, other: Filter<R>) -> Filter<R> {
        self.condition.and(other.condition).typed()
    }
}

impl<R> BitOr for Filter<R> {
    type Output = Filter<R>;
    fn bitor(self, other: Filter<R>) -> Filter<R> {
        self.condition.join(other.condition, "$or").typed()
    }
}

impl<R> Not for Filter<R> {
    type Output = Filter<R>;
    fn not(self) -> Filter<R> {
        self.condition.not().typed()
    }
}

/// The filter of a partial index, as generated code gives it.
#[doc(hidden)]
pub fn partial_filter<T: crate::Document, F: FnOnce(T::Paths) -> Filter<T>>(
    filter: F,
) -> Result<mongodb::bson::RawDocumentBuf> {
    raw_filter::<T>(
        "partial filter",
        crate::model::default::as_stored(|| filter(T::paths())),
    )
}

/// A comparison of fields that every document satisfies, as generated code gives it.
#[doc(hidden)]
pub fn check_filter<T: crate::Document, F: FnOnce(T::Paths) -> Filter<T>>(
    filter: F,
) -> Result<mongodb::bson::RawDocumentBuf> {
    raw_filter::<T>("check", filter(T::paths()))
}

/// The condition on the children that a subset or a computed field is derived of, as generated code gives it.
#[doc(hidden)]
pub fn children_filter<T: crate::model::document::NamedDocument, F: FnOnce(T::Paths) -> Filter<T>>(
    filter: F,
) -> Result<mongodb::bson::RawDocumentBuf> {
    raw_filter::<T>("condition on children", filter(T::paths()))
}

fn raw_filter<T: crate::model::document::NamedDocument>(
    what: &str,
    filter: Filter<T>,
) -> Result<mongodb::bson::RawDocumentBuf> {
    let document = filter.into_document()?;
    mongodb::bson::RawDocumentBuf::try_from(&document).map_err(|source| Error::Encode {
        field: format!("{what} of {}", T::META.collection),
        source: Box::new(source),
    })
}

/// The other side of a comparison with a field: a value of its type, or an [`Expr`](crate::expr::Expr) of the same document.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` is not a value for a field of type `{T}`",
    label = "the field stores a `{T}`",
    note = "another field of the document is compared as an expression: `odm::expr::expr(p.ends).gt(odm::expr::expr(p.starts))`",
    note = "a reference is given as one, not as an id or a document: `document.to_ref()`, or `Ref::new(id)`",
    note = "of an array, `eq` and `set` take all of it; one item is found by `contains(item)`, and added by `push`"
)]
pub trait Comparand<T, R> {
    /// The condition on the field at the end of a path.
    #[doc(hidden)]
    fn compared_by<P: Step, C: Codec<T>>(self, operator: &'static str) -> Filter<R>;
}

/// Every [`Operand`] is one. For each by itself: of a blanket the compiler could not tell that an expression is no operand.
macro_rules! operands {
    ($($of:ty, $value:ty, [$($generics:tt)*];)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<R, $($generics)*> Comparand<$of, R> for $value {
            fn compared_by<P: Step, C: Codec<$of>>(self, operator: &'static str) -> Filter<R> {
                Filter::of_field::<P>(operator, encode_bson::<$of, C>(P::PATH, self), false)
            }
        }
    )*};
}
operands! {
    T, T, [T];
    Option<T>, T, [T];
    T, &T, [T];
    String, &str, [];
    Option<String>, &str, [];
    U, Ref<T>, [T: crate::Document, U: Wrapped + Wraps<T>];
    Option<U>, Ref<T>, [T: crate::Document, U: Wrapped + Wraps<T>];
    Vec<E>, Vec<Ref<T>>, [T: crate::Document, E: Entry + Wraps<T>];
}

macro_rules! comparisons {
    ($bound:ident: $($(#[$doc:meta])* $name:ident => $operator:literal;)*) => {$(
        $(#[$doc])*
        pub fn $name(self, value: impl Comparand<T, R>) -> Filter<R>
        where
            P: Holds<T, As: $bound<T>>,
        {
            value.compared_by::<P, C>($operator)
        }
    )*};
}

/// Names that other libraries give to conditions: that of `Iterator` would be offered instead.
macro_rules! other_names {
    ($($name:ident)*) => {$(
        /// Not a name of a condition: the compiler says which ones there are.
        #[doc(hidden)]
        pub fn $name<V>(self, value: V) -> Filter<R>
        where
            NameOfACondition<R>: Known,
        {
            drop(value);
            Filter::always()
        }
    )*};
}

/// A name that no condition has.
#[doc(hidden)]
pub struct NameOfACondition<R>(PhantomData<R>);

/// No name is known that stands for another one.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "no condition has this name: conditions are called as in MongoDB",
    label = "not the name of a condition",
    note = "`eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in_` and `not_in` compare with values; `eq(None)` finds what has no value, `ne(None)` what has one",
    note = "`contains_text`, `starts_with`, `ends_with` and `regex` search in a text; `contains` finds an item of an array"
)]
pub trait Known {}

impl<R, T, P: Step, C: Codec<T>> Path<R, T, P, C> {
    comparisons! { Whole:
        /// The field has this value. An `Option` that is `None` is found where the field is `null` or missing.
        ///
        /// ```
        /// # use samples::model::*;
        /// let p = Person::paths();
        /// assert_eq!(p.name.eq("Kate").into_document()?, doc! { "name": { "$eq": "Kate" } });
        /// assert_eq!(p.nickname.eq(None).into_document()?, doc! { "nickname": { "$eq": null } });
        /// assert_eq!(p.age.gte(18).into_document()?, doc! { "age": { "$gte": 18 } });
        /// # Ok::<(), odm::Error>(())
        /// ```
        eq => "$eq";
        /// The field has another value, or none.
        ne => "$ne";
    }

    comparisons! { Ordered:
        /// The field is greater.
        gt => "$gt";
        /// The field is greater or equal.
        gte => "$gte";
        /// The field is less.
        lt => "$lt";
        /// The field is less or equal.
        lte => "$lte";
    }

    other_names! { ge le like }

    /// The field has one of these values.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.name.in_(["Kate", "Ann"]).into_document()?, doc! { "name": { "$in": ["Kate", "Ann"] } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn in_<V: Operand<T>>(self, values: impl IntoIterator<Item = V>) -> Filter<R>
    where
        P: Holds<T, As: Whole<T>>,
    {
        Filter::of_field::<P>("$in", list::<T, C, V>(P::PATH, values), false)
    }

    /// The field has none of these values.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.age.not_in([17, 18]).into_document()?, doc! { "age": { "$nin": [17, 18] } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn not_in<V: Operand<T>>(self, values: impl IntoIterator<Item = V>) -> Filter<R>
    where
        P: Holds<T, As: Whole<T>>,
    {
        Filter::of_field::<P>("$nin", list::<T, C, V>(P::PATH, values), false)
    }

    /// The field exists, possibly as `null` (`true`), or is missing (`false`).
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.nickname.exists(true).into_document()?, doc! { "nickname": { "$exists": true } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn exists(self, there: bool) -> Filter<R> {
        if P::IN_VARIANT && !there && in_items_of_variants(P::WAY) {
            let there = Condition::on(P::PATH, "$exists", Ok(Bson::Boolean(true)));
            return there.in_no_variant(&P::END).typed();
        }
        Filter::on(P::PATH, "$exists", Ok(Bson::Boolean(there))).in_variant::<P>()
    }

    /// Ascending by this field.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let first = people.find_all().sort(|p| p.name.asc()).one().await?;
    /// # Ok(()) }
    /// ```
    pub fn asc(self) -> Order<R>
    where
        P: Holds<T, As: Ordered<T>>,
    {
        Order {
            name: P::PATH,
            descending: false,
            multi: P::MULTI,
            of: PhantomData,
        }
    }

    /// Descending by this field.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let oldest = people.find_all().sort(|p| p.age.desc()).one().await?;
    /// # Ok(()) }
    /// ```
    pub fn desc(self) -> Order<R>
    where
        P: Holds<T, As: Ordered<T>>,
    {
        Order {
            name: P::PATH,
            descending: true,
            multi: P::MULTI,
            of: PhantomData,
        }
    }
}

impl<R, T, P: Step, C> Path<R, T, P, C> {
    /// The field holds this text, wherever in it. No index serves it. For small and capital letters alike:
    /// `regex(Pattern::literal(text).ignore_case())`.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.name.contains_text("A.").into_document()?, doc! { "name": { "$regex": r"A\." } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn contains_text(self, text: &str) -> Filter<R>
    where
        T: Text,
    {
        self.regex(Pattern::literal(text))
    }

    /// The field matches a regular expression: one that stands in the program, or a [`Pattern`]. A `String` does not compile, so that
    /// no user's text becomes an expression by accident.
    ///
    /// # Errors
    /// The query gives [`Error::Query`] for an expression with a fault that MongoDB and Rust agree on, such as an open group.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.name.regex("^K.t").into_document()?, doc! { "name": { "$regex": "^K.t" } });
    /// assert_eq!(
    ///     p.name.regex(Pattern::regex("^k").ignore_case()).into_document()?,
    ///     doc! { "name": { "$regex": "^k", "$options": "i" } },
    /// );
    /// assert!(p.name.regex("K(ate").into_document().is_err());
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn regex(self, pattern: impl IntoPattern) -> Filter<R>
    where
        T: Text,
    {
        let pattern = pattern.into_pattern();
        if let Err(message) = pattern.check() {
            return Filter::of(Err(Error::Query {
                collection: "",
                message: format!("`{}`: {message}", P::PATH),
            }));
        }
        let seen = pattern.literal.as_ref().and_then(|text| {
            let asked = AskedValue::Text {
                text,
                at_start: pattern.at_start,
                ignores_case: pattern.options.contains('i'),
            };
            Seen::of(P::WAY, asked)
        });
        let mut condition = doc! { "$regex": pattern.source };
        if !pattern.options.is_empty() {
            condition.insert("$options", pattern.options);
        }
        Condition::raw(doc! { P::PATH: condition })
            .seen(P::PATH, seen)
            .in_variant(&P::END)
            .typed()
    }

    /// The field begins with this text. An index on the field serves it.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.name.starts_with("Ka").into_document()?, doc! { "name": { "$regex": "^Ka" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn starts_with(self, text: &str) -> Filter<R>
    where
        T: Text,
    {
        self.regex(Pattern {
            source: format!("^{}", escape(text)),
            options: String::new(),
            literal: Some(text.to_owned()),
            at_start: true,
        })
    }

    /// The field ends with this text. No index serves it: store the text in reverse besides, and ask for its beginning, where that
    /// has to be fast.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.email.ends_with("@example.com").into_document()?, doc! { "email": { "$regex": r"\@example\.com\z" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn ends_with(self, text: &str) -> Filter<R>
    where
        T: Text,
    {
        // Not `$`, which also stands before a line break at the end.
        self.regex(Pattern::regex(format!("{}\\z", escape(text))))
    }
}

fn list<T, C: Codec<T>, V: Operand<T>>(name: &str, values: impl IntoIterator<Item = V>) -> Result<Bson> {
    values
        .into_iter()
        .map(|value| encode_bson::<T, C>(name, value))
        .collect::<Result<Vec<Bson>>>()
        .map(Bson::Array)
}

/// What contains items that can be asked for: arrays. A trait of its own, so that the compiler says one thing of what is none.
pub trait Contains {
    /// The items.
    type Of: Value + Stored;
}

impl<A: List<Item: Stored>> Contains for A {
    type Of = A::Item;
}

// With the bound at the method, the compiler says what else there is for a text.
impl<R, A, P: Step, C> Path<R, A, P, C> {
    /// The array holds this item.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.tags.contains("rust").into_document()?, doc! { "tags": { "$eq": "rust" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn contains(self, item: impl Operand<A::Of>) -> Filter<R>
    where
        A: Contains,
        C: PlainItems,
    {
        Filter::of_field::<P>("$eq", encode_bson::<A::Of, Plain>(P::PATH, item), true)
    }
}

impl<R, A: List, P: Step, C> Path<R, A, P, C> {
    /// The array holds all of these items.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.tags.contains_all(["a", "b"]).into_document()?, doc! { "tags": { "$all": ["a", "b"] } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn contains_all<V: Operand<A::Item>>(self, items: impl IntoIterator<Item = V>) -> Filter<R>
    where
        A::Item: Stored,
        C: PlainItems,
    {
        Filter::of_field::<P>("$all", list::<A::Item, Plain, V>(P::PATH, items), true)
    }

    /// The array holds one of these items at least.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.tags.contains_any(["a", "b"]).into_document()?, doc! { "tags": { "$in": ["a", "b"] } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn contains_any<V: Operand<A::Item>>(self, items: impl IntoIterator<Item = V>) -> Filter<R>
    where
        A::Item: Stored,
        C: PlainItems,
    {
        Filter::of_field::<P>("$in", list::<A::Item, Plain, V>(P::PATH, items), true)
    }

    /// Any item of the array, for a condition on what it is. Each condition may be met by another item; `ne` and `not_in` ask
    /// that no item is the value.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.tags.any_item().gte("m").into_document()?, doc! { "tags": { "$gte": "m" } });
    /// assert_eq!(
    ///     p.tags.any_item().starts_with("rust").into_document()?,
    ///     doc! { "tags": { "$regex": "^rust" } },
    /// );
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn any_item(self) -> Path<R, A::Item, Each<P>>
    where
        A::Item: Sized,
        C: PlainItems,
    {
        Path::NEW
    }

    /// The array has exactly this number of items.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.tags.size(3).into_document()?, doc! { "tags": { "$size": 3_i64 } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn size(self, items: u32) -> Filter<R>
    where
        C: PlainItems,
    {
        Filter::of_field::<P>("$size", Ok(Bson::Int64(items.into())), false)
    }

    /// One item of the array matches the whole condition: `$elemMatch`. Two conditions on paths through the array, joined by
    /// `&`, may be met by two different items.
    ///
    /// Of a plain array the closure gets the item itself. The server takes no `|` and no `!` between conditions on one: write
    /// them around `elem`, or [`Error::Query`] says so.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// assert_eq!(
    ///     p.addresses.elem(|a| a.city.eq("Bonn") & a.street.eq("Am Hof")).into_document()?,
    ///     doc! { "addresses": { "$elemMatch": { "city": { "$eq": "Bonn" }, "street": { "$eq": "Am Hof" } } } },
    /// );
    /// assert_eq!(
    ///     p.tags.elem(|tag| tag.gte("m") & tag.lt("n")).into_document()?,
    ///     doc! { "tags": { "$elemMatch": { "$gte": "m", "$lt": "n" } } },
    /// );
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn elem<F>(self, condition: F) -> Filter<R>
    where
        C: PlainItems,
        F: FnOnce(Path<Element<A::Item>, A::Item, Root>) -> Filter<Element<A::Item>>,
    {
        let condition = of_item::<A, P>(condition(Path::NEW));
        Filter::of(condition.map(|condition| doc! { P::PATH: { "$elemMatch": condition } })).in_variant::<P>()
    }
}

impl<R, T, P: Step, C: StoredByType> Path<R, T, P, C> {
    /// The field's place is at most this number of meters away from `center`, or from the least to the most of a range:
    /// `100.0..=5_000.0`. The nearest come first. Needs a `2dsphere` index, and can't be counted (MongoDB refuses `$near` in an
    /// aggregation): count with [`within`](Path::within).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let here = Point::new(13.4, 52.52);
    /// let around = people.find(|p| p.place.near(here, 5_000.0)).all().await?;
    /// let further = people.find(|p| p.place.near(here, 5_000.0..=10_000.0)).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn near(self, center: Point, meters: impl Into<Meters>) -> Filter<R>
    where
        T: Located,
    {
        let Meters { least, most } = meters.into();
        let mut near = doc! { "$geometry": Geometry::from(center).into_document(), "$maxDistance": most };
        if let Some(least) = least {
            near.insert("$minDistance", least);
        }
        if P::IN_VARIANT && in_items_of_variants(P::WAY) {
            return Filter::of(Err(Error::Query {
                collection: "",
                message: format!(
                    "`near` asks for `{}` in the items of an array that have a variant, and the server takes `$near` in no condition on \
                     items: ask by `within`",
                    P::PATH
                ),
            }));
        }
        Filter::on(P::PATH, "$near", Ok(near.into())).in_variant::<P>()
    }

    /// The field's place lies in the area as a whole: an [`Area`], or a [`Polygon`](crate::geo::Polygon).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let around = Area::circle(Point::new(13.4, 52.52), 5_000.0);
    /// let how_many = people.find(|p| p.place.within(around)).count().await?;
    /// # Ok(()) }
    /// ```
    pub fn within(self, area: impl Into<Area>) -> Filter<R>
    where
        T: Located,
    {
        let area = area.into().into_document();
        Filter::on(P::PATH, "$geoWithin", Ok(area.into())).in_variant::<P>()
    }

    /// The field's place has a position in common with the geometry: a [`Point`], a [`LineString`](crate::geo::LineString), a
    /// [`Polygon`](crate::geo::Polygon), or a [`Geometry`].
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// use odm::geo::Geometry;
    ///
    /// let corners = [Point::new(13.0, 52.3), Point::new(13.8, 52.3), Point::new(13.4, 52.7)];
    /// let district = Geometry::polygon(corners)?;
    /// let inhabitants = people.find(|p| p.place.intersects(district)).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn intersects(self, geometry: impl Into<Geometry>) -> Filter<R>
    where
        T: Located,
    {
        let geometry = geometry.into().into_document();
        Filter::on(
            P::PATH,
            "$geoIntersects",
            Ok(doc! { "$geometry": geometry }.into()),
        )
        .in_variant::<P>()
    }
}

/// That a document has a variant, or an item of an array: `o.status.is_shipped()`, as generated code asks for it.
#[doc(hidden)]
pub fn is_variant<R, P: Step>() -> Filter<R> {
    Filter::raw(is_variant_of(P::WAY))
}

/// That a document has the variants on a path, where all values at its end are in these.
pub(crate) fn in_variant_alone<P: Step>(collection: &'static str) -> Filter<()> {
    if in_items_of_variants(P::WAY) {
        return Filter::of(Err(Error::Query {
            collection,
            message: format!(
                "`distinct` gives the values of `{}` in all items of its array, whatever variant they have: group by it in a pipeline, \
                 behind `unwind` and a `filter`",
                P::PATH
            ),
        }));
    }
    Filter::raw(with_variants(P::WAY, Document::new()))
}

/// Whether a filter has `$near` or `$nearSphere`, which stand behind a field, alone or within `$and`.
pub(crate) fn has_near(filter: &Document) -> bool {
    filter.iter().any(|(name, value)| match value {
        Bson::Document(condition) => condition.contains_key("$near") || condition.contains_key("$nearSphere"),
        Bson::Array(list) if name == "$and" => list.iter().filter_map(Bson::as_document).any(has_near),
        _ => false,
    })
}

/// A condition of which no part on these names is taken for a value of a new document: twice denied, it is the same condition.
fn hidden(doc: Document, of_given: &dyn Fn(&str) -> bool) -> Document {
    let mut all = Document::new();
    let mut denied = Vec::new();
    for (name, value) in doc {
        match value {
            Bson::Array(parts) if name == "$and" => {
                let part = |part| match part {
                    Bson::Document(part) => Bson::Document(hidden(part, of_given)),
                    other => other,
                };
                all.insert(name, parts.into_iter().map(part).collect::<Vec<Bson>>());
            }
            value if of_given(&name) => denied.push(doc! { "$nor": [{ name: value }] }),
            value => drop(all.insert(name, value)),
        }
    }
    if denied.is_empty() {
        return all;
    }
    // Not beside another `$nor` of this condition.
    if all.contains_key("$nor") {
        return doc! { "$and": [all, { "$nor": denied }] };
    }
    all.insert("$nor", denied);
    all
}

/// Whether a condition holds a schema, by which the entries of a map are counted: the server takes none on the items of an array.
fn has_schema(condition: &Document) -> bool {
    condition.iter().any(|(name, value)| match value {
        Bson::Array(list) => list.iter().filter_map(Bson::as_document).any(has_schema),
        _ => name == "$jsonSchema",
    })
}

/// An item of an array, as the root of the paths in a condition or change of items.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// use odm::query::Element;
///
/// fn in_bonn(p: <Element<Address> as odm::update::Rooted>::Paths) -> Filter<Element<Address>> {
///     p.city.eq("Bonn")
/// }
/// let found = people.find(|p| p.addresses.elem(in_bonn)).all().await?;
/// # Ok(()) }
/// ```
pub struct Element<I>(PhantomData<fn() -> I>);

/// A condition on the items of the array at `P`, as it stands behind `$elemMatch` and `$pull`: that on their fields as it is,
/// and that on the items themselves by its operators alone.
pub(crate) fn of_item<A: List, P: Step>(condition: Filter<Element<A::Item>>) -> Result<Document> {
    let condition = on_items::<A, P>(condition)?;
    in_array(condition).map_err(|message| Error::Query {
        collection: "",
        message: format!("the condition on the items of `{}` {message}", P::PATH),
    })
}

/// The same with the names of the items' fields, and with the empty one for the items themselves.
///
/// # Errors
/// [`Error::Query`] for a condition on items as a whole that are documents: what the library keeps beside copies stands in
/// them too.
pub(crate) fn on_items<A: List, P: Step>(condition: Filter<Element<A::Item>>) -> Result<Document> {
    let condition = condition.into_document().map_err(|error| match error {
        Error::Encode { field, source } if field.is_empty() => Error::Encode {
            field: P::PATH.to_owned(),
            source,
        },
        error => error,
    })?;
    if has_schema(&condition) {
        return Err(Error::Query {
            collection: "",
            message: format!(
                "the condition on the items of `{}` compares a map of theirs as a whole, and the server counts no entries there: \
                 compare its entries, or find the items by `contains`",
                P::PATH
            ),
        });
    }
    let has_parts = || crate::query::filter::equal::has_parts(<A::Item as Value>::shape());
    if is_of_items(&condition) && !<A::Item as Value>::REFERENCE && has_parts() {
        return Err(Error::Query {
            collection: "",
            message: format!(
                "the condition on the items of `{}` compares them as a whole, and they are documents: compare their fields",
                P::PATH
            ),
        });
    }
    Ok(condition)
}

/// The pattern that a string is matched against, with its options.
///
/// ```
/// # use samples::model::*;
/// let p = Person::paths();
/// let typed_by_a_user = String::from("(x)");
/// let filter = p.name.regex(Pattern::literal(&typed_by_a_user).ignore_case());
/// assert_eq!(filter.into_document()?, doc! { "name": { "$regex": r"\(x\)", "$options": "i" } });
/// # Ok::<(), odm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    source: String,
    options: String,
    /// The text that it stands for, if it is no regular expression of the application's.
    literal: Option<String>,
    /// Whether that has to stand at the beginning.
    at_start: bool,
}

impl Pattern {
    /// This text, taken literally.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// let filter = p.name.regex(Pattern::literal("(x)").ignore_case());
    /// assert_eq!(filter.into_document()?, doc! { "name": { "$regex": r"\(x\)", "$options": "i" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn literal(text: &str) -> Pattern {
        Pattern {
            source: escape(text),
            options: String::new(),
            literal: Some(text.to_owned()),
            at_start: false,
        }
    }

    /// A regular expression in
    /// [MongoDB's dialect](https://www.mongodb.com/docs/manual/reference/operator/query/regex/) (PCRE). An expression of
    /// a user's can take very long: give one only to those whom you trust. A fault that MongoDB and Rust agree on is an
    /// [`Error::Query`] of the query.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// let filter = p.name.regex(Pattern::regex("^(Kate|Ann)$"));
    /// assert_eq!(filter.into_document()?, doc! { "name": { "$regex": "^(Kate|Ann)$" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn regex(source: impl Into<String>) -> Pattern {
        Pattern {
            source: source.into(),
            options: String::new(),
            literal: None,
            at_start: false,
        }
    }

    /// Capital and small letters are the same.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// let filter = p.name.regex(Pattern::literal("kate").ignore_case());
    /// assert_eq!(filter.into_document()?, doc! { "name": { "$regex": "kate", "$options": "i" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn ignore_case(self) -> Pattern {
        self.with('i')
    }

    /// `^` and `$` stand at the beginning and the end of each line too: the option `m`.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// let filter = p.name.regex(Pattern::regex("^K").multi_line().ignore_case());
    /// assert_eq!(filter.into_document()?, doc! { "name": { "$regex": "^K", "$options": "im" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn multi_line(self) -> Pattern {
        self.with('m')
    }

    /// `.` is any character, a line break too: the option `s`.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// let filter = p.name.regex(Pattern::regex("a.b").dot_all());
    /// assert_eq!(filter.into_document()?, doc! { "name": { "$regex": "a.b", "$options": "s" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn dot_all(self) -> Pattern {
        self.with('s')
    }

    /// Spaces and what stands behind `#` are no part of a regular expression: the option `x`. In a literal text every space is
    /// escaped, and this changes nothing.
    ///
    /// ```
    /// # use samples::model::*;
    /// let p = Person::paths();
    /// let filter = p.name.regex(Pattern::regex("a b # two letters").extended());
    /// assert_eq!(filter.into_document()?, doc! { "name": { "$regex": "a b # two letters", "$options": "x" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn extended(self) -> Pattern {
        self.with('x')
    }

    /// Whether MongoDB and Rust agree that the expression has a fault. What Rust does not know, such as a look ahead, may be right.
    fn check(&self) -> Result<(), String> {
        const FAULTS: [&str; 8] = [
            "found open group",
            "found closing ')'",
            "uncounted repetition operator must be applied",
            "min bigger than its max",
            "has no closing bracket",
            "found unclosed character class",
            "invalid range in character class",
            "saw start of escape sequence",
        ];
        if self.literal.is_some() {
            return Ok(());
        }
        let parsed = regex_lite::RegexBuilder::new(&self.source)
            .ignore_whitespace(self.options.contains('x'))
            .build();
        match parsed.map_err(|error| error.to_string()) {
            Err(fault) if FAULTS.iter().any(|known| fault.contains(known)) => Err(format!(
                "the regular expression `{}` can't be read: {fault}",
                self.source
            )),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Options stand in alphabetical order.
    fn with(mut self, option: char) -> Pattern {
        if !self.options.contains(option) {
            let at = self.options.find(|other| other > option);
            self.options.insert(at.unwrap_or(self.options.len()), option);
        }
        self
    }
}

/// What [`Path::regex`] takes: a [`Pattern`], or a regular expression that stands in the program.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` is not taken for a regular expression, since it may hold a user's text",
    label = "write `contains_text(text)`, or `Pattern::regex(text)`",
    note = "a text: `contains_text(&text)`, or `regex(Pattern::literal(&text).ignore_case())` for small and capital letters alike",
    note = "an expression that the program makes: `regex(Pattern::regex(text))`; one of a user's can take very long"
)]
pub trait IntoPattern {
    #[doc(hidden)]
    fn into_pattern(self) -> Pattern;
}

impl IntoPattern for Pattern {
    fn into_pattern(self) -> Pattern {
        self
    }
}

impl IntoPattern for &'static str {
    fn into_pattern(self) -> Pattern {
        Pattern::regex(self)
    }
}

/// Text in which every character that means something to a regular expression is escaped.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            // A zero byte would end the pattern.
            '\0' => {
                out.push_str("\\x00");
                continue;
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_' && !c.is_ascii_control() => {
                out.push('\\')
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

/// A field and a direction: [`Path::asc`] and [`Path::desc`] give one.
///
/// ```
/// # use samples::model::*;
/// fn by(column: &str) -> odm::query::Order<Person> {
///     let p = Person::paths();
///     match column {
///         "age" => p.age.desc(),
///         _ => p.name.asc(),
///     }
/// }
/// # by("age");
/// ```
#[derive(Debug)]
pub struct Order<R> {
    pub(crate) name: &'static str,
    pub(crate) descending: bool,
    pub(crate) multi: bool,
    of: PhantomData<fn() -> R>,
}

/// What `sort` takes: an [`Order`], or several in a tuple, an array or a `Vec`.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// people.find_all().sort(|p| p.name.asc()).all().await?;
/// people.find_all().sort(|p| (p.age.desc(), p.name.asc())).all().await?;
/// people.find_all().sort(|p| vec![p.age.desc(), p.name.asc()]).all().await?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "a sort of `{R}` needs the direction of each field: write `.asc()` or `.desc()` behind it",
    label = "not an order",
    note = "one field: `sort(|p| p.name.asc())`; several, the first before the others: `sort(|p| (p.age.desc(), p.name.asc()))`"
)]
pub trait IntoSort<R> {
    /// In their order.
    fn into_sort(self) -> Vec<Order<R>>;
}

impl<R> Order<R> {
    pub(crate) fn new(name: &'static str, descending: bool) -> Order<R> {
        Order {
            name,
            descending,
            multi: false,
            of: PhantomData,
        }
    }

    /// As MongoDB writes it.
    pub(crate) fn direction(&self) -> i32 {
        if self.descending { -1 } else { 1 }
    }

    /// The same, without the type of the documents.
    pub(crate) fn untyped(self) -> Order<()> {
        Order {
            name: self.name,
            descending: self.descending,
            multi: self.multi,
            of: PhantomData,
        }
    }
}

impl<R> IntoSort<R> for Order<R> {
    fn into_sort(self) -> Vec<Order<R>> {
        vec![self]
    }
}

impl<R> IntoSort<R> for Vec<Order<R>> {
    fn into_sort(self) -> Vec<Order<R>> {
        self
    }
}

impl<R, const N: usize> IntoSort<R> for [Order<R>; N] {
    fn into_sort(self) -> Vec<Order<R>> {
        self.into()
    }
}

macro_rules! sorts {
    ($(($($name:ident)*))*) => {$(
        impl<R> IntoSort<R> for ($(sorts!(@ $name R),)*) {
            fn into_sort(self) -> Vec<Order<R>> {
                #[allow(non_snake_case)]
                let ($($name,)*) = self;
                vec![$($name),*]
            }
        }
    )*};
    (@ $name:ident $r:ident) => { Order<$r> };
}

sorts!((A)(A B)(A B C)(A B C D)(A B C D E));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Document as _;
    use crate::expansion_fixture::Person;
    use crate::query::filter::condition::below;
    use mongodb::bson::{self, bson};

    fn doc(filter: Filter<Person>) -> Document {
        filter.into_document().expect("encodes")
    }

    #[test]
    fn an_expression_with_a_fault_is_refused_and_one_of_another_dialect_is_not() {
        for fault in ["(a", "a)", "*a", "a{3,2}", "[a", "[z-a]", "a\\"] {
            assert!(Pattern::regex(fault).check().is_err(), "{fault}");
        }
        for right in [
            "(?=a)b",
            r"(a)\1",
            r"\p{L}",
            "(?#comment)a",
            r"\Qa.b\E",
            "a{,3}",
            "{2}",
            "[]a]",
            "a{2",
            "^(Kate|Ann)$",
        ] {
            assert_eq!(Pattern::regex(right).check(), Ok(()), "{right}");
        }
        assert!(Pattern::regex("a # (").check().is_err());
        assert_eq!(Pattern::regex("a # (").extended().check(), Ok(()));
        assert_eq!(Pattern::literal("(a").check(), Ok(()));
    }

    #[test]
    fn a_value_is_never_an_operator() {
        let p = Person::paths();
        let sent = "{\"$gt\": \"\"}".to_owned();
        assert_eq!(
            doc(p.name.eq(&sent)),
            doc! { "name": { "$eq": "{\"$gt\": \"\"}" } }
        );
        assert_eq!(doc(p.name.eq("$where")), doc! { "name": { "$eq": "$where" } });
    }

    #[test]
    fn a_pattern_as_a_value_is_no_pattern() {
        let pattern = Bson::RegularExpression(bson::Regex {
            pattern: ".*".try_into().unwrap(),
            options: "".try_into().unwrap(),
        });
        let matched = doc! { "$elemMatch": { "$exists": true } };
        let values = || Bson::from(vec![Bson::from("a"), pattern.clone(), matched.clone().into()]);
        let each = [
            doc! { "x": { "$eq": "a" } },
            doc! { "x": { "$eq": pattern.clone() } },
            doc! { "x": { "$eq": matched.clone() } },
        ];
        for (operator, joined) in [("$in", "$or"), ("$nin", "$nor"), ("$all", "$and")] {
            assert_eq!(condition("x", operator, values()), doc! { joined: each.to_vec() });
            assert_eq!(
                condition("x", operator, bson!(["a"])),
                doc! { "x": { operator: ["a"] } }
            );
        }
        assert_eq!(
            condition("x", "$eq", pattern.clone()),
            doc! { "x": { "$eq": pattern.clone() } }
        );
        assert_eq!(
            condition("x", "$ne", pattern.clone()),
            doc! { "$nor": [{ "x": { "$eq": pattern } }] }
        );
    }

    #[test]
    fn filters_combine() {
        let p = Person::paths();
        assert_eq!(
            doc(p.name.eq("a") & p.name.ne("b") & !p.home.city.starts_with("N.Y")),
            doc! { "$and": [
                { "name": { "$eq": "a" } },
                { "name": { "$ne": "b" } },
                { "$nor": [{ "home.city": { "$regex": "^N\\.Y" } }] },
            ] }
        );
        assert_eq!(
            doc(Filter::always() & p.name.eq("a")),
            doc! { "name": { "$eq": "a" } }
        );
        assert_eq!(doc(Filter::or([])), doc! { "$nor": [{}] });
    }

    #[test]
    fn one_item_fits_the_whole_condition() {
        let p = Person::paths();
        assert_eq!(
            doc(p.addresses.elem(|a| a.city.eq("A") & a.street.eq("B"))),
            doc! { "addresses": { "$elemMatch": { "city": { "$eq": "A" }, "street": { "$eq": "B" } } } }
        );
    }

    #[test]
    fn options_take_plain_values_and_none() {
        let p = Person::paths();
        assert_eq!(doc(p.home.eq(None)), doc! { "home": { "$eq": null } });
    }

    #[test]
    fn names_go_below_a_prefix() {
        let filter = doc! { "$or": [{ "a": 1 }, { "$and": [{ "b.c": { "$gt": 2 } }] }] };
        assert_eq!(
            below("e0", filter).unwrap(),
            doc! { "$or": [{ "e0.a": 1 }, { "$and": [{ "e0.b.c": { "$gt": 2 } }] }] }
        );
        assert!(below("e0", doc! { "$where": "1" }).is_err());
    }

    #[test]
    fn literal_patterns_mean_themselves() {
        assert_eq!(escape("a.c*(x)_9"), "a\\.c\\*\\(x\\)_9");
        assert_eq!(escape("é\0"), "é\\x00");
    }
}
