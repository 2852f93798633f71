//! `field.load(&odm)`: loads the documents that a given document refers to.

use super::hop::run_all;
use super::include::{Beyond, LeaveOut, Missing, Noted, OrNone, Refused, Strict, To, takes_deleted};
use super::pointer::{Load, LoadById};
use super::{Hop, Join, ReadFrom, Source};
use crate::model::path::Root;
use crate::model::reference::{Pointer, Reference, ReferenceTo};
use crate::model::stored::Stored;
use crate::{Document, Error, Result};
use futures::future::BoxFuture;
use mongodb::bson::{RawDocumentBuf, doc};
use std::future::IntoFuture;
use std::marker::PhantomData;

/// A reference, or several, of a given document: [`load`](LoadRefs::load) returns their targets.
///
/// A reference by another field than `_id` does not say by which: [`Collection::load`](crate::Collection::load) joins it.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm, post: Post) -> odm::Result<()> {
/// let author: User = post.author.load(&odm).await?;
/// let tags: Vec<Tag> = post.tags.load(&odm).await?;
/// # Ok(()) }
/// ```
pub trait LoadRefs: Reference<Pointer: LoadById> + Stored + Sized {
    /// The documents, in the order of the references and with duplicates kept; an `Option` for an `Option`. `.await` executes
    /// it.
    ///
    /// # Errors
    /// [`Error::MissingReference`] with the ids that no document has, [`Error::Decode`].
    ///
    /// # Cost
    /// One round trip, whatever the number of references (one for each collection of a union, none for no reference).
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, post: Post) -> odm::Result<()> {
    /// let tags: Vec<Tag> = post.tags.load(&odm).await?;
    /// # Ok(()) }
    /// ```
    fn load(&self, from: &impl ReadFrom) -> Loading<Self> {
        let raw = crate::model::encode::stored(self)
            .and_then(|value| RawDocumentBuf::try_from(&doc! { "v": value }))
            .map_err(|source| Error::Encode {
                field: crate::store::decode::short_name(std::any::type_name::<Self>()).to_owned(),
                source: Box::new(source),
            });
        Loading {
            from: from.source(),
            raw,
            join: (),
            of: PhantomData,
        }
    }
}

impl<V: Reference<Pointer: LoadById> + Stored> LoadRefs for V {}

/// The documents that references lead to, until `.await` asks for them.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm, comment: Comment) -> odm::Result<()> {
/// let (post, author): (Post, User) = comment.post.load(&odm).include(|p| p.author).await?;
/// # Ok(()) }
/// ```
#[must_use = "nothing is loaded until it is awaited"]
#[allow(clippy::type_complexity)] // variance alone: no value of these types
pub struct Loading<V, M = Strict, J = ()> {
    from: Source,
    raw: Result<RawDocumentBuf>,
    join: J,
    of: PhantomData<fn() -> (Box<V>, M)>,
}

impl<V, M, J> std::fmt::Debug for Loading<V, M, J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loading")
            .field("references", &self.raw)
            .finish_non_exhaustive()
    }
}

impl<V: Reference> Loading<V> {
    /// Joins further documents to those that are loaded.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, comment: Comment) -> odm::Result<()> {
    /// let (post, tags): (Post, Vec<Tag>) = comment.post.load(&odm).include(|p| p.tags).await?;
    /// # Ok(()) }
    /// ```
    pub fn include<J: Join<V::Target>>(
        self,
        join: impl FnOnce(<V::Target as Document>::Paths) -> J,
    ) -> Loading<V, Strict, To<J>>
    where
        V: ReferenceTo,
    {
        Loading {
            from: self.from,
            raw: self.raw,
            join: To::new(join(V::Target::paths())),
            of: PhantomData,
        }
    }
}

impl<V, J> Loading<V, Strict, J> {
    /// Gives `None` in the place of a target that does not exist, instead of an error.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, post: Post) -> odm::Result<()> {
    /// let tags: Vec<Option<Tag>> = post.tags.load(&odm).or_none().await?;
    /// # Ok(()) }
    /// ```
    pub fn or_none(self) -> Loading<V, OrNone, J> {
        Loading {
            from: self.from,
            raw: self.raw,
            join: self.join,
            of: PhantomData,
        }
    }

    /// Leaves out targets that do not exist, instead of an error.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm, post: Post) -> odm::Result<()> {
    /// let tags: Vec<Tag> = post.tags.load(&odm).leave_out_missing().await?;
    /// # Ok(()) }
    /// ```
    pub fn leave_out_missing(self) -> Loading<V, LeaveOut, J> {
        Loading {
            from: self.from,
            raw: self.raw,
            join: self.join,
            of: PhantomData,
        }
    }
}

impl<V, M, J> IntoFuture for Loading<V, M, J>
where
    V: Reference<Pointer: Load>,
    M: Missing,
    J: Beyond<V::Pointer>,
    J::State: Send,
{
    type Output = Result<M::Given<V, J::Item>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let loaded = async move {
            let raw = self.raw?;
            let target = V::Pointer::TARGETS
                .first()
                .map_or("", |t| (t.document)().collection);
            let field = crate::store::decode::short_name(std::any::type_name::<V>());
            let refused = Refused::of::<V, M>(target, field, 0);
            let mut noted = Noted::new(&mut 0, |number| self.join.start(number));
            let mut hops = vec![Hop::default()];
            if let Some(hop) = hops.first_mut() {
                let hop = (hop, takes_deleted(refused));
                noted.note::<V::Pointer, J>("v", "_id", &raw, hop, 0)?;
            }
            let mut further = |level: usize, hops: &[Hop], next: &mut Hop| {
                noted.next::<V::Pointer, J>(&self.join, level, hops, next, refused)
            };
            run_all(&mut hops, &self.from, &mut further).await?;
            noted.out::<V::Pointer, J, V, M, Root>(&self.join, &mut hops, 0, (target, field))
        };
        Box::into_pin(Box::new(loaded))
    }
}
