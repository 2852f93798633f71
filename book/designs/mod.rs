//! The models of the chapters on designs, each as the chapter shows it.
#![allow(missing_docs)] // the models are read, not linked

pub mod bucket_by_time;
pub mod buckets;
pub mod computed;
pub mod copies;
pub mod extended_reference;
pub mod many_to_many;
pub mod one_to_few;
pub mod one_to_many;
pub mod one_to_one;
pub mod outlier;
pub mod split;
pub mod squillions;
pub mod subset;
pub mod tree;
pub mod two_way;
