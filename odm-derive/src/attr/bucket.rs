//! `#[bucket(…)]` on a struct that derives `Embed`: its values are kept in documents that hold a bounded number of them.

use super::reference::{OnDelete, on_delete, truth};
use super::shard_key::ShardKey;
use super::{At, Count, count, keys, once, read, string, unknown, unknown_word, word};
use crate::ctxt::Ctxt;
use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{Attribute, Ident, LitStr, Path, Token, parenthesized, token};

/// The options as written; omitted ones have defaults that depend on the names of the types.
#[derive(Default)]
pub struct Bucket {
    pub span: Option<Span>,
    pub of: Option<Path>,
    pub name: Option<Ident>,
    pub collection: Option<LitStr>,
    pub size: Option<Count>,
    pub per: Option<At<Per>>,
    /// A field of the item.
    pub time: Option<Ident>,
    /// Fields of the item.
    pub sums: Vec<Ident>,
    /// Other names of the bucket's fields.
    pub renames: Vec<Rename>,
    /// The fields of scopes that the buckets have.
    pub scopes: Vec<syn::Field>,
    /// The fields of the bucket by whose values a sharded cluster distributes the buckets.
    pub shard_key: Option<ShardKey>,
    pub on_delete: Option<At<OnDelete>>,
    pub check: Option<At<bool>>,
}

/// `items = notes` in `rename(…)`.
pub struct Rename {
    /// The content of the field: `parent`, `items`, `sum_stars`.
    pub part: Ident,
    pub name: Ident,
}

/// The time that one bucket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    Hour,
    Day,
    Month,
}

impl Bucket {
    /// `None` where the attribute is not there.
    pub fn parse(cx: &Ctxt, attrs: &[Attribute]) -> Option<Bucket> {
        let attr = super::find(attrs, "bucket")?;
        let mut bucket = Bucket {
            span: Some(attr.path().span()),
            ..Bucket::default()
        };
        read(cx, attrs, "bucket", &keys::BUCKET, |meta| bucket.option(meta));
        Some(bucket)
    }

    fn option(&mut self, meta: &ParseNestedMeta) -> syn::Result<()> {
        match word(&meta.path).as_str() {
            "of" => once(&mut self.of, parent(meta)?, meta),
            "name" => once(&mut self.name, ident(meta, "CommentBucket")?, meta),
            "collection" => once(&mut self.collection, string(meta, "comment_buckets")?, meta),
            "size" => once(&mut self.size, count(meta)?, meta),
            "per" => once(&mut self.per, per(meta)?, meta),
            "time" => once(&mut self.time, ident(meta, "at")?, meta),
            "sum" => {
                self.sums.extend(sums(meta)?);
                Ok(())
            }
            "rename" => {
                self.renames.extend(renames(meta)?);
                Ok(())
            }
            "scope" => {
                self.scopes.extend(scopes(meta)?);
                Ok(())
            }
            "shard_key" => once(&mut self.shard_key, ShardKey::parse(meta)?, meta),
            "on_delete" => once(&mut self.on_delete, on_delete(meta)?, meta),
            "check" => once(&mut self.check, truth(meta)?, meta),
            _ => Err(unknown(meta, &keys::BUCKET)),
        }
    }
}

/// `= Post`.
fn parent(meta: &ParseNestedMeta) -> syn::Result<Path> {
    let advice = "`of` names the document that the items belong to, without quotes: `of = Post`";
    let value = meta.value().map_err(|_| meta.error(advice))?;
    let span = value.span();
    value
        .call(Path::parse_mod_style)
        .map_err(|_| syn::Error::new(span, advice))
}

/// `= name`.
fn ident(meta: &ParseNestedMeta, example: &str) -> syn::Result<Ident> {
    let name = word(&meta.path);
    let advice = || format!("`{name}` takes a name as in Rust, without quotes: `{name} = {example}`");
    let value = meta.value().map_err(|_| meta.error(advice()))?;
    let span = value.span();
    value.parse().map_err(|_| syn::Error::new(span, advice()))
}

/// `= hour`.
fn per(meta: &ParseNestedMeta) -> syn::Result<At<Per>> {
    let advice =
        "`per` is one of `hour`, `day`, `month`, without quotes: the time (UTC) that one bucket is for";
    let value = meta.value()?;
    let span = value.span();
    let given: Ident = value.parse().map_err(|_| syn::Error::new(span, advice))?;
    let per = match given.to_string().as_str() {
        "hour" => Per::Hour,
        "day" => Per::Day,
        "month" => Per::Month,
        _ => return Err(unknown_word(&given, "per", &["hour", "day", "month"], advice)),
    };
    Ok(At::new(per, given.span()))
}

/// `(stars, words)`.
fn sums(meta: &ParseNestedMeta) -> syn::Result<Vec<Ident>> {
    let advice = "`sum` names the fields of the item that are added up: `sum(stars)`, in the bucket's field `sum_stars`; \
                  `rename(sum_stars = total_stars)` gives that another name";
    listed(meta, advice, |content| content.parse())
}

/// `(items = notes, page = number)`.
fn renames(meta: &ParseNestedMeta) -> syn::Result<Vec<Rename>> {
    let advice = "`rename` gives fields of the bucket other names, by what they hold: `rename(items = notes, page = number)`";
    listed(meta, advice, |content| {
        let part = content.parse()?;
        content.parse::<Token![=]>()?;
        let name = content.parse()?;
        Ok(Rename { part, name })
    })
}

/// One or several in parentheses.
fn listed<T>(
    meta: &ParseNestedMeta,
    advice: &str,
    parse: impl Fn(ParseStream) -> syn::Result<T>,
) -> syn::Result<Vec<T>> {
    if !meta.input.peek(token::Paren) {
        return Err(meta.error(advice));
    }
    let content;
    parenthesized!(content in meta.input);
    let mut list = Vec::new();
    while !content.is_empty() {
        let advised = |error: syn::Error| syn::Error::new(error.span(), advice);
        list.push(parse(&content).map_err(advised)?);
        if !content.is_empty() {
            content.parse::<Token![,]>().map_err(advised)?;
        }
    }
    if list.is_empty() {
        Err(syn::Error::new(meta.path.span(), advice))
    } else {
        Ok(list)
    }
}

/// `(tenant: String)`.
fn scopes(meta: &ParseNestedMeta) -> syn::Result<Vec<syn::Field>> {
    let advice = "`scope` declares the fields by which a handle is restricted to a tenant, as the parent has them: `scope(tenant: String)`";
    if !meta.input.peek(token::Paren) {
        return Err(meta.error(advice));
    }
    let content;
    parenthesized!(content in meta.input);
    let fields = content.parse_terminated(syn::Field::parse_named, Token![,]);
    let fields = fields.map_err(|error| syn::Error::new(error.span(), advice))?;
    Ok(fields.into_iter().collect())
}
