//! Leases: which process applies pending work, where several could. A worker leaves alone what another process is applying.
//!
//! A lease only saves work. Any process may apply pending work, alone or at the same time as others, so it does no harm if a
//! lease expires too early, if the clocks of two processes differ, or if a process goes on that was taken for ended: each write
//! has a condition of its own (the version of the source, the token of the pending work), by which a later write fences off an
//! earlier one.

use crate::Result;
use crate::model::document::DocumentMeta;
use crate::model::own_fields::{LEASE, OPERATION, Token};
use crate::store::cx::{Cx, Statement};
use crate::store::filter::all;
use crate::store::{batch, each};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{DateTime, Document, RawDocumentBuf, doc};
use std::time::{Duration, SystemTime};

/// For this time, pending work is left to the process that recorded it, that took it over, or that last stored its progress.
const LASTS: Duration = Duration::from_secs(10);

/// The end of a lease that starts now and is prolonged by this time.
pub(crate) fn until(longer: Duration) -> DateTime {
    let end = SystemTime::now().checked_add(LASTS.saturating_add(longer));
    end.map_or(DateTime::MAX, DateTime::from_system_time)
}

/// The name of the end of a lease.
pub(crate) fn until_path() -> String {
    format!("{LEASE}.until")
}

/// The statement that renews all leases with this token, also those of documents that are handled later.
pub(crate) fn renewed(by: Token, longer: Duration) -> Statement {
    Statement {
        filter: doc! { OPERATION: { "$exists": true }, format!("{LEASE}.by"): by },
        update: doc! { "$set": { until_path(): until(longer) } },
        array_filters: Vec::new(),
    }
}

/// The condition of documents whose pending work no process seems to be applying: neither the one that recorded it, nor a
/// worker.
pub(crate) fn free() -> Document {
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
        // A clock that runs far ahead must not keep pending work from being applied.
        "$gte": token(now_millis.saturating_sub(lasts)),
        "$lt": token(now_millis.saturating_add(lasts)),
    };
    doc! { OPERATION: { "$exists": true, "$not": young }, until_path(): { "$not": { "$gt": now } } }
}

/// Takes the leases of those of these documents that are still free, with the scope's token. Returns these documents, as they
/// are then: these fields of theirs.
pub(crate) async fn take(
    cx: &Cx<'_>,
    meta: &'static DocumentMeta,
    documents: Vec<RawDocumentBuf>,
    fields: &Document,
) -> Result<Vec<RawDocumentBuf>> {
    let Some(own) = cx.lease.filter(|_| !documents.is_empty()) else {
        return Ok(documents);
    };
    let these = doc! { "_id": { "$in": batch::ids(&documents) } };
    let lease = Statement {
        filter: all([these.clone(), free()]),
        update: doc! { "$set": { LEASE: { "by": own, "until": until(Duration::ZERO) } } },
        array_filters: Vec::new(),
    };
    let taken = each::update(&cx.unvalidated(), meta, std::slice::from_ref(&lease)).await?;
    match usize::try_from(taken.documents) {
        // The pending work of a document that can't be written itself is applied nevertheless.
        _ if taken.refused.is_some() => Ok(documents),
        Ok(0) => Ok(Vec::new()),
        // A write of one of them since it was read has changed its pending work, so that it is not cleared.
        Ok(taken) if taken == documents.len() => Ok(documents),
        _ => {
            let of_own = doc! { format!("{LEASE}.by"): own };
            cx.every(meta, all([these, of_own]), fields.clone()).await
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::lease::*;

    #[test]
    fn a_lease_does_not_overflow() {
        assert_eq!(until(Duration::MAX), DateTime::MAX);
        assert!(until(Duration::ZERO) > DateTime::now());
    }
}
