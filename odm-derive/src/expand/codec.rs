//! The codec of a field with `#[serde(with)]` or `serialize_with`: a query or an update writes its value as the document
//! does.

use super::Target;
use crate::ast::{Data, Field};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Ident, spanned::Spanned};

/// The type that stands in the field's path, if the field is not stored as its type says.
pub fn of(target: &Target, field: &Field) -> Option<TokenStream> {
    let odm = &target.odm;
    if field.serde.serialize_with.is_some() && !field.serde.native {
        return Some(own(target, field));
    }
    let by_serde = (field.field.opaque || field.is_foreign()).then(|| quote!(#odm::OwnSerde));
    if field.needed(&target.container.serde) {
        return Some(quote!(#odm::Needed<#by_serde>));
    }
    by_serde
}

/// The type that [`define`] makes for a field.
pub(super) fn own(target: &Target, field: &Field) -> TokenStream {
    let ident = ident(target, field);
    let (_, arguments, _) = target.container.generics.split_for_impl();
    quote!(#ident #arguments)
}

fn ident(target: &Target, field: &Field) -> Ident {
    // Variants may have fields of one name.
    let variant = match &target.container.data {
        Data::Enum(variants) => variants
            .iter()
            .find(|variant| variant.fields.iter().any(|own| std::ptr::eq(own, field))),
        _ => None,
    };
    let variant = variant
        .map(|variant| format!("{}_", variant.ident))
        .unwrap_or_default();
    target.name(|name| format!("__{name}_{variant}{}_codec", field.rust))
}

/// The codecs of all fields.
pub fn define(target: &Target) -> TokenStream {
    define_for(target, &target.fields)
}

/// Those of these fields.
pub fn define_for(target: &Target, fields: &[&Field]) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let vis = target.container.vis;
    fields
        .iter()
        .filter(|field| !field.serde.native)
        .filter_map(|field| {
            let function = field.serde.serialize_with.as_ref()?;
            let (ident, ty) = (ident(target, field), field.ty);
            let (params, conditions) = (
                &target.container.generics.params,
                &target.container.generics.where_clause,
            );
            let owned = super::generics::owned(target.container.generics);
            let (impl_generics, ty_generics, where_clause) = owned.split_for_impl();
            let call = quote_spanned!(function.span()=> #function(value, serializer));
            let params = (!params.is_empty()).then(|| quote!(<#params>));
            let may_be_missing = (!field.needed(&target.container.serde)).then(|| {
                quote! {
                    #[automatically_derived]
                    impl #impl_generics #odm::MayBeMissing for #ident #ty_generics #where_clause {}
                }
            });
            Some(quote! {
                #[doc(hidden)]
                #[allow(non_camel_case_types)]
                #vis struct #ident #params (::core::marker::PhantomData<fn() -> #this>) #conditions;

                #[automatically_derived]
                impl #impl_generics #odm::Writable for #ident #ty_generics #where_clause {}

                #may_be_missing

                #[automatically_derived]
                impl #impl_generics #odm::stored::SerializeBy<#ty> for #ident #ty_generics #where_clause {
                    fn serialize<__S: #odm::serde::Serializer>(
                        value: &#ty,
                        serializer: __S,
                    ) -> ::core::result::Result<__S::Ok, __S::Error> {
                        #call
                    }
                }

                #[automatically_derived]
                impl #impl_generics #odm::Codec<#ty> for #ident #ty_generics #where_clause {
                    fn write(
                        value: &#ty,
                        name: &#odm::stored::Name<'_>,
                        bound: #odm::stored::Bound<'_>,
                        out: &mut #odm::stored::Out,
                    ) -> #odm::stored::Done {
                        #odm::stored::BySerde::<Self>::write(value, name, bound, out)
                    }
                }
            })
        })
        .collect()
}
