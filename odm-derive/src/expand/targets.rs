//! What names a document: its id.

use super::{Target, generics};
use crate::ty;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Generics, Type};

/// An id names its document. An id whose type is made of parameters would be one for every document.
pub fn targets(target: &Target, generics: &Generics) -> TokenStream {
    let Some(id) = target
        .fields
        .iter()
        .find(|field| target.container.roles.is_id(field))
    else {
        return TokenStream::new();
    };
    named_by(target, generics, id.ty)
}

/// The same of an id of this type.
pub fn named_by(target: &Target, generics: &Generics, id: &Type) -> TokenStream {
    let (krate, this) = (&target.krate, &target.this);
    if ty::mentions(id, &generics::parameters(target.container.generics)) {
        return TokenStream::new();
    }
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let (ty, odm) = (id, &target.odm);
    // A `String` is looked for by any text.
    let text = ty::exactly(ty, "String").then(|| (quote!(&str), quote!(#odm::text_id(self))));
    let names = [
        (quote!(#ty), quote!(#odm::id(self))),
        (quote!(&#ty), quote!(#odm::id(*self))),
    ];
    let targets = names.into_iter().chain(text).map(|(name, id)| {
        quote! {
            #[automatically_derived]
            impl #impl_generics #krate::__private::Target<#this> for #name #where_clause {
                type By = #odm::ById;
                fn target_id(&self) -> #odm::Result<#odm::Bson> {
                    #id
                }
            }
        }
    });
    quote!(#(#targets)*)
}
