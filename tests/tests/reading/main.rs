//! Finds, joins, pages, pipelines, geospatial and text search: what is read is what is stored.
#![allow(missing_docs)]

mod actions;
mod aggregations;
mod chunks;
mod geo;
mod join_keys;
mod joined_filters;
mod joins;
mod loaders;
mod pages;
mod requests;
mod text;

use odm_tests::fixtures::{copying, models};

fn main() -> std::process::ExitCode {
    odm_tests::harness::main()
}
