//! What stands beside an application: the command line, the helpers for its tests, and the diagrams of its models.
//!
//! Invariant: no other room knows of it.

#[cfg(feature = "cli")]
pub mod cli;
pub mod edges;
#[cfg(feature = "cli")]
pub(crate) mod snapshots;
#[cfg(feature = "testing")]
pub mod testing;
