//! Outputs for values of structs and of enums alike: how they are compared, and whether one may be `null`.

use super::{Target, generics};
use crate::ast::{Data, Field};
use crate::ty;
use proc_macro2::TokenStream;
use quote::quote;
use syn::parse_quote;

/// `impl Compared`: how values of the type are compared.
pub fn compared(target: &Target, as_: TokenStream) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let mut generics = generics::owned(target.container.generics);
    let parameters = generics::parameters(target.container.generics);
    // A struct of one field is compared as that field is.
    let alone = matches!(&target.container.data, Data::Struct(_, fields) if fields.len() == 1);
    for field in target.fields.iter().filter(|field| alone && !field.field.opaque) {
        let ty = field.stored();
        if ty::mentions(ty, &parameters) {
            let bound = parse_quote!(#ty: #odm::Compared);
            generics.make_where_clause().predicates.push(bound);
        }
    }
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::Compared for #this #where_clause {
            type As = #as_;
        }
    }
}

/// Whether what is stored in a field may be `null`, where that can be told.
pub fn null_of(target: &Target, field: &Field) -> Option<TokenStream> {
    let (odm, stored) = (&target.odm, field.stored());
    // A type inside itself is asked for what else it is.
    if field.field.opaque || field.reference.is_some() || field.embed.depth.is_some() {
        return None;
    }
    Some(match field.is_array() {
        true => quote!(<#stored as #odm::Array>::NULL),
        false => quote!(<#stored as #odm::Value>::NULL),
    })
}
