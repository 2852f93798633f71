//! Searches of MongoDB Atlas as the first stage of a pipeline: `$search` and `$vectorSearch`.
//!
//! A stage is made by the handle of a collection, so it stands nowhere but at the beginning. Words and values of users are strings and
//! values in the stage, and never operators.

// `operator` makes what a search looks for, `stage` and `vector` the two stages, `declared` compares both with the indexes of the
// document, `meta` names what a search gives beside its documents.
mod declared;
mod meta;
mod operator;
mod stage;
#[cfg(test)]
mod testing;
mod vector;

pub use meta::{Meta, highlights, score, total, vector_score};
pub use operator::{
    Autocomplete, Clauses, Operator, Phrase, Range, Text, Whole, Words, autocomplete, compound, equals,
    exists, phrase, range, raw, text,
};
pub use stage::SearchStage;
pub use vector::{QueryVector, VectorStage};
