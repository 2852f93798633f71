//! `#[embed]` on a field, and on a type that derives `Embed`.

use super::storage::Container as Storage;
use super::{Count, count, derives, flag, keys, krate, once, read, skip, string, unknown, word};
use crate::ctxt::Ctxt;
use proc_macro2::Span;
use syn::{Attribute, Ident, LitStr, Path, spanned::Spanned};

/// On a field: what is embedded, and how much of it.
#[derive(Clone, Debug, Default)]
pub struct Embed {
    /// `#[embed]` or `#[embed(…)]` is there.
    pub present: Option<Span>,
    pub max: Option<Count>,
    pub large: Option<LitStr>,
    pub key_len: Option<Count>,
    pub depth: Option<Count>,
    /// A patch sets the fields of the value one by one.
    pub patch: Option<Span>,
}

impl Embed {
    /// It says more than that something is embedded.
    pub fn has_options(&self) -> bool {
        self.max.is_some() || self.large.is_some() || self.key_len.is_some() || self.depth.is_some()
    }

    pub fn parse(cx: &Ctxt, attrs: &[Attribute]) -> Embed {
        let mut embed = Embed {
            present: super::find(attrs, "embed").map(|attr| attr.path().span()),
            ..Embed::default()
        };
        read(cx, attrs, "embed", &keys::EMBED, |meta| {
            if meta.path.is_ident("max") {
                once(&mut embed.max, count(meta)?, meta)
            } else if meta.path.is_ident("large") {
                once(
                    &mut embed.large,
                    string(meta, "read as a whole with every page")?,
                    meta,
                )
            } else if meta.path.is_ident("key_len") {
                once(&mut embed.key_len, count(meta)?, meta)
            } else if meta.path.is_ident("depth") {
                once(&mut embed.depth, count(meta)?, meta)
            } else if meta.path.is_ident("patch") {
                once(&mut embed.patch, meta.path.span(), meta)
            } else {
                Err(unknown(meta, &keys::EMBED))
            }
        });
        embed
    }
}

/// On a type that derives `Embed`.
#[derive(Debug, Default)]
pub struct Container {
    pub krate: Option<Path>,
    pub id: bool,
    /// The name by which the application knows what `fields(…)` has made.
    pub alias: Option<LitStr>,
    /// The type of the integers that the variants of an enum are stored as.
    pub repr: Option<Ident>,
    /// It has a patch of its own.
    pub patch: Option<Span>,
    /// Derives of the structs that are made for it.
    pub derives: Vec<Path>,
}

/// The type of the numbers of an enum: a name, as it stands in `#[repr(i32)]` too.
fn repr(meta: &syn::meta::ParseNestedMeta) -> syn::Result<Ident> {
    let value: syn::Expr = meta.value()?.parse()?;
    match &value {
        syn::Expr::Path(path) if path.path.get_ident().is_some() => path.path.require_ident().cloned(),
        _ => Err(syn::Error::new_spanned(
            value,
            "write `repr = i32` or `repr = i64`, without quotes",
        )),
    }
}

impl Container {
    pub fn parse(cx: &Ctxt, attrs: &[Attribute]) -> Container {
        let mut container = Container::default();
        read(cx, attrs, "embed", &keys::EMBED_TYPE, |meta| {
            if meta.path.is_ident("crate") {
                once(&mut container.krate, krate(meta)?, meta)
            } else if meta.path.is_ident("id") {
                flag(&mut container.id, meta)
            } else if meta.path.is_ident("__alias") {
                once(&mut container.alias, meta.value()?.parse()?, meta)
            } else if meta.path.is_ident("repr") {
                once(&mut container.repr, repr(meta)?, meta)
            } else if meta.path.is_ident("patch") {
                once(&mut container.patch, meta.path.span(), meta)
            } else if meta.path.is_ident("derive") {
                derives(&mut container.derives, meta)
            } else if Storage::has(&word(&meta.path)) {
                skip(meta) // read with the type
            } else {
                Err(unknown(meta, &keys::EMBED_TYPE))
            }
        });
        container
    }
}
