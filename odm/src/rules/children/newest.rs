//! The first children of each of many parents, as subsets hold them.
//!
//! For each parent the server begins in the index of the parent reference, and where that has the order it stops at the limit.
//! Neither a query for the children of all parents does so, nor a `$group`: both read all that there are.

use crate::graph::edge::{Derived, Edge, ReferenceTarget};
use crate::model::copy::Subset;
use crate::model::key::Key;
use crate::model::meta::names::read_too;
use crate::plan::operators::implied::matches;
use crate::rules::children::parents::{element, order};
use crate::store::cx::Cx;
use crate::store::filter::all;
use crate::{Error, Result};
use futures::{StreamExt, TryStreamExt, stream};
use mongodb::bson::{Bson, Document, doc};
use std::collections::{HashMap, HashSet};

/// Maximum number of queries for children that run at once.
const AT_ONCE: usize = 8;

/// Maximum number of parents whose children one query reads: those of a batch of documents, and few enough for a short query.
const PARENTS_IN_ONE_QUERY: usize = 1_000;

/// Which children of a parent are wanted.
struct FirstChildren<'g> {
    edge: &'g Edge,
    /// The parents, as a target of the reference.
    target: ReferenceTarget,
    condition: Document,
    sort: Document,
    fields: Document,
    limit: i64,
}

/// The elements of a subset in each of these parents: there may be none of those without children.
pub(crate) async fn newest(
    cx: &Cx<'_>,
    edge: &Edge,
    derived: &Derived,
    subset: &Subset,
    condition: Document,
    parents: &[Key],
) -> Result<HashMap<Key, Vec<Document>>> {
    let turn = if subset.last { -1 } else { 1 };
    let mut fields = doc! { "_id": 1 };
    for field in (subset.fields)() {
        read_too(&mut fields, field.source);
    }
    let first = FirstChildren {
        edge,
        target: derived.target,
        condition,
        sort: order(subset)
            .map(|(name, direction)| (name.to_owned(), Bson::Int32(direction * turn)))
            .collect(),
        fields,
        limit: i64::from(subset.limit),
    };
    // Two documents may have one key where it should be unique and is not.
    let parents: HashSet<&Key> = parents.iter().collect();
    let together =
        parents.len() > 1 && matches(&first.condition) && cx.odm.joins_children(cx.session.is_some()).await?;
    let mut found = if together {
        first.of_many(cx, subset, parents).await?
    } else {
        first.one_by_one(cx, subset, parents).await?
    };
    if subset.last {
        found.values_mut().for_each(|elements| elements.reverse());
    }
    Ok(found)
}

impl FirstChildren<'_> {
    /// A query for each parent: for one, and where the server has no other way.
    async fn one_by_one(
        &self,
        cx: &Cx<'_>,
        subset: &Subset,
        parents: HashSet<&Key>,
    ) -> Result<HashMap<Key, Vec<Document>>> {
        let looks = parents.into_iter().map(|parent| async move {
            let of_this = self.edge.holders_of(self.target, vec![parent.to_bson()]);
            let filter = all([of_this, self.condition.clone()]);
            let (sort, fields) = (self.sort.clone(), self.fields.clone());
            let found = cx
                .first(self.edge.holder, filter, sort, fields, self.limit)
                .await?;
            let elements = found.iter().map(|child| element(subset, child));
            Ok::<_, Error>((parent.clone(), elements.collect()))
        });
        let looks: Vec<_> = looks.collect();
        stream::iter(looks)
            .buffer_unordered(at_once(cx))
            .try_collect()
            .await
    }

    /// One query for all of them.
    async fn of_many(
        &self,
        cx: &Cx<'_>,
        subset: &Subset,
        parents: HashSet<&Key>,
    ) -> Result<HashMap<Key, Vec<Document>>> {
        let chunks = crate::model::key::chunks(parents);
        let parts = chunks.iter().flat_map(|keys| keys.chunks(PARENTS_IN_ONE_QUERY));
        let looks: Vec<_> = parts
            .map(|keys| cx.aggregate_raw(self.edge.holder, self.pipeline(cx, keys)))
            .collect();
        let mut replies = stream::iter(looks).buffer_unordered(at_once(cx));
        let mut found: HashMap<Key, Vec<Document>> = HashMap::new();
        while let Some(rows) = replies.try_next().await? {
            for row in rows {
                // One parent's children are in one reply, in their order.
                if let (Ok(Some(parent)), Ok(child)) = (row.get("k"), row.get_document("c")) {
                    let elements = found.entry(Key::of(parent)).or_default();
                    elements.push(element(subset, child));
                }
            }
        }
        Ok(found)
    }

    /// The join of these keys with the children that name them, a row for each child.
    fn pipeline(&self, cx: &Cx<'_>, keys: &[Bson]) -> Vec<Document> {
        // The reference is in no array, so that its type needs not be bound to its id.
        let tag = self.edge.tag(self.target);
        let of_type = tag.map(|tag| doc! { format!("{}.type", self.edge.path): tag });
        let holder = self.edge.holder;
        let of_all = holder.shard_key.is_some().then(|| {
            let of_these = self.edge.holders_of(self.target, keys.to_vec());
            cx.routed(holder, all([of_these, self.condition.clone()]))
        });
        let condition = match &of_all {
            // Of one value of the shard key.
            Some(routed) if !routed.contains_key("$or") => routed.clone(),
            _ => all([of_type.unwrap_or_default(), self.condition.clone()]),
        };
        let children = vec![
            doc! { "$match": condition },
            doc! { "$sort": self.sort.clone() },
            doc! { "$limit": self.limit },
            doc! { "$project": self.fields.clone() },
        ];
        let lookup = doc! {
            "from": holder.collection,
            "localField": "k",
            "foreignField": self.edge.key_path(),
            "pipeline": children,
            "as": "c",
        };
        // The server hands on each child as it comes, and never holds those of a parent together.
        let joined = [doc! { "$lookup": lookup }, doc! { "$unwind": "$c" }];
        crate::model::key::rows(keys, of_all).chain(joined).collect()
    }
}

/// The driver executes one operation of a session at a time.
fn at_once(cx: &Cx<'_>) -> usize {
    if cx.session.is_some() { 1 } else { AT_ONCE }
}
