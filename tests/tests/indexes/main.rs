//! Indexes as a server stores them, takes them and refuses them; collations; documents that expire.
#![allow(missing_docs)]

mod collations;
mod expiry;
mod partial;
mod refused;
mod shared_null;
