//! Prepares the operators that a front end has stated: it refuses those that change what the library writes, and makes a push onto an
//! array of two-way references add to a set.

use crate::graph::Graph;
use crate::graph::edge::Edge;
use crate::graph::sync::kept_in_sync;
use crate::model::document::DocumentMeta;
use crate::model::names::{meet, plain_name};
use crate::plan::operators::guard::Guard;
use crate::plan::operators::{Built, Raw};
use crate::{Error, Result};
use mongodb::bson::{Bson, Document, doc};

/// Prepares the changes of a document.
///
/// # Errors
/// [`Error::Query`] where an update in MongoDB's own words changes what the library writes itself.
pub(crate) fn prepare(graph: &Graph, meta: &'static DocumentMeta, built: &mut Built) -> Result<()> {
    refuse(graph, meta, &built.raw)?;
    as_sets(graph.outgoing(meta), built);
    built.guard_items(meta, graph.is_depended_on(meta));
    Ok(())
}

/// Makes every push onto an array of a two-way reference an `$addToSet`: the array is a set, since a link is there or is
/// not.
pub(crate) fn as_sets<'g>(edges: impl Iterator<Item = &'g Edge>, built: &mut Built) {
    for edge in edges.filter(|edge| edge.list && edge.is_two_way()) {
        let Some(Bson::Document(pushes)) = built.update.get_mut("$push") else {
            return;
        };
        let Some(values) = pushes.get(&edge.path).and_then(pushed) else {
            continue;
        };
        pushes.remove(&edge.path);
        if pushes.is_empty() {
            built.update.remove("$push");
        }
        let entry = built.update.entry("$addToSet".to_owned());
        if let Bson::Document(sets) = entry.or_insert_with(|| Document::new().into()) {
            sets.insert(&edge.path, doc! { "$each": values.clone() });
        }
        for guard in &mut built.guards {
            if let Guard::Room {
                name, unless_there, ..
            } = guard
                && *name == edge.path
            {
                unless_there.get_or_insert_with(|| values.clone());
            }
        }
    }
}

/// The values of a `$push` that only appends.
fn pushed(value: &Bson) -> Option<Vec<Bson>> {
    match value {
        Bson::Document(push) if push.keys().any(|key| key.starts_with('$')) => {
            let each = push.get_array("$each").ok()?;
            (push.len() == 1).then(|| each.clone())
        }
        one => Some(vec![one.clone()]),
    }
}

/// Refuses an update that changes a copy which follows its source, what is derived of children, or what a bucket says of its
/// items.
///
/// # Errors
/// [`Error::Query`].
fn refuse(graph: &Graph, meta: &DocumentMeta, raw: &[Raw]) -> Result<()> {
    let why = raw.iter().find_map(|raw| why_not(graph, meta, raw));
    match why {
        None => Ok(()),
        Some(why) => Err(Error::Query {
            collection: meta.collection,
            message: why,
        }),
    }
}

/// Whether a name is that of a field, or leads into it. One that leads to it sets the reference too, with its copies.
fn is_within(name: &str, field: &str) -> bool {
    meet(name, field) && name.len() >= field.len()
}

fn why_not(graph: &Graph, meta: &DocumentMeta, raw: &Raw) -> Option<String> {
    let name = plain_name(&raw.name);
    // The changes of an item go through what counts and sums them.
    let of_bucket = meta.bucket.filter(|_| !raw.of_item);
    if of_bucket.is_some_and(|bucket| bucket.is_kept(meta, &name)) {
        return Some(format!(
            "`{}` is written by the library, and a raw update of it would leave the bucket with a number, a sum or a time that is \
             not that of its items: change them by `push`, `edit` and `delete` of `odm.buckets`",
            raw.name
        ));
    }
    for edge in graph.outgoing(meta) {
        let copy = kept_in_sync(edge).find(|copy| is_within(&name, &edge.copy_path(copy)));
        if let Some(copy) = copy {
            let source = edge.targets.first().map_or("", |target| target.collection);
            return Some(format!(
                "`{}` is written by the library, which copies it from `{source}.{}` through `{}`: change it there, and leave it \
                 out of the raw update",
                raw.name, copy.source, edge.path
            ));
        }
    }
    let derived = graph
        .derived_in(meta)
        .find(|derived| is_within(&name, derived.field.name))?;
    Some(format!(
        "`{}` is written by the library, which derives it from `{}`: leave it out of the raw update",
        raw.name, derived.child.collection
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::testing::{BOOK, ORDER, all};

    fn built(update: Document) -> Built {
        Built {
            update,
            ..Built::nothing()
        }
    }

    #[test]
    fn a_push_onto_a_two_way_array_adds_to_a_set() {
        let graph = all();
        let room = |unless_there| Guard::Room {
            name: "authors".to_owned(),
            more: 2,
            max: 20,
            unless_there,
            field: None,
            numbered: false,
        };
        let mut update = built(doc! { "$push": { "authors": { "$each": [1, 2] } } });
        update.guards.push(room(None));
        as_sets(graph.outgoing(&BOOK), &mut update);
        assert_eq!(
            update.update,
            doc! { "$addToSet": { "authors": { "$each": [1, 2] } } }
        );
        assert_eq!(
            update.guards[0].condition(),
            room(Some(vec![1.into(), 2.into()])).condition()
        );
        // Any other `$push` stays as it is, and so does one with more than that.
        let mut update = built(doc! { "$push": { "authors": 3, "tags": "x" }, "$addToSet": { "other": 1 } });
        as_sets(graph.outgoing(&BOOK), &mut update);
        let set = doc! { "$addToSet": { "other": 1, "authors": { "$each": [3] } } };
        assert_eq!(update.update.get("$addToSet"), set.get("$addToSet"));
        assert_eq!(update.update.get("$push"), Some(&doc! { "tags": "x" }.into()));
        let sorted = doc! { "$push": { "authors": { "$each": [1], "$sort": 1 } } };
        let mut update = built(sorted.clone());
        as_sets(graph.outgoing(&BOOK), &mut update);
        assert_eq!(update.update, sorted);
        // Of a reference that goes one way, nothing changes.
        let push = doc! { "$push": { "parts": { "$each": [1, 1] } } };
        let mut update = built(push.clone());
        as_sets(graph.outgoing(&ORDER), &mut update);
        assert_eq!(update.update, push);
    }
}
