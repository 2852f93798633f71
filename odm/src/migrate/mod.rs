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
//! | [`backfill`](Step::backfill), [`declare`](Step::declare), [`forget`](Step::forget) | fills the library's own declarations; makes validators and indexes as they are declared; removes stored declarations that the models lack |
//! | [`rename_collection`](Step::rename_collection), [`drop_collection`](Step::drop_collection) | as named |
//!
//! A change of documents that others copy from, count or link is passed on to these in the same step, as after a write of another program.

pub(crate) mod change;
mod lease;
mod records;
mod run;
mod step;

pub use records::{
    Migrated, Migrating, MigrationStatus, PlannedChange, RunningStep, Sampled, StepState, StepStatus,
};
pub use step::{EachDocument, Step, StepCollection};

use futures::future::BoxFuture;
use std::fmt;

/// A function of a step.
#[doc(hidden)]
pub type StepFn = for<'s> fn(&'s Step) -> BoxFuture<'s, crate::Result<()>>;

/// The steps of an application in their order: [`migrations!`](crate::migrations).
#[derive(Clone, Default)]
pub struct Migrations {
    steps: Vec<ListedStep>,
}

#[derive(Clone, Copy)]
struct ListedStep {
    name: &'static str,
    up: StepFn,
    down: Option<StepFn>,
}

impl Migrations {
    /// The names of the steps.
    pub fn names(&self) -> Vec<&'static str> {
        self.steps.iter().map(|step| step.name).collect()
    }

    #[doc(hidden)]
    #[must_use]
    pub fn with(mut self, name: &'static str, up: StepFn, down: Option<StepFn>) -> Migrations {
        self.steps.push(ListedStep { name, up, down });
        self
    }
}

impl fmt::Debug for Migrations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// The list of the modules that hold the steps of an application, in the order in which they are applied. Each has
/// `pub async fn up(step: &Step) -> odm::Result<()>`, and may have such a function `down`.
///
/// ```
/// mod m0001_first {
///     pub async fn up(_: &odm::migrate::Step) -> odm::Result<()> {
///         Ok(())
///     }
/// }
///
/// fn all() -> odm::Migrations {
///     odm::migrations![m0001_first]
/// }
/// assert_eq!(all().names(), ["m0001_first"]);
/// ```
#[macro_export]
macro_rules! migrations {
    ($($step:ident),* $(,)?) => {{
        let steps = $crate::Migrations::default();
        $(let steps = {
            fn go_up(step: &$crate::migrate::Step) -> $crate::migrate::BoxedStep<'_> {
                $crate::migrate::StepResult::into_step($step::up(step))
            }
            fn go_down(step: &$crate::migrate::Step) -> $crate::migrate::BoxedStep<'_> {
                #[allow(unused_imports)]
                use $crate::migrate::without_down::*;
                {
                    // A `down` of the module hides the one that says that there is none.
                    #[allow(unused_imports)]
                    use $step::*;
                    $crate::migrate::StepResult::into_step(down(step))
                }
            }
            fn down_of() -> ::std::option::Option<$crate::migrate::StepFn> {
                #[allow(unused_imports)]
                use $crate::migrate::without_down::*;
                {
                    #[allow(unused_imports)]
                    use $step::*;
                    $crate::migrate::is_there(|step| down(step)).then_some(go_down as $crate::migrate::StepFn)
                }
            }
            steps.with(::std::stringify!($step), go_up, down_of())
        };)*
        steps
    }};
}

/// What `migrations!` makes of a step.
#[doc(hidden)]
pub type BoxedStep<'s> = BoxFuture<'s, crate::Result<()>>;

/// The function that stands for a missing `down`.
#[doc(hidden)]
pub mod without_down {
    use super::{NoWayBack, Step};

    pub fn down(_: &Step) -> NoWayBack {
        NoWayBack
    }
}

/// The result of a missing `down`.
#[doc(hidden)]
#[derive(Debug)]
pub struct NoWayBack;

/// What a function of a step returns: a future, or that there is no such function.
#[doc(hidden)]
pub trait StepResult<'s> {
    const IS_THERE: bool;
    fn into_step(self) -> BoxedStep<'s>;
}

impl<'s, F: Future<Output = crate::Result<()>> + Send + 's> StepResult<'s> for F {
    const IS_THERE: bool = true;

    fn into_step(self) -> BoxedStep<'s> {
        Box::pin(self)
    }
}

impl<'s> StepResult<'s> for NoWayBack {
    const IS_THERE: bool = false;

    fn into_step(self) -> BoxedStep<'s> {
        Box::pin(async { Err(crate::Error::application("the step has no `down`")) })
    }
}

/// Whether a module has a `down`.
#[doc(hidden)]
pub fn is_there<'s, F: Fn(&'s Step) -> R, R: StepResult<'s>>(_: F) -> bool {
    R::IS_THERE
}
