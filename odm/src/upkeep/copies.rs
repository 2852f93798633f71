//! Compares copies with what they are taken from, and takes them again.

use crate::Result;
use crate::engine::apply::drain;
use crate::model::bucket::BucketMeta;
use crate::model::copy::{Operation, SyncMode};
use crate::model::document::DocumentMeta;
use crate::model::graph::Graph;
use crate::model::graph::edge::{CopyField, Derived, Edge, What};
use crate::model::key::Key;
use crate::own_fields::{COPIED, OWN, VERSION};
use crate::plan::fields::ChangedFields;
use crate::rules::children::{derive, is_whole, refresh};
use crate::rules::copy::deliver::{To, empty_copies, held, named, passed_on, pull, raise, sources, structs};
use crate::rules::link::id;
use crate::rules::pending::Token;
use crate::rules::pending::recorded_in_pipeline;
use crate::store::batch;
use crate::store::each::Written;
use crate::store::fields::at;
use crate::store::scope::Scope;
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

/// Values that are kept in sync in the documents of one collection: the copies beside one reference, one derived field, or the
/// summaries of buckets.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept<'g> {
    Beside(&'g Edge),
    Derived(&'g Derived),
    Bucket(&'static DocumentMeta, &'static BucketMeta),
}

/// The summaries of all buckets.
pub(crate) fn buckets(graph: &Graph) -> impl Iterator<Item = Kept<'_>> {
    let all = graph.models();
    all.filter_map(|meta| Some(Kept::Bucket(meta, meta.bucket?)))
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// How many copies were compared: those beside one reference count as one, and so do a derived field and the summary of a
    /// bucket.
    pub(crate) copies: u64,
    /// How many of them differ.
    pub(crate) wrong: u64,
    /// The ids of the documents in which some differ.
    pub(crate) stale: Vec<Bson>,
}

impl<'g> Kept<'g> {
    /// The documents that hold it.
    pub(crate) fn holder(&self) -> &'static DocumentMeta {
        match self {
            Kept::Beside(edge) => edge.holder,
            Kept::Derived(derived) => derived.parent,
            Kept::Bucket(meta, _) => meta,
        }
    }

    /// The names of the fields.
    pub(crate) fn fields(&self) -> Vec<String> {
        match self {
            Kept::Beside(edge) => {
                let followed = edge.copies.iter().filter(|copy| copy.sync != SyncMode::Snapshot);
                followed.map(|copy| edge.copy_path(copy)).collect()
            }
            Kept::Derived(derived) => vec![derived.field.name.to_owned()],
            Kept::Bucket(_, bucket) => bucket.told().map(str::to_owned).collect(),
        }
    }

    /// Its source, in words.
    pub(crate) fn source(&self) -> String {
        match self {
            Kept::Beside(edge) => {
                let target = edge.targets.first().map_or("", |target| target.collection);
                let followed = edge.copies.iter().filter(|copy| copy.sync != SyncMode::Snapshot);
                let names: Vec<String> = followed.map(|copy| format!("{target}.{}", copy.source)).collect();
                names.join(", ")
            }
            Kept::Derived(derived) => match derived.what {
                What::Subset(_) => derived.child.collection.to_owned(),
                What::Computed { operation, of: "" } => {
                    format!("{operation} of {}", derived.child.collection)
                }
                What::Computed { operation, of } => {
                    format!("{operation} of {}.{of}", derived.child.collection)
                }
            },
            Kept::Bucket(meta, bucket) => format!("{}.{}", meta.collection, bucket.items),
        }
    }

    /// The fields to read of a holder.
    pub(crate) fn projection(&self) -> Document {
        let mut fields = doc! { "_id": 1, OWN: 1 };
        match self {
            // Both sides of the comparison are in one document, so nothing else is read.
            Kept::Bucket(_, bucket) => fields = bucket.to_compare(),
            Kept::Beside(edge) => {
                fields.insert(edge.root(), 1);
                if edge.segments.len() == 1 {
                    fields.insert(COPIED, 1);
                    fields.extend(
                        edge.copies
                            .iter()
                            .map(|copy| (copy.name.to_owned(), Bson::Int32(1))),
                    );
                }
            }
            Kept::Derived(derived) => {
                fields.insert(derived.field.name, 1);
            }
        }
        fields
    }

    /// Compares these holders. Gives how many copies were compared, and the holders in which one differs.
    pub(crate) async fn compare(
        &self,
        scope: &Scope<'_>,
        documents: &[RawDocumentBuf],
    ) -> Result<(u64, Vec<Bson>)> {
        let compared = self.measure(scope, documents).await?;
        Ok((compared.copies, compared.stale))
    }

    /// Compares these holders, twice those that seem to differ: while a write is on its way the first look may have seen
    /// one half.
    pub(crate) async fn measure(&self, scope: &Scope<'_>, documents: &[RawDocumentBuf]) -> Result<Compared> {
        let first = self.look(scope, documents).await?;
        // A bucket was read as a whole.
        if first.stale.is_empty() || matches!(self, Kept::Bucket(..)) {
            return Ok(first);
        }
        let filter = doc! { "_id": { "$in": &first.stale } };
        let look = async |scope: Scope<'_>| {
            let again = scope
                .every(self.holder(), filter.clone(), self.projection())
                .await?;
            self.look(&scope, &again).await
        };
        let second = match scope.odm.has_transactions().await? {
            false => look(*scope).await?,
            true => {
                scope.trip(); // the commit
                let odm = scope.odm;
                odm.transaction(async |tx| look(scope.within(tx.shared())).await)
                    .await?
            }
        };
        Ok(Compared {
            copies: first.copies,
            // One may have come since.
            wrong: second.wrong.min(first.copies),
            stale: second.stale,
        })
    }

    async fn look(&self, scope: &Scope<'_>, documents: &[RawDocumentBuf]) -> Result<Compared> {
        match self {
            Kept::Beside(edge) => beside(scope, edge, documents).await,
            Kept::Derived(derived) => derived_in(scope, derived, documents).await,
            Kept::Bucket(_, bucket) => Ok(in_buckets(bucket, documents)),
        }
    }

    /// Compares these holders, and rewrites the copies of those in which one differs.
    pub(crate) async fn correct(&self, scope: &Scope<'_>, documents: &[RawDocumentBuf]) -> Result<Written> {
        let (_, stale) = self.compare(scope, documents).await?;
        match stale.is_empty() {
            true => Ok(Written::default()),
            false => self.rewrite(scope, &stale).await,
        }
    }

    /// Writes the copies of these holders again, except in documents that are refused.
    pub(crate) async fn rewrite(&self, scope: &Scope<'_>, ids: &[Bson]) -> Result<Written> {
        let token = Token::new();
        let scope = &scope.unvalidated();
        let graph = scope.odm.graph();
        let mut written = Written::default();
        match self {
            Kept::Beside(edge) => {
                let filter = doc! { "_id": { "$in": ids } };
                let documents = scope.every(edge.holder, filter, self.projection()).await?;
                written.add(raise_above(scope, edge, &documents, token).await)?;
                let pulled = pull(scope, edge, &documents, To::NoNewer, token.into()).await;
                written.add(pulled.map(|pulled| Written {
                    documents: pulled.documents,
                    refused: pulled.refused,
                }))?;
                written.add(empty_copies(scope, edge, ids, token.into()).await)?;
                if written.is_any() && !passed_on(scope, edge, &ChangedFields::All).is_empty() {
                    written.and(drain(*scope, edge.holder, token).await)?;
                }
                // One document may hold several sources, of which each is a statement of its own.
                written.documents = written.documents.min(documents.len() as u64);
            }
            Kept::Derived(derived) => {
                let Some(edge) = graph.parent_edge(derived) else {
                    return Ok(written);
                };
                let filter = doc! { "_id": { "$in": ids } };
                let fields = doc! { "_id": 1, edge.by(): 1 };
                let parents = scope.every(derived.parent, filter, fields).await?;
                let keys: HashSet<Key> = parents
                    .iter()
                    .filter_map(|parent| at(parent, edge.by()))
                    .map(Key::of)
                    .collect();
                written.add(refresh(scope, edge, &[derived], keys, token.into()).await)?;
                if graph.is_read(derived.parent, derived.field.name) {
                    written.and(drain(*scope, derived.parent, token).await)?;
                }
            }
            Kept::Bucket(meta, bucket) => {
                let mut set = bucket.retold();
                // The fields that others derive from it are updated.
                let is_read = bucket.told().any(|name| graph.is_read(meta, name));
                if is_read {
                    set.extend(recorded_in_pipeline(token));
                    let version = doc! { "$ifNull": [format!("${VERSION}"), 0_i64] };
                    set.insert(VERSION, doc! { "$add": [version, 1_i64] });
                }
                let filter = doc! { "_id": { "$in": ids } };
                let told = scope.compute(meta, filter, vec![doc! { "$set": set }]).await;
                written.add(told.map(Written::of))?;
                if is_read {
                    written.and(drain(*scope, meta, token).await)?;
                }
            }
        }
        Ok(written)
    }
}

fn in_buckets(bucket: &BucketMeta, documents: &[RawDocumentBuf]) -> Compared {
    let mut compared = Compared::default();
    for document in documents {
        let Some(is_true) = bucket.is_true(document) else {
            continue;
        };
        compared.copies += 1;
        if !is_true {
            compared.wrong += 1;
            compared.stale.push(batch::document_id(document));
        }
    }
    compared
}

/// Raises the versions of sources whose copies claim a newer one: an out-of-band replacement of the source has removed its
/// version. The documents themselves are not written.
async fn raise_above(
    scope: &Scope<'_>,
    edge: &Edge,
    documents: &[RawDocumentBuf],
    token: Token,
) -> Result<Written> {
    let mut done = Written::default();
    let Some(meta) = edge.targets.first().copied() else {
        return Ok(done);
    };
    let mut claimed: HashMap<Key, i64> = HashMap::new();
    for (key, version) in documents.iter().flat_map(|document| held(edge, document)) {
        let most = claimed.entry(key).or_insert(version);
        *most = version.max(*most);
    }
    let sources = sources(scope, edge, claimed.keys()).await?;
    claimed.retain(|key, version| sources.get(key).is_some_and(|source| source.version < *version));
    let Some(most) = claimed.values().max() else {
        return Ok(done);
    };
    for keys in crate::model::key::chunks(claimed.keys()) {
        let filter = doc! { edge.by(): { "$in": keys } };
        done.add(raise(scope, meta, filter, most.saturating_add(1), token).await)?;
    }
    done.and(drain(*scope, meta, token).await)?;
    done.documents = 0;
    Ok(done)
}

async fn beside(scope: &Scope<'_>, edge: &Edge, documents: &[RawDocumentBuf]) -> Result<Compared> {
    let mut keys: HashSet<Key> = HashSet::new();
    let key_of = |within: &RawDocument| named(edge, within);
    for document in documents {
        keys.extend(structs(edge, document).into_iter().filter_map(key_of));
    }
    let sources = sources(scope, edge, &keys).await?;
    let mut compared = Compared::default();
    for document in documents {
        let wrong = compared.wrong;
        for within in structs(edge, document) {
            let Some(key) = key_of(within) else {
                // An out-of-band write has emptied the reference, and left the copies.
                let is_left = |copy: &CopyField| {
                    let there = within.get(copy.name).ok().flatten();
                    there.is_some_and(|value| value != RawBsonRef::Null)
                };
                if edge.bare_copies().any(is_left) {
                    compared.copies += 1;
                    compared.wrong += 1;
                }
                continue;
            };
            // A reference to a document that is gone is found as such; its copies stay as they were.
            let Some(source) = sources.get(&key) else { continue };
            let mut followed = edge.copies.iter().zip(&source.values);
            let differs = followed.any(|(copy, value)| {
                let there = within.get(copy.name).ok().flatten();
                let there = there.and_then(|value| Bson::try_from(value).ok());
                copy.sync != SyncMode::Snapshot && !is_same(there.as_ref(), value.as_ref(), Like::Copies)
            });
            compared.copies += 1;
            compared.wrong += u64::from(differs);
        }
        if compared.wrong > wrong {
            compared.stale.push(batch::document_id(document));
        }
    }
    Ok(compared)
}

async fn derived_in(scope: &Scope<'_>, derived: &Derived, documents: &[RawDocumentBuf]) -> Result<Compared> {
    let mut compared = Compared::default();
    let Some(edge) = scope.odm.graph().parent_edge(derived) else {
        return Ok(compared);
    };
    let by = edge.by();
    let mut keys: HashMap<Key, Key> = HashMap::new();
    if by == "_id" {
        keys.extend(documents.iter().map(|document| (id(document), id(document))));
    } else {
        let filter = doc! { "_id": { "$in": batch::ids(documents) } };
        for parent in scope
            .every(derived.parent, filter, doc! { "_id": 1, by: 1 })
            .await?
        {
            if let Some(key) = at(&parent, by) {
                keys.insert(id(&parent), Key::of(key));
            }
        }
    }
    let parents: Vec<Key> = keys.values().cloned().collect();
    let right = derive(scope, edge, &[derived], &parents).await?;
    let like = match derived.what {
        What::Computed {
            operation: Operation::Sum,
            ..
        } if !is_whole(derived) => Like::Sums,
        What::Computed {
            operation: Operation::Avg,
            ..
        } => Like::Sums,
        _ => Like::Copies,
    };
    for document in documents {
        let Some(values) = keys.get(&id(document)).and_then(|key| right.get(key)) else {
            continue;
        };
        let there = document
            .get(derived.field.name)
            .ok()
            .flatten()
            .and_then(|value| Bson::try_from(value).ok());
        let right = values.first().and_then(|(_, value)| value.as_ref());
        compared.copies += 1;
        // A least value that is stored as `null` stays so whatever comes: the server sorts it before all numbers.
        let as_there = there.is_some() == right.is_some();
        if !(as_there && is_same(there.as_ref(), right, like)) {
            compared.wrong += 1;
            compared.stale.push(batch::document_id(document));
        }
    }
    Ok(compared)
}

/// How values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Like {
    /// As values that were copied.
    Copies,
    /// As sums of fractions, which depend on the order in which they were added: by a billionth.
    Sums,
}

/// Whether a copy is what it should be. A missing field and `null` are one.
fn is_same(a: Option<&Bson>, b: Option<&Bson>, like: Like) -> bool {
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

#[cfg(test)]
mod tests {
    use crate::upkeep::copies::*;

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
