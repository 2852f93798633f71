//! The tests that need a server, in one program: linking is what tests cost.
#![allow(missing_docs)]

mod bounds;
mod bulk;
mod commands;
mod deletion;
mod derive;
mod edges;
mod errors;
mod input;
mod joins;
mod models;
mod north_star;
mod operations;
mod pages;
mod roundtrip;
mod schema;
mod tracing;
mod transactions;
mod versions;
