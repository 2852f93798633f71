//! Conditions, order and page of a query from the parameters of a request: `?age[gte]=18&sort=-name&limit=20`.
//!
//! A struct declares which parameters there are, [`#[derive(RequestQuery)]`](derive@crate::request::RequestQuery), and nothing else of a
//! request reaches the query. Names of fields and operators come from the struct; a parameter is a value of its field's type,
//! encoded as `p.age.gte(18)` encodes it.

mod fields;
mod given;
mod served;
mod value;

use crate::error::parameter::BadParameter;
use crate::model::stored::Row;
use crate::query::join::Join;
use crate::{Document, Error, Filter, Find, Order, Paged, Result};
pub use fields::{Condition, Conditions, Eq, OneOf, Page, Range, Sort, Text};
pub use given::{Given, Operator, Parameter, Parameters, SortKey};
pub use served::{Use, hidden, limit, name_of, several, sorted, unserved, variant_of};
pub use value::{OneValue, RequestValue};

/// The parameters that an endpoint takes, as a struct. Derived: [`#[derive(RequestQuery)]`](derive@crate::request::RequestQuery).
///
/// ```
/// # use samples::request::*;
/// let query = PeopleQuery::parse("age[gte]=18&sort=-name&limit=20")?;
/// assert_eq!(query.into_filter().into_document()?, doc! { "age": { "$gte": 18 } });
/// # Ok::<(), odm::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not declare the parameters of a request",
    note = "derive it: `#[derive(odm::request::RequestQuery)] #[request(of = User)]`"
)]
pub trait RequestQuery: Sized + IntoParts<<Self as RequestQuery>::Document> {
    /// The document that is queried.
    type Document: Document;

    /// The declarations of the struct.
    #[doc(hidden)]
    const DECLARED: &'static Parameters;

    /// The fields of what a request gives; where that can't be taken, any.
    #[doc(hidden)]
    fn read(given: &mut Given) -> Self;

    /// Of the part of a URL behind the question mark, percent-encoded as browsers send it.
    ///
    /// ```
    /// # use samples::request::*;
    /// let query = PeopleQuery::parse("name%5Bstarts_with%5D=Ka&page=2");
    /// let Err(Error::Request { parameters }) = query else { panic!() };
    /// assert_eq!(
    ///     parameters[0].to_string(),
    ///     "`page` is no parameter: there are `age`, `name`, `email`, `tag`, `sort`, `limit`, `after` and `before`",
    /// );
    /// ```
    ///
    /// # Errors
    /// [`Error::Request`] with every parameter that can't be taken.
    ///
    /// # Cost
    /// No round trip.
    fn parse(query: &str) -> Result<Self> {
        let query = query.strip_prefix('?').unwrap_or(query);
        Self::from_pairs(form_urlencoded::parse(query.as_bytes()))
    }

    /// Of parameters and their values, as a web framework has parsed them. Leave out those that are meant for something else.
    ///
    /// ```
    /// # use samples::request::*;
    /// let pairs = [("age[gte]", "18"), ("utm_source", "mail")];
    /// let query = PeopleQuery::from_pairs(pairs.into_iter().filter(|(name, _)| !name.starts_with("utm_")))?;
    /// assert_eq!(query.into_filter().into_document()?, doc! { "age": { "$gte": 18 } });
    /// # Ok::<(), odm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Request`] with every parameter that can't be taken.
    ///
    /// # Cost
    /// No round trip.
    fn from_pairs<N: AsRef<str>, V: AsRef<str>>(pairs: impl IntoIterator<Item = (N, V)>) -> Result<Self> {
        let mut given = Given::new(Self::DECLARED);
        for (at, (name, value)) in pairs.into_iter().enumerate() {
            given.add(at, name.as_ref(), value.as_ref());
        }
        let query = Self::read(&mut given);
        refused(given.into_problems())?;
        Ok(query)
    }

    /// The conditions alone, for another operation than a find: an aggregation, an update of all that match.
    ///
    /// ```no_run
    /// # use samples::request::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let query = PeopleQuery::parse("age[gte]=18")?;
    /// let aged = people.update_where(|_| query.into_filter()).inc(|p| p.age, 1).await?;
    /// # Ok(()) }
    /// ```
    fn into_filter(self) -> Filter<Self::Document> {
        self.into_parts().filter
    }
}

fn refused(parameters: Vec<BadParameter>) -> Result<()> {
    if parameters.is_empty() {
        Ok(())
    } else {
        Err(Error::Request { parameters })
    }
}

/// What a request asks for of the documents `T`. Derived with [`RequestQuery`].
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not declare the parameters of a request for a `{T}`",
    label = "not a request for a `{T}`",
    note = "the document of a request is the one that it is declared for: `#[derive(odm::request::RequestQuery)] #[request(of = {T})]`"
)]
pub trait IntoParts<T> {
    /// The condition, the order and the page.
    fn into_parts(self) -> Parts<T>;
}

/// The parts of a query that a request asks for.
#[doc(hidden)]
#[derive(Debug)]
pub struct Parts<T> {
    /// The condition.
    pub filter: Filter<T>,
    /// The order.
    pub sort: Sort,
    /// The page.
    pub page: Page,
}

/// A query with what a request asks for: [`Find::request`].
///
/// # Example
///
/// ```no_run
/// # use samples::request::*;
/// # async fn example(people: Collection<Person>, query: PeopleQuery) -> odm::Result<()> {
/// let page = people.find(|p| p.age.gte(18)).sort(|p| p.name.asc()).request(query).page(20).await?;
/// # Ok(()) }
/// ```
#[must_use = "a query does nothing until `page` of it is awaited"]
pub struct Requested<T, Out = T, J = ()> {
    find: Find<T, Out, J>,
    page: Page,
}

impl<T: Document, Out, J> std::fmt::Debug for Requested<T, Out, J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Requested")
            .field("find", &self.find)
            .field("page", &self.page)
            .finish()
    }
}

impl<T: Document, Out: Row + Send + 'static, J: Join<T>> Find<T, Out, J> {
    /// Only documents that also match the conditions of a request, in its order and from the place that it names.
    ///
    /// The conditions stand beside those of the query, and can't replace them. The order of the request holds where it asks for
    /// one, else that of the query.
    ///
    /// ```no_run
    /// # use samples::request::*;
    /// # async fn example(people: Collection<Person>, of_url: &str) -> odm::Result<()> {
    /// let query = PeopleQuery::parse(of_url)?;
    /// let page = people.find(|p| p.age.gte(18)).sort(|p| p.name.asc()).request(query).page(20).await?;
    /// # Ok(()) }
    /// ```
    pub fn request<Q: IntoParts<T>>(mut self, query: Q) -> Requested<T, Out, J> {
        let Parts { filter, sort, page } = query.into_parts();
        self.query.and(filter.untyped());
        if !sort.keys.is_empty() {
            let orders = sort.keys.iter();
            self.query.sort = orders
                .map(|(key, descending)| Order::new(key.stored, *descending))
                .collect();
        }
        Requested { find: self, page }
    }
}

impl<T: Document, Out: Row + Send + 'static, J: Join<T>> Requested<T, Out, J> {
    /// The page that the request names, the first where it names none. It has as many documents as the request's `limit` says,
    /// else `size`.
    ///
    /// # Errors
    /// Those of [`Paged`]: [`Error::PageToken`] for the token of a query with another order.
    ///
    /// # Cost
    /// As [`Paged`]: one round trip for every 16 MB of documents. An index that begins with the field of a condition finds the
    /// documents, and one that has the order of the page finds its beginning.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::request::*;
    /// # async fn example(people: Collection<Person>, query: PeopleQuery) -> odm::Result<()> {
    /// let page = people.find_all().request(query).page(20).total().await?;
    /// println!("{} of {:?}", page.items.len(), page.total);
    /// # Ok(()) }
    /// ```
    pub fn page(self, size: u32) -> Paged<T, Out, J> {
        let Page { limit, token } = self.page;
        let paged = self.find.page(limit.unwrap_or(size));
        match token {
            None => paged,
            Some((token, false)) => paged.after(token),
            Some((token, true)) => paged.before(token),
        }
    }

    /// The query with the conditions and the order of the request, without its page: to count, explain or stream it.
    ///
    /// ```no_run
    /// # use samples::request::*;
    /// # async fn example(people: Collection<Person>, query: PeopleQuery) -> odm::Result<()> {
    /// let how_many = people.find_all().request(query).without_page().count().await?;
    /// # Ok(()) }
    /// ```
    pub fn without_page(self) -> Find<T, Out, J> {
        self.find
    }
}
