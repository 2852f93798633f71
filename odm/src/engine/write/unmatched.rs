//! What follows a write that found no document, or that the server refused. A write that finds no document does not say why: the document
//! is gone, it has another version, a guard of the changes holds it back, or another writer has changed it in between. Its fields are
//! read then, and compared with the filter of the write. An upsert that was refused may have lost a race: the same reading tells.

use crate::engine::write::send::count;
use crate::graph::routing::key_at;
use crate::model::document::DocumentMeta;
use crate::model::key::{self, Key};
use crate::model::meta::names::read_too;
use crate::plan::operation::{
    DocumentById, ReplaceWrite, Reply, UpdateManyWrite, UpdateWrite, Write, WriteKind, Writes,
};
use crate::plan::operators::guard::Guard;
use crate::plan::operators::implied::demanded;
use crate::plan::operators::{Built, KnownItems, growth};
use crate::plan::outcome::{Attempt, Outcome, Refusals};
use crate::rules::rule::decoded;
use crate::store::batch::id;
use crate::store::core::{Core, act};
use crate::store::cx::Cx;
use crate::store::filter::all;
use crate::{Error, Result, Rule, Violation, bounds};
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

/// Maximum number of times that a write is sent which finds no document although nothing holds it back.
pub(in crate::engine) const ATTEMPTS: usize = 5;

/// What follows an attempt that found no document, or that the server refused.
#[allow(clippy::large_enum_variant)]
pub(in crate::engine) enum Next {
    /// The end of the operation.
    End(Attempt),
    /// Another attempt.
    Again,
    /// Another attempt, with another write.
    Other(WriteKind),
}

impl Next {
    fn done(outcome: Outcome) -> Next {
        Next::End(Attempt::done(outcome))
    }
}

/// Why a write found no document, or was refused, and what follows from that.
pub(in crate::engine) async fn diagnose(
    cx: Cx<'_>,
    write: &mut Write,
    made: Result<Attempt>,
    attempt: usize,
) -> Result<Next> {
    let core = cx.application(write.meta);
    match (&mut write.what, made) {
        (WriteKind::Update(update), made) => after_update(cx, &core, update, made, attempt).await,
        (WriteKind::UpdateMany(update), Err(error)) => {
            after_refused_update(cx, &core, update, error, attempt).await
        }
        (WriteKind::Replace(replace), Ok(_)) => {
            if replace.is_unconditional() {
                return Err(not_replaced(cx, write.meta, replace).await?);
            }
            let made = replace.replacement(write.meta)?;
            let created = made.created.as_ref();
            let created = created.filter(|_| replace.created.is_none());
            let created = created.map(|(name, _)| name.clone());
            let names = write.meta.version().into_iter().chain(created.as_deref());
            let stored = peek(cx, &core, &replace.one, names).await?;
            if stored.is_none() {
                return Err(not_replaced(cx, write.meta, replace).await?);
            }
            if let Some(error) = missed(cx, write.meta, &replace.one, stored.as_ref()) {
                return Err(error);
            }
            if let Some(name) = created {
                let value = stored.and_then(|mut stored| stored.remove(&name));
                replace.created = Some((name, value));
            }
            Ok(Next::Again)
        }
        (_, made) => made.map(Next::End),
    }
}

/// After the last attempt: others changed the document each time.
pub(in crate::engine) fn kept_changing(meta: &DocumentMeta, one: &DocumentById) -> Error {
    Error::Contention {
        collection: meta.collection,
        message: format!(
            "the document with _id {} changed during each of {ATTEMPTS} attempts to update it: try again",
            one.id
        ),
        source: None,
    }
}

/// An update without any change sends a read only: whether the document is there, and where counts are wanted, whether it has the
/// version that was seen.
pub(in crate::engine) async fn unchanged(
    cx: Cx<'_>,
    write: &Write,
    one: &DocumentById,
    reply: &Reply,
) -> Result<Outcome> {
    let core = cx.application(write.meta);
    if let Reply::Document(_) = reply {
        return match read(cx, &core, one).await? {
            Some(document) => Ok(Outcome {
                document: Some(document),
                ..Outcome::default()
            }),
            None => Err(not_found(cx, write.meta, one)),
        };
    }
    let stored = peek(cx, &core, one, write.meta.version()).await?;
    missed(cx, write.meta, one, stored.as_ref()).map_or_else(|| Ok(Outcome::unchanged()), Err)
}

/// After a deletion that found nothing: an error if the document has another version than the one that was read.
pub(in crate::engine) async fn after_nothing_deleted(
    cx: Cx<'_>,
    meta: &'static DocumentMeta,
    one: &DocumentById,
) -> Result<()> {
    if one.expected_version.is_none() {
        return Ok(());
    }
    let core = cx.application(meta);
    let stored = peek(cx, &core, one, meta.version()).await?;
    match missed(cx, meta, one, stored.as_ref()) {
        Some(error @ Error::Conflict { .. }) => Err(error),
        _ => Ok(()),
    }
}

/// After an update of one document that matched none, or that the server refused.
async fn after_update(
    cx: Cx<'_>,
    core: &Core,
    update: &UpdateWrite,
    made: Result<Attempt>,
    attempt: usize,
) -> Result<Next> {
    let Some(one) = &update.one else {
        return made.map(Next::End);
    };
    let error = match made {
        // It does not match any more.
        Ok(_) if update.also.is_some() && update.built.is_plain() => {
            return Ok(Next::End(Attempt::Unmatched));
        }
        Ok(_) => None,
        Err(error) if may_exist(update, core, &error) => Some(error),
        Err(error) => {
            let error = told_outside(cx, core, update, one, error).await;
            return Err(explained(cx, core, update, one, error).await);
        }
    };
    let verdict = match error {
        // It was not there when the update came. By now it may be.
        None if update.is_unconditional() => Verdict::Refused(not_found(cx, core.meta(), one)),
        None => verdict(cx, core, update, one).await?,
        Some(error) => diagnose_refusal(cx, core, update, one, error, attempt).await?,
    };
    Ok(match verdict {
        // It is another document that matches by now.
        Verdict::Again | Verdict::Refused(Error::NotFound { .. }) if update.also.is_some() => {
            Next::End(Attempt::Unmatched)
        }
        Verdict::Refused(error) => return Err(explained(cx, core, update, one, error).await),
        Verdict::Nothing => Next::done(match update.reply {
            Reply::Document(_) => Outcome {
                document: read(cx, core, one).await?,
                ..Outcome::default()
            },
            Reply::Counts | Reply::Field(_) => Outcome::unchanged(),
        }),
        Verdict::Less(built) => Next::Other(WriteKind::Update(Box::new(update.with(*built)))),
        Verdict::Again => Next::Again,
    })
}

/// Why an update matched no document.
enum Verdict {
    /// The change can't be made.
    Refused(Error),
    /// There is nothing to change: the array whose items were to change, or to go, is missing.
    Nothing,
    /// Items that were to be added are there: this is left to do.
    Less(Box<Built>),
    /// Nothing holds it back any more.
    Again,
}

async fn verdict(cx: Cx<'_>, core: &Core, update: &UpdateWrite, one: &DocumentById) -> Result<Verdict> {
    let (meta, built) = (core.meta(), &update.built);
    let names = built.guards.iter().map(Guard::name).chain(meta.version());
    let met = built.guards.iter().find_map(Guard::met);
    let (stored, is_idle) = match met {
        None => (peek(cx, core, one, names).await?, false),
        Some(any) => peek_items(cx, meta, one, names, any).await?,
    };
    if stored.is_none()
        && let Some(error) = update.refused_insert(meta)
    {
        return Ok(Verdict::Refused(error));
    }
    if let Some(error) = missed(cx, meta, one, stored.as_ref()) {
        return Ok(Verdict::Refused(error));
    }
    let value = |name: &str| stored.as_ref().and_then(|stored| at(stored, name));
    match built.without_known(&value) {
        Some(KnownItems::All) => return Ok(Verdict::Nothing),
        Some(KnownItems::Some(left)) => return Ok(Verdict::Less(left)),
        None => {}
    }
    for guard in &built.guards {
        let value = value(guard.name());
        if let Some(error) = guard.refusal(meta.collection, &one.id, value) {
            return Ok(Verdict::Refused(error));
        }
        if guard.has_nothing_to_do(value) {
            return Ok(Verdict::Nothing);
        }
    }
    if is_idle {
        return Ok(Verdict::Nothing);
    }
    for computed in built.guards.iter().filter_map(Guard::computed) {
        let result = result_of(cx, meta, one, &computed.value).await?;
        if let Some(error) = computed.refusal(meta.collection, &one.id, result.as_ref()) {
            return Ok(Verdict::Refused(error));
        }
    }
    for guard in &built.guards {
        let (Some(items), Some(error)) = (guard.offenders(), guard.offence(meta.collection, &one.id)) else {
            continue;
        };
        let mut shown = doc! { "_id": 1 };
        // The first of the items that hold it back: the server takes this of a field at the top alone.
        if !guard.name().contains('.') {
            shown.insert(guard.name(), doc! { "$elemMatch": items.clone() });
        }
        let filter = all([one.place(), doc! { guard.name(): { "$elemMatch": items } }]);
        let filter = cx.routed(meta, filter);
        let mut options = core.on_primary();
        options.projection = Some(shown);
        cx.trip();
        let found = act!(core, own, [core] core.raw().find_one(filter).with_options(options));
        let found = found.map_err(|error| core.error(error))?;
        if let Some(found) = found {
            let found = Document::try_from(&*found).unwrap_or_default();
            return Ok(Verdict::Refused(guard.with_item(error, &found)));
        }
    }
    unexplained(cx, core, one, &built.guards).await
}

/// After nothing explained why an update matched no document: the server says which of the guards hold it back. Where none does, the
/// document has changed since the update, and another attempt may be made.
async fn unexplained(cx: Cx<'_>, core: &Core, one: &DocumentById, guards: &[Guard]) -> Result<Verdict> {
    // Which items hold a change back is known to the server alone, and was just asked.
    let guards: Vec<&Guard> = guards
        .iter()
        .filter(|guard| guard.offenders().is_none())
        .collect();
    if guards.is_empty() {
        return Ok(Verdict::Again);
    }
    let name = |at: usize| format!("guard{at}");
    let mut facets = Document::new();
    for (at, guard) in guards.iter().enumerate() {
        let value = match guard.computed() {
            Some(computed) => computed.value.clone(),
            None => format!("${}", guard.name()).into(),
        };
        let stages = vec![
            doc! { "$match": { "$nor": [guard.condition()] } },
            doc! { "$project": { "_id": 0, "value": value } },
        ];
        facets.insert(name(at), stages);
    }
    let pipeline = vec![doc! { "$match": one.place() }, doc! { "$facet": facets }];
    let found = cx.aggregate(core.meta(), pipeline).await?.pop();
    let found = found.unwrap_or_default();
    for (at, guard) in guards.into_iter().enumerate() {
        let holding_back = found.get_array(name(at)).ok().and_then(|all| all.first());
        let Some(holding_back) = holding_back.and_then(Bson::as_document) else {
            continue;
        };
        let value = holding_back.get("value");
        if guard.lets_be() {
            return Ok(Verdict::Nothing);
        }
        let collection = core.meta().collection;
        let error = match guard.computed() {
            Some(computed) => computed.refusal(collection, &one.id, value),
            None => guard.refusal(collection, &one.id, value),
        };
        let error = error.unwrap_or_else(|| Error::Invalid {
            collection: collection.to_owned(),
            violations: vec![
                Violation::new(
                    guard.path(),
                    Rule::Other(format!(
                        "{}, without which the update is not made",
                        guard.condition()
                    )),
                    value.cloned(),
                )
                .stored_in(&one.id),
            ],
            source: None,
        });
        return Ok(Verdict::Refused(error));
    }
    Ok(Verdict::Again)
}

/// The cause of an error that [may come](may_exist) from an insert of a document which is there.
async fn diagnose_refusal(
    cx: Cx<'_>,
    core: &Core,
    update: &UpdateWrite,
    one: &DocumentById,
    error: Error,
    attempt: usize,
) -> Result<Verdict> {
    match verdict(cx, core, update, one).await? {
        // It may have been deleted since. One that is out of the scope, or deleted and kept, stays.
        Verdict::Refused(Error::NotFound { .. }) if has_same_id(&error) && attempt < 2 => Ok(Verdict::Again),
        Verdict::Refused(Error::NotFound { .. }) => Ok(Verdict::Refused(error)),
        Verdict::Again if attempt > 0 && !has_same_id(&error) => Ok(Verdict::Refused(error)),
        verdict => Ok(verdict),
    }
}

/// Whether an error may come from an upsert that tried to insert a document which is there already, since it lost a
/// race or a guard held it back. The server may find any fault with such an insert before it finds the document with the same id.
/// Within the caller's transaction the error has ended it: [`told_outside`] looks there.
fn may_exist(update: &UpdateWrite, core: &Core, error: &Error) -> bool {
    let guarded = !update.built.guards.is_empty()
        || update
            .one
            .as_ref()
            .is_some_and(|one| one.expected_version.is_some());
    // Where it is unknown whether the write was made, it may not be made once more.
    let known = !error.outcome_unknown() && !matches!(error, Error::Unavailable { .. });
    let refused = known && is_refused(error);
    update.upsert && core.session().is_none() && (has_same_id(error) || guarded && refused)
}

/// The error of an upsert in the caller's transaction, which the refusal has ended. If the document was inserted by another
/// client and matches, the transaction is run again.
async fn told_outside(
    cx: Cx<'_>,
    core: &Core,
    update: &UpdateWrite,
    one: &DocumentById,
    error: Error,
) -> Error {
    let Some(session) = core.session().filter(|_| update.upsert && has_same_id(&error)) else {
        return error;
    };
    match verdict(cx.outside(), &core.within(None), update, one).await {
        Ok(
            Verdict::Again | Verdict::Less(_) | Verdict::Nothing | Verdict::Refused(Error::NotFound { .. }),
        ) => {
            session.raced();
            error
        }
        Ok(Verdict::Refused(refusal)) => refusal,
        Err(_) => error,
    }
}

/// Completes the server's error where the document would pass 16 MiB: its size, its largest fields, and the sizes of the
/// added values.
///
/// The error has ended a transaction, and the document that is stored outside of it need not be the same.
async fn explained(cx: Cx<'_>, core: &Core, update: &UpdateWrite, one: &DocumentById, error: Error) -> Error {
    let mut error = growth::add_sizes(error, &update.built.update);
    let Error::TooLarge {
        size,
        largest,
        source: Some(_),
        ..
    } = &mut error
    else {
        return error;
    };
    if core.session().is_some() {
        return error;
    }
    cx.trip();
    let (filter, options) = (cx.routed(core.meta(), one.place()), core.on_primary());
    let stored = act!(core, own, [core] core.raw().find_one(filter).with_options(options));
    // Where it can't be read, or has been deleted meanwhile, the refusal is the error.
    if let Ok(Some(stored)) = stored {
        let all = growth::grown(&stored, &update.built.update);
        *size = size.or((all > crate::model::size::MAX_DOCUMENT_SIZE).then_some(all));
        *largest = bounds::largest(&stored);
    }
    error
}

/// After an error of an update by a condition. An upsert by a unique key may lose a race for the document.
async fn after_refused_update(
    cx: Cx<'_>,
    core: &Core,
    update: &UpdateManyWrite,
    error: Error,
    attempt: usize,
) -> Result<Next> {
    let Cx { session, .. } = cx;
    let refused = |refused| {
        Ok(Next::done(Outcome {
            refused,
            ..Outcome::default()
        }))
    };
    if !update.keys.iter().any(|key| key.is_taken(&error)) {
        // The document with this key may be one that the range of a type held back. The server may find any fault with the new one
        // before it finds that one.
        if update.held_uncounted.is_some() && is_refused(&error) {
            return match count(cx, core, update.held_uncounted.as_ref(), update).await? {
                0 => Err(error),
                held => refused(held),
            };
        }
        return Err(error);
    }
    // Mostly the document that came in between matches, and is changed by the next attempt.
    if session.is_some() || attempt > 0 {
        // The document may be one that the range of a type holds back.
        if session.is_none() && update.held_uncounted.is_some() {
            let held = count(cx, core, update.held_uncounted.as_ref(), update).await?;
            if held > 0 {
                return refused(held);
            }
        }
        cx.trip();
        let existing = taken_by(&core.within(None), update, &error).await?;
        if existing.is_some() || attempt == crate::store::transaction::REPEATS {
            return Err(naming(error, existing));
        }
    }
    // The refusal has ended the transaction: all of it is run again.
    match session {
        Some(session) => {
            session.raced();
            Err(error)
        }
        None => Ok(Next::Again),
    }
}

/// The id of the document because of which an upsert was refused, if it does not match the rest of the condition.
async fn taken_by(core: &Core, update: &UpdateManyWrite, error: &Error) -> Result<Option<Bson>> {
    let key = update.keys.iter().find(|key| key.is_taken(error));
    let Some(which) = key.and_then(|key| key.others(&update.condition)) else {
        return Ok(None);
    };
    let which = core.odm().in_scope(core.meta(), which, false)?;
    let mut options = core.on_primary();
    options.projection = Some(doc! { "_id": 1 });
    let found = act!(core, own, [core] core.raw().find_one(which).with_options(options));
    let found = found.map_err(|error| core.error(error))?;
    Ok(found.and_then(|found| Bson::try_from(found.get("_id").ok()??).ok()))
}

/// The refusal of an upsert, with the document that has its unique key.
fn naming(mut error: Error, id: Option<Bson>) -> Error {
    if let Error::DuplicateKey { existing, .. } = &mut error {
        *existing = id.map(Box::new);
    }
    error
}

/// Whether the server refused the write.
fn is_refused(error: &Error) -> bool {
    use mongodb::error::ErrorKind;
    error
        .driver_error()
        .is_some_and(|error| matches!(&*error.kind, ErrorKind::Write(_) | ErrorKind::Command(_)))
}

/// Whether a document with this id is there already.
pub(crate) fn has_same_id(error: &Error) -> bool {
    matches!(error, Error::DuplicateKey { fields, .. } if fields.len() == 1 && fields[0] == "_id")
}

fn not_found(cx: Cx<'_>, meta: &'static DocumentMeta, one: &DocumentById) -> Error {
    let mut key = doc! { "_id": &one.id };
    // There may be one with another shard key.
    let place = cx.routed(meta, one.place());
    let fields = meta.key_beside_id();
    key.extend(fields.filter_map(|name| Some((name.to_owned(), demanded(&place, name)?.clone()))));
    // There may be one of another variant.
    let within = meta.tag().zip(one.within.as_ref());
    let variant = within.and_then(|(tag, within)| Some((tag, within.get_document(tag).ok()?.get("$eq")?)));
    key.extend(variant.map(|(tag, name)| (tag.to_owned(), name.clone())));
    Error::NotFound {
        collection: meta.collection,
        key: Box::new(key),
        deleted: false,
    }
}

/// Why a whole document has replaced none.
async fn not_replaced(cx: Cx<'_>, meta: &'static DocumentMeta, replace: &ReplaceWrite) -> Result<Error> {
    let moved = if replace.precedes_insert {
        None
    } else {
        stored_elsewhere(cx, meta, &replace.one, replace.stored()).await?
    };
    Ok(moved.unwrap_or_else(|| not_found(cx, meta, &replace.one)))
}

/// The refusal of a whole document that is stored with another shard key, or with another value of a field that is the same in other
/// documents: `move_to` changes these. `None` where it is not there at all. It is looked for by its id alone, on all shards.
///
/// # Errors
/// Those of a read.
pub(crate) async fn stored_elsewhere(
    cx: Cx<'_>,
    meta: &'static DocumentMeta,
    one: &DocumentById,
    given: &RawDocument,
) -> Result<Option<Error>> {
    let Some(routing) = cx.odm.graph().routing(meta) else {
        return Ok(None);
    };
    let filter = doc! { "_id": { "$eq": &one.id } };
    let filter = cx.odm.in_scope_of_existing(meta, filter);
    // By a handle of one tenant, documents of others are not there.
    let others: Vec<&str> = routing
        .fixed()
        .filter(|name| demanded(&filter, name).is_none())
        .collect();
    if others.is_empty() {
        return Ok(None);
    }
    let core = &cx.application(meta);
    let mut projection = doc! { "_id": 1 };
    for name in others.iter().copied().chain(meta.version()) {
        read_too(&mut projection, name);
    }
    let mut options = core.on_primary();
    options.projection = Some(projection);
    cx.trip();
    let found = act!(core, own, [core] core.raw().find_one(filter).with_options(options));
    let Some(found) = found.map_err(|error| core.error(error))? else {
        return Ok(None);
    };
    let Some(field) = others
        .into_iter()
        .find(|name| key_at(&found, name) != key_at(given, name))
    else {
        return Ok(None);
    };
    let stored = decoded(&found)?;
    let conflict = missed(cx, meta, one, Some(&stored));
    Ok(Some(conflict.unwrap_or_else(|| Error::Immutable {
        collection: meta.collection,
        field: field.to_owned(),
        source: None,
    })))
}

/// The ids of new documents by the positions of their writes.
pub(in crate::engine) type NewIds = HashMap<usize, Bson>;

/// The ids of the documents that these writes may insert, of types with a collation whose deletions keep documents: an error names their
/// texts by the sort keys of the collation.
pub(in crate::engine) fn new_ids(writes: &Writes) -> NewIds {
    let is_asked = |meta: &DocumentMeta| meta.collation.is_some() && meta.soft_delete.is_some();
    let stored = |document: &RawDocument| Bson::try_from(document.get("_id").ok()??).ok();
    let of_write = |write: &Write| {
        let id = match write.inserted().filter(|_| is_asked(write.meta)) {
            Some(document) => stored(document)?,
            None => write.upserted_id().filter(|_| is_asked(write.meta))?.clone(),
        };
        Some((write.at, id))
    };
    match writes {
        Writes::One(write) => of_write(write).into_iter().collect(),
        Writes::Each(writes) => writes.iter().filter_map(of_write).collect(),
        Writes::Packed { meta, documents, .. } if is_asked(meta) => {
            let ids = documents.documents().map(|document| stored(document.ok()?));
            let by_position = documents.positions().zip(ids);
            by_position.filter_map(|(at, id)| Some((at, id?))).collect()
        }
        Writes::Packed { .. } => NewIds::new(),
    }
}

/// The answer to writes that name documents which are deleted and kept: one, whatever the writes are. An update and a replacement don't find
/// the document, and an insert and an upsert with its id are refused by the index of the ids.
pub(in crate::engine) async fn answered(
    cx: Cx<'_>,
    new_ids: &NewIds,
    mut made: Result<Outcome>,
) -> Result<Outcome> {
    let errors: Vec<(Option<usize>, &mut Error)> = match &mut made {
        Ok(Outcome {
            refusals: Refusals { errors, .. },
            ..
        })
        | Err(Error::Bulk { errors, .. }) => {
            errors.iter_mut().map(|(at, error)| (Some(*at), error)).collect()
        }
        Err(error) => vec![(None, error)],
    };
    name_deleted(cx, new_ids, errors).await;
    made
}

/// The error of a deletion that found no document.
pub(crate) async fn nothing_deleted(cx: Cx<'_>, collection: &'static str, key: Document) -> Error {
    let mut error = Error::NotFound {
        collection,
        key: Box::new(key),
        deleted: false,
    };
    name_deleted(cx, &NewIds::new(), vec![(None, &mut error)]).await;
    error
}

/// Says in errors which of the documents that they name are deleted and kept.
async fn name_deleted(cx: Cx<'_>, new_ids: &NewIds, errors: Vec<(Option<usize>, &mut Error)>) {
    let mut asked: Vec<NamedDocuments<'_>> = Vec::new();
    for (at, error) in errors {
        let Some((meta, deleted_at, mut id, beside)) = kept_by_id(cx, error) else {
            continue;
        };
        // An error of a single write is that of the write.
        let at = at.or_else(|| new_ids.keys().next().copied().filter(|_| new_ids.len() == 1));
        if let Some(new) = at.and_then(|at| new_ids.get(&at)) {
            id = new.clone();
        }
        // A refused insert has ended the transaction.
        let within = matches!(error, Error::NotFound { .. });
        let known = |one: &&mut NamedDocuments<'_>| {
            one.meta.collection == meta.collection && one.within == within && one.beside == beside
        };
        match asked.iter_mut().find(known) {
            Some(one) => one.errors.push((id, error)),
            None => asked.push(NamedDocuments {
                meta,
                deleted_at,
                within,
                beside,
                errors: vec![(id, error)],
            }),
        }
    }
    for NamedDocuments {
        meta,
        deleted_at,
        within,
        beside,
        errors,
    } in asked
    {
        let cx = if within { cx } else { cx.outside() };
        let keys: Vec<Key> = errors.iter().map(|(id, _)| Key::of_bson(id)).collect();
        let mut deleted = HashSet::new();
        for ids in key::chunks(&keys) {
            let mut filter = doc! { "_id": { "$in": ids }, deleted_at: { "$ne": null } };
            if let Some(own) = cx.odm.scope_with_deleted(meta) {
                filter = crate::store::filter::within(filter, &own);
            }
            for (name, value) in &beside {
                filter = crate::store::filter::within(filter, &doc! { name: { "$eq": value } });
            }
            // Without it the error says less.
            let found = cx
                .every(meta, filter, doc! { "_id": 1 })
                .await
                .unwrap_or_default();
            deleted.extend(found.iter().map(id));
        }
        for (id, error) in errors {
            if deleted.contains(&Key::of_bson(&id)) {
                let mut key = doc! { "_id": id };
                key.extend(beside.clone());
                *error = Error::NotFound {
                    collection: meta.collection,
                    key: Box::new(key),
                    deleted: true,
                };
            }
        }
    }
}

/// Errors that name documents of one collection by their ids.
struct NamedDocuments<'e> {
    meta: &'static DocumentMeta,
    /// The field with the time of a deletion.
    deleted_at: &'static str,
    /// Whether they are looked for in the transaction.
    within: bool,
    /// The other fields that the errors name them by.
    beside: Document,
    errors: Vec<(Bson, &'e mut Error)>,
}

/// The document that an error names by its id, of a type whose deletions keep documents.
fn kept_by_id(cx: Cx<'_>, error: &Error) -> Option<(&'static DocumentMeta, &'static str, Bson, Document)> {
    let mut beside = Document::new();
    let (collection, id) = match error {
        Error::DuplicateKey {
            collection, value, ..
        } if has_same_id(error) => (collection.as_str(), value.get("_id")?),
        Error::NotFound { collection, key, .. } => {
            let others = key.iter().filter(|(name, _)| *name != "_id");
            beside.extend(others.map(|(name, value)| (name.clone(), value.clone())));
            (*collection, key.get("_id")?)
        }
        _ => return None,
    };
    let mut models = cx.odm.graph().models();
    let meta = models.find(|meta| meta.collection == collection)?;
    Some((meta, meta.soft_delete?, id.clone(), beside))
}

/// Why a write of one document matched none: it does not exist, or it has another version. `None`: it exists with this version,
/// so something else prevented the write.
fn missed(
    cx: Cx<'_>,
    meta: &'static DocumentMeta,
    one: &DocumentById,
    stored: Option<&Document>,
) -> Option<Error> {
    let Some(stored) = stored else {
        return Some(not_found(cx, meta, one));
    };
    let (Some(seen), Some(name)) = (one.expected_version, meta.version()) else {
        return None;
    };
    let found = match stored.get(name) {
        Some(Bson::Int64(n)) => Some(*n),
        Some(Bson::Int32(n)) => Some(i64::from(*n)),
        Some(Bson::Double(n)) => crate::model::key::integer(*n),
        _ => None,
    };
    // As the filter has it, none is 0, and what is no number is no version.
    let is_none = matches!(stored.get(name), None | Some(Bson::Null));
    (found.or(is_none.then_some(0)) != Some(seen)).then(|| Error::Conflict {
        collection: meta.collection,
        id: Box::new(one.id.clone()),
        seen,
        found,
    })
}

/// The document with this id, as it is on the primary, for the application.
async fn read(cx: Cx<'_>, core: &Core, one: &DocumentById) -> Result<Option<RawDocumentBuf>> {
    let filter = core.odm().in_scope(core.meta(), one.place(), false)?;
    let filter = cx.routed(core.meta(), filter);
    let mut options = core.on_primary();
    if let Some(concern) = core.options().and_then(|options| options.read_concern.as_ref()) {
        options.read_concern = Some(concern.clone());
    }
    cx.trip();
    let found = act!(core, answer, [core] core.raw().find_one(filter).with_options(options));
    found.map_err(|error| core.error(error))
}

/// Reads some fields of one document, to explain why a write of it changed nothing.
async fn peek(
    cx: Cx<'_>,
    core: &Core,
    one: &DocumentById,
    names: impl IntoIterator<Item = &str>,
) -> Result<Option<Document>> {
    let mut projection = doc! { "_id": 1 };
    for name in names {
        read_too(&mut projection, name);
    }
    let collection = core.raw().clone_with_type::<Document>();
    let filter = cx.routed(core.meta(), one.place());
    let mut options = core.on_primary();
    options.projection = Some(projection);
    cx.trip();
    let found = act!(core, own, collection.find_one(filter).with_options(options));
    found.map_err(|error| core.error(error))
}

/// Reads some fields of one document as [`peek`] does, and whether none of these conditions holds for it.
async fn peek_items(
    cx: Cx<'_>,
    meta: &'static DocumentMeta,
    one: &DocumentById,
    names: impl IntoIterator<Item = &str>,
    any: &[Document],
) -> Result<(Option<Document>, bool)> {
    let mut fields = doc! { "_id": 1 };
    for name in names {
        read_too(&mut fields, name);
    }
    let pipeline = vec![
        doc! { "$match": one.place() },
        doc! { "$facet": {
            "stored": [{ "$project": fields }],
            "idle": [{ "$match": { "$nor": any } }, { "$project": { "_id": 1 } }],
        } },
    ];
    let mut found = cx.aggregate(meta, pipeline).await?.pop().unwrap_or_default();
    let mut first = |name: &str| match found.remove(name) {
        Some(Bson::Array(list)) => list.into_iter().next(),
        _ => None,
    };
    let stored = match first("stored") {
        Some(Bson::Document(stored)) => Some(stored),
        _ => None,
    };
    Ok((stored, first("idle").is_some()))
}

/// The result of an expression on one document.
async fn result_of(
    cx: Cx<'_>,
    meta: &'static DocumentMeta,
    one: &DocumentById,
    expression: &Bson,
) -> Result<Option<Bson>> {
    let pipeline = vec![
        doc! { "$match": one.place() },
        doc! { "$project": { "_id": 0, "result": expression } },
    ];
    let found = cx.aggregate(meta, pipeline).await?.pop();
    Ok(found.and_then(|mut found| found.remove("result")))
}

/// The value at a dotted name.
fn at<'d>(document: &'d Document, name: &str) -> Option<&'d Bson> {
    let mut parts = name.split('.');
    let mut value = document.get(parts.next()?)?;
    for part in parts {
        value = value.as_document()?.get(part)?;
    }
    Some(value)
}
