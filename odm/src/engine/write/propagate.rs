//! The effects of a write on other documents. The documents that it changes are read before it and after it, once; in its transaction
//! the rules compare them and update what depends on them, layer by layer, as they pass on what they change.

use crate::Result;
use crate::graph::edge::Edge;
use crate::graph::{Graph, is};
use crate::model::document::DocumentMeta;
use crate::model::key::{self, Key};
use crate::model::meta::names::read_too;
use crate::plan::images::{BeforeImage, BeforeImages, BeforeOf, Image, Was};
use crate::plan::links::OtherSideWrite;
use crate::plan::operation::Write;
use crate::plan::operators::applied::applied;
use crate::plan::outcome::Done;
use crate::plan::targets::{self, roots};
use crate::plan::touches::{ChangedDocument, WrittenFields};
use crate::rules::rule::{DeferredWork, Effects, PassedOn};
use crate::rules::{self, link, needed};
use crate::store::batch::{by_ids, id as id_of};
use crate::store::cx::Cx;
use futures::future::{try_join, try_join_all};
use mongodb::bson::{Document, RawDocument, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Maximum number of documents of one operation whose previous references are kept in memory, so that they can be restored.
const PUT_BACK: i64 = targets::MANY as i64;

/// The fields that these writes may change in documents of a collection.
fn changed_fields(meta: &DocumentMeta, writes: &[Write]) -> WrittenFields {
    let own = writes.iter().filter(|write| is(write.meta, meta));
    own.map(Write::changed_fields)
        .reduce(|all, one| all.and(Some(&one)))
        .unwrap_or(WrittenFields::All)
}

/// The documents of one collection that the writes will change, and what is to be read of them.
pub(super) struct ReadSet<'w> {
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

impl<'w> ReadSet<'w> {
    /// The fields to read of the one document that a write changes, which it names by its id. `None` where there are none.
    pub(super) fn of_one(graph: &Graph, write: &'w Write, linked: &[&Edge], derived: bool) -> Option<Self> {
        ReadSet::for_writes(graph, write.meta, vec![write], linked, derived)
    }

    /// Whether the documents are read before the writes, and not only after them.
    pub(super) fn is_read_before(&self) -> bool {
        self.compares || !self.references.is_empty()
    }

    /// The names of all fields that are read of documents before and after.
    pub(super) fn all_names(&self, graph: &Graph) -> Vec<String> {
        self.names(graph, self.derived)
    }

    /// The image of the one document, as it was if that was read.
    pub(super) fn image(&self, key: Key, before: Option<RawDocumentBuf>) -> BeforeImages {
        let image = BeforeImage {
            key,
            is_compared: self.compares && before.is_some(),
            document: before.map(Arc::new),
        };
        BeforeImages {
            collections: vec![self.of(vec![image])],
        }
    }

    fn of(&self, documents: Vec<BeforeImage>) -> BeforeOf {
        BeforeOf {
            meta: self.meta,
            documents,
            has_references: !self.references.is_empty(),
            derives: self.derived,
        }
    }

    /// `None` where nothing is to be read.
    fn for_writes(
        graph: &Graph,
        meta: &'static DocumentMeta,
        writes: Vec<&'w Write>,
        linked: &[&Edge],
        derived: bool,
    ) -> Option<ReadSet<'w>> {
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
        (derived || !references.is_empty()).then(|| ReadSet {
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
/// derived values depend on. `None` where they are more than the limit.
pub(in crate::engine) async fn read_before(
    cx: &Cx<'_>,
    writes: &[Write],
    linked: &[&Edge],
    derived: bool,
    limit: Option<usize>,
) -> Result<Option<BeforeImages>> {
    let graph = cx.odm.graph();
    let mut images = BeforeImages::default();
    let mut collections: Vec<(&'static DocumentMeta, Vec<&Write>)> = Vec::new();
    for write in writes {
        match collections.iter_mut().find(|(meta, _)| is(meta, write.meta)) {
            Some((_, of)) => of.push(write),
            None => collections.push((write.meta, vec![write])),
        }
    }
    let mut more = false;
    for (meta, writes) in collections {
        let Some(read_set) = ReadSet::for_writes(graph, meta, writes, linked, derived) else {
            continue;
        };
        let mut ids: Vec<Key> = Vec::new();
        let mut queries = Vec::new();
        for write in &read_set.writes {
            match (write.changed_id(), write.condition()) {
                (Some(id), _) => ids.push(Key::of_bson(id)),
                (None, Some(condition)) => queries.push(read_set.by_condition(cx, condition, limit)),
                (None, None) => {}
            }
        }
        let names = read_set.names(graph, read_set.compares);
        let asked: &[Key] = if names.is_empty() { &[] } else { &ids };
        let one = by_ids(cx, meta, asked.iter(), names.iter().map(String::as_str));
        let (one, many) = try_join(one, try_join_all(queries)).await?;
        more |= many.iter().any(|(_, more)| *more);
        let by_id = one.into_iter().map(|document| (document, read_set.compares));
        let by_condition = many.into_iter().flat_map(|(documents, _)| documents);
        let by_condition = by_condition.map(|document| (document, read_set.derived));
        let mut of = read_set.of(Vec::new());
        let mut places: HashMap<Key, usize> = HashMap::new();
        for (document, is_compared) in by_id.chain(by_condition) {
            let key = id_of(&document);
            match places.get(&key).and_then(|place| of.documents.get_mut(*place)) {
                Some(known) if known.is_compared || !is_compared => {}
                Some(known) => {
                    (known.document, known.is_compared) = (Some(Arc::new(document)), true);
                }
                None => {
                    places.insert(key.clone(), of.documents.len());
                    of.documents.push(BeforeImage {
                        key,
                        document: Some(Arc::new(document)),
                        is_compared,
                    });
                }
            }
        }
        if read_set.derived && !read_set.compares {
            let unread = ids.into_iter().filter(|key| !places.contains_key(key));
            let unread: HashSet<Key> = unread.collect();
            of.documents.extend(unread.into_iter().map(|key| BeforeImage {
                key,
                document: None,
                is_compared: false,
            }));
        }
        images.collections.push(of);
    }
    Ok((!more).then_some(images))
}

/// The writes of an operation, and the documents that they change, which are compared before and after.
pub(in crate::engine) struct WriteSet<'a> {
    pub(in crate::engine) before: &'a BeforeImages,
    pub(in crate::engine) writes: &'a [Write],
    pub(in crate::engine) done: &'a Done,
}

impl WriteSet<'_> {
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

    /// The documents that will be read after the writes: of the collections on which derived values depend, those that the writes change
    /// or insert.
    fn read_after(&self) -> HashSet<(&'static str, Key)> {
        let mut all: HashSet<(&'static str, Key)> = self.inserted();
        all.retain(|(collection, _)| self.before.deriving().any(|of| of.meta.collection == *collection));
        for of in self.before.deriving() {
            let keys = of.documents.iter().map(|image| image.key.clone());
            all.extend(keys.map(|key| (of.meta.collection, key)));
        }
        all
    }

    /// The same documents before and after the writes, with those that were inserted.
    async fn images(self, cx: &Cx<'_>) -> Result<Vec<(&'static DocumentMeta, Vec<Image>)>> {
        let WriteSet { before, writes, done } = self;
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
        for own in before.deriving() {
            let meta = own.meta;
            let mut was: HashMap<Key, Was> = own
                .documents
                .iter()
                .map(|image| (image.key.clone(), image.was()))
                .collect();
            // Another of the writes may have changed what was inserted.
            inserted.retain(|(of, document)| {
                let is_own = of.collection == meta.collection;
                if is_own {
                    was.entry(id_of(*document))
                        .and_modify(inserted_unless_there)
                        .or_insert(Was::Absent);
                }
                !is_own
            });
            if let Some(id) = done.outcome.upserted.as_ref().map(Key::of_bson) {
                was.entry(id)
                    .and_modify(inserted_unless_there)
                    .or_insert(Was::Absent);
            }
            let read = |document: RawDocumentBuf| (id_of(&document), document);
            let known = done.after.iter().cloned().map(read);
            let mut after: HashMap<Key, RawDocumentBuf> = known.collect();
            let have_matched = done.outcome.counts.matched == was.len() as u64;
            if after.is_empty() && have_matched {
                after = said_by_update(writes, &was).unwrap_or_default();
            }
            if !was.keys().all(|key| after.contains_key(key)) {
                after = read_needed(cx, meta, was.keys()).await?;
            }
            let written = changed_fields(meta, writes);
            let images = was
                .into_iter()
                .map(|(key, was)| Image {
                    by_one_write: writes.len() == 1 && have_matched && !matches!(was, Was::Absent),
                    was,
                    is: after.remove(&key),
                    written: written.clone(),
                })
                .filter(|image| image.is.is_some() || !image.is_inserted())
                .collect();
            all.push((meta, images));
        }
        for (meta, document) in inserted {
            let image = Image {
                was: Was::Absent,
                is: Some(RawDocument::to_owned(document)),
                written: WrittenFields::All,
                by_one_write: false,
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

/// The documents after an update of all that match a condition, where the update says it for all of them.
fn said_by_update(writes: &[Write], was: &HashMap<Key, Was>) -> Option<HashMap<Key, RawDocumentBuf>> {
    let [write] = writes else { return None };
    let update = write.plain_update_of_many()?;
    let after = was.iter().map(|(key, was)| {
        let Was::There(before) = was else { return None };
        let before = Document::try_from(&**before).ok()?;
        let after = applied(&before, update)?;
        Some((key.clone(), RawDocumentBuf::try_from(&after).ok()?))
    });
    after.collect()
}

/// An inserted document was not there, unless it was read before.
fn inserted_unless_there(was: &mut Was) {
    if matches!(was, Was::Unread) {
        *was = Was::Absent;
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
    pub(in crate::engine) async fn pass_on_writes(
        &mut self,
        cx: &Cx<'_>,
        own: Option<WriteSet<'_>>,
        links: &[OtherSideWrite],
    ) -> Result<()> {
        let mut beside = Vec::new();
        if !links.is_empty() {
            beside = before_links(cx, own.as_ref(), links).await?;
            link::apply(cx, cx.odm.graph(), links, self).await?;
        }
        let mut all = match own {
            Some(own) => own.images(cx).await?,
            None => Vec::new(),
        };
        for (meta, before) in beside {
            let mut after = read_needed(cx, meta, before.keys()).await?;
            let images = before.into_iter().map(|(key, before)| Image {
                is: after.remove(&key),
                was: Was::There(Arc::new(before)),
                written: WrittenFields::All,
                by_one_write: false,
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
            .map(|document| Image::of_deletion((*document).clone()))
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
        for rule in rules::all() {
            rule.confirm(cx, meta, images, self).await?;
        }
        Ok(())
    }

    /// Applies the changes that were passed on, and those that these pass on in turn. Returns the number of changed documents,
    /// and the work that is left after the commit.
    pub(crate) async fn apply(mut self, cx: &Cx<'_>) -> Result<(u64, DeferredWork)> {
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
            let changed = WrittenFields::Of(changed);
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
        changed: &WrittenFields,
    ) -> Result<()> {
        let graph = cx.odm.graph();
        let fields = needed(graph, meta);
        // `consistency = atomic` promises updates in the transaction, however many documents there are, and so does a claim.
        let is_claimed = || changed.names().any(|name| graph.is_claimed_by(meta, name));
        let documents = if graph.needs_transactions(meta).is_some() || is_claimed() {
            cx.every(meta, which, fields).await?
        } else {
            let most = cx.odm.fan_out_options().in_transaction;
            let one_more = most.saturating_add(1);
            let some = cx.some(meta, which.clone(), fields, one_more).await?;
            if some.more {
                let names: Vec<&str> = changed.names().collect();
                return self.leave_pending(cx, meta, which, &names).await;
            }
            some.documents
        };
        if documents.is_empty() {
            return Ok(());
        }
        let with_changes = |document: RawDocumentBuf| {
            let changed = self.with_earlier(meta, &document, changed.clone());
            (document, changed)
        };
        let documents: Vec<ChangedDocument> = documents.into_iter().map(with_changes).collect();
        for rule in rules::all() {
            rule.after_effects(cx, meta, &documents, self).await?;
        }
        Ok(())
    }
}

/// The before-images of the documents that links will change, except those of the writes themselves.
async fn before_links(
    cx: &Cx<'_>,
    own: Option<&WriteSet<'_>>,
    links: &[OtherSideWrite],
) -> Result<Vec<(&'static DocumentMeta, HashMap<Key, RawDocumentBuf>)>> {
    let graph = cx.odm.graph();
    let own = own.map(WriteSet::read_after).unwrap_or_default();
    let mut others: Vec<(&'static DocumentMeta, Vec<Key>)> = Vec::new();
    for effect in links {
        let edge = &graph[effect.two_way.edge];
        let meta = edge.holder;
        let key = (meta.collection, effect.holder.key.clone());
        if !graph.is_read(meta, &edge.path) || own.contains(&key) {
            continue;
        }
        match others.iter_mut().find(|(other, _)| is(other, meta)) {
            Some((_, keys)) => keys.push(key.1),
            None => others.push((meta, vec![key.1])),
        }
    }
    let mut found = Vec::new();
    for (meta, keys) in others {
        let keys: HashSet<Key> = keys.into_iter().collect();
        found.push((meta, read_needed(cx, meta, keys.iter()).await?));
    }
    Ok(found)
}
