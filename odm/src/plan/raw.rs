//! Refuses raw updates of the fields that the library writes itself. A typed change of it does not compile.

use crate::model::document::DocumentMeta;
use crate::model::graph::Graph;
use crate::model::graph::sync::kept_in_sync;
use crate::model::names::meet;
use crate::model::names::plain_name;
use crate::plan::operators::Raw;
use crate::{Error, Result};

/// Refuses an update that changes a copy which follows its source, what is derived of children, or what a bucket says of its
/// items.
///
/// # Errors
/// [`Error::Query`].
pub(crate) fn refuse(graph: &Graph, meta: &DocumentMeta, raw: &[Raw]) -> Result<()> {
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
