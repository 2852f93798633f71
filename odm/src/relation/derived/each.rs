//! Writes that the server refuses for one document, carried out for the others.
//!
//! A command ends at the first document that the server refuses: one that the validator does not allow, one that would have a
//! value that only one may have, one that would become too large. What stands behind it would never be written, however often
//! the command is sent. So its statements are sent in halves, and a statement for many documents again for halves of them,
//! until the one is left that is refused. Each of them is guarded, so all can be carried out twice. A transaction ends by the
//! first refusal, and nothing is written apart in it.

use super::super::batch::{all, behind, document_id, ids};
use super::super::scope::{Scope, Statement};
use super::recover::{but_for_the_deployment, passes};
use crate::document::DocumentMeta;
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, doc};

/// The ids of so many documents are read at a time, where a statement for many is carried out apart.
const BATCH: usize = 1_000;

/// What came of writes.
#[derive(Debug, Default)]
#[must_use = "what was refused is still to be written"]
pub(in super::super) struct Written {
    /// How many documents were written. Where some were refused, there may have been more.
    pub(in super::super) documents: u64,
    /// The first refusal; before those of documents, one that may pass.
    pub(in super::super) refused: Option<Error>,
}

impl Written {
    pub(super) fn of(documents: u64) -> Written {
        Written {
            documents,
            refused: None,
        }
    }

    /// Whether something may have been written.
    pub(super) fn is_any(&self) -> bool {
        self.documents > 0 || self.refused.is_some()
    }

    pub(super) fn refuse(&mut self, error: Error) {
        let stays = |first: &Error| passes(first) || !passes(&error);
        if !self.refused.as_ref().is_some_and(stays) {
            self.refused = Some(error);
        }
    }

    /// Adds what came of other writes.
    ///
    /// # Errors
    /// What would fail with all documents.
    pub(in super::super) fn add(&mut self, other: Result<Written>) -> Result<()> {
        match but_for_the_deployment(other)? {
            Ok(other) => {
                self.documents += other.documents;
                other.refused.into_iter().for_each(|error| self.refuse(error));
            }
            Err(error) => self.refuse(error),
        }
        Ok(())
    }

    /// Adds what came of something that is not counted.
    ///
    /// # Errors
    /// What would fail with all documents.
    pub(super) fn and<T>(&mut self, other: Result<T>) -> Result<Option<T>> {
        match but_for_the_deployment(other)? {
            Ok(other) => Ok(Some(other)),
            Err(error) => {
                self.refuse(error);
                Ok(None)
            }
        }
    }

    /// How many documents were written, if none was refused.
    ///
    /// # Errors
    /// The first refusal.
    pub(in super::super) fn all(self) -> Result<u64> {
        match self.refused {
            None => Ok(self.documents),
            Some(error) => Err(error),
        }
    }
}

/// Carries out statements of which each can be carried out twice: out of a transaction for all documents that the server does
/// not refuse.
///
/// # Errors
/// What would fail with all documents; in a transaction any.
pub(super) async fn update(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    statements: &[Statement],
) -> Result<Written> {
    if scope.session.is_some() {
        return Ok(Written::of(scope.update(meta, statements).await?));
    }
    let mut written = Written::default();
    let mut parts = vec![statements];
    while let Some(part) = parts.pop() {
        match (but_for_the_deployment(scope.update(meta, part).await)?, part) {
            (Ok(documents), _) => written.documents += documents,
            (Err(_), [one]) => Change::Operators(one).apart(scope, meta, &mut written).await?,
            (Err(_), several) => {
                let (first, second) = several.split_at(several.len() / 2);
                parts.extend([second, first]);
            }
        }
    }
    Ok(written)
}

/// The same for a pipeline that changes all documents that fit.
pub(super) async fn compute(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    filter: Document,
    pipeline: Vec<Document>,
) -> Result<Written> {
    let together = scope.compute(meta, filter.clone(), pipeline.clone()).await;
    if scope.session.is_some() {
        return Ok(Written::of(together?));
    }
    let mut written = Written::default();
    match but_for_the_deployment(together)? {
        Ok(documents) => written.documents += documents,
        Err(_) => {
            let change = Change::Pipeline(&filter, &pipeline);
            change.apart(scope, meta, &mut written).await?;
        }
    }
    Ok(written)
}

/// What changes all documents that fit.
#[derive(Clone, Copy)]
enum Change<'c> {
    Operators(&'c Statement),
    Pipeline(&'c Document, &'c [Document]),
}

impl Change<'_> {
    fn filter(&self) -> &Document {
        match self {
            Change::Operators(statement) => &statement.filter,
            Change::Pipeline(filter, _) => filter,
        }
    }

    /// Changes those of these documents that fit.
    async fn of(&self, scope: &Scope<'_>, meta: &'static DocumentMeta, ids: &[Bson]) -> Result<u64> {
        let filter = all([doc! { "_id": { "$in": ids } }, self.filter().clone()]);
        match self {
            Change::Operators(statement) => {
                let of_these = Statement {
                    filter,
                    ..(*statement).clone()
                };
                scope.update(meta, std::slice::from_ref(&of_these)).await
            }
            Change::Pipeline(_, pipeline) => scope.compute(meta, filter, pipeline.to_vec()).await,
        }
    }

    /// Changes all documents that fit but those that the server refuses, in the order of their ids.
    async fn apart(
        &self,
        scope: &Scope<'_>,
        meta: &'static DocumentMeta,
        written: &mut Written,
    ) -> Result<()> {
        let mut last: Option<Bson> = None;
        loop {
            let after = last.as_ref().map(|last| behind(meta, last)).unwrap_or_default();
            let filter = all([self.filter().clone(), after]);
            let batch = scope.batch(meta, filter, Some(doc! { "_id": 1 }), BATCH).await?;
            last = batch.documents.last().map(document_id);
            let mut parts = vec![ids(&batch.documents)];
            while let Some(mut part) = parts.pop() {
                if part.is_empty() {
                    continue;
                }
                match but_for_the_deployment(self.of(scope, meta, &part).await)? {
                    Ok(documents) => written.documents += documents,
                    Err(error) if part.len() == 1 => written.refuse(error),
                    Err(_) => {
                        let second = part.split_off(part.len() / 2);
                        parts.extend([second, part]);
                    }
                }
            }
            if !batch.more {
                return Ok(());
            }
        }
    }
}
