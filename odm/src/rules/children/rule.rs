//! The rule of subsets and computed fields: a write of children updates the fields that their parents derive from them.

use crate::Result;
use crate::graph::Graph;
use crate::graph::edge::{Derived, Edge, EdgeId};
use crate::graph::sync::is_atomic;
use crate::model::document::DocumentMeta;
use crate::model::key::{self, Key};
use crate::model::meta::names::root;
use crate::model::own_fields::{CHILDREN, REVISION, Token, name_of};
use crate::plan::images::{Image, before_and_after};
use crate::plan::operation::Write;
use crate::plan::touches::{ChangedDocument, WrittenFields};
use crate::rules::children::parents::{parents_of, previous_parents};
use crate::rules::children::value::OfChildren;
use crate::rules::children::{UpdatedParents, adopt, missing, orphans, refresh, update_parents};
use crate::rules::derived::{DerivedValue, RederiveReport};
use crate::rules::others::note_parents;
use crate::rules::pending::{first_version, has_entry, is_gone, record_all};
use crate::rules::rule::{
    DeferredWork, Draining, Effects, MetaRef, NewDocuments, Replacing, RuleStep, SyncRule, Updating, nothing,
};
use crate::store::batch::id;
use crate::store::cx::Cx;
use crate::store::each::WriteReport;
use crate::store::fields::put;
use futures::future::FutureExt;
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

/// The rule of subsets and computed fields.
pub(crate) struct Deriving;

impl SyncRule for Deriving {
    fn values<'g>(&self, graph: &'g Graph) -> Vec<Box<dyn DerivedValue + 'g>> {
        let of_children = graph.derived().iter().map(|derived| OfChildren { derived });
        of_children
            .map(|value| -> Box<dyn DerivedValue> { Box::new(value) })
            .collect()
    }

    /// A new parent starts without children, unless the reference allows children to be inserted first.
    fn fill_new<'s>(&'s self, cx: &'s Cx<'_>, meta: MetaRef, new: &'s mut NewDocuments<'_>) -> RuleStep<'s> {
        async move {
            let graph = cx.odm.graph();
            if graph.may_have_children(meta) {
                // After a commit too: within a transaction those that come at the same time can't be seen.
                new.pending.insert(CHILDREN, Token::new());
            }
            if graph.derived_in(meta).next().is_none() {
                return Ok(());
            }
            new.own.insert(name_of(REVISION), first_version());
            for document in new.decoded()? {
                without_children(graph, meta, document);
            }
            Ok(())
        }
        .boxed()
    }

    fn fill_update<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        meta: MetaRef,
        updating: &'s mut Updating<'_>,
    ) -> RuleStep<'s> {
        async move {
            if !updating.upsert {
                return Ok(());
            }
            let graph = cx.odm.graph();
            for derived in graph.derived_in(meta) {
                if let Some(nothing) = derived.nothing() {
                    put(updating.update, "$setOnInsert", derived.field.name, nothing);
                }
            }
            if graph.derived_in(meta).next().is_some() {
                put(updating.update, "$setOnInsert", REVISION, first_version().into());
            }
            if graph.may_have_children(meta) {
                updating.pending.insert(CHILDREN, Token::new());
            }
            Ok(())
        }
        .boxed()
    }

    /// The derived fields stay as they are stored.
    fn fill_replacement<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        meta: MetaRef,
        replacing: &'s mut Replacing<'_>,
    ) -> RuleStep<'s> {
        async move {
            let graph = cx.odm.graph();
            for derived in graph.derived_in(meta) {
                replacing.document.remove(derived.field.name);
                let name = format!("${}", derived.field.name);
                match derived.nothing() {
                    Some(nothing) => replacing.computed.insert(
                        derived.field.name,
                        doc! { "$ifNull": [name, { "$literal": nothing }] },
                    ),
                    None => replacing.computed.insert(derived.field.name, name),
                };
            }
            // A field that others derive of its children may be lost by this.
            if !replacing.pending.is_empty() && graph.is_parent_of_others(meta) {
                replacing.pending.insert(CHILDREN, Token::new());
            }
            Ok(())
        }
        .boxed()
    }

    fn fields(&self, graph: &Graph, meta: &DocumentMeta, names: &mut HashSet<String>) {
        for derived in graph.derived_from(meta) {
            names.extend(derived.reads(graph).iter().map(|name| root(name).to_owned()));
        }
        let parents = graph.derived_in(meta).map(|derived| graph.parent_edge(derived));
        names.extend(parents.map(|edge| root(edge.by()).to_owned()));
        names.extend(graph.parent_fields_of_others(meta));
    }

    fn compares(&self, graph: &Graph, meta: &DocumentMeta, _: &[&Write]) -> bool {
        graph.derived_from(meta).next().is_some() || graph.is_child_of_others(meta)
    }

    fn after_write<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        meta: MetaRef,
        images: &'s [Image],
        effects: &'s mut Effects,
    ) -> RuleStep<'s> {
        let graph = cx.odm.graph();
        if graph.all_derived_from(meta).next().is_none() && !graph.is_child_of_others(meta) {
            return nothing();
        }
        async move {
            note_parents(cx, meta, before_and_after(images)).await?;
            if !effects.are_in_transaction() {
                for (edge, keys) in previous_parents(graph, meta, images) {
                    effects.deferred.add_parents(edge, keys);
                }
                return Ok(());
            }
            let updated = update_parents(cx, meta, images, effects).await?;
            let UpdatedParents {
                parents,
                passed_on,
                absent,
            } = updated;
            effects.copies += parents;
            if !absent.is_empty() {
                leave_for_missing_parents(cx, meta, images, absent, effects).await?;
            }
            for (parent, by, key, derived) in passed_on {
                effects.pass_on(graph, parent, (by, vec![key]), vec![derived.to_owned()]);
            }
            Ok(())
        }
        .boxed()
    }

    fn after_effects<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        meta: MetaRef,
        documents: &'s [ChangedDocument],
        effects: &'s mut Effects,
    ) -> RuleStep<'s> {
        async move {
            let graph = cx.odm.graph();
            let all_changed: HashMap<Key, &WrittenFields> = documents
                .iter()
                .map(|(document, changed)| (id(document), changed))
                .collect();
            let kept = |derived: &Derived, child: &RawDocumentBuf| {
                let changed = all_changed.get(&id(child));
                is_atomic(derived.consistency, true)
                    && changed.is_some_and(|changed| changed.is_derived(graph, derived))
            };
            let children = documents.iter().map(|(document, _)| document);
            for (edge, list, keys) in parents_of(graph, meta, children, kept) {
                let parents: Vec<Bson> = keys.iter().map(Key::to_bson).collect();
                let found = refresh(cx, edge, &list, keys.clone(), effects.pending())
                    .await?
                    .all()?;
                effects.copies += found;
                if found < keys.len() as u64 && edge.may_name_missing() {
                    leave_for_absent(cx, meta, (edge, &list, keys), documents, effects).await?;
                }
                for derived in list {
                    if graph.is_read(derived.parent, derived.field.name) {
                        let changed = vec![derived.field.name.to_owned()];
                        effects.pass_on(graph, derived.parent, (edge.by(), parents.clone()), changed);
                    }
                }
            }
            Ok(())
        }
        .boxed()
    }

    fn drain<'s>(&'s self, cx: &'s Cx<'_>, meta: MetaRef, draining: &'s mut Draining) -> RuleStep<'s> {
        async move {
            let graph = cx.odm.graph();
            let token = draining.token;
            let has_children =
                |document: &&RawDocumentBuf| has_entry(document, CHILDREN) && !is_gone(document);
            let parents: Vec<&RawDocumentBuf> = draining.all().filter(has_children).collect();
            let mut adopted = WriteReport::default();
            adopted.add(adopt(cx, meta, &parents, token.into()).await)?;
            let mut held = graph.derived_in(meta);
            if adopted.is_any() && held.any(|derived| graph.is_read(meta, derived.field.name)) {
                draining.pending.push(meta);
            }
            draining.applied.add(Ok(adopted))?;
            let has_changed = |derived: &Derived, child: &RawDocumentBuf| {
                WrittenFields::pending_in(child).is_derived(graph, derived)
            };
            for (edge, list, keys) in parents_of(graph, meta, draining.all(), has_changed) {
                draining
                    .applied
                    .add(refresh(cx, edge, &list, keys, token.into()).await)?;
                for derived in list {
                    if graph.is_read(derived.parent, derived.field.name) {
                        draining.pending.push(derived.parent);
                    }
                }
            }
            if draining.applied.refused.is_none() {
                let gone: Vec<&RawDocumentBuf> =
                    draining.all().filter(|document| is_gone(document)).collect();
                let noted = note_parents(cx, meta, gone.iter().map(|document| (*document, None))).await;
                draining.applied.and(noted)?;
            }
            Ok(())
        }
        .boxed()
    }

    fn after_commit<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        deferred: &'s DeferredWork,
        token: Token,
    ) -> RuleStep<'s, RederiveReport> {
        async move {
            let mut derived = RederiveReport::default();
            for (edge, keys) in &deferred.parents {
                derive_anew(cx, &cx.odm.graph()[*edge], keys, token, &mut derived).await?;
            }
            Ok(derived)
        }
        .boxed()
    }
}

/// Gives a parent the values that it has without children.
pub(crate) fn without_children(graph: &Graph, meta: &DocumentMeta, document: &mut Document) {
    for derived in graph.derived_in(meta) {
        match derived.nothing() {
            Some(value) => drop(document.insert(derived.field.name, value)),
            None => drop(document.remove(derived.field.name)),
        }
    }
}

/// Leaves pending work where parents of changed children don't exist yet: one may be inserted while this transaction is open, and
/// be derived from the children as they were before.
async fn leave_for_missing_parents(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    images: &[Image],
    absent: Vec<(EdgeId, HashSet<Key>)>,
    effects: &mut Effects,
) -> Result<()> {
    let graph = cx.odm.graph();
    let is_of = |(id, keys): &(EdgeId, HashSet<Key>), child: &RawDocumentBuf| {
        let edge = &graph[*id];
        let mut named = edge.targets.iter().flat_map(|target| edge.keys(*target, child));
        named.any(|key| keys.contains(&key))
    };
    let names_one = |child: &&RawDocumentBuf| absent.iter().any(|absent| is_of(absent, child));
    let written = images.iter().filter_map(|image| image.after());
    let keys: Vec<Key> = written.filter(names_one).map(id).collect();
    for ids in key::chunks(&keys) {
        record_all(cx, meta, doc! { "_id": { "$in": ids } }, effects.later()).await?;
        effects.deferred.add(meta, effects.later());
    }
    // The pending work of a child does not name the previous parents, nor those of a deleted child.
    let left_behind = orphans::left_behind(graph, &absent, images);
    effects
        .deferred
        .notes
        .extend(orphans::note(cx, left_behind).await?);
    for (edge, keys) in absent {
        effects.deferred.add_parents(edge, keys);
    }
    Ok(())
}

/// Leaves pending work in those of these children whose parents don't exist yet. Another client may insert such a parent while
/// this transaction is open, and derive its fields from the children as they were before: the two write different documents, so
/// the server reports no conflict. So its fields are derived once more after the commit.
async fn leave_for_absent(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    (edge, list, keys): (&Edge, &[&Derived], HashSet<Key>),
    children: &[ChangedDocument],
    effects: &mut Effects,
) -> Result<()> {
    let Some(target) = list.first().map(|derived| derived.target) else {
        return Ok(());
    };
    let keys = keys.into_iter().map(|key| (edge.id, key)).collect();
    let absent = missing(cx, target.meta, keys, None).await?.into_iter();
    let absent: HashSet<Key> = absent.flat_map(|(_, keys)| keys).collect();
    let names_one = |child: &RawDocumentBuf| edge.keys(target, child).iter().any(|key| absent.contains(key));
    let left: Vec<&ChangedDocument> = children.iter().filter(|(child, _)| names_one(child)).collect();
    let names: HashSet<&str> = left.iter().flat_map(|(_, changed)| changed.names()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let ids: Vec<Key> = left.iter().map(|(child, _)| id(child)).collect();
    for ids in key::chunks(&ids) {
        effects
            .leave_pending(cx, meta, doc! { "_id": { "$in": ids } }, &names)
            .await?;
    }
    Ok(())
}

impl Effects {
    /// Derives the fields of parents anew that have lost children in this transaction, of which it is not known whether the parents had
    /// them: one of them may be there again, inserted by another client since.
    pub(crate) async fn derive_left(
        &mut self,
        cx: &Cx<'_>,
        meta: &'static DocumentMeta,
        edge: &Edge,
        keys: HashSet<Key>,
    ) -> Result<()> {
        let cx = &cx.unvalidated();
        let graph = cx.odm.graph();
        let list: Vec<&Derived> = graph
            .derived_in(meta)
            .filter(|derived| derived.target.edge == edge.id)
            .collect();
        let parents: Vec<Bson> = keys.iter().map(Key::to_bson).collect();
        self.copies += refresh(cx, edge, &list, keys, self.pending()).await?.all()?;
        for derived in list {
            if graph.is_read(meta, derived.field.name) {
                let changed = vec![derived.field.name.to_owned()];
                self.pass_on(graph, meta, (edge.by(), parents.clone()), changed);
            }
        }
        Ok(())
    }
}

/// Derives in these parents what is derived by this reference, where they are there.
async fn derive_anew(
    cx: &Cx<'_>,
    edge: &Edge,
    keys: &HashSet<Key>,
    token: Token,
    all: &mut RederiveReport,
) -> Result<()> {
    let graph = cx.odm.graph();
    for meta in edge.targets.iter().map(|target| target.meta) {
        let list: Vec<&Derived> = graph
            .derived_in(meta)
            .filter(|derived| derived.target.edge == edge.id)
            .collect();
        if list.is_empty() {
            continue;
        }
        let mut written = WriteReport::default();
        written.add(refresh(cx, edge, &list, keys.clone(), token.into()).await)?;
        if written.is_any() {
            all.pending.push(meta);
        }
        all.written.add(Ok(written))?;
    }
    Ok(())
}
