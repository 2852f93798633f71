//! The parameters of a generic type, with the bounds that the generated code needs.
//!
//! As in serde, a bound is on the type of a field (`Vec<T>: Array`) rather than on the parameter, so that a parameter that
//! is used behind a reference only (`Ref<T>`) need not be storable itself.

use super::Target;
use crate::ast::Field;
use crate::ty;
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{GenericParam, Generics, Ident, Path, parse_quote};

/// The parameters of types and constants.
pub fn parameters(generics: &Generics) -> Vec<&Ident> {
    generics
        .params
        .iter()
        .filter_map(|param| match param {
            GenericParam::Type(param) => Some(&param.ident),
            GenericParam::Const(param) => Some(&param.ident),
            GenericParam::Lifetime(_) => None,
        })
        .collect()
}

/// With `'static` on every type, which is what a path to a field needs.
pub fn owned(generics: &Generics) -> Generics {
    let mut generics = generics.clone();
    for param in generics.type_params_mut() {
        param.bounds.push(parse_quote!('static));
    }
    generics
}

/// With the bounds under which every field has a shape.
pub fn stored(target: &Target, fields: &[&Field]) -> Generics {
    let mut generics = owned(target.container.generics);
    let names = parameters(target.container.generics);
    let odm = &target.odm;
    for field in fields {
        let stored = field.stored();
        if field.skipped() || field.field.opaque || !ty::mentions(stored, &names) {
            continue;
        }
        // A type inside itself has a shape if its other fields have one; the bound would ask for itself without end.
        if ty::contains(stored, target.container.ident) {
            continue;
        }
        // A `Ref<T>` of a document needs no bound, and one would hide from the compiler what it refers to.
        if field.reference.is_some() && ty::referred(stored).is_some() {
            continue;
        }
        let predicate = if field.reference.is_some() {
            parse_quote!(#stored: #odm::Reference)
        } else if field.is_array() {
            parse_quote!(#stored: #odm::Array)
        } else {
            parse_quote!(#stored: #odm::Value)
        };
        generics.make_where_clause().predicates.push(predicate);
    }
    generics
}

/// With the bounds under which every field is written and read.
pub fn coded(target: &Target, fields: &[&Field]) -> Generics {
    // The constants of references and copies name the declared fields.
    let is_derived = |field: &&Field| field.reference.is_some() || field.copy.is_some();
    let mut generics = if fields.iter().any(is_derived) {
        stored(target, fields)
    } else {
        owned(target.container.generics)
    };
    let names = parameters(target.container.generics);
    let odm = &target.odm;
    for field in fields {
        let ty = field.ty;
        if !ty::mentions(ty, &names) || ty::contains(ty, target.container.ident) {
            continue;
        }
        let predicate = if field.skipped() {
            continue;
        } else if field.serde.flatten.is_some() {
            parse_quote!(#ty: #odm::stored::Fields + #odm::stored::Row)
        } else if field.field.opaque || field.is_foreign() {
            parse_quote!(#ty: #odm::serde::Serialize + #odm::serde::de::DeserializeOwned)
        } else {
            parse_quote!(#ty: #odm::stored::Stored)
        };
        generics.make_where_clause().predicates.push(predicate);
    }
    generics
}

/// With those of [`stored`] and what a document must be able to do.
pub fn document(target: &Target) -> Generics {
    let mut generics = stored(target, &target.fields);
    if target.is_generic() {
        let (odm, this) = (&target.odm, &target.this);
        let new = target.new_ident();
        let (_, arguments, _) = target.container.generics.split_for_impl();
        let predicates = &mut generics.make_where_clause().predicates;
        predicates.push(parse_quote!(#new #arguments: ::core::marker::Send));
        predicates.push(parse_quote! {
            #this: #odm::stored::Fields + #odm::stored::Row
                + ::core::marker::Send + ::core::marker::Sync + ::core::marker::Unpin
        });
    }
    generics
}

/// Adds a parameter that is the type `ty`, and returns it. It stands for `ty` as an associated type, which may be one of a public
/// type where `ty` is private.
pub fn with_type(generics: &mut Generics, odm: &TokenStream, name: &str, ty: impl ToTokens) -> Ident {
    let parameter = format_ident!("{name}");
    generics.params.push(parse_quote!(#parameter));
    let predicates = &mut generics.make_where_clause().predicates;
    predicates.push(parse_quote!(#ty: #odm::Itself<Type = #parameter>));
    parameter
}

/// The same of a document.
pub fn with_document(generics: &mut Generics, krate: &Path, name: &str, ty: impl ToTokens) -> Ident {
    let parameter = with_type(generics, &quote!(#krate::__private), name, ty);
    let predicates = &mut generics.make_where_clause().predicates;
    predicates.push(parse_quote!(#parameter: #krate::Document));
    parameter
}

/// With `'static` on every type, and what a document must be able to do whatever its fields are.
pub fn sendable(target: &Target) -> Generics {
    let mut generics = owned(target.container.generics);
    if target.is_generic() {
        let (this, new) = (&target.this, target.new_ident());
        let (_, arguments, _) = target.container.generics.split_for_impl();
        let predicates = &mut generics.make_where_clause().predicates;
        predicates.push(parse_quote!(#new #arguments: ::core::marker::Send));
        predicates
            .push(parse_quote!(#this: ::core::marker::Send + ::core::marker::Sync + ::core::marker::Unpin));
    }
    generics
}

/// The parameters without their bounds, to be followed by others: `T, N,`.
pub fn arguments(generics: &Generics) -> TokenStream {
    let names = parameters(generics);
    quote!(#(#names,)*)
}
