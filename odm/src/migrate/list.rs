//! The list of the steps of an application.

use super::step::Step;
use futures::future::BoxFuture;
use std::fmt;

/// A function of a step.
#[doc(hidden)]
pub type StepFn = for<'s> fn(&'s Step) -> BoxFuture<'s, crate::Result<()>>;

/// The steps of an application in their order: [`migrations!`](crate::migrations).
#[derive(Clone, Default)]
pub struct Migrations {
    pub(super) steps: Vec<ListedStep>,
}

/// One of them.
#[derive(Clone, Copy)]
pub(super) struct ListedStep {
    pub(super) name: &'static str,
    pub(super) up: StepFn,
    pub(super) down: Option<StepFn>,
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

/// A step as `migrations!` stores it.
#[doc(hidden)]
pub type BoxedStep<'s> = BoxFuture<'s, crate::Result<()>>;

/// The function that stands for a missing `down`.
#[doc(hidden)]
pub mod without_down {
    use super::NoWayBack;
    use crate::migrate::step::Step;

    pub fn down(_: &Step) -> NoWayBack {
        NoWayBack
    }
}

/// The result of a missing `down`.
#[doc(hidden)]
#[derive(Debug)]
pub struct NoWayBack;

/// The result of a function of a step: a future, or that there is no such function.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the functions of a step are `pub async fn up(step: &Step) -> odm::Result<()>`, and `down` alike",
    label = "this is another function"
)]
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
