//! Items of arrays, and of arrays within their items: a path with a condition for each array, which one change of an update takes.

use crate::Result;
use crate::model::path::{Path, PlainItems, Single, Writable};
use crate::model::shape::FieldMeta;
use crate::model::value::List;
use crate::plan::operators::{Changes, Rooted, UntypedChanges};
use crate::query::filter::{Element, Filter, on_items};
use mongodb::bson::Document;
use std::marker::PhantomData;

/// Items of type `I` in documents of type `R`, which [`Change::items`](crate::Change::items) changes: those of an array, or of an array
/// within the items of another one, each by a condition. [`Path::items`] and [`Path::all_items`] begin it.
///
/// ```
/// # use samples::model::*;
/// use odm::update::Items;
///
/// let in_bonn: Items<Person, Address> = Person::paths().addresses.items(|a| a.city.eq("Bonn"));
/// ```
#[must_use = "items do nothing until a change takes them"]
pub struct Items<R, I> {
    levels: Vec<ItemLevel>,
    of: PhantomData<fn() -> (R, I)>,
}

/// An array, and which of its items are meant.
struct ItemLevel {
    array: &'static str,
    field: Option<&'static FieldMeta>,
    /// Keeps the change off documents, or items, that have another variant than the one with the array.
    in_variant: fn(&mut UntypedChanges),
    /// `None` for all items.
    condition: Option<Result<Document>>,
}

/// The paths of an item, as closures receive them.
type ItemPaths<I> = <Element<I> as Rooted>::Paths;

impl ItemLevel {
    fn of<A: List, P: Single>(condition: Option<Filter<Element<A::Item>>>) -> ItemLevel {
        ItemLevel {
            array: P::PATH,
            field: P::FIELD,
            in_variant: UntypedChanges::in_variant::<P>,
            condition: condition.map(on_items::<A, P>),
        }
    }
}

impl<R, A: List, P: Single, C: Writable + PlainItems> Path<R, A, P, C> {
    /// The items of the array that match this condition, for [`Change::items`](crate::Change::items).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// let update = people.update(kate.id);
    /// update.items(|p| p.addresses.items(|a| a.city.eq("Bonn")), |a| a.set(|a| a.street, "Am Hof 1")).await?;
    /// # Ok(()) }
    /// ```
    pub fn items(
        self,
        condition: impl FnOnce(ItemPaths<A::Item>) -> Filter<Element<A::Item>>,
    ) -> Items<R, A::Item> {
        Items::of::<A, P>(Vec::new(), Some(condition(Element::rooted())))
    }

    /// All items of the array, for [`Change::items`](crate::Change::items).
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, kate: Person) -> odm::Result<()> {
    /// let update = people.update(kate.id);
    /// update.items(|p| p.addresses.all_items(), |a| a.set(|a| a.city, "Bonn")).await?;
    /// # Ok(()) }
    /// ```
    pub fn all_items(self) -> Items<R, A::Item> {
        Items::of::<A, P>(Vec::new(), None)
    }
}

impl<R, I> Items<R, I> {
    fn of<A: List<Item = I>, P: Single>(
        mut levels: Vec<ItemLevel>,
        condition: Option<Filter<Element<I>>>,
    ) -> Items<R, I> {
        levels.push(ItemLevel::of::<A, P>(condition));
        Items {
            levels,
            of: PhantomData,
        }
    }

    /// Of these items: the items of an array in them that match this condition.
    ///
    /// ```
    /// use odm::prelude::*;
    /// use odm::update::Items;
    ///
    /// #[derive(Document)]
    /// #[document(collection = "series")]
    /// struct Series {
    ///     id: i32,
    ///     #[embed(max = 20)]
    ///     seasons: Vec<Season>,
    /// }
    ///
    /// #[derive(Embed)]
    /// struct Season {
    ///     number: i32,
    ///     #[embed(max = 30)]
    ///     episodes: Vec<Episode>,
    /// }
    ///
    /// #[derive(Embed)]
    /// struct Episode {
    ///     title: String,
    ///     rating: i32,
    /// }
    ///
    /// # async fn example(series: odm::Collection<Series>) -> odm::Result<()> {
    /// let update = series.update(1).items(
    ///     |s| {
    ///         s.seasons
    ///             .items(|season| season.number.eq(2))
    ///             .items_of(|season| season.episodes, |episode| episode.title.eq("Finale"))
    ///     },
    ///     |episode| episode.set(|e| e.rating, 9),
    /// );
    /// update.await?;
    /// # Ok(()) }
    /// ```
    pub fn items_of<A: List, P: Single, C: Writable + PlainItems>(
        self,
        array: impl FnOnce(ItemPaths<I>) -> Path<Element<I>, A, P, C>,
        condition: impl FnOnce(ItemPaths<A::Item>) -> Filter<Element<A::Item>>,
    ) -> Items<R, A::Item> {
        array(Element::rooted());
        Items::of::<A, P>(self.levels, Some(condition(Element::rooted())))
    }

    /// Of these items: all items of an array in them.
    ///
    /// ```
    /// # use odm::prelude::*;
    /// #[derive(Document)]
    /// #[document(collection = "shelves")]
    /// struct Shelf {
    ///     id: i32,
    ///     #[embed(max = 20)]
    ///     boards: Vec<Board>,
    /// }
    ///
    /// #[derive(Embed)]
    /// struct Board {
    ///     topic: String,
    ///     #[embed(max = 30)]
    ///     prices: Vec<i64>,
    /// }
    ///
    /// # async fn example(shelves: odm::Collection<Shelf>) -> odm::Result<()> {
    /// let update = shelves.update(1).items(
    ///     |s| s.boards.items(|board| board.topic.eq("novels")).all_items_of(|board| board.prices),
    ///     |price| price.mul(|price| price, 2),
    /// );
    /// update.await?;
    /// # Ok(()) }
    /// ```
    pub fn all_items_of<A: List, P: Single, C: Writable + PlainItems>(
        self,
        array: impl FnOnce(ItemPaths<I>) -> Path<Element<I>, A, P, C>,
    ) -> Items<R, A::Item> {
        array(Element::rooted());
        Items::of::<A, P>(self.levels, None)
    }

    /// Makes a change of the innermost items one of the document.
    pub(super) fn change(
        self,
        changes: &mut UntypedChanges,
        change: impl FnOnce(Changes<Element<I>>) -> Changes<Element<I>>,
    ) {
        let mut change = Some(change);
        let mut innermost = |above: &UntypedChanges, level: &ItemLevel| {
            let items = Changes::of_items(above, level.array, level.field);
            change
                .take()
                .map_or_else(UntypedChanges::default, |change| change(items).untyped)
        };
        changes.change_within(self.levels.into_iter(), &mut innermost);
    }
}

impl UntypedChanges {
    /// Takes the changes that `innermost` makes of the items of the last array, through the items of the arrays around it.
    fn change_within(
        &mut self,
        mut levels: std::vec::IntoIter<ItemLevel>,
        innermost: &mut dyn FnMut(&UntypedChanges, &ItemLevel) -> UntypedChanges,
    ) {
        let Some(level) = levels.next() else { return };
        (level.in_variant)(self);
        let inner = if levels.len() == 0 {
            innermost(self, &level)
        } else {
            let mut inner = Changes::<()>::of_items(self, level.array, level.field).untyped;
            inner.change_within(levels, innermost);
            inner
        };
        // The server refuses a condition that no change uses.
        if inner.is_empty() {
            return;
        }
        match level.condition.map(|condition| self.value(condition)) {
            None => self.change_items(level.array, level.field, None, inner),
            Some(Some(condition)) => self.change_items(level.array, level.field, Some(condition), inner),
            // Its error is that of the update.
            Some(None) => {}
        }
    }
}
