//! The designs of the guide as programs: each `run` is a test, and a part of `cargo xtask demo`.
#![allow(missing_docs)] // the programs are read, not linked

pub mod one_to_few;
pub mod one_to_one_split;
