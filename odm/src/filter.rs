//! Filters and sort orders, built from typed paths.
//!
//! A value always stands behind an operator (`{ name: { $eq: value } }`), so whatever it holds, it stays a value.

use crate::asserts::PlainlyStored;
use crate::compare::{By, below as below_name};
use crate::geo::{Area, Point};
use crate::operand::{Operand, encode_bson};
use crate::path::{Codec, Each, Path, Plain, PlainItems, Root, Step};
use crate::shape::{MOST_WRAPPERS, Shape};
use crate::value::{List, Text, Value};
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, doc};
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, Not};

/// A condition on documents of type `R`. Combined with `&`, `|` and `!`.
///
/// ```
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// assert_eq!(Filter::<Person>::all().into_document()?, doc! {});
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn all() -> Filter<R> {
        Filter::raw(Document::new())
    }

    /// A filter in MongoDB's own words, for what the typed ones lack. Its operators are carried out, so nothing that a
    /// user supplied belongs in it but as a value behind an operator.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let filter = Filter::<Person>::raw(doc! { "age": { "$mod": [10, 0] } });
    /// let p = Person::paths();
    /// assert_eq!(
    ///     (filter & p.name.eq("Kate")).into_document()?,
    ///     doc! { "age": { "$mod": [10, 0] }, "name": { "$eq": "Kate" } },
    /// );
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn raw(doc: Document) -> Filter<R> {
        Filter {
            doc: Ok(doc),
            of: PhantomData,
        }
    }

    /// All of these hold; none given, every document.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let p = Person::paths();
    /// let words = ["rust", "mongodb"];
    /// let filter = Filter::and(words.map(|word| p.name.regex(word)));
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
            .unwrap_or_else(Filter::all)
    }

    /// One of these holds at least; none given, no document.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.addresses.city.eq("Bonn").into_document()?, doc! { "addresses.city": { "$eq": "Bonn" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn into_document(self) -> Result<Document> {
        self.doc.map_err(|error| *error)
    }

    pub(crate) fn of(doc: Result<Document>) -> Filter<R> {
        Filter {
            doc: doc.map_err(Box::new),
            of: PhantomData,
        }
    }

    fn on(name: &str, operator: &str, value: Result<Bson>) -> Filter<R> {
        Filter {
            doc: value
                .map(|value| condition(name, operator, value))
                .map_err(Box::new),
            of: PhantomData,
        }
    }

    /// The same for the value of a field. An embedded struct of copies is compared by its reference alone: the copies
    /// follow the document, and the library keeps fields of its own beside them. What else is not compared as a whole is
    /// by its parts.
    fn of_field<P: Step>(operator: &str, value: Result<Bson>) -> Filter<R> {
        let Some(id) = P::FIELD.and_then(crate::copy::entry) else {
            let by = match &value {
                Ok(Bson::Document(_) | Bson::Array(_)) => P::FIELD.and_then(By::of),
                _ => None,
            };
            return match (by, value) {
                (Some(by), Ok(value)) => Filter::of_parts::<P>(&by, operator, value),
                (_, value) => Filter::on(P::PATH, operator, value),
            };
        };
        let several = matches!(operator, "$in" | "$nin" | "$all");
        let ids = value.and_then(|value| {
            let ids = match value {
                Bson::Array(items) if several => items
                    .into_iter()
                    .map(|item| crate::copy::id_of(item, id))
                    .collect::<Option<Vec<Bson>>>()
                    .map(Bson::Array),
                value => crate::copy::id_of(value, id),
            };
            ids.ok_or_else(|| Error::Query {
                collection: "",
                message: format!(
                    "`{}` holds copies, which are compared by the reference beside them, one by one: by `contains`, `all` or \
                     `contains_any`",
                    P::PATH
                ),
            })
        });
        Filter::on(&format!("{}.{id}", P::PATH), operator, ids)
    }

    /// The same for a field whose values, or items, are compared by their parts.
    fn of_parts<P: Step>(by: &By, operator: &str, value: Bson) -> Filter<R> {
        let one = |value: Bson| {
            let parts = by.parts(&value).map_err(|_| incomparable(P::PATH))?;
            let Some(parts) = parts else {
                return Ok(condition(P::PATH, "$eq", value));
            };
            // The parts of one item, and not each of another.
            let array = match P::FIELD.map(|field| (field.shape)()) {
                Some(shape) if is_array(shape) => Some(P::PATH),
                _ => P::INNERMOST,
            };
            Ok(match array {
                Some(array) => {
                    let rest = P::PATH.strip_prefix(array).unwrap_or_default();
                    let rest = rest.strip_prefix('.').map(|rest| format!("{rest}."));
                    doc! { array: { "$elemMatch": below_name(&rest.unwrap_or_default(), parts) } }
                }
                None => below_name(&format!("{}.", P::PATH), parts),
            })
        };
        let each = |values: Bson| match values {
            Bson::Array(values) if !values.is_empty() => values
                .into_iter()
                .map(one)
                .collect::<Result<Vec<Document>>>()
                .map(Some),
            _ => Ok(None),
        };
        let as_it_is = |value| Ok(condition(P::PATH, operator, value));
        let joined = |all: &str, value: Bson| match each(value.clone())? {
            Some(mut list) if list.len() == 1 && all != "$nor" => Ok(list.remove(0)),
            Some(list) => Ok(doc! { all: list }),
            None => as_it_is(value),
        };
        Filter::of(match operator {
            "$eq" => one(value),
            "$ne" => one(value).map(|one| doc! { "$nor": [one] }),
            "$in" => joined("$or", value),
            "$nin" => joined("$nor", value),
            "$all" => joined("$and", value),
            // Documents have an order, if no useful one.
            _ => match by {
                By::Union => as_it_is(value),
                By::Own(_) | By::Nothing(_) => Err(incomparable(P::PATH)),
            },
        })
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
pub fn partial_filter<T: crate::Document, F: FnOnce(T::Paths) -> Filter<T>>(
    filter: F,
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
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let found = people.find(|p| odm::text("coffee -decaf") & p.age.gte(18)).all().await?;
/// # Ok(()) }
/// ```
pub fn text<R>(search: impl Into<String>) -> Filter<R> {
    Filter::raw(doc! { "$text": { "$search": search.into() } })
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident => $operator:literal;)*) => {$(
        $(#[$doc])*
        pub fn $name(self, value: impl Operand<T>) -> Filter<R> {
            Filter::of_field::<P>($operator, encode_bson::<T, C>(P::PATH, value))
        }
    )*};
}

impl<R, T, P: Step, C: Codec<T>> Path<R, T, P, C> {
    comparisons! {
        /// The field has this value. An `Option` that is `None` is found where the field is `null` or missing.
        ///
        /// ```
        /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
        /// let p = Person::paths();
        /// assert_eq!(p.name.eq("Kate").into_document()?, doc! { "name": { "$eq": "Kate" } });
        /// assert_eq!(p.nickname.eq(None).into_document()?, doc! { "nickname": { "$eq": null } });
        /// assert_eq!(p.age.gte(18).into_document()?, doc! { "age": { "$gte": 18 } });
        /// # Ok::<(), odm::Error>(())
        /// ```
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
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.name.in_(["Kate", "Ann"]).into_document()?, doc! { "name": { "$in": ["Kate", "Ann"] } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn in_<V: Operand<T>>(self, values: impl IntoIterator<Item = V>) -> Filter<R> {
        Filter::of_field::<P>("$in", list::<T, C, V>(P::PATH, values))
    }

    /// The field has none of these values.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.age.not_in([17, 18]).into_document()?, doc! { "age": { "$nin": [17, 18] } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn not_in<V: Operand<T>>(self, values: impl IntoIterator<Item = V>) -> Filter<R> {
        Filter::of_field::<P>("$nin", list::<T, C, V>(P::PATH, values))
    }

    /// The field is there (`true`), be it `null`, or is missing (`false`).
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.nickname.exists(true).into_document()?, doc! { "nickname": { "$exists": true } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn exists(self, there: bool) -> Filter<R> {
        Filter::on(P::PATH, "$exists", Ok(Bson::Boolean(there)))
    }

    /// Ascending by this field.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let first = people.find_all().sort(|p| p.name.asc()).one().await?;
    /// # Ok(()) }
    /// ```
    pub fn asc(self) -> Order<R> {
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
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let oldest = people.find_all().sort(|p| p.age.desc()).one().await?;
    /// # Ok(()) }
    /// ```
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
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.name.regex("A.").into_document()?, doc! { "name": { "$regex": r"A\." } });
    /// assert_eq!(
    ///     p.name.regex(Pattern::regex("^k").ignore_case()).into_document()?,
    ///     doc! { "name": { "$regex": "^k", "$options": "i" } },
    /// );
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn regex(self, pattern: impl Into<Pattern>) -> Filter<R> {
        let Pattern { source, options } = pattern.into();
        let mut condition = doc! { "$regex": source };
        if !options.is_empty() {
            condition.insert("$options", options);
        }
        Filter::raw(doc! { P::PATH: condition })
    }

    /// The field begins with this text. An index on the field serves it.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.name.starts_with("Ka").into_document()?, doc! { "name": { "$regex": "^Ka" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn starts_with(self, text: &str) -> Filter<R> {
        self.regex(Pattern::regex(format!("^{}", escape(text))))
    }
}

/// The field's value under the operator. MongoDB looks into the list of `$in`, `$nin` and `$all`: a regular expression in it
/// is a pattern, and a document that begins with `$elemMatch` a condition. Behind `$eq` each is a value, so a list with one
/// of these is written as conditions on its values.
pub(crate) fn condition(name: &str, operator: &str, value: Bson) -> Document {
    let joined = match operator {
        "$in" => "$or",
        "$nin" => "$nor",
        "$all" => "$and",
        // The server takes no regular expression behind it.
        "$ne" if is_carried_out(&value) => return doc! { "$nor": [{ name: { "$eq": value } }] },
        _ => return doc! { name: { operator: value } },
    };
    match value {
        Bson::Array(values) if values.iter().any(is_carried_out) => {
            let each: Vec<Document> = values
                .into_iter()
                .map(|value| doc! { name: { "$eq": value } })
                .collect();
            doc! { joined: each }
        }
        values => doc! { name: { operator: values } },
    }
}

/// Whether a value means something else than itself in a list.
pub(crate) fn is_carried_out(value: &Bson) -> bool {
    match value {
        Bson::RegularExpression(_) => true,
        Bson::Document(document) => document.keys().next().is_some_and(|key| key.starts_with('$')),
        _ => false,
    }
}

fn list<T, C: Codec<T>, V: Operand<T>>(name: &str, values: impl IntoIterator<Item = V>) -> Result<Bson> {
    values
        .into_iter()
        .map(|value| encode_bson::<T, C>(name, value))
        .collect::<Result<Vec<Bson>>>()
        .map(Bson::Array)
}

impl<R, A: List, P: Step, C> Path<R, A, P, C> {
    /// The array holds this item.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.tags.contains("rust").into_document()?, doc! { "tags": { "$eq": "rust" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn contains(self, item: impl Operand<A::Item>) -> Filter<R>
    where
        A::Item: serde::Serialize,
        C: PlainItems,
    {
        Filter::of_field::<P>("$eq", encode_bson::<A::Item, Plain>(P::PATH, item))
    }

    /// The array holds all of these items.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.tags.all(["a", "b"]).into_document()?, doc! { "tags": { "$all": ["a", "b"] } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn all<V: Operand<A::Item>>(self, items: impl IntoIterator<Item = V>) -> Filter<R>
    where
        A::Item: serde::Serialize,
        C: PlainItems,
    {
        Filter::of_field::<P>("$all", list::<A::Item, Plain, V>(P::PATH, items))
    }

    /// The array holds one of these items at least.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.tags.contains_any(["a", "b"]).into_document()?, doc! { "tags": { "$in": ["a", "b"] } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn contains_any<V: Operand<A::Item>>(self, items: impl IntoIterator<Item = V>) -> Filter<R>
    where
        A::Item: serde::Serialize,
        C: PlainItems,
    {
        Filter::of_field::<P>("$in", list::<A::Item, Plain, V>(P::PATH, items))
    }

    /// Any item of the array, for a condition on what it is. Each condition may be met by another item; `ne` and `not_in` ask
    /// that no item is the value.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.tags.any().gte("m").into_document()?, doc! { "tags": { "$gte": "m" } });
    /// assert_eq!(
    ///     p.tags.any().starts_with("rust").into_document()?,
    ///     doc! { "tags": { "$regex": "^rust" } },
    /// );
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn any(self) -> Path<R, A::Item, Each<P>>
    where
        A::Item: Sized,
        C: PlainItems,
    {
        Path::NEW
    }

    /// The array has exactly so many items.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let p = Person::paths();
    /// assert_eq!(p.tags.size(3).into_document()?, doc! { "tags": { "$size": 3_i64 } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn size(self, items: u32) -> Filter<R>
    where
        C: PlainItems,
    {
        Filter::on(P::PATH, "$size", Ok(Bson::Int64(items.into())))
    }

    /// One and the same item of the array fits the whole condition: `$elemMatch`. Two conditions on paths through the
    /// array, joined by `&`, may be met by two items.
    ///
    /// Of a plain array the closure gets the item itself. The server takes no `|` and no `!` between conditions on one: write
    /// them around `elem`, or [`Error::Query`] says so.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
        Filter::of(condition.map(|condition| doc! { P::PATH: { "$elemMatch": condition } }))
    }
}

impl<R, P: Step, C: PlainlyStored> Path<R, Point, P, C> {
    /// The field's place is at most `meters` away from `center`; the nearest come first. Needs a `2dsphere` index, and
    /// can't be counted (MongoDB refuses `$near` in an aggregation): count with [`within`](Path::within).
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let around = people.find(|p| p.place.near(Point::new(13.4, 52.52), 5_000.0)).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn near(self, center: Point, meters: f64) -> Filter<R> {
        let center = crate::operand::id(&center);
        Filter::on(
            P::PATH,
            "$near",
            center.map(|center| Bson::Document(doc! { "$geometry": center, "$maxDistance": meters })),
        )
    }

    /// The field's place lies in the area.
    ///
    /// ```no_run
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let around = Area::circle(Point::new(13.4, 52.52), 5_000.0);
    /// let how_many = people.find(|p| p.place.within(around)).count().await?;
    /// # Ok(()) }
    /// ```
    pub fn within(self, area: Area) -> Filter<R> {
        Filter::on(P::PATH, "$geoWithin", Ok(Bson::Document(area.into_document())))
    }
}

impl<R, P: Step, C: PlainlyStored> Path<R, Option<Point>, P, C> {
    /// See [`Path::near`].
    pub fn near(self, center: Point, meters: f64) -> Filter<R> {
        Path::<R, Point, P>::NEW.near(center, meters)
    }

    /// See [`Path::within`].
    pub fn within(self, area: Area) -> Filter<R> {
        Path::<R, Point, P>::NEW.within(area)
    }
}

/// Whether a filter has `$near` or `$nearSphere`, which stand behind a field, alone or within `$and`.
pub(crate) fn has_near(filter: &Document) -> bool {
    filter.iter().any(|(name, value)| match value {
        Bson::Document(condition) => condition.contains_key("$near") || condition.contains_key("$nearSphere"),
        Bson::Array(list) if name == "$and" => list.iter().filter_map(Bson::as_document).any(has_near),
        _ => false,
    })
}

/// The error for a value of a field that is neither compared as a whole nor by its parts.
pub(crate) fn incomparable(name: &str) -> Error {
    Error::Query {
        collection: "",
        message: format!(
            "a value of `{name}` can't be compared as a whole, since the library keeps copies in it that follow other documents: \
             compare its fields, those of the items of an array by `elem` or `pull_where`"
        ),
    }
}

fn is_array(shape: Shape) -> bool {
    match shape {
        Shape::Array(_) => true,
        Shape::Optional(inner) => is_array(inner()),
        _ => false,
    }
}

/// An item of an array, as the root of the paths in a condition or change of items.
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// use odm::Element;
///
/// fn in_bonn(p: <Element<Address> as odm::Rooted>::Paths) -> Filter<Element<Address>> {
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
    if is_of_items(&condition) && !<A::Item as Value>::REFERENCE && are_documents(<A::Item as Value>::shape())
    {
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

/// Whether a value is stored as a document with declared fields, or as a variant with copies in it.
fn are_documents(shape: Shape) -> bool {
    match unwrapped(shape) {
        Shape::Struct(_) => true,
        shape => crate::compare::has_copies(shape),
    }
}

/// Without the options and newtypes around it.
fn unwrapped(shape: Shape) -> Shape {
    let mut shape = shape;
    for _ in 0..MOST_WRAPPERS {
        match shape {
            Shape::Optional(inner) => shape = inner(),
            Shape::Bounded(meta) if !meta.bounds.opaque => shape = (meta.shape)(),
            _ => break,
        }
    }
    shape
}

/// Whether a condition is on an item itself, or a part of it is.
fn is_of_items(condition: &Document) -> bool {
    condition.iter().any(|(key, value)| match (key.as_str(), value) {
        ("", _) => true,
        ("$and" | "$or" | "$nor", Bson::Array(list)) => {
            list.iter().filter_map(Bson::as_document).any(is_of_items)
        }
        _ => false,
    })
}

/// See [`of_item`]. The error goes on from "the condition".
pub(crate) fn in_array(condition: Document) -> Result<Document, String> {
    if condition.is_empty() {
        // Every item, whatever it is.
        return Ok(doc! { "$exists": true });
    }
    if !is_of_items(&condition) {
        return Ok(condition);
    }
    let mut operators = Document::new();
    operators_of(condition, &mut operators)?;
    Ok(operators)
}

fn operators_of(condition: Document, operators: &mut Document) -> Result<(), String> {
    for (key, value) in condition {
        match (key.as_str(), value) {
            ("", Bson::Document(one)) if !one.keys().any(|operator| operators.contains_key(operator)) => {
                operators.extend(one);
            }
            // The same operator for a second time.
            ("", one @ Bson::Document(_)) if !operators.contains_key("$not") => {
                operators.insert("$not", doc! { "$not": one });
            }
            ("$and", Bson::Array(list)) => {
                for one in list {
                    match one {
                        Bson::Document(one) => operators_of(one, operators)?,
                        other => return Err(format!("holds {other} where a condition is expected")),
                    }
                }
            }
            ("", _) => return Err("has one operator more than twice: join what it says".to_owned()),
            ("$or" | "$nor", _) => {
                return Err(
                    "joins conditions on one plain value by `|` or `!`, which the server does not take there (nor a list of \
                     regular expressions as values): join conditions on the array instead, or make two changes"
                        .to_owned(),
                );
            }
            (other, _) => {
                return Err(format!(
                    "is on the items themselves and on `{other}` of them: choose one"
                ));
            }
        }
    }
    Ok(())
}

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
            ("", value) => {
                out.insert(prefix, value);
            }
            (_, value) => {
                out.insert(format!("{prefix}.{key}"), value);
            }
        }
    }
    Ok(out)
}

/// What a string is matched against.
///
/// ```
/// use odm::Pattern;
///
/// assert_eq!(Pattern::from("a.b"), Pattern::literal("a.b"));
/// assert_ne!(Pattern::from("a.b"), Pattern::regex("a.b"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    source: String,
    options: &'static str,
}

impl Pattern {
    /// This text, taken literally.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let p = Person::paths();
    /// let filter = p.name.regex(Pattern::literal("(x)").ignore_case());
    /// assert_eq!(filter.into_document()?, doc! { "name": { "$regex": r"\(x\)", "$options": "i" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn literal(text: &str) -> Pattern {
        Pattern {
            source: escape(text),
            options: "",
        }
    }

    /// A regular expression in
    /// [MongoDB's dialect](https://www.mongodb.com/docs/manual/reference/operator/query/regex/) (PCRE). An expression of
    /// a user's can take very long: give one only to those whom you trust.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let p = Person::paths();
    /// let filter = p.name.regex(Pattern::regex("^(Kate|Ann)$"));
    /// assert_eq!(filter.into_document()?, doc! { "name": { "$regex": "^(Kate|Ann)$" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    pub fn regex(source: impl Into<String>) -> Pattern {
        Pattern {
            source: source.into(),
            options: "",
        }
    }

    /// Capital and small letters are the same.
    ///
    /// ```
    /// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
    /// let p = Person::paths();
    /// let filter = p.name.regex(Pattern::literal("kate").ignore_case());
    /// assert_eq!(filter.into_document()?, doc! { "name": { "$regex": "kate", "$options": "i" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
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

/// A field and a direction: [`Path::asc`] and [`Path::desc`] give one.
///
/// ```
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
/// fn by(column: &str) -> odm::Order<Person> {
///     let p = Person::paths();
///     match column {
///         "age" => p.age.desc(),
///         _ => p.name.asc(),
///     }
/// }
/// # by("age");
/// ```
pub struct Order<R> {
    pub(crate) name: &'static str,
    pub(crate) descending: bool,
    pub(crate) multi: bool,
    of: PhantomData<fn() -> R>,
}

/// What `sort` takes: an [`Order`], or several in a tuple, an array or a `Vec`.
///
/// ```no_run
/// # mod model { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/model.rs")); } use model::*;
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
    use mongodb::bson::{self, bson};

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
