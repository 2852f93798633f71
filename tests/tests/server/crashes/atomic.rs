//! Copies that follow in the transaction of the write, where there are transactions.

super::models::declare!();

#[path = "rows.rs"]
pub mod rows;
