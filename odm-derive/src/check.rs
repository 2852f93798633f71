//! The rules across fields and attributes, one small function each.

use crate::ast::{Container, Data, Field, Style};
use crate::attr::document::Document;
use crate::attr::embed::Container as Embed;
use crate::attr::projection::Projection;
use crate::ctxt::Ctxt;
use crate::expand::document::Roles;
use crate::ty;

pub fn document(cx: &Ctxt, container: &Container, document: &Document, roles: &Roles) {
    collection_is_named(cx, container, document);
    id_is_there(cx, container, roles);
}

pub fn embed(_cx: &Ctxt, _container: &Container, _embed: &Embed) {}

pub fn projection(_cx: &Ctxt, _container: &Container, _projection: &Projection) {}

/// A document has a collection: `#[document(collection = "people")]`.
fn collection_is_named(cx: &Ctxt, container: &Container, document: &Document) {
    if document.collection.is_none() {
        cx.error(container.ident, "no collection");
    }
}

fn id_is_there(cx: &Ctxt, container: &Container, roles: &Roles) {
    if roles.id.is_none() {
        cx.error(container.ident, "no id");
    }
}
#[allow(dead_code)]
fn x(_: &Field, _: Style, d: &Data) {
    let _ = (ty::is_bytes, d);
}
