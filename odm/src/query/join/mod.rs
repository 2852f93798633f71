//! Application-level joins: documents together with their referenced documents, in one query for each hop and collection.
//!
//! The query is executed first. The references at the requested paths of all its documents are collected in a [`Hop`], each
//! target once; then each collection of the hop is asked once for all of them (`$in`). Joins of these targets are the next hop.
//! At the end every document gets its targets in the order of its references. So duplicates, order, missing targets, nested and
//! inverse joins are one mechanism, and the number of queries depends on the number of hops and collections alone.

mod asked;
mod children;
mod hop;
mod include;
mod load;
mod lookup;
mod pointer;
mod stages;
mod traits;
mod twice;
mod work;

pub use crate::model::tree::{Slot, Tree};
pub use asked::Asked;
pub use children::{Children, OnlyChild, Paths};
pub(crate) use children::{Via, warn_of_scan};
pub(crate) use hop::HopById;
pub use hop::{Hop, ReadFrom, Source};
pub use include::{Include, LeaveOut, OrNone, Strict};
pub use load::{LoadRefs, Loading};
pub use lookup::Lookup;
pub use pointer::{Load, LoadById, NoneOf, OneOf};
pub use stages::Stages;
pub(crate) use stages::read as without_joined;
pub use traits::{Join, LookedUp};
pub(crate) use work::Work;
