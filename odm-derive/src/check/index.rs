//! The rules of indexes: what MongoDB refuses, said before it does.

use super::message::{error, label};
use crate::ast::{Container, Field};
use crate::attr::document::Document;
use crate::attr::index::{Index, Kind};
use crate::ctxt::Ctxt;

pub fn all(cx: &Ctxt, container: &Container, document: &Document) {
    for field in container.fields() {
        on_stored_field(cx, container, field);
    }
    let on_fields = container.fields().iter().flat_map(|field| &field.indexes);
    let indexes: Vec<&Index> = on_fields.chain(&document.indexes).collect();
    for index in &indexes {
        one(cx, index);
        global(cx, container, document, index);
        on_own_field(cx, container, index);
        language(cx, container, index);
    }
    one_text_index(cx, container, &indexes);
    each_once(cx, container, &indexes);
}

/// An embedded type has no collection, and its indexes depend on where it stands.
pub fn not_in_embedded(cx: &Ctxt, container: &Container, field: &Field) {
    for index in &field.indexes {
        error(
            cx,
            index.span,
            format!(
                "`{}` is a field of an embedded type, which has no collection of its own to index. Declare the index on the \
                 document, with the path from there: `#[document(index(fields(path.to.{})))]`",
                label(container, field),
                field.rust
            ),
        );
    }
}

/// Only what is stored as one value can be indexed, and `_id` is already.
fn on_stored_field(cx: &Ctxt, container: &Container, field: &Field) {
    for index in &field.indexes {
        let wrong = if field.skipped() {
            "is not stored (`skip`), so there is nothing to index. Leave out one of the attributes"
        } else if field.serde.flatten.is_some() {
            "is flattened, so it has no name of its own. Name its fields in an index of the document: \
             `#[document(index(fields(field.inner)))]`"
        } else if field.name == "_id" && index.keys.iter().all(|key| key.kind.is_sorted()) {
            "is stored as `_id`, which MongoDB always indexes, uniquely, and reads from either end. Leave the attribute out"
        } else {
            continue;
        };
        error(cx, index.span, format!("`{}` {wrong}", label(container, field)));
    }
}

/// Rules of an index of one field of the struct itself.
fn on_own_field(cx: &Ctxt, container: &Container, index: &Index) {
    let [key] = index.keys.as_slice() else { return };
    let [name] = key.path.as_slice() else { return };
    let Some(field) = container
        .fields()
        .iter()
        .find(|field| field.ident() == Some(name))
    else {
        return;
    };
    // On the field itself it is said of the attribute.
    if field.name == "_id" && key.kind.is_sorted() && !index.on_field && !field.skipped() {
        error(
            cx,
            index.span,
            format!(
                "`{}` is stored as `_id`, which MongoDB always indexes, uniquely, and reads from either end. Leave the index out",
                label(container, field)
            ),
        );
    }
    let is_array = matches!(crate::ty::many(field.ty), Some(crate::ty::Many::List { .. }));
    let is_plain = crate::ty::is_scalar(field.ty) && !field.is_foreign() && !field.field.opaque;
    let is_text = ["String", "char"]
        .iter()
        .any(|name| crate::ty::exactly(crate::ty::single(field.ty), name));
    let useless = match key.kind {
        Kind::Text { .. } if is_plain && !is_text => {
            "holds no texts, so a search would find nothing by this index. Declare it on a `String`, or leave out `text`"
        }
        Kind::Geo if is_plain && !is_array => {
            "holds no places, and MongoDB would refuse every document that has it. Declare the field as a `Point`, or the index without \
             `geo`"
        }
        _ => "",
    };
    if !useless.is_empty() {
        error(cx, index.span, format!("`{}` {useless}", label(container, field)));
    }
    if key.kind == Kind::Hashed && is_array && !field.field.opaque {
        error(
            cx,
            index.span,
            format!(
                "`{}` is an array, and MongoDB refuses every document that has one on a hashed index. Leave `hashed` out: `#[index]`",
                label(container, field)
            ),
        );
    }
}

/// A text index takes the language of each document's texts from a field of it.
fn language(cx: &Ctxt, container: &Container, index: &Index) {
    let options = [
        ("default_language", &index.default_language),
        ("language_override", &index.language_override),
    ];
    let is_text = index.keys.iter().any(|key| key.kind.is_text());
    for (option, value) in options {
        if let (Some(value), false) = (value, is_text) {
            cx.error(
                value,
                format!("`{option}` is for an index of texts. Leave it out, or index a text: `text(name)`"),
            );
        }
    }
    let fields = container.fields();
    let field = fields
        .iter()
        .find(|field| field.name == "language" && !field.skipped());
    if let (Some(field), true, None) = (field, is_text, &index.language_override) {
        error(
            cx,
            index.span,
            format!(
                "MongoDB takes the language of the texts of a document from its field `language`, and refuses the document where \
                 `{}` is no language that it knows. Write `language_override = \"language\"` if it is one (`english`, `german`, …), \
                 else a name that no field has: `language_override = \"text_language\"`",
                label(container, field)
            ),
        );
    }
}

/// The rules of one index.
fn one(cx: &Ctxt, index: &Index) {
    let text = index.keys.iter().any(|key| key.kind.is_text());
    let hashed = index.keys.iter().filter(|key| key.kind == Kind::Hashed).count();
    let wildcard = index.keys.iter().any(|key| key.kind == Kind::Wildcard);
    if wildcard {
        self::wildcard(cx, index);
    }
    let geo = index.keys.iter().any(|key| key.kind == Kind::Geo);
    if let Some(unique) = index.unique {
        if text {
            error(
                cx,
                unique,
                "A text index holds words, so `unique` can't hold for its values. Leave `unique` out, and declare a second \
                 index for it: `#[index(unique)]`",
            );
        }
        if hashed > 0 {
            error(
                cx,
                unique,
                "A hashed index can't be unique: different values may have the same hash. Leave `unique` out, and declare a \
                 second index for it: `#[index(unique)]`",
            );
        }
    }
    if let (Some(sparse), true) = (index.sparse, text || geo) {
        error(
            cx,
            sparse,
            "A text or geo index leaves out the documents without the field in any case. Leave `sparse` out",
        );
    }
    if let (Some(sparse), Some(_)) = (index.sparse, &index.partial) {
        error(
            cx,
            sparse,
            "MongoDB takes `sparse` or `partial`, not both. Leave `sparse` out, and put the condition into the filter: \
             `partial = |p| p.field.exists(true)`",
        );
    }
    if let (Some(collation), true) = (&index.collation, text) {
        cx.error(
            &collation.locale,
            "A text index compares words by its own rules and takes no collation. Leave `collation` out",
        );
    }
    if hashed > 1 {
        error(
            cx,
            index.span,
            "An index has at most one hashed field. Write an index for each of them",
        );
    }
    if text && (hashed > 0 || geo) {
        error(
            cx,
            index.span,
            "A text index can't hold a hashed or geo field too. Write an index for each of them",
        );
    }
    if index.keys.len() > 32 {
        error(
            cx,
            index.span,
            "MongoDB takes at most 32 fields in an index. Leave some out",
        );
    }
    if let Some(name) = &index.name {
        let text = name.value();
        if text.is_empty() || text == "*" || text.contains('\0') || text == "_id_" {
            cx.error(
                name,
                "The name of an index is not empty, not `*` and not `_id_`. Write a name such as `name = \"by_city\"`, or leave it out",
            );
        }
    }
    projection(cx, index);
    expiry(cx, index, text || geo || hashed > 0 || wildcard);
    for (i, key) in index.keys.iter().enumerate() {
        if let (Some(last), true) = (
            key.path.last(),
            index.keys[..i].iter().any(|other| other.path == key.path),
        ) {
            cx.error(last, "An index has each field once. Leave one of them out");
        }
    }
}

/// A value that is unique over all shards is claimed by a document of the library's own, which has no condition and no collation but that
/// of the collection.
fn global(cx: &Ctxt, container: &Container, document: &Document, index: &Index) {
    let Some(global) = index.global else { return };
    let refused = [
        (index.sparse, "sparse"),
        (index.partial.as_ref().map(syn::spanned::Spanned::span), "partial"),
        (index.collation.as_ref().map(|one| one.locale.span()), "collation"),
    ];
    for (span, option) in refused {
        if let Some(span) = span {
            error(
                cx,
                span,
                format!(
                    "`unique(global)` compares as the collection does, and a document claims its values wherever none of them is missing \
                     or `None`. Leave `{option}` out"
                ),
            );
        }
    }
    let wrong = if document.variant_of.is_some() {
        "`unique(global)` is declared by an enum of documents, on fields that all variants have. Move it there, or give these documents a \
         collection of their own"
    } else if index.keys.iter().any(|key| key.kind == Kind::Geo) {
        "`unique(global)` compares values, and a place is none. Leave it out, or leave `geo` out"
    } else {
        ""
    };
    if !wrong.is_empty() {
        error(cx, global, wrong);
    }
    for key in &index.keys {
        let [name] = key.path.as_slice() else { continue };
        let mut fields = container.fields().iter();
        let Some(field) = fields.find(|field| field.ident() == Some(name)) else {
            continue;
        };
        let has_default = field.serde.default.is_some() || container.serde.default.is_some();
        let wrong = if field.is_array()
            || matches!(crate::ty::many(field.ty), Some(crate::ty::Many::List { .. }))
        {
            "is an array, and `unique(global)` is for a single value. Leave it out, or store each item in a document of its own"
        } else if field.is_derived() {
            "is written by the library, which can't claim its values in each of these writes. Leave `unique(global)` out"
        } else if has_default && !crate::ty::is_option(field.ty) {
            "has a default, which all documents without the field would share, and `unique(global)` lets one have it. Leave out one of the \
             two"
        } else {
            continue;
        };
        error(cx, global, format!("`{}` {wrong}", label(container, field)));
    }
}

/// A wildcard index holds the values of all fields below one, each by itself.
fn wildcard(cx: &Ctxt, index: &Index) {
    if let Some(unique) = index.unique {
        error(
            cx,
            unique,
            "A wildcard index can't be unique. Leave `unique` out, and declare a second index on the field: `#[index(unique)]`",
        );
    }
    if let Some(sparse) = index.sparse {
        error(
            cx,
            sparse,
            "A wildcard index leaves out the documents without the fields in any case. Leave `sparse` out",
        );
    }
    let sorted = index.keys.iter().filter(|key| key.kind.is_sorted()).count();
    if sorted + 1 != index.keys.len() {
        error(
            cx,
            index.span,
            "An index has at most one wildcard, beside ascending and descending fields. Write an index for each of the others",
        );
    }
}

/// `include` and `exclude` choose among all fields of a document.
fn projection(cx: &Ctxt, index: &Index) {
    let Some(given) = index.include.as_ref().or(index.exclude.as_ref()) else {
        return;
    };
    if index.include.is_some() && index.exclude.is_some() {
        error(
            cx,
            given.span,
            "A wildcard index has `include` or `exclude`, not both. Leave one of them out",
        );
    }
    if !index.keys.iter().any(|key| key.path.is_empty()) {
        error(
            cx,
            given.span,
            "`include` and `exclude` choose among all fields of a document: `index(wildcard, exclude(notes))`. An index on one \
             field, or below it, holds that alone: leave them out",
        );
    }
}

/// A TTL index has one field, which is a date.
fn expiry(cx: &Ctxt, index: &Index, special: bool) {
    let Some(at) = &index.expire_after else { return };
    if index.keys.len() > 1 {
        error(
            cx,
            at.span,
            "`expire_after` needs an index of one field: MongoDB does not expire documents by an index of several. Write it on \
             the field with the date: `#[index(expire_after = 3600)]`",
        );
    }
    if special {
        error(
            cx,
            at.span,
            "`expire_after` needs an ascending or descending index of a date. Leave out `text`, `geo`, `hashed` or `wildcard`",
        );
    }
    if at.value > 2_147_483_647 {
        error(
            cx,
            at.span,
            "`expire_after` is at most 2147483647 seconds (68 years). Write less, such as `expire_after = 2592000` for 30 days",
        );
    }
}

/// A collection has at most one text index.
fn one_text_index(cx: &Ctxt, container: &Container, indexes: &[&Index]) {
    let texts: Vec<_> = indexes
        .iter()
        .filter(|index| index.keys.iter().any(|key| key.kind.is_text()))
        .collect();
    let Some(second) = texts.get(1) else { return };
    let mut fields = Vec::new();
    for key in texts
        .iter()
        .flat_map(|index| &index.keys)
        .filter(|key| key.kind.is_text())
    {
        let path = dotted(&key.path);
        if !fields.contains(&path) {
            fields.push(path);
        }
    }
    let keys: Vec<_> = fields.iter().map(|path| format!("text({path})")).collect();
    error(
        cx,
        second.span,
        format!(
            "`{}` declares {} text indexes, and MongoDB allows one for a collection. Declare one of several fields instead: \
             `#[document(index(fields({})))]`",
            container.ident,
            texts.len(),
            keys.join(", ")
        ),
    );
}

/// The same index, or the same name, is declared once.
fn each_once(cx: &Ctxt, container: &Container, indexes: &[&Index]) {
    for (i, index) in indexes.iter().enumerate() {
        let keys = |index: &Index| -> Vec<_> {
            index
                .keys
                .iter()
                .map(|key| (dotted(&key.path), key.kind))
                .collect()
        };
        let same = |other: &&&Index| {
            keys(other) == keys(index)
                && other.collation.is_none()
                && index.collation.is_none()
                && other.partial.is_none()
                && index.partial.is_none()
        };
        if indexes[..i].iter().any(|other| same(&other)) {
            let names: Vec<_> = keys(index).into_iter().map(|(path, _)| path).collect();
            error(
                cx,
                index.span,
                format!(
                    "The index of `{}` on `{}` is declared twice. Keep one, with the options of both",
                    container.ident,
                    names.join(", ")
                ),
            );
        }
        let named = |index: &Index| index.name.as_ref().map(syn::LitStr::value);
        if let Some(name) = &index.name
            && indexes[..i]
                .iter()
                .any(|other| named(other) == Some(name.value()))
        {
            error(
                cx,
                name.span(),
                format!(
                    "Two indexes of `{}` are called `{}`. Give one of them another name",
                    container.ident,
                    name.value()
                ),
            );
        }
    }
}

fn dotted(path: &[syn::Ident]) -> String {
    if path.is_empty() {
        return "all fields".to_owned();
    }
    let names: Vec<_> = path.iter().map(ToString::to_string).collect();
    names.join(".")
}
