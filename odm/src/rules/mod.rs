//! What writes have to keep true, a folder a rule: references exist, deletions, two-way links, copies, values of children, buckets.

pub(crate) mod bucket;
pub(crate) mod children;
pub(crate) mod copy;
pub(crate) mod derived;
pub(crate) mod exists;
pub(crate) mod link;
pub(crate) mod on_delete;
pub(crate) mod others;
pub(crate) mod pending;
