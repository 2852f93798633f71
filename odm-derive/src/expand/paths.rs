//! `XFields`: the struct of typed paths.

use super::{Target, codec, generics};
use crate::ast::{Data, Field};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Generics, Ident};

/// The names of the two parameters that the struct has besides those of the type.
pub struct Own {
    pub root: Ident,
    pub parent: Ident,
}

pub fn own(target: &Target) -> Own {
    let taken = generics::parameters(target.container.generics);
    let free = |name: &str| {
        let mut ident = format_ident!("{name}");
        while taken.contains(&&ident) {
            ident = format_ident!("__{ident}");
        }
        ident
    };
    Own {
        // No name that a type of the application may have: it would be shadowed in the struct.
        root: free("__R"),
        parent: free("__P"),
    }
}

/// The struct's name.
pub fn ident(target: &Target) -> Ident {
    target.name(|name| format!("{name}Fields"))
}

/// The type, with `root` and `parent` as its last two arguments.
pub fn ty(target: &Target, root: TokenStream, parent: TokenStream) -> TokenStream {
    ty_named(target, &ident(target), root, parent)
}

/// The same of a struct of this name.
pub fn ty_named(target: &Target, ident: &Ident, root: TokenStream, parent: TokenStream) -> TokenStream {
    let arguments = generics::arguments(target.container.generics);
    quote!(#ident<#arguments #root, #parent>)
}

/// The struct and its `Clone` and `Copy`. A field that the library writes has a path that no update takes.
pub fn define(target: &Target, read_only: impl Fn(&Field) -> bool) -> TokenStream {
    let fields = members(target, &target.this, &target.fields, read_only);
    let doc = format!(
        "The typed paths of [`{}`]: the stored name of each field.",
        target.container.name()
    );
    define_named(target, &ident(target), &doc, &fields, fields.is_empty())
}

/// The paths of the fields of `of`, as they stand in a struct of paths.
pub fn members(
    target: &Target,
    of: &TokenStream,
    fields: &[&Field],
    read_only: impl Fn(&Field) -> bool,
) -> Vec<TokenStream> {
    let odm = &target.odm;
    let Own { root, parent } = own(target);
    let fields = fields.iter().enumerate();
    // Fields that no struct declares have no path.
    let fields = fields.filter(|(_, field)| !field.field.extra).map(|(i, field)| {
        let (name, ty) = (field.ident(), field.ty);
        // The fields of a variant are as visible as the enum.
        let vis = match target.container.data {
            Data::Enum(_) => target.container.vis,
            _ => field.vis,
        };
        let doc = if field.serde.flatten.is_some() {
            format!("The fields of `{}`, which stand in their parent.", field.rust)
        } else {
            format!("`{}`", field.name)
        };
        let doc = documented(field, &doc);
        let at = quote!(#odm::At<#parent, #of, #i>);
        if field.serde.flatten.is_some() {
            let at = if read_only(field) {
                quote!(#odm::Kept<#at>)
            } else {
                at
            };
            return quote! {
                #doc
                #vis #name: #odm::Flattened<#root, #ty, #at>,
            };
        }
        let at = stored_at(target, field, at);
        let codec = match (codec::of(target, field), read_only(field)) {
            (Some(_), true) if field.serde.serialize_with.is_none() => Some(quote!(, #odm::ReadOnly)),
            (Some(codec), true) => Some(quote!(, #odm::ReadOnly<#codec>)),
            (None, true) => Some(quote!(, #odm::ReadOnly)),
            (codec, false) => codec.map(|codec| quote!(, #codec)),
        };
        quote! {
            #doc
            #vis #name: #odm::Path<#root, #ty, #at #codec>,
        }
    });
    fields.collect()
}

/// The step to a field, where it is not stored as its type says.
pub fn stored_at(target: &Target, field: &Field, at: TokenStream) -> TokenStream {
    let odm = &target.odm;
    match (&field.field.stored, field.field.opaque) {
        (_, true) => quote!(#odm::StoredAs<#at, #odm::Opaque>),
        (Some(stored), false) => quote!(#odm::StoredAs<#at, #stored>),
        (None, false) => at,
    }
}

/// A struct of paths with its `Clone` and `Copy`. `none` says that no member need use its parameters.
pub fn define_named(
    target: &Target,
    ident: &Ident,
    doc: &str,
    fields: &[TokenStream],
    none: bool,
) -> TokenStream {
    let (odm, this, vis) = (&target.odm, &target.this, target.container.vis);
    let Own { root, parent } = own(target);
    let params = &target.container.generics.params;
    let comma = (!params.is_empty() && !params.trailing_punct()).then(|| quote!(,));
    let conditions = &target.container.generics.where_clause;
    let none = none.then(|| quote!(__none: ::core::marker::PhantomData<fn() -> (#this, #root, #parent)>,));
    let copied = with_own(target, None);
    let (impl_generics, ty_generics, where_clause) = copied.split_for_impl();
    quote! {
        #[doc = #doc]
        #[allow(dead_code)]
        #vis struct #ident<#params #comma #root = #this, #parent = #odm::Root> #conditions {
            #(#fields)*
            #none
        }

        #[automatically_derived]
        impl #impl_generics ::core::clone::Clone for #ident #ty_generics #where_clause {
            fn clone(&self) -> Self {
                *self
            }
        }
        #[automatically_derived]
        impl #impl_generics ::core::marker::Copy for #ident #ty_generics #where_clause {}
    }
}

/// The parameters of the type and the two of the struct of paths; the last one with a bound.
pub fn with_own(target: &Target, bound: Option<TokenStream>) -> Generics {
    let Own { root, parent } = own(target);
    let mut generics = target.container.generics.clone();
    generics.params.push(syn::parse_quote!(#root));
    generics.params.push(match bound {
        Some(bound) => syn::parse_quote!(#parent: #bound),
        None => syn::parse_quote!(#parent),
    });
    generics
}

/// The documentation of the field itself, where it has one, above that of its path.
pub fn documented(field: &Field, path: &str) -> TokenStream {
    let attrs = field.original.attrs.iter();
    let docs: Vec<_> = attrs
        .filter(|attr| attr.path().is_ident("doc") && matches!(attr.meta, syn::Meta::NameValue(_)))
        .collect();
    let gap = (!docs.is_empty()).then(|| quote!(#[doc = ""]));
    quote!(#(#docs)* #gap #[doc = #path])
}

/// Its only value.
pub fn value(target: &Target) -> TokenStream {
    value_named(target, &ident(target), &target.fields)
}

/// The only value of the struct of the paths of these fields.
pub fn value_named(target: &Target, ident: &Ident, fields: &[&Field]) -> TokenStream {
    let odm = &target.odm;
    let fields = fields.iter().filter(|field| !field.field.extra);
    let paths: Vec<TokenStream> = fields
        .map(|field| {
            let name = field.ident();
            match field.serde.flatten {
                Some(_) => quote!(#name: #odm::Flattened::NEW,),
                None => quote!(#name: #odm::Path::NEW,),
            }
        })
        .collect();
    with_none(ident, &paths, paths.is_empty())
}

/// A struct of paths of these members.
pub fn with_none(ident: &Ident, paths: &[TokenStream], none: bool) -> TokenStream {
    let none = none.then(|| quote!(__none: ::core::marker::PhantomData));
    quote!(#ident { #(#paths)* #none })
}

/// The paths of a struct's fields continue the path of the struct.
pub fn nested(target: &Target) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let generics = generics::owned(target.container.generics);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let ty = ty(target, quote!(__R), quote!(__P));
    let value = value(target);
    quote! {
        #[automatically_derived]
        impl #impl_generics #odm::Nested for #this #where_clause {
            type Form = #odm::OfFields;
            type Fields<__R: 'static, __P: 'static> = #ty;
            fn fields<__R: 'static, __P: 'static>() -> &'static Self::Fields<__R, __P> {
                const { &#value }
            }
        }
    }
}
