//! Writes that the server refuses for one document, executed for the others.
//!
//! A command ends at the first document that the server refuses: one that the validator does not allow, one that would have a
//! value that only one may have, one that would become too large. The documents after it would never be written, however often
//! the command is sent. So the statements are sent in halves, and a statement for many documents is split into halves of them,
//! until only the refused one is left. Each statement is guarded, so all can be executed twice. A transaction ends with the
//! first refusal, and nothing is split in it.

use crate::model::document::DocumentMeta;
use crate::store::batch::{after_id, document_id, ids};
use crate::store::cx::{Cx, Statement};
use crate::store::filter::all;
use crate::{Error, Result};
use mongodb::bson::{Bson, doc};
use mongodb::error::ErrorKind;
use mongodb::error::WriteFailure;
use mongodb::error::{RETRYABLE_WRITE_ERROR, TRANSIENT_TRANSACTION_ERROR};

/// Number of ids that are read at a time, where a statement for many documents is split.
const BATCH: usize = 1_000;

/// The result of writes.
#[derive(Debug, Default)]
#[must_use = "what was refused is still to be written"]
pub(crate) struct WriteReport {
    /// How many documents were written. Where some were refused, there may have been more.
    pub(crate) documents: u64,
    /// The first refusal; before those of documents, one that may pass.
    pub(crate) refused: Option<Error>,
}

impl WriteReport {
    pub(crate) fn of_documents(documents: u64) -> WriteReport {
        WriteReport {
            documents,
            refused: None,
        }
    }

    /// Whether something may have been written.
    pub(crate) fn is_any(&self) -> bool {
        self.documents > 0 || self.refused.is_some()
    }

    pub(crate) fn refuse(&mut self, error: Error) {
        let stays = |first: &Error| passes(first) || !passes(&error);
        if !self.refused.as_ref().is_some_and(stays) {
            self.refused = Some(error);
        }
    }

    /// Adds the result of other writes.
    ///
    /// # Errors
    /// An error that would occur with every document.
    pub(crate) fn add(&mut self, other: Result<WriteReport>) -> Result<()> {
        match but_for_the_deployment(other)? {
            Ok(other) => {
                self.documents += other.documents;
                other.refused.into_iter().for_each(|error| self.refuse(error));
            }
            Err(error) => self.refuse(error),
        }
        Ok(())
    }

    /// Adds the result of an operation that is not counted.
    ///
    /// # Errors
    /// An error that would occur with every document.
    pub(crate) fn and<T>(&mut self, other: Result<T>) -> Result<Option<T>> {
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
    pub(crate) fn all(self) -> Result<u64> {
        match self.refused {
            None => Ok(self.documents),
            Some(error) => Err(error),
        }
    }
}

/// Executes statements that can each be executed twice: outside of a transaction for all documents that the server does not
/// refuse.
///
/// # Errors
/// An error that would occur with every document; in a transaction any error.
pub(crate) async fn update(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    statements: &[Statement],
) -> Result<WriteReport> {
    if cx.session.is_some() {
        return Ok(WriteReport::of_documents(cx.update(meta, statements).await?));
    }
    let mut written = WriteReport::default();
    let mut parts = vec![statements];
    while let Some(part) = parts.pop() {
        match (but_for_the_deployment(cx.update(meta, part).await)?, part) {
            (Ok(documents), _) => written.documents += documents,
            (Err(_), [one]) => apart(cx, meta, one, &mut written).await?,
            (Err(_), several) => {
                let (first, second) = several.split_at(several.len() / 2);
                parts.extend([second, first]);
            }
        }
    }
    Ok(written)
}

/// Changes those of these documents that fit.
async fn among(cx: &Cx<'_>, meta: &'static DocumentMeta, statement: &Statement, ids: &[Bson]) -> Result<u64> {
    let of_these = Statement {
        filter: all([doc! { "_id": { "$in": ids } }, statement.filter.clone()]),
        ..statement.clone()
    };
    cx.update(meta, std::slice::from_ref(&of_these)).await
}

/// Changes all documents that fit but those that the server refuses, in the order of their ids.
async fn apart(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    statement: &Statement,
    written: &mut WriteReport,
) -> Result<()> {
    let mut last: Option<Bson> = None;
    loop {
        let after = last.as_ref().map(|last| after_id(meta, last)).unwrap_or_default();
        let filter = all([statement.filter.clone(), after]);
        let batch = cx.batch(meta, filter, Some(doc! { "_id": 1 }), BATCH).await?;
        last = batch.documents.last().map(document_id);
        let mut parts = vec![ids(&batch.documents)];
        while let Some(mut part) = parts.pop() {
            if part.is_empty() {
                continue;
            }
            match but_for_the_deployment(among(cx, meta, statement, &part).await)? {
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

/// Errors of the server that don't depend on the document: it is not the primary any more, is shutting down, or can't be
/// reached.
///
/// HostUnreachable, HostNotFound, NetworkTimeout, ShutdownInProgress, PrimarySteppedDown, SocketException, LegacyNotPrimary,
/// NotWritablePrimary, InterruptedAtShutdown, InterruptedDueToReplStateChange, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary.
pub(crate) const OF_THE_SERVER: [i32; 12] =
    [6, 7, 89, 91, 189, 9001, 10058, 10107, 11600, 11602, 13435, 13436];

/// Errors that may go away without a change of a document: a missing privilege, a cursor or an operation that was killed, a
/// time limit or a conflict, a full disk.
///
/// Unauthorized, AuthenticationFailed, LockTimeout, CursorNotFound, LockBusy, MaxTimeMSExpired, WriteConflict,
/// ReadConcernMajorityNotAvailableYet, NetworkInterfaceExceededTimeLimit, CursorKilled, ExceededTimeLimit,
/// TransactionExceededLifetimeLimitSeconds, Interrupted, OutOfDiskSpace.
pub(crate) const PASSING: [i32; 14] = [13, 18, 24, 43, 46, 50, 112, 134, 202, 237, 262, 290, 11601, 14031];

/// Whether an operation that failed for a document may succeed later without a change of the document.
pub(crate) fn passes(error: &Error) -> bool {
    error
        .driver_error()
        .is_some_and(|error| is_one_of(error, &PASSING))
}

/// The inner error is one of these documents: the caller can go on with others. The outer error would occur with every
/// document.
pub(crate) fn but_for_the_deployment<T>(result: Result<T>) -> Result<Result<T>> {
    let of_all = |error: &mongodb::error::Error| {
        let refused = match &*error.kind {
            ErrorKind::Command(command) => !OF_THE_SERVER.contains(&command.code),
            ErrorKind::Write(WriteFailure::WriteError(_)) | ErrorKind::BulkWrite(_) => true,
            _ => false,
        };
        let passes = [RETRYABLE_WRITE_ERROR, TRANSIENT_TRANSACTION_ERROR];
        !refused || passes.iter().any(|label| error.contains_label(label))
    };
    match result {
        Err(error) if error.driver_error().is_some_and(of_all) => Err(error),
        other => Ok(other),
    }
}

pub(crate) fn is_one_of(error: &mongodb::error::Error, codes: &[i32]) -> bool {
    matches!(&*error.kind, ErrorKind::Command(command) if codes.contains(&command.code))
}
