//! The methods that a step is written with: each is one change, described, counted, shown or made as the run demands.

use super::change::{FieldChange, NotInMemory};
use super::lease::StepProgress;
use super::planned::{PlannedChange, Sampled};
use super::run::{self, CollectionChange, ForModels, How, Runner, UpdateOf, WorkOf};
use crate::model::document::Document as Model;
use crate::model::stored::Row;
use crate::store::decode::decode_given;
use crate::{Error, Odm, Result, Tx};
use futures::TryStreamExt;
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use mongodb::options::UpdateModifications;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The stages of an update: others, such as `$out`, write elsewhere, and a plan executes them.
const UPDATE_STAGES: [&str; 6] = [
    "$set",
    "$addFields",
    "$unset",
    "$project",
    "$replaceRoot",
    "$replaceWith",
];

/// How many documents a plan shows of each change.
const SAMPLE: i64 = 2;

/// The use of the changes of a step.
pub(super) enum StepMode {
    /// They are described.
    Describe,
    /// The documents that need them are counted, and a few are shown as they are and as they will be.
    Plan { odm: Odm, samples: bool },
    /// They are made.
    Run(Arc<Runner>),
    /// They are made in documents in memory.
    Memory(Mutex<Memory>),
}

/// Documents in memory.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// By collection.
    pub(super) documents: HashMap<String, Vec<Document>>,
    /// The changes that were left out, since a server alone makes them; `None` where one is an error.
    pub(super) left_out: Option<Vec<String>>,
}

impl Memory {
    /// Leaves a change out, if that is allowed.
    fn leave_out(&mut self, words: String) -> Result<(), String> {
        let words = format!("{words} is made by a server alone");
        match &mut self.left_out {
            Some(all) => {
                all.push(words);
                Ok(())
            }
            None => Err(words),
        }
    }
}

/// The argument of a step: its methods change the documents of a database.
///
/// The function of a step runs several times: to describe and to count its changes, to show them, and to make them. So it does nothing but
/// call these methods; other work belongs into the closure of [`run`](EachDocument::run).
///
/// ```
/// use odm::migrate::Step;
///
/// pub async fn up(step: &Step) -> odm::Result<()> {
///     let people = step.collection("people");
///     people.add("newsletter", false).await?;
///     people.rename("street", "address.street").await?;
///     step.backfill().await
/// }
/// ```
pub struct Step {
    name: &'static str,
    down: bool,
    mode: StepMode,
    position: AtomicI64,
    /// Whether a change is being made.
    is_busy: AtomicBool,
    /// The changes that were described or counted.
    changes: Mutex<Vec<PlannedChange>>,
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Step")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// One change of a step.
struct StepChange {
    collection: String,
    words: String,
    kind: ChangeKind,
}

enum ChangeKind {
    Field(FieldChange),
    Documents {
        violations: Document,
        how: How,
    },
    RenameCollection(String),
    DropCollection,
    /// The index is dropped, or retired.
    RemoveIndex {
        name: String,
        retires: bool,
    },
    Models(ForModels),
}

/// Ends with the change that is being made.
struct Busy<'s>(&'s AtomicBool);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Step {
    pub(super) fn new(name: &'static str, down: bool, mode: StepMode) -> Step {
        Step {
            name,
            down,
            mode,
            position: AtomicI64::new(0),
            is_busy: AtomicBool::new(false),
            changes: Mutex::new(Vec::new()),
        }
    }

    pub(super) fn into_changes(self) -> Vec<PlannedChange> {
        self.changes.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn into_memory(self) -> Memory {
        match self.mode {
            StepMode::Memory(memory) => memory.into_inner().unwrap_or_else(PoisonError::into_inner),
            _ => Memory::default(),
        }
    }

    /// The name of the step: that of its module.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A collection, whose documents are changed. It need not be that of a model.
    pub fn collection(&self, name: impl Into<String>) -> StepCollection<'_> {
        StepCollection {
            step: self,
            name: name.into(),
        }
    }

    /// The documents of the collection of `Old` that match, each of which is read as `Old`: as [`StepCollection::each`].
    pub fn each<Old: Model>(&self, violations: impl Into<Document>) -> EachDocument<'_, Old> {
        self.collection(Old::META.collection).each(violations)
    }

    /// Renames a collection, where it is there. Its documents need no change.
    ///
    /// # Errors
    /// As [`add`](StepCollection::add); where there is a collection of the new name, errors of the server.
    pub async fn rename_collection(&self, from: impl Into<String>, to: impl Into<String>) -> Result<()> {
        let (from, to) = (from.into(), to.into());
        self.make(StepChange {
            words: format!("rename the collection to `{to}`"),
            collection: from,
            kind: ChangeKind::RenameCollection(to),
        })
        .await
    }

    /// Drops a collection with its documents, where it is there.
    ///
    /// # Errors
    /// As [`add`](StepCollection::add).
    pub async fn drop_collection(&self, name: impl Into<String>) -> Result<()> {
        self.make(StepChange {
            collection: name.into(),
            words: "drop the collection".to_owned(),
            kind: ChangeKind::DropCollection,
        })
        .await
    }

    /// Fills the copies, subsets, computed fields, summaries, links and unique values that documents lack: [`Odm::backfill`], which does not
    /// wait for processes that have read older declarations.
    ///
    /// The models are those of today, so this is made once when the last step of the list has made its other changes, whichever of the open steps
    /// asks for it: first [`forget`](Step::forget), then this, then [`declare`](Step::declare). When a step is taken back, nothing is filled.
    ///
    /// # Errors
    /// As [`Odm::backfill`].
    pub async fn backfill(&self) -> Result<()> {
        self.of_models(ForModels::Backfill).await
    }

    /// Makes collections, validators and indexes as they are declared: [`Odm::apply`] of a plan that [replaces](crate::Plan::replace) indexes
    /// which differ, and [`Odm::sync`]. As [`backfill`](Step::backfill), it is made behind the last step.
    ///
    /// # Errors
    /// As [`Odm::apply`] and [`Odm::sync`].
    pub async fn declare(&self) -> Result<()> {
        self.of_models(ForModels::Declare).await
    }

    /// The same as [`declare`](Step::declare), where an index may be dropped before it is built anew, since the server takes one of them:
    /// [`Plan::in_window`](crate::Plan::in_window). Queries scan the collection meanwhile, so run the step when they may.
    ///
    /// # Errors
    /// As [`declare`](Step::declare).
    pub async fn declare_in_window(&self) -> Result<()> {
        self.of_models(ForModels::DeclareInWindow).await
    }

    /// Removes the stored declarations of copies and references that the models don't declare any more: [`Odm::forget_copies`]. No program that
    /// declares them may run any more. As [`backfill`](Step::backfill), it is made behind the last step.
    ///
    /// # Errors
    /// As [`Odm::forget_copies`].
    pub async fn forget(&self) -> Result<()> {
        self.of_models(ForModels::Forget).await
    }

    async fn of_models(&self, models: ForModels) -> Result<()> {
        self.make(StepChange {
            collection: String::new(),
            words: models.in_words().to_owned(),
            kind: ChangeKind::Models(models),
        })
        .await
    }

    /// A change that is still to be written: `odm migrate new` writes this where it can't derive one.
    ///
    /// # Errors
    /// [`Error::Step`] with the text, when the step runs.
    pub fn write_by_hand(&self, what: impl Into<String>) -> Result<()> {
        let words = what.into();
        match &self.mode {
            StepMode::Describe | StepMode::Plan { .. } => {
                self.note(PlannedChange {
                    collection: String::new(),
                    words,
                    documents: None,
                    impossible: None,
                    samples: Vec::new(),
                });
                Ok(())
            }
            StepMode::Run(_) | StepMode::Memory(_) => {
                Err(self.error(format!("the step is not finished: {words}")))
            }
        }
    }

    fn note(&self, change: PlannedChange) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.push(change);
    }

    async fn make(&self, change: StepChange) -> Result<()> {
        match &self.mode {
            StepMode::Describe => {
                self.note(change.planned());
                Ok(())
            }
            StepMode::Plan { odm, samples } => {
                let planned = change.count(odm, *samples).boxed().await?;
                self.note(planned);
                Ok(())
            }
            StepMode::Run(runner) => self.run(runner, change).boxed().await,
            StepMode::Memory(memory) => {
                let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
                change.apply(&mut memory).map_err(|message| self.error(message))
            }
        }
    }

    fn error(&self, message: impl Into<String>) -> Error {
        Error::Step {
            step: self.name.to_owned(),
            message: message.into(),
        }
    }

    async fn run(&self, runner: &Arc<Runner>, change: StepChange) -> Result<()> {
        if self.is_busy.swap(true, Ordering::Relaxed) {
            return Err(self.error("its changes are made one after the other: await each before the next"));
        }
        let _busy = Busy(&self.is_busy);
        let position = self.position.fetch_add(1, Ordering::Relaxed);
        if runner.is_lost() {
            return Err(runner.lost());
        }
        let at = runner.progress();
        if position < at.change {
            return Ok(());
        }
        if position > at.change {
            runner.set_progress(StepProgress {
                step: self.name.to_owned(),
                down: self.down,
                change: position,
                documents: at.documents,
                ..StepProgress::default()
            });
        }
        let odm = &runner.odm;
        let change = match change.documents() {
            Ok(documents) => return runner.change(&documents).await,
            Err(change) => change,
        };
        runner.confirm().await?;
        match change.kind {
            ChangeKind::RenameCollection(to) => {
                if !is_there(odm, &change.collection).await? {
                    return Ok(());
                }
                let database = odm.database().name();
                let rename = doc! {
                    "renameCollection": format!("{database}.{}", change.collection),
                    "to": format!("{database}.{to}"),
                    "writeConcern": { "w": "majority" },
                };
                let admin = odm.database().client().database("admin");
                runner
                    .held(async { Ok(admin.run_command(rename).await.map(drop)?) })
                    .await?;
                runner.confirm().await
            }
            ChangeKind::DropCollection => {
                let dropped = odm.database().collection::<Document>(&change.collection);
                runner.held(async { Ok(dropped.drop().await?) }).await?;
                runner.confirm().await
            }
            ChangeKind::RemoveIndex { name, retires } => {
                let removed = crate::schema::remove_index(odm, &change.collection, &name, retires);
                runner.held(removed).await?;
                runner.confirm().await
            }
            // The run makes changes about the models when the last step of the list has ended.
            ChangeKind::Models(_) | ChangeKind::Field(_) | ChangeKind::Documents { .. } => Ok(()),
        }
    }
}

async fn is_there(odm: &Odm, collection: &str) -> Result<bool> {
    let names = odm.database().list_collection_names();
    Ok(!names.filter(doc! { "name": collection }).await?.is_empty())
}

impl StepChange {
    fn planned(&self) -> PlannedChange {
        PlannedChange {
            collection: self.collection.clone(),
            words: self.words.clone(),
            documents: None,
            impossible: None,
            samples: Vec::new(),
        }
    }

    /// The same as a change of documents, if it is one.
    fn documents(self) -> Result<CollectionChange, Box<StepChange>> {
        match self.kind {
            ChangeKind::Field(change) => Ok(CollectionChange {
                collection: self.collection,
                words: self.words,
                violations: change.violations(),
                impossible: change.impossible(),
                how: How::Pipeline(change.pipeline()),
            }),
            ChangeKind::Documents { violations, how } => Ok(CollectionChange {
                collection: self.collection,
                words: self.words,
                violations,
                impossible: None,
                how,
            }),
            _ => Err(Box::new(self)),
        }
    }

    /// How many documents need it, and a few of them.
    async fn count(self, odm: &Odm, samples: bool) -> Result<PlannedChange> {
        let mut planned = self.planned();
        let change = match self.documents() {
            Ok(change) => change,
            Err(change) => {
                planned.documents = match change.kind {
                    ChangeKind::RenameCollection(_) | ChangeKind::DropCollection => {
                        let documents = odm.database().collection::<Document>(&change.collection);
                        Some(documents.estimated_document_count().await?)
                    }
                    ChangeKind::Models(models) => Some(models.count(odm).await?),
                    ChangeKind::RemoveIndex { .. } | ChangeKind::Field(_) | ChangeKind::Documents { .. } => {
                        None
                    }
                };
                return Ok(planned);
            }
        };
        let documents = run::count(odm, &change, &change.violations).await?;
        planned.documents = Some(documents);
        if let Some((condition, reason)) = &change.impossible {
            let found = run::count(odm, &change, condition).await?;
            planned.impossible = (found > 0).then(|| (found, reason.clone()));
        }
        if !samples || documents == 0 {
            return Ok(planned);
        }
        let all = odm.database().collection::<Document>(&change.collection);
        let found = all
            .find(change.violations.clone())
            .sort(doc! { "_id": 1 })
            .limit(SAMPLE)
            .await?;
        let before: Vec<Document> = found.try_collect().await?;
        let ids: Vec<Bson> = before.iter().filter_map(|one| one.get("_id").cloned()).collect();
        let after: Vec<Option<Document>> = match &change.how {
            How::Pipeline(stages) => {
                let mut pipeline = vec![
                    doc! { "$match": { "_id": { "$in": ids } } },
                    doc! { "$sort": { "_id": 1 } },
                ];
                pipeline.extend(stages.clone());
                let made = all.aggregate(pipeline).await?;
                let made: Vec<Document> = made.try_collect().await?;
                made.into_iter().map(Some).collect()
            }
            How::Each(update) => {
                let mut made = Vec::new();
                for document in &before {
                    let raw = RawDocumentBuf::try_from(document);
                    let raw = raw.map_err(|error| Error::application(error.to_string()))?;
                    made.push(match update(&raw)? {
                        UpdateModifications::Document(update) => updated(document, &update),
                        _ => None,
                    });
                }
                made
            }
            How::Work(_) => before.iter().map(|_| None).collect(),
        };
        let samples = before.into_iter().zip(after);
        planned.samples = samples.map(|(before, after)| Sampled { before, after }).collect();
        Ok(planned)
    }

    /// Makes it in memory.
    fn apply(self, memory: &mut Memory) -> Result<(), String> {
        let documents = &mut memory.documents;
        match self.kind {
            ChangeKind::Field(change) => {
                for document in documents.get_mut(&self.collection).into_iter().flatten() {
                    match change.apply(document) {
                        Ok(()) => {}
                        Err(NotInMemory::Failed(words)) => return Err(words),
                        Err(NotInMemory::ByServer(expression)) => {
                            return memory.leave_out(format!("{expression} of `{}`", self.collection));
                        }
                    }
                }
                Ok(())
            }
            ChangeKind::Documents {
                how: How::Each(update),
                ..
            } => {
                for document in documents.get_mut(&self.collection).into_iter().flatten() {
                    let Ok(raw) = RawDocumentBuf::try_from(&*document) else {
                        continue;
                    };
                    // Samples that are no documents of the old shape don't need it.
                    match update(&raw) {
                        Ok(UpdateModifications::Document(update)) => match updated(document, &update) {
                            Some(updated) => *document = updated,
                            None => {
                                let words = format!("the update {update} of `{}`", self.collection);
                                return memory.leave_out(words);
                            }
                        },
                        Ok(_) => return memory.leave_out(format!("a pipeline of `{}`", self.collection)),
                        Err(Error::Decode { .. }) => {}
                        Err(error) => return Err(error.to_string()),
                    }
                }
                Ok(())
            }
            ChangeKind::Documents { .. } if documents.get(&self.collection).is_none_or(Vec::is_empty) => {
                Ok(())
            }
            ChangeKind::Documents { .. } => {
                memory.leave_out(format!("`{}`: {}", self.collection, self.words))
            }
            ChangeKind::RenameCollection(to) => {
                if let Some(all) = documents.remove(&self.collection) {
                    documents.entry(to).or_default().extend(all);
                }
                Ok(())
            }
            ChangeKind::DropCollection => {
                documents.remove(&self.collection);
                Ok(())
            }
            ChangeKind::RemoveIndex { .. } | ChangeKind::Models(_) => Ok(()),
        }
    }
}

/// A document after an update of `$set`, `$unset` and `$rename`, or a replacement; `None` where it has other operators.
fn updated(document: &Document, update: &Document) -> Option<Document> {
    if !update.keys().any(|key| key.starts_with('$')) {
        let mut replaced = doc! { "_id": document.get("_id").cloned().unwrap_or(Bson::Null) };
        replaced.extend(update.clone());
        return Some(replaced);
    }
    let mut document = document.clone();
    for (operator, fields) in update {
        for (path, value) in fields.as_document()? {
            match operator.as_str() {
                "$set" => super::change::put(&mut document, path, value.clone()),
                "$unset" => FieldChange::Remove { path: path.clone() }
                    .apply(&mut document)
                    .ok()?,
                "$rename" => {
                    let (from, to) = (path.clone(), value.as_str()?.to_owned());
                    FieldChange::Rename { from, to }.apply(&mut document).ok()?;
                }
                _ => return None,
            }
        }
    }
    Some(document)
}

/// A collection in a step.
#[derive(Clone, Debug)]
pub struct StepCollection<'s> {
    step: &'s Step,
    name: String,
}

impl<'s> StepCollection<'s> {
    async fn field(&self, change: FieldChange) -> Result<()> {
        let all = change.paths();
        if let Some(path) = all.iter().find(|path| {
            path.is_empty()
                || path
                    .split('.')
                    .any(|part| part.is_empty() || part.starts_with('$'))
        }) {
            return Err(self.step.error(format!(
                "`{path}` of `{}` is no path of a field: write names that are joined by dots",
                self.name
            )));
        }
        if all.iter().any(|path| *path == "_id" || path.starts_with("_id.")) {
            return Err(self.step.error(format!(
                "the `_id` of `{}` can't be changed: insert documents with the new one and delete the others in `each(…).run(…)`",
                self.name
            )));
        }
        if let [from, to] = all.as_slice()
            && (to.starts_with(&format!("{from}.")) || from.starts_with(&format!("{to}.")))
        {
            return Err(self.step.error(format!(
                "`{from}` of `{}` can't be moved to `{to}`: one of them is in the other. Set the outer field as a whole, by `update(…)` with a \
                 pipeline or by `each(…).update(…)`",
                self.name
            )));
        }
        self.step
            .make(StepChange {
                collection: self.name.clone(),
                words: change.in_words(),
                kind: ChangeKind::Field(change),
            })
            .await
    }

    /// Adds a field with a value, in documents and in the items of arrays that lack it. `null` is not missing.
    ///
    /// ```
    /// # async fn up(step: &odm::migrate::Step) -> odm::Result<()> {
    /// step.collection("orders").add("lines.discount", 0).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Step`] where documents still need the change after three passes; errors of the server.
    ///
    /// # Cost
    /// A count, in which the server reads the collection. For every batch, which has 20 to 2,000 documents (10,000 at the full rate), one
    /// round trip for the lease, one for the update, and one for the commit; one for the last id, and one for the ids of every 50,000 documents.
    /// At the end one more asks for a document that still needs the change, for which the server reads the collection again.
    pub async fn add(&self, path: impl Into<String>, value: impl Into<Bson>) -> Result<()> {
        self.field(FieldChange::Add {
            path: path.into(),
            value: value.into(),
        })
        .await
    }

    /// Renames a field, in documents and in the items of arrays; or moves it to another place in the document. A value that is
    /// there under the new name stays: a program of the new version has written it.
    ///
    /// ```
    /// # async fn up(step: &odm::migrate::Step) -> odm::Result<()> {
    /// let people = step.collection("people");
    /// people.rename("surname", "last_name").await?;
    /// people.rename("street", "address.street").await
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`add`](StepCollection::add); [`Error::Step`] before the first change where a field would be moved out of an array or into one.
    ///
    /// # Cost
    /// As [`add`](StepCollection::add). Before a move, one more round trip looks for such arrays.
    pub async fn rename(&self, from: impl Into<String>, to: impl Into<String>) -> Result<()> {
        self.field(FieldChange::Rename {
            from: from.into(),
            to: to.into(),
        })
        .await
    }

    /// Removes a field, in documents and in the items of arrays.
    ///
    /// ```
    /// # async fn up(step: &odm::migrate::Step) -> odm::Result<()> {
    /// step.collection("people").remove("fax").await
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`add`](StepCollection::add).
    ///
    /// # Cost
    /// As [`add`](StepCollection::add).
    pub async fn remove(&self, path: impl Into<String>) -> Result<()> {
        self.field(FieldChange::Remove { path: path.into() }).await
    }

    /// Gives a field a value where it is `null`, in documents and in the items of arrays.
    ///
    /// ```
    /// # async fn up(step: &odm::migrate::Step) -> odm::Result<()> {
    /// step.collection("people").replace_null("phone", "unknown").await
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`add`](StepCollection::add).
    ///
    /// # Cost
    /// As [`add`](StepCollection::add).
    pub async fn replace_null(&self, path: impl Into<String>, value: impl Into<Bson>) -> Result<()> {
        let (path, value) = (path.into(), value.into());
        self.field(FieldChange::ReplaceNull { path, value }).await
    }

    /// Changes the type of a field, where it has another one and is not `null`, by an expression of the server in which `$$value` is its
    /// value, or each item of an array. `to` is MongoDB's name of the type: `string`, `int`, `long`, `double`, `decimal`, `date`, `bool`,
    /// `objectId`, `binData`, `object`, `array`.
    ///
    /// ```
    /// # use odm::bson::doc;
    /// # async fn up(step: &odm::migrate::Step) -> odm::Result<()> {
    /// step.collection("products").retype("price", "decimal", doc! { "$toDecimal": "$$value" }).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`add`](StepCollection::add). Where the expression fails, [`Error::Step`] with the document and the server's reason: `$convert` has
    /// `onError`.
    ///
    /// # Cost
    /// As [`add`](StepCollection::add).
    pub async fn retype(
        &self,
        path: impl Into<String>,
        to: impl Into<String>,
        expression: impl Into<Bson>,
    ) -> Result<()> {
        self.field(FieldChange::Retype {
            path: path.into(),
            to: to.into(),
            expression: expression.into(),
        })
        .await
    }

    /// Drops an index by its name, where it is there and no model declares it. Queries that it served scan the collection.
    ///
    /// ```
    /// # async fn up(step: &odm::migrate::Step) -> odm::Result<()> {
    /// step.collection("people").drop_index("email_1").await
    /// # }
    /// ```
    ///
    /// # Errors
    /// Errors of the server.
    ///
    /// # Cost
    /// Two round trips, and two for the lease.
    pub async fn drop_index(&self, name: impl Into<String>) -> Result<()> {
        let name = name.into();
        self.remove_index(format!("drop the index `{name}`"), name, false)
            .await
    }

    /// Has an index dropped that no model declares any more, when it is not used: programs of the version before may use it still.
    /// From now on, [`Plan::replace`](crate::Plan::replace) treats it as a superseded index: hidden when no member has used it for 7 days, and
    /// dropped 7 days later. An index that keeps duplicates out, or deletes documents, does so until then: [`drop_index`](Self::drop_index)
    /// drops it at once, and so does this in a collection without a model.
    ///
    /// ```
    /// # async fn up(step: &odm::migrate::Step) -> odm::Result<()> {
    /// step.collection("articles").retire_index("author_1").await
    /// # }
    /// ```
    ///
    /// # Errors
    /// Errors of the server.
    ///
    /// # Cost
    /// Three round trips, one for each further member of the replica set, and two for the lease.
    pub async fn retire_index(&self, name: impl Into<String>) -> Result<()> {
        let name = name.into();
        self.remove_index(format!("drop the index `{name}` when it is not used"), name, true)
            .await
    }

    async fn remove_index(&self, words: String, name: String, retires: bool) -> Result<()> {
        let change = StepChange {
            collection: self.name.clone(),
            words,
            kind: ChangeKind::RemoveIndex { name, retires },
        };
        self.step.make(change).await
    }

    /// Updates the documents that match by a pipeline of the server. An updated document may not match any more.
    ///
    /// ```
    /// # use odm::bson::doc;
    /// # async fn up(step: &odm::migrate::Step) -> odm::Result<()> {
    /// let is_old = doc! { "name": { "$type": "string" } };
    /// let split = doc! { "$set": { "name": { "$arrayToObject": [[
    ///     ["first", { "$arrayElemAt": [{ "$split": ["$name", " "] }, 0] }],
    ///     ["last", { "$arrayElemAt": [{ "$split": ["$name", " "] }, -1] }],
    /// ]] } } };
    /// step.collection("people").update(is_old, [split]).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`add`](StepCollection::add); [`Error::Step`] for a stage that is none of an update.
    ///
    /// # Cost
    /// As [`add`](StepCollection::add).
    pub async fn update(
        &self,
        violations: impl Into<Document>,
        pipeline: impl IntoIterator<Item = Document>,
    ) -> Result<()> {
        let (violations, stages) = (violations.into(), pipeline.into_iter().collect::<Vec<_>>());
        let is_of_update =
            |stage: &&Document| stage.keys().all(|name| UPDATE_STAGES.contains(&name.as_str()));
        if let Some(other) = stages.iter().find(|stage| !is_of_update(stage)) {
            return Err(self.step.error(format!(
                "{other} is no stage of an update of `{}`: these are {}",
                self.name,
                UPDATE_STAGES.join(", ")
            )));
        }
        self.step
            .make(StepChange {
                collection: self.name.clone(),
                words: format!("update {violations} by {}", Bson::from(stages.clone())),
                kind: ChangeKind::Documents {
                    violations,
                    how: How::Pipeline(stages),
                },
            })
            .await
    }

    /// The documents that match, each of which is read as `Old`: a frozen struct, which keeps the shape of the version before. A changed document
    /// may not match any more.
    ///
    /// ```
    /// # use odm::bson::doc;
    /// #[derive(odm::Row)]
    /// struct OldPerson {
    ///     name: String,
    /// }
    ///
    /// pub async fn up(step: &odm::migrate::Step) -> odm::Result<()> {
    ///     step.collection("people")
    ///         .each::<OldPerson>(doc! { "name": { "$type": "string" } })
    ///         .update(|old| {
    ///             let (first, last) = old.name.split_once(' ').unwrap_or(("", &old.name));
    ///             Ok(doc! { "$set": { "name": { "first": first, "last": last } } })
    ///         })
    ///         .await
    /// }
    /// ```
    pub fn each<Old: Row>(&self, violations: impl Into<Document>) -> EachDocument<'s, Old> {
        EachDocument {
            step: self.step,
            collection: self.name.clone(),
            violations: violations.into(),
            of: PhantomData,
        }
    }
}

/// The documents of a collection that need a change: [`StepCollection::each`].
#[must_use = "nothing is changed until `update` or `run` is awaited"]
#[derive(Debug)]
pub struct EachDocument<'s, Old> {
    step: &'s Step,
    collection: String,
    violations: Document,
    of: PhantomData<fn() -> Old>,
}

impl<Old: Row> EachDocument<'_, Old> {
    async fn make(self, what: &str, how: How) -> Result<()> {
        self.step
            .make(StepChange {
                collection: self.collection,
                words: format!("{what} each document with {}", self.violations),
                kind: ChangeKind::Documents {
                    violations: self.violations,
                    how,
                },
            })
            .await
    }

    /// Updates each document by what the closure makes of it: an update of the driver, with operators or as a pipeline. The closure is also
    /// called for a plan and, by `odm migrate check`, for samples, so it does nothing else. A document that was changed meanwhile is read again
    /// in the next pass.
    ///
    /// # Errors
    /// As [`add`](StepCollection::add); [`Error::Decode`] for a document that can't be read as `Old`; errors of the closure.
    ///
    /// # Cost
    /// As [`add`](StepCollection::add); each batch costs one more, which reads its documents.
    pub async fn update<U: Into<UpdateModifications>>(
        self,
        update: impl Fn(Old) -> Result<U> + Send + Sync + 'static,
    ) -> Result<()> {
        let update: UpdateOf = Arc::new(move |raw| Ok(update(decode_given::<Old>(raw)?)?.into()));
        self.make("update", How::Each(update)).await
    }

    /// Executes work with the documents of each batch, within the transaction of its progress: writes of the library with their rules, and of
    /// the driver by [`Tx::session`]. The transaction may run several times.
    ///
    /// ```
    /// # use samples::model::*;
    /// # use odm::bson::doc;
    /// # async fn up(step: &odm::migrate::Step) -> odm::Result<()> {
    /// step.collection("people")
    ///     .each::<Person>(doc! { "age": { "$lt": 0 } })
    ///     .run(async |tx, people| {
    ///         for person in people {
    ///             tx.collection::<Person>().delete(person.id).await?;
    ///         }
    ///         Ok(())
    ///     })
    ///     .await
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`update`](EachDocument::update); [`Error::Unsupported`] on a standalone server.
    ///
    /// # Cost
    /// As [`update`](EachDocument::update), with one more read of the documents within the transaction, and that of the work.
    pub async fn run<F, Fut>(self, work: F) -> Result<()>
    where
        F: Fn(Tx, Vec<Old>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<()>> + Send + 'static,
        Old: Send,
    {
        let work: WorkOf = Arc::new(move |tx, documents| {
            let read = documents.iter().map(|raw| decode_given::<Old>(raw));
            let done: BoxFuture<'static, Result<()>> = match read.collect::<Result<Vec<Old>>>() {
                Ok(documents) => Box::pin(work(tx, documents)),
                Err(error) => Box::pin(async { Err(error) }),
            };
            done
        });
        self.make("run work with", How::Work(work)).await
    }
}
