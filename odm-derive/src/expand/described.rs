//! `Described`: which shape the JSON of a type has. A document has it by being one.

use super::{Target, generics};
use crate::ast::{Data, Style};
use proc_macro2::TokenStream;
use quote::quote;

/// Of the `New…` struct.
pub fn of_new(target: &Target, generics: &syn::Generics) -> TokenStream {
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let (ident, name) = (target.new_ident(), target.new_ident().to_string());
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let (_, ty_generics, _) = target.container.generics.split_for_impl();
    let id = !target.container.roles.managed_id;
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::Described for #ident #ty_generics #where_clause {
            type Paths = <#this as #krate::Document>::Paths;
            fn json_paths() -> Self::Paths {
                <#this as #krate::Document>::paths()
            }
            fn described() -> #odm::Description {
                #odm::Description::new::<Self, #this>(#name, #id)
            }
        }
    }
}

/// Of an embedded struct or enum that stands for itself. One around a single value is that value.
pub fn of_embedded(target: &Target) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    if !matches!(
        target.container.data,
        Data::Struct(Style::Named, _) | Data::Enum(_)
    ) {
        return TokenStream::new();
    }
    if target.container.serde.transparent {
        return TokenStream::new();
    }
    let name = target.container.name();
    let fields = target.container.all_fields();
    let generics = generics::stored(target, &fields);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let (paths, value) = own_paths(target);
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::Described for #this #where_clause {
            type Paths = #paths;
            // `Self::Paths` may be a variant too.
            fn json_paths() -> #paths {
                #value
            }
            fn described() -> #odm::Description {
                #odm::Description::embedded::<Self>(#name, <#this as #odm::Value>::shape)
            }
        }
    }
}

/// The type of the paths of an embedded struct as of a document, and their value.
pub fn own_paths(target: &Target) -> (TokenStream, TokenStream) {
    let (odm, this) = (&target.odm, &target.this);
    let is_named = matches!(target.container.data, Data::Struct(Style::Named, _));
    if is_named && !target.container.serde.transparent && !target.is_generic() {
        (
            quote!(&'static <#this as #odm::Nested>::Fields<#this, #odm::Root>),
            quote!(<#this as #odm::Nested>::fields::<#this, #odm::Root>()),
        )
    } else {
        (quote!(()), TokenStream::new())
    }
}

/// Of a projection: the fields of the document that it has.
pub fn of_projection(target: &Target, of: &syn::Path, generics: &syn::Generics) -> TokenStream {
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let name = target.container.name();
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::Described for #this #where_clause {
            type Paths = ();
            fn json_paths() {}
            fn described() -> #odm::Description {
                #odm::Description::fields::<Self, #of>(#name, <#this as #krate::Projection<#of>>::fields)
            }
        }
    }
}
