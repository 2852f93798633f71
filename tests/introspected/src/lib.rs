//! The models that `odm introspect` writes for the databases of other people in `../shared/data/introspect`. A test of
//! `odm-introspect` compares them with what is written today.

#![allow(missing_docs)]

pub mod countries;
pub mod crafting;
pub mod deliveries;
pub mod flights;
pub mod srd;
pub mod srd_faults;
