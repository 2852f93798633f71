//! Many writes in few commands: one request where the server has the `bulkWrite` command (MongoDB 8.0), else one command for each
//! run of writes of one kind to one collection.

use crate::error::results::BulkDone;
use crate::graph;
use crate::model::document::DocumentMeta;
use crate::model::encode;
use crate::plan::operation::{UpdateMany, What, Write};
use crate::plan::operators::{Built, growth};
use crate::plan::outcome::{Attempt, Outcome, Refusals};
use crate::store::core::{Core, act};
use crate::store::cx::Cx;
use crate::store::map::{Context, Refusal, unacknowledged, write_error};
use crate::store::options::raised;
use crate::store::session::Session;
use crate::{Error, Odm, Result};
use mongodb::bson::{self, Bson, Document, RawBson, RawDocumentBuf, doc};
use mongodb::options::{
    Collation, DeleteManyModel, DeleteOneModel, InsertOneModel, UpdateManyModel, UpdateModifications,
    UpdateOneModel, WriteConcern, WriteModel,
};
use std::borrow::Cow;

/// Maximum number of statements in a command of an update and the documents that it counts: every server accepts more.
const UPDATE_AND_COUNT: usize = 2;

/// The greatest size of one command's statements. A command is a document too, so it has a document's limit and the 16 KB
/// that the server leaves above it for the rest of the command; the larger limit of a message holds for the driver's own
/// inserts, which it sends beside the command.
const MAX_BYTES: usize = crate::model::size::MAX_DOCUMENT_SIZE as usize;

/// One statement of a command.
struct BulkStatement<'w> {
    /// The position of its write among those that the application gave.
    at: usize,
    meta: &'static DocumentMeta,
    what: Stated<'w>,
    /// How its condition compares strings, if not as the collection does.
    collation: Option<Document>,
    /// Whether it counts the documents in which the update behind it has nothing to change.
    is_count: bool,
}

enum Stated<'w> {
    Insert(&'w RawDocumentBuf),
    Update {
        filter: Cow<'w, Document>,
        update: UpdateModifications,
        array_filters: &'w [Document],
        many: bool,
        upsert: bool,
    },
    Delete {
        filter: &'w Document,
        many: bool,
    },
}

impl BulkStatement<'_> {
    fn command(&self) -> &'static str {
        match self.what {
            Stated::Insert(_) => "insert",
            Stated::Update { .. } => "update",
            Stated::Delete { .. } => "delete",
        }
    }

    fn is_of_many(&self) -> bool {
        matches!(self.what, Stated::Update { many: true, .. })
    }

    fn is_upsert(&self) -> bool {
        matches!(self.what, Stated::Update { upsert: true, .. })
    }

    /// Whether it should find exactly one document.
    fn finds_one(&self) -> bool {
        let is_of_one = matches!(
            self.what,
            Stated::Update {
                many: false,
                upsert: false,
                ..
            }
        );
        is_of_one && !self.is_count
    }

    /// As the server's command takes it.
    fn encode(&self) -> Result<RawDocumentBuf> {
        let mut statement = match &self.what {
            Stated::Insert(document) => return Ok((*document).clone()),
            Stated::Update {
                filter,
                update,
                array_filters,
                many,
                upsert,
            } => {
                let mut statement = doc! { "q": filter.as_ref(), "multi": many };
                if *upsert {
                    statement.insert("upsert", true);
                }
                match update {
                    UpdateModifications::Document(update) => statement.insert("u", update),
                    UpdateModifications::Pipeline(stages) => statement.insert("u", stages),
                    // Neither a type of update nor a pipeline, which only later drivers know.
                    _ => None,
                };
                if !array_filters.is_empty() {
                    statement.insert("arrayFilters", *array_filters);
                }
                statement
            }
            Stated::Delete { filter, many } => doc! { "q": *filter, "limit": if *many { 0 } else { 1 } },
        };
        if let Some(collation) = &self.collation {
            statement.insert("collation", collation);
        }
        RawDocumentBuf::try_from(&statement).map_err(|source| Error::Encode {
            field: "write".to_owned(),
            source: Box::new(source),
        })
    }

    /// As the driver's bulk takes it.
    fn model(self, odm: &Odm) -> Result<WriteModel> {
        let namespace = mongodb::Namespace {
            db: odm.database().name().to_owned(),
            coll: self.meta.collection.to_owned(),
        };
        Ok(match self.what {
            Stated::Insert(document) => InsertOneModel::builder()
                .namespace(namespace)
                .document(Document::try_from(document).map_err(|source| Error::Encode {
                    field: "document".to_owned(),
                    source: Box::new(source),
                })?)
                .build()
                .into(),
            Stated::Update {
                filter,
                update,
                array_filters,
                many,
                upsert,
            } => {
                let array_filters: Option<Vec<Bson>> = (!array_filters.is_empty())
                    .then(|| array_filters.iter().cloned().map(Bson::Document).collect());
                if many {
                    UpdateManyModel::builder()
                        .namespace(namespace)
                        .filter(filter.into_owned())
                        .update(update)
                        .array_filters(array_filters)
                        .collation(self.collation)
                        .build()
                        .into()
                } else {
                    UpdateOneModel::builder()
                        .namespace(namespace)
                        .filter(filter.into_owned())
                        .update(update)
                        .array_filters(array_filters)
                        .upsert(upsert.then_some(true))
                        .build()
                        .into()
                }
            }
            Stated::Delete { filter, many: true } => DeleteManyModel::builder()
                .namespace(namespace)
                .filter(filter.clone())
                .collation(self.collation)
                .build()
                .into(),
            Stated::Delete { filter, many: false } => DeleteOneModel::builder()
                .namespace(namespace)
                .filter(filter.clone())
                .build()
                .into(),
        })
    }
}

/// The statements of writes. Documents that an update matches and has nothing to change in are counted by a statement before it.
fn statements(writes: &[Write]) -> Result<Vec<BulkStatement<'_>>> {
    let mut all = Vec::with_capacity(writes.len());
    for Write { at, meta, what } in writes {
        let collation = match what {
            What::UpdateMany(update) => update.collation.as_ref(),
            What::Delete(delete) => delete.collation.as_ref(),
            What::Insert(_) | What::Update(_) | What::Replace(_) => None,
        };
        let mut add = |what, is_count| -> Result<()> {
            all.push(BulkStatement {
                at: *at,
                meta,
                what,
                collation: stored(collation)?,
                is_count,
            });
            Ok(())
        };
        match what {
            What::Insert(document) => add(Stated::Insert(document), false)?,
            What::Update(update) => {
                if let Some(idle) = &update.built.idle {
                    add(counting(idle, false), true)?;
                }
                let condition = Cow::Owned(update.condition(meta));
                add(updating(condition, &update.built, false, update.upsert), false)?;
            }
            What::UpdateMany(update) => {
                if let Some(idle) = &update.built.idle {
                    add(counting(idle, true), true)?;
                }
                let many = update.keys.is_empty();
                let condition = Cow::Borrowed(&update.filter);
                add(updating(condition, &update.built, many, update.upsert), false)?;
            }
            What::Replace(replace) => {
                let replacing = Stated::Update {
                    filter: Cow::Owned(replace.one.filter(meta)),
                    update: replace.made(meta)?.update.clone(),
                    array_filters: &[],
                    many: false,
                    upsert: false,
                };
                add(replacing, false)?;
            }
            What::Delete(delete) => {
                let deleting = Stated::Delete {
                    filter: &delete.filter,
                    many: delete.one.is_none(),
                };
                add(deleting, false)?;
            }
        }
    }
    Ok(all)
}

fn updating<'w>(filter: Cow<'w, Document>, built: &'w Built, many: bool, upsert: bool) -> Stated<'w> {
    Stated::Update {
        filter,
        update: built.modifications(),
        array_filters: &built.array_filters,
        many,
        upsert,
    }
}

/// An update that changes nothing.
fn counting(filter: &Document, many: bool) -> Stated<'_> {
    Stated::Update {
        filter: Cow::Borrowed(filter),
        update: Built::nothing().modifications(),
        array_filters: &[],
        many,
        upsert: false,
    }
}

fn stored(collation: Option<&Collation>) -> Result<Option<Document>> {
    Ok(
        match collation
            .map(|collation| encode::option("collation", collation))
            .transpose()?
        {
            Some(Bson::Document(collation)) => Some(collation),
            _ => None,
        },
    )
}

/// Sends the writes of a bulk. A refusal of the server is an error only in a transaction, which it ends.
pub(in crate::engine) async fn send(
    cx: Cx<'_>,
    writes: &[Write],
    ordered: bool,
    by_runs: bool,
) -> Result<Attempt> {
    let Cx { odm, session, .. } = cx;
    let server = odm.server().await?;
    let most = server.max_write_batch();
    let bulk_write = odm.bulk_write();
    let in_runs = || async move { runs(&cx, statements(writes)?, ordered, most).await };
    let sent = if server.has_bulk_write() && !by_runs && !bulk_write.is_refused() {
        let sent = one_command(&cx, statements(writes)?, ordered).await;
        let is_disabled = sent.as_ref().is_err_and(is_disabled);
        let again = is_disabled && !bulk_write.is_taken();
        if is_disabled {
            bulk_write.refuse();
        } else if sent.is_ok() {
            bulk_write.take();
        }
        if again && session.is_none() {
            in_runs().await
        } else {
            sent
        }
    } else {
        in_runs().await
    };
    let sent = sent.map_err(|mut error| {
        if let Error::Bulk { errors, .. } = &mut error {
            errors
                .iter_mut()
                .for_each(|(at, error)| add_sizes(writes, *at, error));
        }
        error
    });
    let (done, errors) = match sent {
        Ok(done) => (done, Vec::new()),
        Err(Error::Bulk { errors, done }) if session.is_none() => (*done, errors),
        Err(error) => return Err(error),
    };
    Ok(Attempt::done(Outcome {
        refusals: Refusals { errors, ordered },
        ..Outcome::counted(done)
    }))
}

/// Adds the sizes of the values that a write adds to the error of a document that becomes too large.
fn add_sizes(writes: &[Write], at: usize, error: &mut Error) {
    let Error::TooLarge { brought, .. } = error else {
        return;
    };
    let write = writes.iter().find(|write| write.at == at);
    match write.map(|write| &write.what) {
        Some(What::Update(update)) => *brought = growth::brought(&update.built.update),
        Some(What::UpdateMany(update)) => *brought = growth::brought(&update.built.update),
        Some(What::Replace(replace)) => *brought = crate::bounds::largest(replace.stored()),
        Some(What::Insert(_) | What::Delete(_)) | None => {}
    }
}

/// Updates the documents that match one condition, and counts those that match another one, by one command. Gives how many match
/// either, and how many were changed.
pub(in crate::engine) async fn update_and_count(
    cx: Cx<'_>,
    core: &Core,
    update: &UpdateMany,
    idle: &Document,
) -> Result<(u64, u64)> {
    let collation = stored(update.collation.as_ref())?;
    let statement = |what, is_count| BulkStatement {
        at: 0,
        meta: core.meta(),
        what,
        collation: collation.clone(),
        is_count,
    };
    let both = vec![
        statement(counting(idle, true), true),
        statement(
            updating(Cow::Borrowed(&update.filter), &update.built, true, false),
            false,
        ),
    ];
    match runs(&cx, both, true, UPDATE_AND_COUNT).await {
        Ok(done) => Ok((done.matched, done.modified)),
        Err(Error::Bulk { mut errors, .. }) if !errors.is_empty() => Err(errors.swap_remove(0).1),
        Err(error) => Err(error),
    }
}

/// The write concern of a bulk's commands: what copies and links depend on may not be lost when another server becomes the
/// primary. A transaction has one for all.
fn concern(
    odm: &Odm,
    session: Option<&Session>,
    mut metas: impl Iterator<Item = &'static DocumentMeta>,
) -> Option<WriteConcern> {
    match session {
        Some(_) => None,
        None => {
            let own = odm.options().and_then(|options| options.write_concern.as_ref());
            if metas.any(|meta| odm.graph().is_depended_on(meta)) {
                Some(own.map_or_else(WriteConcern::majority, raised))
            } else {
                own.or_else(|| odm.database().write_concern()).cloned()
            }
        }
    }
}

/// Whether a server that has `bulkWrite` does not take it: one of MongoDB 8.0 whose `featureCompatibilityVersion` has not been
/// raised yet, which no reply to `hello` tells.
fn is_disabled(error: &Error) -> bool {
    use mongodb::error::{Error, ErrorKind};
    let refuses = |error: &Error| {
        // `CommandNotFound` and `CommandNotSupported`.
        matches!(&*error.kind, ErrorKind::Command(command)
            if matches!(command.code, 59 | 115) && command.message.to_ascii_lowercase().contains("bulkwrite"))
    };
    error.driver_error().is_some_and(|error| {
        let source = std::error::Error::source(error).and_then(|source| source.downcast_ref());
        refuses(error) || source.is_some_and(refuses)
    })
}

/// The error of a whole `bulkWrite` command, which may stand behind one of the driver's own.
fn of_command(error: mongodb::error::Error, collection: &'static str) -> Error {
    use mongodb::error::{Error as Driver, ErrorKind};
    let context = Context {
        collection,
        meta: None,
    };
    let source: Option<&Driver> = std::error::Error::source(&error).and_then(|source| source.downcast_ref());
    let is_told = |source: &&Driver| {
        matches!(
            &*source.kind,
            ErrorKind::Command(_) | ErrorKind::InvalidArgument { .. }
        )
    };
    let behind = source.filter(is_told);
    match behind.map(|behind| context.driver(behind.clone())) {
        // The labels of the whole error say whether the server may have executed it.
        None | Some(Error::Driver(_) | Error::Unavailable { .. }) => context.driver(error),
        Some(mapped) => mapped,
    }
}

/// By the `bulkWrite` command.
async fn one_command(cx: &Cx<'_>, statements: Vec<BulkStatement<'_>>, ordered: bool) -> Result<BulkDone> {
    let Cx { odm, session, .. } = *cx;
    let metas: Vec<(usize, &'static DocumentMeta)> = statements
        .iter()
        .map(|statement| (statement.at, statement.meta))
        .collect();
    let is_count: Vec<bool> = statements.iter().map(|statement| statement.is_count).collect();
    // To know which updates found nothing, each one's own result is asked for.
    let finds_one: Vec<bool> = statements.iter().map(BulkStatement::finds_one).collect();
    let models: Vec<WriteModel> = statements
        .into_iter()
        .map(|statement| statement.model(odm))
        .collect::<Result<_>>()?;
    let client = odm.database().client().clone();
    let concern = concern(odm, session, metas.iter().map(|(_, meta)| *meta));
    cx.trip();
    let result = act!(cx, write, {
        let mut action = client.bulk_write(models).ordered(ordered);
        if let Some(concern) = concern {
            action = action.write_concern(concern);
        }
        action.verbose_results()
    });
    let summary = |results: &mongodb::results::VerboseBulkWriteResult| {
        let mut done = BulkDone {
            inserted: results.summary.inserted_count.max(0) as u64,
            matched: results.summary.matched_count.max(0) as u64,
            modified: results.summary.modified_count.max(0) as u64,
            deleted: results.summary.deleted_count.max(0) as u64,
            upserted: results.summary.upserted_count.max(0) as u64,
            ..BulkDone::default()
        };
        // The document was found, and had nothing to change.
        let was_idle = |at: usize| {
            let before = at.checked_sub(1).filter(|at| is_count.get(*at) == Some(&true));
            let before = before.and_then(|at| results.update_results.get(&at));
            before.is_some_and(|result| result.matched_count > 0)
        };
        let missed = results.update_results.iter().filter(|(at, result)| {
            finds_one.get(**at) == Some(&true) && result.matched_count == 0 && !was_idle(**at)
        });
        done.missed = missed.count() as u64;
        done
    };
    match result {
        Ok(results) => Ok(summary(&results)),
        Err(error) => {
            let collection = metas.first().map_or("", |(_, meta)| meta.collection);
            let mongodb::error::ErrorKind::BulkWrite(failure) = &*error.kind else {
                return Err(of_command(error, collection));
            };
            // Something else than the writes themselves went wrong, and they may not be all: the driver's error says it.
            // So does it where the whole transaction is to be run again: the label stands on it alone.
            if failure.write_errors.is_empty()
                || error.contains_label(mongodb::error::TRANSIENT_TRANSACTION_ERROR)
            {
                let partly = failure.partial_result.is_some() && session.is_none();
                let error = of_command(error, collection);
                return Err(if partly {
                    error.after_a_part(collection)
                } else {
                    error
                });
            }
            let done = match &failure.partial_result {
                Some(mongodb::error::PartialBulkWriteResult::Verbose(results)) => summary(results),
                _ => BulkDone::default(),
            };
            let mut errors: Vec<(usize, Error)> = failure
                .write_errors
                .iter()
                .filter_map(|(sent, failure)| {
                    let (at, meta) = metas.get(*sent)?;
                    Some((*at, write_error(Context::of(meta), failure)))
                })
                .collect();
            errors.sort_by_key(|(at, _)| *at);
            Err(Error::Bulk {
                errors,
                done: Box::new(done),
            })
        }
    }
}

/// By one command for each run of writes of one kind to one collection.
async fn runs(
    cx: &Cx<'_>,
    statements: Vec<BulkStatement<'_>>,
    ordered: bool,
    most: usize,
) -> Result<BulkDone> {
    let Cx { odm, session, .. } = *cx;
    let mut done = BulkDone::default();
    let mut errors: Vec<(usize, Error)> = Vec::new();
    let mut unsure = None;
    let mut is_first = true;
    // The driver adds the write concern to its own operations, not to a command.
    let concern = concern(odm, session, statements.iter().map(|statement| statement.meta));
    let concern = concern.and_then(|concern| bson::serialize_to_raw_document_buf(&concern).ok());
    let encoded = statements.iter().map(|one| Ok((one, one.encode()?)));
    let encoded: Vec<(&BulkStatement<'_>, RawDocumentBuf)> = encoded.collect::<Result<_>>()?;
    let mut rest = encoded.as_slice();
    while let Some((first, _)) = rest.first() {
        let (meta, command) = (first.meta, first.command());
        let mut bytes = 0;
        let length = rest
            .iter()
            .take(most)
            .take_while(|(next, raw)| {
                // With its type, and its position as a name, in an array.
                bytes += raw.as_bytes().len() + 8;
                // How many updates of one document have found theirs follows from the sum of all, to which upserts add.
                let is_alike = next.command() == command && next.is_upsert() == first.is_upsert();
                graph::is_itself(next.meta, meta) && is_alike && bytes <= MAX_BYTES
            })
            .count()
            .max(1);
        let (sent, behind) = rest.split_at(length);
        rest = behind;
        let mut list = bson::RawArrayBuf::new();
        for (_, raw) in sent {
            list.push(raw.clone());
        }
        let mut run = RawDocumentBuf::new();
        run.append(key(command)?, meta.collection);
        run.append(bson::cstr!("ordered"), ordered);
        if let Some(concern) = &concern {
            run.append(bson::cstr!("writeConcern"), concern.clone());
        }
        let field = match command {
            "insert" => bson::cstr!("documents"),
            "update" => bson::cstr!("updates"),
            _ => bson::cstr!("deletes"),
        };
        run.append(field, list);
        let comment = odm.options().and_then(|options| options.comment.clone());
        if let Some(comment) = comment.and_then(|comment| RawBson::try_from(comment).ok()) {
            run.append(bson::cstr!("comment"), comment);
        }
        let database = odm.database().clone();
        cx.trip();
        let reply = act!(cx, command, database.run_raw_command(run));
        let reply = match reply.map_err(|error| Context::of(meta).driver(error)) {
            Ok(reply) => reply,
            // Out of a transaction, the commands before it are done.
            Err(error) if session.is_none() && !is_first => {
                errors.push((first.at, error));
                break;
            }
            Err(error) => return Err(error),
        };
        is_first = false;
        let number = |name: &str| match reply.get(name) {
            Some(Bson::Int32(n)) => u64::try_from(*n).unwrap_or(0),
            Some(Bson::Int64(n)) => u64::try_from(*n).unwrap_or(0),
            _ => 0,
        };
        // The statements that were tried; of those that failed it can't be said that they were looked for in vain.
        let mut tried: Vec<bool> = sent.iter().map(|(statement, _)| statement.finds_one()).collect();
        if let Ok(failed) = reply.get_array("writeErrors") {
            for failure in failed.iter().filter_map(Bson::as_document) {
                let index = match failure.get("index") {
                    Some(Bson::Int32(n)) => usize::try_from(*n).unwrap_or(0),
                    Some(Bson::Int64(n)) => usize::try_from(*n).unwrap_or(0),
                    _ => 0,
                };
                if let Some(tried) = tried.get_mut(index) {
                    *tried = false;
                }
                if ordered {
                    tried.truncate(index);
                }
                let at = sent.get(index).map_or(first.at, |(statement, _)| statement.at);
                errors.push((at, refused(failure, meta)));
            }
        }
        let n = number("n");
        match command {
            "insert" => done.inserted += n,
            "update" => {
                let upserted = reply.get_array("upserted").map_or(0, Vec::len) as u64;
                done.upserted += upserted;
                done.matched += n.saturating_sub(upserted);
                done.modified += number("nModified");
                // With an update of many among them the sum does not tell what the others found.
                if !sent.iter().any(|(statement, _)| statement.is_of_many()) {
                    let alone = tried.iter().filter(|alone| **alone).count() as u64;
                    done.missed += alone.saturating_sub(n);
                }
            }
            _ => done.deleted += n,
        }
        // The writes were made, but not as safely as the write concern demands.
        unsure = unsure.or_else(|| unacknowledged(&reply));
        if let (Some(session), Some((_, error))) = (session, errors.first()) {
            // The server has ended the transaction there, though its reply is no error.
            session.spoil(error);
            break;
        }
        if ordered && !errors.is_empty() {
            break;
        }
    }
    if !errors.is_empty() {
        return Err(Error::Bulk {
            errors,
            done: Box::new(done),
        });
    }
    match unsure {
        Some(unsure) => Err(unsure),
        None => Ok(done),
    }
}

/// A write error as the server's reply has it.
fn refused(failure: &bson::Document, meta: &'static DocumentMeta) -> Error {
    let raw = RawDocumentBuf::try_from(failure).ok();
    let code = match failure.get("code") {
        Some(Bson::Int32(n)) => *n,
        Some(Bson::Int64(n)) => i32::try_from(*n).unwrap_or(0),
        _ => 0,
    };
    let refusal = Refusal {
        code,
        message: failure.get_str("errmsg").unwrap_or_default(),
        details: failure.get_document("errInfo").ok(),
        raw: raw.as_deref(),
    };
    write_error(Context::of(meta), refusal)
}

fn key(command: &'static str) -> Result<&'static bson::raw::CStr> {
    command.try_into().map_err(|source| Error::Encode {
        field: command.to_owned(),
        source: Box::new(source),
    })
}
