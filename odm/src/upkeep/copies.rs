//! Compares derived values with what they are derived of, and writes those that differ again.

use crate::Result;
use crate::engine::write::drain::drain;
use crate::model::own_fields::Token;
use crate::rules::derived::{Comparison, DerivedValue};
use crate::store::cx::Cx;
use crate::store::each::WriteReport;
use crate::store::transaction;
use mongodb::bson::{Bson, RawDocumentBuf, doc};

/// Compares these holders, twice those that seem to differ: while a write is on its way the first look may have seen
/// one half.
pub(crate) async fn measure(
    value: &dyn DerivedValue,
    cx: &Cx<'_>,
    documents: &[RawDocumentBuf],
) -> Result<Comparison> {
    let first = value.compare(cx, documents).await?;
    if first.stale.is_empty() || value.is_of_holder() {
        return Ok(first);
    }
    let filter = doc! { "_id": { "$in": &first.stale } };
    let look = async |cx: Cx<'_>| {
        let again = cx
            .every(value.holder(), filter.clone(), value.projection())
            .await?;
        value.compare(&cx, &again).await
    };
    let second = if !cx.odm.has_transactions().await? {
        look(*cx).await?
    } else {
        transaction::transaction(cx.odm, Some(cx.trace), async |session| {
            look(cx.within(&session)).await
        })
        .await?
    };
    Ok(Comparison {
        copies: first.copies,
        // One may have come since.
        wrong: second.wrong.min(first.copies),
        stale: second.stale,
    })
}

/// The result of correcting values.
#[derive(Debug, Default)]
pub(crate) struct Corrected {
    pub(crate) written: WriteReport,
    /// How many values were compared.
    pub(crate) checked: u64,
    /// The ids of holders that were left as they are.
    pub(crate) left: Vec<Bson>,
}

/// Compares these holders, and writes the values of those in which one differs again, with what follows from that.
pub(crate) async fn correct(
    value: &dyn DerivedValue,
    cx: &Cx<'_>,
    documents: &[RawDocumentBuf],
) -> Result<Corrected> {
    let Comparison { copies, stale, .. } = measure(value, cx, documents).await?;
    let mut corrected = Corrected {
        checked: copies,
        ..Corrected::default()
    };
    if stale.is_empty() {
        return Ok(corrected);
    }
    let token = Token::new();
    let cx = &cx.unvalidated();
    let rewritten = value.rewrite(cx, &stale, token).await?;
    corrected.written = rewritten.written;
    for meta in rewritten.pending {
        corrected.written.and(drain(*cx, meta, token).await)?;
    }
    corrected.left = rewritten.left;
    Ok(corrected)
}
