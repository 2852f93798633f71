//! Reads documents: queries, pages, joins and requests, with conditions (`filter`) and pipelines (`aggregate`).
//!
//! [`Collection::find`](crate::Collection::find) begins a query, [`Find::include`] joins, [`Collection::aggregate`](crate::Collection::aggregate) computes on the server. The paths of
//! a document ([`Path`]) make conditions ([`Filter`]) and orders ([`Order`]).

pub(crate) mod aggregate;
pub(crate) mod explain;
pub(crate) mod filter;
pub(crate) mod find;
pub(crate) mod get;
pub(crate) mod join;
pub(crate) mod joined;
pub(crate) mod page;
pub(crate) mod request;
pub(crate) mod scoped;
pub(crate) mod text;
pub(crate) mod untyped;

pub use crate::model::path::Path;
pub use crate::store::action::Action;
pub use aggregate::{AddFields, Aggregate, Gives, Group, GroupKey, Projected, Reshaped, Typed, Untyped};
pub use explain::{Explain, JoinExplain};
pub use filter::expr;
pub use filter::expression::{Date, DatePart, Expression, Unit};
pub use filter::{Comparand, Element, Filter, IntoPattern, IntoSort, Order, Pattern};
pub use find::{Find, Lossy, LossyFind};
pub use get::{Get, GetMany};
pub use join::{
    Children, Include, Join, LeaveOut, LoadRefs, Loading, LookedUp, Lookup, OnlyChild, OrNone, Paths,
    ReadFrom, Strict,
};
pub use page::{Page, PageToken, Paged, ResumableFind};
pub use text::{Scored, Search, text};
