//! `#[reference(…)]` and `#[parent_ref(…)]` on a field: what kind of relationship it is.

use super::index::Key;
use super::{At, Count, count, entries, keys, once, unknown, unknown_word, word};
use crate::ctxt::Ctxt;
use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Ident, LitBool, LitStr, Path, Token, parenthesized, token};

/// How many references an array holds at most, where nothing is said.
pub const DEFAULT_MAX: u64 = 2_000;

/// Rule three: an array of ids, of copies or of a bucket's items does not have more.
pub const GREATEST_MAX: u64 = 5_000;

/// A declared reference.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Where the attribute is.
    pub span: Span,
    pub parent: bool,
    /// Where `many` is; where the field is an array without it, that of the attribute.
    pub many: Option<Span>,
    pub max: Option<Count>,
    pub expected: Option<Count>,
    pub by: Option<Ident>,
    pub inverse: Option<Ident>,
    pub one: Option<Span>,
    pub order: Option<At<Vec<Key>>>,
    pub check: Option<At<bool>>,
    pub index: Option<At<bool>>,
    pub on_delete: Option<At<OnDelete>>,
    pub any: Option<Any>,
    /// The fields of this document that have the same value in the other one.
    pub same: Option<At<Vec<Ident>>>,
}

/// `any` or `any(Photo, Video)`.
#[derive(Clone, Debug)]
pub struct Any {
    pub span: Span,
    /// The documents; empty where another field's attribute lists them.
    pub documents: Vec<Path>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDelete {
    Restrict,
    Cascade,
    Nullify,
    Pull,
    Keep,
}

impl OnDelete {
    pub fn name(self) -> &'static str {
        OnDelete::NAMES
            .iter()
            .find(|(_, rule)| *rule == self)
            .map_or("", |(name, _)| name)
    }

    const NAMES: [(&'static str, OnDelete); 5] = [
        ("restrict", OnDelete::Restrict),
        ("cascade", OnDelete::Cascade),
        ("nullify", OnDelete::Nullify),
        ("pull", OnDelete::Pull),
        ("keep", OnDelete::Keep),
    ];
}

impl Reference {
    /// The one attribute of a field.
    pub fn parse(cx: &Ctxt, attrs: &[Attribute]) -> Option<Reference> {
        let mut declared = attrs
            .iter()
            .filter(|attr| attr.path().is_ident("reference") || attr.path().is_ident("parent_ref"));
        let attr = declared.next()?;
        if let Some(second) = declared.next() {
            cx.error(
                second,
                "A field is one relationship: write one `#[reference(…)]` or `#[parent_ref(…)]` with all options in it",
            );
        }
        let mut reference = Reference {
            parent: attr.path().is_ident("parent_ref"),
            ..Reference::one(attr.path().span())
        };
        entries(cx, attr, reference.keys(), |meta| reference.option(meta));
        Some(reference)
    }

    /// `#[reference]`.
    pub fn one(span: Span) -> Reference {
        Reference {
            span,
            parent: false,
            many: None,
            max: None,
            expected: None,
            by: None,
            inverse: None,
            one: None,
            order: None,
            check: None,
            index: None,
            on_delete: None,
            any: None,
            same: None,
        }
    }

    /// Takes the reference for many, since its field is an array.
    pub fn of_array(&mut self) {
        if !self.parent {
            self.many.get_or_insert(self.span);
        }
    }

    fn option(&mut self, meta: &ParseNestedMeta) -> syn::Result<()> {
        let span = meta.path.span();
        match (word(&meta.path).as_str(), self.parent) {
            ("many", false) => once(&mut self.many, span, meta),
            ("max", false) => once(&mut self.max, count(meta)?, meta),
            ("expected", false) => once(&mut self.expected, count(meta)?, meta),
            ("inverse", _) => once(&mut self.inverse, field(meta, "owner")?, meta),
            ("one", true) => once(&mut self.one, span, meta),
            ("order", true) => once(&mut self.order, order(meta)?, meta),
            ("by", _) => once(&mut self.by, field(meta, "account_id")?, meta),
            ("check", _) => once(&mut self.check, truth(meta)?, meta),
            ("index", _) => once(&mut self.index, truth(meta)?, meta),
            ("on_delete", _) => once(&mut self.on_delete, on_delete(meta)?, meta),
            ("any", _) => once(&mut self.any, Any::parse(meta)?, meta),
            ("same", _) => once(&mut self.same, same(meta)?, meta),
            ("many" | "max" | "expected", true) => Err(meta.error(format!(
                "A document has one parent, so `#[parent_ref]` takes no `{}`. An array of references is `#[reference(many, max = \
                 {DEFAULT_MAX})]`",
                word(&meta.path)
            ))),
            ("one" | "order", false) => Err(meta.error(format!(
                "`{0}` says how the children of one parent are: write `#[parent_ref({0}{1})]`",
                word(&meta.path),
                if meta.path.is_ident("order") { "(-time)" } else { "" },
            ))),
            _ => Err(unknown(meta, self.keys())),
        }
    }

    fn keys(&self) -> &'static keys::Attribute {
        if self.parent {
            &keys::PARENT_REF
        } else {
            &keys::REFERENCE
        }
    }

    /// Its name as it was written.
    pub fn attribute(&self) -> &'static str {
        if self.parent { "parent_ref" } else { "reference" }
    }

    /// The greatest number of references of an array.
    pub fn max_items(&self) -> Option<Count> {
        let default = |span| Count::Literal(DEFAULT_MAX, span);
        self.many
            .map(|span| self.max.clone().unwrap_or_else(|| default(span)))
    }
}

impl Any {
    fn parse(meta: &ParseNestedMeta) -> syn::Result<Any> {
        let span = meta.path.span();
        if !meta.input.peek(token::Paren) {
            return Ok(Any {
                span,
                documents: Vec::new(),
            });
        }
        let content;
        parenthesized!(content in meta.input);
        let documents =
            Punctuated::<Path, Token![,]>::parse_terminated_with(&content, Path::parse_mod_style)?;
        if documents.is_empty() {
            return Err(syn::Error::new(
                span,
                "`any` lists the documents that the field may refer to: `any(Photo, Video)`; `any` alone takes the list of \
                 another field",
            ));
        }
        Ok(Any {
            span,
            documents: documents.into_iter().collect(),
        })
    }
}

/// `= field`, by its name in Rust.
fn field(meta: &ParseNestedMeta, example: &str) -> syn::Result<Ident> {
    let name = word(&meta.path);
    let advice = || {
        format!(
            "`{name}` names a field of the other document as in Rust, without quotes: `{name} = {example}`"
        )
    };
    let value = meta.value().map_err(|_| meta.error(advice()))?;
    let span = value.span();
    let field: Ident = value.parse().map_err(|_| syn::Error::new(span, advice()))?;
    if value.peek(Token![.]) {
        return Err(syn::Error::new(
            value.span(),
            format!("`{name}` names a field of the other document itself, not one of what is embedded in it"),
        ));
    }
    Ok(field)
}

/// `= true` or `= false`.
pub(super) fn truth(meta: &ParseNestedMeta) -> syn::Result<At<bool>> {
    let name = word(&meta.path);
    let advice = || format!("`{name}` takes `true` or `false`: `{name} = false`");
    let value = meta.value().map_err(|_| meta.error(advice()))?;
    let span = value.span();
    let literal: LitBool = value.parse().map_err(|_| syn::Error::new(span, advice()))?;
    Ok(At::new(literal.value, literal.span()))
}

/// `= cascade`.
pub(super) fn on_delete(meta: &ParseNestedMeta) -> syn::Result<At<OnDelete>> {
    let known: Vec<_> = OnDelete::NAMES.iter().map(|(name, _)| *name).collect();
    let advice = || {
        format!(
            "`on_delete` is one of `{}`, without quotes: `on_delete = cascade`",
            known.join("`, `")
        )
    };
    let value = meta.value().map_err(|_| meta.error(advice()))?;
    let span = value.span();
    let given: Ident = value.parse().map_err(|_| syn::Error::new(span, advice()))?;
    match OnDelete::NAMES.iter().find(|(name, _)| given == name) {
        Some((_, rule)) => Ok(At::new(*rule, given.span())),
        None => Err(unknown_word(&given, "on_delete", &known, &advice())),
    }
}

/// `(tenant, region)`.
fn same(meta: &ParseNestedMeta) -> syn::Result<At<Vec<Ident>>> {
    let span = meta.path.span();
    let advice = "`same` names the fields of this document that have the same value in the other one, as in Rust: `same(tenant)`";
    if !meta.input.peek(token::Paren) {
        return Err(syn::Error::new(span, advice));
    }
    let content;
    parenthesized!(content in meta.input);
    let fields = Punctuated::<Ident, Token![,]>::parse_terminated(&content);
    let fields = fields.map_err(|error| syn::Error::new(error.span(), advice))?;
    if fields.is_empty() {
        return Err(syn::Error::new(span, advice));
    }
    Ok(At::new(fields.into_iter().collect(), span))
}

/// `(-time, name)`.
fn order(meta: &ParseNestedMeta) -> syn::Result<At<Vec<Key>>> {
    let span = meta.path.span();
    let advice = "`order` names the fields by which the children of one parent are sorted: `order(-time)`; a minus sorts from \
                  the greatest to the least";
    if !meta.input.peek(token::Paren) || meta.input.peek(LitStr) {
        return Err(syn::Error::new(span, advice));
    }
    let content;
    parenthesized!(content in meta.input);
    let keys = Punctuated::<Key, Token![,]>::parse_terminated(&content)?;
    if keys.is_empty() {
        return Err(syn::Error::new(span, advice));
    }
    for key in &keys {
        if !key.kind.is_sorted() {
            let name = key.path.first().map_or(span, Ident::span);
            return Err(syn::Error::new(name, advice));
        }
    }
    Ok(At::new(keys.into_iter().collect(), span))
}
