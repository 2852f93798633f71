//! The effect of a deletion on the documents that refer to the deleted one.

pub(crate) mod restrict;

use crate::graph::Graph;
use crate::graph::edge::{Edge, ReferenceTarget, Segment, dotted};
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::meta::names::read_too;
use crate::model::own_fields::{CHILDREN, OWN, PENDING, REVISION, Token, VERSION, name_of};
use crate::model::reference::OnDelete;
use crate::rules::children::rule::without_children;
use crate::rules::pending::{all_fields, first_version, mark};
use crate::rules::rule::{decoded, encoded};
use crate::store::batch;
use crate::store::batch::UpdateSpec;
use crate::store::cx::Cx;
use crate::store::filter;
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::borrow::Cow;
use std::collections::HashSet;

/// A reference to documents of one type, as their deletion sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnDeleteRule<'g> {
    pub(crate) edge: &'g Edge,
    /// The deleted documents, as a target of the edge.
    target: ReferenceTarget,
    /// The deleted documents' own side of a two-way reference, and the holders as its target: it names them, so they are found by their
    /// ids.
    back: Option<(&'g Edge, ReferenceTarget)>,
}

/// The counter for a detached reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detached {
    Nullified,
    Pulled,
}

impl<'g> OnDeleteRule<'g> {
    fn new(graph: &'g Graph, edge: &'g Edge, meta: &DocumentMeta) -> Option<OnDeleteRule<'g>> {
        Some(OnDeleteRule {
            edge,
            target: edge.target(meta)?,
            back: graph
                .inverse(edge)
                .and_then(|back| Some((back, back.target(edge.holder)?))),
        })
    }

    pub(crate) fn on_delete(&self) -> OnDelete {
        self.edge.reference.on_delete
    }

    pub(crate) fn is_two_way(&self) -> bool {
        self.back.is_some()
    }

    /// Whether the holders are deleted with these documents, and kept.
    pub(crate) fn keeps_holders(&self) -> bool {
        self.on_delete() == OnDelete::Cascade && self.edge.holder.soft_delete.is_some()
    }

    /// Those of these documents to which the references belong that a purge follows: whose key no document has that is not deleted, and of
    /// the deleted ones those whose key no other has. Where deletions keep documents, the key of a deleted one is free.
    pub(crate) async fn with_own_key<'d>(
        &self,
        cx: &Cx<'_>,
        meta: &'static DocumentMeta,
        documents: &'d [RawDocumentBuf],
    ) -> crate::Result<Cow<'d, [RawDocumentBuf]>> {
        let by = self.edge.by();
        let keys = self.keys(documents);
        let Some(deleted_at) = meta.soft_delete.filter(|_| by != "_id" && !keys.is_empty()) else {
            return Ok(Cow::Borrowed(documents));
        };
        let is_deleted = |document: &RawDocumentBuf| {
            batch::value(document, deleted_at).is_some_and(|time| time != Bson::Null)
        };
        let others = doc! { by: { "$in": keys }, "_id": { "$nin": batch::ids(documents) } };
        let fields = doc! { "_id": 1, by: 1, deleted_at: 1 };
        let others = cx.every(meta, others, fields).await?;
        let (deleted, living): (Vec<_>, Vec<_>) = others.into_iter().partition(is_deleted);
        let keys = |of: &[RawDocumentBuf]| self.keys(of).iter().map(Key::of_bson).collect();
        let (deleted, living): (HashSet<Key>, HashSet<Key>) = (keys(&deleted), keys(&living));
        let is_own = |one: &&RawDocumentBuf| {
            let key = self.key(one).map(|key| Key::of_bson(&key));
            key.is_some_and(|key| !(living.contains(&key) || is_deleted(one) && deleted.contains(&key)))
        };
        Ok(Cow::Owned(documents.iter().filter(is_own).cloned().collect()))
    }

    /// Whether the reference is taken out of the documents that hold it.
    pub(crate) fn detaches(&self) -> bool {
        matches!(self.on_delete(), OnDelete::Nullify | OnDelete::Pull)
    }

    pub(crate) fn counts_as(&self) -> Detached {
        if self.edge.pulls() {
            Detached::Pulled
        } else {
            Detached::Nullified
        }
    }

    /// The key by which a document is referred to: its id, or the value of the field that the reference is by.
    pub(crate) fn key(&self, document: &RawDocumentBuf) -> Option<Bson> {
        batch::value(document, self.edge.by()).filter(is_comparable)
    }

    fn keys<'d>(&self, documents: impl IntoIterator<Item = &'d RawDocumentBuf>) -> Vec<Bson> {
        documents
            .into_iter()
            .filter_map(|document| self.key(document))
            .collect()
    }

    /// Those of these documents that a holder refers to.
    pub(crate) fn referred<'d>(
        &self,
        holder: &RawDocumentBuf,
        documents: &'d [RawDocumentBuf],
    ) -> impl Iterator<Item = &'d RawDocumentBuf> + use<'d, 'g> {
        let rule = *self;
        let named: HashSet<Key> = self.edge.keys(self.target, holder).into_iter().collect();
        documents.iter().filter(move |document| {
            rule.key(document)
                .is_some_and(|key| named.contains(&Key::of_bson(&key)))
        })
    }

    /// The ids that the documents' own side of a two-way reference names.
    pub(crate) fn named<'d>(&self, documents: impl IntoIterator<Item = &'d RawDocumentBuf>) -> HashSet<Key> {
        let Some((back, target)) = self.back else {
            return HashSet::new();
        };
        documents
            .into_iter()
            .flat_map(|document| back.keys(target, document))
            .collect()
    }

    /// The condition of the documents that refer to one of these; `None` where there can't be any.
    pub(crate) fn holders<'d, D>(&self, documents: D) -> Option<Document>
    where
        D: IntoIterator<Item = &'d RawDocumentBuf> + Clone,
    {
        let keys = self.keys(documents.clone());
        if keys.is_empty() {
            return None;
        }
        let refers = self.edge.holders_of(self.target, keys);
        if self.back.is_none() {
            return Some(refers);
        }
        let named: Vec<Bson> = self.named(documents).iter().map(Key::to_bson).collect();
        (!named.is_empty()).then(|| filter::all([doc! { "_id": { "$in": named } }, refers]))
    }

    /// Whether the ids of documents are enough to find those that refer to them.
    pub(crate) fn is_by_id(&self) -> bool {
        self.back.is_none() && self.edge.by() == "_id"
    }

    /// The condition of the documents that refer to one with these ids, where they are enough.
    pub(crate) fn holders_of_ids(&self, ids: impl Iterator<Item = Bson>) -> Option<Document> {
        let keys: Vec<Bson> = ids.filter(is_comparable).collect();
        (!keys.is_empty()).then(|| self.edge.holders_of(self.target, keys))
    }

    /// The update that takes the references to these documents out of their holders.
    pub(crate) fn detachment<'d>(
        &self,
        documents: impl IntoIterator<Item = &'d RawDocumentBuf>,
    ) -> UpdateSpec {
        self.edge.detachment(self.target, &self.keys(documents))
    }

    /// The updates that put the reference to a document back, each with the condition that there is room for it.
    pub(crate) fn attachments(&self, document: &RawDocumentBuf) -> Vec<(Document, UpdateSpec)> {
        let named: Vec<Bson> = self.named([document]).iter().map(Key::to_bson).collect();
        let Some(key) = self.key(document).filter(|_| !named.is_empty()) else {
            return Vec::new();
        };
        let named = doc! { "_id": { "$in": named } };
        let attachments = self.edge.attachments(&key).into_iter();
        attachments
            .map(|(room, change)| (filter::all([named.clone(), room]), change))
            .collect()
    }
}

impl Edge {
    /// Whether a detachment takes items out of an array: an item with a reference in it is pulled as a whole.
    pub(crate) fn pulls(&self) -> bool {
        self.list || self.reference.on_delete == OnDelete::Pull
    }

    /// The update that takes references with these keys out of a document. Of an array the items are pulled, a single
    /// reference is made empty; inside arrays only in the items that hold one.
    pub(crate) fn detachment(&self, target: ReferenceTarget, keys: &[Bson]) -> UpdateSpec {
        let tag = self.tag(target);
        let (name, mut array_filters) = self.at_items("e", tag, keys);
        let name_beside = name.strip_suffix(self.name()).unwrap_or_default().to_owned();
        if self.is_entry() && self.reference.on_delete == OnDelete::Pull {
            // The whole item goes.
            let (array, rest) = self
                .segments
                .split_at(self.array().unwrap_or(self.segments.len()));
            return UpdateSpec {
                update: doc! { "$pull": { dotted(array): refers("", rest, tag, keys) } },
                array_filters: Vec::new(),
            };
        }
        let update = if self.list {
            let which = match tag {
                None => doc! { "$in": keys },
                Some(tag) => doc! { "type": tag, "id": { "$in": keys } },
            };
            doc! { "$pull": { name: which } }
        } else if let Some(entry) = self.single_entry(&name_beside) {
            // Without the reference the struct around it is none.
            doc! { "$unset": { entry: "" } }
        } else {
            let mut name = name;
            if !self.copies.is_empty() && !array_filters.is_empty() {
                // The reference has names of its own for the items, and stands behind: whether a server looks for the items
                // once or for each field, it finds them by the reference that they had.
                let (own, filters) = self.at_items("r", tag, keys);
                array_filters.extend(filters);
                name = own;
            }
            self.emptied(&name_beside, &name)
        };
        UpdateSpec {
            update,
            array_filters,
        }
    }

    /// The name of the reference in an update, with the items that hold one of these keys, and what these are.
    fn at_items(&self, letter: &str, tag: Option<&str>, keys: &[Bson]) -> (String, Vec<Document>) {
        let mut name = String::new();
        let mut array_filters = Vec::new();
        for (at, segment) in self.segments.iter().enumerate() {
            let rest = self.segments.get(at + 1..).unwrap_or_default();
            if at > 0 {
                name.push('.');
            }
            name.push_str(&segment.name);
            if segment.array && !rest.is_empty() {
                let item = format!("{letter}{}", array_filters.len());
                name.push_str(&format!(".$[{item}]"));
                array_filters.push(refers(&item, rest, tag, keys));
            }
        }
        (name, array_filters)
    }

    /// The name of the struct that the reference stands in with copies, where it can't be without the reference.
    fn single_entry<'n>(&self, beside: &'n str) -> Option<&'n str> {
        let entry = beside.strip_suffix('.')?;
        let nullified = self.reference.on_delete == OnDelete::Nullify && self.field.required;
        (nullified && !self.copies.is_empty() && !entry.ends_with(']')).then_some(entry)
    }

    /// The update that empties the reference, and the copies beside it first.
    fn emptied(&self, prefix: &str, name: &str) -> Document {
        use crate::model::own_fields::COPIED;
        use crate::store::fields::put;
        let (null, gone) = (("$set", Bson::Null), ("$unset", Bson::from("")));
        let how = |required: bool| if required { null.clone() } else { gone.clone() };
        let (operator, value) = how(self.field.required);
        let before = if self.field.required { "$unset" } else { "$set" };
        let mut update = doc! { before: {}, operator: {} };
        for copy in &self.copies {
            let (operator, value) = how(copy.required);
            put(&mut update, operator, &format!("{prefix}{}", copy.name), value);
        }
        if !self.copies.is_empty() {
            let version = format!("{prefix}{COPIED}.{}", self.name());
            put(&mut update, "$unset", &version, "".into());
        }
        put(&mut update, operator, name, value);
        update
            .into_iter()
            .filter(|(_, fields)| fields.as_document().is_some_and(|fields| !fields.is_empty()))
            .collect()
    }

    /// The updates that add a key to a two-way reference, of which a document takes one, each with its condition: that the
    /// key is not there yet, and has room.
    pub(crate) fn attachments(&self, key: &Bson) -> Vec<(Document, UpdateSpec)> {
        let change = |update| UpdateSpec {
            update,
            array_filters: Vec::new(),
        };
        if !self.list {
            let set = change(doc! { "$set": { &self.path: key } });
            return vec![(doc! { &self.path: null }, set)];
        }
        let mut room = doc! { &self.path: { "$ne": key } };
        if let Some(last) = self.max.and_then(|max| max.checked_sub(1)) {
            room.insert(format!("{}.{last}", self.path), doc! { "$exists": false });
        }
        let push = (room, change(doc! { "$push": { &self.path: key } }));
        if !self.reference.optional {
            return vec![push];
        }
        // Nothing can be pushed onto `null`.
        let begun = change(doc! { "$set": { &self.path: [key] } });
        vec![(self.is_no_list(), begun), push]
    }

    /// The condition that an optional list is `null` or missing: a list with `null` among its items is one.
    pub(crate) fn is_no_list(&self) -> Document {
        doc! { &self.path: null, format!("{}.0", self.path): { "$exists": false } }
    }

    /// The `type` of a reference to this target, in a union.
    pub(crate) fn tag(&self, target: ReferenceTarget) -> Option<&'static str> {
        self.reference.union.then_some(target.tag)
    }
}

/// The condition that something refers to one of these keys by the rest of a path. `within` is the name of what it
/// stands in; empty, it stands alone.
fn refers(within: &str, rest: &[Segment], tag: Option<&str>, keys: &[Bson]) -> Document {
    let join = |segments: &[Segment], last: &str| {
        let mut parts: Vec<&str> = vec![within];
        parts.extend(segments.iter().map(|segment| segment.name.as_str()));
        parts.push(last);
        parts.retain(|part| !part.is_empty());
        parts.join(".")
    };
    let Some(tag) = tag else {
        return doc! { join(rest, ""): { "$in": keys } };
    };
    // Type and id have to be those of one item.
    match rest.iter().position(|segment| segment.array) {
        None => doc! { join(rest, "type"): tag, join(rest, "id"): { "$in": keys } },
        Some(at) => {
            let (array, rest) = rest.split_at(at + 1);
            doc! { join(array, ""): { "$elemMatch": refers("", rest, Some(tag), keys) } }
        }
    }
}

/// A value in `$in` that is compared with: `null` would fit whatever lacks the field, a pattern whatever it matches.
fn is_comparable(value: &Bson) -> bool {
    match value {
        Bson::Null | Bson::Undefined | Bson::RegularExpression(_) | Bson::Array(_) => false,
        Bson::Document(document) => !document.keys().any(|name| name.starts_with('$')),
        _ => true,
    }
}

/// All that the deletion of documents of one type means.
#[derive(Debug)]
pub(crate) struct Rules<'g> {
    pub(crate) list: Vec<OnDeleteRule<'g>>,
    /// Whether a document may have to be put back as it was, must not have changed since it was read, or is given to hooks.
    pub(crate) whole: bool,
    /// Otherwise, what has to be read of it.
    pub(crate) fields: Document,
    /// Whether something may hold the deletion back: here, or where it cascades to.
    pub(crate) restricts: bool,
    /// Whether something is derived of the documents in others, or they claim values.
    pub(crate) derives: bool,
    /// Whether hooks are called with the deleted documents.
    pub(crate) has_hooks: bool,
    /// Whether documents are removed that a deletion has kept: of those that refer to them with `cascade`, the ones that are not deleted
    /// hold the purge back.
    purges: bool,
}

impl<'g> Rules<'g> {
    /// Whether nothing depends on the documents, so that they need not be read before they are deleted.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty() && !self.derives && !self.has_hooks
    }

    /// The rules by which the references on the other side of links are removed.
    pub(crate) fn two_way(&self) -> Vec<OnDeleteRule<'g>> {
        let links = |rule: &OnDeleteRule<'g>| rule.is_two_way() && rule.detaches();
        self.list.iter().copied().filter(links).collect()
    }

    pub(crate) fn for_model(graph: &'g Graph, meta: &DocumentMeta) -> Rules<'g> {
        let list = rules(graph, meta);
        let mut fields = doc! { "_id": 1 };
        for rule in &list {
            read_too(&mut fields, rule.edge.by());
            if let Some((back, _)) = rule.back {
                read_too(&mut fields, &back.path);
            }
        }
        let derives = graph.derived_from(meta).next().is_some()
            || graph.is_child_of_others(meta)
            || graph.is_claimed(meta);
        let has_hooks = meta.has_hooks();
        let is_compared = |rule: &OnDeleteRule<'_>| {
            rule.on_delete() == OnDelete::Restrict || rule.is_two_way() || rule.edge.by() != "_id"
        };
        let whole = has_hooks || list.iter().any(is_compared);
        let restrict = |edge: &Edge| edge.reference.on_delete == OnDelete::Restrict;
        let restricts = graph.incoming(meta).any(restrict)
            || graph
                .cascades(meta, |_| true)
                .into_iter()
                .any(|below| graph.incoming(below).any(restrict));
        Rules {
            list,
            whole,
            fields,
            restricts,
            derives,
            has_hooks,
            purges: false,
        }
    }

    /// The same for a purge.
    pub(crate) fn for_purge(graph: &'g Graph, meta: &DocumentMeta) -> Rules<'g> {
        let mut rules = Rules::for_model(graph, meta);
        let keeps = |rule: &OnDeleteRule<'_>| rule.keeps_holders();
        rules.purges = true;
        rules
            .fields
            .extend(meta.soft_delete.map(|name| (name.to_owned(), Bson::Int32(1))));
        rules.whole |= rules.list.iter().any(keeps);
        rules.restricts |= rules.list.iter().any(keeps);
        rules
    }
}

fn rules<'g>(graph: &'g Graph, meta: &DocumentMeta) -> Vec<OnDeleteRule<'g>> {
    graph
        .incoming(meta)
        .filter(|edge| edge.reference.on_delete != OnDelete::Keep)
        .filter_map(|edge| OnDeleteRule::new(graph, edge, meta))
        .collect()
}

/// A deleted document as it is inserted again: updates that its copies, and the copies of it, have missed are pending with the
/// token.
pub(crate) fn again(
    graph: &Graph,
    meta: &DocumentMeta,
    raw: &RawDocumentBuf,
    token: Token,
) -> crate::Result<RawDocumentBuf> {
    let mut document = decoded(raw)?;
    let mut own = match document.remove(OWN) {
        Some(Bson::Document(own)) => own,
        _ => Document::new(),
    };
    if graph.has_versions(meta) {
        own.insert(name_of(VERSION), first_version());
    }
    let mut pending = all_fields();
    // Its children may have changed while it was not there.
    if graph.derived_in(meta).next().is_some() {
        pending.insert(CHILDREN, Token::new());
        own.insert(name_of(REVISION), first_version());
    }
    without_children(graph, meta, &mut document);
    // In the place of what was pending in it: another process that deletes it finds other work than that which it was deleted with.
    own.insert(name_of(PENDING), mark(token, pending));
    document.insert(OWN, own);
    encoded(&document)
}

#[cfg(test)]
mod tests;
