//! Deletes documents whose time has come, by the rules of the library: `#[document(expire = field)]`.
//!
//! An index with a time to live would have the server do it, which knows no reference, no link, no count and no copy.

use crate::engine::{DeleteWrite, WriteKind, WriteOperation, execute};
use crate::model::document::{DocumentMeta, Expiry};
use crate::store::action::Action;
use crate::store::batch::{after_id, document_id, ids};
use crate::store::cx::Cx;
use crate::store::filter::all;
use crate::store::trace::Trace;
use crate::{Deleted, Error, Odm, Result};
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, DateTime, Document, doc};

/// Number of documents that one step finds and deletes.
const BATCH: usize = 1_000;

impl Odm {
    /// Deletes the documents whose time has come, of every model that declares `#[document(expire = field)]`, by the rules of
    /// all references to them, as [`delete_where`](crate::Collection::delete_where) does. [`worker`](Odm::worker) does so in
    /// each of its rounds.
    ///
    /// A document expires at the time in the field, or `after` seconds later; one whose field is missing or `null` does not
    /// expire. It is deleted by the next call, or the next round of a worker, and found by every query until then. The time is
    /// that of the process that deletes. Any number of processes may do it at once. A document whose deletion `on_delete =
    /// restrict` or a [hook](crate::hooks) prevents is left, and tried again by the next call; so is one of a type whose deletions keep
    /// documents ([`purge`](crate::Collection::purge)), while a document that is not deleted refers to it with `cascade`. The counts lack what was deleted just
    /// before another client came to refer to one of the documents with `restrict`.
    ///
    /// # Errors
    /// As [`delete_where`](crate::Collection::delete_where), but for
    /// [`StillReferenced`](Error::StillReferenced) and [`Hook`](Error::Hook). Earlier deletions stay; the other models are processed before the first
    /// error is returned.
    ///
    /// # Cost
    /// For each model with `expire` one round trip, on an index that it declares; for each 1,000 documents that have expired one
    /// more, and what their deletion costs.
    ///
    /// # Example
    /// ```no_run
    /// # use samples::model::*;
    /// # async fn example(odm: Odm) -> odm::Result<()> {
    /// let done = odm.delete_expired().await?;
    /// println!("{} deleted, and {} that referred to them", done.deleted, done.cascaded);
    /// # Ok(()) }
    /// ```
    pub fn delete_expired(&self) -> Action<Deleted> {
        // A scope does not hold for it, as for the rest of the upkeep.
        let odm = self.unscoped();
        let deleted = async move { odm.expired().await };
        Action::new("(all)", "delete_expired", Box::new(deleted))
    }

    fn expired(&self) -> BoxFuture<'_, Result<Deleted>> {
        let trace = Trace::new("(all)", "delete_expired").concealing(self.graph().sensitive());
        let of = trace.clone();
        of.run(async move {
            if !self.has_expiring() {
                return Ok(Deleted::default());
            }
            self.know_declarations(&trace).await?;
            let mut done = Deleted::default();
            let mut first = Ok(());
            for model in self.models() {
                if let Some(expiry) = &model.meta.expiry {
                    let cx = Cx::new(self, None, &trace);
                    let deleted = delete(cx, model.meta, expiry, &mut done).await;
                    first = first.and(deleted);
                }
            }
            trace.documents(done.deleted + done.cascaded);
            first.map(|()| done)
        })
        .boxed()
    }

    /// Whether documents of any model expire.
    pub(crate) fn has_expiring(&self) -> bool {
        self.models().iter().any(|model| model.meta.expiry.is_some())
    }
}

async fn delete(cx: Cx<'_>, meta: &'static DocumentMeta, expiry: &Expiry, done: &mut Deleted) -> Result<()> {
    cx.odm.may_delete(meta)?;
    let due = due(expiry, crate::now());
    let mut last: Option<Bson> = None;
    loop {
        let next = last.as_ref().map(|last| after_id(meta, last)).unwrap_or_default();
        let batch = cx
            .batch(meta, all([next, due.clone()]), Some(doc! { "_id": 1 }), BATCH)
            .await?;
        last = batch.documents.last().map(document_id);
        delete_part(cx, (meta, &due), ids(&batch.documents), done).await?;
        if !batch.more {
            return Ok(());
        }
    }
}

/// The condition of documents whose time has come.
fn due(expiry: &Expiry, now: DateTime) -> Document {
    let after = i64::try_from(expiry.after)
        .unwrap_or(i64::MAX)
        .saturating_mul(1_000);
    let until = DateTime::from_millis(now.timestamp_millis().saturating_sub(after));
    doc! { (expiry.path)(): { "$lte": until } }
}

/// Deletes these documents, if their time has still come. Where some are held back, those are looked for by halves.
async fn delete_part(
    cx: Cx<'_>,
    (meta, due): (&'static DocumentMeta, &Document),
    ids: Vec<Bson>,
    done: &mut Deleted,
) -> Result<()> {
    let mut parts = vec![ids];
    while let Some(part) = parts.pop() {
        if part.is_empty() {
            continue;
        }
        let delete = DeleteWrite {
            removes: true,
            ..DeleteWrite::many(all([doc! { "_id": { "$in": &part } }, due.clone()]))
        };
        let operation = WriteOperation::one(meta, WriteKind::Delete(Box::new(delete)));
        match (execute(cx, operation).await, part.as_slice()) {
            (Ok(made), _) => {
                let made = Deleted::from(made);
                done.deleted += made.deleted;
                done.cascaded += made.cascaded;
                done.nullified += made.nullified;
                done.pulled += made.pulled;
            }
            (Err(error @ (Error::StillReferenced { .. } | Error::Hook { .. })), [id]) => tracing::debug!(
                target: "odm",
                collection = meta.collection,
                %id,
                %error,
                "kept an expired document that other documents still refer to, or that a hook keeps"
            ),
            (Err(Error::StillReferenced { .. } | Error::Hook { .. }), _) => {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second.to_vec(), first.to_vec()]);
            }
            (Err(error), _) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::upkeep::expiry::*;

    #[test]
    fn a_document_expires_some_time_after_the_one_in_its_field() {
        let at = |after| {
            let expiry = Expiry { path: || "at", after };
            due(&expiry, DateTime::from_millis(100_000))
        };
        assert_eq!(at(0), doc! { "at": { "$lte": DateTime::from_millis(100_000) } });
        assert_eq!(at(60), doc! { "at": { "$lte": DateTime::from_millis(40_000) } });
        assert_eq!(
            at(u64::MAX),
            doc! { "at": { "$lte": DateTime::from_millis(100_000_i64.saturating_sub(i64::MAX)) } }
        );
    }
}
