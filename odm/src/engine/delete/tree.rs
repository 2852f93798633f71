//! A document with those below it, which are deleted and restored with it where deletions keep documents.
//!
//! The documents below refer to it with `cascade`, and so on, level by level. A deletion reads those that are not deleted, and gives all of
//! them its id ([`DELETION`]). A restoration reads those that have this id: what lies below its document, and nothing else that the
//! deletion has deleted. A document that the tree has is not read again, so references in a circle come to an end, and its target is
//! restored with it.

use crate::Result;
use crate::engine::delete::walk::BATCH;
use crate::graph::Graph;
use crate::graph::edge::Edge;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::meta::Managed;
use crate::model::meta::names::read_too;
use crate::model::own_fields::{DELETION, RESTORING, Token};
use crate::model::reference::OnDelete;
use crate::plan::targets::{self, AddedReferences, Column, MissingReferences};
use crate::rules::exists;
use crate::rules::on_delete::Rules;
use crate::store::batch::{document_id as id, ids, value};
use crate::store::cx::{Cx, Statement};
use crate::store::fields::{at, put};
use crate::store::filter::within;
use crate::store::scopes::Scopes;
use futures::future::BoxFuture;
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

pub(crate) type TreeMeta = &'static DocumentMeta;

/// Changes the documents of a type that match a condition by an update, and returns how many it has changed.
pub(crate) type ChangeFn<'c> =
    dyn Fn(TreeMeta, Document, Document) -> BoxFuture<'c, Result<u64>> + Send + Sync + 'c;

/// A document by its collection and id.
pub(super) type DocumentKey = (&'static str, Key);

pub(super) fn document_key(meta: TreeMeta, document: &RawDocumentBuf) -> DocumentKey {
    (meta.collection, Key::of_bson(&id(document)))
}

/// The condition of documents that are not deleted.
pub(in crate::engine) fn alive(meta: TreeMeta) -> Document {
    meta.soft_delete
        .map_or_else(Document::new, |name| doc! { name: null })
}

/// The condition of the documents that one deletion has deleted.
fn of_deletion(meta: TreeMeta, token: Token) -> Document {
    let mut condition = doc! { DELETION: token };
    if let Some(name) = meta.soft_delete {
        condition.insert(name, doc! { "$ne": null });
    }
    condition
}

/// The update that deletes documents.
pub(super) fn deletion(meta: TreeMeta, token: Token) -> Document {
    let mut set = doc! { DELETION: token };
    if let Some(name) = meta.soft_delete {
        set.insert(name, crate::now());
    }
    stamped(meta, doc! { "$set": set })
}

/// The update that restores documents. The one at the top may note the id until the others are restored.
fn restoration(meta: TreeMeta, notes: Option<Token>) -> Document {
    let mut set = Document::new();
    if let Some(name) = meta.soft_delete {
        set.insert(name, Bson::Null);
    }
    if let Some(token) = notes {
        set.insert(RESTORING, token);
    }
    stamped(meta, doc! { "$set": set, "$unset": { DELETION: "" } })
}

/// Raises the version of the documents, and sets the time of their last change: a deletion and a restoration are changes.
fn stamped(meta: TreeMeta, mut update: Document) -> Document {
    for field in meta.fields() {
        match field.managed {
            Managed::Version => put(&mut update, "$inc", field.name, 1_i64.into()),
            Managed::UpdatedAt => put(&mut update, "$set", field.name, crate::now().into()),
            _ => {}
        }
    }
    update
}

/// The id of a deletion in one of these fields.
pub(crate) fn token_at(document: &RawDocument, fields: &[&str]) -> Option<Token> {
    fields.iter().find_map(|field| match at(document, field) {
        Some(RawBsonRef::ObjectId(token)) => Some(token),
        _ => None,
    })
}

/// The time of its deletion, where a document is deleted and kept.
fn deleted_at(meta: TreeMeta, document: &RawDocument) -> Option<Bson> {
    let time = document.get(meta.soft_delete?).ok().flatten()?;
    Bson::try_from(time).ok().filter(|time| *time != Bson::Null)
}

/// Whether a document is deleted and kept.
pub(crate) fn is_deleted(meta: TreeMeta, document: &RawDocument) -> bool {
    deleted_at(meta, document).is_some()
}

/// Whether documents are deleted with those that they refer to. The items of a bucket stay until the purge.
pub(crate) fn is_followed(holder: TreeMeta, rule: OnDelete) -> bool {
    rule == OnDelete::Cascade && holder.soft_delete.is_some()
}

/// The collections of the documents that may be deleted with one of this type, from above.
pub(crate) fn followers(graph: &Graph, meta: TreeMeta) -> Vec<TreeMeta> {
    graph.cascades(meta, |edge| edge.holder.soft_delete.is_some())
}

/// Which documents below are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Below {
    /// Those that are not deleted.
    Living,
    /// Those that the deletion has deleted.
    Deleted,
    /// Both: of an interrupted deletion or restoration, which has left deleted documents below others that are not deleted.
    Both,
}

impl Below {
    fn condition(self, meta: TreeMeta, token: Token) -> Document {
        match self {
            Below::Living => alive(meta),
            Below::Deleted => of_deletion(meta, token),
            Below::Both => doc! { "$or": [alive(meta), of_deletion(meta, token)] },
        }
    }

    /// Whether the holders of a reference lie below its targets.
    fn follows(self, edge: &Edge, target: TreeMeta) -> bool {
        match self {
            Below::Living => is_followed(edge.holder, edge.reference.on_delete),
            Below::Deleted | Below::Both => is_below(edge, target),
        }
    }
}

/// Whether the holders of a reference are restored with its targets. Documents of one type that a condition has deleted together may
/// refer to each other with `restrict`.
pub(crate) fn is_below(edge: &Edge, target: TreeMeta) -> bool {
    let rule = edge.reference.on_delete;
    is_followed(edge.holder, rule)
        || rule == OnDelete::Restrict && edge.holder.collection == target.collection
}

/// Whether documents may be restored with one of this type.
pub(crate) fn has_below(graph: &Graph, meta: TreeMeta) -> bool {
    graph.incoming(meta).any(|edge| is_below(edge, meta))
}

/// The fields that are read of documents: all of those whose hooks get them.
pub(crate) fn fields(graph: &Graph, meta: TreeMeta) -> Document {
    if meta.has_hooks() {
        return Document::new();
    }
    let mut fields = Rules::for_model(graph, meta).fields;
    fields.extend(doc! { DELETION: 1, RESTORING: 1 });
    fields.extend(meta.soft_delete.map(|name| (name.to_owned(), Bson::Int32(1))));
    for root in targets::roots(targets::dependent(graph, meta)) {
        read_too(&mut fields, root);
    }
    fields
}

/// Documents of one type.
pub(crate) type TreeLevel = (TreeMeta, Vec<RawDocumentBuf>);

/// A document with those below it.
#[derive(Debug)]
pub(crate) struct DeletionTree {
    /// By the reference that led to them, each level behind those that it refers to.
    pub(super) levels: Vec<TreeLevel>,
    pub(super) known: HashSet<DocumentKey>,
    /// The id of the deletion.
    pub(super) token: Token,
    /// Whether this restoration has restored the document at the top: it may have been another one at the same time.
    has_restored_root: bool,
}

/// Deletes those of these documents again that were deleted when they were read and have been restored since, the last level first: with
/// the time and the id of their deletion.
async fn delete_again(levels: &[TreeLevel], change: &ChangeFn<'_>) -> Result<()> {
    for (meta, documents) in levels.iter().rev() {
        let Some(name) = meta.soft_delete else { continue };
        let mut by_time: HashMap<Key, (Bson, Option<Token>, Vec<Bson>)> = HashMap::new();
        for document in documents {
            if let Some(time) = deleted_at(meta, document) {
                let token = token_at(document, &[DELETION]);
                let key = Key::of_bson(&doc! { "at": &time, "by": token }.into());
                let (.., ids) = by_time.entry(key).or_insert_with(|| (time, token, Vec::new()));
                ids.push(id(document));
            }
        }
        for (time, token, ids) in by_time.into_values() {
            let mut set = doc! { name: time };
            set.extend(token.map(|token| (DELETION.to_owned(), token.into())));
            for part in ids.chunks(BATCH) {
                let restored = doc! { name: null, DELETION: { "$exists": false } };
                let condition = within(doc! { "_id": { "$in": part } }, &restored);
                let update = doc! { "$set": set.clone(), "$unset": { RESTORING: "" } };
                change(meta, condition, stamped(meta, update)).await?;
            }
        }
    }
    Ok(())
}

/// Documents that references name: by a field, and its value.
type NamedKeys = HashSet<(Column, Key)>;

/// The documents that these references name.
fn named(graph: &Graph, missing: &[MissingReferences]) -> NamedKeys {
    let each = |one: &MissingReferences| {
        let column = one.column(graph);
        let keys = one.keys.iter();
        keys.map(move |(key, _)| (column, key.clone()))
            .collect::<Vec<_>>()
    };
    missing.iter().flat_map(each).collect()
}

/// Whether a document names one of these by a reference without whose target it can't be there.
fn names_one(edges: &[&Edge], document: &RawDocumentBuf, named: &NamedKeys) -> bool {
    edges.iter().any(|edge| {
        edge.targets.iter().any(|target| {
            let column = (target.meta.collection, edge.by());
            let mut keys = edge.keys(*target, document).into_iter();
            keys.any(|key| named.contains(&(column, key)))
        })
    })
}

impl DeletionTree {
    /// The document alone. An interrupted deletion has left its id in it, and so has an interrupted restoration; any other has this one.
    pub(crate) fn new(meta: TreeMeta, document: RawDocumentBuf, token: Token) -> DeletionTree {
        let token = token_at(&document, &[DELETION, RESTORING]).unwrap_or(token);
        DeletionTree::with(meta, document, token)
    }

    /// The document alone, for what the deletion with this id has deleted.
    pub(super) fn with(meta: TreeMeta, document: RawDocumentBuf, token: Token) -> DeletionTree {
        DeletionTree {
            token,
            known: HashSet::from([document_key(meta, &document)]),
            levels: vec![(meta, vec![document])],
            has_restored_root: false,
        }
    }

    pub(super) fn root(&self) -> Option<(TreeMeta, &RawDocumentBuf)> {
        let (meta, documents) = self.levels.first()?;
        Some((meta, documents.first()?))
    }

    /// Whether the document at the top was deleted by a deletion of the library when it was read.
    pub(crate) fn has_deleted_root(&self) -> bool {
        let root = self.root();
        root.is_some_and(|(meta, root)| is_deleted(meta, root) && token_at(root, &[DELETION]).is_some())
    }

    /// The number of its documents.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// Reads the documents below, level by level, until there are more than `most`. Gives all that were found, also those that it had.
    pub(crate) async fn grow(&mut self, cx: &Cx<'_>, which: Below, most: usize) -> Result<Vec<TreeLevel>> {
        let graph = cx.odm.graph();
        let root = self.root().map(|(meta, root)| document_key(meta, root));
        let mut seen: HashSet<DocumentKey> = root.into_iter().collect();
        let mut all = Vec::new();
        let mut level = 0;
        while let Some((meta, documents)) = self.levels.get(level)
            && self.known.len() <= most
        {
            let rules = Rules::for_model(graph, meta);
            let mut more = Vec::new();
            for rule in rules.list.iter().filter(|rule| which.follows(rule.edge, meta)) {
                let holder = rule.edge.holder;
                for part in documents.chunks(BATCH) {
                    let Some(refers) = rule.holders(part) else {
                        continue;
                    };
                    let condition = within(refers, &which.condition(holder, self.token));
                    let found = cx.every(holder, condition, fields(graph, holder)).await?;
                    more.push((holder, found));
                }
            }
            for (holder, mut found) in more {
                found.retain(|one| seen.insert(document_key(holder, one)));
                let new = found
                    .iter()
                    .filter(|one| self.known.insert(document_key(holder, one)));
                let new: Vec<RawDocumentBuf> = new.cloned().collect();
                if !new.is_empty() {
                    self.levels.push((holder, new));
                }
                if !found.is_empty() {
                    all.push((holder, found));
                }
            }
            level += 1;
        }
        Ok(all)
    }

    /// Deletes these documents, the last level first.
    pub(crate) async fn delete_levels(&self, levels: &[TreeLevel], change: &ChangeFn<'_>) -> Result<u64> {
        let mut deleted = 0;
        for (meta, documents) in levels.iter().rev() {
            for part in documents.chunks(BATCH) {
                let condition = within(doc! { "_id": { "$in": ids(part) } }, &alive(meta));
                deleted += change(meta, condition, deletion(meta, self.token)).await?;
            }
        }
        Ok(deleted)
    }

    /// Restores those of these documents that the deletion has deleted, the first level first.
    pub(super) async fn restore_levels(&self, levels: &[TreeLevel], change: &ChangeFn<'_>) -> Result<u64> {
        let mut restored = 0;
        for (meta, documents) in levels {
            let deleted: Vec<Bson> = documents
                .iter()
                .filter(|document| is_deleted(meta, document))
                .map(id)
                .collect();
            for part in deleted.chunks(BATCH) {
                let condition = within(doc! { "_id": { "$in": part } }, &of_deletion(meta, self.token));
                restored += change(meta, condition, restoration(meta, None)).await?;
            }
        }
        Ok(restored)
    }

    /// Restores the document at the top, and then the others: whether it was deleted, and how many others.
    ///
    /// Where a process may die in between, the document at the top keeps the id of the deletion under another name until the others are
    /// [restored](Tree::end_restoration): so the restoration goes on when it is repeated, and another deletion meanwhile has an id of its
    /// own.
    pub(crate) async fn restore(&mut self, in_steps: bool, change: &ChangeFn<'_>) -> Result<(bool, u64)> {
        let Some((meta, root)) = self.root() else {
            return Ok((false, 0));
        };
        let was_deleted = is_deleted(meta, root);
        if let Some(condition) = self.unrestored_root() {
            let notes = (in_steps && self.levels.len() > 1).then_some(self.token);
            let restored = change(meta, condition, restoration(meta, notes)).await?;
            self.has_restored_root = restored > 0;
        }
        let others = self.levels.get(1..).unwrap_or_default();
        let others = self.restore_levels(others, change).await?;
        Ok((self.has_restored_root && was_deleted, others))
    }

    /// Whether another restoration has restored the document at the top at the same time: it is the one that takes it back.
    pub(crate) fn is_restored_by_another(&self) -> bool {
        !self.has_restored_root && self.root().is_some_and(|(meta, root)| is_deleted(meta, root))
    }

    /// The condition of the document at the top, as long as it is to be restored; `None` where it is restored already. One that another
    /// program has marked as deleted has no id.
    fn unrestored_root(&self) -> Option<Document> {
        let (meta, root) = self.root()?;
        let place = doc! { "_id": { "$eq": id(root) } };
        if token_at(root, &[DELETION]).is_some() {
            return Some(within(place, &doc! { DELETION: self.token }));
        }
        let name = meta.soft_delete.filter(|_| is_deleted(meta, root))?;
        Some(within(
            place,
            &doc! { name: { "$ne": null }, DELETION: { "$exists": false } },
        ))
    }

    /// Whether a restoration that had begun before this one has come to its end: nothing of it is taken back.
    pub(crate) async fn is_ended(&self, cx: &Cx<'_>) -> Result<bool> {
        let Some((meta, root)) = self.living_root() else {
            return Ok(false);
        };
        let begun = [DELETION, RESTORING].map(|field| doc! { field: self.token });
        let place = doc! { "_id": id(root), "$or": begun.to_vec() };
        Ok(cx.few(meta, place, doc! { "_id": 1 }, 1).await?.is_empty())
    }

    /// Leaves a restoration unfinished that had begun before this one: it goes on when it is repeated.
    pub(crate) async fn begin_again(&self, cx: &Cx<'_>) -> Result<()> {
        let Some((meta, root)) = self.living_root() else {
            return Ok(());
        };
        let begun = Statement {
            filter: within(doc! { "_id": id(root) }, &alive(meta)),
            update: doc! { "$set": { RESTORING: self.token } },
            array_filters: Vec::new(),
        };
        cx.update(meta, &[begun]).await.map(drop)
    }

    /// The document at the top, if it was not deleted when it was read: an earlier deletion or restoration was interrupted.
    fn living_root(&self) -> Option<(TreeMeta, &RawDocumentBuf)> {
        self.root().filter(|(meta, root)| !is_deleted(meta, root))
    }

    /// Ends a restoration: the document at the top forgets the id.
    pub(crate) async fn end_restoration(&self, cx: &Cx<'_>) -> Result<()> {
        let Some((meta, root)) = self.root() else {
            return Ok(());
        };
        let is_noted = token_at(root, &[RESTORING]).is_some();
        if !is_noted && (cx.session.is_some() || self.levels.len() < 2) {
            return Ok(());
        }
        let done = Statement {
            filter: doc! { "_id": id(root), RESTORING: self.token },
            update: doc! { "$unset": { RESTORING: "" } },
            array_filters: Vec::new(),
        };
        cx.update(meta, &[done]).await.map(drop)
    }

    /// Deletes those documents again that were deleted when they were read and have been restored since.
    pub(crate) async fn delete_again(&self, change: &ChangeFn<'_>) -> Result<()> {
        delete_again(&self.levels, change).await
    }

    /// The targets without which the deleted documents of the tree can't be there: those of their references with `cascade` or
    /// `restrict` that are deleted or missing, and not in the tree.
    pub(crate) async fn missing_targets(&self, cx: &Cx<'_>) -> Result<Vec<MissingReferences>> {
        let graph = cx.odm.graph();
        let mut refs: Vec<AddedReferences> = Vec::new();
        for (meta, documents) in &self.levels {
            let deleted = documents.iter().filter(|document| is_deleted(meta, document));
            targets::add_dependent(graph, meta, deleted, &mut refs)?;
        }
        let mut own: HashMap<Column, HashSet<Key>> = HashMap::new();
        for column in refs.iter().map(|one| one.column(graph)) {
            let keys = own.entry(column).or_default();
            let levels = self.levels.iter().filter(|(meta, _)| meta.collection == column.0);
            for document in levels.flat_map(|(_, documents)| documents) {
                keys.extend(value(document, column.1).map(|key| Key::of_bson(&key)));
            }
        }
        // A target of another tenant is there, too.
        let odm = cx.odm.clone().with_scopes(Scopes::default());
        let whole = Cx { odm: &odm, ..*cx };
        exists::missing_besides(&whole, graph, &refs, &own).await
    }

    /// Leaves out what also lies below another document of this deletion that is not in the tree: it is restored with the last of them.
    /// Gives the targets that the others lack.
    pub(crate) async fn leave_out_shared(&mut self, cx: &Cx<'_>) -> Result<Vec<MissingReferences>> {
        let graph = cx.odm.graph();
        let missing = self.missing_targets(cx).await?;
        let mut others = NamedKeys::new();
        for one in &missing {
            let (edge, target) = (&graph[one.target.edge], one.target.meta);
            if !is_below(edge, target) {
                continue;
            }
            let by = edge.by();
            let keys: Vec<&Bson> = one.keys.iter().map(|(_, value)| value).collect();
            let condition = within(doc! { by: { "$in": keys } }, &of_deletion(target, self.token));
            let found = cx.every(target, condition, doc! { "_id": 1, by: 1 }).await?;
            let keys = found.iter().filter_map(|document| value(document, by));
            others.extend(keys.map(|key| ((target.collection, by), Key::of_bson(&key))));
        }
        if self.leave_out(graph, others, is_below).is_empty() {
            return Ok(missing);
        }
        self.missing_targets(cx).await
    }

    /// Leaves out the documents that lack a target, and those that can't be there without them. Gives these, and whether the document at
    /// the top lacks one.
    pub(super) async fn leave_out_lacking(&mut self, cx: &Cx<'_>) -> Result<(Vec<TreeLevel>, bool)> {
        let graph = cx.odm.graph();
        let lacking = named(graph, &self.missing_targets(cx).await?);
        let top_lacks = self.root().is_some_and(|(meta, root)| {
            let edges: Vec<&Edge> = targets::dependent(graph, meta).collect();
            is_deleted(meta, root) && names_one(&edges, root, &lacking)
        });
        Ok((self.leave_out(graph, lacking, |_, _| true), top_lacks))
    }

    /// Deletes those documents again whose target was deleted while they were restored.
    pub(super) async fn delete_lacking(&mut self, cx: &Cx<'_>, change: &ChangeFn<'_>) -> Result<()> {
        let (lost, _) = self.leave_out_lacking(cx).await?;
        delete_again(&lost, change).await
    }

    /// Takes the deleted documents out that refer to one of these, and then those that refer to a document that was taken out.
    fn leave_out(
        &mut self,
        graph: &Graph,
        mut named: NamedKeys,
        which: fn(&Edge, TreeMeta) -> bool,
    ) -> Vec<TreeLevel> {
        let mut out: Vec<TreeLevel> = Vec::new();
        let mut before = None;
        while !named.is_empty() && before != Some(out.len()) {
            before = Some(out.len());
            for (meta, documents) in self.levels.iter_mut().skip(1) {
                let is_one = |edge: &&Edge| edge.targets.iter().any(|target| which(edge, target.meta));
                let edges: Vec<&Edge> = targets::dependent(graph, meta).filter(is_one).collect();
                let goes = |one: &RawDocumentBuf| is_deleted(meta, one) && names_one(&edges, one, &named);
                let (gone, left): (Vec<_>, Vec<_>) = std::mem::take(documents).into_iter().partition(goes);
                *documents = left;
                if gone.is_empty() {
                    continue;
                }
                for by in graph.incoming(meta).map(Edge::by) {
                    let keys = gone.iter().filter_map(|one| value(one, by));
                    named.extend(keys.map(|key| ((meta.collection, by), Key::of_bson(&key))));
                }
                out.push((*meta, gone));
            }
        }
        let mut at = 0;
        self.levels.retain(|(_, documents)| {
            at += 1;
            at == 1 || !documents.is_empty()
        });
        out
    }

    /// Gives those of the tree that the deletion has deleted the id of another deletion, with which they are restored then.
    pub(super) async fn pass_to(&self, cx: &Cx<'_>, token: Token) -> Result<()> {
        for (meta, documents) in self.levels.iter().skip(1) {
            let deleted = documents.iter().filter(|document| is_deleted(meta, document));
            let deleted: Vec<Bson> = deleted.map(id).collect();
            for part in deleted.chunks(BATCH) {
                let passed = Statement {
                    filter: within(doc! { "_id": { "$in": part } }, &of_deletion(meta, self.token)),
                    update: doc! { "$set": { DELETION: token } },
                    array_filters: Vec::new(),
                };
                cx.update(meta, &[passed]).await?;
            }
        }
        Ok(())
    }

    /// Takes what an interrupted deletion or restoration of one of these documents has left deleted below it into this deletion.
    pub(super) async fn take_over(&self, cx: &Cx<'_>, levels: &[TreeLevel]) -> Result<()> {
        for (meta, documents) in levels {
            for document in documents {
                let begun = token_at(document, &[DELETION, RESTORING]);
                let Some(begun) = begun.filter(|begun| *begun != self.token) else {
                    continue;
                };
                let mut inner = DeletionTree::with(meta, document.clone(), begun);
                inner.grow(cx, Below::Both, usize::MAX).await?;
                inner.pass_to(cx, self.token).await?;
            }
        }
        Ok(())
    }

    /// Those of them that are missing after the restoration, while a document of the tree that refers to them is there. The deletion of a
    /// target may have taken its documents by now.
    pub(crate) async fn lost_targets(&self, cx: &Cx<'_>) -> Result<Vec<MissingReferences>> {
        let mut lost = Vec::new();
        for missing in self.missing_targets(cx).await? {
            if self.is_named(cx, &missing).await? {
                lost.push(missing);
            }
        }
        Ok(lost)
    }

    /// Whether a document of the tree that is not deleted has one of these references.
    async fn is_named(&self, cx: &Cx<'_>, missing: &MissingReferences) -> Result<bool> {
        let edge = &cx.odm.graph()[missing.target.edge];
        let keys: Vec<Bson> = missing.keys.iter().map(|(_, value)| value.clone()).collect();
        let refers = edge.holders_of(missing.target, keys);
        for (meta, documents) in &self.levels {
            if meta.collection != edge.holder.collection {
                continue;
            }
            for part in documents.chunks(BATCH) {
                let place = within(doc! { "_id": { "$in": ids(part) } }, &alive(meta));
                let named = within(refers.clone(), &place);
                if !cx.few(meta, named, doc! { "_id": 1 }, 1).await?.is_empty() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
