//! Pipelines: typed stages, raw stages, and what becomes of the results.
//!
//! A pipeline knows the shape of its documents at each place ([`Typed`], [`Gives`]): a typed stage stands only where the documents
//! still have the fields that it names.

mod compute;
mod pipeline;
#[cfg(feature = "atlas")]
pub(crate) mod search;
mod shape;
mod view;

pub use compute::{AddFields, Group, GroupKey};
pub use pipeline::Aggregate;
pub(crate) use pipeline::{Pipeline, documents, send};
pub use shape::{Gives, Projected, Reshaped, Typed, Untyped};
pub use view::view_stages;
