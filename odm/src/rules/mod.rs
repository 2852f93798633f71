//! What writes have to keep true.

pub(crate) mod bucket;
