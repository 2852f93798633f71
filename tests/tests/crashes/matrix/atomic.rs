//! Copies that follow in the transaction of the write, where there are transactions.

use odm::prelude::*;
pub use odm_tests::fixtures::edges::atomic::*;

#[path = "rows.rs"]
pub mod rows;
