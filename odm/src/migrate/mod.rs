//! Steps from one version of an application's documents to the next: [`Odm::migrate`](crate::Odm::migrate) runs them.
//!
//! A step is a Rust file under `migrations/` with a function `up`, and `down` where there is a way back. It changes documents by the
//! methods of [`Step`], each of which has a condition of the documents that need the change. That condition is what the status counts, where
//! the work begins, and the check at the end.
//!
//! ```
//! mod m0001_slugs {
//!     use odm::migrate::Step;
//!
//!     /// Articles get a slug, and `autor` becomes `author`.
//!     pub async fn up(step: &Step) -> odm::Result<()> {
//!         let articles = step.collection("articles");
//!         articles.add("slug", "").await?;
//!         articles.rename("autor", "author").await
//!     }
//!
//!     pub async fn down(step: &Step) -> odm::Result<()> {
//!         let articles = step.collection("articles");
//!         articles.rename("author", "autor").await?;
//!         articles.remove("slug").await
//!     }
//! }
//!
//! let steps = odm::migrations![m0001_slugs];
//! assert_eq!(steps.names(), ["m0001_slugs"]);
//! ```
//!
//! | method | does |
//! | --- | --- |
//! | [`add`](StepCollection::add), [`rename`](StepCollection::rename), [`remove`](StepCollection::remove), [`retype`](StepCollection::retype), [`replace_null`](StepCollection::replace_null) | changes one field, also in embedded documents and in the items of arrays |
//! | [`update`](StepCollection::update) | a pipeline of the server for the documents that match |
//! | [`each`](StepCollection::each) | an update or work for each document, which is read as a frozen struct |
//! | [`backfill`](Step::backfill), [`declare`](Step::declare), [`declare_in_window`](Step::declare_in_window), [`forget`](Step::forget) | fills the library's own declarations; makes validators and indexes as they are declared; removes stored declarations that the models lack |
//! | [`retire_index`](StepCollection::retire_index), [`drop_index`](StepCollection::drop_index) | has an index dropped that no model declares any more: when it is not used, or at once |
//! | [`rename_collection`](Step::rename_collection), [`drop_collection`](Step::drop_collection) | as named |
//!
//! A change of documents that others copy from, count or link is passed on to these in the same step, as after a write of another program.

pub(crate) mod change;
mod lease;
mod list;
mod planned;
mod records;
mod run;
mod step;

pub use list::Migrations;
#[doc(hidden)]
pub use list::{BoxedStep, NoWayBack, StepFn, StepResult, is_there, without_down};
pub use planned::{PlannedChange, Sampled};
pub use records::{Migrated, Migrating, MigrationStatus, RunningStep, StepState, StepStatus};
pub use step::{EachDocument, Step, StepCollection};
