//! What writes have to keep true, a folder a rule: references exist, deletions, two-way links, copies, values of children, buckets.
//!
//! # Values that are kept in sync
//!
//! One mechanism serves all of them. A write that can affect a copy records pending work in the documents that it writes, in
//! the same atomic write (`_odm.pending`); then the work is applied, and only then cleared, unless a later write has recorded
//! more. Applying it means the same for every kind of write:
//!
//! - the document's own copies are compared with their sources again,
//! - copies of it in other documents are updated, with its version, where they have an older one,
//! - the fields that its parents derive from it are derived again.
//!
//! A child that leaves a parent does not refer to it any more, so the parent's fields are derived again in the transaction that
//! takes the child away, or its own pending work says so: see `orphans`. On a standalone server, which has no transactions,
//! that is a second statement after the write.
//!
//! Each of these can be done twice, by several processes at once and in any order, so any process that finds pending work may
//! apply it: the writer, or [`recover`](crate::Odm::recover) after the writer has ended. Where the deployment has transactions
//! and the copies are not declared eventual, the same is done within one transaction, in which nothing needs to be written down
//! but what it modifies: it locks the sources that it copies from and the parents that it changes by modifying them, so that of
//! two writers that could miss each other one waits.

pub(crate) mod bucket;
pub(crate) mod children;
pub(crate) mod copy;
pub(crate) mod derived;
pub(crate) mod exists;
pub(crate) mod image;
pub(crate) mod lease;
pub(crate) mod link;
pub(crate) mod on_delete;
pub(crate) mod others;
pub(crate) mod pending;
