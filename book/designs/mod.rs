//! The models of the chapters on designs, each as the chapter shows it.
#![allow(missing_docs)] // the models are read, not linked

pub mod bucket_by_time;
pub mod buckets;
pub mod computed;
pub mod copies;
pub mod extended_reference;
pub mod outlier;
pub mod subset;
pub mod tree;
