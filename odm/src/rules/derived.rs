//! Values that are derived of other documents and stored: what they have in common.
//!
//! A kind of derived value is a type that implements [`DerivedValue`], in the folder of its rule, which makes the values of a graph.
//! Audits, repairs and backfills are loops over them, and know no kind by name. The reconciler names kinds where it has to know which change
//! in the stream affects which values.

use crate::graph::Graph;
use crate::graph::declaration::Declaration;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::own_fields::{COPIED, Token};
use crate::store::cx::Cx;
use crate::store::each::WriteReport;
use crate::{Error, Odm, Result};
use futures::future::BoxFuture;
use mongodb::bson::{Bson, Document, RawDocumentBuf};

/// Values of one declaration, which are stored in the documents of one collection and kept in sync with what they are derived of.
pub(crate) trait DerivedValue: Send + Sync {
    /// The documents that hold the values.
    fn holder(&self) -> &'static DocumentMeta;

    /// The names of the fields.
    fn fields(&self) -> Vec<String>;

    /// Whether a name means these values: that of a field, or of the reference beside which they stand.
    fn is_named(&self, field: &str) -> bool {
        self.fields().iter().any(|name| name == field)
    }

    /// Their source, in words.
    fn source(&self) -> String;

    /// The fields to read of a holder for a comparison.
    fn projection(&self) -> Document;

    /// The declaration, as it is stored in the database.
    fn declaration(&self, graph: &Graph) -> Declaration;

    /// The fields of the source on which these fields of the holder depend.
    fn reads(&self, graph: &Graph, is_read: &dyn Fn(&str) -> bool) -> Vec<String>;

    /// What they are, for the words of audits and repairs.
    fn kind(&self) -> ValueKind {
        ValueKind::Derived
    }

    /// The collection of the model that declares them.
    fn declared_in(&self) -> &'static str {
        self.holder().collection
    }

    /// The id of a holder as an audit may show it.
    fn shown(&self, id: Bson) -> Bson {
        id
    }

    /// Whether a document holds all that they are derived of, so that one look at it tells whether they are right.
    fn is_of_holder(&self) -> bool {
        false
    }

    /// Compares the values in these holders with what they should be.
    fn compare<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        documents: &'s [RawDocumentBuf],
    ) -> BoxFuture<'s, Result<Comparison>>;

    /// Writes the values of these holders again, except in documents that are refused. The statements are guarded, and safe to
    /// repeat. Changes of values that others are derived of are pending with the token.
    fn rewrite<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        ids: &'s [Bson],
        token: Token,
    ) -> BoxFuture<'s, Result<RederiveReport>>;
}

/// What derived values are, in words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// Copies, subsets and computed fields.
    #[default]
    Derived,
    /// The summaries of buckets.
    Summary,
    /// The claims of documents with a key that is unique over all shards.
    Claims,
    /// The owners of such claims.
    Owners,
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// How many values were compared: the copies beside one reference count as one, and so do a field of children and the summary of
    /// a bucket.
    pub(crate) copies: u64,
    /// How many of them differ.
    pub(crate) wrong: u64,
    /// The ids of the documents in which some differ.
    pub(crate) stale: Vec<Bson>,
}

/// The result of writing values again.
#[derive(Debug, Default)]
pub(crate) struct RederiveReport {
    pub(crate) written: WriteReport,
    /// The collections in whose documents work is pending, in the order in which it is to be applied.
    pub(crate) pending: Vec<&'static DocumentMeta>,
    /// The ids of holders that were left as they are, since another document has what they should have.
    pub(crate) left: Vec<Bson>,
}

/// How values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Like {
    /// As values that were copied.
    Copies,
    /// As sums of fractions, which depend on the order in which they were added: by a billionth.
    Sums,
}

/// Whether a copy is what it should be. A missing field and `null` are one.
pub(crate) fn is_same(a: Option<&Bson>, b: Option<&Bson>, like: Like) -> bool {
    let (a, b) = (a.unwrap_or(&Bson::Null), b.unwrap_or(&Bson::Null));
    match (a, b) {
        (Bson::Array(a), Bson::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(Some(a), Some(b), like))
        }
        (Bson::Document(a), Bson::Document(b)) => {
            let all = |a: &Document, b: &Document| {
                let own = a.iter().filter(|(name, _)| *name != COPIED);
                own.into_iter()
                    .all(|(name, value)| is_same(Some(value), b.get(name), like))
            };
            all(a, b) && all(b, a)
        }
        (a, b) if a == b || Key::of_bson(a) == Key::of_bson(b) => true,
        (a, b) => match (float(a), float(b)) {
            (Some(a), Some(b)) if like == Like::Sums && a.is_finite() && b.is_finite() => {
                (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
            }
            _ => false,
        },
    }
}

fn float(value: &Bson) -> Option<f64> {
    match value {
        Bson::Int32(n) => Some((*n).into()),
        Bson::Int64(n) => Some(*n as f64),
        Bson::Double(n) => Some(*n),
        _ => None,
    }
}

/// The error for a copy that is declared `consistency = atomic` on a deployment without transactions.
pub(crate) async fn unsupported(odm: &Odm, copy: String) -> Result<Error> {
    tracing::debug!(target: "odm", copy, "a copy with `consistency = atomic` needs transactions");
    Ok(Error::Unsupported {
        operation: "a copy that is declared `consistency = atomic`",
        needs: "a replica set or a sharded cluster",
        is: odm.server().await?.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mongodb::bson::doc;

    #[test]
    fn values_are_compared_as_the_server_does() {
        let same = |a: Bson, b: Bson| is_same(Some(&a), Some(&b), Like::Copies);
        assert!(same(1.into(), 1_i64.into()));
        assert!(same(1.into(), 1.0.into()));
        assert!(same(f64::NAN.into(), f64::NAN.into()));
        assert!(same(0.0.into(), (-0.0).into()));
        assert!(same(f64::INFINITY.into(), f64::INFINITY.into()));
        assert!(!same((0.1 + 0.2).into(), 0.3.into()));
        assert!(!same(0.1.into(), 0.2.into()));
        assert!(!same(1e15.into(), (1e15 + 1.0).into()));
        assert!(same(
            doc! { "a": 1, "b": Bson::Null }.into(),
            doc! { "a": 1 }.into()
        ));
        assert!(!same(doc! { "a": 1 }.into(), doc! { "a": 1, "b": 2 }.into()));
        assert!(!same(Bson::Array(vec![1.into()]), Bson::Array(vec![])));
        assert!(is_same(None, Some(&Bson::Null), Like::Copies));
        assert!(!is_same(None, Some(&0.into()), Like::Copies));
    }

    #[test]
    fn sums_of_fractions_are_compared_by_a_billionth() {
        let same = |a: Bson, b: Bson| is_same(Some(&a), Some(&b), Like::Sums);
        assert!(same((0.1 + 0.2).into(), 0.3.into()));
        assert!(same(
            doc! { "sum": 0.1 + 0.2, "count": 2 }.into(),
            doc! { "sum": 0.3, "count": 2_i64 }.into()
        ));
        assert!(same(f64::NAN.into(), f64::NAN.into()));
        assert!(same(f64::INFINITY.into(), f64::INFINITY.into()));
        for other in [
            Bson::Int32(5),
            5.0.into(),
            f64::NAN.into(),
            f64::NEG_INFINITY.into(),
        ] {
            assert!(!same(f64::INFINITY.into(), other.clone()), "{other}");
            assert!(!same(other.clone(), f64::INFINITY.into()), "{other}");
        }
        assert!(!same(2.8e-17.into(), 0.0.into()));
    }
}
