//! Compares derived values with what they are derived of, and writes those that differ again.

use crate::Result;
use crate::engine::write::drain::drain;
use crate::model::own_fields::Token;
use crate::rules::derived::{Compared, DerivedValue};
use crate::store::each::Written;
use crate::store::scope::Scope;
use crate::store::transaction;
use mongodb::bson::{RawDocumentBuf, doc};

/// Compares these holders, twice those that seem to differ: while a write is on its way the first look may have seen
/// one half.
pub(crate) async fn measure(
    value: &dyn DerivedValue,
    scope: &Scope<'_>,
    documents: &[RawDocumentBuf],
) -> Result<Compared> {
    let first = value.compare(scope, documents).await?;
    if first.stale.is_empty() || value.is_of_holder() {
        return Ok(first);
    }
    let filter = doc! { "_id": { "$in": &first.stale } };
    let look = async |scope: Scope<'_>| {
        let again = scope
            .every(value.holder(), filter.clone(), value.projection())
            .await?;
        value.compare(&scope, &again).await
    };
    let second = if !scope.odm.has_transactions().await? {
        look(*scope).await?
    } else {
        scope.trip(); // the commit
        transaction::transaction(scope.odm, async |session| look(scope.within(&session)).await).await?
    };
    Ok(Compared {
        copies: first.copies,
        // One may have come since.
        wrong: second.wrong.min(first.copies),
        stale: second.stale,
    })
}

/// Compares these holders, and writes the values of those in which one differs again, with what follows from that.
pub(crate) async fn correct(
    value: &dyn DerivedValue,
    scope: &Scope<'_>,
    documents: &[RawDocumentBuf],
) -> Result<Written> {
    let stale = measure(value, scope, documents).await?.stale;
    if stale.is_empty() {
        return Ok(Written::default());
    }
    let token = Token::new();
    let scope = &scope.unvalidated();
    let rewritten = value.rewrite(scope, &stale, token).await?;
    let mut written = rewritten.written;
    for meta in rewritten.pending {
        written.and(drain(*scope, meta, token).await)?;
    }
    Ok(written)
}
