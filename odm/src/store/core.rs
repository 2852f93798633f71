//! A collection as everything below the typed builders knows it.

use crate::model::document::DocumentMeta;
use crate::store::batches::Take;
use crate::store::session::Shared;
use crate::store::trace::Trace;
use crate::{Error, Odm, Result};
use mongodb::bson::{Bson, RawDocumentBuf, doc};
use mongodb::options::{CollectionOptions, ReadPreference, SelectionCriteria, WriteConcern};

/// Reads that have to find what was written a moment ago go to the primary: a secondary may lag behind.
pub(crate) const PRIMARY: SelectionCriteria = SelectionCriteria::ReadPreference(ReadPreference::Primary);

/// A collection without the type of its documents. Everything below the typed handles and builders works on it, and is compiled
/// once for all types.
#[derive(Clone)]
pub(crate) struct Core {
    meta: &'static DocumentMeta,
    odm: Odm,
    raw: mongodb::Collection<RawDocumentBuf>,
    session: Option<Shared>,
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collection")
            .field("of", &self.meta.name)
            .field("name", &self.meta.collection)
            .finish()
    }
}

impl Core {
    pub(crate) fn new(odm: &Odm, meta: &'static DocumentMeta, session: Option<Shared>) -> Core {
        // What copies depend on may not be lost when another server becomes the primary.
        let raw = match odm.graph().is_depended_on(meta) {
            false => odm.database().collection(meta.collection),
            true => {
                let options = CollectionOptions::builder()
                    .write_concern(WriteConcern::majority())
                    .build();
                odm.database().collection_with_options(meta.collection, options)
            }
        };
        Core {
            meta,
            odm: odm.clone(),
            raw,
            session,
        }
    }

    pub(crate) fn meta(&self) -> &'static DocumentMeta {
        self.meta
    }

    pub(crate) fn odm(&self) -> &Odm {
        &self.odm
    }

    pub(crate) fn raw(&self) -> &mongodb::Collection<RawDocumentBuf> {
        &self.raw
    }

    pub(crate) fn session(&self) -> Option<&Shared> {
        self.session.as_ref()
    }

    /// The same collection within a session, or out of one.
    pub(crate) fn within(&self, session: Option<Shared>) -> Core {
        Core {
            session,
            ..self.clone()
        }
    }

    pub(crate) fn trace(&self, operation: &'static str) -> Trace {
        Trace::new(self.meta.collection, operation)
    }

    /// Maps an error of the driver's.
    pub(crate) fn error(&self, error: mongodb::error::Error) -> Error {
        crate::store::map::Context::of(self.meta).driver(error)
    }

    /// Hands the document with this id to `take`, if there is one.
    // As an `async fn` its future would hold the arguments twice.
    #[allow(clippy::manual_async_fn)]
    pub(crate) fn get<'a>(
        &'a self,
        id: Bson,
        take: Take<'a>,
    ) -> impl Future<Output = Result<()>> + Send + use<'a> {
        async move {
            let trace = self.trace("get");
            trace
                .run(async {
                    let found = act!(self.session(), self.raw.find_one(doc! { "_id": id }));
                    let found = found.map_err(|error| self.error(error))?;
                    if let Some(found) = &found {
                        take(found)?;
                    }
                    trace.done(1, found.is_some().into());
                    Ok(())
                })
                .await
        }
    }
}

/// Executes an action of the driver, in the session if there is one. An action is up to 1 kB of options: given as an expression, it is
/// made after the session is locked, so that the future does not hold it meanwhile.
macro_rules! act {
    ($session:expr, $action:expr) => {
        match $session {
            Some(session) => {
                let outcome = {
                    let mut locked = session.lock().await;
                    $action.session(&mut *locked).await
                };
                session.noted(outcome)
            }
            None => $action.await,
        }
    };
}
pub(crate) use act;

/// Executes an action of the driver that returns a cursor: its batches, each read by `$read`. The session is free between two
/// of them, for other operations of the transaction.
macro_rules! batches {
    ($session:expr, $action:expr, $meta:expr, $read:expr) => {{
        use futures::stream::StreamExt as _;
        let (meta, read) = ($meta, $read);
        let failed = move |error| $crate::store::map::Context::of(meta).driver(error);
        let read = move |batch: mongodb::error::Result<_>| read(batch.map_err(failed)?);
        match $session {
            None => $action.batch().await.map_err(failed)?.map(read).boxed(),
            Some(session) => {
                let session = session.clone();
                let cursor = {
                    let mut locked = session.lock().await;
                    $action.session(&mut *locked).batch().await.map_err(failed)?
                };
                futures::stream::unfold((cursor, session, read), async |(mut cursor, session, read)| {
                    let next = {
                        let mut locked = session.lock().await;
                        cursor.stream(&mut locked).next().await
                    };
                    next.map(|batch| (read(batch), (cursor, session, read)))
                })
                .boxed()
            }
        }
    }};
}
pub(crate) use batches;
