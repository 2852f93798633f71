//! `#[document(…)]` on a struct.

use super::index::{Collation, Index};
use super::search::SearchIndex;
use super::shard_key::ShardKey;
use super::{
    At, derives, keys, krate, nested, number, once, read, skip, string, unknown, unknown_word, word,
};
use crate::ctxt::Ctxt;
use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, ExprClosure, Ident, LitStr, Path, Token, parenthesized, token};

#[derive(Default)]
pub struct Document {
    pub krate: Option<Path>,
    pub collection: Option<LitStr>,
    /// Of an enum: the field with the name of the variant.
    pub tag: Option<LitStr>,
    /// Of an enum: the fields that all variants have.
    pub common: Option<At<Vec<syn::Field>>>,
    /// The enum of which the document is a variant.
    pub variant_of: Option<Path>,
    pub validation: Option<Validation>,
    pub timestamps: Option<Timestamps>,
    pub version: Option<At<Option<Ident>>>,
    /// A deletion keeps the document, and stores its time in a field.
    pub soft_delete: Option<At<Option<Ident>>>,
    pub indexes: Vec<Index>,
    /// Search and vector indexes of Atlas.
    pub search_indexes: Vec<SearchIndex>,
    /// The fields by whose values a sharded cluster distributes the documents.
    pub shard_key: Option<ShardKey>,
    /// How the collection compares strings.
    pub collation: Option<Collation>,
    /// The stored names of fields of scopes that do not restrict it.
    pub shared: Vec<LitStr>,
    /// A collection of a fixed size.
    pub capped: Option<At<Capped>>,
    /// A time series.
    pub time_series: Option<At<TimeSeries>>,
    /// A view of other documents.
    pub view: Option<At<View>>,
    /// Inserted and deleted, and never changed.
    pub append_only: Option<Span>,
    /// The server keeps its documents before and after each change.
    pub pre_and_post_images: Option<Span>,
    /// Deleted by the library some time after the one in a field.
    pub expire: Option<Expire>,
    /// No other program writes its documents.
    pub sole_writer: Option<Span>,
    /// The functions that its writes call.
    pub hooks: Hooks,
    /// Comparisons of its fields that every document satisfies.
    pub checks: Vec<ExprClosure>,
    /// The function that says whether a whole document is valid.
    pub check_with: Option<Path>,
    /// The type of the items, where `#[bucket(…)]` makes the document.
    pub items: Option<Path>,
    /// The `New…` struct has a builder.
    pub builder: Option<Span>,
    /// It has a patch.
    pub patch: Option<Span>,
    /// Derives of the patch.
    pub patch_derives: Vec<Path>,
    /// Derives of the `New…` struct.
    pub new_derives: Vec<Path>,
    /// Derives of all structs that are made for it.
    pub derives: Vec<Path>,
}

/// The functions that the writes of a document call, by the time of the call.
#[derive(Default)]
pub struct Hooks {
    /// `before_write = function`
    pub before_write: Option<Path>,
    /// `after_write(in_transaction) = function`
    pub in_transaction: Option<Path>,
    /// `after_write = function`
    pub after_commit: Option<Path>,
}

/// `capped(size = BYTES, max = N)`
#[derive(Clone)]
pub struct Capped {
    pub size: At<u64>,
    pub max: Option<At<u64>>,
}

/// `time_series(time = at, meta = sensor, granularity = minutes, expire_after = SECONDS)`
#[derive(Clone)]
pub struct TimeSeries {
    pub time: Ident,
    pub meta: Option<Ident>,
    pub granularity: Option<Ident>,
    pub expire_after: Option<At<u64>>,
}

/// `view(of = Order, pipeline = function)`
#[derive(Clone)]
pub struct View {
    pub of: Path,
    pub pipeline: Path,
}

/// `expire = field`, or `expire(field = field, after = SECONDS)`.
#[derive(Clone)]
pub struct Expire {
    pub field: Ident,
    pub after: u64,
}

#[derive(Clone, Default)]
pub struct Validation {
    pub level: Option<Ident>,
    pub action: Option<Ident>,
}

/// `timestamps` means the fields `created_at` and `updated_at`, as far as they are there.
#[derive(Clone)]
pub struct Timestamps {
    pub span: Span,
    /// Names were given.
    pub named: bool,
    pub created: Option<Ident>,
    pub updated: Option<Ident>,
}

impl Document {
    pub fn parse(cx: &Ctxt, attrs: &[Attribute]) -> Document {
        let mut document = Document::default();
        read(cx, attrs, "document", &keys::DOCUMENT, |meta| {
            match word(&meta.path).as_str() {
                "collection" => once(&mut document.collection, string(meta, "people")?, meta),
                "tag" => once(&mut document.tag, string(meta, "type")?, meta),
                "common" => once(&mut document.common, common(meta)?, meta),
                "variant_of" => once(&mut document.variant_of, of_enum(meta)?, meta),
                "crate" => once(&mut document.krate, krate(meta)?, meta),
                "rename_all" | "serde" => skip(meta), // read with the type
                "validation" => once(&mut document.validation, Validation::parse(meta)?, meta),
                "shard_key" => once(&mut document.shard_key, ShardKey::parse(meta)?, meta),
                "collation" => once(&mut document.collation, Collation::parse(meta)?, meta),
                "shared" => {
                    document.shared.extend(shared(meta)?);
                    Ok(())
                }
                "capped" => {
                    let span = meta.path.span();
                    once(&mut document.capped, At::new(Capped::parse(meta)?, span), meta)
                }
                "time_series" => {
                    let span = meta.path.span();
                    once(
                        &mut document.time_series,
                        At::new(TimeSeries::parse(meta)?, span),
                        meta,
                    )
                }
                "view" => {
                    let span = meta.path.span();
                    once(&mut document.view, At::new(View::parse(meta)?, span), meta)
                }
                "timestamps" => once(&mut document.timestamps, Timestamps::parse(meta)?, meta),
                "append_only" => once(&mut document.append_only, meta.path.span(), meta),
                "pre_and_post_images" => once(&mut document.pre_and_post_images, meta.path.span(), meta),
                "builder" => once(&mut document.builder, meta.path.span(), meta),
                "sole_writer" => once(&mut document.sole_writer, meta.path.span(), meta),
                "__items" => once(&mut document.items, meta.value()?.parse()?, meta),
                "version" => once(&mut document.version, field_of(meta, "version(revision)")?, meta),
                "soft_delete" => once(
                    &mut document.soft_delete,
                    field_of(meta, "soft_delete(removed_at)")?,
                    meta,
                ),
                "expire" => once(&mut document.expire, Expire::parse(meta)?, meta),
                "before_write" => once(&mut document.hooks.before_write, function(meta)?, meta),
                "check" => {
                    document.checks.push(check(meta)?);
                    Ok(())
                }
                "check_with" => once(&mut document.check_with, super::rules::function(meta)?, meta),
                "after_write" => document.hooks.after_write(meta),
                "index" => {
                    document.indexes.push(Index::of_document(meta)?);
                    Ok(())
                }
                "search_index" => {
                    document.search_indexes.push(SearchIndex::search(meta)?);
                    Ok(())
                }
                "vector_index" => {
                    document.search_indexes.push(SearchIndex::vector(meta)?);
                    Ok(())
                }
                "new" => meta.parse_nested_meta(|meta| {
                    if !meta.path.is_ident("derive") {
                        return Err(meta.error(
                            "the struct of new documents takes derives: `new(derive(Clone, Debug))`",
                        ));
                    }
                    derives(&mut document.new_derives, &meta)
                }),
                "patch" => {
                    once(&mut document.patch, meta.path.span(), meta)?;
                    if !meta.input.peek(token::Paren) {
                        return Ok(());
                    }
                    meta.parse_nested_meta(|meta| {
                        if !meta.path.is_ident("derive") {
                            return Err(meta.error(
                                "the struct of patches takes derives: `patch(derive(Clone, Debug))`",
                            ));
                        }
                        derives(&mut document.patch_derives, &meta)
                    })
                }
                "derive" => derives(&mut document.derives, meta),
                _ => Err(unknown(meta, &keys::DOCUMENT)),
            }
        });
        document
    }
}

/// `(tenant, "tenantId")`
fn shared(meta: &ParseNestedMeta) -> syn::Result<Vec<LitStr>> {
    const ADVICE: &str = "`shared` names fields of scopes as they are stored, which these documents do not have: `shared(tenant)`, or \
                  `shared(\"tenant-id\")`";
    if !meta.input.peek(token::Paren) {
        return Err(meta.error(ADVICE));
    }
    let content;
    parenthesized!(content in meta.input);
    let name = |input: syn::parse::ParseStream| {
        if input.peek(LitStr) {
            return input.parse::<LitStr>();
        }
        let name = input.call(Ident::parse_any);
        let name = name.map_err(|error| syn::Error::new(error.span(), ADVICE))?;
        Ok(LitStr::new(&name.unraw().to_string(), name.span()))
    };
    let names = content.parse_terminated(name, Token![,])?;
    if names.is_empty() {
        return Err(meta.error(ADVICE));
    }
    Ok(names.into_iter().collect())
}

/// `= |d| odm::expr::expr(d.ends).gt(odm::expr::expr(d.starts))`
fn check(meta: &ParseNestedMeta) -> syn::Result<ExprClosure> {
    let advice = "`check` takes a closure that compares fields of the document: `check = |o| \
                  odm::expr::expr(o.ends).gt(odm::expr::expr(o.starts))`";
    let value = meta.value().map_err(|_| meta.error(advice))?;
    let span = value.span();
    value.parse().map_err(|_| syn::Error::new(span, advice))
}

impl Hooks {
    fn after_write(&mut self, meta: &ParseNestedMeta) -> syn::Result<()> {
        if !meta.input.peek(token::Paren) {
            return once(&mut self.after_commit, function(meta)?, meta);
        }
        let content;
        parenthesized!(content in meta.input);
        let when: Option<Ident> = content.parse().ok();
        if when.as_ref().is_none_or(|when| when != "in_transaction") || !content.is_empty() {
            return Err(meta.error(
                "`after_write` is called after the commit, or in the transaction of the write: `after_write(in_transaction) = function`",
            ));
        }
        once(&mut self.in_transaction, function(meta)?, meta)
    }
}

/// `common(at: DateTime, #[reference] user: Ref<User>)`
fn common(meta: &ParseNestedMeta) -> syn::Result<At<Vec<syn::Field>>> {
    let span = meta.path.span();
    if !meta.input.peek(token::Paren) {
        return Err(meta.error(
            "`common` declares the fields that all variants have, as a struct declares them: `common(at: DateTime)`",
        ));
    }
    let content;
    parenthesized!(content in meta.input);
    let fields = content.parse_terminated(syn::Field::parse_named, Token![,])?;
    Ok(At::new(fields.into_iter().collect(), span))
}

/// `= Enum`
fn of_enum(meta: &ParseNestedMeta) -> syn::Result<Path> {
    let advice = "`variant_of` names the enum that lists this struct, without quotes: `variant_of = Event`";
    let value = meta.value().map_err(|_| meta.error(advice))?;
    let span = value.span();
    value.parse().map_err(|_| syn::Error::new(span, advice))
}

impl Capped {
    fn parse(meta: &ParseNestedMeta) -> syn::Result<Capped> {
        let advice = "a capped collection has a size in bytes: `capped(size = 1_000_000)`, and `max = N` documents if that is bounded too";
        if !meta.input.peek(token::Paren) {
            return Err(meta.error(advice));
        }
        let (mut size, mut max) = (None, None);
        nested(meta, &keys::CAPPED, |meta| match word(&meta.path).as_str() {
            "size" => once(&mut size, number(meta)?, meta),
            "max" => once(&mut max, number(meta)?, meta),
            _ => Err(unknown(meta, &keys::CAPPED)),
        })?;
        match size {
            Some(size) => Ok(Capped { size, max }),
            None => Err(meta.error(advice)),
        }
    }
}

impl TimeSeries {
    fn parse(meta: &ParseNestedMeta) -> syn::Result<TimeSeries> {
        let advice = "a time series names the field with the time of a measurement: `time_series(time = at)`";
        if !meta.input.peek(token::Paren) {
            return Err(meta.error(advice));
        }
        let (mut time, mut source, mut granularity, mut expire_after) = (None, None, None, None);
        nested(meta, &keys::TIME_SERIES, |meta| match word(&meta.path).as_str() {
            "time" => once(&mut time, meta.value()?.parse()?, meta),
            "meta" => once(&mut source, meta.value()?.parse()?, meta),
            "expire_after" => once(&mut expire_after, number(meta)?, meta),
            "granularity" => {
                let advice = "`granularity` is one of `seconds`, `minutes`, `hours`, without quotes";
                let value = meta.value()?;
                let span = value.span();
                let given: Ident = value.parse().map_err(|_| syn::Error::new(span, advice))?;
                let known = ["seconds", "minutes", "hours"];
                if !known.iter().any(|known| given == known) {
                    return Err(unknown_word(&given, "granularity", &known, advice));
                }
                once(&mut granularity, given, meta)
            }
            _ => Err(unknown(meta, &keys::TIME_SERIES)),
        })?;
        match time {
            Some(time) => Ok(TimeSeries {
                time,
                meta: source,
                granularity,
                expire_after,
            }),
            None => Err(meta.error(advice)),
        }
    }
}

impl View {
    fn parse(meta: &ParseNestedMeta) -> syn::Result<View> {
        let advice = "a view names the documents that it shows, and the function that makes its pipeline: `view(of = Order, pipeline = \
                      open_orders)` for `fn open_orders(orders: Aggregate<Order>) -> Aggregate<Order>`";
        if !meta.input.peek(token::Paren) {
            return Err(meta.error(advice));
        }
        let (mut of, mut pipeline) = (None, None);
        nested(meta, &keys::VIEW, |meta| match word(&meta.path).as_str() {
            "of" => once(&mut of, meta.value()?.parse()?, meta),
            "pipeline" => once(&mut pipeline, meta.value()?.parse()?, meta),
            _ => Err(unknown(meta, &keys::VIEW)),
        })?;
        match (of, pipeline) {
            (Some(of), Some(pipeline)) => Ok(View { of, pipeline }),
            _ => Err(meta.error(advice)),
        }
    }
}

/// `= path::to::function`
fn function(meta: &ParseNestedMeta) -> syn::Result<Path> {
    let name = word(&meta.path);
    let advice = || {
        format!(
            "`{name}` names a function, without quotes and without its arguments: `{name} = check` for `async fn check(write: \
             odm::hooks::{}<…>) -> odm::Result<()>`",
            if name == "before_write" {
                "InTransaction"
            } else {
                "Committed"
            }
        )
    };
    let value = meta.value().map_err(|_| meta.error(advice()))?;
    let span = value.span();
    let path = value.parse().map_err(|_| syn::Error::new(span, advice()))?;
    if value.is_empty() || value.peek(Token![,]) {
        Ok(path)
    } else {
        Err(syn::Error::new(span, advice()))
    }
}

impl Expire {
    fn parse(meta: &ParseNestedMeta) -> syn::Result<Expire> {
        if !meta.input.peek(token::Paren) {
            let field = meta.value()?.parse()?;
            return Ok(Expire { field, after: 0 });
        }
        let (mut field, mut after) = (None, None);
        nested(meta, &keys::EXPIRE, |meta| match word(&meta.path).as_str() {
            "field" => once(&mut field, meta.value()?.parse()?, meta),
            "after" => once(&mut after, number(meta)?, meta),
            _ => Err(unknown(meta, &keys::EXPIRE)),
        })?;
        match field {
            Some(field) => Ok(Expire {
                field,
                after: after.map_or(0, |at| at.value),
            }),
            None => Err(meta
                .error("`expire` names the field with the time: `expire(field = created_at, after = 3600)`")),
        }
    }
}

impl Validation {
    fn parse(meta: &ParseNestedMeta) -> syn::Result<Validation> {
        let mut validation = Validation::default();
        nested(meta, &keys::VALIDATION, |meta| {
            let (slot, known): (_, &[&str]) = if meta.path.is_ident("level") {
                (&mut validation.level, &["off", "moderate", "strict"])
            } else if meta.path.is_ident("action") {
                (&mut validation.action, &["warn", "error"])
            } else {
                return Err(unknown(meta, &keys::VALIDATION));
            };
            let advice = format!(
                "`{}` is one of `{}`, without quotes",
                word(&meta.path),
                known.join("`, `")
            );
            let value = meta.value()?;
            let span = value.span();
            let given: Ident = value.parse().map_err(|_| syn::Error::new(span, &advice))?;
            if !known.iter().any(|known| given == known) {
                return Err(unknown_word(&given, &word(&meta.path), known, &advice));
            }
            once(slot, given, meta)
        })?;
        Ok(validation)
    }
}

impl Timestamps {
    fn parse(meta: &ParseNestedMeta) -> syn::Result<Timestamps> {
        let mut timestamps = Timestamps {
            span: meta.path.span(),
            named: false,
            created: None,
            updated: None,
        };
        if meta.input.peek(token::Paren) {
            timestamps.named = true;
            nested(meta, &keys::TIMESTAMPS, |meta| {
                let slot = if meta.path.is_ident("created") {
                    &mut timestamps.created
                } else if meta.path.is_ident("updated") {
                    &mut timestamps.updated
                } else {
                    return Err(unknown(meta, &keys::TIMESTAMPS));
                };
                let field = meta.value()?.parse()?;
                once(slot, field, meta)
            })?;
        }
        Ok(timestamps)
    }
}

/// The field in parentheses, if there are some.
fn field_of(meta: &ParseNestedMeta, example: &str) -> syn::Result<At<Option<Ident>>> {
    let span = meta.path.span();
    if !meta.input.peek(token::Paren) {
        if meta.input.peek(Token![=]) {
            let name = word(&meta.path);
            return Err(meta.error(format!(
                "the field of `{name}` is named in parentheses: `{example}`"
            )));
        }
        return Ok(At::new(None, span));
    }
    let content;
    parenthesized!(content in meta.input);
    Ok(At::new(Some(content.parse()?), span))
}
