//! The context of an operation: the handle, the transaction, and the trace that counts its commands. With it the library reads and writes raw
//! documents of any collection.

use crate::graph::edge::{Edge, ReferenceTarget};
use crate::graph::routing::Route;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::meta::names::read_too;
use crate::store::core::Core;
use crate::store::filter::named_id;
use crate::store::options::{CommandOptions, Options};
use crate::store::session::Session;
use crate::store::trace::Trace;
use crate::{Error, Odm, Result};
use futures::TryStreamExt;
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use mongodb::options::{FindOptions, ReadConcern, ReadPreference, SelectionCriteria, WriteConcern};

/// The context of an operation.
#[derive(Clone, Copy)]
pub(crate) struct Cx<'a> {
    /// The handle, with its options and its scope.
    pub(crate) odm: &'a Odm,
    /// The transaction: the caller's, or one of the library's own.
    pub(crate) session: Option<&'a Session>,
    /// Counts the commands that are sent.
    pub(crate) trace: &'a Trace,
    /// Derived fields and pending work are written, also to documents that the validator refuses. These may be older than a
    /// rule of it; otherwise no field of theirs could be repaired, and no source of their copies changed.
    pub(crate) unvalidated: bool,
    /// A worker's, whose leases last for as long as it is at work.
    pub(crate) lease: Option<crate::model::own_fields::Token>,
}

/// One statement of an `update` command, for all documents that fit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statement {
    pub(crate) filter: Document,
    pub(crate) update: Document,
    pub(crate) array_filters: Vec<Document>,
}

/// Everything that a cursor of the driver's gives, within the session if there is one. The action is as that of
/// [`act`](crate::store::core::act).
macro_rules! collect {
    ($cx:expr, $meta:expr, $action:expr) => {{
        let cx = $cx;
        let failed = |error| crate::store::map::Context::new($meta).driver(error);
        cx.trip();
        match crate::store::core::hold(cx.session, cx.odm, crate::store::core::sees!(own)) {
            None => {
                let action = crate::store::options::with_options!(cx, own, $action);
                action.await.map_err(failed)?.try_collect().await.map_err(failed)
            }
            Some(hold) => {
                let cursor = crate::store::core::held_cursor!(cx, hold, own, [] $action);
                crate::store::batches::collect($meta, cursor.map_err(failed)?).await
            }
        }
    }};
}
pub(crate) use collect;

impl<'a> Cx<'a> {
    pub(crate) fn new(odm: &'a Odm, session: Option<&'a Session>, trace: &'a Trace) -> Self {
        Cx {
            odm,
            session,
            trace,
            unvalidated: false,
            lease: None,
        }
    }
}

/// The error of a write that named documents by these ids, one each, and met more. It has written all of them, unless that is a part of a
/// transaction, which it keeps from being committed.
pub(crate) fn not_unique(
    meta: &DocumentMeta,
    session: Option<&Session>,
    ids: Vec<Bson>,
    documents: u64,
) -> Error {
    let error = Error::IdNotUnique {
        collection: meta.collection,
        ids,
        documents,
        written: session.is_none(),
    };
    if let Some(session) = session {
        session.spoil(&error);
    }
    error
}

/// Refuses to write what a filter that names one document by its id has found, where that are several.
///
/// # Errors
/// [`Error::IdNotUnique`].
pub(crate) fn found_one(meta: &DocumentMeta, filter: &Document, found: &[RawDocumentBuf]) -> Result<()> {
    match named_id(filter) {
        Some(id) if found.len() > 1 => Err(Error::IdNotUnique {
            collection: meta.collection,
            ids: vec![id.clone()],
            documents: found.len() as u64,
            written: false,
        }),
        _ => Ok(()),
    }
}

impl Core {
    /// The context of an operation on the collection.
    pub(crate) fn cx<'a>(&'a self, trace: &'a Trace) -> Cx<'a> {
        Cx::new(self.odm(), self.session(), trace)
    }
}

impl Cx<'_> {
    /// The same within a transaction.
    pub(crate) fn within<'b>(&'b self, session: &'b Session) -> Cx<'b> {
        Cx {
            session: Some(session),
            ..*self
        }
    }

    /// The same out of the transaction.
    pub(crate) fn outside(&self) -> Self {
        Cx {
            session: None,
            ..*self
        }
    }

    /// A collection with the options of the application, for its own writes.
    pub(crate) fn application(&self, meta: &'static DocumentMeta) -> Core {
        Core::new(self.odm, meta, self.session.cloned())
    }

    /// The same past the validator, as far as the user may.
    ///
    /// That takes a privilege which not everybody has who may write (`bypassDocumentValidation`), so it is only asked for
    /// where the validator has refused something. In a transaction that is too late, since a refusal ends it: there the
    /// validator is what keeps a number that grows too great from being stored, and nothing passes it.
    pub(crate) fn unvalidated(&self) -> Self {
        Cx {
            unvalidated: true,
            ..*self
        }
    }

    /// The same for what is leased by this token.
    pub(crate) fn leased(&self, lease: crate::model::own_fields::Token) -> Self {
        Cx {
            lease: Some(lease),
            ..*self
        }
    }

    pub(crate) fn odm(&self) -> &Odm {
        self.odm
    }

    pub(crate) fn session(&self) -> Option<&Session> {
        self.session
    }

    pub(crate) fn options(&self) -> Option<&Options> {
        self.odm.options()
    }

    pub(crate) fn command_options(&self) -> CommandOptions {
        CommandOptions {
            options: self.odm.handle_options().clone(),
            concern: None,
        }
    }

    /// The library's own writes have the concern of their collection.
    #[allow(clippy::unused_self)]
    pub(crate) fn concern(&self) -> Option<WriteConcern> {
        None
    }

    pub(crate) fn trip(&self) {
        self.trace.trip();
    }

    /// The documents that fit, with these fields of theirs.
    ///
    /// Out of a transaction they are read from the primary as it is now, whatever the client prefers: a majority's view is
    /// older, and could still show a target whose deletion has been acknowledged.
    pub(crate) async fn find(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        names: impl IntoIterator<Item = &str>,
        limit: Option<i64>,
    ) -> Result<Vec<RawDocumentBuf>> {
        let mut projection = doc! { "_id": 1 };
        names.into_iter().for_each(|name| read_too(&mut projection, name));
        let (filter, projection) = (self.routed(meta, filter), self.with_shard_keys(meta, projection));
        let mut options = FindOptions::default();
        options.projection = Some(projection);
        options.limit = limit;
        options.batch_size = Some(i32::MAX as u32);
        let collection = self.odm.database().collection::<RawDocumentBuf>(meta.collection);
        if self.session.is_none() {
            options.read_concern = Some(ReadConcern::local());
            options.selection_criteria = Some(SelectionCriteria::ReadPreference(ReadPreference::Primary));
        }
        let found = collect!(self, meta, collection.find(filter).with_options(options));
        found.map(|found| self.noted(meta, found))
    }

    /// Documents that were read, of which the shard keys are noted.
    pub(crate) fn noted(
        &self,
        meta: &'static DocumentMeta,
        documents: Vec<RawDocumentBuf>,
    ) -> Vec<RawDocumentBuf> {
        documents.iter().for_each(|document| self.note(meta, document));
        documents
    }
}

impl Cx<'_> {
    /// Notes the shard keys that a document says, for the statements that follow.
    pub(crate) fn note(&self, meta: &'static DocumentMeta, document: &RawDocument) {
        self.trace.routes().note(self.odm.graph(), meta, document);
    }

    /// Notes what a reference says of the shard key of its target.
    pub(crate) fn note_reference(&self, target: ReferenceTarget, edge: &Edge, key: &Key, route: &Route) {
        self.trace
            .routes()
            .refer((target.meta.collection, edge.by(), key.clone()), route);
    }

    /// A filter with the shard keys of the documents that it names, where the operation knows them.
    pub(crate) fn routed(&self, meta: &'static DocumentMeta, filter: Document) -> Document {
        self.trace.routes().complete(self.odm.graph(), meta, filter)
    }

    /// A pipeline, of which the first condition has them.
    pub(crate) fn routed_pipeline(
        &self,
        meta: &'static DocumentMeta,
        mut pipeline: Vec<Document>,
    ) -> Vec<Document> {
        if let Some(Ok(filter)) = pipeline.first_mut().map(|first| first.get_document_mut("$match")) {
            *filter = self.routed(meta, std::mem::take(filter));
        }
        pipeline
    }

    /// A projection that reads what a document says of shard keys, too.
    pub(crate) fn with_shard_keys(&self, meta: &DocumentMeta, mut projection: Document) -> Document {
        let reads = |projection: &Document| {
            let mut fields = projection.iter();
            fields.all(|(name, value)| name == "_id" || matches!(value, Bson::Int32(1) | Bson::Boolean(true)))
        };
        if let Some(routing) = self.odm.graph().routing(meta).filter(|_| reads(&projection)) {
            routing
                .read
                .iter()
                .for_each(|name| read_too(&mut projection, name));
        }
        projection
    }

    /// Whether a filter has the whole declared shard key of one document.
    pub(crate) fn is_targeted(&self, meta: &DocumentMeta, filter: &Document) -> bool {
        let is_exact = |name: &str| match filter.get(name) {
            Some(Bson::Document(operators)) if operators.keys().any(|key| key.starts_with('$')) => {
                operators.contains_key("$eq")
            }
            given => given.is_some(),
        };
        meta.shard_key.is_some_and(|key| {
            let mut fields = key.fields.iter();
            fields.all(|field| match field.path {
                "_id" => named_id(filter).is_some(),
                path => is_exact(path),
            })
        })
    }
}
