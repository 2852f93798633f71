//! The context of an operation: the handle, the transaction, and the trace that counts its commands. With it the library reads and writes raw
//! documents of any collection.

use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::meta::names::read_too;
use crate::store::core::Core;
use crate::store::filter::{all, named_id, named_ids};
use crate::store::map::{Context, Refusal, unacknowledged, write_error};
use crate::store::options::{CommandOptions, Options};
use crate::store::queue::QueueKey;
use crate::store::session::Session;
use crate::store::trace::Trace;
use crate::{Error, Odm, Result};
use futures::TryStreamExt;
use mongodb::bson::{self, Bson, Document, RawBson, RawDocumentBuf, cstr, doc};
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

/// The server's answer where a document breaks the rules of its validator.
const INVALID: u64 = 121;

/// The greatest size of one command's statements: a command is a document too.
const MOST_BYTES: usize = crate::model::size::MAX_DOCUMENT_SIZE as usize;

/// Everything that a cursor of the driver's gives, within the session if there is one. The action is as that of
/// [`act`](crate::store::core::act).
macro_rules! collect {
    ($cx:expr, $meta:expr, $action:expr) => {{
        let cx = $cx;
        let failed = |error| crate::store::map::Context::of($meta).driver(error);
        cx.trip();
        match crate::store::core::hold(cx.session, cx.odm) {
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
        let mut options = FindOptions::default();
        options.projection = Some(projection);
        options.limit = limit;
        options.batch_size = Some(i32::MAX as u32);
        let collection = self.odm.database().collection::<RawDocumentBuf>(meta.collection);
        if self.session.is_none() {
            options.read_concern = Some(ReadConcern::local());
            options.selection_criteria = Some(SelectionCriteria::ReadPreference(ReadPreference::Primary));
        }
        collect!(self, meta, collection.find(filter).with_options(options))
    }

    /// Executes statements in as few commands as the server's limits allow, one after the other. Returns the total number of
    /// matched documents.
    pub(crate) async fn update(&self, meta: &'static DocumentMeta, statements: &[Statement]) -> Result<u64> {
        let encoded = statements.iter().map(|statement| encode(meta, statement));
        let encoded = encoded.collect::<Result<Vec<_>>>()?;
        let sent = self.send(meta, encoded).await;
        if let (Err(error), Some(session)) = (&sent, self.session)
            && error.is_transient_transaction_error()
        {
            let ids = statements
                .iter()
                .flat_map(|statement| named_ids(&statement.filter));
            session.met(ids.map(|id| QueueKey {
                collection: meta.collection,
                by: "_id",
                key: Key::of_bson(id),
            }));
        }
        sent
    }

    /// Changes all documents that fit by a pipeline. Gives how many those were.
    pub(crate) async fn compute(
        &self,
        meta: &'static DocumentMeta,
        filter: Document,
        pipeline: Vec<Document>,
    ) -> Result<u64> {
        let filter = all([filter]);
        let many = named_id(&filter).is_none();
        let statement = encoded(&doc! { "q": filter, "u": pipeline, "multi": many })?;
        self.send(meta, vec![statement]).await
    }

    async fn send(&self, meta: &'static DocumentMeta, mut rest: Vec<RawDocumentBuf>) -> Result<u64> {
        if rest.is_empty() {
            return Ok(0);
        }
        let most = self.odm.server().await?.max_write_batch();
        // Documents that copies depend on may not be lost when another server becomes the primary.
        let majority = WriteConcern::majority();
        let concern = match (self.session, self.odm.database().write_concern()) {
            (Some(_), _) => None,
            (None, _) if self.odm.graph().is_depended_on(meta) => Some(&majority),
            (None, own) => own,
        };
        let comment = self.odm.options().and_then(|options| options.comment.as_ref());
        let concern = concern.and_then(|concern| bson::serialize_to_raw_document_buf(concern).ok());
        let mut matched = 0;
        let in_transaction = self.session.is_some();
        let mut past = false;
        // The validator's refusal of the rest.
        let mut refusal: Option<Error> = None;
        let mut unsure = None;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fit = rest
                .iter()
                .take(most)
                .take_while(|next| {
                    bytes += next.as_bytes().len() + 8;
                    bytes <= MOST_BYTES
                })
                .count()
                .max(1);
            let behind = rest.split_off(fit.min(rest.len()));
            let part = std::mem::replace(&mut rest, behind);
            let mut list = bson::RawArrayBuf::new();
            part.iter().for_each(|statement| list.push(statement.clone()));
            let mut command = RawDocumentBuf::new();
            command.append(cstr!("update"), meta.collection);
            command.append(cstr!("updates"), list);
            if let Some(concern) = &concern {
                command.append(cstr!("writeConcern"), concern.clone());
            }
            if let Some(comment) = comment.and_then(|comment| RawBson::try_from(comment.clone()).ok()) {
                command.append(cstr!("comment"), comment);
            }
            let send = async |command: RawDocumentBuf| {
                let database = self.odm.database().clone();
                self.trip();
                crate::store::core::act!(self, command, database.run_raw_command(command))
            };
            let reply = if past {
                let mut unvalidated = command.clone();
                unvalidated.append(cstr!("bypassDocumentValidation"), true);
                match send(unvalidated).await {
                    // This user has to write within the validator.
                    Err(error) if is_unauthorized(&error) => match refusal.take() {
                        Some(refusal) => return Err(refusal),
                        None => send(command).await,
                    },
                    reply => reply,
                }
            } else {
                send(command).await
            };
            let reply = reply.map_err(|error| Context::of(meta).driver(error))?;
            matched += number(reply.get("n"));
            refusal = None;
            unsure = unsure.or_else(|| unacknowledged(&reply));
            if let Some(failure) = reply
                .get_array("writeErrors")
                .ok()
                .and_then(|failures| failures.first())
                .and_then(Bson::as_document)
            {
                let error = refused(failure, meta);
                let by_validator = number(failure.get("code")) == INVALID;
                let again = self.unvalidated && by_validator && !past && !in_transaction;
                if !again {
                    return Err(error);
                }
                // Of many documents of a statement some may have been written. All that is written in this way can be written
                // twice, so the statement is sent again, with those behind it.
                let done = usize::try_from(number(failure.get("index"))).unwrap_or(0);
                rest = part.into_iter().skip(done).chain(rest).collect();
                (past, refusal) = (true, Some(error));
            }
        }
        match unsure {
            Some(unsure) => Err(unsure),
            None => Ok(matched),
        }
    }
}

fn encode(meta: &DocumentMeta, statement: &Statement) -> Result<RawDocumentBuf> {
    // A statement with the id of one document is an update of one, which the server executes atomically.
    let filter = all([statement.filter.clone()]);
    let one = named_id(&filter).is_some();
    let mut update = statement.update.clone();
    if let Some(bucket) = meta.bucket {
        crate::model::meta::bucket::renew(bucket, &mut update);
    }
    let mut command = doc! { "q": filter, "u": update, "multi": !one };
    if !statement.array_filters.is_empty() {
        command.insert("arrayFilters", statement.array_filters.clone());
    }
    encoded(&command)
}

fn encoded(statement: &Document) -> Result<RawDocumentBuf> {
    RawDocumentBuf::try_from(statement).map_err(|source| Error::Encode {
        field: "update".to_owned(),
        source: Box::new(source),
    })
}

/// The server's answer to a user who lacks a privilege.
fn is_unauthorized(error: &mongodb::error::Error) -> bool {
    matches!(&*error.kind, mongodb::error::ErrorKind::Command(command) if command.code == 13)
}

fn number(value: Option<&Bson>) -> u64 {
    match value {
        Some(Bson::Int32(n)) => u64::try_from(*n).unwrap_or(0),
        Some(Bson::Int64(n)) => u64::try_from(*n).unwrap_or(0),
        _ => 0,
    }
}

fn refused(failure: &Document, meta: &'static DocumentMeta) -> Error {
    let raw = RawDocumentBuf::try_from(failure).ok();
    let refusal = Refusal {
        code: i32::try_from(number(failure.get("code"))).unwrap_or(0),
        message: failure.get_str("errmsg").unwrap_or_default(),
        details: failure.get_document("errInfo").ok(),
        raw: raw.as_deref(),
    };
    write_error(Context::of(meta), refusal)
}
