//! The designs of the guide as programs, and what they share: `cargo run -p odm-examples --example one_to_few`.
//!
//! The `run` of each is a test, and those of most designs are a part of `cargo xtask demo`. The programs themselves are in
//! `examples/examples`, a folder each.
#![allow(missing_docs)] // the programs are read, not linked
#![allow(clippy::type_complexity)] // what several joins give is written out, to be seen

pub mod bucket;
pub mod bucket_by_time;
pub mod computed;
pub mod copies;
pub mod events;
pub mod extended_reference;
pub mod many_to_many;
pub mod one_to_few;
pub mod one_to_many;
pub mod one_to_one;
pub mod one_to_one_split;
pub mod one_to_squillions;
pub mod operations;
pub mod outlier;
pub mod reference_in_child;
pub mod subset;
pub mod tree;
pub mod two_way;

// Programs on real data.
pub mod book_catalogue;
pub mod job_queue;
pub mod log_collector;

// Shared by the programs.
pub mod books;
pub mod data;
pub mod log;
pub mod program;
pub mod start;
pub mod syslog;
