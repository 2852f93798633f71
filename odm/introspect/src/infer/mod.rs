//! From shapes and documents to a design: what the data show, with the figures that show it.

mod fields;
mod maps;
mod variants;
