//! The one way to the database for whatever changes users' documents: [`execute`].
//!
//! An [`WriteOperation`] is plain data. Documents of one collection in one buffer are sent as they are, or in parts (`parts::inserts`).
//! One write of a document that its id names goes straight to `write`. Other writes are taken in steps: deletions to which rules of
//! other documents apply are walks (`delete`); all others are sent together, or in parts where one transaction can't hold them
//! (`parts`). The module `write` executes what belongs together. Writes of documents with hooks are executed in a transaction, between
//! two looks at these documents (`hooks`). Programs of several operations are in `bucket`, `first` and `restore`. The [`Outcome`]
//! names refused writes by the positions that the application gave them. A write that changes a shard key is executed in a transaction,
//! between two looks at its references (`moved`).
//!
//! The future of a single write without rules is small: everything else that may be needed is boxed where it is needed.

pub(crate) mod after_commit;
pub(crate) mod bucket;
mod collated;
pub(crate) mod delete;
pub(crate) mod first;
pub(crate) mod hooks;
pub(crate) mod moved;
mod parts;
pub(crate) mod restore;
pub(crate) mod write;

use crate::engine::collated::CollatedKeys;
pub(crate) use crate::engine::write::unmatched::{has_same_id, nothing_deleted, stored_elsewhere};
use crate::engine::write::{documents, send, unmatched};
use crate::plan::modes::is_bare;
pub(crate) use crate::plan::operation::{
    Batching, DeleteWrite, DocumentById, ReplaceWrite, Reply, Selection, UpdateManyWrite, UpdateWrite, Write,
    WriteKind, WriteOperation, Writes,
};
use crate::plan::outcome::Done;
pub(crate) use crate::plan::outcome::Outcome;
use crate::plan::steps::{StepKind, WriteStep, steps};
use crate::store::cx::{Cx, not_unique};
use crate::{Error, Odm, Result};

use futures::future::{BoxFuture, FutureExt};

/// Executes an operation, in the caller's transaction or out of one.
///
/// # Errors
/// Whatever ended the operation as a whole. Refused writes of inserts and bulks are [`Outcome::refusals`], or an [`Error::Bulk`] where they
/// end a transaction or nothing was sent: callers take both.
pub(crate) fn execute(cx: Cx<'_>, operation: WriteOperation) -> BoxFuture<'_, Result<Outcome>> {
    async move {
        let collection = operation.collection();
        let WriteOperation { mut writes, batching } = operation;
        enter_scope(cx.odm, &mut writes)?;
        cx.odm.may_have_options(collection)?;
        cx.odm.know_declarations(cx.trace).await?;
        let new_ids = unmatched::new_ids(&writes);
        let collated = CollatedKeys::for_writes(cx.odm.graph(), &writes);
        let mut made = match writes {
            Writes::One(write) if !write.moves().is_empty() => moved::execute(cx, write, one_moved).await,
            writes if hooks::are_called(cx.odm, &writes) => hooked(cx, batching, writes).await,
            writes => dispatch(cx, batching, writes).await.map(|done| done.outcome),
        };
        collated.fill(&mut made);
        if made.as_ref().map_or(true, |outcome| !outcome.refusals.is_empty()) {
            made = unmatched::answered(cx, &new_ids, made).boxed().await;
        }
        let outcome = made?;
        cx.trace.documents(outcome.documents());
        Ok(outcome)
    }
    .boxed()
}

/// Executes writes that call hooks.
fn hooked(cx: Cx<'_>, batching: Batching, writes: Writes) -> BoxFuture<'_, Result<Outcome>> {
    let dispatch: hooks::Dispatch = |cx, batching, writes| dispatch(cx, batching, writes).boxed();
    hooks::execute(cx, batching, writes, dispatch).boxed()
}

/// Executes the write of a document that is moved.
fn one_moved(cx: Cx<'_>, writes: Writes) -> BoxFuture<'_, Result<Outcome>> {
    if hooks::are_called(cx.odm, &writes) {
        return hooked(cx, Batching::Single, writes);
    }
    async move { Ok(dispatch(cx, Batching::Single, writes).await?.outcome) }.boxed()
}

/// Restricts the writes to the scope of the handle, and refuses upserts whose new documents could not be read. New documents in one
/// buffer are in the scope already.
///
/// # Errors
/// [`Error::OutOfScope`], [`Error::Query`], of a bulk with the positions of the writes.
fn enter_scope(odm: &Odm, writes: &mut Writes) -> Result<()> {
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
async fn dispatch(cx: Cx<'_>, batching: Batching, writes: Writes) -> Result<Done> {
    match writes {
        Writes::Packed {
            meta,
            documents,
            give_back: false,
        } if is_bare(cx.odm, meta)? => {
            let inserted = send::packed(cx, batching, meta, documents).boxed().await;
            inserted.map(Done::from)
        }
        Writes::Packed {
            meta,
            documents,
            give_back,
        } => {
            let inserted = parts::inserts(cx, batching, meta, documents, give_back);
            inserted.boxed().await.map(Done::from)
        }
        Writes::One(write) if write.is_direct() => {
            let meta = write.meta;
            write::one(cx, write, None).await?.into_done(meta.collection)
        }
        Writes::One(write) => in_steps(cx, batching, vec![write]).boxed().await,
        Writes::Each(writes) => in_steps(cx, batching, writes).boxed().await,
    }
}

/// Checks deletions, replaces conditions that have a collation of their own, and executes the writes step by step. A single deletion by an
/// id that finds nothing fails where the document has another version than the one that was read, and one that finds several documents.
async fn in_steps(cx: Cx<'_>, batching: Batching, mut writes: Vec<Write>) -> Result<Done> {
    let odm = cx.odm;
    let mut checked = None;
    for write in &mut writes {
        if matches!(write.what, WriteKind::Delete(_)) && checked != Some(write.meta.collection) {
            checked = Some(write.meta.collection);
            odm.graph().is_registered(write.meta)?;
            odm.may_delete(write.meta)?;
        }
        if write.has_collation() {
            documents::find_by_collation(cx, write).boxed().await?;
        }
    }
    let deleted = match (batching, writes.as_slice()) {
        (Batching::Single, [one]) => match &one.what {
            WriteKind::Delete(delete) => delete.one.clone().map(|which| (one.meta, which)),
            _ => None,
        },
        _ => None,
    };
    let mut steps = steps(odm.graph(), writes, batching);
    let done = match steps.as_mut_slice() {
        [step] if step.kind == StepKind::Together => {
            let writes = std::mem::take(&mut step.writes);
            together(cx, batching, writes).boxed().await?
        }
        _ => each(cx, batching, steps).boxed().await?,
    };
    if let Some((meta, one)) = deleted {
        match done.outcome.counts.deleted {
            0 => unmatched::after_nothing_deleted(cx, meta, &one).await?,
            1 => {}
            several => return Err(not_unique(meta, cx.session, vec![one.id], several)),
        }
    }
    Ok(done)
}

/// Executes the steps of an operation one after the other, up to the first refused write of an ordered one.
async fn each(cx: Cx<'_>, batching: Batching, steps: Vec<WriteStep>) -> Result<Done> {
    let mut all = Done::from(batching.refused(Vec::new()));
    for step in steps {
        let Some((meta, at)) = step.writes.first().map(|first| (first.meta, first.at)) else {
            continue;
        };
        let made = match step.kind {
            StepKind::Walk => delete::by_rules(cx, batching, meta, &step.writes).await,
            StepKind::Together => together(cx, batching, step.writes).await,
            StepKind::ByItself => {
                let made = together(cx, Batching::Single, step.writes).await;
                made.or_else(|error| {
                    let errors = vec![(at, error)];
                    match cx.session {
                        None => Ok(batching.refused(errors).into()),
                        // Within a transaction an error ends the bulk, as one of the server's does.
                        Some(_) => Err(Error::Bulk {
                            errors,
                            done: Box::default(),
                        }),
                    }
                })
            }
        };
        let (made, ends) = match made {
            Ok(made) => (made, false),
            // Nothing of this step is executed, or the server has ended the transaction. The result of the steps before it has to be
            // reported.
            Err(Error::Bulk { errors, done }) => {
                let mut made = Outcome::default();
                made.add_refused(*done, errors);
                (made.into(), true)
            }
            // All of the transaction is run again.
            Err(error) if cx.session.is_some() && error.is_transient_transaction_error() => {
                return Err(error);
            }
            // The steps before it stay done, in the caller's transaction too.
            Err(error) if all.outcome.has_begun() => (batching.refused(vec![(at, error)]).into(), true),
            Err(error) => return Err(error),
        };
        all.add(made);
        if ends || all.outcome.refusals.end_operation() {
            break;
        }
    }
    all.outcome.refusals.errors.sort_by_key(|(at, _)| *at);
    Ok(all)
}

/// Executes writes that are sent together.
async fn together(cx: Cx<'_>, batching: Batching, mut writes: Vec<Write>) -> Result<Done> {
    match (batching, writes.pop()) {
        (_, None) => Ok(Done::default()),
        (
            Batching::Single,
            Some(Write {
                at,
                meta,
                what: WriteKind::UpdateMany(update),
            }),
        ) => parts::update(cx, at, meta, update).boxed().await,
        (Batching::Single, Some(write)) => {
            let meta = write.meta;
            write::one(cx, write, None).await?.into_done(meta.collection)
        }
        (_, Some(last)) => {
            writes.push(last);
            let made = parts::bulk(cx, batching, writes).boxed().await;
            made.map(Done::from)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Document as _;
    use crate::expansion_fixture::Person;
    use crate::plan::operators::Built;
    use crate::store::core::Core;
    use crate::store::cx::Cx;
    use mongodb::bson::RawDocumentBuf;
    use mongodb::options::ClientOptions;

    /// Sizes in bytes, with Rust 1.95 and pointers of 64 bits. A plain write allocates two futures, that of [`execute`] and that
    /// of its command. The contexts are copied into each future that holds them.
    #[cfg(target_pointer_width = "64")]
    #[tokio::test]
    async fn the_futures_and_the_contexts_of_a_plain_write_are_no_larger_than_these_sizes() {
        // Nothing is sent.
        let client = mongodb::Client::with_options(ClientOptions::default()).expect("a client");
        let odm = Odm::new(client.database("unused"), [crate::Model::of::<Person>()]).expect("a handle");
        let core = Core::new(&odm, Person::META, None);
        let trace = core.trace("insert");
        let cx = core.cx(&trace);
        let write = |what| Write {
            at: 0,
            meta: Person::META,
            what,
        };
        let one = || DocumentById::new(1.into(), None);
        let insert = || write(WriteKind::Insert(RawDocumentBuf::new()));
        let update = UpdateWrite::new(&odm, Person::META, one(), Built::nothing(), false).expect("an update");
        let update = write(WriteKind::Update(Box::new(update)));
        let delete = write(WriteKind::Delete(Box::new(DeleteWrite::one(Person::META, one()))));
        let operation = WriteOperation::one(Person::META, insert().what);
        let command = |write| size_of_val(&*send::taking(cx, Batching::Single, &mut [write]));
        let sizes = [
            ("Cx", size_of::<Cx<'_>>(), 40),
            ("Outcome", size_of::<Outcome>(), 328),
            ("Operation", size_of::<WriteOperation>(), 56),
            ("execute", size_of_val(&*execute(cx, operation)), 1056),
            (
                "dispatch",
                size_of_val(&dispatch(cx, Batching::Single, Writes::One(insert()))),
                544,
            ),
            ("write::one", size_of_val(&write::one(cx, insert(), None)), 400),
            ("the command of an insert", command(insert()), 488),
            ("the command of an update", command(update), 1352),
            ("the command of a deletion", command(delete), 552),
        ];
        let larger: Vec<_> = sizes
            .into_iter()
            .filter(|(_, size, largest)| size > largest)
            .collect();
        assert!(
            larger.is_empty(),
            "larger than before (size, largest): {larger:?}"
        );
    }
}
