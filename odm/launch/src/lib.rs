//! Starting servers and other programs: what `odm server` and this project's own commands are made of. It may change in any
//! release.

pub mod process;
mod programs;
pub mod server;

pub use programs::{find_program, is_executable, step};
