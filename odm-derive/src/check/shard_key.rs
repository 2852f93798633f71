//! The rules of shard keys: every document has one value in each field of the key, and keeps it.

use super::message::{error, label};
use crate::ast::{Container, Field};
use crate::attr::copy::Copy;
use crate::attr::document::Document;
use crate::attr::index::{Key, Kind};
use crate::attr::keys;
use crate::ctxt::Ctxt;
use crate::ty;
use proc_macro2::Span;
use syn::Ident;
use syn::ext::IdentExt;

/// The greatest number of fields of an index, and so of a shard key.
const MOST_FIELDS: usize = 32;

/// The rules of a document that has its collection for itself.
pub fn of_struct(cx: &Ctxt, container: &Container, document: &Document) {
    all(cx, container, document, "");
}

/// The rules of an enum of documents: `common` has the fields that all variants have.
pub fn of_enum(cx: &Ctxt, common: &Container, document: &Document) {
    all(cx, common, document, " that all variants have");
}

fn all(cx: &Ctxt, container: &Container, document: &Document, of_all_variants: &str) {
    let Some(declared) = &document.shard_key else {
        return;
    };
    if declared.keys.len() > MOST_FIELDS {
        error(
            cx,
            declared.span,
            "MongoDB takes at most 32 fields in a shard key. Leave some out",
        );
    }
    let hashed = declared.keys.iter().filter(|key| key.kind == Kind::Hashed);
    if let Some(second) = hashed.filter_map(|key| key.path.first()).nth(1) {
        cx.error(
            second,
            "A shard key has at most one hashed field. Hash the one with the most values, and write the others as they are: \
             `shard_key(tenant, hashed(id))`",
        );
    }
    for (i, key) in declared.keys.iter().enumerate() {
        let Some(first) = key.path.first() else { continue };
        if declared.keys[..i].iter().any(|other| other.path == key.path) {
            cx.error(first, "A shard key has each field once. Leave one of them out");
            continue;
        }
        let field = container
            .fields()
            .iter()
            .find(|field| field.ident() == Some(first));
        match field {
            Some(field) => of_field(cx, container, document, field, key),
            None => unknown(cx, container, first, of_all_variants),
        }
    }
}

fn unknown(cx: &Ctxt, container: &Container, given: &Ident, of_all_variants: &str) {
    let names = container.fields().iter().map(|field| field.rust.as_str());
    let advice = match keys::near(&given.unraw().to_string(), names) {
        Some(near) => format!("Did you mean `{near}`?"),
        None if of_all_variants.is_empty() => {
            "Name a field as in Rust: `shard_key(hashed(tenant))`".to_owned()
        }
        None => "Name `id`, or a field in `common(…)`".to_owned(),
    };
    cx.error(
        given,
        format!(
            "`{}` has no field `{given}`{of_all_variants}, for its shard key. {advice}",
            container.ident
        ),
    );
}

/// A field of the key, or the one that holds it.
fn of_field(cx: &Ctxt, container: &Container, document: &Document, field: &Field, key: &Key) {
    let (Some(first), true) = (key.path.first(), field.is_read) else {
        return;
    };
    let problem = changing(container, field, key)
        .or_else(|| not_there(container, field, key))
        .or_else(|| collated(document, field, key));
    if let Some(problem) = problem {
        error(
            cx,
            first.span(),
            format!("`{}` {problem}", label(container, field)),
        );
    }
}

/// Why some documents have no single value there.
fn not_there(container: &Container, field: &Field, key: &Key) -> Option<String> {
    let is_whole = key.path.len() == 1;
    let has_default = field.serde.default.is_some() || container.serde.default.is_some();
    let is_stored = has_default && field.field.always;
    let problem = if field.skipped() {
        "is not stored (`skip`), so no document can be distributed by it. Name another field"
    } else if field.serde.flatten.is_some() && is_whole {
        return Some(format!(
            "is flattened, so it has no name of its own. Name a field in it: `shard_key({}.field)`",
            field.rust
        ));
    } else if field.field.opaque {
        "is not looked into, so it may be an array or missing, which MongoDB takes in no shard key or puts on one shard. Name another \
         field, or leave out `opaque`"
    } else if field.is_deferred {
        "is a `Deferred`, without which a document is read, so that its shard key would not be known. Name another field"
    } else {
        match ty::many(field.ty) {
            Some(ty::Many::List { .. }) => {
                return Some(
                    "is an array, which MongoDB takes in no shard key. Name a field outside of it".into(),
                );
            }
            Some(ty::Many::Map { .. }) => {
                return Some(
                    "is a map, whose keys differ from document to document. Name a field outside of it"
                        .into(),
                );
            }
            None => {}
        }
        if !field.serde.aliases.is_empty() {
            "is also read under another name, under which a router finds no value. Leave `alias` out, and rename the field in the \
             stored documents"
        } else if field.serde.skip_serializing_if.is_some() {
            "is left out of some documents, and those without a value are all on one shard. Leave out `skip_none` or \
             `skip_serializing_if`, and write a type without `Option`"
        } else if ty::is_optional(field.ty) && !is_stored {
            "is an `Option`, and all documents with `None` are on one shard. Write the type in it; or let each document have a value: \
             `#[field(default = …, stored)]`"
        } else if has_default && !is_stored {
            "has a default, and documents that lack it are found under `null` instead of the default. Have every document store it: \
             `#[field(stored)]`, and `Odm::backfill` for those that are there"
        } else {
            return None;
        }
    };
    Some(problem.to_owned())
}

/// Why a value there changes, by which the document would move from shard to shard.
fn changing(container: &Container, field: &Field, key: &Key) -> Option<String> {
    let roles = &container.roles;
    let problem = if roles.is_version(field) || roles.is_updated(field) || roles.is_deleted(field) {
        "is changed by the library with the document, which would move to another shard each time. Name a field that stays as it is"
    } else if let Some(Copy::Subset(_) | Copy::Computed(_)) = field.copy {
        "is computed from other documents and changes with them, and the document would move to another shard each time. Name a \
         field that stays as it is"
    } else if field.volatile.is_some() {
        "is `#[volatile]`, and the document would move to another shard with each change. Name a field that stays as it is"
    } else if field
        .reference
        .as_ref()
        .is_some_and(|reference| reference.inverse.is_some())
    {
        "is changed by writes of the other document too (`inverse`), and the document would move to another shard each time. Name a \
         field that stays as it is"
    } else if field.entry().is_some() && key.path.len() == 1 {
        return Some(format!(
            "is a reference with copies beside it, which change with their source. Name the reference in it: `shard_key({}.id)`",
            field.rust
        ));
    } else {
        return None;
    };
    Some(problem.to_owned())
}

/// Why a text there is found on no single shard.
fn collated(document: &Document, field: &Field, key: &Key) -> Option<String> {
    let collation = document.collation.as_ref()?;
    let locale = collation.locale.value();
    let is_text = ["String", "char"].iter().any(|name| ty::exactly(field.ty, name));
    (locale != "simple" && is_text && key.path.len() == 1).then(|| {
        format!(
            "is a text, and the collection compares texts by the collation `{locale}`: a router sends a condition on it to all shards, \
             and may miss documents where it is hashed. Leave out `collation` of the document, declare it on the indexes that need it, or \
             name a field that is no text"
        )
    })
}

/// Where a shard key stands, if there is one.
pub fn span(document: &Document) -> Option<Span> {
    document.shard_key.as_ref().map(|key| key.span)
}
