//! A real file of books: how it is read, and what its names mean.

pub mod file;
pub mod library;
pub mod model;
pub mod names;
pub mod sample;
