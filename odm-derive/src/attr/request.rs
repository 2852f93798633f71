//! `#[request(…)]`: the parameters of a request, above the struct and on its fields.

use super::{Count, count, flag, keys, krate, once, read, string, unknown};
use crate::ctxt::Ctxt;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, LitStr, Path, Token};

/// Above the struct.
#[derive(Default)]
pub struct Request {
    pub krate: Option<Path>,
    pub of: Option<Path>,
    pub max_limit: Option<Count>,
    pub max_conditions: Option<Count>,
    pub max_values: Option<Count>,
}

impl Request {
    pub fn parse(cx: &Ctxt, attrs: &[Attribute]) -> Request {
        let mut request = Request::default();
        read(cx, attrs, "request", &keys::REQUEST, |meta| {
            if meta.path.is_ident("of") {
                once(&mut request.of, meta.value()?.parse()?, meta)
            } else if meta.path.is_ident("max_limit") {
                once(&mut request.max_limit, count(meta)?, meta)
            } else if meta.path.is_ident("max_conditions") {
                once(&mut request.max_conditions, count(meta)?, meta)
            } else if meta.path.is_ident("max_values") {
                once(&mut request.max_values, count(meta)?, meta)
            } else if meta.path.is_ident("crate") {
                once(&mut request.krate, krate(meta)?, meta)
            } else {
                Err(unknown(meta, &keys::REQUEST))
            }
        });
        request
    }
}

/// On a field.
#[derive(Default)]
pub struct Field {
    pub path: Option<Reached>,
    pub name: Option<LitStr>,
    pub scan: bool,
    pub sort: Option<Vec<Reached>>,
}

impl Field {
    pub fn parse(cx: &Ctxt, attrs: &[Attribute]) -> Field {
        let mut field = Field::default();
        read(cx, attrs, "request", &keys::REQUEST_FIELD, |meta| {
            if meta.path.is_ident("path") {
                once(&mut field.path, meta.value()?.parse()?, meta)
            } else if meta.path.is_ident("name") {
                once(&mut field.name, string(meta, "city")?, meta)
            } else if meta.path.is_ident("scan") {
                flag(&mut field.scan, meta)
            } else if meta.path.is_ident("sort") {
                once(&mut field.sort, sort(meta)?, meta)
            } else {
                Err(unknown(meta, &keys::REQUEST_FIELD))
            }
        });
        field
    }
}

fn sort(meta: &ParseNestedMeta) -> syn::Result<Vec<Reached>> {
    let advice = "`sort` lists the fields that a request may sort by: `sort(name, age)`";
    if !meta.input.peek(syn::token::Paren) {
        return Err(meta.error(advice));
    }
    let content;
    syn::parenthesized!(content in meta.input);
    let keys = Punctuated::<Reached, Token![,]>::parse_terminated(&content)?;
    if keys.is_empty() {
        return Err(meta.error(advice));
    }
    Ok(keys.into_iter().collect())
}

/// A field as a closure of a query reaches it: `address.city`, `tags.any_item()`.
#[derive(Clone)]
pub struct Reached(Vec<(Ident, bool)>);

impl Reached {
    pub fn of(field: &Ident) -> Reached {
        Reached(vec![(field.clone(), false)])
    }

    /// As it is written, without `r#`.
    pub fn text(&self) -> String {
        let parts = self.0.iter().map(|(name, called)| {
            let call = if *called { "()" } else { "" };
            format!("{}{call}", name.unraw())
        });
        parts.collect::<Vec<_>>().join(".")
    }

    /// From the paths of the document on.
    pub fn from(&self, paths: TokenStream) -> TokenStream {
        self.0.iter().fold(paths, |path, (name, called)| {
            let call = called.then(|| quote_spanned!(name.span()=> ()));
            quote_spanned!(name.span()=> #path.#name #call)
        })
    }
}

impl Parse for Reached {
    fn parse(input: ParseStream) -> syn::Result<Reached> {
        let mut parts = Vec::new();
        loop {
            let name = input.call(Ident::parse_any).map_err(|error| {
                syn::Error::new(
                    error.span(),
                    "A field is named as in a query: `address.city`, or `tags.any_item()` for an item of an array",
                )
            })?;
            let is_called = input.peek(syn::token::Paren);
            if is_called {
                let none;
                syn::parenthesized!(none in input);
                if name != "any_item" || !none.is_empty() {
                    return Err(syn::Error::new(
                        name.span(),
                        "A path names fields, and `any_item()` for the items of an array: `address.city`, `tags.any_item()`",
                    ));
                }
            }
            parts.push((name, is_called));
            if input.parse::<Option<Token![.]>>()?.is_none() {
                return Ok(Reached(parts));
            }
        }
    }
}

impl ToTokens for Reached {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.0.iter().map(|(name, _)| name.to_token_stream()));
    }
}
