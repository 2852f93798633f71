//! Reads a database: its collections, and their documents in one pass or by their values. It writes nothing.

mod again;
mod collections;
mod documents;
mod gather;
mod path;
mod source;
mod state;
#[cfg(test)]
mod tests;

pub use gather::Gathered;
pub use path::{in_queries, projection};
pub use source::{Progress, ReadOptions, SAMPLE, Source};
pub use state::default_state;
