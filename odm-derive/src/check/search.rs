//! The rules of search and vector indexes: what Atlas refuses, or would leave out of an index.

use super::message::{error, label, thousands};
use crate::ast::{Container, Field};
use crate::attr::document::Document;
use crate::attr::search::{SearchIndex, SearchKind, Vector};
use crate::ctxt::Ctxt;
use syn::Ident;

/// The most dimensions that a vector index of Atlas takes.
const MOST_DIMENSIONS: u64 = 8_192;

pub fn all(cx: &Ctxt, container: &Container, document: &Document) {
    for (i, index) in document.search_indexes.iter().enumerate() {
        is_named(cx, index);
        each_name_once(cx, container, &document.search_indexes[..i], index);
        not_of_views(cx, document, index);
        match &index.kind {
            SearchKind::Search { fields, .. } => {
                for (i, field) in fields.iter().enumerate() {
                    is_stored(cx, container, &field.path);
                    let same = |other: &crate::attr::search::SearchField| {
                        other.path == field.path && other.kind == field.kind
                    };
                    if let (true, Some(last)) = (fields[..i].iter().any(same), field.path.last()) {
                        cx.error(
                            last,
                            format!(
                                "A search index has each field once as `{}`. Leave one of them out",
                                field.kind.word()
                            ),
                        );
                    }
                }
            }
            SearchKind::Vector(vector) => {
                is_stored(cx, container, &vector.path);
                vector
                    .filter
                    .iter()
                    .for_each(|path| is_stored(cx, container, path));
                self::vector(cx, container, vector);
            }
        }
    }
}

fn is_named(cx: &Ctxt, index: &SearchIndex) {
    if let Some(name) = index.name.as_ref().filter(|name| name.value().is_empty()) {
        cx.error(
            name,
            "The name of an index is not empty. Write a name such as `name = \"default\"`",
        );
    }
}

/// Search and vector indexes of a collection share their names.
fn each_name_once(cx: &Ctxt, container: &Container, others: &[SearchIndex], index: &SearchIndex) {
    if others.iter().any(|other| other.name() == index.name()) {
        let span = index.name.as_ref().map_or(index.span, syn::LitStr::span);
        error(
            cx,
            span,
            format!(
                "Two search or vector indexes of `{}` are called `{}`, and a collection has each name once. Give one of them another \
                 one: `name = \"by_title\"`",
                container.ident,
                index.name()
            ),
        );
    }
}

fn not_of_views(cx: &Ctxt, document: &Document, index: &SearchIndex) {
    if document.view.is_some() {
        error(
            cx,
            index.span,
            "A view has no index by its model. Declare the index on the documents that it shows: those of `view(of = …)`",
        );
    }
    if document.time_series.is_some() {
        error(
            cx,
            index.span,
            "Atlas has no search or vector index of a time series. Leave it out, or make it a plain collection",
        );
    }
}

/// The field of the document's own that a path is, if it leads no further.
fn own<'c>(container: &'c Container, path: &[Ident]) -> Option<&'c Field<'c>> {
    let [name] = path else { return None };
    let mut fields = container.fields().iter();
    fields.find(|field| field.ident() == Some(name))
}

/// Only what is stored under a name can be indexed.
fn is_stored(cx: &Ctxt, container: &Container, path: &[Ident]) {
    let (Some(field), Some(name)) = (own(container, path), path.last()) else {
        return;
    };
    if field.skipped() {
        cx.error(
            name,
            format!(
                "`{}` is not stored (`skip`), so there is nothing to index. Leave it out of the index",
                label(container, field)
            ),
        );
    }
}

fn vector(cx: &Ctxt, container: &Container, vector: &Vector) {
    let dimensions = vector.dimensions.value;
    if dimensions == 0 || dimensions > MOST_DIMENSIONS {
        error(
            cx,
            vector.dimensions.span,
            format!(
                "A vector has from 1 to {} dimensions in Atlas. Write the number that your model of embeddings makes, such as \
                 `dimensions = 1536`",
                thousands(MOST_DIMENSIONS)
            ),
        );
        return;
    }
    let Some(field) = own(container, &vector.path) else {
        return;
    };
    let most = field.embed.max.as_ref().and_then(crate::attr::Count::known);
    if let Some(most) = most.filter(|most| *most < dimensions) {
        error(
            cx,
            vector.dimensions.span,
            format!(
                "`{}` holds {} numbers at most, and the index takes vectors of {} alone. Write `#[embed(max = {dimensions})]`",
                label(container, field),
                thousands(most),
                thousands(dimensions)
            ),
        );
    }
    if let (true, Some(name)) = (vector.filter.contains(&vector.path), vector.path.last()) {
        cx.error(
            name,
            "A search is not filtered by the vectors themselves. Leave the field out of `filter`",
        );
    }
}
