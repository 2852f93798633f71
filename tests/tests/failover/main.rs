//! What becomes of writes when the primary dies: run by `cargo xtask test --failover` alone, on nodes that it kills.
#![allow(missing_docs)]

mod control;
mod copies;
mod scenario;
mod two_way;
