//! Finds faults in references and copies, by reading every document that holds some once.

use crate::graph::edge::{Edge, EdgeId};
use crate::graph::names::fields_of;
use crate::model::document::DocumentMeta;
use crate::model::path::{Path, Step};
use crate::rules::derived::{DerivedValue, ValueKind};
use crate::schema::{StoredShardKey, StoredShardKeys, plural};
use crate::store::batch::{after_id, document_id};
use crate::store::cx::Cx;
use crate::store::filter::all;
use crate::store::trace::Trace;
use crate::upkeep::copies;
use crate::upkeep::inspect::{Fault, FaultKind, Inspected, confirm, fields, inspect};
use crate::{Document, Error, Odm, Result, rules};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{self, Bson, Document as Fields, RawDocumentBuf, doc};
use std::collections::HashMap;
use std::fmt;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of documents that are inspected at a time.
pub(crate) const BATCH: usize = 1_000;

/// Maximum number of examples of each finding.
const SAMPLE: usize = 5;

impl Odm {
    /// Finds all faults in the references and copies of the registered documents, and changes nothing: dangling references;
    /// two-way references that are missing on one side, or that list a document twice; arrays over their bound; parents with
    /// several children where each may have one, if the unique index is missing; documents that are not deleted below deleted
    /// ones, and deletions and restorations that were interrupted (`#[document(soft_delete)]`); copies, subsets and computed
    /// fields that differ from their sources; values of a key with `unique(global)` that their documents have not claimed, and claims
    /// whose owners have no such value; buckets whose count, times, sums or room differ from their items, which the server compares
    /// without sending the items; and, in a sharded collection, several documents with one `_id`.
    ///
    /// Every document that holds some is read once, in batches in the order of their ids, so memory is bounded. Before a fault
    /// is reported, it is read again, both sides of a link in one snapshot where the deployment has transactions; a reference
    /// whose target another client is just deleting may be reported nevertheless.
    ///
    /// # Errors
    /// [`Error::Query`](crate::Error::Query) where [`edge`](Auditing::edge) or [`collection`](Auditing::collection) names
    /// no reference.
    ///
    /// # Cost
    /// For every 1,000 documents one round trip to read them, and one for each collection (and field of it) that they refer
    /// to; two or three more where there may be a fault, and one for each level further up of documents that are deleted and kept below
    /// others that are not. The same for each derived field; for a subset, before MongoDB 5.0 (5.1
    /// on a sharded cluster), one for each document. For each `#[parent_ref(one)]` one for the indexes of its collection, and,
    /// if the unique one is missing, one in which the server reads the whole collection. On a sharded cluster one for the shard keys,
    /// and for each collection that is sharded by another key than `_id` one, in which the server groups all its documents by `_id`.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let audit = odm.audit().await?;
    /// if !audit.is_clean() {
    ///     println!("{audit}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn audit(&self) -> Auditing {
        Auditing {
            chosen: ChosenReferences::new(&self.unscoped()),
            sample: None,
        }
    }
}

/// An audit, executed by `.await`: [`Odm::audit`].
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// let audit = odm.audit().sample(10_000).await?;
/// println!("{} of {} references looked at are right", audit.right(), audit.checked());
/// # Ok(()) }
/// ```
#[must_use = "an audit does nothing until it is awaited"]
#[derive(Clone, Debug)]
pub struct Auditing {
    chosen: ChosenReferences,
    sample: Option<u64>,
}

impl Auditing {
    /// Inspects at most this number of documents of each collection, chosen at random by the server (`$sample`). They are held
    /// in memory together. Parents with several children and documents with one `_id` are not reported, since finding them takes all
    /// documents.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let audit = odm.audit().sample(1_000).await?;
    /// # Ok(()) }
    /// ```
    pub fn sample(mut self, documents: u64) -> Auditing {
        self.sample = Some(documents);
        self
    }

    /// Inspects the references that documents of type `T` hold. Call it several times for several types.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let audit = odm.audit().collection::<Account>().await?;
    /// # Ok(()) }
    /// ```
    pub fn collection<T: Document>(mut self) -> Auditing {
        self.chosen.collection::<T>();
        self
    }

    /// Inspects this reference. Call it several times for several references.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let audit = odm.audit().edge::<Account, _>(|a| a.owner).await?;
    /// # Ok(()) }
    /// ```
    pub fn edge<T: Document, F: FieldOf<T>>(mut self, field: impl FnOnce(T::Paths) -> F) -> Auditing {
        self.chosen.edge::<T, F>(field);
        self
    }
}

#[cfg(feature = "cli")]
impl Auditing {
    /// Inspects only these references and copies.
    pub(crate) fn only(mut self, which: Vec<(&'static str, Option<String>)>) -> Auditing {
        self.chosen.which = which;
        self
    }

    /// How many documents were read so far.
    pub(crate) fn read(&self) -> Arc<AtomicU64> {
        self.chosen.read.clone()
    }
}

/// A field of a document of type `T`: a path of it.
///
/// ```
/// # use samples::model::*;
/// use odm::upkeep::FieldOf;
///
/// assert_eq!(Person::paths().addresses.city.stored_name(), "addresses.city");
/// ```
pub trait FieldOf<T> {
    /// Its dotted name, as it is stored.
    fn stored_name(&self) -> &'static str;
}

impl<T, V: ?Sized, P: Step, C> FieldOf<T> for Path<T, V, P, C> {
    fn stored_name(&self) -> &'static str {
        P::PATH
    }
}

impl IntoFuture for Auditing {
    type Output = Result<Audit>;
    type IntoFuture = BoxFuture<'static, Result<Audit>>;

    fn into_future(self) -> Self::IntoFuture {
        async move {
            let Auditing { chosen, sample } = self;
            let trace = Trace::new("(all)", "audit");
            let audit = trace.run(async {
                let cx = Cx::new(&chosen.odm, None, &trace);
                let edges = chosen.edges()?;
                // The reads of a sharded cluster need a time.
                chosen.odm.server().await?;
                let mut audit = Audit::of(&edges);
                for (meta, edges) in edges {
                    let mut source = InspectedDocuments::of(&cx, meta, &edges, sample).await?;
                    while let Some(documents) = source.next(&cx).await? {
                        let inspected = look(&cx, &edges, &documents).await?;
                        chosen.read.fetch_add(documents.len() as u64, Ordering::Relaxed);
                        audit.count(documents.len(), &edges, &inspected);
                        for fault in &inspected.faults {
                            audit.found(fault);
                        }
                    }
                    if sample.is_none() {
                        audit.several_children(&cx, &edges).await?;
                    }
                }
                for value in chosen.values() {
                    let value = value.as_ref();
                    let mut found = AuditedCopies::of(value);
                    let mut source =
                        InspectedDocuments::with(&cx, value.holder(), value.projection(), sample).await?;
                    while let Some(documents) = source.next(&cx).await? {
                        let compared = copies::measure(value, &cx, &documents).await?;
                        chosen.read.fetch_add(documents.len() as u64, Ordering::Relaxed);
                        found.add(value, compared.copies, compared.stale);
                        found.wrong += compared.wrong;
                    }
                    audit.copies.push(found);
                }
                if sample.is_none() {
                    audit.find_duplicate_ids(&cx, chosen.collections()).await?;
                }
                trace.documents(audit.documents);
                Ok(audit)
            });
            audit.await
        }
        .boxed()
    }
}

/// Inspects a batch, and what is found once more.
pub(crate) async fn look<'g>(
    cx: &Cx<'g>,
    edges: &[&'g Edge],
    documents: &[RawDocumentBuf],
) -> Result<Inspected<'g>> {
    let graph = cx.odm.graph();
    let mut inspected = inspect(cx, graph, edges, documents).await?;
    inspected.faults = confirm(cx, graph, inspected.faults).await?;
    Ok(inspected)
}

/// Which references are looked at.
#[derive(Clone, Debug)]
pub(crate) struct ChosenReferences {
    pub(crate) odm: Odm,
    /// Collections, and fields of them; empty for all.
    pub(crate) which: Vec<(&'static str, Option<String>)>,
    /// Whether nothing chosen means everything.
    all: bool,
    /// How many documents were read so far, for those who wait.
    pub(crate) read: Arc<AtomicU64>,
}

impl ChosenReferences {
    pub(crate) fn new(odm: &Odm) -> ChosenReferences {
        ChosenReferences {
            odm: odm.clone(),
            which: Vec::new(),
            all: true,
            read: Arc::default(),
        }
    }

    /// That of which an audit found something.
    pub(crate) fn found(odm: &Odm, audit: &Audit) -> ChosenReferences {
        let references = audit.references.iter().filter(|found| !found.is_clean());
        let references = references.map(|found| (found.collection, Some(found.field.clone())));
        let copies = audit.copies.iter().filter(|found| found.stale.count > 0);
        let copies = copies.flat_map(|found| {
            found
                .fields
                .iter()
                .map(|field| (found.collection, Some(field.clone())))
        });
        ChosenReferences {
            odm: odm.clone(),
            which: references.chain(copies).collect(),
            all: false,
            read: Arc::default(),
        }
    }

    pub(crate) fn collection<T: Document>(&mut self) {
        self.which.push((T::META.collection, None));
    }

    pub(crate) fn edge<T: Document, F: FieldOf<T>>(&mut self, field: impl FnOnce(T::Paths) -> F) {
        let name = field(T::paths()).stored_name();
        self.which.push((T::META.collection, Some(name.to_owned())));
    }

    /// The chosen copies, subsets, computed fields and buckets.
    pub(crate) fn values(&self) -> impl Iterator<Item = Box<dyn DerivedValue + '_>> {
        rules::values(self.odm.graph()).filter(|value| {
            self.all && self.which.is_empty()
                || self
                    .which
                    .iter()
                    .any(|(collection, field)| is_chosen(value.as_ref(), collection, field.as_deref()))
        })
    }

    /// The collections of what is chosen.
    pub(crate) fn collections(&self) -> Vec<&'static DocumentMeta> {
        let is_chosen = |meta: &DocumentMeta| {
            self.all && self.which.is_empty()
                || self
                    .which
                    .iter()
                    .any(|(collection, _)| *collection == meta.collection)
        };
        let all = self.odm.models().iter().map(|model| model.meta);
        all.filter(|meta| meta.takes_changes() && is_chosen(meta))
            .collect()
    }

    /// The chosen references by collection.
    pub(crate) fn edges(&self) -> Result<Vec<(&'static DocumentMeta, Vec<&Edge>)>> {
        let graph = self.odm.graph();
        for (collection, field) in &self.which {
            let is_it = |edge: &Edge| field.as_ref().is_none_or(|field| edge.path == *field);
            let known = graph.edges().iter();
            let mut known = known.filter(|edge| edge.holder.collection == *collection);
            if !known.any(is_it)
                && !rules::values(graph).any(|value| is_chosen(value.as_ref(), collection, field.as_deref()))
            {
                return Err(Error::Query {
                    collection,
                    message: match field {
                        Some(field) => {
                            format!("`{field}` is no reference and no copy in a registered document")
                        }
                        None => {
                            "no registered document of this collection holds references or copies".to_owned()
                        }
                    },
                });
            }
        }
        let chosen = |edge: &&Edge| {
            self.all && self.which.is_empty()
                || self.which.iter().any(|(collection, field)| {
                    edge.holder.collection == *collection
                        && field.as_ref().is_none_or(|field| edge.path == *field)
                })
        };
        let mut all: Vec<(&'static DocumentMeta, Vec<&Edge>)> = Vec::new();
        for edge in graph.edges().iter().filter(chosen) {
            let known = all.iter_mut();
            match known
                .into_iter()
                .find(|(meta, _)| meta.collection == edge.holder.collection)
            {
                Some((_, edges)) => edges.push(edge),
                None => all.push((edge.holder, vec![edge])),
            }
        }
        Ok(all)
    }
}

fn is_chosen(value: &dyn DerivedValue, collection: &str, field: Option<&str>) -> bool {
    let is_of = value.holder().collection == collection || value.declared_in() == collection;
    is_of && field.is_none_or(|field| value.is_named(field))
}

/// The documents that are inspected, batch by batch.
pub(crate) enum InspectedDocuments {
    All {
        meta: &'static DocumentMeta,
        filter: Box<bson::Document>,
        fields: Fields,
        last: Option<Bson>,
        more: bool,
    },
    Sample(std::vec::IntoIter<RawDocumentBuf>),
}

impl InspectedDocuments {
    pub(crate) async fn of(
        cx: &Cx<'_>,
        meta: &'static DocumentMeta,
        edges: &[&Edge],
        sample: Option<u64>,
    ) -> Result<InspectedDocuments> {
        InspectedDocuments::with(cx, meta, fields(edges.iter().copied()), sample).await
    }

    /// All documents behind this id.
    pub(crate) fn from(
        meta: &'static DocumentMeta,
        fields: Fields,
        last: Option<Bson>,
    ) -> InspectedDocuments {
        InspectedDocuments::All {
            meta,
            filter: Box::default(),
            fields,
            last,
            more: true,
        }
    }

    /// All documents that fit.
    pub(crate) fn fitting(
        meta: &'static DocumentMeta,
        filter: bson::Document,
        fields: Fields,
    ) -> InspectedDocuments {
        InspectedDocuments::All {
            meta,
            filter: Box::new(filter),
            fields,
            last: None,
            more: true,
        }
    }

    /// The same with these fields of the documents.
    pub(crate) async fn with(
        cx: &Cx<'_>,
        meta: &'static DocumentMeta,
        fields: Fields,
        sample: Option<u64>,
    ) -> Result<InspectedDocuments> {
        let Some(sample) = sample else {
            return Ok(InspectedDocuments::from(meta, fields, None));
        };
        if sample == 0 {
            return Ok(InspectedDocuments::Sample(Vec::new().into_iter()));
        }
        let size = i64::try_from(sample).unwrap_or(i64::MAX);
        let pipeline = [doc! { "$sample": { "size": size } }, doc! { "$project": fields }];
        let documents = cx.aggregate_raw(meta, pipeline.into()).await?;
        Ok(InspectedDocuments::Sample(documents.into_iter()))
    }

    pub(crate) async fn next(&mut self, cx: &Cx<'_>) -> Result<Option<Vec<RawDocumentBuf>>> {
        let documents: Vec<RawDocumentBuf> = match self {
            InspectedDocuments::Sample(rest) => rest.take(BATCH).collect(),
            InspectedDocuments::All { more: false, .. } => Vec::new(),
            InspectedDocuments::All {
                meta,
                filter,
                fields,
                last,
                more,
            } => {
                let after = last.as_ref().map(|last| after_id(meta, last)).unwrap_or_default();
                let filter = all([after, filter.as_ref().clone()]);
                let batch = cx.batch(meta, filter, Some(fields.clone()), BATCH).await?;
                *more = batch.more;
                *last = batch.documents.last().map(document_id);
                batch.documents
            }
        };
        Ok((!documents.is_empty()).then_some(documents))
    }
}

/// The result of [`Odm::audit`]: the faults in references and copies. Displayed as text, with a line for each finding.
///
/// ```no_run
/// # use samples::model::*;
/// # async fn example(odm: Odm) -> odm::Result<()> {
/// let audit = odm.audit().await?;
/// for reference in audit.references.iter().filter(|r| r.dangling.count > 0) {
///     println!("{}.{}: {}", reference.collection, reference.field, reference.dangling.count);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Audit {
    /// How many documents were read.
    pub documents: u64,
    /// The findings for each reference, in the order of the models.
    pub references: Vec<AuditedReference>,
    /// The findings for copies, subsets and computed fields, for the summaries of buckets, and for claims, in the order of the models.
    pub copies: Vec<AuditedCopies>,
    /// The collections of a sharded cluster in which several documents have the same `_id`, in the order of the models.
    pub duplicate_ids: Vec<DuplicateIds>,
}

/// The values of `_id` that several documents of a collection have. Each shard of a cluster has an index of its own on `_id`, so only a
/// collection that is sharded by `_id` alone has each value once: see [`Error::IdNotUnique`](crate::Error::IdNotUnique).
///
/// ```no_run
/// # fn example(duplicates: odm::upkeep::DuplicateIds) {
/// for (id, documents) in &duplicates.found.sample {
///     println!("{documents} documents of `{}` have the _id {id}", duplicates.collection);
/// }
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DuplicateIds {
    /// The collection.
    pub collection: &'static str,
    /// Its shard key in words; `None` where the user may not read `config.collections`.
    pub shard_key: Option<String>,
    /// The values of `_id`, each with the number of documents that have it.
    pub found: Findings,
}

impl DuplicateIds {
    fn line(&self) -> String {
        let DuplicateIds {
            collection,
            shard_key,
            found,
        } = self;
        let examples = found.sample.iter();
        let examples: Vec<String> = examples
            .map(|(id, documents)| format!("_id {id} ({documents} documents)"))
            .collect();
        let more = if found.count > found.sample.len() as u64 {
            ", among them "
        } else {
            ": "
        };
        let shard_key = match shard_key {
            Some(key) => format!("sharded by {key}"),
            None => "sharded by a key that this user may not read".to_owned(),
        };
        format!(
            "`{collection}`: {} of `_id` {} several documents, on several shards, since the collection is {shard_key}{more}{}",
            plural(found.count, "value"),
            one(found.count, "is that of", "are those of"),
            examples.join(", ")
        )
    }
}

/// The findings for the copies beside one reference, for one field that is derived from children, for the claims of one key, for the
/// owners of the claims in one collection, or for the summaries in the
/// buckets of one collection.
///
/// ```no_run
/// # fn example(copies: odm::upkeep::AuditedCopies) {
/// println!("{:.2} % of `{}` are right", 100.0 * copies.share(), copies.fields.join("`, `"));
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AuditedCopies {
    /// The collection of the documents that hold them.
    pub collection: &'static str,
    /// The stored paths of the fields.
    pub fields: Vec<String>,
    /// Their source, in words.
    pub source: String,
    /// How many were compared with their sources. Copies count once for each reference beside which they are stored: an array
    /// of fifty entries counts fifty.
    pub checked: u64,
    /// How many of those differ from their sources.
    pub wrong: u64,
    /// The ids of the documents in which they differ.
    pub stale: Findings,
    kind: ValueKind,
}

impl AuditedCopies {
    pub(crate) fn of(value: &dyn DerivedValue) -> AuditedCopies {
        AuditedCopies {
            collection: value.holder().collection,
            fields: value.fields(),
            source: value.source(),
            kind: value.kind(),
            ..AuditedCopies::default()
        }
    }

    /// Adds how many were compared, and the holders in which some differ.
    pub(crate) fn add(&mut self, value: &dyn DerivedValue, checked: u64, stale: Vec<Bson>) {
        self.checked += checked;
        let stale = stale.into_iter();
        stale.for_each(|id| self.stale.add(value.shown(id), Bson::Null));
    }

    /// The share of copies that are right, from 0 to 1; 1 where there are none.
    ///
    /// ```no_run
    /// # fn example(copies: odm::upkeep::AuditedCopies) {
    /// assert_eq!(copies.share(), 1.0);
    /// # }
    /// ```
    pub fn share(&self) -> f64 {
        match self.checked {
            0 => 1.0,
            all => 1.0 - (self.wrong.min(all) as f64 / all as f64),
        }
    }

    fn line(&self) -> Option<String> {
        if self.stale.count == 0 {
            return None;
        }
        let examples: Vec<String> = self
            .stale
            .sample
            .iter()
            .map(|(id, _)| format!("_id {id}"))
            .collect();
        let fields = self.fields.join("`, `");
        let what = match self.kind {
            ValueKind::Derived | ValueKind::Summary => format!(
                "{} of {} {} from the source ({})",
                self.wrong,
                self.checked,
                one(self.wrong, "differs", "differ"),
                self.source
            ),
            ValueKind::Claims => format!(
                "{} of the {} {} not claimed by {} in `{}`, or claimed by another document",
                self.wrong,
                plural(self.checked, "value"),
                one(self.wrong, "is", "are"),
                one(self.wrong, "its document", "their documents"),
                self.source
            ),
            ValueKind::Owners => format!(
                "{} of the {} {} an owner in `{}` that has not these values",
                self.wrong,
                plural(self.checked, "claim"),
                one(self.wrong, "has", "have"),
                self.source
            ),
        };
        Some(format!(
            "`{}`.`{fields}`: {what}{}{}{}",
            self.collection,
            if self.wrong == self.stale.count {
                String::new()
            } else {
                format!(", in {}", plural(self.stale.count, "document"))
            },
            if self.stale.count > self.stale.sample.len() as u64 {
                ", among them "
            } else {
                ": "
            },
            examples.join(", ")
        ))
    }
}

/// The findings for one reference field.
///
/// ```no_run
/// # use samples::model::*;
/// # fn example(reference: odm::upkeep::AuditedReference) {
/// if reference.is_clean() {
///     println!("`{}` of `{}` is right", reference.field, reference.collection);
/// }
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AuditedReference {
    /// The collection of the documents that hold it.
    pub collection: &'static str,
    /// The stored path of it.
    pub field: String,
    /// The collections that it may refer to.
    pub targets: Vec<&'static str>,
    /// How many references were inspected.
    pub checked: u64,
    /// How many refer to a document that does not exist any more, as `on_delete = keep` allows.
    pub kept: u64,
    /// References to documents that do not exist: the id of the holder, and the id that it refers to.
    pub dangling: Findings,
    /// Two-way references that are missing on the other side: the id of the holder, and the id of the document that does not
    /// refer back.
    pub one_sided: Findings,
    /// Arrays of two-way references that list a document more than once: the id of the holder, and the id that is listed.
    pub repeated: Findings,
    /// Arrays with more references than they may hold: the id of the holder, and the number of references.
    pub over_bound: Findings,
    /// Parents with several children where each may have one: the parent's id. Only looked up where the unique index is
    /// missing.
    pub several_children: Findings,
    /// References with `on_delete = cascade` or `restrict` of documents that are not deleted to documents that are deleted and
    /// kept: the id of the holder, and the id that it refers to. The library writes none; another program may, and a process
    /// that died just before the last look of a deletion.
    pub below_deleted: Findings,
    /// Documents that a deletion or restoration has left deleted since it was interrupted, while the one that they refer to with
    /// `on_delete = cascade` is not deleted: the id of the document, and that of the one whose deletion or restoration it was, which may
    /// stand further up.
    pub interrupted: Findings,
    /// How many it may hold.
    max: Option<u64>,
}

/// How often something was found, with a few examples.
///
/// ```
/// assert_eq!(odm::upkeep::Findings::default().count, 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Findings {
    /// How often.
    pub count: u64,
    /// The id of a document, and what is wrong with it: up to five examples.
    pub sample: Vec<(Bson, Bson)>,
}

impl Findings {
    fn add(&mut self, id: Bson, what: Bson) {
        self.count += 1;
        if self.sample.len() < SAMPLE {
            self.sample.push((id, what));
        }
    }
}

impl AuditedReference {
    fn of(edge: &Edge) -> AuditedReference {
        AuditedReference {
            collection: edge.holder.collection,
            field: edge.path.clone(),
            targets: edge.targets.iter().map(|target| target.meta.collection).collect(),
            max: edge.bound(),
            ..AuditedReference::default()
        }
    }

    fn findings(&self) -> [&Findings; 7] {
        [
            &self.dangling,
            &self.one_sided,
            &self.repeated,
            &self.over_bound,
            &self.several_children,
            &self.below_deleted,
            &self.interrupted,
        ]
    }

    /// How many references refer to an existing document, which is not deleted where its deletion would take the holder with it,
    /// and are on both sides if they are two-way.
    ///
    /// ```no_run
    /// # fn example(reference: odm::upkeep::AuditedReference) {
    /// println!("{} of {} are right", reference.right(), reference.checked);
    /// # }
    /// ```
    pub fn right(&self) -> u64 {
        let wrong = self.kept + self.dangling.count + self.one_sided.count + self.below_deleted.count;
        self.checked.saturating_sub(wrong)
    }

    /// How many findings there are.
    ///
    /// ```
    /// assert_eq!(odm::upkeep::AuditedReference::default().wrong(), 0);
    /// ```
    pub fn wrong(&self) -> u64 {
        self.findings().iter().map(|findings| findings.count).sum()
    }

    /// Whether nothing is wrong with it.
    ///
    /// ```no_run
    /// # fn example(reference: odm::upkeep::AuditedReference) {
    /// assert!(reference.is_clean());
    /// # }
    /// ```
    pub fn is_clean(&self) -> bool {
        self.findings().iter().all(|findings| findings.count == 0)
    }

    fn lines(&self) -> Vec<String> {
        let (collection, field) = (self.collection, &self.field);
        let targets: Vec<String> = self.targets.iter().map(|target| format!("`{target}`")).collect();
        let targets = targets.join(" or ");
        let mut lines = Vec::new();
        let mut line =
            |findings: &Findings, what: &dyn Fn(u64) -> String, example: &dyn Fn(&Bson, &Bson) -> String| {
                if findings.count == 0 {
                    return;
                }
                let examples: Vec<String> = findings
                    .sample
                    .iter()
                    .map(|(id, what)| example(id, what))
                    .collect();
                let more = if findings.count > findings.sample.len() as u64 {
                    ", among them "
                } else {
                    ": "
                };
                lines.push(format!("{}{more}{}", what(findings.count), examples.join(", ")));
            };
        let refers = |id: &Bson, to: &Bson| format!("_id {id} to {to}");
        line(
            &self.dangling,
            &|n| {
                format!(
                    "`{collection}`.`{field}`: {n} of the references to {targets} {} a document that does not exist",
                    one(n, "names", "name")
                )
            },
            &refers,
        );
        line(
            &self.one_sided,
            &|n| {
                format!(
                    "`{collection}`.`{field}`: {n} of the references to {targets} {} missing on the other side",
                    one(n, "is", "are")
                )
            },
            &refers,
        );
        line(
            &self.repeated,
            &|n| {
                format!(
                    "`{collection}`.`{field}`: {n} of the documents in {targets} {} listed twice in one array",
                    one(n, "is", "are")
                )
            },
            &refers,
        );
        let max = self
            .max
            .map_or_else(|| "they may".to_owned(), |max| max.to_string());
        line(
            &self.over_bound,
            &|n| {
                let hold = one(n, "holds", "hold");
                format!("`{collection}`.`{field}`: {n} of the arrays {hold} more than {max}")
            },
            &|id, items| format!("_id {id} with {items}"),
        );
        line(
            &self.several_children,
            &|n| {
                format!(
                    "`{collection}`.`{field}`: {n} of the documents in {targets} {} several children, and the unique index is missing",
                    one(n, "has", "have")
                )
            },
            &|id, _| format!("_id {id}"),
        );
        line(
            &self.below_deleted,
            &|n| {
                format!(
                    "`{collection}`.`{field}`: {n} of the references to {targets} {} a deleted document, and the document with the \
                     reference is not deleted",
                    one(n, "names", "name")
                )
            },
            &refers,
        );
        line(
            &self.interrupted,
            &|n| {
                format!(
                    "`{collection}`.`{field}`: {n} {} deleted by a deletion or restoration of a document in {targets} that was \
                     interrupted",
                    one(n, "document is", "documents are")
                )
            },
            &refers,
        );
        lines
    }
}

impl Audit {
    /// How many references were inspected.
    ///
    /// ```no_run
    /// # fn example(audit: odm::upkeep::Audit) {
    /// println!("{} references", audit.checked());
    /// # }
    /// ```
    pub fn checked(&self) -> u64 {
        self.references.iter().map(|reference| reference.checked).sum()
    }

    /// How many of them are right.
    ///
    /// ```no_run
    /// # fn example(audit: odm::upkeep::Audit) {
    /// println!("{} are wrong", audit.checked() - audit.right());
    /// # }
    /// ```
    pub fn right(&self) -> u64 {
        self.references.iter().map(AuditedReference::right).sum()
    }

    /// How many findings there are, of references, of copies and of values of `_id`. A reference may be among several, and a document in which
    /// several copies beside one reference are stale is one.
    ///
    /// ```
    /// assert_eq!(odm::upkeep::Audit::default().wrong(), 0);
    /// ```
    pub fn wrong(&self) -> u64 {
        let references: u64 = self.references.iter().map(AuditedReference::wrong).sum();
        let ids: u64 = self.duplicate_ids.iter().map(|ids| ids.found.count).sum();
        references + self.copies.iter().map(|copies| copies.stale.count).sum::<u64>() + ids
    }

    /// Whether nothing is wrong.
    ///
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let audit = odm.audit().await?;
    /// assert!(audit.is_clean(), "{audit}");
    /// # Ok(()) }
    /// ```
    pub fn is_clean(&self) -> bool {
        let is_clean = self.references.iter().all(AuditedReference::is_clean);
        is_clean && self.stale_copies() == 0 && self.duplicate_ids.is_empty()
    }

    /// The number of documents in which copies, subsets, computed fields or bucket summaries differ from their sources, counted
    /// once for each of these fields, with that of unclaimed values and of claims without an owner.
    ///
    /// ```no_run
    /// # fn example(audit: odm::upkeep::Audit) {
    /// assert_eq!(audit.stale_copies(), 0);
    /// # }
    /// ```
    pub fn stale_copies(&self) -> u64 {
        self.copies.iter().map(|copies| copies.stale.count).sum()
    }

    /// An audit of these references, of which nothing is read yet.
    pub(crate) fn of(chosen: &[(&'static DocumentMeta, Vec<&Edge>)]) -> Audit {
        let edges = chosen.iter().flat_map(|(_, edges)| edges);
        Audit {
            documents: 0,
            copies: Vec::new(),
            duplicate_ids: Vec::new(),
            references: edges.map(|edge| AuditedReference::of(edge)).collect(),
        }
    }

    fn reference(&mut self, edge: &Edge) -> Option<&mut AuditedReference> {
        self.references
            .iter_mut()
            .find(|known| known.collection == edge.holder.collection && known.field == edge.path)
    }

    pub(crate) fn count(&mut self, documents: usize, edges: &[&Edge], inspected: &Inspected<'_>) {
        self.documents += documents as u64;
        for edge in edges {
            let of = |counts: &HashMap<EdgeId, u64>| counts.get(&edge.id).copied().unwrap_or(0);
            if let Some(reference) = self.reference(edge) {
                reference.checked += of(&inspected.checked);
                reference.kept += of(&inspected.kept);
            }
        }
    }

    pub(crate) fn found(&mut self, fault: &Fault<'_>) {
        let Some(reference) = self.reference(fault.edge) else {
            return;
        };
        let (findings, what) = match &fault.kind {
            FaultKind::Dangling { key, .. } => (&mut reference.dangling, key.clone()),
            FaultKind::BelowDeleted { other } => (&mut reference.below_deleted, other.clone()),
            FaultKind::Interrupted { id, .. } => (&mut reference.interrupted, id.clone()),
            FaultKind::OneSided { other } => (&mut reference.one_sided, other.clone()),
            FaultKind::Repeated { other } => (&mut reference.repeated, other.clone()),
            FaultKind::OverBound { items } => {
                let items = i64::try_from(*items).unwrap_or(i64::MAX);
                (&mut reference.over_bound, Bson::Int64(items))
            }
        };
        findings.add(fault.holder.clone(), what);
    }

    /// Looks for parents with several children of which each may have one, where no unique index rules them out.
    pub(crate) async fn several_children(&mut self, cx: &Cx<'_>, edges: &[&Edge]) -> Result<()> {
        for edge in edges {
            if !edge.reference.one || is_unique(cx, edge).await? {
                continue;
            }
            let mut counted = doc! { &edge.path: { "$ne": null } };
            counted.extend(edge.holder.soft_delete.map(|name| (name.to_owned(), Bson::Null)));
            let found = with_several(cx, edge.holder, counted, &edge.path).await?;
            if let Some(reference) = self.reference(edge) {
                reference.several_children = found;
            }
        }
        Ok(())
    }

    /// Looks for values of `_id` that several documents have, in the collections of a sharded cluster that are not sharded by `_id`.
    pub(crate) async fn find_duplicate_ids(
        &mut self,
        cx: &Cx<'_>,
        collections: Vec<&'static DocumentMeta>,
    ) -> Result<()> {
        if !cx.odm.is_sharded() {
            return Ok(());
        }
        cx.trip();
        let keys = StoredShardKeys::read(cx.odm).await?;
        for meta in collections {
            let shard_key = keys.of(meta.collection);
            if !may_repeat_ids(&shard_key) {
                continue;
            }
            let found = with_several(cx, meta, Fields::new(), "_id").await?;
            if found.count > 0 {
                self.duplicate_ids.push(DuplicateIds {
                    collection: meta.collection,
                    shard_key: match shard_key {
                        StoredShardKey::Is(key) => Some(key.to_string()),
                        StoredShardKey::None | StoredShardKey::Unknown => None,
                    },
                    found,
                });
            }
        }
        Ok(())
    }
}

/// Whether two shards may have documents with the same `_id`. Only where a collection is sharded by `_id` alone, each value is on one
/// shard.
fn may_repeat_ids(shard_key: &StoredShardKey) -> bool {
    match shard_key {
        StoredShardKey::None => false,
        StoredShardKey::Is(key) => !key.keys().eq(["_id"]),
        StoredShardKey::Unknown => true,
    }
}

/// The values of a field that several documents have, with the number of documents.
async fn with_several(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    counted: Fields,
    field: &str,
) -> Result<Findings> {
    let pipeline = vec![
        doc! { "$match": counted },
        doc! { "$group": { "_id": format!("${field}"), "n": { "$sum": 1 } } },
        doc! { "$match": { "n": { "$gt": 1 } } },
        doc! { "$facet": {
            "count": [{ "$count": "n" }],
            "sample": [{ "$sort": { "_id": 1 } }, { "$limit": SAMPLE as i64 }],
        } },
    ];
    let found = cx.aggregate_all(meta, pipeline).await?;
    let list = |name: &str| -> Vec<Fields> {
        let found = found.first().and_then(|found| found.get_array(name).ok());
        let found = found.map(Vec::as_slice).unwrap_or_default();
        found.iter().filter_map(Bson::as_document).cloned().collect()
    };
    let number = |document: &Fields| match document.get("n") {
        Some(Bson::Int32(n)) => u64::try_from(*n).unwrap_or(0),
        Some(Bson::Int64(n)) => u64::try_from(*n).unwrap_or(0),
        _ => 0,
    };
    Ok(Findings {
        count: list("count").first().map_or(0, number),
        sample: list("sample")
            .into_iter()
            .filter_map(|value| {
                let documents = i64::try_from(number(&value)).unwrap_or(i64::MAX);
                Some((value.get("_id")?.clone(), Bson::Int64(documents)))
            })
            .collect(),
    })
}

/// Whether a unique index lets each target be named once.
async fn is_unique(cx: &Cx<'_>, edge: &Edge) -> Result<bool> {
    if edge.path == "_id" {
        return Ok(true);
    }
    cx.trip();
    let indexes = crate::schema::indexes(cx.odm.database(), edge.holder.collection).await?;
    Ok(indexes.iter().any(|index| {
        // Of a union it is on both parts. A partial index may leave out only what refers to nothing, or is deleted.
        let parts = [
            edge.path.clone(),
            format!("{}.type", edge.path),
            format!("{}.id", edge.path),
        ];
        let alone = index
            .get_document("key")
            .is_ok_and(|key| key.keys().all(|name| parts.contains(name)));
        let may_be_asked =
            |name: &String| parts.contains(name) || Some(name.as_str()) == edge.holder.soft_delete;
        let partial = index.get_document("partialFilterExpression").ok();
        let mut asked = Vec::new();
        partial
            .into_iter()
            .for_each(|filter| fields_of(filter, &mut asked));
        let whole = asked.iter().all(may_be_asked);
        alone && whole && index.get_bool("unique").unwrap_or(false)
    }))
}

/// The verb for a count of `n`.
fn one(n: u64, one: &'static str, several: &'static str) -> &'static str {
    if n == 1 { one } else { several }
}

/// The findings in words, a line each.
impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let references = self.references.iter().flat_map(AuditedReference::lines);
        let lines: Vec<String> = references
            .chain(self.copies.iter().filter_map(AuditedCopies::line))
            .chain(self.duplicate_ids.iter().map(DuplicateIds::line))
            .collect();
        if !lines.is_empty() {
            return f.write_str(&lines.join("\n"));
        }
        write!(
            f,
            "nothing is wrong with {} in {}",
            plural(self.checked(), "reference"),
            plural(self.documents, "document")
        )?;
        let checked = |kinds: &[ValueKind]| {
            let copies = self.copies.iter().filter(|copies| kinds.contains(&copies.kind));
            copies.map(|copies| copies.checked).sum::<u64>()
        };
        match checked(&[ValueKind::Derived, ValueKind::Summary]) {
            0 => {}
            1 => f.write_str(", and with 1 copy")?,
            copies => write!(f, ", and with {copies} copies")?,
        }
        match checked(&[ValueKind::Owners]) {
            0 => Ok(()),
            claims => write!(f, ", and with {}", plural(claims, "claim")),
        }
    }
}

/// Its findings in words, a line each.
impl fmt::Display for AuditedReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines();
        if !lines.is_empty() {
            f.write_str(&lines.join("\n"))
        } else {
            write!(f, "`{}`.`{}`: nothing is wrong", self.collection, self.field)
        }
    }
}
