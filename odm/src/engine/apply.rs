//! Applies pending work, in the transaction of the write or later from the markers in the documents.

use crate::engine::Outcome;
use crate::engine::images::Before;
use crate::model::document::DocumentMeta;
use crate::model::graph::edge::{CopyField, Derived, Edge};
use crate::model::graph::sync::{is_atomic, kept_in_sync};
use crate::model::graph::{Graph, is};
use crate::model::key;
use crate::model::key::Key;
use crate::model::reference::OnDelete;
use crate::own_fields::{CHILDREN, DELETE, OPERATION, REVISION, Token, VERSION};
use crate::plan::fields::ChangedFields;
use crate::plan::links::Effect;
use crate::plan::operation::Write;
use crate::rules::children::orphans;
use crate::rules::children::{
    adopt, may_be_absent, missing, parents_of, previous_parents, refresh, update_parents,
};
use crate::rules::copy::deliver::{Changed, To, deliver, held, passed_on, pull, raise_counted};
use crate::rules::copy::fill::{is_gone, needed};
use crate::rules::image::{Image, before_and_after};
use crate::rules::link;
use crate::rules::others::note_parents;
use crate::rules::pending::{PendingWork, clear, grouped, has_entry, record, record_for};
use crate::store::batch;
use crate::store::batch::{behind, by_ids, id};
use crate::store::each::{Written, but_for_the_deployment};
use crate::store::fields::{at, is_number};
use crate::store::scope::{Scope, Statement};
use crate::{Error, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

/// Number of documents with pending work that are handled at a time.
const BATCH: usize = 200;

/// Maximum number of times that documents are read again because other writers have changed their copies.
const PULLS: usize = 20;

/// The work of a transaction that is done after its commit.
#[derive(Debug, Default)]
pub(crate) struct DeferredWork {
    /// The tokens of pending work, each with the collection of its documents.
    tokens: Vec<(&'static DocumentMeta, Token)>,
    /// Parents whose derived fields are computed again: their keys, by the child's reference as its position in the graph.
    parents: HashMap<usize, HashSet<Key>>,
    /// The notes about these parents in the database.
    notes: Vec<Token>,
}

impl DeferredWork {
    /// Adds parents that lose children by this reference. The note is stored before they lose them, or in the same transaction.
    pub(crate) async fn note_parents(
        &mut self,
        scope: &Scope<'_>,
        edge: &Edge,
        keys: impl IntoIterator<Item = Key>,
    ) -> Result<()> {
        let keys: Vec<Key> = keys.into_iter().collect();
        if !keys.is_empty() {
            self.parents
                .entry(edge.at)
                .or_default()
                .extend(keys.iter().cloned());
            self.notes
                .extend(orphans::note(scope, vec![(edge.at, keys)]).await?);
        }
        Ok(())
    }
}

impl DeferredWork {
    pub(crate) fn add(&mut self, meta: &'static DocumentMeta, token: Token) {
        let known = |(other, of): &(&'static DocumentMeta, Token)| {
            other.collection == meta.collection && *of == token
        };
        if !self.tokens.iter().any(known) {
            self.tokens.push((meta, token));
        }
    }

    pub(crate) fn add_all(&mut self, other: DeferredWork) {
        other
            .tokens
            .into_iter()
            .for_each(|(meta, token)| self.add(meta, token));
        for (at, keys) in other.parents {
            self.parents.entry(at).or_default().extend(keys);
        }
        self.notes.extend(other.notes);
    }

    /// Applies it, after the commit. Returns the number of changed documents.
    ///
    /// # Errors
    /// The first failure, when everything else is applied.
    pub(crate) async fn drain(self, scope: &Scope<'_>) -> Result<u64> {
        let graph = scope.odm.graph();
        let scope = &scope.unvalidated();
        let mut applied = Written::default();
        applied.add(drain_all(scope, self.tokens).await.map(Written::of))?;
        let mut derived = Written::default();
        for (at, keys) in self.parents {
            if let Some(edge) = graph.edge(at) {
                derived.add(derive_anew(scope, edge, &keys).await)?;
            }
        }
        if derived.refused.is_none() {
            orphans::clear_notes(scope, self.notes).await?;
        }
        applied.add(Ok(derived))?;
        applied.all()
    }
}

/// Documents of a collection whose changes are passed on to others: those with these values in this field.
struct PassedOn {
    meta: &'static DocumentMeta,
    field: String,
    values: Vec<Bson>,
    /// Their changed fields.
    changed: Vec<String>,
    /// How many documents lie between them and the write.
    hop: usize,
}

/// Documents on the other side of two-way references, as they were before these were changed.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    before: Vec<(&'static DocumentMeta, HashMap<Key, RawDocumentBuf>)>,
}

/// The documents of writes, which are compared before and after.
pub(crate) struct Own<'a> {
    pub(crate) before: &'a Before,
    pub(crate) writes: &'a [Write],
    pub(crate) done: &'a Outcome,
}

impl Own<'_> {
    /// The documents that the writes insert.
    fn inserted(&self) -> HashSet<(&'static str, Key)> {
        let inserts = self.writes.iter().filter_map(|write| {
            let document = write.inserted()?;
            Some((write.meta.collection, id(document)))
        });
        let upserted = self.done.upserted.as_ref().zip(self.writes.first());
        inserts
            .chain(upserted.map(|(id, write)| (write.meta.collection, Key::of_bson(id))))
            .collect()
    }
}

async fn read<'k>(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    keys: impl Iterator<Item = &'k Key>,
) -> Result<HashMap<Key, RawDocumentBuf>> {
    let fields = needed(scope.odm.graph(), meta);
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    let found = by_ids(scope, meta, keys, names).await?;
    Ok(found
        .into_iter()
        .map(|document| (id(&document), document))
        .collect())
}

/// The effects of writes on other documents. In a transaction they are applied there, unless their consistency mode is
/// eventual. On a standalone server, which has no transactions, all effects are eventual: they are pending in the documents, or
/// listed in [`DeferredWork`], and applied after the writes.
pub(crate) struct Propagation {
    transactions: bool,
    /// The changed documents from which others derive something.
    passed_on: Vec<PassedOn>,
    /// How many documents lie between the change that is being applied and the write.
    hop: usize,
    /// The token of the work that is applied after the commit.
    later: Token,
    deferred: DeferredWork,
    /// How many documents were changed.
    copies: u64,
    /// The documents whose earlier pending work is included already: their collections and ids.
    included: HashSet<(&'static str, Key)>,
}

impl Propagation {
    pub(crate) fn new(scope: &Scope<'_>) -> Propagation {
        Propagation {
            transactions: scope.session.is_some(),
            passed_on: Vec::new(),
            hop: 0,
            later: Token::new(),
            deferred: DeferredWork::default(),
            copies: 0,
            included: HashSet::new(),
        }
    }

    /// The changed fields of a document, with those of its earlier pending work: the process that applies that later finds that
    /// it is done. Only the first time for a document, since the earlier work is not cleared here.
    fn with_earlier(
        &mut self,
        meta: &DocumentMeta,
        document: &RawDocumentBuf,
        changed: ChangedFields,
    ) -> ChangedFields {
        if self.included.insert((meta.collection, id(document))) {
            changed.with_pending(document)
        } else {
            changed
        }
    }

    /// The pending work that updates by the library record in the documents that they change.
    pub(crate) fn pending(&self) -> PendingWork {
        if self.transactions {
            PendingWork::Later(self.later)
        } else {
            PendingWork::All(self.later)
        }
    }

    /// Whether something of such a document is derived elsewhere after the write.
    fn is_derived_later(&self, graph: &Graph, meta: &DocumentMeta) -> bool {
        !self.transactions || graph.is_derived_later(meta)
    }

    /// Applies the effects of a write on the other side of two-way references. Returns the documents that it changes there,
    /// whose own effects are still to be applied.
    pub(crate) async fn apply(
        &mut self,
        scope: &Scope<'_>,
        own: Option<Own<'_>>,
        effects: &[Effect],
    ) -> Result<Beside> {
        let beside = Propagation::look(scope, own, effects).await?;
        link::apply(scope, scope.odm.graph(), effects, self.pending()).await?;
        let graph = scope.odm.graph();
        for edge in effects.iter().filter_map(|effect| graph.edge(effect.edge)) {
            if graph.is_read(edge.holder, &edge.path) && self.is_derived_later(graph, edge.holder) {
                self.deferred.add(edge.holder, self.later);
            }
        }
        Ok(beside)
    }

    /// The before-images of the documents that effects will change, except those of the writes themselves.
    async fn look(scope: &Scope<'_>, own: Option<Own<'_>>, effects: &[Effect]) -> Result<Beside> {
        let graph = scope.odm.graph();
        let inserted = own.as_ref().map(Own::inserted).unwrap_or_default();
        let mut beside: Vec<(&'static DocumentMeta, Vec<Key>)> = Vec::new();
        for effect in effects {
            let Some(edge) = graph.edge(effect.edge) else {
                continue;
            };
            let meta = edge.holder;
            let key = &effect.holder.key;
            let is_own = |own: &Own<'_>| own.before.has(meta, key, &inserted);
            if !graph.is_read(meta, &edge.path) || own.as_ref().is_some_and(is_own) {
                continue;
            }
            match beside.iter_mut().find(|(other, _)| is(other, meta)) {
                Some((_, keys)) => keys.push(effect.holder.key.clone()),
                None => beside.push((meta, vec![effect.holder.key.clone()])),
            }
        }
        let mut found = Beside::default();
        for (meta, keys) in beside {
            let keys: HashSet<Key> = keys.into_iter().collect();
            found.before.push((meta, read(scope, meta, keys.iter()).await?));
        }
        Ok(found)
    }

    /// Records that this reference was changed in documents with these ids.
    pub(crate) fn rewritten(&mut self, graph: &Graph, edge: &Edge, ids: Vec<Bson>) {
        if graph.is_read_as_value(edge) {
            self.pass_on(graph, edge.holder, ("_id", ids), vec![edge.path.clone()]);
        }
    }

    /// Applies the effects of writes and of their changes on the other side of links, by comparing the documents before and
    /// after. Documents of one collection are handled together: a field that is computed again for one of them is computed from
    /// all, so nothing may be added to it for another one.
    pub(crate) async fn written(
        &mut self,
        scope: &Scope<'_>,
        own: Option<(&[Write], Before, &Outcome)>,
        beside: Beside,
    ) -> Result<()> {
        let mut all = match own {
            Some((writes, before, done)) => before.after(scope, writes, done).await?,
            None => Vec::new(),
        };
        for (meta, before) in beside.before {
            let mut after = read(scope, meta, before.keys()).await?;
            let images = before.into_iter().map(|(key, before)| Image {
                after: after.remove(&key),
                before: Some(before),
                inserted: false,
                written: ChangedFields::All,
            });
            match all.iter_mut().find(|(other, _)| is(other, meta)) {
                Some((_, known)) => known.extend(images),
                None => all.push((meta, images.collect())),
            }
        }
        for (meta, images) in &all {
            self.propagate(scope, meta, images).await?;
        }
        Ok(())
    }

    /// Applies the effects of deletions.
    pub(crate) async fn deleted(
        &mut self,
        scope: &Scope<'_>,
        meta: &'static DocumentMeta,
        documents: &[&RawDocumentBuf],
    ) -> Result<()> {
        let images: Vec<Image> = documents
            .iter()
            .map(|document| Image {
                before: Some((*document).clone()),
                after: None,
                inserted: false,
                written: ChangedFields::All,
            })
            .collect();
        self.propagate(scope, meta, &images).await
    }

    /// Records that these fields have changed in documents of a collection. Derived fields never depend on each other in a
    /// circle, so passing on ends, also where documents refer to each other in a circle.
    fn pass_on(
        &mut self,
        graph: &Graph,
        meta: &'static DocumentMeta,
        (field, values): (&str, Vec<Bson>),
        changed: Vec<String>,
    ) {
        if changed.is_empty() {
            return;
        }
        if self.is_derived_later(graph, meta) {
            self.deferred.add(meta, self.later);
        }
        if !self.transactions {
            return;
        }
        let hop = self.hop + 1;
        let same = |known: &&mut PassedOn| {
            known.meta.collection == meta.collection && known.field == field && known.hop == hop
        };
        match self.passed_on.iter_mut().find(same) {
            Some(known) => {
                known.values.extend(values);
                known.changed.extend(changed);
            }
            None => self.passed_on.push(PassedOn {
                meta,
                field: field.to_owned(),
                values,
                changed,
                hop,
            }),
        }
    }

    /// Applies the effects of writes that changed documents of a collection as these images show.
    async fn propagate(
        &mut self,
        scope: &Scope<'_>,
        meta: &'static DocumentMeta,
        images: &[Image],
    ) -> Result<()> {
        let graph = scope.odm.graph();
        // The writes themselves have been validated.
        let scope = &scope.unvalidated();
        if !self.transactions {
            note_parents(scope, meta, before_and_after(images)).await?;
            for (at, keys) in previous_parents(graph, meta, images) {
                self.deferred.parents.entry(at).or_default().extend(keys);
            }
            return Ok(());
        }
        for edge in graph.copying(meta).filter(|edge| is_kept(edge)) {
            if hold(scope, edge, images, self.pending()).await? {
                let written = images.iter().filter_map(|image| image.after.as_ref());
                let changed = passed_on(scope, edge, &ChangedFields::All);
                self.pass_on(graph, meta, ("_id", batch::ids(written)), changed);
            }
        }
        let mut earlier: HashMap<Key, ChangedFields> = HashMap::new();
        let known = images
            .iter()
            .filter_map(|image| image.before.as_ref().or(image.after.as_ref()));
        for document in known {
            // Not recorded as known: a later change that is passed on to it reaches further than its current copies.
            earlier.insert(id(document), ChangedFields::Of(Vec::new()).with_pending(document));
        }
        for edge in graph.copied(meta).filter(|edge| is_kept(edge)) {
            let after = |inserted: bool| {
                let written = images.iter().filter(move |image| image.inserted == inserted);
                written.filter_map(|image| {
                    let after = image.after.clone()?;
                    let fields = changed_fields(edge, image)?.and(earlier.get(&id(&after)));
                    Some((after, fields))
                })
            };
            let inserted: Vec<Changed> = after(true).collect();
            let mut changed = raise_counted(scope, meta, &inserted)
                .await?
                .documents
                .unwrap_or(inserted);
            changed.extend(after(false));
            self.deliver(scope, meta, edge, &changed).await?;
        }
        note_parents(scope, meta, before_and_after(images)).await?;
        let updated = update_parents(scope, meta, images, self.pending()).await?;
        self.copies += updated.parents;
        if !updated.alone.is_empty() {
            let is_of = |(at, keys): &(usize, HashSet<Key>), child: &RawDocumentBuf| {
                graph.edge(*at).is_some_and(|edge| {
                    let mut named = (0..edge.targets.len()).flat_map(|target| edge.keys(target, child));
                    named.any(|key| keys.contains(&key))
                })
            };
            let names_one = |child: &&RawDocumentBuf| updated.alone.iter().any(|alone| is_of(alone, child));
            let written = images.iter().filter_map(|image| image.after.as_ref());
            let keys: Vec<Key> = written.filter(names_one).map(id).collect();
            for ids in key::chunks(&keys) {
                record_all(scope, meta, doc! { "_id": { "$in": ids } }, self.later).await?;
                self.deferred.add(meta, self.later);
            }
            // The pending work of a child does not name the previous parents, nor those of a deleted child.
            let left_behind = orphans::left_behind(graph, &updated.alone, images);
            self.deferred
                .notes
                .extend(orphans::note(scope, left_behind).await?);
            for (at, keys) in updated.alone {
                self.deferred.parents.entry(at).or_default().extend(keys);
            }
        }
        for (parent, by, key, derived) in updated.passed_on {
            self.pass_on(graph, parent, (by, vec![key]), vec![derived.to_owned()]);
        }
        Ok(())
    }

    async fn deliver(
        &mut self,
        scope: &Scope<'_>,
        meta: &'static DocumentMeta,
        edge: &Edge,
        documents: &[Changed],
    ) -> Result<()> {
        let delivered = deliver(scope, meta, edge, documents, self.pending()).await?;
        self.copies += delivered.documents;
        if !delivered.left.is_empty() {
            let has_changed = |source: &str| documents.iter().any(|(_, changed)| changed.is_of(source));
            let names = kept_in_sync(edge).map(|copy| copy.source);
            let names: Vec<&str> = names.filter(|source| has_changed(source)).collect();
            self.leave_pending(scope, meta, doc! { "_id": { "$in": delivered.left } }, &names)
                .await?;
        }
        if delivered.documents > 0 {
            let mut keys = Vec::new();
            let mut further = Vec::new();
            for (document, changed) in documents {
                keys.extend(batch::value(document, edge.by()));
                further.extend(passed_on(scope, edge, changed));
            }
            self.pass_on(scope.odm.graph(), edge.holder, (&edge.path, keys), further);
        }
        Ok(())
    }

    /// Records in these documents that the fields derived from these ones are to be updated after the commit. The fields are
    /// named: a document with pending work for everything may have been written without a transaction, so that its sources
    /// would be locked and its copies read again.
    async fn leave_pending(
        &mut self,
        scope: &Scope<'_>,
        meta: &'static DocumentMeta,
        which: Document,
        names: &[&str],
    ) -> Result<()> {
        let mut update = Document::new();
        for name in names {
            record_for(&mut update, self.later, name);
        }
        note(scope, meta, which, update).await?;
        self.deferred.add(meta, self.later);
        Ok(())
    }

    /// Applies the changes that were passed on, and those that these pass on in turn. Returns the number of changed documents,
    /// and the work that is left after the commit.
    pub(crate) async fn end(mut self, scope: &Scope<'_>) -> Result<(u64, DeferredWork)> {
        let scope = &scope.unvalidated();
        // The nearest first: a document that is reached in two ways is read after both changes.
        while let Some((nearest, _)) = (self.passed_on.iter().enumerate()).min_by_key(|(_, next)| next.hop) {
            let next = self.passed_on.swap_remove(nearest);
            self.hop = next.hop;
            let keys: Vec<Key> = next.values.iter().map(Key::of_bson).collect();
            let changed = ChangedFields::Of(next.changed);
            for values in key::chunks(&keys) {
                let which = doc! { &next.field: { "$in": values } };
                self.next_layer(scope, next.meta, which, &changed).await?;
            }
        }
        Ok((self.copies, self.deferred))
    }

    /// Updates the fields that are derived from these documents, which this transaction has changed.
    async fn next_layer(
        &mut self,
        scope: &Scope<'_>,
        meta: &'static DocumentMeta,
        which: Document,
        changed: &ChangedFields,
    ) -> Result<()> {
        let graph = scope.odm.graph();
        let fields = needed(graph, meta);
        // `sync = atomic` promises updates in the transaction, however many documents there are.
        let documents = match graph.needs_transactions(meta) {
            Some(_) => scope.every(meta, which, fields).await?,
            None => {
                let most = scope.odm.fan_out_options().in_transaction;
                let one_more = most.saturating_add(1);
                let some = scope.some(meta, which.clone(), fields, one_more).await?;
                if some.more {
                    let names: Vec<&str> = changed.names().collect();
                    return self.leave_pending(scope, meta, which, &names).await;
                }
                some.documents
            }
        };
        if documents.is_empty() {
            return Ok(());
        }
        let with_changes = |document: RawDocumentBuf| {
            let changed = self.with_earlier(meta, &document, changed.clone());
            (document, changed)
        };
        let documents: Vec<Changed> = documents.into_iter().map(with_changes).collect();
        let all_changed: HashMap<Key, &ChangedFields> = documents
            .iter()
            .map(|(document, changed)| (id(document), changed))
            .collect();
        let kept = |derived: &Derived, child: &RawDocumentBuf| {
            let changed = all_changed.get(&id(child));
            is_atomic(derived.sync, true) && changed.is_some_and(|changed| changed.is_derived(graph, derived))
        };
        let parents = parents_of(graph, meta, all(&documents), kept);
        for edge in graph.copied(meta).filter(|edge| is_kept(edge)) {
            self.deliver(scope, meta, edge, &documents).await?;
        }
        for (edge, list, keys) in parents {
            let parents: Vec<Bson> = keys.iter().map(Key::to_bson).collect();
            let found = refresh(scope, edge, &list, keys.clone(), self.pending())
                .await?
                .all()?;
            self.copies += found;
            if found < keys.len() as u64 && may_be_absent(edge) {
                self.leave_for_absent(scope, meta, edge, &list, keys, &documents)
                    .await?;
            }
            for derived in list {
                if graph.is_read(derived.parent, derived.field.name) {
                    let changed = vec![derived.field.name.to_owned()];
                    self.pass_on(graph, derived.parent, (edge.by(), parents.clone()), changed);
                }
            }
        }
        Ok(())
    }

    /// Leaves pending work in those of these children whose parents don't exist yet. Another client may insert such a parent while
    /// this transaction is open, and derive its fields from the children as they were before: neither of the two modifies what
    /// the other one does. So its fields are derived once more after the commit.
    async fn leave_for_absent(
        &mut self,
        scope: &Scope<'_>,
        meta: &'static DocumentMeta,
        edge: &Edge,
        list: &[&Derived],
        keys: HashSet<Key>,
        children: &[Changed],
    ) -> Result<()> {
        let Some(parent) = list.first().map(|derived| derived.parent) else {
            return Ok(());
        };
        let keys = keys.into_iter().map(|key| (edge.at, key)).collect();
        let absent = missing(scope, parent, keys).await?.into_iter();
        let absent: HashSet<Key> = absent.flat_map(|(_, keys)| keys).collect();
        let target = edge.target(parent).unwrap_or_default();
        let names_one =
            |child: &RawDocumentBuf| edge.keys(target, child).iter().any(|key| absent.contains(key));
        let left: Vec<&Changed> = children.iter().filter(|(child, _)| names_one(child)).collect();
        let names: HashSet<&str> = left.iter().flat_map(|(_, changed)| changed.names()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let ids: Vec<Key> = left.iter().map(|(child, _)| id(child)).collect();
        for ids in key::chunks(&ids) {
            self.leave_pending(scope, meta, doc! { "_id": { "$in": ids } }, &names)
                .await?;
        }
        Ok(())
    }
}

/// Records in these documents that everything that is derived from them, and in them, is pending.
pub(crate) async fn record_all(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    which: Document,
    token: Token,
) -> Result<()> {
    let mut update = Document::new();
    record(&mut update, token);
    note(scope, meta, which, update).await
}

async fn note(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    which: Document,
    update: Document,
) -> Result<()> {
    let note = Statement {
        filter: which,
        update,
        array_filters: Vec::new(),
    };
    scope.update(meta, std::slice::from_ref(&note)).await?;
    Ok(())
}

/// Whether the copies beside a reference are updated in the transaction of a write.
pub(crate) fn is_kept(edge: &Edge) -> bool {
    edge.sync().is_some_and(|sync| is_atomic(sync, true))
}

/// The fields that others copy by this reference and that a write changed, if any.
fn changed_fields(edge: &Edge, image: &Image) -> Option<ChangedFields> {
    let after = image.after.as_ref()?;
    if image.inserted {
        // Only where holders may have been there before it.
        let may_be = edge.reference.on_delete == OnDelete::Keep || !edge.reference.check;
        return may_be.then_some(ChangedFields::All);
    }
    let is_changed = |copy: &&CopyField| match &image.before {
        Some(before) => at(before, copy.source) != at(after, copy.source),
        None => image.written.is_of(copy.source),
    };
    let names: Vec<String> = edge
        .copies
        .iter()
        .filter(is_changed)
        .map(|copy| copy.source.to_owned())
        .collect();
    (!names.is_empty()).then_some(ChangedFields::Of(names))
}

/// Locks the sources of the copies that a write has stored, if their versions are those of the copies. If a source has a newer
/// version, the copies are updated. Returns whether they were.
async fn hold(scope: &Scope<'_>, edge: &Edge, images: &[Image], pending: PendingWork) -> Result<bool> {
    let Some(meta) = edge.targets.first().copied() else {
        return Ok(false);
    };
    let mut taken: HashMap<Key, HashSet<i64>> = HashMap::new();
    let mut holders: Vec<RawDocumentBuf> = Vec::new();
    for image in images {
        let Some(after) = &image.after else { continue };
        let known: HashSet<(Key, i64)> = match &image.before {
            Some(before) => held(edge, before).into_iter().collect(),
            None => HashSet::new(),
        };
        let mut new = held(edge, after)
            .into_iter()
            .filter(|one| !known.contains(one))
            .peekable();
        if new.peek().is_some() {
            holders.push(after.clone());
        }
        for (key, version) in new {
            taken.entry(key).or_default().insert(version);
        }
    }
    if taken.is_empty() {
        return Ok(false);
    }
    // Copies of one source in two versions can't both be right.
    let sure = taken.values().all(|versions| versions.len() == 1);
    if sure {
        let statements: Vec<Statement> = taken
            .iter()
            .flat_map(|(key, versions)| versions.iter().map(move |version| (key, *version)))
            .map(|(key, version)| lock(doc! { edge.by(): key.to_bson(), VERSION: is_number(version) }))
            .collect();
        if scope.update(meta, &statements).await? >= taken.len() as u64 {
            return Ok(false);
        }
    }
    lock_all(scope, edge, meta, taken.keys()).await?;
    let there = crate::rules::copy::deliver::sources(scope, edge, taken.keys()).await?;
    let missing: HashSet<&Key> = taken.keys().filter(|key| !there.contains_key(*key)).collect();
    let missing = new_among(scope, edge, missing, &holders).await?;
    if !missing.is_empty() {
        return Err(crate::model::graph::sync::missing(edge, meta, missing));
    }
    let pulled = pull(scope, edge, &holders, To::Older, pending).await?;
    // Those with the same values have only a newer version.
    Ok(pulled.documents > 0)
}

/// Modifies a source without changing its content: of two transactions that do so, one is retried after the other has ended.
fn lock(filter: Document) -> Statement {
    Statement {
        filter,
        update: doc! { "$inc": { REVISION: 1_i64 } },
        array_filters: Vec::new(),
    }
}

async fn lock_all<'k>(
    scope: &Scope<'_>,
    edge: &Edge,
    meta: &'static DocumentMeta,
    keys: impl IntoIterator<Item = &'k Key>,
) -> Result<()> {
    for keys in key::chunks(keys) {
        let all = lock(doc! { edge.by(): { "$in": keys } });
        scope.update(meta, std::slice::from_ref(&all)).await?;
    }
    Ok(())
}

/// Waits for open transactions that have changed the sources of these documents, which were written without a transaction: such
/// a transaction updates the holders that its snapshot shows, and its changes can't be read yet. A transaction that changes a
/// source later is retried.
async fn wait_for_sources<'d>(
    scope: &Scope<'_>,
    edge: &Edge,
    documents: impl Iterator<Item = &'d RawDocumentBuf>,
) -> Result<()> {
    let Some(meta) = edge.targets.first().copied() else {
        return Ok(());
    };
    let keys: HashSet<Key> = documents
        .flat_map(|document| held(edge, document))
        .map(|(key, _)| key)
        .collect();
    lock_all(scope, edge, meta, &keys).await
}

/// Of these keys, those that at least one of the holders got in this transaction. The copies of a deleted source can't be
/// locked, and don't change any more.
async fn new_among(
    scope: &Scope<'_>,
    edge: &Edge,
    keys: HashSet<&Key>,
    holders: &[RawDocumentBuf],
) -> Result<Vec<Bson>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    // Read outside of the transaction, a document has its previous state, and no other client can change it meanwhile.
    let outside = Scope {
        session: None,
        ..*scope
    };
    let ids: Vec<Key> = holders.iter().map(id).collect();
    let before: HashMap<Key, HashSet<Key>> = by_ids(&outside, edge.holder, ids.iter(), [edge.root()])
        .await?
        .into_iter()
        .map(|document| (id(&document), edge.keys(0, &document).into_iter().collect()))
        .collect();
    let mut new: HashSet<Key> = HashSet::new();
    for holder in holders {
        let had = before.get(&id(holder));
        let named = edge.keys(0, holder).into_iter().filter(|key| keys.contains(key));
        new.extend(named.filter(|key| !had.is_some_and(|had| had.contains(key))));
    }
    Ok(new.iter().map(Key::to_bson).collect())
}

/// Applies the pending work of one operation, and the further work that this causes. Returns the number of changed documents.
///
/// # Errors
/// The first failure, when everything else is applied.
pub(crate) fn drain<'s>(
    scope: Scope<'s>,
    meta: &'static DocumentMeta,
    token: Token,
) -> BoxFuture<'s, Result<u64>> {
    drain_any(scope, meta, token.into())
}

/// The same of all operations whose tokens match this condition.
///
/// # Errors
/// The first failure, when everything else is applied.
pub(crate) fn drain_any<'s>(
    scope: Scope<'s>,
    meta: &'static DocumentMeta,
    tokens: Bson,
) -> BoxFuture<'s, Result<u64>> {
    async move {
        let fields = needed(scope.odm.graph(), meta);
        let pending = doc! { OPERATION: tokens };
        let mut applied = Written::default();
        let mut before: HashSet<Key> = HashSet::new();
        loop {
            let some = scope.some(meta, pending.clone(), fields.clone(), BATCH).await?;
            let these: HashSet<Key> = some.documents.iter().map(id).collect();
            let are_left = !these.is_disjoint(&before);
            apply_each(&scope, meta, some.documents, &mut applied).await?;
            if !some.more {
                return applied.all();
            }
            if are_left || applied.refused.is_some() {
                break;
            }
            before = these;
        }
        // Work that stays pending would be found again and again. A pass in the order of the ids reaches the others.
        let mut last: Option<Bson> = None;
        loop {
            let after = last.as_ref().map(|last| behind(meta, last)).unwrap_or_default();
            let filter = batch::all([pending.clone(), after]);
            let some = scope.batch(meta, filter, Some(fields.clone()), BATCH).await?;
            last = some.documents.last().map(batch::document_id);
            apply_each(&scope, meta, some.documents, &mut applied).await?;
            if !some.more {
                return applied.all();
            }
        }
    }
    .boxed()
}

/// Applies the pending work with these tokens, each in one collection, and goes on after a failure. Returns the number of
/// changed documents.
///
/// # Errors
/// The first failure, when everything else is applied; or at once an error that would occur with every document.
pub(crate) async fn drain_all(scope: &Scope<'_>, tokens: Vec<(&'static DocumentMeta, Token)>) -> Result<u64> {
    let mut applied = Written::default();
    let mut known = HashSet::new();
    for (meta, token) in tokens {
        if known.insert((meta.collection, token)) {
            applied.add(drain(*scope, meta, token).await.map(Written::of))?;
        }
    }
    applied.all()
}

/// Leaves work that can't be applied to `recover`, where the caller has another error to return.
pub(crate) fn log_undrained(drained: Result<u64>) {
    if let Err(error) = drained {
        tracing::warn!(
            target: "odm",
            %error,
            "applying the pending work of a failed or undone write failed; `recover` will apply it"
        );
    }
}

/// The number of documents that the pending work of a committed transaction changed. The rest stays pending in the database: an
/// error would mean that the transaction was not committed.
pub(crate) fn drained_or_logged(drained: Result<u64>) -> u64 {
    drained.unwrap_or_else(|error| {
        tracing::warn!(
            target: "odm",
            %error,
            "applying the pending work of a committed transaction failed; `recover` will apply it"
        );
        0
    })
}

/// Applies the pending work of these documents, whichever operation left it, and clears it. If a part of it fails, the rest is
/// applied, and nothing is cleared.
pub(crate) fn apply_work<'s>(
    scope: &'s Scope<'_>,
    meta: &'static DocumentMeta,
    mut documents: Vec<RawDocumentBuf>,
) -> BoxFuture<'s, Result<u64>> {
    async move {
        let mut applied = Written::default();
        for _ in 0..=PULLS {
            let tokens: HashMap<Key, Key> = documents.iter().filter_map(operation_of).collect();
            let (once, overtaken) = apply_once(scope, meta, documents).await?;
            applied.add(Ok(once))?;
            if overtaken.is_empty() || applied.refused.is_some() {
                break;
            }
            // A write that changed copied fields has taken over the pending work. Another write has not: then the rest is
            // applied here, with the current values of the document.
            let ids: Vec<Bson> = overtaken.iter().map(Key::to_bson).collect();
            let which = batch::all([doc! { "_id": { "$in": ids } }, has_pending_work()]);
            documents = scope.every(meta, which, needed(scope.odm.graph(), meta)).await?;
            documents.retain(|document| {
                operation_of(document).is_some_and(|(id, token)| tokens.get(&id) == Some(&token))
            });
            if documents.is_empty() {
                break;
            }
        }
        applied.all()
    }
    .boxed()
}

/// The id of a document and the token of its pending work.
fn operation_of(document: &RawDocumentBuf) -> Option<(Key, Key)> {
    Some((id(document), Key::of(at(document, OPERATION)?)))
}

/// One attempt of it. Also returns the documents that other writers changed meanwhile, so that some of their holders may lack
/// the changes.
async fn apply_once(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    documents: Vec<RawDocumentBuf>,
) -> Result<(Written, HashSet<Key>)> {
    let graph = scope.odm.graph();
    let scope = &scope.unvalidated();
    let token = Token::new();
    let transactions = scope.session.is_none() && scope.odm.has_transactions().await?;
    let mut applied = Written::default();
    let mut collections: Vec<&'static DocumentMeta> = Vec::new();
    let mut documents = with_changed_fields(documents);
    for attempt in 0.. {
        let mut overtaken = false;
        for edge in graph.copying(meta) {
            // A document that only a passed-on change has reached has no new references.
            let written = documents
                .iter()
                .filter(|(_, changed)| *changed == ChangedFields::All);
            let written = written.map(|(document, _)| document);
            if transactions && is_kept(edge) {
                let waited = wait_for_sources(scope, edge, written.clone()).await;
                if applied.and(waited)?.is_none() {
                    continue;
                }
            }
            let pulled = pull(scope, edge, written, To::Older, token.into()).await;
            let Some(pulled) = applied.and(pulled)? else {
                continue;
            };
            let is_any = pulled.documents > 0 || pulled.refused.is_some();
            if is_any && !passed_on(scope, edge, &ChangedFields::All).is_empty() {
                collections.push(meta);
            }
            overtaken |= pulled.overtaken && !passed_on(scope, edge, &ChangedFields::All).is_empty();
            pulled.refused.into_iter().for_each(|error| applied.refuse(error));
        }
        if !overtaken {
            break;
        }
        if attempt == PULLS {
            tracing::debug!(
                target: "odm",
                collection = meta.collection,
                "other writers keep changing the same copies; their pending work is left to `recover`"
            );
            return Ok((applied, HashSet::new()));
        }
        // The concurrent writer of the copies has passed on the changes that it knew, and the copies may be newer still: so
        // their current values are passed on.
        let ids = batch::ids(all(&documents));
        let which = doc! { "_id": { "$in": ids }, OPERATION: { "$exists": true } };
        documents = with_changed_fields(scope.every(meta, which, needed(graph, meta)).await?);
    }
    let mut edges = graph.copied(meta).peekable();
    let mut raised_documents = None;
    if edges.peek().is_some()
        && let Some(raised) = applied.and(raise_counted(scope, meta, &documents).await)?
    {
        raised_documents = raised.documents;
        raised.refused.into_iter().for_each(|error| applied.refuse(error));
    }
    let mut overtaken: HashSet<Key> = HashSet::new();
    for edge in edges {
        let documents = raised_documents.as_deref().unwrap_or(&documents);
        let delivered = deliver(scope, meta, edge, documents, token.into()).await;
        let Some(delivered) = applied.and(delivered)? else {
            continue;
        };
        overtaken.extend(delivered.overtaken);
        let written = Written {
            documents: delivered.documents,
            refused: delivered.refused,
        };
        let mut all_changed = documents.iter().map(|(_, changed)| changed);
        if written.is_any() && all_changed.any(|changed| !passed_on(scope, edge, changed).is_empty()) {
            collections.push(edge.holder);
        }
        applied.add(Ok(written))?;
    }
    let parents: Vec<&RawDocumentBuf> = all(&documents)
        .filter(|document| has_entry(document, CHILDREN) && !is_gone(document))
        .collect();
    let mut adopted = Written::default();
    adopted.add(adopt(scope, meta, &parents, token.into()).await)?;
    let mut held = graph.derived_in(meta);
    if adopted.is_any() && held.any(|derived| graph.is_read(meta, derived.field.name)) {
        collections.push(meta);
    }
    applied.add(Ok(adopted))?;
    let has_changed = |derived: &Derived, child: &RawDocumentBuf| {
        ChangedFields::pending_in(child).is_derived(graph, derived)
    };
    for (edge, list, keys) in parents_of(graph, meta, all(&documents), has_changed) {
        applied.add(refresh(scope, edge, &list, keys, token.into()).await)?;
        for derived in list {
            if graph.is_read(derived.parent, derived.field.name) {
                collections.push(derived.parent);
            }
        }
    }
    if applied.refused.is_none() {
        let (gone, there): (Vec<_>, Vec<_>) = all(&documents).partition(|document| is_gone(document));
        applied.and(note_parents(scope, meta, gone.iter().map(|document| (*document, None))).await)?;
        for same in grouped(gone.into_iter()) {
            applied.and(scope.delete(meta, same.gone()).await)?;
        }
        // The work of other programs is pending still.
        let is_for_others = graph.is_for_others(meta);
        let done = there
            .into_iter()
            .filter(|document| !is_for_others && !overtaken.contains(&id(document)));
        applied.and(clear(scope, meta, done).await)?;
    }
    collections.dedup_by_key(|meta| meta.collection);
    let further = collections.into_iter().map(|meta| (meta, token)).collect();
    applied.add(drain_all(scope, further).await.map(Written::of))?;
    Ok((applied, overtaken))
}

fn all(documents: &[Changed]) -> impl Iterator<Item = &RawDocumentBuf> + Clone {
    documents.iter().map(|(document, _)| document)
}

/// Documents with the fields that their pending work names.
fn with_changed_fields(documents: Vec<RawDocumentBuf>) -> Vec<Changed> {
    let with_fields = |document: RawDocumentBuf| {
        let fields = ChangedFields::pending_in(&document);
        (document, fields)
    };
    documents.into_iter().map(with_fields).collect()
}

/// Deletes documents from which other documents derive something, outside of a transaction: they are marked first, then
/// everything is derived without them, and then they are deleted. Returns their number.
pub(crate) async fn delete_after_draining(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    filter: Document,
) -> Result<u64> {
    let token = Token::new();
    let marked = mark_gone(scope, meta, filter, token).await?;
    if marked > 0 {
        drain(*scope, meta, token).await?;
    }
    Ok(marked)
}

/// Marks documents that are deleted as soon as their pending work with this token is applied. Returns their number.
pub(crate) async fn mark_gone(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    filter: Document,
    token: Token,
) -> Result<u64> {
    let mut update = doc! { "$set": { DELETE: true } };
    record(&mut update, token);
    let mark = Statement {
        filter,
        update,
        array_filters: Vec::new(),
    };
    scope
        .unvalidated()
        .update(meta, std::slice::from_ref(&mark))
        .await
}

/// The condition of documents with pending work.
pub(crate) fn has_pending_work() -> Document {
    doc! { OPERATION: { "$exists": true } }
}

/// Applies the pending work of these documents: together, and one by one where that fails. Counts the changed documents, and
/// keeps the first error.
///
/// # Errors
/// An error that would occur with every document.
pub(crate) async fn apply_each(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    documents: Vec<RawDocumentBuf>,
    applied: &mut Written,
) -> Result<()> {
    if documents.is_empty() {
        return Ok(());
    }
    let ids = batch::ids(&documents);
    match (
        but_for_the_deployment(apply_work(scope, meta, documents).await)?,
        ids.as_slice(),
    ) {
        (Ok(copies), _) => applied.documents += copies,
        (Err(error), [one]) => {
            tell(meta, one, &error);
            applied.refuse(error);
        }
        (Err(_), _) => {
            // The work of some may be applied by now.
            let pending = batch::all([doc! { "_id": { "$in": &ids } }, has_pending_work()]);
            for document in scope
                .every(meta, pending, needed(scope.odm.graph(), meta))
                .await?
            {
                let id = batch::document_id(&document);
                match but_for_the_deployment(apply_work(scope, meta, vec![document]).await)? {
                    Ok(copies) => applied.documents += copies,
                    Err(error) => {
                        tell(meta, &id, &error);
                        applied.refuse(error);
                    }
                }
            }
        }
    }
    Ok(())
}

pub(crate) fn tell(meta: &DocumentMeta, id: &Bson, error: &Error) {
    tracing::warn!(
        target: "odm",
        collection = meta.collection,
        %id,
        %error,
        "applying the pending work of a document failed; it stays pending"
    );
}

/// Derives in these parents what is derived by this reference, where they are there.
pub(crate) async fn derive_anew(scope: &Scope<'_>, edge: &Edge, keys: &HashSet<Key>) -> Result<Written> {
    let graph = scope.odm.graph();
    let scope = &scope.unvalidated();
    let mut copies = Written::default();
    for meta in &edge.targets {
        let list: Vec<&Derived> = graph
            .derived_in(meta)
            .filter(|derived| derived.edge == edge.at)
            .collect();
        if list.is_empty() {
            continue;
        }
        let token = Token::new();
        let mut written = Written::default();
        written.add(refresh(scope, edge, &list, keys.clone(), token.into()).await)?;
        if written.is_any() {
            written.add(drain(*scope, meta, token).await.map(Written::of))?;
        }
        copies.add(Ok(written))?;
    }
    Ok(copies)
}
