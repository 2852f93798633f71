//! Random operations, compared with a model in memory.
#![allow(missing_docs)]

mod random_copies;
mod second_client;
