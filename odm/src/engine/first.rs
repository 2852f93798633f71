//! Updates and deletions of one document that a condition finds: the first in an order, or the one that has a unique key.
//!
//! Where no rule and no guard concerns the write, it is one command. Otherwise the document is looked for, and written by its id if it
//! still matches; another client may have changed it in between, and then the document that is the first by now takes its place.

use crate::engine::delete::tree::alive;
use crate::engine::execute;
use crate::engine::write::send::select;
use crate::model::encode::owned;
use crate::plan::modes::WritePlan;
use crate::plan::operation::{
    Batching, DeleteWrite, DocumentById, Reply, Selection, UpdateWrite, Write, WriteKind, WriteOperation,
};
use crate::plan::operators::Built;
use crate::plan::operators::guard::Guard;
use crate::plan::operators::implied::combines;
use crate::plan::outcome::Outcome;
use crate::plan::touches::prepare;
use crate::plan::upsert::{self, KeyIndex, value_at};
use crate::store::core::{Core, act};
use crate::store::filter::{all, within};
use crate::store::trace::Trace;
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use std::hash::{BuildHasher, Hasher, RandomState};

/// Maximum number of documents that are looked for, where each is changed by another client before it is written.
const ATTEMPTS: usize = 100;

/// The number of documents of which one is taken at random where other clients take the first ones.
const MOST_SKIPPED: u64 = 16;

/// A condition, and the order in which the first document that matches it is meant.
#[derive(Clone, Debug)]
pub(crate) struct FirstMatch {
    pub(crate) condition: Document,
    pub(crate) by: Selection,
    /// The fields of the unique key that the condition demands: no document is an error of an update then.
    pub(crate) key: Option<Vec<&'static str>>,
}

impl FirstMatch {
    /// The document behind the first `skip` ones, or its `_id` alone, read on the primary.
    async fn find(
        &self,
        core: &Core,
        trace: &Trace,
        (whole, skip): (bool, u64),
    ) -> Result<Option<RawDocumentBuf>> {
        let collated = self.by.collation.is_some();
        let condition = core
            .odm()
            .in_scope(core.meta(), self.condition.clone(), collated)?;
        let mut options = core.on_primary();
        options.skip = Some(skip);
        select!(options, &self.by);
        let shown = ["_id"]
            .into_iter()
            .chain(self.collated_key().into_iter().flatten().copied());
        let shown = shown.map(|name| (name.to_owned(), Bson::from(1))).collect();
        let cx = core.cx(trace);
        options.projection = (!whole).then(|| cx.with_shard_keys(core.meta(), shown));
        trace.trip();
        let found = act!(core, own, [core] core.raw().find_one(condition).with_options(options));
        let found = found.map_err(|error| core.error(error))?;
        found.iter().for_each(|document| cx.note(core.meta(), document));
        Ok(found)
    }

    /// The condition that the document must still match when it is written. A key that the collation of its index compares must still
    /// have the values that were found.
    fn also(&self, found: &RawDocument) -> Result<Option<Document>> {
        let Some(names) = self.collated_key() else {
            return Ok(combines(&self.condition).then(|| self.condition.clone()));
        };
        let mut values = Document::new();
        for name in names {
            let value = value_at(found, name).map(owned).transpose();
            let value = value.map_err(|source| not_encoded(name, source))?;
            values.insert(*name, doc! { "$eq": value.unwrap_or(Bson::Null) });
        }
        Ok(Some(values))
    }

    fn is_key(&self) -> bool {
        self.key.is_some()
    }

    /// The fields of a unique key that is not compared as its collection compares.
    fn collated_key(&self) -> Option<&[&'static str]> {
        self.key.as_deref().filter(|_| self.by.collation.is_some())
    }

    /// Refuses what the document would have to be compared by again, when it is written by its id.
    ///
    /// # Errors
    /// [`Error::Query`] with a collation.
    fn may_be_written_by_id(&self, core: &Core) -> Result<()> {
        if self.by.collation.is_none() || self.is_key() {
            return Ok(());
        }
        Err(Error::Query {
            collection: core.meta().collection,
            message: "rules or bounds concern this write, so the document is written by its id and compared with the condition again, for \
                      which there is no collation: declare it on the collection, `#[document(collation = …)]`, or use `update_where`"
                .to_owned(),
        })
    }

    fn not_found(&self, core: &Core) -> Error {
        Error::NotFound {
            collection: core.meta().collection,
            key: Box::new(upsert::values_of(
                self.key.as_deref().unwrap_or_default(),
                &self.condition,
            )),
            deleted: false,
        }
    }

    fn contended(core: &Core) -> Error {
        Error::Contention {
            collection: core.meta().collection,
            message: format!(
                "each of the {ATTEMPTS} documents that matched was changed by another client before it was written: try again"
            ),
            source: None,
        }
    }
}

/// The index of the unique key of these fields, in the scope of the handle.
///
/// # Errors
/// [`Error::Query`] where they are no unique key there.
pub(crate) fn index_of(core: &Core, names: &[&str], condition: &Document) -> Result<KeyIndex> {
    let (odm, meta) = (core.odm(), core.meta());
    if odm.scopes().with_deleted && meta.soft_delete.is_some() && names != ["_id"] {
        return Err(Error::Query {
            collection: meta.collection,
            message: "among deleted documents only `_id` is unique: several of them may have had this key. Use `find`, or a handle \
                      without deleted documents"
                .to_owned(),
        });
    }
    match odm.scope_of(meta) {
        None => upsert::index_of(odm.graph(), meta, names, condition),
        Some(scope) => upsert::index_of(odm.graph(), meta, names, &within(condition.clone(), &scope)),
    }
}

fn id(document: &RawDocumentBuf) -> Result<Bson> {
    let id = document.get("_id");
    let id = id.and_then(|id| id.map_or(Ok(Bson::Null), owned));
    id.map_err(|source| not_encoded("_id", source))
}

fn not_encoded(field: &str, source: mongodb::bson::error::Error) -> Error {
    Error::Encode {
        field: field.to_owned(),
        source: Box::new(source),
    }
}

/// Updates the document. Without one it is counted as missed.
///
/// # Errors
/// Those of an update by its id; [`Error::NotFound`] where there is none with the unique key.
pub(crate) async fn update(
    core: &Core,
    trace: &Trace,
    first: FirstMatch,
    built: Built,
    reply: Reply,
) -> Result<Outcome> {
    built.moves_nothing(core.meta().collection)?;
    core.odm().know_declarations(trace).await?;
    if built.update.is_empty() {
        return match first
            .find(core, trace, (matches!(reply, Reply::Document(_)), 0))
            .await?
        {
            Some(found) => Ok(Outcome {
                document: matches!(reply, Reply::Document(_)).then_some(found),
                ..Outcome::unchanged()
            }),
            None if first.is_key() => Err(first.not_found(core)),
            None => Ok(Outcome::missed()),
        };
    }
    let mut made = Outcome::missed();
    let single = single(core, &first, &built, &reply)?;
    let is_single = single.is_some();
    if let Some(update) = single {
        made = execute(
            core.cx(trace),
            operation(core, WriteKind::Update(Box::new(update))),
        )
        .await?;
    }
    if is_missed(&made) && (!is_single || first.is_key() && !built.guards.is_empty()) {
        made = by_id(core, trace, &first, &built, &reply).await?;
    }
    if is_missed(&made) && first.is_key() {
        return Err(first.not_found(core));
    }
    Ok(made)
}

fn operation(core: &Core, what: WriteKind) -> WriteOperation {
    WriteOperation::one(core.meta(), what)
}

/// Whether there was no document that matched.
pub(crate) fn is_missed(made: &Outcome) -> bool {
    made.counts.missed > 0
}

/// The update as one command, where nothing but the condition can hold it back, and nothing follows from it.
fn single(core: &Core, first: &FirstMatch, built: &Built, reply: &Reply) -> Result<Option<UpdateWrite>> {
    let (odm, meta) = (core.odm(), core.meta());
    let mut built = built.clone();
    prepare(odm.graph(), meta, &mut built)?;
    // Why a document with the unique key is held back can be found out afterwards. One that the range of an integer type holds back
    // is passed over.
    let may_be_sent = |guard: &Guard| first.is_key() || guard.is_of_type();
    if !built.is_one_statement() || !combines(&first.condition) || !built.guards.iter().all(may_be_sent) {
        return Ok(None);
    }
    // An update by a unique key is counted; that of the first document in an order is a command that gives the document.
    let reply = match reply {
        Reply::Counts if !first.is_key() => Reply::Field("_id"),
        reply => reply.clone(),
    };
    let mut update = UpdateWrite::matching(first.condition.clone(), built, reply);
    update.first = Some(Box::new(first.by.clone()));
    let mut write = Write {
        at: 0,
        meta,
        what: WriteKind::Update(Box::new(update)),
    };
    write.read_operators(odm.graph())?;
    let is_single = !odm.graph().is_depended_on(meta)
        && !meta.has_hooks()
        && WritePlan::for_writes(odm, Batching::Single, std::slice::from_ref(&write))?.is_none();
    Ok(match write.what {
        WriteKind::Update(update) if is_single => Some(*update),
        _ => None,
    })
}

/// Looks for the document, and updates it by its id if it still matches.
async fn by_id(
    core: &Core,
    trace: &Trace,
    first: &FirstMatch,
    built: &Built,
    reply: &Reply,
) -> Result<Outcome> {
    first.may_be_written_by_id(core)?;
    let mut refused: Option<(Bson, Error)> = None;
    let mut skip = 0;
    for attempt in 1..=ATTEMPTS {
        let Some(found) = first.find(core, trace, (false, skip)).await? else {
            if skip == 0 {
                return Ok(Outcome::missed());
            }
            skip = 0;
            continue;
        };
        let id = id(&found)?;
        if let Some((of, error)) = refused.take()
            && of == id
        {
            return Err(error);
        }
        let one = DocumentById::new(id.clone(), None);
        let mut update = UpdateWrite::new(core.odm(), core.meta(), one, built.clone(), false)?;
        update.also = first.also(&found)?;
        update.reply = reply.clone();
        match execute(
            core.cx(trace),
            operation(core, WriteKind::Update(Box::new(update))),
        )
        .await
        {
            Ok(made) if is_missed(&made) => skip = others(first, attempt),
            // The document that is refused need not be the first any more.
            Err(error) if !first.is_key() && is_of_a_value(&error) && core.session().is_none() => {
                refused = Some((id, error));
            }
            made => return made,
        }
    }
    Err(refused.map_or_else(|| FirstMatch::contended(core), |(_, error)| error))
}

/// How many documents are left to other clients that look for the first one at the same time, after an attempt in which one of them
/// has changed it: at random, so that they don't meet at each document.
fn others(first: &FirstMatch, attempt: usize) -> u64 {
    if first.is_key() {
        return 0;
    }
    let random = RandomState::new().build_hasher().finish();
    random % (attempt as u64 + 1).min(MOST_SKIPPED)
}

/// Whether an error says that the stored document does not take the change.
fn is_of_a_value(error: &Error) -> bool {
    matches!(
        error,
        Error::ArrayFull { .. } | Error::IsNull { .. } | Error::OtherVariant { .. } | Error::Invalid { .. }
    )
}

/// Deletes the document, by the rules of the references to it, and gives it as it was.
///
/// # Errors
/// Those of a deletion by its id.
pub(crate) async fn delete(core: &Core, trace: &Trace, first: FirstMatch) -> Result<Option<RawDocumentBuf>> {
    let (odm, meta) = (core.odm(), core.meta());
    odm.know_declarations(trace).await?;
    let graph = odm.graph();
    let is_single = !graph.has_deletion_rules(meta) && !graph.is_depended_on(meta);
    if is_single && meta.soft_delete.is_none() {
        let mut delete = DeleteWrite::many(first.condition);
        delete.first = Some(Box::new(first.by));
        let made = execute(
            core.cx(trace),
            operation(core, WriteKind::Delete(Box::new(delete))),
        )
        .await?;
        return Ok(made.document);
    }
    first.may_be_written_by_id(core)?;
    // A deleted document is not deleted once more, also where the handle reads such documents.
    let first = FirstMatch {
        condition: within(first.condition, &alive(meta)),
        ..first
    };
    let mut skip = 0;
    for attempt in 1..=ATTEMPTS {
        let Some(found) = first.find(core, trace, (true, skip)).await? else {
            if skip == 0 {
                return Ok(None);
            }
            skip = 0;
            continue;
        };
        let found_one = doc! { "_id": { "$eq": id(&found)? } };
        let filter = all([found_one].into_iter().chain(first.also(&found)?));
        let delete = WriteKind::Delete(Box::new(DeleteWrite::many(filter)));
        if execute(core.cx(trace), operation(core, delete))
            .await?
            .counts
            .deleted
            > 0
        {
            return Ok(Some(found));
        }
        skip = others(&first, attempt);
    }
    Err(FirstMatch::contended(core))
}
