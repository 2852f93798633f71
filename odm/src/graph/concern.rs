//! Whether a rule of the library concerns a collection, so that nothing else may write it.

use crate::graph::Graph;
use crate::model::document::{Action, CollectionKind, DocumentMeta, Level};
use crate::model::meta::Managed;

/// Why the results of a pipeline, which the server writes by itself, may not be stored in a collection: in the middle of a sentence.
pub(crate) fn rule_that_concerns(graph: &Graph, collection: &str) -> Option<String> {
    if collection.starts_with("_odm") || collection.starts_with("system.") {
        return Some("the collection belongs to the library or to the server".to_owned());
    }
    let meta = graph.model(collection)?;
    let name = meta.name;
    let why = if let Some(edge) = graph.outgoing(meta).next() {
        format!(
            "`{name}.{}` is a reference, whose documents have to exist",
            edge.path
        )
    } else if let Some(edge) = graph.incoming(meta).next() {
        format!("`{}.{}` refers to `{name}`", edge.holder.name, edge.path)
    } else if let Some(derived) = graph.derived_in(meta).next() {
        format!("`{}` is computed from other documents", derived.name())
    } else if graph.is_depended_on(meta) {
        format!("other documents depend on `{name}`")
    } else if meta.bucket.is_some() {
        format!("`{name}` holds the items of buckets")
    } else if meta.has_hooks() {
        format!("`{name}` has hooks, which are called with each of its writes")
    } else if !matches!(meta.kind, CollectionKind::Plain) {
        format!("`{name}` is stored in {}", meta.kind)
    } else if meta.append_only {
        format!("`{name}` is declared `append_only`")
    } else if let Some(field) = managed(meta) {
        format!("the library writes `{name}.{field}` with every change of a document")
    } else if meta.validation.level != Level::Strict || meta.validation.action != Action::Error {
        format!("the validator of `{name}` does not refuse documents that don't fit")
    } else {
        return None;
    };
    Some(why)
}

/// A field that the library sets.
fn managed(meta: &DocumentMeta) -> Option<&'static str> {
    let is_set = |managed| !matches!(managed, Managed::No | Managed::Id);
    let field = meta.fields().iter().find(|field| is_set(field.managed))?;
    Some(field.name)
}
