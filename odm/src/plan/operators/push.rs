//! Where pushed items stand, and how many items the array keeps: `$position`, `$sort`, `$slice`.

use crate::model::meta::FieldMeta;
use crate::query::filter::{Element, IntoSort, Order};
use mongodb::bson::{Bson, Document, doc};
use std::marker::PhantomData;

/// Where pushed items stand in the array, and how many items it keeps: for
/// [`push_into`](crate::update::Change::push_into).
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, kate: Person, home: Address) -> odm::Result<()> {
/// // The newest ten tags.
/// people.update(kate.id).push_into(|p| p.tags, ["rust"], |tags| tags.keep_last(10)).await?;
/// // The first three addresses in the order of their cities.
/// people
///     .update(kate.id)
///     .push_into(|p| p.addresses, [home], |all| all.sort(|a| a.city.asc()).keep_first(3))
///     .await?;
/// # Ok(()) }
/// ```
#[must_use = "the items are pushed as this says where the closure returns it"]
#[derive(Debug)]
pub struct Placed<I> {
    position: Option<i64>,
    sort: Option<Bson>,
    slice: Option<i64>,
    of: PhantomData<fn() -> I>,
}

impl<I> Placed<I> {
    pub(super) fn new() -> Placed<I> {
        Placed {
            position: None,
            sort: None,
            slice: None,
            of: PhantomData,
        }
    }

    /// Inserts the items before the one with this number, counted from 0; a negative number counts from the end: `$position`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).push_into(|p| p.tags, ["first"], |tags| tags.position(0)).await?;
    /// # Ok(()) }
    /// ```
    pub fn position(mut self, position: i32) -> Placed<I> {
        self.position = Some(position.into());
        self
    }

    /// Sorts the whole array, with the pushed items: `$sort`. An item itself is sorted by `|item| item.asc()`.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).push_into(|p| p.tags, ["a"], |tags| tags.sort(|tag| tag.asc())).await?;
    /// # Ok(()) }
    /// ```
    pub fn sort<S: IntoSort<Element<I>>>(
        mut self,
        order: impl FnOnce(crate::query::Path<Element<I>, I, crate::model::path::Root>) -> S,
    ) -> Placed<I> {
        let order = order(crate::query::Path::NEW).into_sort();
        self.sort = Some(sort(order.into_iter().map(Order::untyped)));
        self
    }

    /// Keeps the first `n` items of the array: `$slice`. Where `n` is within the bound of the array, a full array refuses no push.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).push_into(|p| p.tags, ["a"], |tags| tags.position(0).keep_first(10)).await?;
    /// # Ok(()) }
    /// ```
    pub fn keep_first(mut self, n: u32) -> Placed<I> {
        self.slice = Some(n.into());
        self
    }

    /// Keeps the last `n` items of the array: `$slice` with a negative number. Where `n` is within the bound of the array, a full
    /// array refuses no push.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// people.update(kate.id).push_into(|p| p.tags, ["a"], |tags| tags.keep_last(10)).await?;
    /// # Ok(()) }
    /// ```
    pub fn keep_last(mut self, n: u32) -> Placed<I> {
        self.slice = Some(-i64::from(n));
        self
    }

    /// How many items the array keeps at most.
    pub(super) fn kept(&self) -> Option<u64> {
        self.slice.map(i64::unsigned_abs)
    }

    /// The operand of `$push`.
    pub(super) fn operand(self, items: Vec<Bson>) -> Document {
        let mut push = doc! { "$each": items };
        let number = |n: i64| i32::try_from(n).map_or(Bson::Int64(n), Bson::Int32);
        push.extend(self.position.map(|n| ("$position".to_owned(), number(n))));
        push.extend(self.sort.map(|sort| ("$sort".to_owned(), sort)));
        push.extend(self.slice.map(|n| ("$slice".to_owned(), number(n))));
        push
    }
}

/// By the fields of the items, or by the items themselves, which have no name.
fn sort(order: impl Iterator<Item = Order<()>>) -> Bson {
    let mut fields = Document::new();
    for order in order {
        if order.name.is_empty() {
            return Bson::Int32(order.direction());
        }
        fields.insert(order.name, order.direction());
    }
    Bson::Document(fields)
}

/// Why items can't be placed in this field, if they can't.
pub(super) fn refused(name: &str, field: Option<&'static FieldMeta>, is_set: bool) -> Option<String> {
    if is_set {
        return Some(format!(
            "`{name}` is a set, or has `unique_items`, and the server adds an item only once where no place is asked for: use \
             `push_all`, or make it a `Vec` without `unique_items`"
        ));
    }
    let field = field?;
    let linked = field
        .reference
        .is_some_and(|reference| reference.inverse.is_some());
    (linked || field.entry.is_some()).then(|| {
        format!(
            "`{name}` holds references with copies, or with another side, which a push that drops items would leave behind: use \
             `push_all` and `pull`"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operand_has_what_was_asked_for() {
        let items = || vec![Bson::Int32(1)];
        let all = Placed::<i32>::new().position(-1).keep_first(3);
        assert_eq!(
            all.operand(items()),
            doc! { "$each": [1], "$position": -1, "$slice": 3 }
        );
        let last = Placed::<i32>::new().keep_last(0);
        assert_eq!(last.operand(items()), doc! { "$each": [1], "$slice": 0 });
        let large = Placed::<i32>::new().keep_last(u32::MAX);
        assert_eq!(large.kept(), Some(u64::from(u32::MAX)));
        assert_eq!(
            large.operand(items()),
            doc! { "$each": [1], "$slice": -i64::from(u32::MAX) }
        );
    }
}
