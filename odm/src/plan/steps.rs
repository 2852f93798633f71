//! The order in which the writes of an operation are executed, and which of them together. Pure: nothing is asked of a server.

use crate::graph::{self, Graph};
use crate::model::document::DocumentMeta;
use crate::plan::operation::{Batching, DeleteWrite, Write, WriteKind};

/// How the writes of a step are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StepKind {
    /// In one command with each other.
    Together,
    /// One write, as an operation of its own.
    ByItself,
    /// Deletions of documents of one collection by the rules of other documents, or that keep these documents.
    Walk,
}

/// Writes that are executed together.
pub(crate) struct WriteStep {
    pub(crate) kind: StepKind,
    pub(crate) writes: Vec<Write>,
}

impl StepKind {
    /// How a write of an operation is executed.
    fn of_write(graph: &Graph, write: &Write, batching: Batching) -> StepKind {
        if is_walk(graph, write) {
            StepKind::Walk
        } else if batching != Batching::Single && write.is_upsert_in_steps(graph) {
            StepKind::ByItself
        } else {
            StepKind::Together
        }
    }
}

/// Whether rules of other documents apply to a deletion, or it keeps the documents.
fn is_walk(graph: &Graph, write: &Write) -> bool {
    let WriteKind::Delete(delete) = &write.what else {
        return false;
    };
    keeps(write.meta, delete) || graph.has_deletion_rules(write.meta)
}

/// Whether a deletion keeps the documents.
fn keeps(meta: &DocumentMeta, delete: &DeleteWrite) -> bool {
    meta.soft_delete.is_some() && !delete.removes
}

/// Whether both are deletions of one collection that keep their documents, or both remove them.
fn are_alike(one: &Write, other: &Write) -> bool {
    let keeps = |write: &Write| match &write.what {
        WriteKind::Delete(delete) => keeps(write.meta, delete),
        _ => false,
    };
    graph::is_itself(one.meta, other.meta) && keeps(one) == keeps(other)
}

/// The steps of an operation: in the order of the writes, deletions to which rules apply by their collections, upserts of more than one
/// statement each by itself, and the others between them together. Without an order the others come first, and deletions last.
pub(crate) fn steps(graph: &Graph, mut writes: Vec<Write>, batching: Batching) -> Vec<WriteStep> {
    let kind = |write: &Write| StepKind::of_write(graph, write, batching);
    if !batching.is_ordered() {
        let is_walk = |write: &Write| kind(write) == StepKind::Walk;
        writes.sort_by_key(|write| (kind(write), is_walk(write).then_some(write.meta.collection)));
    }
    let mut steps: Vec<WriteStep> = Vec::new();
    for write in writes {
        let kind = kind(&write);
        let joins = |step: &&mut WriteStep| {
            step.kind == kind
                && match kind {
                    StepKind::Together => true,
                    StepKind::ByItself => false,
                    StepKind::Walk => step.writes.first().is_some_and(|first| are_alike(&write, first)),
                }
        };
        match steps.last_mut().filter(joins) {
            Some(step) => step.writes.push(write),
            None => steps.push(WriteStep {
                kind,
                writes: vec![write],
            }),
        }
    }
    steps
}
