//! Operations as values: an [`Action`] can be stored, returned by a function, and run in a task of its own.

use crate::{Error, Result};
use futures::future::BoxFuture;
use mongodb::bson::{Bson, Document, doc};

/// An operation that needs no further option. `.await` executes it; until then nothing is sent.
///
/// Reads return it ([`Collection::get`](crate::Collection::get), [`Find::all`](crate::query::Find::all),
/// [`Aggregate::all`](crate::query::Aggregate::all)), and so do the methods of [`Buckets`](crate::buckets::Buckets) and those of
/// [`Odm`](crate::Odm) without options, such as [`sync`](crate::Odm::sync). An operation with options has a builder of its own,
/// such as [`Insert`](crate::write::Insert), which is awaited in the same way.
///
/// It owns everything that it needs: it can be stored, returned by a function, and run in a task of its own. Where a future is
/// wanted (`tokio::spawn`, `join_all`), call [`into_future`](IntoFuture::into_future), as with all builders.
///
/// # Errors
/// The errors that the method lists; among them the error of an argument, which ends the operation before anything is sent.
///
/// # Cost
/// The cost that the method states. An action that is dropped costs no round trip.
///
/// # Example
/// ```no_run
/// # use samples::model::*;
/// use odm::query::Action;
///
/// fn oldest(people: &Collection<Person>) -> Action<Option<Person>> {
///     people.find_all().sort(|p| p.age.desc()).one()
/// }
///
/// # async fn example(people: Collection<Person>, ids: Vec<ObjectId>) -> odm::Result<()> {
/// let person = oldest(&people).await?;
/// // In a task of its own:
/// let task = tokio::spawn(oldest(&people).into_future());
/// // Several at the same time:
/// let found = futures::future::try_join_all(ids.into_iter().map(|id| people.get(id).into_future())).await?;
/// # Ok(()) }
/// ```
#[must_use = "an operation does nothing until it is awaited"]
pub struct Action<Out> {
    collection: &'static str,
    operation: &'static str,
    work: Box<dyn Future<Output = Result<Out>> + Send>,
    sought: Sought,
}

/// The one document that an action reads.
pub(crate) enum Sought {
    /// Whatever matches.
    Any,
    Id(Bson),
    Key(Box<Document>),
}

impl<Out> Action<Out> {
    /// `collection` and `operation` are those of its trace, where it has one.
    ///
    /// Takes a plain box: `boxed` and `Box::pin` would make an application instantiate six more functions for each future.
    pub(crate) fn new(
        collection: &'static str,
        operation: &'static str,
        work: Box<dyn Future<Output = Result<Out>> + Send>,
    ) -> Self {
        Action {
            collection,
            operation,
            work,
            sought: Sought::Any,
        }
    }

    /// The same of an action that reads one document, for the error of [`required`](Action::required).
    pub(crate) fn seeking(mut self, sought: Sought) -> Self {
        self.sought = sought;
        self
    }
}

impl<Out: 'static> Action<Option<Out>> {
    /// Gives the document itself, where it has to be there.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is none, with the id or the unique key that was looked for, besides those of the action.
    ///
    /// # Cost
    /// That of the action.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(people: Collection<Person>, id: ObjectId) -> odm::Result<()> {
    /// let kate: Person = people.get(id).required().await?;
    /// let oldest: Person = people.find_all().sort(|p| p.age.desc()).one().required().await?;
    /// # Ok(()) }
    /// ```
    pub fn required(self) -> Action<Out> {
        let Action {
            collection,
            operation,
            work,
            sought,
        } = self;
        let found = async move {
            Box::into_pin(work).await?.ok_or_else(|| Error::NotFound {
                collection,
                key: match sought {
                    Sought::Any => Box::default(),
                    Sought::Id(id) => Box::new(doc! { "_id": id }),
                    Sought::Key(key) => key,
                },
                deleted: false,
            })
        };
        Action::new(collection, operation, Box::new(found))
    }
}

impl<Out> std::fmt::Debug for Action<Out> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Action")
            .field("collection", &self.collection)
            .field("operation", &self.operation)
            .finish_non_exhaustive()
    }
}

impl<Out> IntoFuture for Action<Out> {
    type Output = Result<Out>;
    type IntoFuture = BoxFuture<'static, Result<Out>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::into_pin(self.work)
    }
}
