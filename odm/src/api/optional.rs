//! Writes of one document that may not be there.

use crate::{Document, Error, Result};
use futures::future::BoxFuture;
use std::future::IntoFuture;
use std::marker::PhantomData;

/// A write of one document of `T`, which gives [`Error::NotFound`] where there is none.
pub trait WritesOne<T>:
    IntoFuture<Output = Result<Self::Done>, IntoFuture = BoxFuture<'static, Result<Self::Done>>>
{
    /// The result of the write where the document is there.
    type Done: 'static;
}

/// A write of one document that may not be there: `.await` gives `None` then. It is made by `optional()`.
///
/// # Errors
/// Those of the write, but for [`Error::NotFound`] of its document.
///
/// # Cost
/// That of the write.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// # async fn example(people: Collection<Person>, id: ObjectId) -> odm::Result<()> {
/// if people.delete(id).optional().await?.is_none() {
///     println!("it was not there");
/// }
/// let older: Option<Person> = people.update(id).inc(|p| p.age, 1).returning().optional().await?;
/// # Ok(()) }
/// ```
#[must_use = "a write does nothing until it is awaited"]
#[derive(Debug)]
pub struct Optional<T, W> {
    write: W,
    of: PhantomData<fn() -> T>,
}

impl<T, W> Optional<T, W> {
    pub(crate) fn new(write: W) -> Self {
        Optional {
            write,
            of: PhantomData,
        }
    }
}

impl<T: Document, W: WritesOne<T>> IntoFuture for Optional<T, W> {
    type Output = Result<Option<W::Done>>;
    type IntoFuture = BoxFuture<'static, Result<Option<W::Done>>>;

    fn into_future(self) -> Self::IntoFuture {
        let written = self.write.into_future();
        Box::into_pin(Box::new(async move {
            match written.await {
                Ok(done) => Ok(Some(done)),
                Err(Error::NotFound { collection, .. }) if collection == T::META.collection => Ok(None),
                Err(error) => Err(error),
            }
        }))
    }
}

/// Declares writes of one document, which have `optional()` then.
macro_rules! writes_one {
    ($($write:ty, $document:ident => $done:ty;)*) => {$(
        impl<$document: $crate::Document> $crate::api::optional::WritesOne<$document> for $write {
            type Done = $done;
        }

        impl<$document: $crate::Document> $write {
            /// Gives `None` where the document is not there, instead of [`Error::NotFound`](crate::Error::NotFound).
            ///
            /// ```no_run
            /// # use samples::model::*;
            /// # async fn example(accounts: Collection<Account>) -> odm::Result<()> {
            /// if accounts.delete(&7).optional().await?.is_none() {
            ///     println!("there was none");
            /// }
            /// # Ok(()) }
            /// ```
            pub fn optional(self) -> $crate::api::optional::Optional<$document, Self> {
                $crate::api::optional::Optional::new(self)
            }
        }
    )*};
}
pub(crate) use writes_one;
