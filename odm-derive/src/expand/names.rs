//! The names that stand in one document: that no two of them are the same is for the compiler to say, since those of a
//! flattened struct, or of the struct in a variant, are known to that type alone.

use super::Target;
use crate::ast::{Field, Style, Variant};
use crate::ty;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

/// The names that the fields themselves have.
fn own<'a>(fields: &[&'a Field<'a>]) -> Vec<&'a str> {
    fields
        .iter()
        .filter(|field| field.serde.flatten.is_none())
        .flat_map(|field| field.serde.aliases.iter().chain([&field.name]))
        .map(String::as_str)
        .collect()
}

fn flattened<'a>(fields: &'a [&'a Field<'a>]) -> impl Iterator<Item = &'a Field<'a>> {
    fields
        .iter()
        .copied()
        .filter(|field| field.serde.flatten.is_some())
}

/// The placeholder of a variant's only value.
fn value(target: &Target, field: &Field) -> Option<TokenStream> {
    let plain =
        field.field.opaque || field.is_array() || field.embed.depth.is_some() || field.reference.is_some();
    let (odm, stored) = (&target.odm, field.stored());
    (!plain).then(|| quote_spanned!(stored.span()=> <#stored as #odm::Value>::NAMES))
}

/// The names of a struct's fields.
pub fn of_fields(target: &Target, fields: &[&Field]) -> TokenStream {
    let odm = &target.odm;
    let own = own(fields);
    let within = flattened(fields).filter_map(|field| value(target, field));
    quote!(#odm::Names { own: &[#(#own),*], within: &[#(#within),*] })
}

fn stored<'a>(variant: &'a Variant<'a>) -> Vec<&'a Field<'a>> {
    variant.fields.iter().filter(|field| !field.skipped()).collect()
}

/// The names of an enum's variants and what is in them, where they stand beside others.
pub fn of_variants(target: &Target, variants: &[&Variant]) -> TokenStream {
    let odm = &target.odm;
    let serde = &target.container.serde;
    let own: Vec<String> = match (&serde.tag, &serde.content, serde.untagged) {
        (Some(tag), Some(content), _) => vec![tag.value(), content.value()],
        (Some(tag), None, _) => vec![tag.value()],
        (None, _, true) => Vec::new(),
        (None, _, false) => variants.iter().map(|variant| variant.name.clone()).collect(),
    };
    let stand_beside = serde.content.is_none() && (serde.tag.is_some() || serde.untagged);
    let within = variants
        .iter()
        .filter(|_| stand_beside)
        .filter_map(|variant| match variant.style {
            Style::Named => Some(of_fields(target, &stored(variant))),
            Style::Newtype => value(target, stored(variant).first()?),
            Style::Unit | Style::Tuple => None,
        });
    quote!(#odm::Names { own: &[#(#own),*], within: &[#(#within),*] })
}

/// That a flattened struct brings no name that is there already: a statement of a constant for each.
fn of_flattened(target: &Target, owner: &str, tag: Option<&str>, fields: &[&Field]) -> Vec<TokenStream> {
    let odm = &target.odm;
    let mut own = own(fields);
    own.extend(tag);
    // In JSON `_id` is `id`.
    if own.contains(&"_id") && !own.contains(&"id") {
        own.push("id");
    }
    let mut before: Vec<TokenStream> = Vec::new();
    let mut out = Vec::new();
    for field in flattened(fields) {
        let Some(names) = value(target, field) else {
            continue;
        };
        let (rust, text, span) = (&field.rust, ty::name(field.ty), field.ty.span());
        out.push(quote_spanned! {span=>
            if let ::core::option::Option::Some(message) = #odm::check::flattened_names(
                #owner,
                #rust,
                #text,
                &#odm::Names { own: &[#(#own),*], within: &[#(#before),*] },
                &#names,
            ) {
                ::core::panic!("{}", message.as_str());
            }
        });
        before.push(names);
    }
    out
}

fn of_struct(target: &Target) -> Vec<TokenStream> {
    of_flattened(target, &target.container.name(), None, &target.fields)
}

/// The same of the fields of each variant, and that what is in a variant has no field of the name of the tag beside it.
fn of_enum(target: &Target, variants: &[&Variant]) -> Vec<TokenStream> {
    let odm = &target.odm;
    let (owner, serde) = (target.container.name(), &target.container.serde);
    let tag = serde.tag.as_ref().filter(|_| serde.content.is_none());
    let tag = tag.map(syn::LitStr::value);
    let each = variants.iter().flat_map(|variant| {
        let (name, fields) = (variant.ident.unraw().to_string(), stored(variant));
        match (variant.style, &tag, fields.first()) {
            (Style::Named, ..) => of_flattened(target, &format!("{owner}::{name}"), tag.as_deref(), &fields),
            (Style::Newtype, Some(tag), Some(field)) => {
                let Some(names) = value(target, field) else {
                    return Vec::new();
                };
                let (ty, text, span) = (field.ty, ty::name(field.ty), field.ty.span());
                vec![quote_spanned! {span=>
                    #odm::check::beside_the_tag::<#ty>();
                    if let ::core::option::Option::Some(message) =
                        #odm::check::beside_tag(#owner, #name, #text, #tag, &#names)
                    {
                        ::core::panic!("{}", message.as_str());
                    }
                }]
            }
            _ => Vec::new(),
        }
    });
    each.collect()
}

/// The assertions: an item of a type without parameters, and a statement for where another one is used.
pub struct Checks {
    pub item: TokenStream,
    pub statement: TokenStream,
}

fn checks(target: &Target, asserts: &[TokenStream]) -> Checks {
    // An item for each, so that all of them are reported.
    let (item, statement) = if target.is_generic() {
        (quote!(), quote!(#(const { #asserts };)*))
    } else {
        (quote!(#(const _: () = { #asserts };)*), quote!())
    };
    Checks { item, statement }
}

pub fn checks_of_struct(target: &Target) -> Checks {
    checks(target, &of_struct(target))
}

pub fn checks_of_enum(target: &Target, variants: &[&Variant]) -> Checks {
    checks(target, &of_enum(target, variants))
}
