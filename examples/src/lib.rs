//! The designs of the guide as programs: each `run` is a test, and a part of `cargo xtask demo`.
#![allow(missing_docs)] // the programs are read, not linked
#![allow(clippy::type_complexity)] // what several joins give is written out, to be seen

pub mod bucket;
pub mod many_to_many;
pub mod one_to_few;
pub mod one_to_many;
pub mod one_to_one_split;
pub mod one_to_squillions;
pub mod operations;
pub mod reference_in_child;
pub mod subset;
pub mod two_way;
