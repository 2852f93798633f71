//! Raw documents in, raw documents out: decoding, the errors of the server, what a server can do, traces.
//!
//! Invariant: nothing here knows a rule of the models.

pub mod action;
pub(crate) mod age;
pub(crate) mod batch;
pub(crate) mod batches;
pub(crate) mod clock;
pub(crate) mod command;
pub(crate) mod core;
pub(crate) mod cx;
pub(crate) mod decode;
pub(crate) mod each;
pub(crate) mod fan_out;
pub(crate) mod fields;
pub(crate) mod filter;
pub(crate) mod handle;
pub(crate) mod held;
pub(crate) mod looked;
pub(crate) mod map;
pub mod options;
pub(crate) mod packed;
pub(crate) mod queue;
pub(crate) mod retry;
pub(crate) mod routes;
pub(crate) mod scoped;
pub(crate) mod scopes;
pub mod server;
pub(crate) mod session;
pub(crate) mod tasks;
pub(crate) mod trace;
pub(crate) mod transaction;
pub(crate) mod twice;
pub(crate) mod updates;
