//! A collection as everything below the typed builders knows it.

use crate::model::document::{Document, DocumentMeta, Target};
use crate::store::batches::Take;
use crate::store::clock::takes_time;
use crate::store::filter::{all, within};
use crate::store::held::Hold;
use crate::store::options::{CommandOptions, Options, raised};
use crate::store::routes::Routes;
use crate::store::session::Session;
use crate::store::trace::Trace;
use crate::{Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{self, Bson, RawDocument, RawDocumentBuf, doc};
use mongodb::options::{
    CollectionOptions, FindOneOptions, ReadConcern, ReadPreference, SelectionCriteria, WriteConcern,
};
use std::sync::Arc;

/// Reads that have to find what was written a moment ago go to the primary: a secondary may lag behind.
pub(crate) const PRIMARY: SelectionCriteria = SelectionCriteria::ReadPreference(ReadPreference::Primary);

/// A collection without the type of its documents. Everything below the typed handles and builders works on it, and is compiled
/// once for all types.
#[derive(Clone)]
pub(crate) struct Core {
    meta: &'static DocumentMeta,
    odm: Odm,
    raw: mongodb::Collection<RawDocumentBuf>,
    session: Option<Session>,
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
    pub(crate) fn new(odm: &Odm, meta: &'static DocumentMeta, session: Option<Session>) -> Core {
        let mut odm = odm.clone();
        if session.is_some() {
            odm.within_transaction();
        }
        // What copies depend on may not be lost when another server becomes the primary.
        let raw = if !odm.graph().is_depended_on(meta) {
            odm.database().collection(meta.collection)
        } else {
            let options = CollectionOptions::builder()
                .write_concern(WriteConcern::majority())
                .build();
            odm.database().collection_with_options(meta.collection, options)
        };
        Core {
            meta,
            odm,
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

    pub(crate) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Adds options of one operation.
    pub(crate) fn add_options(&mut self, mut options: Options) {
        if self.session.is_some() {
            options.note_misplaced();
        }
        self.odm.add_options(options);
    }

    pub(crate) fn options(&self) -> Option<&Options> {
        self.odm.options()
    }

    pub(crate) fn command_options(&self) -> CommandOptions {
        CommandOptions {
            options: self.odm.handle_options().clone(),
            concern: self.concern().filter(|_| self.session.is_none()),
        }
    }

    /// The write concern of the application's own writes, where the handle or the operation has one.
    pub(crate) fn concern(&self) -> Option<WriteConcern> {
        let concern = self.odm.options()?.write_concern.as_ref()?;
        Some(if self.odm.graph().is_depended_on(self.meta) {
            raised(concern)
        } else {
            concern.clone()
        })
    }

    /// Refuses options that an operation can't have.
    ///
    /// # Errors
    /// [`Error::Query`], with the option.
    pub(crate) fn may_have_options(&self) -> Result<()> {
        self.odm.may_have_options(self.meta.collection)
    }

    /// The same collection within a session, or out of one.
    pub(crate) fn within(&self, session: Option<Session>) -> Core {
        Core {
            session,
            ..self.clone()
        }
    }

    pub(crate) fn trace(&self, operation: &'static str) -> Trace {
        Trace::new(self.meta.collection, operation)
            .concealing(self.odm.graph().sensitive())
            .knowing(self.routes_of_operation())
    }

    /// The shard keys that an operation knows before it begins.
    pub(crate) fn routes(&self) -> Option<Arc<Routes>> {
        let own = self.options().and_then(|options| options.routes.0.clone());
        own.or_else(|| self.session.as_ref().map(Session::routes))
    }

    /// The same for what one operation notes beside them.
    pub(crate) fn routes_of_operation(&self) -> Option<Arc<Routes>> {
        let own = self.options().and_then(|options| options.routes.0.clone());
        own.or_else(|| {
            let session = self.session.as_ref()?;
            Some(Arc::new(Routes::within(session.routes())))
        })
    }

    /// Restricts the operation to documents with this value in a field of the shard key.
    pub(crate) fn add_at(&mut self, path: &str, condition: Result<bson::Document>) {
        let fields = self.meta.shard_key.map_or(&[][..], |key| key.fields);
        let condition = match condition {
            _ if !fields.iter().any(|field| field.path == path) => Err(self.no_key_field(path)),
            Ok(condition) => match self.given_key().cloned() {
                Some(Ok(others)) => Ok(all([others, condition])),
                Some(refused) => refused,
                None => Ok(condition),
            },
            Err(error) => Err(error.to_string()),
        };
        self.odm.add_options(Options::at(condition));
    }

    fn given_key(&self) -> Option<&Result<bson::Document, String>> {
        self.options()?.at.0.as_deref()
    }

    fn no_key_field(&self, path: &str) -> String {
        let name = self.meta.name;
        match self.meta.shard_key {
            None => format!(
                "`at` gives a value of the shard key, and `{name}` declares none: leave it out, or declare the key, \
                 `#[document(shard_key(…))]`"
            ),
            Some(key) => {
                let fields: Vec<&str> = key.fields.iter().map(|field| field.path).collect();
                format!(
                    "`at` gives a value of the shard key, and `{path}` is no field of that of `{name}`, which has `{}`: name one of these, \
                     or write a condition by `find` or `update_where`",
                    fields.join("`, `")
                )
            }
        }
    }

    /// The condition of the values of the shard key that the operation is given: on its own document, and not on those that it meets.
    ///
    /// # Errors
    /// [`Error::Query`] for a field that is not in the key.
    pub(crate) fn at(&self) -> Result<Option<&bson::Document>> {
        match self.given_key() {
            None => Ok(None),
            Some(Ok(condition)) => Ok(Some(condition)),
            Some(Err(message)) => Err(Error::Query {
                collection: self.meta.collection,
                message: message.clone(),
            }),
        }
    }

    /// A filter with that condition.
    ///
    /// # Errors
    /// As [`at`](Core::at).
    pub(crate) fn placed(&self, filter: bson::Document) -> Result<bson::Document> {
        Ok(match self.at()? {
            Some(at) => within(filter, at),
            None => filter,
        })
    }

    /// The same collection for operations that share what they know of shard keys.
    pub(crate) fn sharing(mut self, routes: Option<Arc<Routes>>) -> Core {
        if let Some(routes) = routes.filter(|routes| !routes.is_of_transaction()) {
            self.odm.add_options(Options::knowing(routes));
        }
        self
    }

    /// The same for an operation that notes shard keys, where any model has one.
    pub(crate) fn noting(self) -> Core {
        if self.odm.graph().has_routings() && self.options().is_none_or(|options| options.routes.0.is_none())
        {
            let routes = self.routes_of_operation().unwrap_or_default();
            self.sharing(Some(routes))
        } else {
            self
        }
    }

    /// The same for an operation on this document, where it is given as a whole.
    pub(crate) fn knowing<T: Document>(&self, target: &impl Target<T>) -> Core {
        self.knowing_document(T::META, || target.whole())
    }

    /// The same for an operation beside this document, of another type.
    pub(crate) fn knowing_document(
        &self,
        meta: &'static DocumentMeta,
        whole: impl FnOnce() -> Result<Option<RawDocumentBuf>>,
    ) -> Core {
        let core = self.clone();
        if self.odm.graph().routing(meta).is_none() {
            return core;
        }
        // Where it can't be encoded, the operation says so.
        let Ok(Some(document)) = whole() else {
            return core;
        };
        let routes = match &core.session {
            Some(session) => Routes::within(session.routes()),
            None => Routes::default(),
        };
        routes.given(core.odm.graph(), meta, &document);
        core.sharing(Some(Arc::new(routes)))
    }

    /// A filter with the shard keys of the documents that it names, where they are known.
    pub(crate) fn routed(&self, filter: bson::Document) -> bson::Document {
        match self.routes().filter(|_| self.odm.graph().has_routings()) {
            Some(routes) => routes.complete(self.odm.graph(), self.meta, filter),
            None => filter,
        }
    }

    /// Notes the shard keys that a document says.
    pub(crate) fn note(&self, document: &RawDocument) {
        if self.odm.graph().has_routings()
            && let Some(routes) = self.routes()
        {
            routes.note(self.odm.graph(), self.meta, document);
        }
    }

    /// Maps an error of the driver's.
    pub(crate) fn error(&self, error: mongodb::error::Error) -> Error {
        crate::store::map::Context::new(self.meta).driver(error)
    }

    /// The options of a read of one document that is about to be written: out of a transaction, it is read from the primary as it is
    /// there now, whatever the client prefers.
    pub(crate) fn on_primary(&self) -> FindOneOptions {
        let mut options = FindOneOptions::default();
        if self.session.is_none() {
            options.selection_criteria = Some(PRIMARY);
            options.read_concern = Some(ReadConcern::local());
        }
        options
    }

    /// The same collection for queries that a write begins with: they read as [`on_primary`](Core::on_primary) says.
    pub(crate) fn before_write(&self) -> Core {
        let mut core = self.clone();
        if self.session.is_none() {
            let primary = Options::new().read_preference(ReadPreference::Primary);
            core.odm.add_options(primary.read_concern(ReadConcern::local()));
        }
        core
    }

    /// Hands the document with this id to `take`, if there is one.
    // In a box it is compiled once, and not with each program.
    pub(crate) fn get<'a>(&'a self, id: Bson, take: Take<'a>) -> BoxFuture<'a, Result<()>> {
        async move {
            self.may_have_options()?;
            let this = self;
            let trace = self.trace("get");
            trace
                .run(async {
                    let filter =
                        self.odm
                            .in_scope(self.meta, self.placed(doc! { "_id": { "$eq": id } })?, false)?;
                    let mut options = None;
                    if let Some(projection) = self.odm.without_deferred(self.meta, &[]) {
                        let chosen = options.get_or_insert_with(FindOneOptions::default);
                        chosen.projection = Some(projection);
                    }
                    let filter = self.routed(filter);
                    let found = act!(self, read, [this] this.raw.find_one(filter).with_options(options));
                    let found = found.map_err(|error| self.error(error))?;
                    if let Some(found) = &found {
                        take(found)?;
                    }
                    trace.done(1, found.is_some().into());
                    Ok(())
                })
                .await
        }
        .boxed()
    }
}

/// Which commits an action of the driver has to see, out of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sees {
    /// A read of the application's, with the read concern of its operation: those of the handle.
    OwnCommits,
    /// A read of the library's, with the read concern `local`: those of other processes too, since a rule looks, writes and looks again.
    AllCommits,
    /// A write: the server has it wait for the commits in its way.
    ByItself,
}

/// The session that an action of this handle has, within a transaction or not.
pub(crate) fn hold<'a>(session: Option<&'a Session>, odm: &'a Odm, sees: Sees) -> Option<Hold<'a>> {
    if let Some(shared) = session {
        return Some(Hold::Transaction(shared));
    }
    let waits = || match sees {
        Sees::OwnCommits => odm.commits().is_some() && takes_time(odm.read_concern()),
        Sees::AllCommits => odm.is_sharded(),
        Sees::ByItself => false,
    };
    (odm.clock().is_some() || waits()).then_some(Hold::Own(odm))
}

/// Which commits an action with the options of this kind has to see.
macro_rules! sees {
    (read) => {
        $crate::store::core::Sees::OwnCommits
    };
    (answer) => {
        $crate::store::core::Sees::OwnCommits
    };
    (own) => {
        $crate::store::core::Sees::AllCommits
    };
    (comment) => {
        $crate::store::core::Sees::AllCommits
    };
    ($write:ident) => {
        $crate::store::core::Sees::ByItself
    };
}
pub(crate) use sees;

/// Executes an action of the driver with the [options](crate::options::Options) of its kind, in its session if it has one. An
/// action is up to 1 kB of options: given as an expression, it is made after the session is locked, so that the future does not hold
/// it meanwhile.
///
/// Within a session the command [owns](crate::store::tasks) what it needs: the action moves what it uses, and has copies of what is
/// named in brackets.
macro_rules! act {
    ($on:expr, $kind:ident, $action:expr) => {
        $crate::store::core::act!($on, $kind, [] $action)
    };
    ($on:expr, $kind:ident, [$($copied:ident $(= $copy:expr)?),*] $action:expr) => {{
        let on = $on;
        match $crate::store::core::hold(on.session(), on.odm(), $crate::store::core::sees!($kind)) {
            None => $crate::store::options::with_options!(on, $kind, $action).await,
            Some(hold) => match hold.take().await {
                Err(error) => Err(error),
                Ok(mut held) => {
                    let on = on.command_options();
                    $(let $copied = $crate::store::core::copied!($copied $(, $copy)?);)*
                    let command = hold.command(async move {
                        let action = $crate::store::options::with_options!(on, $kind, $action);
                        let outcome = action.session(&mut *held).await;
                        held.release(outcome)
                    });
                    command.await
                }
            },
        }
    }};
}
pub(crate) use act;

/// The copy of a value that a command within a session owns: that of the variable of this name, or this expression.
macro_rules! copied {
    ($name:ident) => {
        $name.to_owned()
    };
    ($name:ident, $copy:expr) => {
        $copy
    };
}
pub(crate) use copied;

/// The cursor of an action of the driver within a session, which is locked. The action is as that of [`act`].
macro_rules! held_cursor {
    ($on:expr, $hold:expr, $kind:ident, [$($copied:ident $(= $copy:expr)?),*] $action:expr) => {{
        let (on, hold) = ($on, $hold);
        match hold.take().await {
            Err(error) => Err(error),
            Ok(mut held) => {
                let on = on.command_options();
                $(let $copied = $crate::store::core::copied!($copied $(, $copy)?);)*
                let command = hold.command(async move {
                    let action = $crate::store::options::with_options!(on, $kind, $action);
                    match action.session(&mut *held).batch().await {
                        Ok(cursor) => Ok($crate::store::held::HeldCursor::new(cursor, held)),
                        Err(error) => held.release(Err(error)),
                    }
                });
                command.await
            }
        }
    }};
}
pub(crate) use held_cursor;

/// Executes an action of the driver that returns a cursor: its batches, each read by `$read`. The session is free between two
/// of them, for other operations of the transaction. The action is as that of [`act`].
macro_rules! batches {
    ($on:expr, [$($copied:ident $(= $copy:expr)?),*] $action:expr, $meta:expr, $read:expr) => {{
        use futures::stream::StreamExt as _;
        let (on, meta, read) = ($on, $meta, $read);
        let failed = move |error| $crate::store::map::Context::new(meta).driver(error);
        let read = move |batch: mongodb::error::Result<_>| read(batch.map_err(failed)?);
        match $crate::store::core::hold(on.session(), on.odm(), $crate::store::core::sees!(read)) {
            None => {
                let action = $crate::store::options::with_options!(on, read, $action);
                let cursor = action.batch().await.map_err(failed)?;
                $crate::store::batches::ahead(cursor).map(read).boxed()
            }
            Some(hold) => {
                let cursor = $crate::store::core::held_cursor!(on, hold, read, [$($copied $(= $copy)?),*] $action);
                let cursor = cursor.map_err(failed)?.release();
                futures::stream::unfold((Some(cursor), read), async |(cursor, read)| {
                    let (batch, cursor) = cursor?.next().await?;
                    Some((read(batch), (cursor, read)))
                })
                .boxed()
            }
        }
    }};
}
pub(crate) use batches;
