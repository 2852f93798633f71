//! Many writes in few commands: one request where the server has the `bulkWrite` command (MongoDB 8.0), else one command for each
//! run of writes of one kind to one collection.

use crate::error::results::BulkDone;
use crate::graph;
use crate::model::document::DocumentMeta;
use crate::model::encode;
use crate::plan::operation::{UpdateManyWrite, Write, WriteKind};
use crate::plan::operators::{Built, growth};
use crate::plan::outcome::{Attempt, Outcome, Refusals};
use crate::store::command::{CommandStatement, Verb, WriteCommand, in_one_command};
use crate::store::core::{Core, act};
use crate::store::cx::{Cx, not_unique};
use crate::store::filter::named_id;
use crate::store::map::{Context, write_error};
use crate::store::options::raised;
use crate::store::session::Session;
use crate::{Error, Odm, Result};
use mongodb::bson::{Bson, Document, RawDocumentBuf};
use mongodb::options::{
    Collation, DeleteManyModel, DeleteOneModel, InsertOneModel, UpdateManyModel, UpdateOneModel,
    WriteConcern, WriteModel,
};
use std::borrow::Cow;

/// Maximum number of statements in a command of an update and the documents that it counts: every server accepts more.
const UPDATE_AND_COUNT: usize = 2;

/// One statement of a bulk.
struct BulkStatement<'w> {
    /// The position of its write among those that the application gave.
    at: usize,
    meta: &'static DocumentMeta,
    what: CommandStatement<'w>,
    /// How its condition compares strings, if not as the collection does.
    collation: Option<Document>,
    /// The index that the server has to use for its condition.
    hint: Option<&'w str>,
    /// Whether it counts the documents in which the update behind it has nothing to change.
    is_count: bool,
}

impl BulkStatement<'_> {
    fn is_of_many(&self) -> bool {
        matches!(
            self.what,
            CommandStatement::Update { many: true, .. } | CommandStatement::Delete { many: true, .. }
        )
    }

    fn is_upsert(&self) -> bool {
        matches!(self.what, CommandStatement::Update { upsert: true, .. })
    }

    /// Whether it should find exactly one document.
    fn finds_one(&self) -> bool {
        let is_of_one = matches!(
            self.what,
            CommandStatement::Update {
                many: false,
                upsert: false,
                ..
            }
        );
        is_of_one && !self.is_count
    }

    /// The id of the one document that it is for, if it names one.
    fn id(&self) -> Option<&Bson> {
        match &self.what {
            CommandStatement::Update { filter, .. } => named_id(filter),
            CommandStatement::Delete { filter, .. } => named_id(filter),
            CommandStatement::Insert(_) => None,
        }
    }

    /// Whether both can be in one command. How many updates of one document have found theirs follows from the sum of all, to which
    /// upserts add.
    fn goes_with(&self, other: &BulkStatement<'_>) -> bool {
        let is_alike = self.what.verb() == other.what.verb() && self.is_upsert() == other.is_upsert();
        graph::is_itself(self.meta, other.meta) && is_alike
    }

    /// As the driver's bulk takes it.
    fn model(self, odm: &Odm) -> Result<WriteModel> {
        let namespace = mongodb::Namespace {
            db: odm.database().name().to_owned(),
            coll: self.meta.collection.to_owned(),
        };
        let hint = self.hint.map(Bson::from);
        Ok(match self.what {
            CommandStatement::Insert(document) => InsertOneModel::builder()
                .namespace(namespace)
                .document(Document::try_from(document).map_err(|source| Error::Encode {
                    field: "document".to_owned(),
                    source: Box::new(source),
                })?)
                .build()
                .into(),
            CommandStatement::Update {
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
                        .hint(hint)
                        .build()
                        .into()
                } else {
                    UpdateOneModel::builder()
                        .namespace(namespace)
                        .filter(filter.into_owned())
                        .update(update)
                        .array_filters(array_filters)
                        .hint(hint)
                        .upsert(upsert.then_some(true))
                        .build()
                        .into()
                }
            }
            CommandStatement::Delete { filter, many: true } => DeleteManyModel::builder()
                .namespace(namespace)
                .filter(filter.into_owned())
                .collation(self.collation)
                .hint(hint)
                .build()
                .into(),
            CommandStatement::Delete { filter, many: false } => DeleteOneModel::builder()
                .namespace(namespace)
                .filter(filter.into_owned())
                .build()
                .into(),
        })
    }
}

/// The statements of writes. Documents that an update matches and has nothing to change in are counted by a statement before it.
fn statements<'w>(cx: &Cx<'_>, writes: &'w [Write]) -> Result<Vec<BulkStatement<'w>>> {
    let mut all = Vec::with_capacity(writes.len());
    for Write { at, meta, what } in writes {
        let collation = match what {
            WriteKind::UpdateMany(update) => update.collation.as_ref(),
            WriteKind::Delete(delete) => delete.collation.as_ref(),
            WriteKind::Insert(_) | WriteKind::Update(_) | WriteKind::Replace(_) => None,
        };
        let hint = match what {
            WriteKind::UpdateMany(update) => update.hint.as_deref(),
            WriteKind::Delete(delete) => delete.hint.as_deref(),
            WriteKind::Insert(_) | WriteKind::Update(_) | WriteKind::Replace(_) => None,
        };
        let mut add = |what, is_count| -> Result<()> {
            all.push(BulkStatement {
                at: *at,
                meta,
                what,
                collation: stored(collation)?,
                hint,
                is_count,
            });
            Ok(())
        };
        match what {
            WriteKind::Insert(document) => add(CommandStatement::Insert(document), false)?,
            WriteKind::Update(update) => {
                if let Some(idle) = &update.built.idle {
                    add(counting(cx.routed(meta, (**idle).clone()), false), true)?;
                }
                let condition = Cow::Owned(cx.routed(meta, update.condition(meta)));
                add(updating(condition, &update.built, false, update.upsert), false)?;
            }
            WriteKind::UpdateMany(update) => {
                let many = update.keys.is_empty();
                if let Some(idle) = &update.built.idle {
                    add(counting(cx.routed(meta, (**idle).clone()), many), true)?;
                }
                let condition = Cow::Owned(cx.routed(meta, update.filter.clone()));
                add(updating(condition, &update.built, many, update.upsert), false)?;
            }
            WriteKind::Replace(replace) => {
                let replacing = CommandStatement::Update {
                    filter: Cow::Owned(cx.routed(meta, replace.one.filter(meta))),
                    update: replace.replacement(meta)?.update.clone(),
                    array_filters: &[],
                    many: false,
                    upsert: false,
                };
                add(replacing, false)?;
            }
            WriteKind::Delete(delete) => {
                let deleting = CommandStatement::Delete {
                    filter: Cow::Owned(cx.routed(meta, delete.filter.clone())),
                    many: delete.one.is_none(),
                };
                add(deleting, false)?;
            }
        }
    }
    Ok(all)
}

fn updating<'w>(
    filter: Cow<'w, Document>,
    built: &'w Built,
    many: bool,
    upsert: bool,
) -> CommandStatement<'w> {
    CommandStatement::Update {
        filter,
        update: built.modifications(),
        array_filters: &built.array_filters,
        many,
        upsert,
    }
}

/// An update that changes nothing.
fn counting(filter: Document, many: bool) -> CommandStatement<'static> {
    CommandStatement::Update {
        filter: Cow::Owned(filter),
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
    let in_runs = || async move { runs(&cx, statements(&cx, writes)?, ordered, most).await };
    let sent = if server.has_bulk_write() && !by_runs && !bulk_write.is_refused() {
        let sent = one_command(&cx, statements(&cx, writes)?, ordered).await;
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
        Some(WriteKind::Update(update)) => *brought = growth::brought(&update.built.update),
        Some(WriteKind::UpdateMany(update)) => *brought = growth::brought(&update.built.update),
        Some(WriteKind::Replace(replace)) => *brought = crate::bounds::largest(replace.stored()),
        Some(WriteKind::Insert(_) | WriteKind::Delete(_)) | None => {}
    }
}

/// Updates the documents that match one condition, and counts those that match another one, by one command. Gives how many match
/// either, and how many were changed.
pub(in crate::engine) async fn update_and_count(
    cx: Cx<'_>,
    core: &Core,
    update: &UpdateManyWrite,
    idle: &Document,
) -> Result<(u64, u64)> {
    let collation = stored(update.collation.as_ref())?;
    let statement = |what, is_count| BulkStatement {
        at: 0,
        meta: core.meta(),
        what,
        collation: collation.clone(),
        hint: update.hint.as_deref(),
        is_count,
    };
    let both = vec![
        statement(counting(cx.routed(core.meta(), idle.clone()), true), true),
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
    // On a sharded cluster several shards may have a document with this id.
    let of_one = |(_, statement): &(usize, &BulkStatement<'_>)| {
        odm.is_sharded() && !statement.is_of_many() && !statement.is_count
    };
    let by_id = statements.iter().enumerate().filter(of_one);
    let named: Vec<(usize, Bson)> = by_id
        .filter_map(|(at, statement)| Some((at, statement.id()?.clone())))
        .collect();
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
    // By a statement and the count before it.
    let met = |results: &mongodb::results::VerboseBulkWriteResult, at: usize| {
        let updated = results.update_results.get(&at).map(|result| result.matched_count);
        let deleted = results.delete_results.get(&at).map(|result| result.deleted_count);
        updated.into_iter().chain(deleted).sum::<u64>()
    };
    let several = |results: &mongodb::results::VerboseBulkWriteResult| {
        named.iter().find_map(|(at, id)| {
            let before = at.checked_sub(1).filter(|at| is_count.get(*at) == Some(&true));
            let all = met(results, *at) + before.map_or(0, |before| met(results, before));
            let (_, meta) = metas.get(*at).filter(|_| all > 1)?;
            Some(not_unique(meta, session, vec![id.clone()], all))
        })
    };
    match result {
        Ok(results) => several(&results).map_or_else(|| Ok(summary(&results)), Err),
        Err(error) => {
            let collection = metas.first().map_or("", |(_, meta)| meta.collection);
            let mongodb::error::ErrorKind::BulkWrite(failure) = &*error.kind else {
                return Err(of_command(error, collection));
            };
            // Something else than the writes themselves went wrong, and they may not be all: the driver's error says it.
            // So does it where the whole transaction is to be run again: the label stands on it alone.
            if failure.write_errors.is_empty()
                || std::error::Error::source(&error).is_some()
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
                    Some((*at, write_error(Context::new(meta), failure)))
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

/// The statements of the next command: of one kind and collection, and not more than the server takes. The number of documents that
/// an update matches is computed from the sum of it and of the count before it, so both are in one command.
fn of_one_command<'e>(
    statements: &[BulkStatement<'_>],
    encoded: &'e [RawDocumentBuf],
    most: usize,
) -> &'e [RawDocumentBuf] {
    let Some(first) = statements.first() else {
        return encoded;
    };
    let run = statements
        .iter()
        .take(most)
        .take_while(|next| next.goes_with(first));
    let of_command = in_one_command(encoded, run.count());
    match of_command.split_last() {
        Some((_, others))
            if !others.is_empty() && statements.get(others.len()).is_some_and(|last| last.is_count) =>
        {
            others
        }
        _ => of_command,
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
    let mut not_as_asked = None;
    let concern = concern(odm, session, statements.iter().map(|statement| statement.meta));
    let encoded = statements.iter().map(|statement| {
        statement
            .what
            .encode(statement.collation.as_ref(), statement.hint)
    });
    let encoded: Vec<RawDocumentBuf> = encoded.collect::<Result<_>>()?;
    let (mut rest, mut encoded) = (statements.as_slice(), encoded.as_slice());
    while let Some(first) = rest.first() {
        let of_command = of_one_command(rest, encoded, most);
        let command = WriteCommand {
            verb: first.what.verb(),
            meta: first.meta,
            statements: of_command,
            ordered,
            concern: concern.as_ref(),
            past_validator: false,
        };
        let reply = match command.send(cx).await {
            Ok(reply) => reply,
            // Out of a transaction, the commands before it are done. Which writes were made is known where they are made in order.
            Err(error) if session.is_none() && rest.len() < statements.len() => {
                if !ordered {
                    return Err(error.after_a_part(first.meta.collection));
                }
                errors.push((first.at, error));
                break;
            }
            Err(error) => return Err(error),
        };
        let sent;
        (sent, rest) = rest.split_at(of_command.len());
        encoded = encoded.split_at(of_command.len()).1;
        // The statements that were tried; one that failed is no miss.
        let mut tried: Vec<bool> = sent.iter().map(BulkStatement::finds_one).collect();
        for (index, error) in reply.refused {
            if let Some(tried) = tried.get_mut(index) {
                *tried = false;
            }
            if ordered {
                tried.truncate(index);
            }
            errors.push((sent.get(index).map_or(first.at, |statement| statement.at), error));
        }
        match command.verb {
            Verb::Insert => done.inserted += reply.n,
            Verb::Update => {
                done.upserted += reply.upserted;
                done.matched += reply.n.saturating_sub(reply.upserted);
                done.modified += reply.modified;
                // With an update of many among them the sum does not tell what the others found.
                if !sent.iter().any(BulkStatement::is_of_many) {
                    let of_one = tried.iter().filter(|of_one| **of_one).count() as u64;
                    done.missed += of_one.saturating_sub(reply.n);
                }
            }
            Verb::Delete => done.deleted += reply.n,
        }
        // The writes were made: of documents that have an `_id` in common, or not as safely as the write concern demands.
        not_as_asked = not_as_asked
            .or_else(|| met_several(session, sent, reply.n))
            .or(reply.unacknowledged);
        if !errors.is_empty() && (ordered || session.is_some()) {
            break;
        }
    }
    if !errors.is_empty() {
        return Err(Error::Bulk {
            errors,
            done: Box::new(done),
        });
    }
    match not_as_asked {
        Some(error) => Err(error),
        None => Ok(done),
    }
}

/// The error of statements of one document each that have met more documents than there are statements.
fn met_several(session: Option<&Session>, sent: &[BulkStatement<'_>], documents: u64) -> Option<Error> {
    let of_one = || sent.iter().filter(|statement| !statement.is_count);
    let is_of_one_each = !sent.iter().any(BulkStatement::is_of_many);
    let first = sent.first().filter(|_| is_of_one_each)?;
    if documents <= of_one().count() as u64 {
        return None;
    }
    let ids = of_one().filter_map(BulkStatement::id).cloned().collect();
    Some(not_unique(first.meta, session, ids, documents))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion_fixture::Person;
    use crate::model::document::Document as _;

    fn statement(is_count: bool, filter: &Document) -> BulkStatement<'_> {
        BulkStatement {
            at: 0,
            meta: Person::META,
            what: counting(filter.clone(), false),
            collation: None,
            hint: None,
            is_count,
        }
    }

    #[test]
    fn a_count_is_in_the_command_of_its_update() {
        let filter = Document::new();
        // Two updates, the second of which has a count before it.
        let statements = [false, true, false].map(|is_count| statement(is_count, &filter));
        let encoded = statements.iter().map(|one| one.what.encode(None, None));
        let encoded: Vec<RawDocumentBuf> = encoded.collect::<Result<_>>().unwrap();
        let number = |from: usize, most| of_one_command(&statements[from..], &encoded[from..], most).len();
        assert_eq!([number(0, 3), number(0, 2), number(0, 1)], [3, 1, 1]);
        assert_eq!(number(1, 2), 2);
        // A command without a statement would be none.
        assert_eq!(number(1, 1), 1);
    }
}
