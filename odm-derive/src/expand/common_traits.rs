//! `Clone`, `Debug` and `PartialEq` of a generated struct: each as far as the types of its fields have it, so that a struct of the
//! application needs none of them to be copied.

use crate::ty;
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Ident, Type};

/// A field of the generated struct.
pub struct Part {
    pub name: Ident,
    pub ty: Type,
    /// Whether its type always has the traits.
    pub has_all: bool,
}

impl Part {
    pub fn new(name: Ident, ty: Type) -> Part {
        let has_all = ty::is_known(&ty);
        Part { name, ty, has_all }
    }
}

/// The three implementations. `called` is the struct's name in `Debug`.
pub fn implement(odm: &TokenStream, ident: &Ident, called: &str, parts: &[Part]) -> TokenStream {
    let asked = || parts.iter().enumerate().filter(|(_, part)| !part.has_all);
    // A lifetime is named, so that the bound is asked for where the trait is used.
    let where_all = |bound: &dyn Fn(&Type) -> TokenStream| {
        let bounds = asked().map(|(i, Part { ty, .. })| {
            let bound = bound(ty);
            quote!(for<'x> #odm::Only<'x, 'odm, #ty, #i>: #bound)
        });
        quote!(where #(#bounds,)*)
    };
    let only = |i: usize, part: &Part, of: TokenStream| {
        let name = &part.name;
        if part.has_all {
            quote!(&#of.#name)
        } else {
            quote!(&#odm::Only::<'_, '_, _, #i>::new(&#of.#name))
        }
    };
    let numbered = || parts.iter().enumerate();
    let cloned = numbered().map(|(i, part)| {
        let (name, value) = (&part.name, only(i, part, quote!(self)));
        if part.has_all {
            quote!(#name: ::core::clone::Clone::clone(#value))
        } else {
            quote!(#name: #odm::OnlyClone::cloned(#value))
        }
    });
    let equal = numbered().map(|(i, part)| {
        let (one, other) = (only(i, part, quote!(self)), only(i, part, quote!(other)));
        quote!(&& #one == #other)
    });
    let shown = numbered().map(|(i, part)| {
        let (name, value) = (part.name.unraw().to_string(), only(i, part, quote!(self)));
        quote!(.field(#name, #value))
    });
    let where_clone = where_all(&|ty| quote!(#odm::OnlyClone<#ty>));
    let where_debug = where_all(&|_| quote!(::core::fmt::Debug));
    let where_equal = where_all(&|_| quote!(::core::cmp::PartialEq));
    quote! {
        #[automatically_derived]
        impl<'odm> ::core::clone::Clone for #ident #where_clone {
            fn clone(&self) -> Self {
                #ident { #(#cloned,)* }
            }
        }
        #[automatically_derived]
        impl<'odm> ::core::fmt::Debug for #ident #where_debug {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.debug_struct(#called)#(#shown)*.finish()
            }
        }
        #[automatically_derived]
        impl<'odm> ::core::cmp::PartialEq for #ident #where_equal {
            fn eq(&self, other: &Self) -> bool {
                true #(#equal)*
            }
        }
    }
}
