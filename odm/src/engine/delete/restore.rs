//! Restores documents that were deleted although another client has come to refer to them meanwhile.

use crate::Result;
use crate::engine::delete::walk::{DeletionWalk, WalkLevel};
use crate::engine::write::drain;
use crate::model::key::Key;
use crate::model::own_fields;
use crate::rules::claims;
use crate::rules::library::LibraryUpdate;
use crate::rules::on_delete::{OnDeleteRule, again};
use crate::rules::pending::record_all;
use crate::rules::rule::Effects;
use crate::store::batch::document_id as id;
use crate::store::each;
use mongodb::bson::{Bson, RawDocumentBuf, doc};
use std::collections::HashSet;

impl<'a> DeletionWalk<'a, '_> {
    /// Restores the documents of the deleted batch that new references restrict.
    pub(super) async fn restore_referenced(&mut self, level: &mut WalkLevel<'a>) -> Result<()> {
        let restricting = level.restricting(self.cx, true);
        if restricting.first(&level.batch).await?.is_none() {
            return Ok(());
        }
        let (mut back, mut refusal) = (HashSet::new(), None);
        for rule in level.rules.restricting(true) {
            let (gone, there) = self.gone(level, rule).await?;
            self.renew(rule, &there).await?;
            let Some((referred, by)) = restricting.all(rule, &gone).await? else {
                continue;
            };
            refusal = refusal.or(by);
            back.extend(referred);
        }
        let Some(refusal) = refusal else {
            return Ok(());
        };
        let left_out = self.put_back(level, &back).await?;
        // Another client was faster.
        let twins = |one: &&RawDocumentBuf| left_out.contains(&Key::of_bson(&id(one)));
        if !left_out.is_empty() {
            for rule in level.rules.list.iter().copied() {
                self.renew(rule, level.batch.iter().filter(twins)).await?;
            }
        }
        let error = refusal.error(&self.cx, level.meta, &level.batch).await?;
        let count = if level.root {
            &mut self.done.deleted
        } else {
            &mut self.done.cascaded
        };
        *count = count.saturating_sub(back.len() as u64);
        level.refused = Some(error);
        // For the others, the rules are still applied to new references.
        level
            .batch
            .retain(|document| !back.contains(&Key::of_bson(&id(document))));
        for key in back {
            self.on_the_way.remove(&(level.meta.collection, key));
        }
        Ok(())
    }

    /// Inserts these documents of the batch again, as they were. Returns the ids of those that exist already.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`](crate::Error::DuplicateKey) where another document has a unique value of one: that stays deleted.
    async fn put_back(&mut self, level: &WalkLevel<'a>, ids: &HashSet<Key>) -> Result<HashSet<Key>> {
        let mut back: Vec<RawDocumentBuf> = level
            .batch
            .iter()
            .filter(|document| ids.contains(&Key::of_bson(&id(document))))
            .cloned()
            .collect();
        if back.is_empty() {
            return Ok(HashSet::new());
        }
        let graph = self.cx.odm.graph();
        let mut effects = Effects::deferred(own_fields::Token::new());
        if graph.takes_part(level.meta) {
            for document in &mut back {
                *document = again(graph, level.meta, document, effects.later())?;
            }
            effects.deferred.add(level.meta, effects.later());
        }
        let left_out = if graph.is_claimed(level.meta) {
            claims::put_back(&self.cx, level.meta, &back).await?
        } else {
            self.cx.restore(level.meta, &back).await?
        };
        // Its links are restored.
        for rule in level.rules.two_way() {
            let holder = rule.edge.holder;
            for document in &back {
                for (filter, mut change) in rule.attachments(document) {
                    effects.complete(graph, LibraryUpdate::link(holder), &mut change.update);
                    self.cx.change(holder, filter, change).await?;
                }
            }
        }
        let drained = effects.deferred.drain(&self.cx).await;
        // The documents are restored, whatever is still pending: the caller needs the error that names the restricting
        // references.
        drain::log_undrained(each::but_for_the_deployment(drained)?);
        Ok(left_out)
    }

    /// Derives again what depends on this reference, where documents refer to deleted ones that another client has inserted
    /// again: a document that came before that has copies of the previous ones, and is not counted in the new ones.
    pub(super) async fn renew<'b>(
        &mut self,
        rule: OnDeleteRule<'a>,
        there: impl IntoIterator<Item = &'b RawDocumentBuf> + Clone,
    ) -> Result<()> {
        let holder = rule.edge.holder;
        if rule.edge.consistency().is_none() && !self.cx.odm.graph().is_parent_edge(rule.edge) {
            return Ok(());
        }
        if let Some(refers) = rule.holders(there) {
            record_all(&self.cx.unvalidated(), holder, refers, self.token).await?;
            // A process whose models lack copies leaves the pending work to one that has them.
            if self.cx.odm.may_write(holder).is_ok() {
                self.deferred.add(holder, self.token);
            }
        }
        Ok(())
    }

    /// The documents of the deleted batch that are still missing, and those that were inserted again: a reference to an
    /// existing document is right.
    pub(super) async fn gone(
        &self,
        level: &WalkLevel<'a>,
        rule: OnDeleteRule<'a>,
    ) -> Result<(Vec<RawDocumentBuf>, Vec<RawDocumentBuf>)> {
        let by = rule.edge.by();
        let keys: Vec<Bson> = level.batch.iter().filter_map(|one| rule.key(one)).collect();
        let again = self
            .cx
            .every(level.meta, doc! { by: { "$in": keys } }, doc! { "_id": 1, by: 1 })
            .await?;
        let again: HashSet<Key> = again
            .iter()
            .filter_map(|one| rule.key(one))
            .map(|key| Key::of_bson(&key))
            .collect();
        let is_gone = |document: &&RawDocumentBuf| {
            rule.key(document)
                .is_some_and(|key| !again.contains(&Key::of_bson(&key)))
        };
        Ok(level
            .batch
            .iter()
            .cloned()
            .partition(|document| is_gone(&document)))
    }
}
