//! The models that `odm introspect` writes for the databases of other people in `../shared/data/introspect`. A test of
//! `odm-introspect` compares them with what is written today.

#![allow(missing_docs)]

#[rustfmt::skip]
pub mod countries;
#[rustfmt::skip]
pub mod crafting;
#[rustfmt::skip]
pub mod deliveries;
#[rustfmt::skip]
pub mod flights;
#[rustfmt::skip]
pub mod made;
#[rustfmt::skip]
pub mod srd;
#[rustfmt::skip]
pub mod srd_faults;
