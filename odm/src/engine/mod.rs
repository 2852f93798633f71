//! The one way to the database for whatever changes users' documents: [`execute`].
//!
//! An [`Operation`] is plain data. Documents of one collection in one buffer are sent as they are, or in parts (`parts::inserts`).
//! One write of a document that its id names goes straight to `write`. Other writes are taken in steps: deletions to which rules of
//! other documents apply are walks (`delete`); all others are sent together, or in parts where one transaction can't hold them
//! (`parts`). The module `write` executes what belongs together. Writes of documents with hooks are executed in a transaction, between
//! two looks at these documents (`hooks`). Programs of several operations are in `bucket`, `first` and `restore`. The [`Outcome`]
//! names refused writes by the positions that the application gave them.
//!
//! The future of a single write without rules is small: everything else that may be needed is boxed where it is needed.

pub(crate) mod after_commit;
pub(crate) mod bucket;
mod collated;
pub(crate) mod delete;
pub(crate) mod first;
pub(crate) mod hooks;
mod parts;
pub(crate) mod restore;
pub(crate) mod write;

use crate::engine::collated::CollatedKeys;
use crate::engine::write::execution::{Execution, Way};
pub(crate) use crate::engine::write::unmatched::has_same_id;
use crate::engine::write::{documents, obligations, send, unmatched};
pub(crate) use crate::plan::operation::{
    Delete, One, Operation, Replace, Reply, Selection, Sent, Update, UpdateMany, What, Write, Writes,
};
pub(crate) use crate::plan::outcome::Outcome;
use crate::store::core::Core;
use crate::store::trace::Trace;
use crate::store::transaction::Shared;
use crate::{Error, Odm, Result, graph};

use futures::future::{BoxFuture, FutureExt};

/// The handle that an operation came from: a collection, or the database of a bulk; within a transaction or not.
pub(crate) struct Caller<'a> {
    odm: &'a Odm,
    core: Option<&'a Core>,
    session: Option<&'a Shared>,
}

impl<'a> From<&'a Core> for Caller<'a> {
    fn from(core: &'a Core) -> Caller<'a> {
        Caller {
            odm: core.odm(),
            core: Some(core),
            session: core.session(),
        }
    }
}

impl<'a> From<(&'a Odm, Option<&'a Shared>)> for Caller<'a> {
    fn from((odm, session): (&'a Odm, Option<&'a Shared>)) -> Caller<'a> {
        Caller {
            odm,
            core: None,
            session,
        }
    }
}

/// Executes an operation, in the caller's transaction or out of one.
///
/// # Errors
/// Whatever ended the operation as a whole. Refused writes of inserts and bulks are [`Outcome::errors`], or an [`Error::Bulk`] where they
/// end a transaction or nothing was sent: callers take both.
pub(crate) fn execute<'a>(
    caller: impl Into<Caller<'a>>,
    trace: &'a Trace,
    operation: Operation,
) -> BoxFuture<'a, Result<Outcome>> {
    let Caller { odm, core, session } = caller.into();
    let execution = Execution {
        odm,
        core,
        session,
        trace,
        ordered: operation.ordered,
        sent: operation.sent,
        eventual: false,
    };
    let mut writes = operation.writes;
    async move {
        prepare(odm, &mut writes)?;
        odm.may_have_options(execution.core.map_or("(all)", |core| core.meta().collection))?;
        odm.know_declarations(trace).await?;
        let new_ids = unmatched::new_ids(&writes);
        let collated = CollatedKeys::of(odm.graph(), &writes);
        let mut made = if hooks::concern(odm, &writes) {
            let dispatch: hooks::Dispatch = |execution, writes| dispatch(execution, writes).boxed();
            hooks::execute(execution, writes, dispatch).boxed().await
        } else {
            dispatch(execution, writes).await
        };
        collated.fill(&mut made);
        if made.as_ref().map_or(true, |outcome| !outcome.errors.is_empty()) {
            made = unmatched::answered(execution, &new_ids, made).boxed().await;
        }
        let outcome = made?;
        trace.done(0, outcome.documents());
        Ok(outcome)
    }
    .boxed()
}

/// Restricts the writes to the scope of the handle, and refuses upserts whose new documents could not be read. New documents in one
/// buffer are in the scope already.
///
/// # Errors
/// [`Error::OutOfScope`], [`Error::Query`], of a bulk with the positions of the writes.
fn prepare(odm: &Odm, writes: &mut Writes) -> Result<()> {
    let one = |write: &mut Write| {
        write.enter_scope(odm)?;
        write.inserts_readable()
    };
    match writes {
        Writes::Packed { .. } => Ok(()),
        Writes::One(write) => one(write),
        Writes::Each(writes) => {
            let mut errors = Vec::new();
            for write in writes {
                if let Err(error) = one(write) {
                    errors.push((write.at, error));
                }
            }
            if errors.is_empty() {
                return Ok(());
            }
            Err(Error::Bulk {
                errors,
                done: Box::default(),
            })
        }
    }
}

/// Executes writes by their kind.
async fn dispatch(execution: Execution<'_>, writes: Writes) -> Result<Outcome> {
    match writes {
        Writes::Packed {
            meta,
            documents,
            give_back: false,
        } if obligations::is_unrelated(execution.odm, meta)? => {
            send::packed(execution, meta, documents).boxed().await
        }
        Writes::Packed {
            meta,
            documents,
            give_back,
        } => {
            parts::inserts(execution, meta, documents, give_back)
                .boxed()
                .await
        }
        Writes::One(write) if write.is_direct() => write::one(execution, write, false).await,
        Writes::One(write) => steps(execution, vec![write]).boxed().await,
        Writes::Each(writes) => steps(execution, writes).boxed().await,
    }
}

/// Checks deletions, replaces conditions that have a collation of their own, and executes the writes.
async fn steps(execution: Execution<'_>, mut writes: Vec<Write>) -> Result<Outcome> {
    let odm = execution.odm;
    let mut checked = None;
    for write in &mut writes {
        if matches!(write.what, What::Delete(_)) && checked != Some(write.meta.collection) {
            checked = Some(write.meta.collection);
            odm.graph().is_registered(write.meta)?;
            odm.may_delete(write.meta)?;
        }
        if write.has_collation() {
            documents::find_by_collation(execution, write).boxed().await?;
        }
    }
    let is_deletion = |write: &Write| matches!(write.what, What::Delete(_));
    if writes.iter().any(is_deletion) {
        with_deletions(execution, writes).boxed().await
    } else {
        all_of(execution, writes).await
    }
}

/// Executes writes of which some are deletions. One that is sent alone and finds nothing fails where the document has another version
/// than the one that was read.
async fn with_deletions(execution: Execution<'_>, writes: Vec<Write>) -> Result<Outcome> {
    let alone = match (execution.sent, writes.as_slice()) {
        (Sent::Alone, [one]) => match &one.what {
            What::Delete(delete) => delete.one.clone().map(|which| (one.meta, which)),
            _ => None,
        },
        _ => None,
    };
    let outcome = all_of(execution, writes).await?;
    if let Some((meta, one)) = alone.filter(|_| outcome.deleted == 0) {
        unmatched::after_nothing_deleted(execution, meta, &one).await?;
    }
    Ok(outcome)
}

async fn all_of(execution: Execution<'_>, writes: Vec<Write>) -> Result<Outcome> {
    if writes.iter().any(|write| execution.way(write) != Way::Together) {
        in_order(execution, writes).boxed().await
    } else {
        together(execution, writes).await
    }
}

/// Executes writes in their order: deletions to which rules apply, those of one collection together; upserts of more than one statement
/// each by itself; and the others between them together. Without an order the others come first, and deletions last.
async fn in_order(execution: Execution<'_>, mut writes: Vec<Write>) -> Result<Outcome> {
    let ordered = execution.ordered;
    let way = |write: &Write| execution.way(write);
    if !ordered {
        let is_walk = |write: &Write| way(write) == Way::Walk;
        writes.sort_by_key(|write| (way(write), is_walk(write).then_some(write.meta.collection)));
    }
    let mut all = execution.refused(Vec::new());
    let mut rest = writes.into_iter().peekable();
    while let Some(first) = rest.next() {
        let (first_way, meta, at) = (way(&first), first.meta, first.at);
        let alike = |next: &Write| {
            way(next) == first_way
                && match first_way {
                    Way::Together => true,
                    Way::ByItself => false,
                    Way::Walk => graph::is_itself(next.meta, meta),
                }
        };
        let mut part = vec![first];
        while let Some(next) = rest.next_if(alike) {
            part.push(next);
        }
        let made = match first_way {
            Way::Walk => delete::by_rules(execution, meta, &part).await,
            Way::Together => together(execution, part).await,
            Way::ByItself => {
                let by_itself = Execution {
                    sent: Sent::Alone,
                    ..execution
                };
                together(by_itself, part).await.or_else(|error| {
                    let refused = execution.refused(vec![(at, error)]);
                    match execution.session {
                        None => Ok(refused),
                        // Within a transaction an error ends the bulk, as one of the server's does.
                        Some(_) => Err(Error::Bulk {
                            errors: refused.errors,
                            done: Box::default(),
                        }),
                    }
                })
            }
        };
        let (made, ends) = match made {
            Ok(made) => (made, false),
            // Nothing of this part is executed, or the server has ended the transaction. The result of the parts before it has to be
            // reported.
            Err(Error::Bulk { errors, done }) => {
                let mut made = Outcome::from(*done);
                made.errors = errors;
                (made, true)
            }
            // What the parts before it did stays done, in the caller's transaction too.
            Err(error) if all.has_begun() => (execution.refused(vec![(at, error)]), true),
            Err(error) => return Err(error),
        };
        all.add(made);
        if ends || ordered && !all.errors.is_empty() {
            break;
        }
    }
    all.errors.sort_by_key(|(at, _)| *at);
    Ok(all)
}

/// Executes writes that are sent together.
async fn together(execution: Execution<'_>, mut writes: Vec<Write>) -> Result<Outcome> {
    match (execution.sent, writes.pop()) {
        (_, None) => Ok(Outcome::default()),
        (
            Sent::Alone,
            Some(Write {
                at,
                meta,
                what: What::UpdateMany(update),
            }),
        ) => parts::update(execution, at, meta, update).boxed().await,
        (Sent::Alone, Some(write)) => write::one(execution, write, false).await,
        (_, Some(last)) => {
            writes.push(last);
            parts::bulk(execution, writes).boxed().await
        }
    }
}
