//! Reports of a design and of the advice on it: as JSON, on the terminal, and as a page.

mod diagram;
pub mod html;
pub mod json;
mod marks;
mod page;
mod tables;
pub mod text;
