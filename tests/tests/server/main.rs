//! The tests that need a server, in one program: linking is what tests cost.
#![allow(missing_docs)]

mod audit;
mod bounds;
mod buckets;
mod bulk;
mod cli;
mod commands;
mod copies;
mod copies_declared;
mod copying;
mod costs;
mod crashes;
mod deletion;
mod derive;
mod edges;
mod errors;
mod failures;
mod fan_out;
mod input;
mod integrity;
mod joins;
mod links;
mod models;
mod north_star;
mod operations;
mod pages;
mod random_copies;
mod reconciler;
mod references;
mod roundtrip;
mod schema;
mod tracing;
mod transactions;
mod two_way;
mod upserts;
mod versions;
