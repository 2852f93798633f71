//! A field that parents derive of their children, as a derived value.

use crate::Result;
use crate::graph::Graph;
use crate::graph::declaration::{Declaration, storable};
use crate::graph::edge::{Derivation, Derived};
use crate::model::copy::Operation;
use crate::model::default;
use crate::model::document::DocumentMeta;
use crate::model::key::Key;
use crate::model::own_fields::{OWN, Token};
use crate::rules::children::{derive, is_whole, refresh};
use crate::rules::derived::{Comparison, DerivedValue, Like, RederiveReport, is_same};
use crate::store::batch;
use crate::store::batch::id;
use crate::store::cx::Cx;
use crate::store::fields::at;
use futures::future::{BoxFuture, FutureExt};
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use std::collections::{HashMap, HashSet};

/// A subset or a computed field.
#[derive(Clone, Copy)]
pub(crate) struct OfChildren<'g> {
    pub(crate) derived: &'g Derived,
}

impl DerivedValue for OfChildren<'_> {
    fn holder(&self) -> &'static DocumentMeta {
        self.derived.parent
    }

    fn fields(&self) -> Vec<String> {
        vec![self.derived.field.name.to_owned()]
    }

    fn source(&self) -> String {
        let child = self.derived.child.collection;
        match self.derived.what {
            Derivation::Subset(subset) if subset.single => {
                let end = if subset.last { "last" } else { "first" };
                let of = (subset.fields)().first().map_or("", |field| field.source);
                format!("{end} of {child}.{of}")
            }
            Derivation::Subset(_) => child.to_owned(),
            Derivation::Computed { operation, of: "" } => format!("{operation} of {child}"),
            Derivation::Computed { operation, of } => format!("{operation} of {child}.{of}"),
        }
    }

    fn projection(&self) -> Document {
        doc! { "_id": 1, OWN: 1, self.derived.field.name: 1 }
    }

    fn declaration(&self, graph: &Graph) -> Declaration {
        let derived = self.derived;
        let parent = graph.parent_edge(derived).path.as_str();
        let mut declaration = doc! {
            "parent": parent,
            "filter": storable(&derived.counted().unwrap_or_default().into()),
            "sync": derived.consistency.to_string(),
        };
        match derived.what {
            Derivation::Subset(subset) => {
                let order = subset
                    .order
                    .iter()
                    .map(|key| Bson::from(doc! { "field": (key.path)(), "kind": format!("{:?}", key.kind) }));
                let fields = (subset.fields)().iter();
                let fields = fields.map(|field| {
                    let mut declared = doc! { "field": field.name, "of": field.source };
                    let default = default::declared((derived.child.shape)(), field.source);
                    declared.extend(default.map(|default| ("default".to_owned(), default)));
                    Bson::from(declared)
                });
                declaration.extend(doc! {
                    "limit": i64::from(subset.limit),
                    "last": subset.last,
                    "order": order.collect::<Vec<_>>(),
                    "fields": fields.collect::<Vec<_>>(),
                });
                // Absent of an array, as programs of earlier versions have declared it.
                if subset.single {
                    declaration.insert("single", true);
                }
            }
            Derivation::Computed { operation, of } => {
                declaration.extend(doc! { "operation": operation.to_string(), "of": of });
                let default = default::declared((derived.child.shape)(), of);
                declaration.extend(default.map(|default| ("default".to_owned(), default)));
            }
        }
        Declaration {
            id: derived.name(),
            from: derived.child.collection,
            holder: derived.parent.collection,
            is: declaration,
            fills: true,
            rule: None,
        }
    }

    fn reads(&self, graph: &Graph, is_read: &dyn Fn(&str) -> bool) -> Vec<String> {
        if is_read(self.derived.field.name) {
            self.derived.reads(graph)
        } else {
            Vec::new()
        }
    }

    fn compare<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        documents: &'s [RawDocumentBuf],
    ) -> BoxFuture<'s, Result<Comparison>> {
        derived_in(cx, self.derived, documents).boxed()
    }

    fn rewrite<'s>(
        &'s self,
        cx: &'s Cx<'_>,
        ids: &'s [Bson],
        token: Token,
    ) -> BoxFuture<'s, Result<RederiveReport>> {
        async move {
            let (derived, graph) = (self.derived, cx.odm.graph());
            let mut rewritten = RederiveReport::default();
            let edge = graph.parent_edge(derived);
            let filter = doc! { "_id": { "$in": ids } };
            let fields = doc! { "_id": 1, edge.by(): 1 };
            let parents = cx.every(derived.parent, filter, fields).await?;
            let keys: HashSet<Key> = parents
                .iter()
                .filter_map(|parent| at(parent, edge.by()))
                .map(Key::of)
                .collect();
            rewritten
                .written
                .add(refresh(cx, edge, &[derived], keys, token.into()).await)?;
            if graph.is_read(derived.parent, derived.field.name) {
                rewritten.pending.push(derived.parent);
            }
            Ok(rewritten)
        }
        .boxed()
    }
}

async fn derived_in(cx: &Cx<'_>, derived: &Derived, documents: &[RawDocumentBuf]) -> Result<Comparison> {
    let mut compared = Comparison::default();
    let edge = cx.odm.graph().parent_edge(derived);
    let by = edge.by();
    let mut keys: HashMap<Key, Key> = HashMap::new();
    if by == "_id" {
        keys.extend(documents.iter().map(|document| (id(document), id(document))));
    } else {
        let filter = doc! { "_id": { "$in": batch::ids(documents) } };
        for parent in cx.every(derived.parent, filter, doc! { "_id": 1, by: 1 }).await? {
            if let Some(key) = at(&parent, by) {
                keys.insert(id(&parent), Key::of(key));
            }
        }
    }
    let parents: Vec<Key> = keys.values().cloned().collect();
    let right = derive(cx, edge, &[derived], &parents).await?;
    let like = match derived.what {
        Derivation::Computed {
            operation: Operation::Sum,
            ..
        } if !is_whole(derived) => Like::Sums,
        Derivation::Computed {
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
