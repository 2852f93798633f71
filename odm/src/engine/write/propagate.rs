//! The effects of a write on other documents. The documents that it changes are read before it and after it, once; in its transaction
//! the rules compare them and update what depends on them, layer by layer, as they pass on what they change.

use crate::Result;
use crate::graph::edge::Edge;
use crate::graph::{Graph, is};
use crate::model::document::DocumentMeta;
use crate::model::key::{self, Key};
use crate::model::meta::names::read_too;
use crate::plan::images::Images;
use crate::plan::links::Effect;
use crate::plan::operation::Write;
use crate::plan::outcome::Done;
use crate::plan::targets::{self, roots};
use crate::plan::touches::{Changed, ChangedFields, Image};
use crate::rules::rule::{DeferredWork, Effects, PassedOn};
use crate::rules::{self, link, needed};
use crate::store::batch::{by_ids, id as id_of};
use crate::store::cx::Cx;
use futures::future::{try_join, try_join_all};
use mongodb::bson::{Document, RawDocument, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

/// Maximum number of documents of one operation whose previous references are kept in memory, so that they can be restored.
const PUT_BACK: i64 = targets::MANY as i64;

/// The documents of one collection that the writes change.
#[derive(Debug)]
struct OfCollection {
    meta: &'static DocumentMeta,
    /// As they were; `None` where that was not read, since nothing depends on it.
    before: HashMap<Key, Option<RawDocumentBuf>>,
}

/// The documents that the writes of an operation change, as they were before.
#[derive(Debug, Default)]
pub(in crate::engine) struct Before {
    own: Vec<OfCollection>,
}

/// The fields that these writes may change in documents of a collection.
fn written(meta: &DocumentMeta, writes: &[Write]) -> ChangedFields {
    let own = writes.iter().filter(|write| is(write.meta, meta));
    own.map(Write::changed_fields)
        .reduce(|all, one| all.and(Some(&one)))
        .unwrap_or(ChangedFields::All)
}

/// The documents of one collection that the writes will change, and what is to be read of them.
struct Wanted<'w> {
    meta: &'static DocumentMeta,
    writes: Vec<&'w Write>,
    /// The fields that hold references which the writes add or link, and the copies beside them.
    references: Vec<String>,
    /// Whether two-way references are among them.
    links: bool,
    /// Whether derived values depend on the writes.
    derived: bool,
    /// Whether these depend on how the documents were.
    compares: bool,
}

impl<'w> Wanted<'w> {
    /// `None` where nothing is to be read.
    fn of(
        graph: &Graph,
        meta: &'static DocumentMeta,
        writes: Vec<&'w Write>,
        linked: &[&Edge],
        derived: bool,
    ) -> Option<Wanted<'w>> {
        let linked = linked.iter().copied().filter(|edge| is(edge.holder, meta));
        let added = graph.outgoing(meta).filter(|edge| {
            let adds = |write: &&Write| !write.is_insert() && write.adds(edge);
            !edge.is_two_way() && edge.reference.check && writes.iter().any(adds)
        });
        let edges = linked.clone().chain(added);
        // The copies beside a nested reference are in the same field of the document.
        let own = edges.clone().filter(|edge| edge.segments.len() == 1);
        let beside: Vec<String> = own.flat_map(Edge::fields_beside).collect();
        let roots = roots(edges).into_iter().map(str::to_owned);
        let references: Vec<String> = roots.chain(beside).collect();
        let is_affected = |write: &&Write| !write.is_insert() && write.affected(graph).is_any();
        let derived = derived && writes.iter().any(is_affected);
        let compares = derived
            && rules::all()
                .iter()
                .any(|rule| rule.compares(graph, meta, &writes));
        (derived || !references.is_empty()).then(|| Wanted {
            meta,
            links: linked.clone().next().is_some(),
            writes,
            references,
            derived,
            compares,
        })
    }

    /// The names of the fields to read: of the references, and with them those of derived values.
    fn names(&self, graph: &Graph, derived: bool) -> Vec<String> {
        let derived = derived.then(|| needed(graph, self.meta));
        let derived = derived.iter().flat_map(Document::keys).cloned();
        derived.chain(self.references.iter().cloned()).collect()
    }

    /// The documents that match a condition, and whether there are more than `most`.
    async fn by_condition(
        &self,
        cx: &Cx<'_>,
        filter: Document,
        most: Option<usize>,
    ) -> Result<(Vec<RawDocumentBuf>, bool)> {
        let names = self.names(cx.odm.graph(), self.derived);
        let names = names.iter().map(String::as_str);
        let one_more = most.map(|most| most + 1);
        match one_more.filter(|_| self.derived) {
            Some(one_more) => {
                let mut fields = Document::new();
                names.for_each(|name| read_too(&mut fields, name));
                let some = cx.some(self.meta, filter, fields, one_more).await?;
                Ok((some.documents, some.more))
            }
            None => {
                let limit = match (self.derived, self.links) {
                    (true, _) => None,
                    (false, true) => one_more.and_then(|limit| i64::try_from(limit).ok()),
                    (false, false) => Some(PUT_BACK),
                };
                let found = cx.find(self.meta, filter, names, limit).await?;
                Ok((found, false))
            }
        }
    }
}

/// Reads the documents that the writes will change, once: the references that the writes add or link, and, for `derived`, what
/// derived values depend on. `None` where they are more than `most`.
pub(in crate::engine) async fn read_before(
    cx: &Cx<'_>,
    writes: &[Write],
    linked: &[&Edge],
    derived: bool,
    most: Option<usize>,
) -> Result<Option<(Images, Before)>> {
    let graph = cx.odm.graph();
    let (mut images, mut before) = (Images::default(), Before::default());
    let mut collections: Vec<(&'static DocumentMeta, Vec<&Write>)> = Vec::new();
    for write in writes {
        match collections.iter_mut().find(|(meta, _)| is(meta, write.meta)) {
            Some((_, of)) => of.push(write),
            None => collections.push((write.meta, vec![write])),
        }
    }
    let mut more = false;
    for (meta, writes) in collections {
        let Some(wanted) = Wanted::of(graph, meta, writes, linked, derived) else {
            continue;
        };
        let mut ids: Vec<Key> = Vec::new();
        let mut queries = Vec::new();
        for write in &wanted.writes {
            match (write.changed_id(), write.condition()) {
                (Some(id), _) => ids.push(Key::of_bson(id)),
                (None, Some(condition)) => queries.push(wanted.by_condition(cx, condition, most)),
                (None, None) => {}
            }
        }
        let names = wanted.names(graph, wanted.compares);
        let asked: &[Key] = if names.is_empty() { &[] } else { &ids };
        let one = by_ids(cx, meta, asked.iter(), names.iter().map(String::as_str));
        let (one, many) = try_join(one, try_join_all(queries)).await?;
        more |= many.iter().any(|(_, more)| *more);
        let many: Vec<RawDocumentBuf> = many.into_iter().flat_map(|(documents, _)| documents).collect();
        if wanted.derived {
            let mut own: HashMap<Key, Option<RawDocumentBuf>> = HashMap::new();
            let read = if wanted.compares {
                one.iter().chain(&many)
            } else {
                own.extend(ids.iter().map(|key| (key.clone(), None)));
                [].iter().chain(&many)
            };
            own.extend(read.map(|document| (id_of(document), Some(document.clone()))));
            before.own.push(OfCollection { meta, before: own });
        }
        if !wanted.references.is_empty() {
            let mut seen = HashSet::new();
            let documents = one.into_iter().chain(many);
            let documents = documents.filter(|document| seen.insert(id_of(document)));
            images.changed.push((meta, documents.collect()));
        }
    }
    Ok((!more).then_some((images, before)))
}

/// The writes of an operation, and the documents that they change, which are compared before and after.
pub(in crate::engine) struct OwnWrites<'a> {
    pub(in crate::engine) before: Before,
    pub(in crate::engine) writes: &'a [Write],
    pub(in crate::engine) done: &'a Done,
}

impl OwnWrites<'_> {
    /// The documents that the writes insert.
    fn inserted(&self) -> HashSet<(&'static str, Key)> {
        let inserts = self.writes.iter().filter_map(|write| {
            let document = write.inserted()?;
            Some((write.meta.collection, id_of(document)))
        });
        let upserted = self.done.outcome.upserted.as_ref().zip(self.writes.first());
        inserts
            .chain(upserted.map(|(id, write)| (write.meta.collection, Key::of_bson(id))))
            .collect()
    }

    /// Whether a document will be read after the writes: one of those of a collection, or that were inserted into it.
    fn has(&self, meta: &DocumentMeta, key: &Key, inserted: &HashSet<(&'static str, Key)>) -> bool {
        let of = &self.before.own;
        let own = of.iter().find(|own| own.meta.collection == meta.collection);
        own.is_some_and(|own| {
            own.before.contains_key(key) || inserted.contains(&(meta.collection, key.clone()))
        })
    }

    /// The same documents before and after the writes, with those that were inserted.
    async fn after(self, cx: &Cx<'_>) -> Result<Vec<(&'static DocumentMeta, Vec<Image>)>> {
        let OwnWrites { before, writes, done } = self;
        let graph = cx.odm.graph();
        let mut all: Vec<(&'static DocumentMeta, Vec<Image>)> = Vec::new();
        let mut inserted: Vec<(&'static DocumentMeta, &RawDocument)> = Vec::new();
        for write in writes {
            if let Some(document) = write.inserted()
                && done.outcome.is_made(write.at)
                && write.affected(graph).is_any()
            {
                inserted.push((write.meta, document));
            }
        }
        for own in before.own {
            let meta = own.meta;
            let mut before = own.before;
            // Another of the writes may have changed what was inserted.
            let mut new: HashSet<Key> = HashSet::new();
            inserted.retain(|(of, document)| {
                let is_own = of.collection == meta.collection;
                if is_own {
                    new.insert(id_of(*document));
                }
                !is_own
            });
            for id in &new {
                before.entry(id.clone()).or_insert(None);
            }
            let upserted = done.outcome.upserted.as_ref().map(Key::of_bson);
            if let Some(id) = &upserted {
                before.entry(id.clone()).or_insert(None);
            }
            let fields = needed(graph, meta);
            let names: Vec<&str> = fields.keys().map(String::as_str).collect();
            let read = |document: RawDocumentBuf| (id_of(&document), document);
            let known = done.after.iter().cloned().map(read);
            let mut after: HashMap<Key, RawDocumentBuf> = known.collect();
            if !before.keys().all(|key| after.contains_key(key)) {
                let found = by_ids(cx, meta, before.keys(), names).await?;
                after = found.into_iter().map(read).collect();
            }
            let written = written(meta, writes);
            let images = before
                .into_iter()
                .map(|(key, before)| Image {
                    written: written.clone(),
                    inserted: before.is_none() && (upserted.as_ref() == Some(&key) || new.contains(&key)),
                    before,
                    after: after.remove(&key),
                })
                .filter(|image| image.before.is_some() || image.after.is_some() || !image.inserted)
                .collect();
            all.push((meta, images));
        }
        for (meta, document) in inserted {
            let image = Image {
                before: None,
                after: Some(RawDocument::to_owned(document)),
                inserted: true,
                written: ChangedFields::All,
            };
            match all
                .iter_mut()
                .find(|(known, _)| known.collection == meta.collection)
            {
                Some((_, images)) => images.push(image),
                None => all.push((meta, vec![image])),
            }
        }
        Ok(all)
    }
}

async fn read_needed<'k>(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    keys: impl Iterator<Item = &'k Key>,
) -> Result<HashMap<Key, RawDocumentBuf>> {
    let fields = needed(cx.odm.graph(), meta);
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    let found = by_ids(cx, meta, keys, names).await?;
    Ok(found
        .into_iter()
        .map(|document| (id_of(&document), document))
        .collect())
}

impl Effects {
    /// Applies the effects of writes: writes the other side of two-way references, and compares the documents of both before and after.
    /// Documents of one collection are handled together: a field that is computed again for one of them is computed from all, so
    /// nothing may be added to it for another one.
    pub(in crate::engine) async fn written(
        &mut self,
        cx: &Cx<'_>,
        own: Option<OwnWrites<'_>>,
        links: &[Effect],
    ) -> Result<()> {
        let mut beside = Vec::new();
        if !links.is_empty() {
            beside = before_links(cx, own.as_ref(), links).await?;
            link::apply(cx, cx.odm.graph(), links, self).await?;
        }
        let mut all = match own {
            Some(own) => own.after(cx).await?,
            None => Vec::new(),
        };
        for (meta, before) in beside {
            let mut after = read_needed(cx, meta, before.keys()).await?;
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
            self.propagate(cx, meta, images).await?;
        }
        Ok(())
    }

    /// Applies the effects of deletions.
    pub(crate) async fn deleted(
        &mut self,
        cx: &Cx<'_>,
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
        self.propagate(cx, meta, &images).await
    }

    /// Applies the effects of writes that changed documents of a collection as these images show.
    async fn propagate(&mut self, cx: &Cx<'_>, meta: &'static DocumentMeta, images: &[Image]) -> Result<()> {
        // The writes themselves have been validated.
        let cx = &cx.unvalidated();
        for rule in rules::all() {
            rule.after_write(cx, meta, images, self).await?;
        }
        Ok(())
    }

    /// Applies the changes that were passed on, and those that these pass on in turn. Returns the number of changed documents,
    /// and the work that is left after the commit.
    pub(crate) async fn settle(mut self, cx: &Cx<'_>) -> Result<(u64, DeferredWork)> {
        let cx = &cx.unvalidated();
        while let Some(PassedOn {
            meta,
            field,
            values,
            changed,
            ..
        }) = self.next()
        {
            let keys: Vec<Key> = values.iter().map(Key::of_bson).collect();
            let changed = ChangedFields::Of(changed);
            for values in key::chunks(&keys) {
                let which = doc! { &field: { "$in": values } };
                self.next_layer(cx, meta, which, &changed).await?;
            }
        }
        Ok((self.copies, self.deferred))
    }

    /// Updates the fields that are derived from these documents, which this transaction has changed.
    async fn next_layer(
        &mut self,
        cx: &Cx<'_>,
        meta: &'static DocumentMeta,
        which: Document,
        changed: &ChangedFields,
    ) -> Result<()> {
        let graph = cx.odm.graph();
        let fields = needed(graph, meta);
        // `sync = atomic` promises updates in the transaction, however many documents there are.
        let documents = match graph.needs_transactions(meta) {
            Some(_) => cx.every(meta, which, fields).await?,
            None => {
                let most = cx.odm.fan_out_options().in_transaction;
                let one_more = most.saturating_add(1);
                let some = cx.some(meta, which.clone(), fields, one_more).await?;
                if some.more {
                    let names: Vec<&str> = changed.names().collect();
                    return self.leave_pending(cx, meta, which, &names).await;
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
        for rule in rules::all() {
            rule.after_effects(cx, meta, &documents, self).await?;
        }
        Ok(())
    }
}

/// The before-images of the documents that links will change, except those of the writes themselves.
async fn before_links(
    cx: &Cx<'_>,
    own: Option<&OwnWrites<'_>>,
    links: &[Effect],
) -> Result<Vec<(&'static DocumentMeta, HashMap<Key, RawDocumentBuf>)>> {
    let graph = cx.odm.graph();
    let inserted = own.map(OwnWrites::inserted).unwrap_or_default();
    let mut beside: Vec<(&'static DocumentMeta, Vec<Key>)> = Vec::new();
    for effect in links {
        let edge = &graph[effect.two_way.edge];
        let meta = edge.holder;
        let key = &effect.holder.key;
        let is_own = |own: &OwnWrites<'_>| own.has(meta, key, &inserted);
        if !graph.is_read(meta, &edge.path) || own.is_some_and(is_own) {
            continue;
        }
        match beside.iter_mut().find(|(other, _)| is(other, meta)) {
            Some((_, keys)) => keys.push(effect.holder.key.clone()),
            None => beside.push((meta, vec![effect.holder.key.clone()])),
        }
    }
    let mut found = Vec::new();
    for (meta, keys) in beside {
        let keys: HashSet<Key> = keys.into_iter().collect();
        found.push((meta, read_needed(cx, meta, keys.iter()).await?));
    }
    Ok(found)
}
