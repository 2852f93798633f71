//! Outputs for values of structs and of enums alike: how they are compared, and whether one may be `null`.

use super::{Target, generics};
use crate::ast::Field;
use crate::ty;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Generics, parse_quote};

/// `impl Compared`: how values of the type are compared.
pub fn compared(target: &Target, as_: TokenStream) -> TokenStream {
    implement(target, &generics::owned(target.container.generics), as_)
}

/// The same of a struct of one field, which is compared as that field is.
pub fn compared_as(target: &Target, field: &Field) -> TokenStream {
    let (odm, ty) = (&target.odm, field.stored());
    if field.field.opaque {
        return compared(target, quote!(#odm::ByValue));
    }
    // A type inside itself would be asked for without end.
    if ty::contains(ty, target.container.ident) {
        return compared(target, quote!(#odm::ByParts));
    }
    let mut generics = generics::owned(target.container.generics);
    generics.params.push(parse_quote!(__As));
    let bound = parse_quote!(#ty: #odm::Compared<As = __As>);
    generics.make_where_clause().predicates.push(bound);
    implement(target, &generics, quote!(__As))
}

fn implement(target: &Target, generics: &Generics, as_: TokenStream) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
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
    Some(if field.is_array() {
        quote!(<#stored as #odm::Array>::NULL)
    } else {
        quote!(<#stored as #odm::Value>::NULL)
    })
}

/// `impl StoredLike`: where a number, a text or a date is taken, a struct of one is taken too.
pub fn stored_like(target: &Target, field: &Field) -> TokenStream {
    if field.field.opaque || field.reference.is_some() {
        return TokenStream::new();
    }
    let (odm, this, ty) = (&target.odm, &target.this, field.stored());
    // serde reads the name of a field as another type only where that is transparent.
    let is_key = target.container.serde.transparent && field.serde.with.is_none();
    let mut generics = generics::owned(target.container.generics);
    let like = generics::with_type(&mut generics, odm, "__Like", ty);
    let key = if is_key && field.field.stored.is_none() {
        quote!(#like)
    } else {
        quote!(())
    };
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::StoredLike for #this #where_clause {
            type Like = #like;
            type Key = #key;
        }
    }
}
