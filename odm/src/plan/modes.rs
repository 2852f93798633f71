//! How a write runs. [`WritePlan::modes`] is the whole decision; writes without a plan are [`Mode::Plain`].

use crate::graph::edge::{Edge, TwoWay};
use crate::graph::{Graph, sync};
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::plan::operation::{Batching, Write, WriteKind, refers_to_its_kind};
use crate::plan::targets::{self, AddedReferences};
use crate::plan::touches::Affected;
use crate::store::queue::QueueKey;
use crate::{Odm, Result};
use mongodb::bson::{Bson, RawDocumentBuf};
use std::collections::HashSet;

/// What writes ask for beside themselves. Writes that ask for nothing have no plan.
#[derive(Debug)]
pub(crate) struct WritePlan {
    /// The references that they add, whose targets have to exist.
    pub(crate) targets: Vec<AddedReferences>,
    /// The two-way references that they touch.
    pub(crate) links: Vec<TwoWay>,
    /// The derived values that they affect, by when these follow.
    pub(crate) affected: Affected,
    /// Whether they may take children away from parents in which something is derived of them: the documents before the write say which
    /// parents these are.
    pub(crate) moves_children: bool,
    /// Whether pending work may take the place of a transaction that meets others again and again.
    may_fall_back: bool,
    /// Whether it has done so.
    has_fallen_back: bool,
}

/// How writes that belong together are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One command, and nothing beside it: that of writes without a plan.
    Plain,
    /// Between two checks of its targets. Values derived of it follow as pending work, with `together` in one pass with that of other
    /// writes of this process at the same document.
    Checked { together: bool },
    /// A transaction of its own.
    Own { may_fall_back: bool },
    /// In the caller's transaction.
    Joined,
    /// The same statements on a server without transactions.
    Standalone,
}

/// The modes of a plan. The deployment is asked only where it makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modes {
    One(Mode),
    ByDeployment {
        with_transactions: Mode,
        standalone: Mode,
    },
}

impl WritePlan {
    /// `None` where the writes ask for nothing beside themselves, which is decided without a question to the server.
    ///
    /// # Errors
    /// [`Error::Models`](crate::Error::Models) for a document with references that is not registered,
    /// [`Error::UnknownCopies`](crate::Error::UnknownCopies), and a reference that can't be read.
    pub(crate) fn for_writes(
        odm: &Odm,
        batching: Batching,
        writes: &[Write],
    ) -> Result<Option<Box<WritePlan>>> {
        let graph = odm.graph();
        let mut known = None;
        let mut are_bare = true;
        for write in writes {
            if known != Some(write.meta.collection) {
                known = Some(write.meta.collection);
                are_bare &= is_bare(odm, write.meta)?;
            }
        }
        if are_bare {
            return Ok(None);
        }
        WritePlan::for_related(graph, batching, writes)
    }

    /// The same of writes of documents that are related to others.
    fn for_related(graph: &Graph, batching: Batching, writes: &[Write]) -> Result<Option<Box<WritePlan>>> {
        let mut links: Vec<TwoWay> = Vec::new();
        let mut affected = Affected::default();
        for write in writes {
            affected = affected.or(write.affected(graph));
            for (two_way, edge) in graph.outgoing(write.meta).filter_map(with_other_side) {
                if !links.contains(&two_way) && write.touches_reference(edge) {
                    links.push(two_way);
                }
            }
        }
        let targets = targets::added_references(graph, writes.iter())?;
        if targets.is_empty() && links.is_empty() && !affected.is_any() {
            return Ok(None);
        }
        let moves_children = affected.is_any() && writes.iter().any(|write| write.moves_children(graph));
        Ok(Some(Box::new(WritePlan {
            // Writes that are sent together are not sent again.
            may_fall_back: batching == Batching::Single && links.is_empty() && may_fall_back(graph, writes),
            targets,
            links,
            affected,
            moves_children,
            has_fallen_back: false,
        })))
    }

    /// How the writes run, in the caller's transaction (`joined`) or out of one.
    pub(crate) fn modes(&self, joined: bool) -> Modes {
        let is_linked = !self.links.is_empty();
        let needs_atomicity = is_linked || self.affected.atomic || self.moves_children;
        if self.has_fallen_back || !needs_atomicity {
            return Modes::One(Mode::Checked {
                together: self.has_fallen_back,
            });
        }
        if joined {
            return Modes::One(Mode::Joined);
        }
        Modes::ByDeployment {
            with_transactions: Mode::Own {
                may_fall_back: self.may_fall_back,
            },
            // Copies that can't be atomic are eventual there: the documents record pending work.
            standalone: if is_linked || self.moves_children {
                Mode::Standalone
            } else {
                Mode::Checked { together: false }
            },
        }
    }

    /// Pending work takes the place of the transaction.
    pub(crate) fn fall_back(&mut self) {
        self.has_fallen_back = true;
    }

    /// The same, if it has done so in the plan of the write that this one replaces.
    pub(crate) fn fall_back_as(&mut self, replaced: &WritePlan) {
        self.has_fallen_back = replaced.has_fallen_back && self.may_fall_back;
    }

    /// The added references whose targets have to be queried before the writes. The sources of copies were read when these were filled
    /// in, and a missing one was refused there.
    pub(crate) fn targets_to_ask(&self, graph: &Graph, in_transaction: bool) -> Vec<AddedReferences> {
        let is_found_later =
            |edge: &Edge| !edge.copies.is_empty() || in_transaction && sync::is_locked(graph, edge);
        // A statement that locks a target does not compare its fields.
        let is_asked = |one: &&AddedReferences| !one.same.is_empty() || !is_found_later(one.edge(graph));
        self.targets.iter().filter(is_asked).cloned().collect()
    }

    /// The documents that its transaction will write, as far as they are known before: those that the writes name by their ids, and those
    /// on the other end of their references, which are locked or changed. Replacements and deletions wait at their own documents
    /// only: which references a replacement adds is not known before it is sent.
    pub(crate) fn turns(graph: &Graph, writes: &[Write]) -> Vec<QueueKey> {
        let mut documents = named_by_ids(writes);
        let is_written = |edge: &&Edge| edge.is_two_way() || sync::is_locked(graph, edge);
        for write in writes {
            if matches!(write.what, WriteKind::Replace(_) | WriteKind::Delete(_)) {
                continue;
            }
            for edge in graph.outgoing(write.meta).filter(is_written) {
                let mut add = |target: crate::graph::ReferenceTarget, key: &Key, value: &Bson| {
                    if *value != Bson::Null {
                        documents.push(QueueKey {
                            collection: target.meta.collection,
                            by: edge.by(),
                            key: key.clone(),
                        });
                    }
                };
                // What can't be read was refused when the plan was made.
                let _ = write.each_added(edge, &mut add);
            }
        }
        documents
    }
}

/// The added references whose targets are not locked by the transaction of the writes, as the sources of its copies and its parents are:
/// locking finds those that are missing.
pub(crate) fn unlocked(
    graph: &Graph,
    mut added: Vec<AddedReferences>,
    in_transaction: bool,
) -> Vec<AddedReferences> {
    added.retain(|one| !(in_transaction && sync::is_locked(graph, one.edge(graph))));
    added
}

/// The documents that writes name by their ids: transactions of this process that write one of them take turns.
pub(crate) fn named_by_ids(writes: &[Write]) -> Vec<QueueKey> {
    let named = writes.iter().filter_map(|write| {
        let one = write.changed_id();
        Some(QueueKey {
            collection: write.meta.collection,
            by: "_id",
            key: Key::of_bson(one.or_else(|| write.upserted_id())?),
        })
    });
    named.collect()
}

fn with_other_side(edge: &Edge) -> Option<(TwoWay, &Edge)> {
    Some((edge.two_way()?, edge))
}

/// Whether nothing refers to documents of this type, and they refer to nothing: a write of them is never more than itself.
///
/// # Errors
/// [`Error::Models`](crate::Error::Models) for a document with references that is not registered;
/// [`Error::UnknownCopies`](crate::Error::UnknownCopies).
pub(crate) fn is_bare(odm: &Odm, meta: &'static DocumentMeta) -> Result<bool> {
    let graph = odm.graph();
    graph.is_registered(meta)?;
    odm.may_write(meta)?;
    Ok(graph.outgoing(meta).next().is_none() && !graph.takes_part(meta))
}

/// Whether the writes are one update of a document by its id, or one insert, and nothing but copies depends on it, none of them
/// declared `consistency = atomic`, and no claim. A value that is computed from children is left out: deriving it again costs more than
/// a transaction.
fn may_fall_back(graph: &Graph, writes: &[Write]) -> bool {
    let [write] = writes else {
        return false;
    };
    let is_of_one = match &write.what {
        WriteKind::Insert(_) => true,
        WriteKind::Update(update) => update.one.is_some() && !update.upsert,
        WriteKind::UpdateMany(_) | WriteKind::Replace(_) | WriteKind::Delete(_) => false,
    };
    let claims = write.changed_fields();
    let claims = || {
        graph
            .global_keys(write.meta)
            .any(|key| key.reads().any(|field| claims.is_of(field)))
    };
    let is_child = || graph.derived_from(write.meta).next().is_some() || graph.is_child_of_others(write.meta);
    is_of_one && !is_child() && !claims() && !graph.leads_to_atomic(write.meta)
}

/// Whether new documents have to be inserted by one operation: they may refer to each other, or would link one document with
/// two of them, which is refused where both are seen.
pub(crate) fn belong_together<'d>(
    odm: &Odm,
    meta: &DocumentMeta,
    documents: impl Iterator<Item = &'d RawDocumentBuf> + Clone,
) -> bool {
    let graph = odm.graph();
    refers_to_its_kind(graph, meta)
        || graph.outgoing(meta).any(|edge| {
            let claims = graph.inverse(edge).is_some_and(|inverse| !inverse.list);
            let mut claimed: HashSet<Key> = HashSet::new();
            let mut is_claimed = |document: &RawDocumentBuf| {
                let keys: HashSet<Key> = edge.all_keys(document).into_iter().collect();
                keys.into_iter().any(|key| !claimed.insert(key))
            };
            claims && documents.clone().any(&mut is_claimed)
        })
}

#[cfg(test)]
#[path = "modes_tests.rs"]
mod tests;
