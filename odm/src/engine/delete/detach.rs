//! Takes the references to deleted documents out of the documents that hold them, with what others derive of these.

use crate::Result;
use crate::engine::delete::walk::{BATCH, DeletionWalk, OnTheWay};
use crate::graph::sync::is_atomic;
use crate::graph::{Graph, is};
use crate::model::copy::Consistency;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::own_fields::CHILDREN;
use crate::plan::touches::changed;
use crate::rules::library::LibraryUpdate;
use crate::rules::on_delete::OnDeleteRule;
use crate::rules::rule::Effects;
use crate::store::batch::document_id as id;
use crate::store::batch::{UpdateSpec, ids};
use crate::store::cx::Cx;
use crate::store::filter::all;
use crate::store::transaction;
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::collections::HashSet;

/// References to deleted documents that are taken out of their holders.
pub(super) struct Detachment<'g> {
    pub(super) rule: OnDeleteRule<'g>,
    /// The ids of the holders.
    pub(super) holders: Vec<Bson>,
    /// The condition of those that still hold such a reference.
    pub(super) filter: Document,
    pub(super) change: UpdateSpec,
    pub(super) parents: LostParents,
}

/// What becomes of the values that the deleted documents derive of the holders, which are their children.
pub(super) enum LostParents {
    /// Nothing: they derive none, or they are deleted in the same transaction.
    Left,
    /// They are derived anew in the transaction that detaches the holders, in the documents of this type with these keys.
    Derived(&'static DocumentMeta, HashSet<Key>),
    /// They are pending in the documents that match, recorded in the transaction that detaches the holders: the documents stay where the
    /// process dies before it deletes them.
    Pending(&'static DocumentMeta, Document),
}

impl Detachment<'_> {
    /// Whether values that are derived of the holders are updated in the transaction that detaches them: those with `consistency = atomic`, and
    /// others of few holders.
    fn is_followed_at_once(&self, graph: &Graph, few: usize) -> bool {
        let edge = self.rule.edge;
        let fields = changed(&self.change.update);
        let but = match self.parents {
            LostParents::Derived(..) => None,
            LostParents::Left | LostParents::Pending(..) => Some(edge),
        };
        let are_read = |modes: fn(Consistency) -> bool| {
            let mut fields = fields.iter();
            fields.any(|field| graph.is_read_in(modes, edge.holder, field, but))
        };
        are_read(|sync| sync == Consistency::Atomic)
            || self.holders.len() <= few && are_read(|sync| is_atomic(sync, true))
    }

    /// Updates the holders, and returns the number of those that were changed. Links count in them and raise their versions; a
    /// holder that is about to be deleted itself keeps its version, which its deletion may require.
    pub(super) async fn apply(
        &self,
        cx: &Cx<'_>,
        on_the_way: &OnTheWay,
        effects: &mut Effects,
    ) -> Result<u64> {
        let (graph, edge) = (cx.odm.graph(), self.rule.edge);
        let has_version = self.rule.is_two_way() && edge.holder.version().is_some();
        let is_going = |id: &Bson| on_the_way.contains(&(edge.holder.collection, Key::of_bson(id)));
        let holders = self.holders.iter().cloned();
        let (going, staying): (Vec<Bson>, Vec<Bson>) = holders.partition(|id| has_version && is_going(id));
        if let LostParents::Pending(meta, which) = &self.parents {
            effects
                .leave_pending(cx, meta, which.clone(), &[CHILDREN])
                .await?;
        }
        let detachment = LibraryUpdate::detachment(edge);
        let is_split = !going.is_empty();
        let mut done = 0;
        for (holders, rewrite) in [(going, detachment.keeping_version()), (staying, detachment)] {
            if holders.is_empty() {
                continue;
            }
            let mut change = self.change.clone();
            let fields = effects.complete(graph, rewrite, &mut change.update);
            let filter = if is_split {
                all([doc! { "_id": { "$in": &holders } }, self.filter.clone()])
            } else {
                self.filter.clone()
            };
            done += cx.change(edge.holder, filter, change).await?;
            effects.pass_on(graph, edge.holder, ("_id", holders), fields);
        }
        if let LostParents::Derived(meta, keys) = &self.parents {
            effects.derive_left(cx, meta, edge, keys.clone()).await?;
        }
        Ok(done)
    }
}

impl<'a> DeletionWalk<'a, '_> {
    /// Removes the references to these documents from the documents that hold them.
    pub(super) async fn detach(
        &mut self,
        meta: &'static DocumentMeta,
        documents: &[RawDocumentBuf],
        rule: OnDeleteRule<'a>,
    ) -> Result<()> {
        let Some(refers) = rule.holders(documents) else {
            return Ok(());
        };
        let holder = rule.edge.holder;
        // A document that is about to be deleted itself keeps its references, or it would have changed.
        let own: HashSet<Key> = if is(holder, meta) {
            documents
                .iter()
                .map(|document| Key::of_bson(&id(document)))
                .collect()
        } else {
            HashSet::new()
        };
        let graph = self.cx.odm.graph();
        let (session, transactions) = (self.cx.session, self.transactions);
        let few = self.cx.odm.fan_out_options().in_transaction;
        // In the application's transaction they are deleted with what they derive.
        let derive = graph.is_parent_edge_of(rule.edge, meta) && session.is_none();
        let keys: Vec<Bson> = documents.iter().filter_map(|parent| rule.key(parent)).collect();
        let mut note = derive && !transactions;
        let change = rule.detachment(documents);
        let mut last = None;
        loop {
            let fields = Some(doc! { "_id": 1 });
            let batch = self
                .cx
                .next_batch(holder, &refers, last.as_ref(), fields, BATCH)
                .await?;
            let mut holders = ids(&batch.documents);
            holders.retain(|id| !own.contains(&Key::of_bson(id)));
            if !holders.is_empty() {
                let filter = all([doc! { "_id": { "$in": &holders } }, refers.clone()]);
                let mut detachment = Detachment {
                    rule,
                    holders,
                    filter,
                    change: change.clone(),
                    parents: if derive {
                        LostParents::Derived(meta, keys.iter().map(Key::of_bson).collect())
                    } else {
                        LostParents::Left
                    },
                };
                let together =
                    (transactions || session.is_some()) && detachment.is_followed_at_once(graph, few);
                if derive && !together {
                    detachment.parents = if transactions {
                        LostParents::Pending(meta, doc! { rule.edge.by(): { "$in": &keys } })
                    } else {
                        LostParents::Left
                    };
                }
                if std::mem::take(&mut note) {
                    let parents = keys.iter().map(Key::of_bson);
                    self.deferred.note_parents(&self.cx, rule.edge, parents).await?;
                }
                let changed = self.detach_batch(&detachment, together).await?;
                self.count(rule, changed);
            }
            last = batch.documents.last().map(id);
            if !batch.more {
                return Ok(());
            }
        }
    }

    /// Detaches some holders: with the values that are derived of them in one transaction, or with pending work for these.
    async fn detach_batch(&mut self, detachment: &Detachment<'_>, together: bool) -> Result<u64> {
        let (cx, token) = (self.cx, self.token);
        let on_the_way = &self.on_the_way;
        let apply = async |cx: Cx<'_>| {
            let mut effects = if together {
                Effects::in_transaction(token)
            } else {
                Effects::deferred(token)
            };
            let changed = detachment.apply(&cx, on_the_way, &mut effects).await?;
            let (_, deferred) = effects.apply(&cx).await?;
            Ok((changed, deferred))
        };
        let is_one = together || matches!(detachment.parents, LostParents::Pending(..));
        let (changed, deferred) = if is_one && cx.session.is_none() {
            transaction::take_turns(cx, Vec::new(), async |session| apply(cx.within(&session)).await).await?
        } else {
            apply(cx).await?
        };
        self.deferred.add_all(deferred);
        Ok(changed)
    }
}
