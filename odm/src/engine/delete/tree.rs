//! A document with those below it, which are deleted and restored with it where deletions keep documents.
//!
//! The documents below refer to it with `cascade`, and so on, level by level. A deletion reads those that are not deleted, and gives all of
//! them its id ([`DELETION`]). A restoration reads those that have this id: what lies below its document, and nothing else that the
//! deletion has deleted. A document that the tree has is not read again, so references in a circle come to an end, and its target is
//! restored with it.

use crate::Result;
use crate::engine::delete::level::{
    KnownDocuments, Marks, READ, TreeLevel, TreeMeta, document_key, fields, is_deleted, parts, token_at,
};
use crate::engine::delete::walk::BATCH;
use crate::graph::Graph;
use crate::graph::edge::Edge;
use crate::model::key::Key;
use crate::model::meta::Managed;
use crate::model::own_fields::{DELETION, RESTORING, Token};
use crate::model::reference::OnDelete;
use crate::plan::targets::{self, AddedReferences, Column, MissingReferences};
use crate::rules::exists;
use crate::rules::on_delete::Rules;
use crate::store::batch::{document_id as id, value};
use crate::store::cx::{Cx, Statement};
use crate::store::fields::put;
use crate::store::filter::within;
use crate::store::scopes::Scopes;
use futures::future::BoxFuture;
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

/// Changes the documents of a type that match a condition by an update, and returns how many it has changed.
pub(crate) type ChangeFn<'c> =
    dyn Fn(TreeMeta, Document, Document) -> BoxFuture<'c, Result<u64>> + Send + Sync + 'c;

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

/// A document with those below it.
#[derive(Debug)]
pub(crate) struct DeletionTree {
    /// By the reference that led to them, each level behind those that it refers to.
    pub(super) levels: Vec<TreeLevel>,
    /// All documents that were read.
    pub(super) known: KnownDocuments,
    /// Those of them that were taken out of the levels.
    left_out: KnownDocuments,
    marks: Marks,
    /// Whether the documents of types with hooks are kept as they were read, whatever their number.
    for_hooks: bool,
    /// The id of the deletion.
    pub(super) token: Token,
    /// Whether this restoration has restored the document at the top: it may have been another one at the same time.
    has_restored_root: bool,
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
        let (mut known, mut marks, mut top) =
            (KnownDocuments::default(), Marks::default(), TreeLevel::new(meta));
        known.insert(document_key(meta, &document));
        top.add(&mut marks, &document);
        DeletionTree {
            token,
            known,
            left_out: KnownDocuments::default(),
            marks,
            for_hooks: false,
            levels: vec![top],
            has_restored_root: false,
        }
    }

    /// The same for a deletion, which gives the documents of types with hooks to them.
    pub(super) fn for_hooks(self) -> DeletionTree {
        DeletionTree {
            for_hooks: true,
            ..self
        }
    }

    /// The document at the top, which is kept as it was read.
    pub(super) fn root(&self) -> Option<(TreeMeta, &RawDocumentBuf)> {
        let top = self.levels.first()?;
        Some((top.meta, top.read.as_ref()?.first()?))
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
        let mut all = Vec::new();
        self.read_below(cx, which, most, Some(&mut all)).await?;
        Ok(all)
    }

    /// The same. Those that were found are given where there is a place for them.
    pub(crate) async fn read_below(
        &mut self,
        cx: &Cx<'_>,
        which: Below,
        most: usize,
        mut all: Option<&mut Vec<TreeLevel>>,
    ) -> Result<()> {
        let graph = cx.odm.graph();
        // Where it has documents already, they are read again.
        let mut seen = (self.known.len() > 1).then(KnownDocuments::default);
        if let (Some(seen), Some((meta, root))) = (&mut seen, self.root()) {
            seen.insert(document_key(meta, root));
        }
        let mut at = 0;
        while let Some(level) = self.levels.get(at)
            && self.known.len() <= most
        {
            let (meta, documents) = (level.meta, level.documents.len());
            let rules = Rules::for_model(graph, meta);
            let (mut more, mut found) = (Vec::new(), Vec::new());
            for rule in rules.list.iter().filter(|rule| which.follows(rule.edge, meta)) {
                let holder = rule.edge.holder;
                for part in parts(documents) {
                    let refers = match self.levels.get(at) {
                        Some(level) => level.holders(cx, rule, part).await?,
                        None => None,
                    };
                    let Some(refers) = refers else { continue };
                    let condition = within(refers, &which.condition(holder, self.token));
                    let (mut new, mut any) = (TreeLevel::new(holder), TreeLevel::new(holder));
                    let take = |document: &RawDocumentBuf| {
                        let key = document_key(holder, document);
                        if seen.as_mut().is_some_and(|seen| !seen.insert(key.clone())) {
                            return false;
                        }
                        let is_new = self.known.insert(key);
                        if self.known.len() > READ && !(self.for_hooks && holder.has_hooks()) {
                            (new.read, any.read) = (None, None);
                        }
                        if is_new {
                            new.add(&mut self.marks, document);
                        }
                        if all.is_some() && (is_new || seen.is_some()) {
                            any.add(&mut self.marks, document);
                        }
                        self.known.len() > most
                    };
                    cx.each_until(holder, condition, fields(graph, holder), BATCH, take)
                        .await?;
                    more.push(new);
                    found.push(any);
                }
            }
            self.levels
                .extend(more.into_iter().filter(|level| !level.is_empty()));
            if let Some(all) = &mut all {
                all.extend(found.into_iter().filter(|level| !level.is_empty()));
            }
            self.shrink();
            at += 1;
        }
        Ok(())
    }

    /// Of a large tree, only the document at the top stays as it was read.
    fn shrink(&mut self) {
        if self.known.len() <= READ {
            return;
        }
        for level in self.levels.iter_mut().skip(1) {
            if !(self.for_hooks && level.meta.has_hooks()) {
                level.read = None;
            }
        }
    }

    /// Deletes these documents, the last level first.
    pub(crate) async fn delete_levels(&self, levels: &[TreeLevel], change: &ChangeFn<'_>) -> Result<u64> {
        let mut deleted = 0;
        for level in levels.iter().rev() {
            let meta = level.meta;
            for part in level.ids(|_| true) {
                let condition = within(doc! { "_id": { "$in": part } }, &alive(meta));
                deleted += change(meta, condition, deletion(meta, self.token)).await?;
            }
        }
        Ok(deleted)
    }

    /// Restores those of these documents that the deletion has deleted, the first level first.
    pub(super) async fn restore_levels(&self, levels: &[TreeLevel], change: &ChangeFn<'_>) -> Result<u64> {
        let mut restored = 0;
        for level in levels {
            let meta = level.meta;
            for part in level.ids(|one| self.marks.is_deleted(one)) {
                let condition = within(doc! { "_id": { "$in": part } }, &of_deletion(meta, self.token));
                restored += change(meta, condition, restoration(meta, None)).await?;
            }
        }
        Ok(restored)
    }

    /// Deletes those of these documents again that were deleted when they were read and have been restored since, the last level first:
    /// with the time and the id of their deletion.
    async fn delete_them_again(&self, levels: &[TreeLevel], change: &ChangeFn<'_>) -> Result<()> {
        for level in levels.iter().rev() {
            let meta = level.meta;
            let Some(name) = meta.soft_delete else { continue };
            for documents in level.by_mark() {
                let mark = documents.first().and_then(|one| self.marks.of(one));
                let Some((mark, time)) = mark.and_then(|mark| Some((mark, mark.deleted_at.as_ref()?))) else {
                    continue;
                };
                let mut set = doc! { name: time };
                set.extend(mark.deletion.map(|token| (DELETION.to_owned(), token.into())));
                for part in documents.chunks(BATCH) {
                    let part: Vec<Bson> = part.iter().map(|one| one.id.to_bson()).collect();
                    let restored = doc! { name: null, DELETION: { "$exists": false } };
                    let condition = within(doc! { "_id": { "$in": part } }, &restored);
                    let update = doc! { "$set": set.clone(), "$unset": { RESTORING: "" } };
                    change(meta, condition, stamped(meta, update)).await?;
                }
            }
        }
        Ok(())
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
        self.delete_them_again(&self.levels, change).await
    }

    /// The targets without which the deleted documents of the tree can't be there: those of their references with `cascade` or
    /// `restrict` that are deleted or missing, and not in the tree.
    pub(crate) async fn missing_targets(&self, cx: &Cx<'_>) -> Result<Vec<MissingReferences>> {
        let graph = cx.odm.graph();
        let own = self.own_keys(cx).await?;
        // A target of another tenant is there, too.
        let odm = cx.odm.clone().with_scopes(Scopes::default());
        let whole = Cx { odm: &odm, ..*cx };
        let is_own = |column: Column, key: &Key| match own.get(&column) {
            Some(keys) => keys.contains(key),
            None => column.1 == "_id" && self.has(column.0, key),
        };
        let (mut refs, mut documents): (Vec<AddedReferences>, usize) = (Vec::new(), 0);
        let mut missing: Vec<MissingReferences> = Vec::new();
        for level in &self.levels {
            if targets::dependent(graph, level.meta).next().is_none() {
                continue;
            }
            for part in parts(level.documents.len()) {
                let deleted = level.some(cx, part, |one| self.marks.is_deleted(one)).await?;
                targets::add_dependent(graph, level.meta, deleted.iter(), &mut refs)?;
                documents += deleted.len();
                if documents > READ {
                    let part = exists::missing_besides(&whole, graph, &refs, is_own).await?;
                    targets::add_missing(&mut missing, part);
                    (refs, documents) = (Vec::new(), 0);
                }
            }
        }
        let part = exists::missing_besides(&whole, graph, &refs, is_own).await?;
        targets::add_missing(&mut missing, part);
        Ok(missing)
    }

    /// Whether one of its documents has this id.
    fn has(&self, collection: &str, id: &Key) -> bool {
        self.known.contains(collection, id) && !self.left_out.contains(collection, id)
    }

    /// The values of its documents by which others refer to them, other than by their ids.
    async fn own_keys(&self, cx: &Cx<'_>) -> Result<HashMap<Column, HashSet<Key>>> {
        let graph = cx.odm.graph();
        let mut own: HashMap<Column, HashSet<Key>> = HashMap::new();
        for edge in self
            .levels
            .iter()
            .flat_map(|level| targets::dependent(graph, level.meta))
        {
            let columns = edge
                .targets
                .iter()
                .map(|target| (target.meta.collection, edge.by()));
            for column in columns.filter(|column| column.1 != "_id") {
                own.entry(column).or_default();
            }
        }
        for (column, keys) in &mut own {
            for level in self
                .levels
                .iter()
                .filter(|level| level.meta.collection == column.0)
            {
                level.add_keys(cx, *column, keys).await?;
            }
        }
        Ok(own)
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
        if self.leave_out(cx, others, is_below).await?.is_empty() {
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
        Ok((self.leave_out(cx, lacking, |_, _| true).await?, top_lacks))
    }

    /// Deletes those documents again whose target was deleted while they were restored.
    pub(super) async fn delete_lacking(&mut self, cx: &Cx<'_>, change: &ChangeFn<'_>) -> Result<()> {
        let (lost, _) = self.leave_out_lacking(cx).await?;
        self.delete_them_again(&lost, change).await
    }

    /// Takes the deleted documents out that refer to one of these, and then those that refer to a document that was taken out.
    async fn leave_out(
        &mut self,
        cx: &Cx<'_>,
        mut named: NamedKeys,
        which: fn(&Edge, TreeMeta) -> bool,
    ) -> Result<Vec<TreeLevel>> {
        let graph = cx.odm.graph();
        let mut out: Vec<TreeLevel> = Vec::new();
        let mut before = None;
        while !named.is_empty() && before != Some(out.len()) {
            before = Some(out.len());
            for level in self.levels.iter_mut().skip(1) {
                let meta = level.meta;
                let is_one = |edge: &&Edge| edge.targets.iter().any(|target| which(edge, target.meta));
                let edges: Vec<&Edge> = targets::dependent(graph, meta).filter(is_one).collect();
                let mut gone = HashSet::new();
                for part in parts(level.documents.len()) {
                    if edges.is_empty() {
                        break;
                    }
                    let marks = &self.marks;
                    for one in level.some(cx, part, |one| marks.is_deleted(one)).await? {
                        if !names_one(&edges, &one, &named) {
                            continue;
                        }
                        for by in graph.incoming(meta).map(Edge::by) {
                            let key = value(&one, by).map(|key| Key::of_bson(&key));
                            named.extend(key.map(|key| ((meta.collection, by), key)));
                        }
                        gone.insert(Key::of_bson(&id(&one)));
                    }
                }
                if gone.is_empty() {
                    continue;
                }
                out.push(level.take(&gone));
                for id in gone {
                    self.left_out.insert((meta.collection, id));
                }
            }
        }
        let mut at = 0;
        self.levels.retain(|level| {
            at += 1;
            at == 1 || !level.is_empty()
        });
        Ok(out)
    }

    /// Gives those of the tree that the deletion has deleted the id of another deletion, with which they are restored then.
    pub(super) async fn pass_to(&self, cx: &Cx<'_>, token: Token) -> Result<()> {
        for level in self.levels.iter().skip(1) {
            let meta = level.meta;
            for part in level.ids(|one| self.marks.is_deleted(one)) {
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
        for level in levels {
            for (at, one) in level.documents.iter().enumerate() {
                let begun = self.marks.of(one).and_then(|mark| mark.begun);
                let Some(begun) = begun.filter(|begun| *begun != self.token) else {
                    continue;
                };
                let Some(document) = level.some(cx, at..at + 1, |_| true).await?.pop() else {
                    continue;
                };
                let mut inner = DeletionTree::with(level.meta, document, begun);
                inner.read_below(cx, Below::Both, usize::MAX, None).await?;
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
        for level in &self.levels {
            let meta = level.meta;
            if meta.collection != edge.holder.collection {
                continue;
            }
            for part in level.ids(|_| true) {
                let place = within(doc! { "_id": { "$in": part } }, &alive(meta));
                let named = within(refers.clone(), &place);
                if !cx.few(meta, named, doc! { "_id": 1 }, 1).await?.is_empty() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
