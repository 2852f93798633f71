//! `shard_key(…)` of a document: the fields by whose values a sharded cluster distributes its documents.

use super::index::{Key, Kind, dotted, has_content};
use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Ident, Token, parenthesized, token};

/// A declared shard key.
#[derive(Clone, Debug)]
pub struct ShardKey {
    pub span: Span,
    /// Each ascending or hashed.
    pub keys: Vec<Key>,
}

const NAMES_FIELDS: &str = "A shard key names its fields. Write `shard_key(hashed(tenant))`, `shard_key(tenant, hashed(id))` or \
                            `shard_key(address.country, id)`";

impl ShardKey {
    /// `(tenant, hashed(id))`
    pub fn parse(meta: &ParseNestedMeta) -> syn::Result<ShardKey> {
        let span = meta.path.span();
        if !has_content(meta) {
            return Err(syn::Error::new(span, NAMES_FIELDS));
        }
        let content;
        parenthesized!(content in meta.input);
        let keys = Punctuated::<Key, Token![,]>::parse_terminated_with(&content, key)?;
        Ok(ShardKey {
            span,
            keys: keys.into_iter().collect(),
        })
    }
}

/// `tenant`, `address.country` or `hashed(id)`
fn key(input: ParseStream) -> syn::Result<Key> {
    if input.peek(Token![-]) {
        let minus = input.parse::<Token![-]>()?;
        let path = dotted(input)?;
        let path: Vec<String> = path.iter().map(ToString::to_string).collect();
        return Err(syn::Error::new(
            minus.span(),
            format!(
                "MongoDB takes no descending field in a shard key. Leave the minus out: `{}`",
                path.join(".")
            ),
        ));
    }
    if input.peek(Ident) && input.peek2(token::Paren) {
        let kind: Ident = input.parse()?;
        if kind != "hashed" {
            return Err(syn::Error::new(
                kind.span(),
                format!(
                    "`{kind}` is no way to distribute documents. Write `tenant`, by ranges of its values, or `hashed(tenant)`, by a hash of \
                     them"
                ),
            ));
        }
        let content;
        parenthesized!(content in input);
        let path = dotted(&content)?;
        if !content.is_empty() {
            return Err(content.error("`hashed` takes one field: `hashed(tenant)`. Others stand beside it: `shard_key(hashed(tenant), id)`"));
        }
        return Ok(Key {
            path,
            kind: Kind::Hashed,
        });
    }
    let path = dotted(input)?;
    if input.peek(Ident) {
        return Err(input.error("A comma stands between two fields. Add it before this one"));
    }
    Ok(Key {
        path,
        kind: Kind::Ascending,
    })
}
