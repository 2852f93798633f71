//! Executes writes that belong together: one write, or a bulk that one transaction can hold.
//!
//! `prepare` has the rules fill in copies, computed fields and the mark of pending work. The plan of the writes says what they ask for and
//! how they run (`plan/modes.rs`), and `attempt` executes them once. `send` and `bulk` turn them into commands, `propagate` applies the
//! rules behind these, `recheck` looks at references again, `drain` applies pending work, and `documents` finds the documents of a
//! condition. A single write that found no document is diagnosed (`unmatched`) and sent again; a bulk only counts it.
//!
//! Invariant: nothing here issues an operation of its own, walks a deletion, or calls a hook.

pub(crate) mod attempt;
pub(crate) mod bulk;
mod changed_one;
pub(crate) mod documents;
pub(crate) mod drain;
pub(crate) mod prepare;
pub(crate) mod propagate;
pub(crate) mod recheck;
pub(crate) mod send;
pub(crate) mod unmatched;

use crate::Result;
use crate::engine::write::attempt::{FailedAttempt, attempt};
use crate::engine::write::prepare::{mark_all_pending, prepare};
use crate::engine::write::unmatched::{ATTEMPTS, Next, diagnose, kept_changing, unchanged};
use crate::model::own_fields::Token;
use crate::plan::modes::WritePlan;
use crate::plan::operation::{Batching, Write, WriteKind};
use crate::plan::outcome::Attempt;
use crate::store::cx::{Cx, not_unique};
use futures::future::FutureExt;

/// Executes one write until it is made, or what prevents it is known. With a `limit`, nothing is written where it is for more documents.
pub(super) async fn one(cx: Cx<'_>, mut write: Write, limit: Option<usize>) -> Result<Attempt> {
    if let WriteKind::Update(update) = &write.what {
        if let (true, Some(one)) = (update.is_empty(), &update.one) {
            let unchanged = unchanged(cx, &write, one, &update.reply).boxed().await?;
            return Ok(Attempt::done(unchanged));
        }
        cx.trace
            .made_values(write.meta, "filter", || update.condition(write.meta));
        cx.trace.values(write.meta, "update", &update.built.update);
    }
    let (refused, token) = prepare(cx, std::slice::from_mut(&mut write)).await?;
    if let Some((_, error)) = refused.into_iter().next() {
        return Err(error);
    }
    let mut made = repeated(&cx, &mut write, token, limit).await?;
    if let (WriteKind::Delete(delete), Attempt::Done(done)) = (&write.what, &made)
        && let (Some(one), deleted @ 2..) = (&delete.one, done.outcome.counts.deleted)
    {
        return Err(not_unique(write.meta, cx.session, vec![one.id.clone()], deleted));
    }
    if let (WriteKind::Insert(document), Attempt::Done(done)) = (write.what, &mut made) {
        done.outcome.is_filled_in = cx.odm.graph().is_depended_on(write.meta);
        done.outcome.stored.push(document);
    }
    Ok(made)
}

/// Sends a write in which the rules have filled in what they keep: one of a document by its id up to [`ATTEMPTS`] times.
// The context is lent: a future holds a copy of each argument twice.
async fn repeated(
    cx: &Cx<'_>,
    write: &mut Write,
    mut token: Option<Token>,
    limit: Option<usize>,
) -> Result<Attempt> {
    let mut plan = WritePlan::for_writes(cx.odm, Batching::Single, std::slice::from_ref(write))?;
    let mut number = 0;
    loop {
        let writes = std::slice::from_mut(write);
        let made = match attempt(cx, Batching::Single, plan.as_deref(), writes, token, limit).await {
            Ok(Attempt::Contended) => {
                // Its transaction was rolled back, or never begun: this does not count as an attempt.
                mark_all_pending(write, &mut token)?;
                plan.iter_mut().for_each(|plan| plan.fall_back());
                continue;
            }
            Ok(made @ (Attempt::Done(_) | Attempt::TooMany)) => return Ok(made),
            Ok(Attempt::Unmatched) => Ok(Attempt::Unmatched),
            Err(FailedAttempt {
                error,
                after_write: true,
            }) => return Err(error),
            Err(failure) => Err(failure.error),
        };
        match diagnose(*cx, write, made, number).boxed().await? {
            Next::End(made) => return Ok(made),
            Next::Again => {}
            Next::Other(what) => {
                write.what = what;
                write.read_operators(cx.odm.graph())?;
                let mut next = WritePlan::for_writes(cx.odm, Batching::Single, std::slice::from_ref(write))?;
                if let (Some(next), Some(plan)) = (&mut next, &plan) {
                    next.fall_back_as(plan);
                }
                // Work that the write has recorded is applied, also where what is left of the write asks for nothing.
                if next.is_some() || token.is_none() {
                    plan = next;
                }
            }
        }
        number += 1;
        let one = match &write.what {
            WriteKind::Update(update) => update.one.as_ref(),
            WriteKind::Replace(replace) => Some(&replace.one),
            _ => None,
        };
        if let Some(one) = one.filter(|_| number == ATTEMPTS) {
            return Err(kept_changing(write.meta, one));
        }
    }
}
