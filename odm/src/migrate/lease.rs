//! The collection of migrations: which steps are applied, which one runs and how far it is, and the lease of the process that runs it.
//!
//! The lease is taken before the first statement of a step, and judged by the clock of the server alone. Each batch is a transaction that
//! writes the lease as its first write, on the condition that it is still that of this process. So a process that was held up writes nothing
//! after another one has taken over: `tests/protocol/src/migrations.rs`.

use crate::store::core::act;
use crate::store::cx::Cx;
use crate::{Error, Odm, Result};
use futures::TryStreamExt;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, DateTime, Document, RawDocumentBuf, doc};
use mongodb::options::{CollectionOptions, ReadConcern, ReturnDocument, SelectionCriteria, WriteConcern};
use std::future::IntoFuture;
use std::time::Duration;

/// The document with the sign that the process with the lease lives.
const ALIVE: &str = "alive";

/// Where steps and their progress are stored.
pub(crate) const COLLECTION: &str = "_odm_migrations";

/// The document with the lease.
const RUNNER: &str = "runner";

/// How many bytes of documents are stored in one: MongoDB allows 16 MiB.
const STORED_BYTES: usize = 8 << 20;

/// How long the lease is tried to be taken: the transaction of a process that was killed in it keeps others from writing the lease, for a
/// minute by default.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a process may be silent until another one takes over.
pub(crate) const LEASE: Duration = Duration::from_secs(3);

/// How far a step is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StepProgress {
    pub(crate) step: String,
    /// Whether it is taken back.
    pub(crate) down: bool,
    /// The position of the change among those of the step.
    pub(crate) change: i64,
    /// How often the collection has been gone through.
    pub(crate) pass: i64,
    /// The last id of the last batch.
    pub(crate) last: Option<Bson>,
    /// Where the pass ends.
    pub(crate) end: Option<Bson>,
    /// How many documents were changed.
    pub(crate) documents: i64,
    /// How many documents needed the change when the pass began.
    pub(crate) total: i64,
}

impl StepProgress {
    fn of(document: &Document) -> Option<StepProgress> {
        let number = |name| document.get_i64(name).unwrap_or_default();
        Some(StepProgress {
            step: document.get_str("step").ok()?.to_owned(),
            down: document.get_bool("down").unwrap_or_default(),
            change: number("change"),
            pass: number("pass"),
            last: document.get("last").cloned(),
            end: document.get("end").cloned(),
            documents: number("documents"),
            total: number("total"),
        })
    }

    fn to_document(&self) -> Document {
        let mut document = doc! {
            "step": &self.step, "down": self.down, "change": self.change, "pass": self.pass, "documents": self.documents,
            "total": self.total,
        };
        let ids = [("last", &self.last), ("end", &self.end)];
        document.extend(
            ids.into_iter()
                .filter_map(|(name, id)| Some((name.to_owned(), id.clone()?))),
        );
        document
    }
}

/// The content of the document with the lease.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunnerState {
    pub(crate) progress: Option<StepProgress>,
    /// At most this number of documents a second; `0` without a pause.
    pub(crate) rate: Option<i64>,
    /// The time of the server when it was written.
    pub(crate) beat: Option<DateTime>,
    /// The session of the process that has written it last.
    session: Option<Document>,
}

impl RunnerState {
    /// Whether a step was begun that has not come to its end.
    pub(crate) fn is_open(&self) -> bool {
        self.progress
            .as_ref()
            .is_some_and(|progress| !progress.step.is_empty())
    }

    fn of(document: &Document) -> RunnerState {
        RunnerState {
            progress: document.get_document("progress").ok().and_then(StepProgress::of),
            rate: document.get_i64("rate").ok(),
            beat: document.get_datetime("beat").ok().copied(),
            session: document.get_document("session").ok().cloned(),
        }
    }
}

pub(crate) fn collection(odm: &Odm) -> mongodb::Collection<Document> {
    let options = CollectionOptions::builder()
        .read_concern(ReadConcern::majority())
        .write_concern(WriteConcern::majority())
        .selection_criteria(crate::store::core::PRIMARY)
        .build();
    odm.database().collection_with_options(COLLECTION, options)
}

/// The stages that write the lease.
fn lease(token: ObjectId, more: Document) -> Vec<Document> {
    let milliseconds = i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX);
    let until = doc! { "$toDate": { "$add": [{ "$toLong": "$$NOW" }, milliseconds] } };
    let mut set = doc! { "token": token, "until": until, "beat": "$$NOW" };
    set.extend(more);
    vec![doc! { "$set": set }]
}

/// Takes the lease if no other process has it. One round trip, and two more the first time. Where it can't be taken for a while, the transaction of
/// the process before is ended.
pub(crate) async fn take(
    odm: &Odm,
    token: ObjectId,
    session: Option<&Document>,
) -> Result<Option<RunnerState>> {
    let session: Bson = match session {
        Some(session) => doc! { "$literal": session }.into(),
        None => "$$REMOVE".into(),
    };
    let runs = collection(odm);
    // It may be that of this process, from an attempt whose reply was not awaited.
    let is_over = doc! { "$expr": { "$lte": ["$until", "$$NOW"] } };
    let is_free = doc! { "_id": RUNNER, "$or": [is_over, { "token": token }] };
    for _ in 0..2 {
        let taken = runs
            .find_one_and_update(is_free.clone(), lease(token, doc! { "session": session.clone() }))
            .return_document(ReturnDocument::After);
        let Ok(taken) = tokio::time::timeout(PATIENCE, taken.into_future()).await else {
            end_last_transaction(odm).await?;
            return Ok(None);
        };
        if let Some(taken) = taken? {
            return Ok(Some(RunnerState::of(&taken)));
        }
        let new = doc! { "_id": RUNNER, "until": DateTime::from_millis(0) };
        match runs.insert_one(new).await {
            Ok(_) => {}
            Err(error) if is_duplicate(&error) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// Ends the transaction of a process that was silent for longer than its lease.
async fn end_last_transaction(odm: &Odm) -> Result<()> {
    let (state, is_held) = look(odm).await?;
    if let Some(session) = state.session.filter(|_| !is_held)
        && !lives(odm).await?
    {
        let admin = odm.database().client().database("admin");
        let ended = admin.run_command(doc! { "killSessions": [session] }).await;
        tracing::debug!(target: "odm", ?ended, "ended the transaction of a process that has ended");
    }
    Ok(())
}

/// Stores that the process with the lease lives, while its transaction keeps others from writing the lease. One round trip.
pub(crate) async fn show_alive(odm: &Odm, token: ObjectId) -> Result<()> {
    let set = vec![doc! { "$set": { "token": token, "at": "$$NOW" } }];
    collection(odm)
        .update_one(doc! { "_id": ALIVE }, set)
        .upsert(true)
        .await?;
    Ok(())
}

/// Whether a process has shown within the time of a lease that it lives.
async fn lives(odm: &Odm) -> Result<bool> {
    let milliseconds = i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX);
    let until = doc! { "$add": [{ "$toLong": "$at" }, milliseconds] };
    let is_recent = doc! { "_id": ALIVE, "$expr": { "$gt": [until, { "$toLong": "$$NOW" }] } };
    Ok(collection(odm).find_one(is_recent).await?.is_some())
}

fn is_duplicate(error: &mongodb::error::Error) -> bool {
    use mongodb::error::{ErrorKind, WriteFailure};
    matches!(&*error.kind, ErrorKind::Write(WriteFailure::WriteError(write)) if write.code == 11000)
}

/// Writes the lease and, if there is one, the progress. `None` where another process has taken it. One round trip.
pub(crate) async fn write(
    cx: &Cx<'_>,
    token: ObjectId,
    progress: Option<&StepProgress>,
) -> Result<Option<RunnerState>> {
    let runs = collection(cx.odm);
    let is_own = doc! { "_id": RUNNER, "token": token };
    // A stage replaces the document of the progress, whose fields may be fewer than before.
    let more = progress.map(|progress| doc! { "progress": { "$literal": progress.to_document() } });
    let update = lease(token, more.unwrap_or_default());
    cx.trip();
    let written = act!(cx, modify, {
        runs.find_one_and_update(is_own, update)
            .return_document(ReturnDocument::After)
    });
    let written = written?;
    Ok(written.as_ref().map(RunnerState::of))
}

/// Gives the lease back, so that another process does not wait for its end.
pub(crate) async fn release(odm: &Odm, token: ObjectId) -> Result<()> {
    let free = doc! { "$set": { "until": DateTime::from_millis(0) }, "$unset": { "session": "" } };
    collection(odm)
        .update_one(doc! { "_id": RUNNER, "token": token }, free)
        .await?;
    Ok(())
}

/// Sets the rate of the process that runs, and of those that run later. `None`: the default.
pub(crate) async fn set_rate(odm: &Odm, rate: Option<i64>) -> Result<()> {
    let update = match rate {
        Some(rate) => {
            doc! { "$set": { "rate": rate }, "$setOnInsert": { "until": DateTime::from_millis(0) } }
        }
        None => doc! { "$unset": { "rate": "" }, "$setOnInsert": { "until": DateTime::from_millis(0) } },
    };
    let runs = collection(odm);
    runs.update_one(doc! { "_id": RUNNER }, update)
        .upsert(true)
        .await?;
    Ok(())
}

/// The content of the document with the lease, and whether a process has it. One round trip, which needs no right to write.
pub(crate) async fn look(odm: &Odm) -> Result<(RunnerState, bool)> {
    let is_held = doc! { "$gt": ["$until", "$$NOW"] };
    let pipeline = [
        doc! { "$match": { "_id": RUNNER } },
        doc! { "$addFields": { "held": is_held } },
    ];
    let mut found = collection(odm).aggregate(pipeline).await?;
    if !found.advance().await? {
        return Ok((RunnerState::default(), false));
    }
    let found: Document = found.deserialize_current()?;
    Ok((
        RunnerState::of(&found),
        found.get_bool("held").unwrap_or_default(),
    ))
}

/// The time of the last heartbeat that one member of the replica set has; the least time where it has none yet.
pub(crate) async fn beat_of(odm: &Odm, member: &str) -> Result<DateTime> {
    let member = member.to_owned();
    let is_member = move |server: &mongodb::ServerInfo<'_>| server.address().to_string() == member;
    let criteria = SelectionCriteria::Predicate(std::sync::Arc::new(is_member));
    let found = odm
        .database()
        .collection::<Document>(COLLECTION)
        .find_one(doc! { "_id": RUNNER })
        .selection_criteria(criteria)
        .read_concern(ReadConcern::local())
        .await?;
    let beat = found.and_then(|found| found.get_datetime("beat").ok().copied());
    Ok(beat.unwrap_or(DateTime::MIN))
}

/// A step, as the database has it.
#[derive(Clone, Debug)]
pub(crate) struct StoredStep {
    pub(crate) name: String,
    /// Its position among the steps when it was begun.
    pub(crate) number: i64,
    pub(crate) is_done: bool,
    /// Its changes in words.
    pub(crate) changes: Vec<String>,
    /// How many documents were changed.
    pub(crate) documents: i64,
    /// Its changes about the models, where they are still to be made behind the last step.
    pub(crate) for_models: Vec<String>,
    pub(crate) begun: Option<DateTime>,
    pub(crate) done: Option<DateTime>,
}

/// All steps that the database has, in their order. One round trip.
pub(crate) async fn stored(odm: &Odm) -> Result<Vec<StoredStep>> {
    let found = collection(odm)
        .find(doc! { "number": { "$exists": true } })
        .sort(doc! { "number": 1 })
        .await?;
    let found: Vec<Document> = found.try_collect().await?;
    let steps = found.iter().filter_map(|step| {
        let texts = |name: &str| -> Vec<String> {
            let texts = step.get_array(name).into_iter().flatten();
            texts
                .filter_map(|text| text.as_str().map(str::to_owned))
                .collect()
        };
        Some(StoredStep {
            name: step.get_str("_id").ok()?.to_owned(),
            number: step.get_i64("number").unwrap_or_default(),
            is_done: step.get_datetime("done").is_ok(),
            changes: texts("changes"),
            for_models: texts("for_models"),
            documents: step.get_i64("documents").unwrap_or_default(),
            begun: step.get_datetime("begun").ok().copied(),
            done: step.get_datetime("done").ok().copied(),
        })
    });
    Ok(steps.collect())
}

/// Stores the documents of a batch as they were before it, so that another process can write what follows from it. One round trip for each
/// 8 MiB.
pub(crate) async fn store_before(cx: &Cx<'_>, of: &str, before: &[RawDocumentBuf]) -> Result<()> {
    let bytes: Vec<u8> = before
        .iter()
        .flat_map(|document| document.as_bytes())
        .copied()
        .collect();
    let batch = ObjectId::new();
    let parts = bytes.chunks(STORED_BYTES);
    let number_of_parts = i64::try_from(parts.len()).unwrap_or(i64::MAX);
    for (number, part) in (0_i64..).zip(parts) {
        let id = format!("before {number}");
        let before = Binary {
            subtype: BinarySubtype::Generic,
            bytes: part.to_vec(),
        };
        let part = doc! {
            "_id": &id, "of": of, "batch": batch, "part": number, "parts": number_of_parts, "before": before,
        };
        let runs = collection(cx.odm);
        cx.trip();
        act!(cx, write, runs.replace_one(doc! { "_id": id }, part).upsert(true))?;
    }
    Ok(())
}

/// The stored documents of the last batch as they were before it, and their collection. One round trip.
pub(crate) async fn stored_before(odm: &Odm) -> Result<Option<(String, Vec<RawDocumentBuf>)>> {
    let found = collection(odm)
        .find(doc! { "before": { "$exists": true } })
        .await?;
    let mut found: Vec<Document> = found.try_collect().await?;
    found.sort_by_key(|part| part.get_i64("part").unwrap_or_default());
    let Some(first) = found.first() else {
        return Ok(None);
    };
    // Other parts are those of an earlier, larger batch.
    let is_of_batch =
        |part: &&Document| part.get_object_id("batch").ok() == first.get_object_id("batch").ok();
    let parts: Vec<&Document> = found.iter().filter(is_of_batch).collect();
    if i64::try_from(parts.len()).ok() != first.get_i64("parts").ok() {
        // Without transactions, its process has ended before it changed a document.
        return Ok(None);
    }
    let parts = parts
        .iter()
        .filter_map(|part| part.get_binary_generic("before").ok());
    let bytes = parts.flatten().copied().collect::<Vec<u8>>();
    let mut documents = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some((length, _)) = rest.split_first_chunk::<4>() {
        // A document begins with its length.
        let length = usize::try_from(i32::from_le_bytes(*length)).unwrap_or_default();
        let (document, behind) = rest
            .split_at_checked(length.max(1))
            .ok_or_else(|| Error::application("a stored document is cut off"))?;
        let document = RawDocumentBuf::from_bytes(document.to_vec());
        documents.push(document.map_err(|error| Error::application(error.to_string()))?);
        rest = behind;
    }
    Ok(Some((
        first.get_str("of").unwrap_or_default().to_owned(),
        documents,
    )))
}

/// Removes the stored documents of the last batch. One round trip.
pub(crate) async fn remove_before(cx: &Cx<'_>) -> Result<()> {
    let runs = collection(cx.odm);
    cx.trip();
    act!(
        cx,
        write,
        runs.delete_many(doc! { "before": { "$exists": true } })
    )
    .map(drop)?;
    Ok(())
}

/// The change of the stored step.
pub(crate) enum Mark<'s> {
    Begun {
        number: i64,
        changes: &'s [String],
    },
    Done {
        documents: i64,
        /// Its changes about the models, which are made behind the last step.
        for_models: &'s [String],
    },
    /// The changes about the models are made of all steps before this one.
    ForModelsDone,
    /// It was taken back.
    Gone,
}

/// Stores that a step is begun or done. In a transaction, behind a write of the lease.
pub(crate) async fn mark(cx: &Cx<'_>, step: &str, mark: &Mark<'_>) -> Result<()> {
    let runs = collection(cx.odm);
    let which = doc! { "_id": step };
    cx.trip();
    let marked = match mark {
        Mark::Begun { number, changes } => {
            let begun = doc! { "begun": { "$ifNull": ["$begun", "$$NOW"] } };
            // A step that is taken back is no longer done.
            let set = doc! { "number": *number, "changes": { "$literal": changes.to_vec() } };
            let update = vec![
                doc! { "$set": set },
                doc! { "$set": begun },
                doc! { "$unset": ["done", "for_models"] },
            ];
            act!(cx, write, runs.update_one(which, update).upsert(true)).map(drop)
        }
        Mark::Done {
            documents,
            for_models,
        } => {
            let mut set = doc! { "done": "$$NOW", "documents": *documents };
            if !for_models.is_empty() {
                set.insert("for_models", doc! { "$literal": for_models.to_vec() });
            }
            act!(cx, write, runs.update_one(which, vec![doc! { "$set": set }])).map(drop)
        }
        Mark::ForModelsDone => {
            let those = doc! { "for_models": { "$exists": true } };
            let update = doc! { "$unset": { "for_models": "" } };
            act!(cx, write, runs.update_many(those, update)).map(drop)
        }
        Mark::Gone => act!(cx, write, runs.delete_one(which)).map(drop),
    };
    Ok(marked?)
}
