//! What names a document: its id, and the type of that.

use super::{Target, described, generics};
use crate::ty;
use proc_macro2::Span;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Generics, Type, Visibility, parse_quote};

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

/// `impl Identified`: the types of the id and of what the application supplies. The compiler names the place `span` where the first
/// can't be one.
pub fn identified(target: &Target, id: &Type, new: &TokenStream, span: Span) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let mut generics = generics::owned(target.container.generics);
    // A type of the application may be private where the document is not.
    let may_be_private =
        !matches!(target.container.vis, Visibility::Inherited) && !target.is_generic() && !ty::is_known(id);
    let ty = if may_be_private {
        let parameter = generics::with_type(&mut generics, odm, "__Id", id);
        let of_id = quote_spanned!(span=> #odm::IdValue + #odm::stored::Stored + ::core::clone::Clone + ::core::fmt::Debug
            + ::core::marker::Send + ::core::marker::Sync);
        let predicates = &mut generics.make_where_clause().predicates;
        predicates.push(syn::parse_quote!(#parameter: #of_id));
        quote!(#parameter)
    } else {
        quote!(#id)
    };
    let id = quote_spanned!(span=> type Id = #ty;);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::Identified for #this #where_clause {
            #id
            type New = #new;
        }
    }
}

/// The same of what is no document: where an attribute names it as one, or a reference refers to it, that is one mistake. So is
/// `#[embed(patch)]` on a field, where it has no patch.
pub fn no_document(target: &Target, has_patch: bool) -> TokenStream {
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let generics = generics::owned(target.container.generics);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let (paths, value) = described::own_paths(target);
    let patch = (!has_patch).then(|| {
        quote! {
            #[automatically_derived]
            #[diagnostic::do_not_recommend]
            impl #impl_generics #odm::patch::NamedPatched for #this #where_clause {
                type Patch = #odm::patch::NoPatch;
            }
        }
    });
    let mut of_parent = generics.clone();
    of_parent.params.push(parse_quote!(__Parent: #krate::Document));
    let (impl_of_parent, _, where_of_parent) = of_parent.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::Identified for #this #where_clause {
            type Id = #odm::ObjectId;
            type New = #odm::NotADocument;
        }
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        impl #impl_generics #odm::NamedDocument for #this #where_clause {
            type Paths = #paths;
            fn paths() -> #paths {
                #value
            }
        }
        #[automatically_derived]
        #[diagnostic::do_not_recommend]
        impl #impl_of_parent #odm::check::DerivesInto<__Parent> for #this #where_of_parent {
            fn parent() -> #odm::ParentField {
                ::core::unreachable!()
            }
        }
        #patch
    }
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
