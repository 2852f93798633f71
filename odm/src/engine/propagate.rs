//! Applies the effects of a write on other documents: in its transaction layer by layer, as the rules pass on what they change.

use crate::Result;
use crate::engine::images::Before;
use crate::graph::is;
use crate::model::document::DocumentMeta;
use crate::model::key;
use crate::model::key::Key;
use crate::plan::links::Effect;
use crate::plan::operation::Write;
use crate::plan::outcome::Outcome;
use crate::plan::touches::{Changed, ChangedFields, Image};
use crate::rules::rule::{DeferredWork, Effects, PassedOn};
use crate::rules::{self, link, needed};
use crate::store::batch::{by_ids, id};
use crate::store::scope::Scope;
use mongodb::bson::{Document, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

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

impl Effects {
    /// Applies the effects of a write on the other side of two-way references. Returns the documents that it changes there,
    /// whose own effects are still to be applied.
    pub(crate) async fn link(
        &mut self,
        scope: &Scope<'_>,
        own: Option<Own<'_>>,
        links: &[Effect],
    ) -> Result<Beside> {
        if links.is_empty() {
            return Ok(Beside::default());
        }
        let beside = look(scope, own, links).await?;
        link::apply(scope, scope.odm.graph(), links, self).await?;
        Ok(beside)
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

    /// Applies the effects of writes that changed documents of a collection as these images show.
    async fn propagate(
        &mut self,
        scope: &Scope<'_>,
        meta: &'static DocumentMeta,
        images: &[Image],
    ) -> Result<()> {
        // The writes themselves have been validated.
        let scope = &scope.unvalidated();
        for rule in rules::all() {
            rule.after_write(scope, meta, images, self).await?;
        }
        Ok(())
    }

    /// Applies the changes that were passed on, and those that these pass on in turn. Returns the number of changed documents,
    /// and the work that is left after the commit.
    pub(crate) async fn end(mut self, scope: &Scope<'_>) -> Result<(u64, DeferredWork)> {
        let scope = &scope.unvalidated();
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
                self.next_layer(scope, meta, which, &changed).await?;
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
        for rule in rules::all() {
            rule.after_effects(scope, meta, &documents, self).await?;
        }
        Ok(())
    }
}

/// The before-images of the documents that links will change, except those of the writes themselves.
async fn look(scope: &Scope<'_>, own: Option<Own<'_>>, links: &[Effect]) -> Result<Beside> {
    let graph = scope.odm.graph();
    let inserted = own.as_ref().map(Own::inserted).unwrap_or_default();
    let mut beside: Vec<(&'static DocumentMeta, Vec<Key>)> = Vec::new();
    for effect in links {
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
