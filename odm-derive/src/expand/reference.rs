//! What a reference declares, as constants; and the traits by which a child is found from its parent.

use super::{Target, index};
use crate::ast::Field;
use crate::attr::reference::{OnDelete, Reference};
use crate::ty;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

/// The `ReferenceMeta` of a field, as a reference to a constant.
pub fn meta(target: &Target, field: &Field, declared: &Reference) -> TokenStream {
    let (krate, odm, ty) = (&target.krate, &target.odm, field.ty);
    let span = ty.span();
    let kind = if declared.parent {
        quote!(Parent)
    } else if declared.many.is_some() {
        quote!(Many)
    } else {
        quote!(One)
    };
    let inverse = match &declared.inverse {
        Some(inverse) => {
            let inverse = inverse.unraw().to_string();
            quote!(::core::option::Option::Some(#inverse))
        }
        None => quote!(::core::option::Option::None),
    };
    let base = quote_spanned!(span=> #odm::ReferenceMeta::of::<#ty>(#odm::ReferenceKind::#kind, #inverse));
    let by = declared.by.as_ref().map(|by| {
        let target = quote_spanned!(span=> <#ty as #odm::ReferenceTo>::Target);
        let path = quote_spanned!(by.span()=> <#target as #krate::Document>::paths().#by.name());
        quote!(by: || #path,)
    });
    let one = declared.one.map(|_| quote!(one: true,));
    let order = declared.order.as_ref().map(|order| {
        let keys = order.value.iter().map(|key| index::key(target, key));
        quote!(order: &[#(#keys),*],)
    });
    let check = declared.check.as_ref().map(|at| {
        let check = at.value;
        quote!(check: #check,)
    });
    let indexed = declared.index.as_ref().map(|at| {
        let index = at.value;
        quote!(index: #index,)
    });
    let on_delete = declared.on_delete.as_ref().map(|at| {
        let rule = match at.value {
            OnDelete::Restrict => quote!(Restrict),
            OnDelete::Cascade => quote!(Cascade),
            OnDelete::Nullify => quote!(Nullify),
            OnDelete::Pull => quote!(Pull),
            OnDelete::Keep => quote!(Keep),
        };
        quote!(on_delete: #odm::OnDelete::#rule,)
    });
    let options: Vec<TokenStream> = [by, one, order, check, indexed, on_delete]
        .into_iter()
        .flatten()
        .collect();
    let meta = if options.is_empty() {
        base
    } else {
        quote!(#odm::ReferenceMeta { #(#options)* ..#base })
    };
    quote!(const { &#meta })
}

/// `ChildOf` for the parents of a document, of which each is another type.
pub fn children(target: &Target, generics: &syn::Generics) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    parents(target)
        .into_iter()
        .map(|(position, field, declared)| {
            let ty = field.ty;
            let parent = quote_spanned!(ty.span()=> <#ty as #odm::ReferenceTo>::Target);
            let only = declared.one.map(|_| {
                quote! {
                    #[automatically_derived]
                    impl #impl_generics #odm::OnlyChildOf<#parent> for #this #where_clause {}
                }
            });
            quote! {
                #[automatically_derived]
                impl #impl_generics #odm::ChildOf<#parent> for #this #where_clause {
                    fn parent() -> #odm::ParentField {
                        const { #odm::ParentField::of(&<#this as #odm::Fielded>::FIELDS[#position]) }
                    }
                }
                #only
            }
        })
        .collect()
}

/// The parents, without those that two fields name: with the position of each field.
fn parents<'a>(target: &Target<'a>) -> Vec<(usize, &'a Field<'a>, &'a Reference)> {
    let all: Vec<_> = target
        .fields
        .iter()
        .enumerate()
        .filter_map(|(i, field)| {
            let declared = field.reference.as_ref()?;
            (declared.parent && declared.any.is_none()).then_some((i, *field, declared))
        })
        .collect();
    let name = |field: &Field| ty::text(ty::referred(field.ty).unwrap_or(field.ty));
    all.iter()
        .filter(|(i, field, _)| {
            !all.iter()
                .any(|(j, other, _)| i != j && name(field) == name(other))
        })
        .copied()
        .collect()
}
