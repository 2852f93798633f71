//! The types of the fields of a query struct: conditions with typed values, the order, the page.

use super::given::{Given, Operator, Parameter, SortKey};
use super::served::Use;
use super::value::{RequestValue, typed};
use crate::Filter;
use crate::model::path::{Codec, Holds, Path, Step};
use crate::model::stored::Stored;
use crate::model::value::{Ordered, Text as Texts, Value, Whole};
use crate::query::filter::operand::{Operand, encode_bson};
use crate::query::page::PageToken;
use mongodb::bson::Bson;

/// A condition that a request has: an operator, and its value; of `in` one or several.
///
/// ```
/// # use samples::request::*;
/// use odm::request::Operator;
///
/// let query = PeopleQuery::parse("age[gte]=18")?;
/// let [condition] = query.age.conditions() else { panic!() };
/// assert_eq!((condition.operator, condition.values.as_slice()), (Operator::Gte, &[18][..]));
/// # Ok::<(), odm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Condition<V> {
    /// The operator.
    pub operator: Operator,
    /// Its values.
    pub values: Vec<V>,
}

/// A type of a field that is a condition. Its implementations are [`Eq`], [`OneOf`], [`Range`] and [`Text`].
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no parameter of a request",
    label = "not a parameter",
    note = "conditions are `odm::request::Eq<T>`, `OneOf<T>`, `Range<T>` and `Text`; the order is a `Sort`, and the page a `Page`"
)]
pub trait Conditions: Sized {
    /// The type of its values.
    type Value: Value + Stored;
    /// The operators that it takes.
    const OPERATORS: &'static [Operator];
    /// How an index has to serve it.
    const USE: Use;
    /// Of conditions that were read.
    fn of(conditions: Vec<Condition<Self::Value>>) -> Self;
}

impl Parameter {
    /// The parameter of this name.
    pub const fn of<F: Conditions>(name: &'static str) -> Parameter {
        Parameter {
            name,
            operators: F::OPERATORS,
        }
    }
}

impl Given {
    /// The conditions of the parameter at this position.
    pub fn conditions<F: Conditions>(&mut self, parameter: usize) -> F {
        F::of(self.each(parameter, |given| {
            let values = given.texts().into_iter().map(typed::<F::Value>);
            Ok(Condition {
                operator: given.operator,
                values: values.collect::<Result<_, _>>()?,
            })
        }))
    }

    /// The order.
    pub fn sort(&mut self) -> Sort {
        Sort {
            keys: std::mem::take(&mut self.sort),
        }
    }

    /// The page.
    pub fn page(&mut self) -> Page {
        Page {
            limit: self.limit,
            token: self.token.take(),
        }
    }
}

/// Each condition as the path makes it: `p.age.gte(18)`.
fn filter<R, T, P: Step, C: Codec<T>, V: Operand<T>>(conditions: Vec<Condition<V>>) -> Filter<R> {
    let encoded = |value: V| encode_bson::<T, C>(P::PATH, value);
    Filter::and(conditions.into_iter().map(|condition| {
        let mut values = condition.values.into_iter();
        let (operator, one) = match condition.operator {
            Operator::In => {
                let list = values.map(encoded).collect::<crate::Result<_>>();
                return Filter::of_field::<P>("$in", list.map(Bson::Array), false);
            }
            Operator::Ne => ("$ne", values.next()),
            Operator::Gt => ("$gt", values.next()),
            Operator::Gte => ("$gte", values.next()),
            Operator::Lt => ("$lt", values.next()),
            Operator::Lte => ("$lte", values.next()),
            Operator::Eq | Operator::StartsWith => ("$eq", values.next()),
        };
        match one {
            Some(value) => Filter::of_field::<P>(operator, encoded(value), false),
            None => Filter::always(),
        }
    }))
}

macro_rules! conditions {
    ($(
        $(#[$doc:meta])*
        $name:ident [$($v:ident)?] of $value:ty;
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name $(<$v>)? (Vec<Condition<$value>>);

        impl $(<$v>)? Default for $name $(<$v>)? {
            fn default() -> Self {
                $name(Vec::new())
            }
        }

        impl $(<$v>)? $name $(<$v>)? {
            /// The conditions that the request has on the field; none where it says nothing of it.
            pub fn conditions(&self) -> &[Condition<$value>] {
                &self.0
            }
        }
    )*};
}

conditions! {
    /// A condition by one value: `?city=Bonn`.
    ///
    /// ```
    /// # use samples::request::*;
    /// let query = PeopleQuery::parse("email=kate@example.com")?;
    /// assert_eq!(query.into_filter().into_document()?, doc! { "email": { "$eq": "kate@example.com" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    Eq [V] of V;

    /// A condition by one value or several: `?role=admin`, `?role[ne]=admin`, `?role[in]=admin,editor`. A value that has a comma
    /// in it can't stand in a list.
    ///
    /// ```
    /// # use samples::request::*;
    /// let query = PeopleQuery::parse("tag[in]=rust,mongodb")?;
    /// assert_eq!(query.into_filter().into_document()?, doc! { "tags": { "$in": ["rust", "mongodb"] } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    OneOf [V] of V;

    /// A condition by a value or its neighbours: `?age=30`, `?age[gte]=18&age[lt]=65`; `gt` and `lte` too.
    ///
    /// ```
    /// # use samples::request::*;
    /// let query = PeopleQuery::parse("age[gte]=18&age[lt]=65")?;
    /// assert_eq!(
    ///     query.into_filter().into_document()?,
    ///     doc! { "$and": [{ "age": { "$gte": 18 } }, { "age": { "$lt": 65 } }] },
    /// );
    /// # Ok::<(), odm::Error>(())
    /// ```
    Range [V] of V;

    /// A condition on a text: `?name=Kate`, `?name[ne]=Kate`, `?name[in]=Kate,Ann`, `?name[starts_with]=Ka`. The text is taken
    /// literally: no regular expression reaches the server.
    ///
    /// ```
    /// # use samples::request::*;
    /// let query = PeopleQuery::parse("name[starts_with]=K.*")?;
    /// assert_eq!(query.into_filter().into_document()?, doc! { "name": { "$regex": r"^K\.\*" } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    Text [] of String;
}

// Not by a macro: the compiler shows these where a type is none of them.

impl<V: RequestValue> Conditions for Eq<V> {
    type Value = V;
    const OPERATORS: &'static [Operator] = &[Operator::Eq];
    const USE: Use = Use::Equality;
    fn of(conditions: Vec<Condition<V>>) -> Self {
        Eq(conditions)
    }
}

impl<V: RequestValue> Conditions for OneOf<V> {
    type Value = V;
    const OPERATORS: &'static [Operator] = &[Operator::Eq, Operator::Ne, Operator::In];
    const USE: Use = Use::Equality;
    fn of(conditions: Vec<Condition<V>>) -> Self {
        OneOf(conditions)
    }
}

impl<V: RequestValue> Conditions for Range<V> {
    type Value = V;
    const OPERATORS: &'static [Operator] = &[
        Operator::Eq,
        Operator::Gt,
        Operator::Gte,
        Operator::Lt,
        Operator::Lte,
    ];
    const USE: Use = Use::Order;
    fn of(conditions: Vec<Condition<V>>) -> Self {
        Range(conditions)
    }
}

impl Conditions for Text {
    type Value = String;
    const OPERATORS: &'static [Operator] = &[Operator::Eq, Operator::Ne, Operator::In, Operator::StartsWith];
    const USE: Use = Use::Prefix;
    fn of(conditions: Vec<Condition<String>>) -> Self {
        Text(conditions)
    }
}

impl<V> Eq<V> {
    /// As a filter on this field.
    #[doc(hidden)]
    pub fn on<R, T, P, C: Codec<T>>(self, _: Path<R, T, P, C>) -> Filter<R>
    where
        V: Operand<T>,
        P: Step + Holds<T, As: Whole<T>>,
    {
        filter::<R, T, P, C, V>(self.0)
    }
}

impl<V> OneOf<V> {
    /// As a filter on this field.
    #[doc(hidden)]
    pub fn on<R, T, P, C: Codec<T>>(self, _: Path<R, T, P, C>) -> Filter<R>
    where
        V: Operand<T>,
        P: Step + Holds<T, As: Whole<T>>,
    {
        filter::<R, T, P, C, V>(self.0)
    }
}

impl<V> Range<V> {
    /// As a filter on this field.
    #[doc(hidden)]
    pub fn on<R, T, P, C: Codec<T>>(self, _: Path<R, T, P, C>) -> Filter<R>
    where
        V: Operand<T>,
        P: Step + Holds<T, As: Ordered<T>>,
    {
        filter::<R, T, P, C, V>(self.0)
    }
}

impl Text {
    /// As a filter on this field.
    #[doc(hidden)]
    pub fn on<R, T: Texts, P, C: Codec<T>>(self, path: Path<R, T, P, C>) -> Filter<R>
    where
        String: Operand<T>,
        P: Step + Holds<T, As: Whole<T>>,
    {
        let is_prefix = |of: &Condition<String>| of.operator == Operator::StartsWith;
        let (prefixes, others): (Vec<_>, Vec<_>) = self.0.into_iter().partition(is_prefix);
        let prefixes = prefixes.iter().flat_map(|of| &of.values);
        let prefixes = prefixes.map(|text| path.starts_with(text));
        filter::<R, T, P, C, String>(others) & Filter::and(prefixes)
    }
}

/// The order that a request asks for: `?sort=-name,age`, by the fields of `#[request(sort(name, age))]`.
///
/// ```
/// # use samples::request::*;
/// let query = PeopleQuery::parse("sort=-name")?;
/// assert_eq!(query.sort.keys().collect::<Vec<_>>(), [("name", true)]);
/// # Ok::<(), odm::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sort {
    /// Each with whether it is descending.
    pub(super) keys: Vec<(SortKey, bool)>,
}

impl Sort {
    /// The fields as the request names them, each with whether it is descending; none where it asks for no order.
    pub fn keys(&self) -> impl Iterator<Item = (&'static str, bool)> + '_ {
        self.keys.iter().map(|(key, descending)| (key.name, *descending))
    }
}

impl PartialEq for Sort {
    fn eq(&self, other: &Sort) -> bool {
        self.keys().eq(other.keys())
    }
}

/// The page that a request asks for: `?limit=20`, `?after=TOKEN`, `?before=TOKEN`.
///
/// ```
/// # use samples::request::*;
/// let query = PeopleQuery::parse("limit=20")?;
/// assert_eq!(query.page.limit(), Some(20));
/// # Ok::<(), odm::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub(super) limit: Option<u32>,
    /// The token, and whether the page is the one before it.
    pub(super) token: Option<(PageToken, bool)>,
}

impl Page {
    /// The number of documents, where the request says one.
    pub fn limit(&self) -> Option<u32> {
        self.limit
    }

    /// The token of `after`.
    pub fn after(&self) -> Option<&PageToken> {
        self.token
            .as_ref()
            .filter(|(_, before)| !before)
            .map(|(token, _)| token)
    }

    /// The token of `before`.
    pub fn before(&self) -> Option<&PageToken> {
        self.token
            .as_ref()
            .filter(|(_, before)| *before)
            .map(|(token, _)| token)
    }
}
