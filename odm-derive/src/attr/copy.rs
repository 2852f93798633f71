//! `#[denormalize(…)]`, `#[subset(…)]`, `#[computed(…)]` and `#[volatile]`: what a field is derived from.

use super::index::Key;
use super::{At, Count, allowed, count, entries, keys, once, unknown, unknown_word, word};
use crate::ctxt::Ctxt;
use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Ident, LitStr, Path, Token, parenthesized, token};

/// The source of a derived field.
#[derive(Clone)]
pub enum Copy {
    /// `#[denormalize(from = host.ipaddr)]`, or a field of a struct with `#[denormalize(from = T)]`.
    Field(FieldCopy),
    /// `#[reference(…)] #[denormalize(from = Part, …)]`.
    Entry(Entry),
    Subset(Subset),
    Computed(Computed),
}

/// A copy of a field of the document that the reference beside it names.
#[derive(Clone)]
pub struct FieldCopy {
    pub span: Span,
    pub from: Source,
    /// The field of the other document.
    pub field: Ident,
    pub consistency: Option<At<Consistency>>,
}

/// Where a copied field is.
#[derive(Clone)]
pub enum Source {
    /// In the document that this field of the same struct refers to.
    Through(Ident),
    /// In the document that the whole struct copies, with the reference to it if there is one.
    Whole { of: Path, id: Option<Ident> },
}

/// A reference with copies beside it.
#[derive(Clone)]
pub struct Entry {
    pub span: Span,
    pub of: Path,
    pub fields: Option<Fields>,
    pub consistency: Option<At<Consistency>>,
    /// The options in `#[reference(…)]`.
    pub reference: super::reference::Reference,
}

#[derive(Clone)]
pub struct Subset {
    pub span: Span,
    pub of: Path,
    pub limit: Count,
    pub order: At<Vec<Key>>,
    pub fields: Option<Fields>,
    pub filter: Option<Expr>,
    pub by: Option<Ident>,
    pub keep_last: Option<bool>,
    pub consistency: Option<At<Consistency>>,
}

#[derive(Clone)]
pub struct Computed {
    pub span: Span,
    pub operation: Operation,
    pub of: Path,
    /// Of a count none.
    pub field: Option<Ident>,
    /// Of `first` and `last`; of the others empty.
    pub order: Vec<Key>,
    pub filter: Option<Expr>,
    pub by: Option<Ident>,
    pub consistency: Option<At<Consistency>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    First,
    Last,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    Atomic,
    Eventual,
    Snapshot,
}

/// `fields(name: String, …)`.
#[derive(Clone)]
pub struct Fields {
    pub span: Span,
    pub list: Vec<syn::Field>,
}

/// `#[denormalize(from = Part)]` above a struct.
#[derive(Clone)]
pub struct Container {
    pub span: Span,
    pub of: Path,
    pub consistency: Option<At<Consistency>>,
}

/// `#[denormalize(…)]` as it was written.
struct Denormalize {
    span: Span,
    from: From,
    fields: Option<Fields>,
    consistency: Option<At<Consistency>>,
}

enum From {
    Field(Ident, Ident),
    Document(Path),
}

/// Where it can be written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Field,
    Struct,
}

const FROM: &str = "`from` says what is copied: a field through a reference of the same struct, `from = host.ipaddr`; or, on a \
                    field with `#[reference]`, the document, `from = Part`";

impl Denormalize {
    fn parse(cx: &Ctxt, attr: &Attribute, on: On) -> Option<Denormalize> {
        let span = attr.path().span();
        let (mut from, mut fields, mut consistency) = (None, None, None);
        let known = match on {
            On::Field => &keys::DENORMALIZE,
            On::Struct => &keys::DENORMALIZE_TYPE,
        };
        let is_read = entries(cx, attr, known, |meta| {
            match word(&meta.path).as_str() {
            "from" => once(&mut from, From::parse(meta)?, meta),
            "fields" if on == On::Field => once(&mut fields, Fields::parse(meta)?, meta),
            "consistency" => once(&mut consistency, Consistency::parse(meta)?, meta),
            "fields" => Err(meta.error(
                "The fields of a struct of copies are those of the struct itself: each has the name of one of the document's",
            )),
            _ => Err(unknown(meta, known)),
        }
        });
        let Some(from) = from else {
            if is_read {
                cx.unreadable(attr, syn::Error::new(span, FROM));
            }
            return None;
        };
        Some(Denormalize {
            span,
            from,
            fields,
            consistency,
        })
    }
}

impl From {
    fn parse(meta: &ParseNestedMeta) -> syn::Result<From> {
        let value = meta.value().map_err(|_| meta.error(FROM))?;
        let span = value.span();
        if value.peek(LitStr) {
            return Err(syn::Error::new(
                span,
                "`from` names fields and documents as in Rust, without quotes: `from = host.ipaddr`, `from = Part`",
            ));
        }
        let path = value
            .call(Path::parse_mod_style)
            .map_err(|_| syn::Error::new(span, FROM))?;
        if !value.peek(Token![.]) {
            return Ok(From::Document(path));
        }
        value.parse::<Token![.]>()?;
        let field = value
            .call(Ident::parse_any)
            .map_err(|_| syn::Error::new(span, FROM))?;
        if value.peek(Token![.]) {
            return Err(syn::Error::new(
                value.span(),
                format!(
                    "A copy is of a field of the document itself, not of one of what is embedded in it. Copy `{field}` as a whole"
                ),
            ));
        }
        match path.get_ident() {
            Some(reference) => Ok(From::Field(reference.clone(), field)),
            None => Err(syn::Error::new(
                path.span(),
                "A field is copied through a reference of the same struct, which is named as in Rust: `from = host.ipaddr`",
            )),
        }
    }
}

impl Consistency {
    fn parse(meta: &ParseNestedMeta) -> syn::Result<At<Consistency>> {
        const ADVICE: &str = "`consistency` is one of `atomic`, `eventual` and `snapshot`, without quotes; without it a copy is written in \
                              one transaction with its source where that is possible and cheap";
        let value = meta.value()?;
        let span = value.span();
        let given: Ident = value.parse().map_err(|_| syn::Error::new(span, ADVICE))?;
        let consistency = match given.to_string().as_str() {
            "atomic" => Consistency::Atomic,
            "eventual" => Consistency::Eventual,
            "snapshot" => Consistency::Snapshot,
            _ => {
                let known = ["atomic", "eventual", "snapshot"];
                return Err(unknown_word(&given, "consistency", &known, ADVICE));
            }
        };
        Ok(At::new(consistency, given.span()))
    }
}

struct OneField(syn::Field);

impl Parse for OneField {
    fn parse(input: ParseStream) -> syn::Result<OneField> {
        const ADVICE: &str = "`fields` lists fields of the document with their types, as a struct does: `fields(name: String, price: \
                              f64)`";
        let span = input.span();
        syn::Field::parse_named(input)
            .map(OneField)
            .map_err(|_| syn::Error::new(span, ADVICE))
    }
}

impl Fields {
    fn parse(meta: &ParseNestedMeta) -> syn::Result<Fields> {
        let span = meta.path.span();
        let empty = || {
            syn::Error::new(
                span,
                "`fields` lists what is copied, with the types as they are in the document: `fields(name: String)`",
            )
        };
        if !meta.input.peek(token::Paren) {
            return Err(empty());
        }
        let content;
        parenthesized!(content in meta.input);
        let list = Punctuated::<OneField, Token![,]>::parse_terminated(&content)?;
        if list.is_empty() {
            return Err(empty());
        }
        Ok(Fields {
            span,
            list: list.into_iter().map(|OneField(field)| field).collect(),
        })
    }
}

fn filter(meta: &ParseNestedMeta) -> syn::Result<Expr> {
    let advice =
        "`filter` takes a closure that makes a condition of the child's paths: `filter = |r| r.stars.gte(3)`";
    let value = meta.value().map_err(|_| meta.error(advice))?;
    let expr: Expr = value.parse()?;
    match expr {
        Expr::Closure(_) => Ok(expr),
        other => Err(syn::Error::new_spanned(other, advice)),
    }
}

fn by(meta: &ParseNestedMeta) -> syn::Result<Ident> {
    let advice = "`by` names the field of the child that refers to this document, as in Rust: `by = product`";
    let value = meta.value().map_err(|_| meta.error(advice))?;
    let span = value.span();
    value.parse().map_err(|_| syn::Error::new(span, advice))
}

const ORDER: &str = "`order` names the fields of the child by which it is one of those that are kept: `order(-published_date)` keeps \
                     the greatest first, `order(time)` keeps the greatest too, and has them at the end";

const ORDER_OF_ONE: &str = "`order` names the fields of the child by which it is the first or the last: with `order(-published_date)` the \
                            greatest is the first, with `order(published_date)` the least";

fn order(meta: &ParseNestedMeta, advice: &str) -> syn::Result<At<Vec<Key>>> {
    let span = meta.path.span();
    if !meta.input.peek(token::Paren) {
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

impl Subset {
    /// One that lacks something has an error, and what can be read.
    fn parse(cx: &Ctxt, attr: &Attribute) -> Option<Subset> {
        let span = attr.path().span();
        let (mut of, mut limit, mut keys, mut fields) = (None, None, None, None);
        let (mut condition, mut parent, mut keep, mut consistency) = (None, None, None, None);
        let is_read = entries(cx, attr, &keys::SUBSET, |meta| {
            match allowed(meta, &keys::SUBSET)?.as_str() {
                "of" => {
                    let value = meta.value()?;
                    once(&mut of, value.call(Path::parse_mod_style)?, meta)
                }
                "limit" => once(&mut limit, count(meta)?, meta),
                "order" => once(&mut keys, order(meta, ORDER)?, meta),
                "fields" => once(&mut fields, Fields::parse(meta)?, meta),
                "filter" => once(&mut condition, filter(meta)?, meta),
                "by" => once(&mut parent, by(meta)?, meta),
                "keep" => {
                    let advice =
                        "`keep` is `first` or `last`, without quotes: which end of the order is kept";
                    let value = meta.value()?;
                    let span = value.span();
                    let given: Ident = value.parse().map_err(|_| syn::Error::new(span, advice))?;
                    let last = match given.to_string().as_str() {
                        "first" => false,
                        "last" => true,
                        _ => return Err(unknown_word(&given, "keep", &["first", "last"], advice)),
                    };
                    once(&mut keep, last, meta)
                }
                "consistency" => once(&mut consistency, Consistency::parse(meta)?, meta),
                _ => Err(unknown(meta, &keys::SUBSET)),
            }
        });
        let lacking = [
            ("`of`", of.is_none()),
            ("`limit`", limit.is_none()),
            ("`order`", keys.is_none()),
        ];
        if let Some((what, _)) = lacking.iter().find(|(_, is_lacking)| is_read && *is_lacking) {
            let message = format!(
                "A subset says of which children, how many and by which order: `#[subset(of = Review, limit = 10, \
                 order(-published_date))]`; here {what} is missing"
            );
            cx.unreadable(attr, syn::Error::new(span, message));
        }
        Some(Subset {
            span,
            of: of?,
            limit: limit.unwrap_or(Count::Literal(1, span)),
            order: keys.unwrap_or_else(|| At::new(Vec::new(), span)),
            fields,
            filter: condition,
            by: parent,
            keep_last: keep,
            consistency,
        })
    }

    /// Whether those at the end of the order are kept: the greatest, where nothing else is said.
    pub fn last(&self) -> bool {
        self.keep_last.unwrap_or_else(|| {
            let first = self.order.value.first();
            first.is_some_and(|key| key.kind == super::index::Kind::Ascending)
        })
    }
}

impl Operation {
    const NAMES: [(&'static str, Operation); 7] = [
        ("count", Operation::Count),
        ("sum", Operation::Sum),
        ("avg", Operation::Avg),
        ("min", Operation::Min),
        ("max", Operation::Max),
        ("first", Operation::First),
        ("last", Operation::Last),
    ];

    fn name(self) -> &'static str {
        let named = Operation::NAMES.iter().find(|(_, operation)| *operation == self);
        named.map_or("", |(name, _)| name)
    }

    /// Whether the value is that of one child, which an order finds.
    pub fn is_ordered(self) -> bool {
        matches!(self, Operation::First | Operation::Last)
    }
}

impl Computed {
    fn parse(cx: &Ctxt, attr: &Attribute) -> Option<Computed> {
        const ADVICE: &str = "A computed field is one of `count = Review`, `sum = Review.stars`, `avg = Review.stars`, `min = \
                              Review.stars`, `max = Review.stars`, and with `order(…)` `first = Review.text` and `last = \
                              Review.text`";
        let span = attr.path().span();
        let (mut what, mut condition, mut parent, mut consistency) = (None, None, None, None);
        let mut keys: Option<At<Vec<Key>>> = None;
        let is_read = entries(cx, attr, &keys::COMPUTED, |meta| {
            let name = allowed(meta, &keys::COMPUTED)?;
            if let Some((name, operation)) = Operation::NAMES.iter().find(|(known, _)| *known == name) {
                if what.is_some() {
                    return Err(
                        meta.error("A field is computed in one way. Give the other a field of its own")
                    );
                }
                let value = meta.value().map_err(|_| meta.error(ADVICE))?;
                let start = value.span();
                let of = value
                    .call(Path::parse_mod_style)
                    .map_err(|_| syn::Error::new(start, ADVICE))?;
                let field = match value.parse::<Option<Token![.]>>()? {
                    Some(_) => Some(value.call(Ident::parse_any)?),
                    None => None,
                };
                if value.peek(Token![.]) {
                    return Err(syn::Error::new(
                        value.span(),
                        format!(
                            "`{name}` is computed of a field of the child itself, not of one of what is embedded in it"
                        ),
                    ));
                }
                match (operation, &field) {
                    (Operation::Count, Some(field)) => {
                        return Err(syn::Error::new(
                            field.span(),
                            format!(
                                "`count` counts documents, whatever is in them: `count = {0}`. Those with a certain value are \
                                     counted by `filter`: `#[computed(count = {0}, filter = |c| c.{field}.eq(…))]`",
                                crate::ty::text(&of)
                            ),
                        ));
                    }
                    (Operation::Count, None) | (_, Some(_)) => {}
                    (_, None) => {
                        let text = crate::ty::text(&of);
                        // `Review::stars` for `Review.stars`.
                        let field = match text.rsplit_once("::") {
                            Some((of, field)) if field.starts_with(char::is_lowercase) => {
                                format!("{of}.{field}")
                            }
                            _ => format!("{text}.stars"),
                        };
                        return Err(syn::Error::new(
                            of.span(),
                            format!("`{name}` is computed of a field of the child: `{name} = {field}`"),
                        ));
                    }
                }
                what = Some((*operation, of, field));
                return Ok(());
            }
            match name.as_str() {
                "order" => once(&mut keys, order(meta, ORDER_OF_ONE)?, meta),
                "filter" => once(&mut condition, filter(meta)?, meta),
                "by" => once(&mut parent, by(meta)?, meta),
                "consistency" => once(&mut consistency, Consistency::parse(meta)?, meta),
                _ => Err(unknown(meta, &keys::COMPUTED)),
            }
        });
        let unreadable = |span, message: &str| cx.unreadable(attr, syn::Error::new(span, message));
        let Some((operation, of, field)) = what else {
            if is_read {
                unreadable(span, ADVICE);
            }
            return None;
        };
        match &keys {
            _ if !is_read => return None,
            None if operation.is_ordered() => {
                let (name, of) = (operation.name(), crate::ty::text(&of));
                let field = field.as_ref().map_or_else(String::new, Ident::to_string);
                let message = format!(
                    "`{name}` takes the value of one child, and needs the order that finds it. Write `#[computed({name} = \
                     {of}.{field}, order(-published_date))]`: with a minus the greatest is the first, without one the least",
                );
                unreadable(span, &message);
                return None;
            }
            Some(keys) if !operation.is_ordered() => {
                unreadable(
                    keys.span,
                    "`order` is for `first` and `last`: the other operations don't depend on an order of the children. Leave it \
                     out",
                );
                return None;
            }
            _ => {}
        }
        Some(Computed {
            span,
            operation,
            of,
            field,
            order: keys.map(|keys| keys.value).unwrap_or_default(),
            filter: condition,
            by: parent,
            consistency,
        })
    }
}

impl Copy {
    /// The declaration in a field's attributes. A reference with copies takes over the options of `#[reference]`.
    pub fn parse(
        cx: &Ctxt,
        attrs: &[Attribute],
        reference: &mut Option<super::reference::Reference>,
    ) -> Option<Copy> {
        let mut declared = attrs.iter().filter(|attr| {
            ["denormalize", "subset", "computed"]
                .iter()
                .any(|name| attr.path().is_ident(name))
        });
        let attr = declared.next()?;
        if let Some(second) = declared.next() {
            cx.error(
                second,
                "A field is derived in one way: write one of `#[denormalize(…)]`, `#[subset(…)]` and `#[computed(…)]`, with all \
                 options in it",
            );
        }
        if attr.path().is_ident("subset") {
            return Subset::parse(cx, attr).map(Copy::Subset);
        }
        if attr.path().is_ident("computed") {
            return Computed::parse(cx, attr).map(Copy::Computed);
        }
        let Denormalize {
            span,
            from,
            fields,
            consistency,
        } = Denormalize::parse(cx, attr, On::Field)?;
        match (from, reference.take()) {
            (From::Document(of), Some(reference)) => Some(Copy::Entry(Entry {
                span,
                of,
                fields,
                consistency,
                reference,
            })),
            (From::Document(of), None) => {
                let name = crate::ty::text(&of);
                let reference = name.starts_with(char::is_lowercase);
                cx.push(syn::Error::new(
                    of.span(),
                    if reference {
                        format!("`{name}` alone does not say what is copied. Write the field of its document too: `from = {name}.name`")
                    } else {
                        format!(
                            "Copies of a whole `{name}` stand beside a reference to it. Write `#[reference]` above this, or \
                             `#[reference(many, max = 2000)]` for an array; a single field is copied through a reference of the \
                             same struct: `from = reference.field`"
                        )
                    },
                ));
                None
            }
            (From::Field(through, field), kept) => {
                *reference = kept;
                if let Some(fields) = fields {
                    cx.push(syn::Error::new(
                        fields.span,
                        "`fields` makes a struct of several copies, and this is one field. Leave it out, or write `from = Document` \
                         beside a `#[reference]`",
                    ));
                }
                Some(Copy::Field(FieldCopy {
                    span,
                    from: Source::Through(through),
                    field,
                    consistency,
                }))
            }
        }
    }

    pub fn span(&self) -> Span {
        match self {
            Copy::Field(copy) => copy.span,
            Copy::Entry(entry) => entry.span,
            Copy::Subset(subset) => subset.span,
            Copy::Computed(computed) => computed.span,
        }
    }
}

impl Container {
    pub fn parse(cx: &Ctxt, attrs: &[Attribute]) -> Option<Container> {
        let attr = super::find(attrs, "denormalize")?;
        let declared = Denormalize::parse(cx, attr, On::Struct)?;
        match declared.from {
            From::Document(of) => Some(Container {
                span: declared.span,
                of,
                consistency: declared.consistency,
            }),
            From::Field(reference, field) => {
                cx.push(syn::Error::new(
                    reference.span(),
                    format!(
                        "A struct copies fields of a document, which is named here: `#[denormalize(from = Part)]`; one field is \
                         copied by the attribute above it: `#[denormalize(from = {reference}.{field})]`"
                    ),
                ));
                None
            }
        }
    }
}

/// `#[volatile]`.
pub fn volatile(cx: &Ctxt, attrs: &[Attribute]) -> Option<Span> {
    let attr = super::find(attrs, "volatile")?;
    if !matches!(attr.meta, syn::Meta::Path(_)) {
        cx.error(
            attr,
            "`#[volatile]` takes nothing: it says that the field changes often",
        );
    }
    Some(attr.path().span())
}
