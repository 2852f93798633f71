//! Filters and sort orders, built from typed paths.
//!
//! A value always stands behind an operator (`{ name: { $eq: value } }`), so whatever it holds, it stays a value.

use crate::geo::{Area, Point};
use crate::operand::{Operand, encode};
use crate::path::{Codec, Nested, Path, Plain, Root, Step};
use crate::value::{List, Text};
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, doc};
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, Not};

/// A condition on documents of type `R`. Combined with `&`, `|` and `!`.
#[must_use = "a filter does nothing until a query takes it"]
pub struct Filter<R> {
    doc: Result<Document, Box<Error>>,
    of: PhantomData<fn() -> R>,
}

impl<R> std::fmt::Debug for Filter<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.doc {
            Ok(doc) => doc.fmt(f),
            Err(error) => error.fmt(f),
        }
    }
}

impl<R> Filter<R> {
    /// Every document.
    pub fn all() -> Filter<R> {
        Filter::raw(Document::new())
    }

    /// A filter in MongoDB's own words, for what the typed ones lack. Its operators are carried out, so nothing that a
    /// user supplied belongs in it but as a value behind an operator.
    pub fn raw(doc: Document) -> Filter<R> {
        Filter {
            doc: Ok(doc),
            of: PhantomData,
        }
    }

    /// All of these hold; none given, every document.
    pub fn and(filters: impl IntoIterator<Item = Filter<R>>) -> Filter<R> {
        filters
            .into_iter()
            .reduce(|a, b| a & b)
            .unwrap_or_else(Filter::all)
    }

    /// One of these holds at least; none given, no document.
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
    pub fn into_document(self) -> Result<Document> {
        self.doc.map_err(|error| *error)
    }

    fn on(name: &str, operator: &str, value: Result<Bson>) -> Filter<R> {
        Filter {
            doc: value
                .map(|value| doc! { name: { operator: value } })
                .map_err(Box::new),
            of: PhantomData,
        }
    }

    fn join(self, other: Filter<R>, operator: &str) -> Filter<R> {
        let doc = match (self.doc, other.doc) {
            (Ok(mut a), Ok(b)) => {
                let plain = |doc: &Document| !doc.keys().any(|key| key.starts_with('$'));
                if operator == "$and" && plain(&a) && plain(&b) && !b.keys().any(|key| a.contains_key(key)) {
                    // Conditions on different fields stand side by side.
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
        Filter { doc, of: PhantomData }
    }
}

impl<R> BitAnd for Filter<R> {
    type Output = Filter<R>;
    fn bitand(self, other: Filter<R>) -> Filter<R> {
        match (&self.doc, &other.doc) {
            (Ok(a), _) if a.is_empty() => other,
            (_, Ok(b)) if b.is_empty() => self,
            _ => self.join(other, "$and"),
        }
    }
}

impl<R> BitOr for Filter<R> {
    type Output = Filter<R>;
    fn bitor(self, other: Filter<R>) -> Filter<R> {
        self.join(other, "$or")
    }
}

impl<R> Not for Filter<R> {
    type Output = Filter<R>;
    fn not(self) -> Filter<R> {
        Filter {
            doc: self.doc.map(|doc| doc! { "$nor": [doc] }),
            of: PhantomData,
        }
    }
}

/// The filter of a partial index, as generated code gives it.
#[doc(hidden)]
pub fn partial_filter<T: crate::Document>(
    filter: impl FnOnce(T::Paths) -> Filter<T>,
) -> Result<mongodb::bson::RawDocumentBuf> {
    let document = filter(T::paths()).into_document()?;
    mongodb::bson::RawDocumentBuf::try_from(&document).map_err(|source| Error::Encode {
        field: format!("partial filter of {}", T::META.collection),
        source: Box::new(source),
    })
}

/// Documents whose text index matches these words: `$text`. The collection needs a text index.
///
/// The words follow [MongoDB's search syntax](https://www.mongodb.com/docs/manual/reference/operator/query/text/): a word
/// with `-` before it must not be there, and words in double quotes must stand together.
pub fn text<R>(search: impl Into<String>) -> Filter<R> {
    Filter::raw(doc! { "$text": { "$search": search.into() } })
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident => $operator:literal;)*) => {$(
        $(#[$doc])*
        pub fn $name(self, value: impl Operand<T>) -> Filter<R> {
            Filter::on(P::PATH, $operator, encode::<T, C>(P::PATH, value))
        }
    )*};
}

impl<R, T, P: Step, C: Codec<T>> Path<R, T, P, C> {
    comparisons! {
        /// The field has this value. An `Option` that is `None` is found where the field is `null` or missing.
        eq => "$eq";
        /// The field has another value, or none.
        ne => "$ne";
        /// The field is greater.
        gt => "$gt";
        /// The field is greater or equal.
        gte => "$gte";
        /// The field is less.
        lt => "$lt";
        /// The field is less or equal.
        lte => "$lte";
    }

    /// The field has one of these values.
    pub fn in_<V: Operand<T>>(self, values: impl IntoIterator<Item = V>) -> Filter<R> {
        Filter::on(P::PATH, "$in", list::<T, C, V>(P::PATH, values))
    }

    /// The field has none of these values.
    pub fn not_in<V: Operand<T>>(self, values: impl IntoIterator<Item = V>) -> Filter<R> {
        Filter::on(P::PATH, "$nin", list::<T, C, V>(P::PATH, values))
    }

    /// The field is there (`true`), be it `null`, or is missing (`false`).
    pub fn exists(self, there: bool) -> Filter<R> {
        Filter::on(P::PATH, "$exists", Ok(Bson::Boolean(there)))
    }

    /// Ascending by this field.
    pub fn asc(self) -> Order<R> {
        Order {
            name: P::PATH,
            descending: false,
            multi: P::MULTI,
            of: PhantomData,
        }
    }

    /// Descending by this field.
    pub fn desc(self) -> Order<R> {
        Order {
            name: P::PATH,
            descending: true,
            multi: P::MULTI,
            of: PhantomData,
        }
    }
}

impl<R, T: Text, P: Step, C> Path<R, T, P, C> {
    /// The field matches a pattern. A string is taken literally, wherever it stands in the field; a regular expression
    /// is written with [`Pattern::regex`].
    pub fn regex(self, pattern: impl Into<Pattern>) -> Filter<R> {
        let Pattern { source, options } = pattern.into();
        let mut condition = doc! { "$regex": source };
        if !options.is_empty() {
            condition.insert("$options", options);
        }
        Filter::raw(doc! { P::PATH: condition })
    }

    /// The field begins with this text. An index on the field serves it.
    pub fn starts_with(self, text: &str) -> Filter<R> {
        self.regex(Pattern::regex(format!("^{}", escape(text))))
    }
}

fn list<T, C: Codec<T>, V: Operand<T>>(name: &str, values: impl IntoIterator<Item = V>) -> Result<Bson> {
    values
        .into_iter()
        .map(|value| encode::<T, C>(name, value))
        .collect::<Result<Vec<Bson>>>()
        .map(Bson::Array)
}

impl<R, A: List, P: Step> Path<R, A, P> {
    /// The array holds this item.
    pub fn contains(self, item: impl Operand<A::Item>) -> Filter<R>
    where
        A::Item: serde::Serialize,
    {
        Filter::on(P::PATH, "$eq", encode::<A::Item, Plain>(P::PATH, item))
    }

    /// The array holds all of these items.
    pub fn all<V: Operand<A::Item>>(self, items: impl IntoIterator<Item = V>) -> Filter<R>
    where
        A::Item: serde::Serialize,
    {
        Filter::on(P::PATH, "$all", list::<A::Item, Plain, V>(P::PATH, items))
    }

    /// The array holds one of these items at least.
    pub fn contains_any<V: Operand<A::Item>>(self, items: impl IntoIterator<Item = V>) -> Filter<R>
    where
        A::Item: serde::Serialize,
    {
        Filter::on(P::PATH, "$in", list::<A::Item, Plain, V>(P::PATH, items))
    }

    /// The array has exactly so many items.
    pub fn size(self, items: u32) -> Filter<R> {
        Filter::on(P::PATH, "$size", Ok(Bson::Int64(items.into())))
    }

    /// One and the same item of the array fits the whole condition: `$elemMatch`.
    pub fn elem<'a, F>(self, condition: F) -> Filter<R>
    where
        A::Item: Nested,
        F: FnOnce(&'a <A::Item as Nested>::Fields<Element<A::Item>, Root>) -> Filter<Element<A::Item>>,
    {
        let condition = condition(<A::Item as Nested>::fields::<Element<A::Item>, Root>());
        Filter {
            doc: condition.doc.map(|doc| doc! { P::PATH: { "$elemMatch": doc } }),
            of: PhantomData,
        }
    }
}

impl<R, P: Step> Path<R, Point, P> {
    /// The field's place is at most `meters` away from `center`; the nearest come first. Needs a `2dsphere` index, and
    /// can't be counted (MongoDB refuses `$near` in an aggregation): count with [`within`](Path::within).
    pub fn near(self, center: Point, meters: f64) -> Filter<R> {
        let center = crate::operand::id(&center);
        Filter::on(
            P::PATH,
            "$near",
            center.map(|center| Bson::Document(doc! { "$geometry": center, "$maxDistance": meters })),
        )
    }

    /// The field's place lies in the area.
    pub fn within(self, area: Area) -> Filter<R> {
        Filter::on(P::PATH, "$geoWithin", Ok(Bson::Document(area.into_document())))
    }
}

impl<R, P: Step> Path<R, Option<Point>, P> {
    /// See [`Path::near`].
    pub fn near(self, center: Point, meters: f64) -> Filter<R> {
        Path::<R, Point, P>::NEW.near(center, meters)
    }

    /// See [`Path::within`].
    pub fn within(self, area: Area) -> Filter<R> {
        Path::<R, Point, P>::NEW.within(area)
    }
}

/// An item of an array, as the root of the paths in a condition or change of items.
pub struct Element<I>(PhantomData<fn() -> I>);

/// The names in a filter's document put below `prefix`: conditions on items become those of `arrayFilters`.
pub(crate) fn below(prefix: &str, filter: Document) -> Result<Document, String> {
    if filter.is_empty() {
        // "Every item": the server takes no condition that does not name the item.
        return Ok(doc! { prefix: { "$exists": true } });
    }
    let mut out = Document::new();
    for (key, value) in filter {
        match (key.as_str(), value) {
            ("$and" | "$or" | "$nor", Bson::Array(list)) => {
                let mut inner = Vec::with_capacity(list.len());
                for item in list {
                    match item {
                        Bson::Document(item) => inner.push(Bson::Document(below(prefix, item)?)),
                        other => return Err(format!("`{key}` takes documents, not {other}")),
                    }
                }
                out.insert(key, inner);
            }
            (operator, _) if operator.starts_with('$') => {
                return Err(format!(
                    "`{operator}` can't stand in a condition on the items of an array"
                ));
            }
            (_, value) => {
                out.insert(format!("{prefix}.{key}"), value);
            }
        }
    }
    Ok(out)
}

/// What a string is matched against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    source: String,
    options: &'static str,
}

impl Pattern {
    /// This text, taken literally.
    pub fn literal(text: &str) -> Pattern {
        Pattern {
            source: escape(text),
            options: "",
        }
    }

    /// A regular expression in
    /// [MongoDB's dialect](https://www.mongodb.com/docs/manual/reference/operator/query/regex/) (PCRE). An expression of
    /// a user's can take very long: give one only to those whom you trust.
    pub fn regex(source: impl Into<String>) -> Pattern {
        Pattern {
            source: source.into(),
            options: "",
        }
    }

    /// Capital and small letters are the same.
    pub fn ignore_case(mut self) -> Pattern {
        self.options = "i";
        self
    }
}

impl From<&str> for Pattern {
    fn from(text: &str) -> Pattern {
        Pattern::literal(text)
    }
}

impl From<&String> for Pattern {
    fn from(text: &String) -> Pattern {
        Pattern::literal(text)
    }
}

impl From<String> for Pattern {
    fn from(text: String) -> Pattern {
        Pattern::literal(&text)
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

/// A field and a direction.
pub struct Order<R> {
    pub(crate) name: &'static str,
    pub(crate) descending: bool,
    pub(crate) multi: bool,
    of: PhantomData<fn() -> R>,
}

/// What `sort` takes: an [`Order`], or several in a tuple, an array or a `Vec`.
pub trait IntoSort<R> {
    /// In their order.
    fn into_sort(self) -> Vec<Order<R>>;
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
    use crate::by_hand::Person;

    fn doc(filter: Filter<Person>) -> Document {
        filter.into_document().expect("encodes")
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
            doc(Filter::all() & p.name.eq("a")),
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
