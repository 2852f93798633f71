//! The values that a stage computes under names of the application's: of each group, and of each document.

use crate::Document;
use crate::model::default::{expression_of, stored_of};
use crate::model::path::{Holds, Path, Step};
use crate::model::value::Grouped;
use crate::query::filter::expression::{DatePart, Expression};
use mongodb::bson::{self, Bson, doc};
use std::marker::PhantomData;

/// The values that are computed for each group.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// let totals: Option<odm::bson::Document> = people
///     .aggregate()
///     .group(|_| (), |g| g.count("people").avg("age", |p| p.age).max("oldest", |p| p.age))
///     .one()
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Group<T> {
    pub(super) fields: bson::Document,
    of: PhantomData<fn() -> T>,
}

macro_rules! accumulators {
    ($($(#[$doc:meta])* $name:ident => $operator:literal;)*) => {$(
        $(#[$doc])*
        pub fn $name<E: Expression<T>>(mut self, field: &str, of: impl FnOnce(T::Paths) -> E) -> Self {
            self.fields.insert(field, doc! { $operator: of(T::paths()).expression() });
            self
        }
    )*};
}

/// A field's value in an expression.
pub(super) fn reference(name: &str) -> String {
    format!("${name}")
}

impl<T: Document> Group<T> {
    pub(super) fn new() -> Self {
        Group {
            fields: bson::Document::new(),
            of: PhantomData,
        }
    }

    /// How many documents, in a field of this name of the result.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let totals: Option<odm::bson::Document> =
    ///     people.aggregate().group(|_| (), |g| g.count("people")).one().await?;
    /// # Ok(()) }
    /// ```
    pub fn count(mut self, field: &str) -> Self {
        self.fields.insert(field, doc! { "$sum": 1 });
        self
    }

    accumulators! {
        /// The sum of a field, in a field of this name of the result.
        ///
        /// ```no_run
        /// # use samples::model::*;
        /// # async fn example(accounts: Collection<Account>) -> odm::Result<()> {
        /// let totals: Option<odm::bson::Document> =
        ///     accounts.aggregate().group(|_| (), |g| g.sum("cents", |a| a.cents)).one().await?;
        /// # Ok(()) }
        /// ```
        sum => "$sum";
        /// The mean of a field.
        avg => "$avg";
        /// The least value of a field.
        min => "$min";
        /// The greatest value of a field.
        max => "$max";
        /// The value of the group's first document, in the order that the pipeline has.
        first => "$first";
        /// The value of the group's last document.
        last => "$last";
    }

    /// Every value once, in no order.
    pub fn distinct<V, P: Step + Holds<V, As: Grouped<V>>, C>(
        mut self,
        field: &str,
        of: impl FnOnce(T::Paths) -> Path<T, V, P, C>,
    ) -> Self {
        of(T::paths());
        self.fields
            .insert(field, doc! { "$addToSet": stored_of(P::WAY, P::PATH) });
        self
    }
}

/// The key of a group: a path, a part of a date ([`DatePart`]), several of these in a tuple (from two to four), or `()` for all
/// documents as one group. A tuple is stored as a document of its fields, in whose names a dot is an underscore:
/// `addresses_city`, and `at_year` for `|c| c.at.year()`. A missing field counts as its default, or as `null`.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>) -> odm::Result<()> {
/// #[derive(Row)]
/// struct Key {
///     name: String,
///     addresses_city: Option<String>,
/// }
/// #[derive(Row)]
/// struct Row {
///     #[field(name = "_id")]
///     key: Key,
///     people: i32,
/// }
/// let rows: Vec<Row> = people
///     .aggregate()
///     .unwind(|p| p.addresses)
///     .group(|p| (p.name, p.addresses.city), |g| g.count("people"))
///     .all()
///     .await?;
/// # Ok(()) }
/// ```
pub trait GroupKey<T> {
    /// The expression of `_id`.
    fn expression(&self) -> Bson;
    /// The expression in a tuple: the server keeps a missing field apart from `null` there, and a reader does not.
    #[doc(hidden)]
    fn part(&self) -> Bson {
        self.expression()
    }
    /// The name of its field in a tuple.
    #[doc(hidden)]
    fn name(&self) -> String {
        "null".to_owned()
    }
}

impl<T, V, P: Step + Holds<V, As: Grouped<V>>, C> GroupKey<T> for Path<T, V, P, C> {
    fn expression(&self) -> Bson {
        expression_of(P::WAY, P::PATH)
    }

    fn part(&self) -> Bson {
        doc! { "$ifNull": [GroupKey::expression(self), null] }.into()
    }

    fn name(&self) -> String {
        Expression::name(self)
    }
}

impl<T> GroupKey<T> for DatePart<T> {
    fn expression(&self) -> Bson {
        Expression::expression(self)
    }

    fn name(&self) -> String {
        Expression::name(self)
    }
}

/// All documents as one group.
impl<T> GroupKey<T> for () {
    fn expression(&self) -> Bson {
        Bson::Null
    }
}

macro_rules! group_keys {
    ($(($($name:ident)*))*) => {$(
        #[allow(non_snake_case)]
        impl<T, $($name: GroupKey<T>),*> GroupKey<T> for ($($name,)*) {
            fn expression(&self) -> Bson {
                let ($($name,)*) = self;
                let mut key = bson::Document::new();
                for (name, part) in [$(($name.name(), $name.part())),*] {
                    // `a.b` beside `a_b`: each keeps its part of the key.
                    let mut free = name.clone();
                    let mut n = 2;
                    while key.contains_key(&free) {
                        free = format!("{name}_{n}");
                        n += 1;
                    }
                    key.insert(free, part);
                }
                Bson::Document(key)
            }
        }
    )*};
}

group_keys!((A B)(A B C)(A B C D));

/// The fields that [`add_fields`](super::Aggregate::add_fields) computes of each document.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(comments: Collection<Comment>) -> odm::Result<()> {
/// let dated: Vec<odm::bson::Document> =
///     comments.aggregate().add_fields(|f| f.field("year", |c| c.at.year())).all().await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct AddFields<T> {
    pub(super) fields: bson::Document,
    of: PhantomData<fn() -> T>,
}

impl<T: Document> AddFields<T> {
    pub(super) fn new() -> Self {
        AddFields {
            fields: bson::Document::new(),
            of: PhantomData,
        }
    }

    /// A field of this name, which the documents of the collection don't have: typed paths go on to name their own.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>) -> odm::Result<()> {
    /// let cities: Vec<odm::bson::Document> =
    ///     people.aggregate().unwind(|p| p.addresses).add_fields(|f| f.field("city", |p| p.addresses.city)).all().await?;
    /// # Ok(()) }
    /// ```
    pub fn field<E: Expression<T>>(mut self, name: &str, value: impl FnOnce(T::Paths) -> E) -> Self {
        self.fields.insert(name, value(T::paths()).expression());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_key_takes_no_other_ones_place() {
        struct Named(&'static str);
        impl GroupKey<()> for Named {
            fn expression(&self) -> Bson {
                reference(self.0).into()
            }
            fn name(&self) -> String {
                self.0.replace('.', "_")
            }
        }
        let key = (
            Named("a.b"),
            Named("a_b"),
            (Named("x"), Named("y")),
            (Named("z"), ()),
        );
        assert_eq!(
            key.expression(),
            Bson::Document(doc! {
                "a_b": "$a.b", "a_b_2": "$a_b",
                "null": { "x": "$x", "y": "$y" }, "null_2": { "z": "$z", "null": null },
            })
        );
    }
}
