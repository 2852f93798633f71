//! `#[derive(Embed)]` of an enum.

use super::{Target, asserts, fielded, generics, names, reference, value, variants};
use crate::ast::{Field, Style, Variant};
use proc_macro2::TokenStream;
use quote::quote;

pub fn implement(target: &Target, variants: &[Variant]) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let variants: Vec<&Variant> = variants.iter().filter(|variant| !variant.serde.skip).collect();
    let fields: Vec<&Field> = variants
        .iter()
        .flat_map(|variant| &variant.fields)
        .filter(|field| !field.skipped())
        .collect();
    let asserts: TokenStream = fields.iter().map(|field| asserts::of(target, field)).collect();
    let computed = asserts::computed(target, quote!(<#this as #odm::Varied>::SHAPE));
    let generics = generics::stored(target, &fields);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let shape = shape(target, &variants, |field| {
        fielded::meta(target, field, TokenStream::new())
    });
    let serde = &target.container.serde;
    // Without content and without a tag it is a string, with neither even `null`.
    let plain = variants.iter().all(|variant| variant.style == Style::Unit) && serde.tag.is_none();
    let document = if serde.untagged {
        let named = variants.iter().any(|variant| {
            variant.style == Style::Named && variant.fields.iter().any(|field| !field.skipped())
        });
        let held = reference::holds_document(target, &fields);
        quote!(#named || #held)
    } else {
        let document = !plain;
        quote!(#document)
    };
    let named = variants.iter().any(|variant| variant.style == Style::Named);
    let compared = if plain || serde.untagged && !named {
        quote!(#odm::ByValue)
    } else {
        quote!(#odm::ByParts)
    };
    let compared = value::compared(target, compared);
    let holds = reference::holds(target, &fields);
    // Without a mark, a variant is stored as what it carries, and `null` is what carries nothing.
    let nulls = variants.iter().filter(|_| serde.untagged).filter_map(|variant| {
        match (variant.style, variant.fields.first()) {
            (Style::Unit, _) => Some(quote!(true)),
            (Style::Newtype, Some(field)) => value::null_of(target, field),
            _ => None,
        }
    });
    let nulls: Vec<TokenStream> = nulls.collect();
    let null = (!nulls.is_empty()).then(|| quote!(const NULL: bool = #(#nulls)||*;));
    let checks = reference::checks(target, &fields);
    let generic_asserts = reference::generic_asserts(target, &fields);
    let names = names::of_variants(target, &variants);
    let names_differ = names::checks_of_enum(target, &variants);
    let (one_name, generic_names) = (names_differ.item, names_differ.statement);
    let paths = variants::implement(target, &variants);
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::Varied for #this #where_clause {
            const SHAPE: &'static #odm::EnumShape = {
                #asserts
                &#shape
            };
        }
        #computed
        #compared
        #[automatically_derived]
        impl #impl_generics #odm::Value for #this #where_clause {
            const SIZE: #odm::Size = #odm::Size::known(#odm::size::variants(<#this as #odm::Varied>::SHAPE));
            const DOCUMENT: bool = #document;
            const NAMES: #odm::Names = #names;
            #null
            #holds
            fn shape() -> #odm::Shape {
                #generic_names
                #generic_asserts
                #odm::Shape::Enum(<#this as #odm::Varied>::SHAPE)
            }
        }
        #one_name
        #checks
        #paths
    }
}

/// The `EnumShape`, with what is made of each field.
pub fn shape(target: &Target, variants: &[&Variant], meta: impl Fn(&Field) -> TokenStream) -> TokenStream {
    let (odm, this, name) = (&target.odm, &target.this, target.container.name());
    let tagging = tagging(target);
    let variants = variants.iter().map(|declared| variant(target, declared, &meta));
    quote! {
        #odm::EnumShape {
            ty: ::core::option::Option::Some(::core::any::type_name::<#this>),
            name: #name,
            tagging: #tagging,
            variants: &[#(#variants),*],
        }
    }
}

fn tagging(target: &Target) -> TokenStream {
    let odm = &target.odm;
    let serde = &target.container.serde;
    match (&serde.tag, &serde.content, serde.untagged) {
        (Some(tag), Some(content), _) => quote!(#odm::Tagging::Adjacent(#tag, #content)),
        (Some(tag), None, _) => quote!(#odm::Tagging::Internal(#tag)),
        (None, _, true) => quote!(#odm::Tagging::Untagged),
        (None, _, false) => quote!(#odm::Tagging::External),
    }
}

fn variant(target: &Target, variant: &Variant, meta: impl Fn(&Field) -> TokenStream) -> TokenStream {
    let (odm, this, name) = (&target.odm, &target.this, &variant.name);
    let rust = syn::ext::IdentExt::unraw(variant.ident).to_string();
    let metas = variant.fields.iter().filter(|field| !field.skipped()).map(meta);
    let body = match variant.style {
        Style::Unit => quote!(Unit),
        Style::Newtype => quote!(Newtype(&#(#metas)*)),
        Style::Tuple => quote!(Tuple(&[#(#metas),*])),
        Style::Named => {
            let deny_unknown = target.container.serde.deny_unknown_fields;
            quote! {
                Struct(&#odm::StructShape {
                    ty: ::core::option::Option::Some(::core::any::type_name::<#this>),
                    name: #rust,
                    fields: &[#(#metas),*],
                    deny_unknown: #deny_unknown,
                })
            }
        }
    };
    let json = json_name(variant);
    quote! {
        #odm::VariantMeta {
            name: #name,
            json: #json,
            body: #odm::Body::#body,
        }
    }
}

/// The name of a variant in JSON, where that is another one.
pub(super) fn json_name(variant: &Variant) -> TokenStream {
    match &variant.json {
        Some(json) => quote!(::core::option::Option::Some(#json)),
        None => quote!(::core::option::Option::None),
    }
}
