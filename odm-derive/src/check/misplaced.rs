//! Attributes where nothing reads them, each with the place where it is read.

use crate::ast::{Container, Data, Field, Style, Variant};
use crate::attr::keys;
use crate::ctxt::Ctxt;
use crate::ty;
use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Ident, Meta};

/// The attributes that stand above fields alone.
const OF_FIELDS: [&str; 7] = [
    "field",
    "index",
    "reference",
    "parent_ref",
    "subset",
    "computed",
    "volatile",
];

/// Those of them that are for the fields of documents alone.
const OF_DOCUMENTS: [&str; 3] = ["index", "subset", "computed"];

/// The attributes that stand above types alone.
const OF_TYPES: [&str; 4] = ["document", "bucket", "projection", "row"];

/// The kind of type that a derive makes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Derived {
    Document,
    Embed,
    /// A struct that is read and never written.
    Read,
}

/// Every attribute of a type, its variants and its fields.
pub fn all(cx: &Ctxt, container: &Container, derived: Derived) {
    for attr in container.attrs {
        if let Some(why) = above_a_type(container, derived, attr) {
            cx.error(attr, why);
        }
    }
    if let Data::Enum(variants) = &container.data {
        for variant in variants {
            for attr in variant.attrs {
                if let Some(why) = above_a_variant(variant, derived, attr) {
                    cx.error(attr, why);
                }
            }
        }
    }
    on_fields(cx, container);
}

pub fn on_fields(cx: &Ctxt, container: &Container) {
    for field in container.all_fields() {
        for attr in &field.original.attrs {
            if let Some(name) = one_of(attr, &OF_TYPES) {
                cx.error(attr, above_a_field(name));
            }
        }
    }
}

/// Which of these attributes it is.
fn one_of<'n>(attr: &Attribute, names: &[&'n str]) -> Option<&'n str> {
    names.iter().copied().find(|name| attr.path().is_ident(name))
}

fn above_a_type(container: &Container, derived: Derived, attr: &Attribute) -> Option<String> {
    if attr.path().is_ident("document") && derived == Derived::Embed {
        return Some(format!(
            "`#[document(…)]` is for a type that derives `Document`, and `{}` derives `Embed`. Write `#[embed(…)]` for what is \
             embedded, or derive `Document` for documents of a collection of their own",
            container.ident
        ));
    }
    if attr.path().is_ident("embed") && derived == Derived::Document {
        return Some(format!(
            "`#[embed(…)]` is for a type that derives `Embed`, and `{}` derives `Document`. Write `#[document(…)]`, or leave it out",
            container.ident
        ));
    }
    let name = one_of(attr, &OF_FIELDS)?;
    let advice = match (derived, name) {
        (Derived::Document, "index") => format!(
            "Move it there, or write for the whole document `#[document(index({}))]`",
            of_document(attr)
        ),
        (Derived::Document, _) => "Move it there".to_owned(),
        (_, name) if OF_DOCUMENTS.contains(&name) => of_a_document(name),
        _ => match &container.data {
            Data::Struct(Style::Newtype, fields) => moved(container.ident, attr, fields),
            Data::Enum(_) => "Move it into a variant, above a field".to_owned(),
            _ => "Move it there".to_owned(),
        },
    };
    Some(format!(
        "`#[{name}]` stands above a field, and not above a type. {advice}"
    ))
}

/// `Isbn(#[field(max_len = 13)] String)`
fn moved(ident: &Ident, attr: &Attribute, fields: &[Field]) -> String {
    let value = fields.first().map(|field| ty::name(field.ty)).unwrap_or_default();
    format!("Move it inside: `{ident}({} {value})`", ty::text(attr))
}

fn of_a_document(name: &str) -> String {
    let instead = match name {
        "index" => ", or `index(fields(path.to.field))` in its `#[document(…)]`",
        _ => "",
    };
    format!("It is for a document: write it above a field of that{instead}")
}

fn above_a_variant(variant: &Variant, derived: Derived, attr: &Attribute) -> Option<String> {
    if attr.path().is_ident("document") && derived == Derived::Embed {
        return Some("`#[document(…)]` is for documents. Write `#[embed(…)]`, in which a variant of an embedded enum has its options".to_owned());
    }
    if let Some(name) = one_of(attr, &["bucket", "denormalize"]) {
        return Some(format!(
            "`#[{name}(…)]` stands above a struct, and not above a variant"
        ));
    }
    let name = one_of(attr, &OF_FIELDS)?;
    let mut advice = match (variant.style, variant.fields.first()) {
        (_, Some(field)) if derived == Derived::Document => {
            format!("Move it into the struct `{}`, above a field", ty::name(field.ty))
        }
        _ if OF_DOCUMENTS.contains(&name) => of_a_document(name),
        (_, None) => format!("`{}` has no field: leave it out", variant.ident),
        (Style::Newtype, _) => moved(variant.ident, attr, &variant.fields),
        (_, Some(_)) => format!("Move it into `{}`, above a field", variant.ident),
    };
    if name == "field" {
        advice.push_str("; the stored name of a variant is `#[embed(name = \"…\")]`");
    }
    Some(format!(
        "`#[{name}]` stands above a field, and not above a variant. {advice}"
    ))
}

fn above_a_field(name: &str) -> String {
    let advice = match name {
        "bucket" => " of the items, beside `derive(Embed)`. The document has no field for them",
        _ => ". What concerns one field is written in `#[field(…)]`, `#[index(…)]` and the like",
    };
    format!("`#[{name}(…)]` stands above the struct{advice}")
}

/// The options of `#[index(…)]` as those of `index(…)` of a document: the words that are no options are its fields.
fn of_document(attr: &Attribute) -> String {
    let Meta::List(list) = &attr.meta else {
        return "fields(…)".to_owned();
    };
    let mut entries: Vec<TokenStream> = vec![TokenStream::new()];
    for token in list.tokens.clone() {
        match (&token, entries.last_mut()) {
            (TokenTree::Punct(punct), _) if punct.as_char() == ',' => entries.push(TokenStream::new()),
            (_, Some(last)) => last.extend([token]),
            (_, None) => {}
        }
    }
    let texts: Vec<String> = entries
        .into_iter()
        .map(ty::text)
        .filter(|text| !text.is_empty())
        .collect();
    let name = |text: &String| text.split(['(', ' ', '=']).next().unwrap_or_default().to_owned();
    let (options, fields): (Vec<String>, Vec<String>) = texts
        .into_iter()
        .partition(|text| keys::DOCUMENT_INDEX.has(&name(text)));
    let mut all = options;
    if !all.iter().any(|text| name(text) == "fields") {
        let fields = if fields.is_empty() {
            "…".to_owned()
        } else {
            fields.join(", ")
        };
        all.insert(0, format!("fields({fields})"));
    }
    all.join(", ")
}
