//! Sends writes once: alone, or with what they ask of other documents.

use crate::engine::execution::Execution;
use crate::engine::obligations::Obligations;
use crate::engine::send;
use crate::plan::operation::{Pending, Write};
use crate::plan::outcome::Outcome;
use crate::store::session::Shared;
use crate::{Error, Result};
use futures::future::FutureExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why writes were not executed.
pub(super) struct Failure {
    pub(super) error: Error,
    /// Whether it came after the writes themselves were made: they must not be sent again.
    pub(super) after_write: bool,
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        failure.error
    }
}

/// Sends writes once, with what they ask of other documents.
///
/// With `in_parts`, nothing is written where they are for more documents than one transaction takes, and
/// [`Outcome::too_many`] says so.
pub(super) async fn once(
    execution: Execution<'_>,
    writes: &mut [Write],
    pending: Pending,
    in_parts: bool,
) -> Result<Outcome, Failure> {
    let Execution { odm, session, .. } = execution;
    let failed = |error| Failure {
        error,
        after_write: false,
    };
    let Some(obligations) = Obligations::of(odm, writes, pending).map_err(failed)? else {
        let made = send::once(execution, session.cloned(), writes).await;
        return all_or_nothing(session, made).map_err(failed);
    };
    let obligations = if in_parts {
        obligations.in_parts()
    } else {
        obligations
    };
    let obligations = if execution.eventual {
        obligations.eventual()
    } else {
        obligations
    };
    related(execution, writes, obligations).boxed().await
}

/// Sends writes that ask something of other documents.
async fn related(
    execution: Execution<'_>,
    writes: &[Write],
    obligations: Obligations<'_>,
) -> Result<Outcome, Failure> {
    let Execution { session, trace, .. } = execution;
    let after_write = &AtomicBool::new(false);
    let send = |session: Option<Shared>| {
        async move {
            let made = send::send(execution, session, writes).await;
            after_write.store(made.is_ok(), Ordering::Relaxed);
            made
        }
        .boxed()
    };
    let made = obligations.execute(session, trace, &send).await;
    all_or_nothing(session, made).map_err(|error| Failure {
        error,
        after_write: after_write.load(Ordering::Relaxed),
    })
}

/// Of a transaction of the operation's own a refused write leaves nothing.
fn all_or_nothing(session: Option<&Shared>, made: Result<Outcome>) -> Result<Outcome> {
    match made {
        Err(Error::Bulk { errors, .. }) if session.is_none() => Err(Error::Bulk {
            errors,
            done: Box::default(),
        }),
        made => made,
    }
}
