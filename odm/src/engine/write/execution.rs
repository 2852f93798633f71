//! The context of an operation.

use crate::model::meta::DocumentMeta;
use crate::plan::operation::{Sent, What, Write};
use crate::plan::outcome::Outcome;
use crate::rules::on_delete;
use crate::store::core::Core;
use crate::store::session::Shared;
use crate::store::trace::Trace;
use crate::{Error, Odm};

/// How a write of several is executed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum Way {
    /// In one command with the others.
    Together,
    /// As an operation of its own.
    ByItself,
    /// A deletion by the rules of other documents, with those of the same collection.
    Walk,
}

/// The context of an operation.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Execution<'a> {
    pub(in crate::engine) odm: &'a Odm,
    /// The collection, of an operation on one.
    pub(in crate::engine) core: Option<&'a Core>,
    /// The caller's transaction.
    pub(in crate::engine) session: Option<&'a Shared>,
    pub(in crate::engine) trace: &'a Trace,
    pub(in crate::engine) ordered: bool,
    pub(in crate::engine) sent: Sent,
    /// Whether the copies follow the write, since its documents are contended.
    pub(in crate::engine) eventual: bool,
}

impl Execution<'_> {
    /// The collection of a write, within this session or out of one.
    pub(in crate::engine) fn collection(&self, meta: &'static DocumentMeta, session: Option<Shared>) -> Core {
        match self.core {
            Some(core) => core.within(session),
            None => Core::new(self.odm, meta, session),
        }
    }

    /// How a write of several is executed.
    pub(in crate::engine) fn way(&self, write: &Write) -> Way {
        if self.is_walk(write) {
            Way::Walk
        } else if self.sent != Sent::Alone && write.is_upsert_in_steps(self.odm.graph()) {
            Way::ByItself
        } else {
            Way::Together
        }
    }

    /// Whether rules of other documents apply to a deletion, or it keeps the documents.
    pub(in crate::engine) fn is_walk(&self, write: &Write) -> bool {
        let What::Delete(delete) = &write.what else {
            return false;
        };
        let is_kept = write.meta.soft_delete.is_some() && !delete.removes;
        is_kept || on_delete::has_rules(self.odm.graph(), write.meta)
    }

    /// The outcome of an operation of which these writes were refused.
    pub(in crate::engine) fn refused(&self, errors: Vec<(usize, Error)>) -> Outcome {
        Outcome {
            errors,
            ordered: self.ordered,
            ..Outcome::default()
        }
    }
}
