//! `#[embed(repr = i32)]`: an enum that is stored as integers, with serde's implementations.

use super::Target;
use crate::ast::{Container, Style, Variant};
use proc_macro2::TokenStream;
use quote::quote;
use syn::Ident;

/// Whether the variants can be stored as numbers. Where they can't, an error says so.
pub fn is_possible(container: &Container, variants: &[Variant], repr: &Ident) -> bool {
    let is_plain = |variant: &Variant| variant.style == Style::Unit;
    (repr == "i32" || repr == "i64")
        && container.generics.params.is_empty()
        && !variants.is_empty()
        && variants.iter().all(is_plain)
}

pub fn implement(target: &Target, variants: &[Variant], repr: &Ident) -> TokenStream {
    let (odm, this, name) = (&target.odm, &target.this, target.container.name());
    let names: Vec<&Ident> = variants.iter().map(|variant| variant.ident).collect();
    let (size, serialize, shape) = if repr == "i32" {
        (
            quote!(4),
            quote!(serialize_int),
            quote!(Int { min: #odm::numbered::int(__RANGE.0), max: #odm::numbered::int(__RANGE.1) }),
        )
    } else {
        (
            quote!(8),
            quote!(serialize_long),
            quote!(Long {
                min: __RANGE.0,
                max: __RANGE.1
            }),
        )
    };
    quote! {
        #[automatically_derived]
        impl #odm::numbered::Numbered for #this {
            const NUMBERS: &'static [i64] = &[#(#this::#names as i64),*];
            const NAME: &'static str = #name;
            fn number(&self) -> i64 {
                match self {
                    #(#this::#names => #this::#names as i64,)*
                }
            }
            fn of(number: i64) -> ::core::option::Option<Self> {
                #(if number == #this::#names as i64 {
                    return ::core::option::Option::Some(#this::#names);
                })*
                ::core::option::Option::None
            }
        }
        #[automatically_derived]
        impl #odm::serde::Serialize for #this {
            fn serialize<__S: #odm::serde::Serializer>(
                &self,
                serializer: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                #odm::numbered::#serialize(self, serializer)
            }
        }
        #[automatically_derived]
        impl<'de> #odm::serde::Deserialize<'de> for #this {
            fn deserialize<__D: #odm::serde::Deserializer<'de>>(
                deserializer: __D,
            ) -> ::core::result::Result<Self, __D::Error> {
                #odm::numbered::deserialize(deserializer)
            }
        }
        #[automatically_derived]
        impl #odm::Compared for #this {
            type As = #odm::ByValue;
        }
        const _: () = {
            const __RANGE: (i64, i64) = #odm::numbered::range(&[#(#this::#names as i64),*]);
            const __SHAPE: #odm::Shape = #odm::Shape::#shape;
            #[automatically_derived]
            impl #odm::Value for #this {
                const SIZE: #odm::Size = #odm::Size::fixed(#size);
                fn shape() -> #odm::Shape {
                    __SHAPE
                }
            }
        };
    }
}
