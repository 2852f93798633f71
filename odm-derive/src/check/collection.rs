//! The rules of collections that are more than plain ones: what MongoDB refuses in them, said before it does.

use super::document::field_exists;
use super::message::{error, label};
use crate::ast::{Container, Field};
use crate::attr::document::Document;
use crate::attr::index::Kind;
use crate::ctxt::Ctxt;
use crate::ty;
use proc_macro2::Span;
use syn::spanned::Spanned;

pub fn all(cx: &Ctxt, container: &Container, document: &Document) {
    let kinds = [
        document.capped.as_ref().map(|at| at.span),
        document.time_series.as_ref().map(|at| at.span),
        document.view.as_ref().map(|at| at.span),
    ];
    if let Some(second) = kinds.into_iter().flatten().nth(1) {
        error(
            cx,
            second,
            "A collection is one of `capped`, `time_series` and `view`. Leave the others out",
        );
    }
    capped(cx, document);
    time_series(cx, container, document);
    view(cx, container, document);
}

/// The options of a document by which the library or the server changes it, each with its place.
fn options(document: &Document) -> Vec<(&'static str, Span)> {
    let hooks = &document.hooks;
    let after_write = hooks.in_transaction.as_ref().or(hooks.after_commit.as_ref());
    let validation = document.validation.as_ref();
    let validation = validation.and_then(|given| given.level.as_ref().or(given.action.as_ref()));
    let given = [
        ("timestamps", document.timestamps.as_ref().map(|of| of.span)),
        ("version", document.version.as_ref().map(|of| of.span)),
        ("soft_delete", document.soft_delete.as_ref().map(|of| of.span)),
        ("expire", document.expire.as_ref().map(|of| of.field.span())),
        ("append_only", document.append_only),
        ("sole_writer", document.sole_writer),
        ("pre_and_post_images", document.pre_and_post_images),
        ("validation", validation.map(syn::Ident::span)),
        ("before_write", hooks.before_write.as_ref().map(Spanned::span)),
        ("after_write", after_write.map(Spanned::span)),
        ("builder", document.builder),
        ("patch", document.patch),
        ("check", document.checks.first().map(Spanned::span)),
        ("check_with", document.check_with.as_ref().map(Spanned::span)),
        (
            "collation",
            document.collation.as_ref().map(|of| of.locale.span()),
        ),
        ("shard_key", super::shard_key::span(document)),
    ];
    given
        .into_iter()
        .filter_map(|(name, span)| Some((name, span?)))
        .collect()
}

fn refuse(cx: &Ctxt, document: &Document, reasons: &[(&str, &str)]) {
    for (option, span) in options(document) {
        if let Some((_, why)) = reasons.iter().find(|(name, _)| *name == option) {
            error(cx, span, *why);
        }
    }
}

fn capped(cx: &Ctxt, document: &Document) {
    let Some(at) = &document.capped else { return };
    if at.value.size.value == 0 {
        error(
            cx,
            at.value.size.span,
            "A capped collection has a size of at least one byte. Write `size = 1_000_000`",
        );
    }
    if let Some(max) = at
        .value
        .max
        .as_ref()
        .filter(|max| max.value == 0 || max.value > 2_147_483_647)
    {
        error(
            cx,
            max.span,
            "`max` is from 1 to 2147483647 documents. Leave it out where the size is bound enough",
        );
    }
    let why = "A capped collection removes its oldest documents to make place for new ones, and takes no writes in a transaction. \
               Leave this out, or leave out `capped` and let documents expire: `expire(field = at, after = SECONDS)`";
    refuse(
        cx,
        document,
        &[
            ("soft_delete", why),
            ("expire", why),
            ("before_write", why),
            ("after_write", why),
            (
                "shard_key",
                "MongoDB shards no capped collection. Leave this out, or leave out `capped` and let documents expire: `expire(field = at, \
                 after = SECONDS)`",
            ),
        ],
    );
}

fn time_series(cx: &Ctxt, container: &Container, document: &Document) {
    let Some(at) = &document.time_series else { return };
    let series = &at.value;
    field_exists(
        cx,
        container,
        &series.time,
        "the time of a measurement",
        "DateTime",
    );
    if let Some(meta) = &series.meta {
        field_exists(cx, container, meta, "what was measured", "String");
        if *meta == series.time {
            cx.error(meta, "The time of a measurement does not say what was measured. Name another field, such as `meta = sensor`");
        }
    }
    for field in container.fields() {
        let is = |name: &syn::Ident| field.ident() == Some(name);
        if is(&series.time) && ty::is_option(field.ty) {
            error(
                cx,
                field.ty.span(),
                format!(
                    "`{}` is an `Option`, and every measurement has a time. Write `DateTime`",
                    label(container, field)
                ),
            );
        }
        if series.meta.as_ref().is_some_and(is) && field.name == "_id" {
            error(
                cx,
                at.span,
                format!(
                    "`{}` is stored as `_id`, which differs from measurement to measurement. Name another field: `meta = sensor`",
                    label(container, field)
                ),
            );
        }
        indexes_of_measurements(cx, field);
    }
    for index in &document.indexes {
        index_of_measurements(cx, index);
    }
    let never = "A time series takes inserts alone: its measurements are never changed. Leave this out";
    let transactions =
        "A time series takes no writes in a transaction, and hooks are called in one. Leave them out";
    let expire = "The server deletes the measurements of a time series itself. Write `time_series(…, expire_after = SECONDS)` in place of `expire`";
    let validator = "A time series has no validator: what the struct declares is checked before the network alone. Leave `validation` out";
    let shards = "MongoDB shards a time series by its `meta` field and its time, on buckets of measurements, which `plan` and `sync` do not \
                  do. Leave this out, and shard the collection in the shell: `sh.shardCollection`";
    let images = "A time series has no change streams, and keeps no images. Leave this out";
    refuse(
        cx,
        document,
        &[
            ("version", never),
            ("soft_delete", never),
            ("patch", never),
            ("expire", expire),
            ("before_write", transactions),
            ("after_write", transactions),
            ("validation", validator),
            ("pre_and_post_images", images),
            ("shard_key", shards),
        ],
    );
}

fn indexes_of_measurements(cx: &Ctxt, field: &Field) {
    for index in &field.indexes {
        index_of_measurements(cx, index);
    }
}

fn index_of_measurements(cx: &Ctxt, index: &crate::attr::index::Index) {
    let other = index
        .keys
        .iter()
        .any(|key| !key.kind.is_sorted() && key.kind != Kind::Geo);
    let refused = [
        (index.unique, "unique"),
        (index.sparse, "sparse"),
        (
            index.expire_after.as_ref().map(|at| at.span),
            "with `expire_after`",
        ),
        (other.then_some(index.span), "for texts, hashed or a wildcard"),
    ];
    for (span, what) in refused {
        if let Some(span) = span {
            error(
                cx,
                span,
                format!(
                    "An index of a time series is ascending, descending or geospatial, and can't be {what}. Leave that out; the server \
                     deletes old measurements by `time_series(…, expire_after = SECONDS)`"
                ),
            );
        }
    }
}

fn view(cx: &Ctxt, container: &Container, document: &Document) {
    let Some(at) = &document.view else { return };
    let shown = crate::ty::text(&at.value.of);
    for (option, span) in options(document) {
        error(
            cx,
            span,
            format!(
                "`{option}` is for documents that are written, and a view is only read. Leave it out, and declare it for `{shown}`"
            ),
        );
    }
    let on_fields = container.fields().iter().flat_map(|field| &field.indexes);
    for index in on_fields.chain(&document.indexes) {
        error(
            cx,
            index.span,
            format!("A view has no indexes: its pipeline uses those of `{shown}`. Declare the index there"),
        );
    }
    for field in container.fields() {
        let inverse = field
            .reference
            .as_ref()
            .and_then(|reference| reference.inverse.as_ref());
        let wrong = if field.is_derived() || field.entry().is_some() {
            "is filled in by the pipeline of the view, and not by the library. Leave the attribute out"
        } else if inverse.is_some() {
            "is one side of a two-way reference, and a view is only read. Leave `inverse` out"
        } else if field.field.scope {
            "belongs to a view, which is only read. Leave `scope` out: a handle's scope holds for the field in any case"
        } else {
            continue;
        };
        error(
            cx,
            field.ty.span(),
            format!("`{}` {wrong}", label(container, field)),
        );
    }
}
