//! What `#[bucket(…)]` implements for items.

use crate::model::document::Identified;
use crate::model::meta::bucket::BucketMeta;
use crate::model::path::Nested;
use crate::model::stored::{Fields, Row};
use crate::plan::operators::Changes;
use crate::plan::operators::change::Change;
use crate::query::filter::{Element, Filter};
use crate::{Document, Embed};
use mongodb::bson::oid::ObjectId;

/// A value that is kept in buckets: documents that hold a bounded number of them, in the order in which they were pushed.
///
/// It is implemented by `#[bucket(…)]` on a struct that derives [`Embed`](derive@Embed); the items are written and read
/// by [`Odm::buckets`](crate::Odm::buckets).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not kept in buckets",
    note = "say which document they belong to: `#[derive(Embed, …)] #[bucket(of = Post, size = 50)] struct {Self} {{ … }}`"
)]
pub trait Bucketed: Embed + Nested + Fields + Row + Send + Sync + Unpin {
    /// The document that holds them: `CommentBucket`.
    type Bucket: Document<Id = ObjectId>;
    /// The document that they belong to.
    type Parent: Identified;
    #[doc(hidden)]
    const BUCKET: &'static BucketMeta;
    #[doc(hidden)]
    fn push<C: Change<Self::Bucket>>(on: C, items: &[Self]) -> C;
    #[doc(hidden)]
    fn edit<C: Change<Self::Bucket>>(
        on: C,
        items: Filter<Element<Self>>,
        change: Changes<Element<Self>>,
    ) -> C;
    #[doc(hidden)]
    fn delete<C: Change<Self::Bucket>>(on: C, items: Filter<Element<Self>>) -> C;
    #[doc(hidden)]
    fn items(bucket: Self::Bucket) -> Vec<Self>;
}

/// A trait that no bucket has: the application can't insert or replace one.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a `{B}` is written by `odm.buckets::<{I}>()` alone, which keeps in step what it holds and what it counts and sums",
    note = "add items, and the buckets that they need: `odm.buckets::<{I}>().push(&parent, item)` or `push_many`",
    note = "change or delete items: `odm.buckets::<{I}>().edit(…)` and `.delete(…)`"
)]
pub trait WritesBuckets<I: ?Sized, B: ?Sized> {}

/// Items whose buckets follow each other by their number alone, so that a number names one: pages.
#[diagnostic::on_unimplemented(
    message = "the buckets of `{Self}` are for times (`per`), in each of which the pages begin anew, so a number does not name one",
    note = "read the items of a time: `.range(&parent, from..to)`"
)]
pub trait ByCount {}

/// Items whose buckets are for an hour, a day or a month each.
#[diagnostic::on_unimplemented(
    message = "the buckets of `{Self}` are not for times",
    note = "`#[bucket(per = day, time = at, …)]` keeps the items of a day together"
)]
pub trait ByTime: Timed {}

/// Items that have a time.
#[diagnostic::on_unimplemented(
    message = "the buckets of `{Self}` know no time of the items, so they can't be found by it",
    note = "name the field of the type `DateTime`: `#[bucket(time = at, …)]`"
)]
pub trait Timed {}
