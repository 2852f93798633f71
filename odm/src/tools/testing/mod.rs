//! Tests of an application: a database for each test, and the commands that the test sent.
//!
//! With the feature `testing`, as a dependency of tests alone:
//!
//! ```toml
//! [dev-dependencies]
//! mongodb-odm = { version = "0.1", features = ["testing"] }
//! ```
//!
//! ```
//! # use samples::model::*;
//! use odm::testing;
//!
//! # #[tokio::main] async fn main() { if std::env::var_os("MONGODB_URI").is_some() { test().await.unwrap() } }
//! # async fn test() -> odm::Result<()> {
//! // In a `#[tokio::test]`:
//! let db = testing::database().await.deny_scans();
//! let odm = db.odm(models![Account]).await?; // with collections, validators and indexes
//! let accounts = odm.collection::<Account>();
//!
//! let account = Account { id: 1, owner: ObjectId::new(), cents: 100, version: 1 };
//! accounts.insert(account).await?;
//! accounts.update(1).inc(|a| a.cents, 50).await?;
//!
//! assert_eq!(db.commands().names(), ["insert", "update"]);
//! db.close().await?; // checks the commands, and drops the database
//! # Ok(()) }
//! ```
//!
//! - [`database`] connects to the server for tests and names a database that no other test uses. The database is dropped with its
//!   guard, also where the test fails. A later run drops the databases of tests that were killed.
//! - [`Commands`] counts and prints the commands that the test sent.
//! - [`TestDatabase::deny_scans`] fails the test where a command reads a whole collection, [`TestDatabase::max_repeats`] where it
//!   sends one shape of command too often: a query in a loop (N+1).
//! - [`TestDatabase::deny_broadcast`] fails it where a statement goes to all shards of a collection with a declared shard key. No
//!   sharded cluster is needed.
//!
//! # The server
//!
//! The first of these that there is:
//!
//! 1. the server that the environment variable `MONGODB_URI` names;
//! 2. the server that `odm server` runs in the current folder or one above it (`.odm/uri`).
//!
//! Without either, [`database`] panics with one sentence that says what to run.

mod broadcasts;
mod commands;
mod database;
pub(crate) mod key_values;
mod scans;
pub(crate) mod targeting;

pub use commands::{Commands, Sent};
pub use database::{TestDatabase, database, database_at};
