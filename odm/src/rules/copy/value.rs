//! The copies beside one reference, as a derived value.

use crate::Result;
use crate::graph::Graph;
use crate::graph::declaration::Declaration;
use crate::graph::edge::{CopyField, Edge};
use crate::graph::sync::kept_in_sync;
use crate::model::copy::Consistency;
use crate::model::default;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::own_fields::{COPIED, OWN, Token};
use crate::plan::touches::WrittenFields;
use crate::rules::copy::deliver::{
    DeliverTo, empty_copies, held, named, passed_on, pull, raise, sources, structs,
};
use crate::rules::derived::{Comparison, DerivedValue, Like, RederiveReport, is_same};
use crate::store::batch;
use crate::store::cx::Cx;
use crate::store::each::WriteReport;
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

/// The copies beside a reference.
#[derive(Clone, Copy)]
pub(crate) struct Copies<'g> {
    pub(crate) edge: &'g Edge,
}

impl<'g> Copies<'g> {
    /// `None` for a reference beside which nothing is kept in sync.
    pub(crate) fn new(edge: &'g Edge) -> Option<Copies<'g>> {
        edge.consistency().map(|_| Copies { edge })
    }
}

impl DerivedValue for Copies<'_> {
    fn holder(&self) -> &'static DocumentMeta {
        self.edge.holder
    }

    fn fields(&self) -> Vec<String> {
        kept_in_sync(self.edge)
            .map(|copy| self.edge.copy_path(copy))
            .collect()
    }

    fn is_named(&self, field: &str) -> bool {
        self.edge.path == field || self.fields().iter().any(|name| name == field)
    }

    fn source(&self) -> String {
        let target = self.edge.first_target().map_or("", |target| target.collection);
        let names: Vec<String> = kept_in_sync(self.edge)
            .map(|copy| format!("{target}.{}", copy.source))
            .collect();
        names.join(", ")
    }

    fn projection(&self) -> Document {
        let mut fields = doc! { "_id": 1, OWN: 1, self.edge.root(): 1 };
        if self.edge.segments.len() == 1 {
            fields.insert(COPIED, 1);
            let copies = self.edge.copies.iter();
            fields.extend(copies.map(|copy| (copy.name.to_owned(), Bson::Int32(1))));
        }
        fields
    }

    fn declaration(&self, _: &Graph) -> Declaration {
        let edge = self.edge;
        let copies = edge.copies.iter().map(|copy| {
            let mut declared = doc! {
                "field": edge.copy_path(copy), "of": copy.source, "sync": copy.consistency.to_string(),
            };
            let target = edge.first_target();
            let default = target.and_then(|target| default::declared((target.shape)(), copy.source));
            declared.extend(default.map(|default| ("default".to_owned(), default)));
            Bson::from(declared)
        });
        let is = doc! { "through": &edge.path, "by": edge.by(), "copies": copies.collect::<Vec<_>>() };
        Declaration {
            id: format!("{}.{}", edge.holder.collection, edge.path),
            from: edge.first_target().map_or("", |target| target.collection),
            holder: edge.holder.collection,
            is,
            fills: true,
            rule: Some(edge.reference.on_delete),
        }
    }

    fn reads(&self, _: &Graph, is_read: &dyn Fn(&str) -> bool) -> Vec<String> {
        let read = kept_in_sync(self.edge).filter(|copy| is_read(&self.edge.copy_path(copy)));
        read.map(|copy| copy.source.to_owned()).collect()
    }

    fn compare<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        documents: &'s [RawDocumentBuf],
    ) -> BoxFuture<'s, Result<Comparison>> {
        compare_with_sources(cx, self.edge, documents).boxed()
    }

    fn rewrite<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        ids: &'s [Bson],
        token: Token,
    ) -> BoxFuture<'s, Result<RederiveReport>> {
        async move {
            let edge = self.edge;
            let mut pending = Vec::new();
            let mut written = WriteReport::default();
            let filter = doc! { "_id": { "$in": ids } };
            let documents = cx.every(edge.holder, filter, self.projection()).await?;
            pending.extend(raise_above(cx, edge, &documents, token, &mut written).await?);
            let pulled = pull(cx, edge, &documents, DeliverTo::NoNewer, token.into()).await;
            written.add(pulled.map(|pulled| WriteReport {
                documents: pulled.documents,
                refused: pulled.refused,
            }))?;
            written.add(empty_copies(cx, edge, ids, token.into()).await)?;
            if written.is_any() && !passed_on(cx, edge, &WrittenFields::All).is_empty() {
                pending.push(edge.holder);
            }
            // One document may hold several sources, of which each is a statement of its own.
            written.documents = written.documents.min(documents.len() as u64);
            Ok(RederiveReport {
                written,
                pending,
                left: Vec::new(),
            })
        }
        .boxed()
    }
}

/// Raises the versions of sources whose copies claim a newer one: an out-of-band replacement of the source has removed its
/// version. Gives the collection in which work is pending then. The documents themselves are not written.
async fn raise_above(
    cx: &Cx<'_>,
    edge: &Edge,
    documents: &[RawDocumentBuf],
    token: Token,
    written: &mut WriteReport,
) -> Result<Option<&'static DocumentMeta>> {
    let Some(meta) = edge.first_target() else {
        return Ok(None);
    };
    let mut claimed: HashMap<Key, i64> = HashMap::new();
    for (key, version) in documents.iter().flat_map(|document| held(edge, document)) {
        let most = claimed.entry(key).or_insert(version);
        *most = version.max(*most);
    }
    let Some(sources) = written.and(sources(cx, edge, claimed.keys()).await)? else {
        return Ok(None);
    };
    claimed.retain(|key, version| sources.get(key).is_some_and(|source| source.version < *version));
    let Some(most) = claimed.values().max() else {
        return Ok(None);
    };
    let mut raised = WriteReport::default();
    for keys in crate::model::key::chunks(claimed.keys()) {
        let filter = doc! { edge.by(): { "$in": keys } };
        raised.add(raise(cx, meta, filter, most.saturating_add(1), token).await)?;
    }
    // The sources are no holders of the copies, so they are not counted.
    raised.documents = 0;
    written.add(Ok(raised))?;
    Ok(Some(meta))
}

async fn compare_with_sources(cx: &Cx<'_>, edge: &Edge, documents: &[RawDocumentBuf]) -> Result<Comparison> {
    let mut keys: HashSet<Key> = HashSet::new();
    let key_of = |within: &RawDocument| named(edge, within);
    for document in documents {
        keys.extend(structs(edge, document).into_iter().filter_map(key_of));
    }
    let sources = sources(cx, edge, &keys).await?;
    let mut compared = Comparison::default();
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
                copy.consistency != Consistency::Snapshot
                    && !is_same(there.as_ref(), value.as_ref(), Like::Copies)
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
