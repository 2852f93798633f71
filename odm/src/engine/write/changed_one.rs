//! An update or replacement of one document that reads it by the same command, in a transaction in which something depends on it.

use crate::engine::write::send::{array_filters, replaced, replaced_whole, select, too_large, within_time};
use crate::model::key::Key;
use crate::model::meta::names::{read_too, root};
use crate::plan::operation::{Batching, Reply, Write, WriteKind};
use crate::plan::operators::applied::{always_changes, applied};
use crate::plan::operators::{growth, written};
use crate::plan::outcome::{Done, Outcome};
use crate::store::batch::{by_ids, id};
use crate::store::core::{Core, act};
use crate::store::cx::Cx;
use crate::store::server::Topology;
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use mongodb::options::{FindOneAndUpdateOptions, ReturnDocument, UpdateModifications};

/// One document before a write, and after it as far as the write says.
pub(super) struct ChangedOne {
    /// `None` where nothing depends on it.
    before: Option<RawDocumentBuf>,
    after: After,
    /// The fields that were read.
    fields: Document,
}

/// One document after a write.
enum After {
    /// As the update says.
    Is(RawDocumentBuf),
    /// It has changed. As it is has to be read where the command has not.
    Changed(Box<Outcome>, Option<RawDocumentBuf>),
    Unknown,
}

/// The write, if [`change_one`] can execute these writes.
pub(super) async fn can_be_read<'w>(
    cx: &Cx<'_>,
    batching: Batching,
    writes: &'w [Write],
) -> Result<Option<&'w Write>> {
    let ([write], Batching::Single, Some(_)) = (writes, batching, cx.session) else {
        return Ok(None);
    };
    let is_of_one = match &write.what {
        WriteKind::Update(update) => {
            let is_named = match update.reply {
                Reply::Counts => update.one.is_some(),
                Reply::Field(_) => true,
                Reply::Document(_) => false,
            };
            is_named && !update.upsert && update.built.raw.is_empty() && !update.built.fills_first()
        }
        WriteKind::Replace(replace) => replace.replacement(write.meta)?.is_whole,
        WriteKind::Insert(_) | WriteKind::UpdateMany(_) | WriteKind::Delete(_) => false,
    };
    if !is_of_one {
        return Ok(None);
    }
    // That of a sharded collection has to name the shard key.
    let is_targeted = || {
        let condition = write.condition().unwrap_or_default();
        cx.is_targeted(write.meta, &cx.routed(write.meta, condition))
    };
    let can_be = cx.odm.server().await?.topology() != Topology::Sharded || is_targeted();
    Ok(can_be.then_some(write))
}

/// Whether the application asks for a field as it was before.
pub(super) fn gives_before(write: &Write) -> bool {
    matches!(&write.what, WriteKind::Update(update) if matches!(update.reply, Reply::Field(_)))
}

/// Writes one document in its transaction, and reads these fields of it in the same command: as they were before, or as they are
/// afterwards. `None` where no document matches.
pub(super) async fn change_one(
    cx: Cx<'_>,
    write: &Write,
    names: &[String],
    reads: ReturnDocument,
) -> Result<Option<ChangedOne>> {
    let core = &cx.application(write.meta);
    let mut fields = cx.with_shard_keys(write.meta, doc! { "_id": 1 });
    names.iter().for_each(|name| read_too(&mut fields, name));
    let mut options = FindOneAndUpdateOptions::default();
    let is_before = matches!(reads, ReturnDocument::Before);
    options.return_document = Some(reads);
    let (read, after) = match &write.what {
        WriteKind::Update(update) => {
            let modifications = update.built.modifications();
            let is_pipeline = matches!(modifications, UpdateModifications::Pipeline(_));
            // Whether something has changed is seen by these.
            written(&update.built.update)
                .map(root)
                .for_each(|name| read_too(&mut fields, name));
            if let Reply::Field(field) = update.reply {
                read_too(&mut fields, field);
            }
            if let Some(by) = &update.first {
                select!(options, by);
            }
            options.array_filters = array_filters(&update.built);
            options.projection = Some(fields.clone());
            let statement = (update.condition(write.meta), modifications);
            let read = update_and_read(cx, core, statement, options).await;
            let refused = |error| match update.reply {
                Reply::Field(_) => growth::add_sizes(core.error(error), &update.built.update),
                Reply::Counts | Reply::Document(_) => core.error(error),
            };
            let Some(read) = read.map_err(refused)? else {
                return Ok(None);
            };
            let update = Some(&update.built.update).filter(|_| is_before && !is_pipeline);
            let after = update.map_or(After::Unknown, |update| After::update(&read, update));
            (read, after)
        }
        WriteKind::Replace(replace) => {
            let made = replace.replacement(write.meta)?;
            let filter = within_time(replace.one.filter(write.meta), replace, &made);
            let outcome = replaced(replaced_whole(replace, &made)?);
            options.projection = Some(fields.clone());
            let statement = (filter, made.update.clone());
            let read = update_and_read(cx, core, statement, options).await;
            let Some(read) = read.map_err(|error| too_large(core.error(error), &made))? else {
                return Ok(None);
            };
            (read, After::Changed(Box::new(outcome), None))
        }
        WriteKind::Insert(_) | WriteKind::UpdateMany(_) | WriteKind::Delete(_) => return Ok(None),
    };
    Ok(Some(if is_before {
        ChangedOne {
            before: Some(read),
            after,
            fields,
        }
    } else {
        let outcome = match after {
            After::Changed(outcome, _) => outcome,
            // A field that others copy has changed, and with it the version.
            After::Is(_) | After::Unknown => Box::new(Outcome::changed()),
        };
        ChangedOne {
            before: None,
            after: After::Changed(outcome, Some(read)),
            fields,
        }
    }))
}

async fn update_and_read(
    cx: Cx<'_>,
    core: &Core,
    (filter, modifications): (Document, UpdateModifications),
    options: FindOneAndUpdateOptions,
) -> mongodb::error::Result<Option<RawDocumentBuf>> {
    cx.trace.trip();
    let filter = cx.routed(core.meta(), filter);
    let read = act!(
        core,
        modify,
        [core] core.raw().find_one_and_update(filter, modifications).with_options(options)
    );
    read.inspect(|read| read.iter().for_each(|document| cx.note(core.meta(), document)))
}

impl After {
    /// A document after an update that is no pipeline. The update has been made, so nothing here is an error.
    fn update(before: &RawDocumentBuf, update: &Document) -> After {
        let known = Document::try_from(before).ok();
        let after = known.and_then(|before| applied(&before, update));
        match after.and_then(|after| RawDocumentBuf::try_from(&after).ok()) {
            Some(after) => After::Is(after),
            None if always_changes(update) => After::Changed(Box::new(Outcome::changed()), None),
            None => After::Unknown,
        }
    }
}

impl ChangedOne {
    /// The id of the document, as it was before the write where that was read, and the result. As it is afterwards is read where neither
    /// the write nor the reply says it, and something depends on it.
    pub(super) async fn read_after(
        self,
        cx: &Cx<'_>,
        write: &Write,
        derived: bool,
    ) -> Result<(Key, Option<RawDocumentBuf>, Done)> {
        let ChangedOne {
            before,
            after,
            fields,
        } = self;
        let known = before.as_ref().or(match &after {
            After::Is(document) | After::Changed(_, Some(document)) => Some(document),
            After::Changed(_, None) | After::Unknown => None,
        });
        let key = known.map_or(Key::of_bson(&Bson::Null), id);
        let read = async || {
            let names: Vec<&str> = fields.keys().map(String::as_str).collect();
            let found = by_ids(cx, write.meta, [&key].into_iter(), names).await?;
            Ok::<_, Error>(found.into_iter().next())
        };
        let compared = |after: &Option<RawDocumentBuf>| {
            if *after == before {
                Outcome::unchanged()
            } else {
                Outcome::changed()
            }
        };
        let (outcome, after) = match after {
            After::Is(after) => {
                let after = Some(after);
                (compared(&after), after)
            }
            After::Changed(outcome, None) if derived => (*outcome, read().await?),
            After::Changed(outcome, after) => (*outcome, after),
            After::Unknown => {
                let after = read().await?;
                (compared(&after), after)
            }
        };
        let outcome = if gives_before(write) {
            Outcome {
                document: before.clone(),
                ..outcome
            }
        } else {
            outcome
        };
        let done = Done {
            after,
            ..outcome.into()
        };
        Ok((key, before, done))
    }
}
