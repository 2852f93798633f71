//! Who pays a debt, where several could: a worker leaves to others what they are at.
//!
//! A lease only saves work. To pay is right for whoever does it, alone or beside others, so it does no harm if one has run out
//! too early, if the clocks of two processes differ, or if a process goes on that is believed to be dead: each write of a
//! payment stands under a condition of its own (the version of the source, the token of the debt), by which a later one fences
//! off an earlier one.

use super::super::batch::{self, all};
use super::super::scope::{Scope, Statement};
use super::Token;
use super::each;
use super::fill::needed;
use crate::Result;
use crate::document::DocumentMeta;
use crate::own_fields::{LEASE, OPERATION};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{DateTime, Document, RawDocumentBuf, doc};
use std::time::{Duration, SystemTime};

/// So long a debt is left to the process that made it, and to who has taken it over or has last told how far he has come.
const LASTS: Duration = Duration::from_secs(10);

/// A lease that runs from now, and so much longer.
pub(super) fn until(longer: Duration) -> DateTime {
    let end = SystemTime::now().checked_add(LASTS.saturating_add(longer));
    end.map_or(DateTime::MAX, DateTime::from_system_time)
}

/// The name of the end of a lease.
pub(super) fn end() -> String {
    format!("{LEASE}.until")
}

/// The statement by which the leases that were taken by this token run from now: also those of documents whose turn comes later.
pub(super) fn renewed(by: Token, longer: Duration) -> Statement {
    Statement {
        filter: doc! { OPERATION: { "$exists": true }, format!("{LEASE}.by"): by },
        update: doc! { "$set": { end(): until(longer) } },
        array_filters: Vec::new(),
    }
}

/// The condition of the documents that owe something which nobody is believed to be at: neither who made the debt, nor a worker.
pub(super) fn free() -> Document {
    let now = DateTime::now();
    let lasts = i64::try_from(LASTS.as_millis()).unwrap_or(i64::MAX);
    let token = |millis: i64| {
        let seconds = u32::try_from(millis.max(0) / 1000).unwrap_or(u32::MAX);
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&seconds.to_be_bytes());
        ObjectId::from_bytes(bytes)
    };
    let now_millis = now.timestamp_millis();
    let young = doc! {
        // A clock that runs far ahead may not keep a debt from being paid.
        "$gte": token(now_millis.saturating_sub(lasts)),
        "$lt": token(now_millis.saturating_add(lasts)),
    };
    doc! { OPERATION: { "$exists": true, "$not": young }, end(): { "$not": { "$gt": now } } }
}

/// Takes the leases of these documents by the scope's token, of those that are free still. Gives the documents that it got, as
/// they are then.
pub(super) async fn take(
    scope: &Scope<'_>,
    meta: &'static DocumentMeta,
    documents: Vec<RawDocumentBuf>,
) -> Result<Vec<RawDocumentBuf>> {
    let Some(own) = scope.lease.filter(|_| !documents.is_empty()) else {
        return Ok(documents);
    };
    let these = doc! { "_id": { "$in": batch::ids(&documents) } };
    let lease = Statement {
        filter: all([these.clone(), free()]),
        update: doc! { "$set": { LEASE: { "by": own, "until": until(Duration::ZERO) } } },
        array_filters: Vec::new(),
    };
    let taken = each::update(&scope.unvalidated(), meta, std::slice::from_ref(&lease)).await?;
    match usize::try_from(taken.documents) {
        // What can't be written is paid for all the same.
        _ if taken.refused.is_some() => Ok(documents),
        Ok(0) => Ok(Vec::new()),
        // Whoever has written one of them since it was read has changed its debt, so that it is not struck out.
        Ok(taken) if taken == documents.len() => Ok(documents),
        _ => {
            let of_own = doc! { format!("{LEASE}.by"): own };
            scope
                .every(meta, all([these, of_own]), needed(scope.odm.graph(), meta))
                .await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_does_not_overflow() {
        assert_eq!(until(Duration::MAX), DateTime::MAX);
        assert!(until(Duration::ZERO) > DateTime::now());
    }
}
