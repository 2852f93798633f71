//! `#[index]` on a field, and `index(fields(…), …)` of a document: they share their options.

use super::{At, allowed, entries, flag, keys, nested, number, once, string, unknown, word};
use crate::ctxt::Ctxt;
use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Ident, LitInt, LitStr, Token, parenthesized, token};

/// A declared index.
#[derive(Clone, Debug)]
pub struct Index {
    pub span: Span,
    /// Declared on the field that it indexes.
    pub on_field: bool,
    pub keys: Vec<Key>,
    pub unique: Option<Span>,
    /// Over all shards and shard keys: `unique(global)`.
    pub global: Option<Span>,
    pub sparse: Option<Span>,
    pub name: Option<LitStr>,
    pub expire_after: Option<At<u64>>,
    pub partial: Option<Expr>,
    pub collation: Option<Collation>,
    pub default_language: Option<LitStr>,
    pub language_override: Option<LitStr>,
    /// Of a wildcard index: the paths of the fields that it holds alone, and of those that it leaves out.
    pub include: Option<At<Vec<Vec<Ident>>>>,
    pub exclude: Option<At<Vec<Vec<Ident>>>>,
}

/// A field of an index.
#[derive(Clone, Debug)]
pub struct Key {
    /// The Rust names from the document to the field; none for the whole document.
    pub path: Vec<Ident>,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Ascending,
    Descending,
    Text { weight: u32 },
    Geo,
    Hashed,
    Wildcard,
}

impl Kind {
    pub fn is_text(self) -> bool {
        matches!(self, Kind::Text { .. })
    }

    /// By value, from the least to the greatest or the other way round.
    pub fn is_sorted(self) -> bool {
        matches!(self, Kind::Ascending | Kind::Descending)
    }

    /// By value, in an order or by its hash.
    pub fn is_by_value(self) -> bool {
        self.is_sorted() || self == Kind::Hashed
    }
}

#[derive(Clone, Debug)]
pub struct Collation {
    pub locale: LitStr,
    pub strength: u8,
    pub numeric_ordering: bool,
}

impl Index {
    /// One without options.
    pub fn new(span: Span, keys: Vec<Key>) -> Index {
        Index {
            span,
            on_field: false,
            keys,
            unique: None,
            global: None,
            sparse: None,
            name: None,
            expire_after: None,
            partial: None,
            collation: None,
            default_language: None,
            language_override: None,
            include: None,
            exclude: None,
        }
    }

    /// The indexes that are declared on a field.
    pub fn of_field(cx: &Ctxt, field: Option<&Ident>, attrs: &[Attribute]) -> Vec<Index> {
        let mut indexes = Vec::new();
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("index")) {
            let Some(field) = field else {
                cx.error(
                    attr,
                    "An index needs a field with a name. Name the fields of the struct",
                );
                continue;
            };
            let key = Key {
                path: vec![field.clone()],
                kind: Kind::Ascending,
            };
            let mut index = Index::new(attr.span(), vec![key]);
            index.on_field = true;
            let mut kind = None;
            entries(cx, attr, &keys::INDEX, |meta| {
                let found = match word(&meta.path).as_str() {
                    "desc" => Kind::Descending,
                    "text" => Kind::Text {
                        weight: weight(meta)?,
                    },
                    "geo" => Kind::Geo,
                    "hashed" => Kind::Hashed,
                    "wildcard" => Kind::Wildcard,
                    "fields" => {
                        return Err(meta.error(
                            "An index of several fields is declared on the struct: \
                                 `#[document(index(fields(a, -b)))]`",
                        ));
                    }
                    _ => return index.option(meta, &keys::INDEX),
                };
                if kind.is_some() {
                    return Err(meta.error(
                            "An index has its field in one way: one of `desc`, `text`, `geo`, `hashed` and `wildcard`. Write a second \
                             `#[index(…)]` for another index of the same field",
                        ));
                }
                kind = Some(found);
                Ok(())
            });
            index.keys[0].kind = kind.unwrap_or(Kind::Ascending);
            indexes.push(index);
        }
        indexes
    }

    /// `index(fields(…), …)` of a document.
    pub fn of_document(meta: &ParseNestedMeta) -> syn::Result<Index> {
        let span = meta.path.span();
        let mut index = Index::new(span, Vec::new());
        let mut fields = None;
        if !has_content(meta) {
            return Err(syn::Error::new(span, NAMES_FIELDS));
        }
        nested(meta, &keys::DOCUMENT_INDEX, |meta| {
            if meta.path.is_ident("fields") {
                let content;
                parenthesized!(content in meta.input);
                let keys = Punctuated::<Key, Token![,]>::parse_terminated(&content)?;
                once(&mut fields, keys.into_iter().collect::<Vec<_>>(), meta)
            } else if meta.path.is_ident("wildcard") {
                if meta.input.peek(token::Paren) {
                    return Err(meta.error(
                        "a wildcard index below a field is written `index(fields(wildcard(attributes)))`",
                    ));
                }
                let key = Key {
                    path: Vec::new(),
                    kind: Kind::Wildcard,
                };
                once(&mut fields, vec![key], meta)
            } else {
                index.option(meta, &keys::DOCUMENT_INDEX)
            }
        })?;
        index.keys = fields.unwrap_or_default();
        if index.keys.is_empty() {
            return Err(syn::Error::new(span, NAMES_FIELDS));
        }
        Ok(index)
    }

    fn option(&mut self, meta: &ParseNestedMeta, attribute: &keys::Attribute) -> syn::Result<()> {
        let span = meta.path.span();
        match allowed(meta, attribute)?.as_str() {
            "unique" => {
                once(&mut self.unique, span, meta)?;
                if !meta.input.peek(token::Paren) {
                    return Ok(());
                }
                if !has_content(meta) {
                    return Err(meta.error(
                        "`unique` holds for a shard of a cluster, and `unique(global)` for all of them. Write one of the two",
                    ));
                }
                nested(meta, &keys::UNIQUENESS, |meta| {
                    once(&mut self.global, meta.path.span(), meta)
                })
            }
            "sparse" => once(&mut self.sparse, span, meta),
            "name" => once(&mut self.name, string(meta, "by_city")?, meta),
            "expire_after" => once(&mut self.expire_after, number(meta)?, meta),
            "partial" => {
                let value = meta.value()?;
                let expr: Expr = value.parse()?;
                if !matches!(expr, Expr::Closure(_)) {
                    return Err(syn::Error::new_spanned(
                        expr,
                        "`partial` takes a closure that makes a filter of the paths: `partial = |p| p.active.eq(true)`",
                    ));
                }
                once(&mut self.partial, expr, meta)
            }
            "collation" => once(&mut self.collation, Collation::parse(meta)?, meta),
            "default_language" => once(&mut self.default_language, string(meta, "german")?, meta),
            "include" => once(&mut self.include, paths(meta)?, meta),
            "exclude" => once(&mut self.exclude, paths(meta)?, meta),
            "language_override" => once(&mut self.language_override, string(meta, "text_language")?, meta),
            _ => Err(unknown(meta, attribute)),
        }
    }
}

/// `include(name, address.city)`
pub fn paths(meta: &ParseNestedMeta) -> syn::Result<At<Vec<Vec<Ident>>>> {
    let content;
    parenthesized!(content in meta.input);
    let paths = Punctuated::<_, Token![,]>::parse_terminated_with(&content, dotted)?;
    if paths.is_empty() {
        return Err(meta.error("name the fields: `(name, address.city)`"));
    }
    Ok(At::new(paths.into_iter().collect(), meta.path.span()))
}

const NAMES_FIELDS: &str = "An index names its fields. Write `index(fields(name, -created_at, address.city))`; a minus sorts from \
                            the greatest to the least";

/// Whether parentheses follow that are not empty.
pub fn has_content(meta: &ParseNestedMeta) -> bool {
    fn content(input: ParseStream) -> syn::Result<bool> {
        let content;
        parenthesized!(content in input);
        Ok(!content.is_empty())
    }
    content(&meta.input.fork()).unwrap_or(false)
}

/// `text(weight = 5)` on a field.
fn weight(meta: &ParseNestedMeta) -> syn::Result<u32> {
    if !meta.input.peek(token::Paren) {
        return Ok(1);
    }
    let content;
    parenthesized!(content in meta.input);
    parse_weight(&content)
}

fn parse_weight(content: ParseStream) -> syn::Result<u32> {
    let advice = "a text index takes `weight = N`, from 1 to 99999";
    let name: Ident = content
        .parse()
        .map_err(|error| syn::Error::new(error.span(), advice))?;
    if name != "weight" {
        return Err(syn::Error::new(name.span(), advice));
    }
    content.parse::<Token![=]>()?;
    let number: LitInt = content
        .parse()
        .map_err(|error| syn::Error::new(error.span(), advice))?;
    content.parse::<Option<Token![,]>>()?;
    match number.base10_parse::<u32>() {
        Ok(weight @ 1..=99_999) => Ok(weight),
        _ => Err(syn::Error::new(number.span(), advice)),
    }
}

impl Parse for Key {
    fn parse(input: ParseStream) -> syn::Result<Key> {
        if input.peek(Token![-]) {
            input.parse::<Token![-]>()?;
            return Ok(Key {
                path: dotted(input)?,
                kind: Kind::Descending,
            });
        }
        if input.peek(Ident) && input.peek2(token::Paren) {
            let kind: Ident = input.parse()?;
            let content;
            parenthesized!(content in input);
            let path = dotted(&content)?;
            let kind = match kind.to_string().as_str() {
                "text" if content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() => {
                    Kind::Text {
                        weight: parse_weight(&content)?,
                    }
                }
                "text" => Kind::Text { weight: 1 },
                "geo" => Kind::Geo,
                "hashed" => Kind::Hashed,
                "wildcard" => Kind::Wildcard,
                other => {
                    return Err(syn::Error::new(
                        kind.span(),
                        format!(
                            "`{other}` is not a kind of index. Write `name`, `-name`, `text(name)`, `text(name, weight = 5)`, \
                             `geo(name)`, `hashed(name)` or `wildcard(name)`"
                        ),
                    ));
                }
            };
            return Ok(Key { path, kind });
        }
        let path = dotted(input)?;
        if input.peek(Ident) {
            let name = path.last().map(Ident::to_string).unwrap_or_default();
            let order: Ident = input.fork().parse()?;
            if !["asc", "desc", "ascending", "descending"]
                .iter()
                .any(|word| order == word)
            {
                return Err(input.error("A comma stands between two fields. Add it before this one"));
            }
            return Err(input.error(format!(
                "A minus sorts a field from the greatest to the least: `-{name}`. Without one it is sorted from the least to the \
                 greatest"
            )));
        }
        Ok(Key {
            path,
            kind: Kind::Ascending,
        })
    }
}

/// A name, which may be a keyword: `type` is the field `r#type`.
fn name(input: ParseStream) -> syn::Result<Ident> {
    if input.peek(Token![type]) {
        let keyword = input.parse::<Token![type]>()?;
        return Ok(Ident::new_raw("type", keyword.span));
    }
    input.parse()
}

pub fn dotted(input: ParseStream) -> syn::Result<Vec<Ident>> {
    if input.peek(LitStr) {
        let text: LitStr = input.parse()?;
        return Err(syn::Error::new(
            text.span(),
            format!(
                "a field is named as in Rust, without quotes: `{}`",
                text.value().trim_start_matches('-')
            ),
        ));
    }
    let mut path = vec![name(input)?];
    while input.peek(Token![.]) {
        input.parse::<Token![.]>()?;
        path.push(name(input)?);
    }
    Ok(path)
}

impl Collation {
    pub fn parse(meta: &ParseNestedMeta) -> syn::Result<Collation> {
        let (mut locale, mut strength, mut numeric_ordering) = (None, None, false);
        nested(meta, &keys::COLLATION, |meta| {
            if meta.path.is_ident("locale") {
                once(&mut locale, string(meta, "en")?, meta)
            } else if meta.path.is_ident("strength") {
                once(&mut strength, number(meta)?, meta)
            } else if meta.path.is_ident("numeric_ordering") {
                flag(&mut numeric_ordering, meta)
            } else {
                Err(unknown(meta, &keys::COLLATION))
            }
        })?;
        let Some(locale) = locale else {
            return Err(
                meta.error("a collation names its language: `collation(locale = \"en\", strength = 2)`")
            );
        };
        let strength = match strength {
            None => 3,
            Some(At {
                value: value @ 1..=5, ..
            }) => value as u8,
            Some(at) => {
                return Err(syn::Error::new(
                    at.span,
                    "the strength of a collation is from 1 (base letters only) to 5 (identical); 2 ignores case",
                ));
            }
        };
        Ok(Collation {
            locale,
            strength,
            numeric_ordering,
        })
    }
}
