//! `XPatch`, where `#[document(patch)]` or `#[embed(patch)]` asks for it: some of the fields, with the values that they get.

use super::new::supplied_type;
use super::stored::patch_of;
use super::{Target, codec};
use crate::ast::Field;
use crate::attr::document::Document;
use crate::ty;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Generics, Ident, Path};

/// The derives that a patch has anyway, or that are for another form than its own.
const OWN: [&str; 3] = ["Default", "Serialize", "Deserialize"];

/// The derives of the patch of a document.
pub fn derives(declared: &Document) -> Vec<&Path> {
    declared.patch_derives.iter().chain(&declared.derives).collect()
}

/// The fields of the patch, with their positions among those of the type.
fn parts<'a>(target: &'a Target) -> Vec<(usize, &'a Field<'a>)> {
    let fields = target.fields.iter().copied().enumerate();
    fields
        .filter(|(_, field)| field.in_patch(&target.container.roles))
        .collect()
}

/// Whether a patch can have the field. Where it can't, an error says so.
fn is_possible(field: &Field) -> bool {
    match field.embed.patch {
        Some(_) => ty::many(ty::option(field.ty).unwrap_or(field.ty)).is_none(),
        None => field.serde.flatten.is_none(),
    }
}

/// The struct.
fn structure(target: &Target, derives: &[&Path]) -> TokenStream {
    let (ident, vis) = (ident(target), target.container.vis);
    let mut kept: Vec<&Path> = Vec::new();
    for path in derives {
        let name = path.segments.last().map(|last| last.ident.to_string());
        if !name.is_some_and(|name| OWN.contains(&name.as_str())) && !kept.contains(path) {
            kept.push(path);
        }
    }
    let parts = parts(target);
    let parts = parts.iter().filter(|(_, field)| is_possible(field));
    let fields = parts.map(|(_, field)| {
        let (vis, name, ty) = (field.vis, field.ident(), held(target, field));
        let docs = field
            .original
            .attrs
            .iter()
            .filter(|attr| attr.path().is_ident("doc"));
        quote!(#(#docs)* #vis #name: #ty,)
    });
    let doc = format!(
        "Changes of a [`{}`]: the fields that are named get a value, the others stay as they are.",
        target.container.name()
    );
    quote! {
        #[doc = #doc]
        #[allow(missing_docs, dead_code)]
        #[derive(::core::default::Default, #(#kept),*)]
        #vis struct #ident {
            #(#fields)*
        }
    }
}

fn ident(target: &Target) -> Ident {
    target.name(|name| format!("{name}Patch"))
}

/// The struct of a document, or of an embedded struct, and what is implemented for it.
pub fn define(target: &Target, is_document: bool, derives: &[&Path]) -> TokenStream {
    let (krate, odm, this, ident) = (&target.krate, &target.odm, &target.this, ident(target));
    let text = ident.to_string();
    let (structure, parts) = (structure(target, derives), parts(target));
    let metas = parts.iter().map(|(i, field)| {
        let meta = quote!(<#this as #odm::Fielded>::FIELDS[#i]);
        // A field that is missing is absent, whatever it is in the document.
        let merged = field.embed.patch.map(|_| {
            let patch = patch_of(target, field);
            let shape = quote!(<#patch as #odm::patch::PatchFields>::shape);
            match ty::option(field.ty) {
                Some(_) if field.serde.flatten.is_none() => quote!(shape: || #odm::Shape::Optional(#shape),),
                _ => quote!(shape: #shape,),
            }
        });
        let merged = merged.or_else(|| {
            let reference = field.entry().map(|_| supplied_type(target, field))?;
            Some(quote!(shape: <#reference as #odm::Value>::shape,))
        });
        quote!(#odm::FieldMeta { #merged ..#meta.in_patch() })
    });
    let typed: Vec<_> = parts
        .iter()
        .map(|(_, field)| (*field, held(target, field)))
        .collect();
    let coded = super::stored::of_patch(target, &ident, &typed);
    let are_patched = parts.iter().filter(|(_, field)| field.embed.patch.is_some());
    let are_patched = are_patched.map(|(_, field)| {
        let ty = ty::option(field.ty).unwrap_or(field.ty);
        quote_spanned!(ty.span()=> const _: () = #krate::checks::patched::<#ty>();)
    });
    let sets = parts.iter().map(|(i, field)| set(target, *i, field));
    let patched = if is_document {
        quote!(impl #odm::patch::Patches<#this> for #ident {})
    } else {
        quote! {
            impl #odm::patch::Patches<#odm::Element<#this>> for #ident {}
            #[automatically_derived]
            impl #odm::patch::Patched for #this {
                type Patch = #ident;
            }
        }
    };
    quote! {
        #structure
        #[automatically_derived]
        impl #odm::patch::PatchFields for #ident {
            fn shape() -> #odm::Shape {
                #odm::Shape::Struct(const {
                    &#odm::StructShape {
                        ty: ::core::option::Option::Some(::core::any::type_name::<#ident>),
                        name: #text,
                        fields: &[#(#metas),*],
                        deny_unknown: true,
                    }
                })
            }
            fn set<__R>(self, within: &mut #odm::patch::Within<'_, __R>) {
                let _ = &within;
                #(#sets)*
            }
        }
        #coded
        #krate::checks::deserialize_patch!(#ident);
        #(#are_patched)*
        #[automatically_derived]
        impl #odm::Described for #ident {
            type Paths = ();
            fn json_paths() {}
            fn described() -> #odm::Description {
                #odm::Description::embedded::<Self>(#text, <#ident as #odm::patch::PatchFields>::shape)
            }
        }
        #[automatically_derived]
        #patched
    }
}

/// The same struct, where the type has errors.
pub fn stand_in(target: &Target, derives: &[&Path]) -> TokenStream {
    if target.is_generic() {
        return TokenStream::new();
    }
    let (krate, odm, this, ident) = (&target.krate, &target.odm, &target.this, ident(target));
    let coded = super::stored::stand_in(odm, &quote!(#ident), &Generics::default(), true);
    let structure = structure(target, derives);
    quote! {
        #structure
        impl #odm::patch::PatchFields for #ident {
            fn shape() -> #odm::Shape {
                #odm::Shape::Any
            }
            fn set<__R>(self, _: &mut #odm::patch::Within<'_, __R>) {}
        }
        impl<__R> #odm::patch::Patches<__R> for #ident {}
        impl #odm::patch::Patched for #this {
            type Patch = #ident;
        }
        #coded
        impl #odm::Described for #ident {
            type Paths = ();
            fn json_paths() {}
            fn described() -> #odm::Description {
                ::core::unreachable!()
            }
        }
        #krate::checks::deserialize_patch!(#ident);
    }
}

/// The value that a field of the patch holds, where it has one.
fn value_type(target: &Target, field: &Field) -> TokenStream {
    if field.embed.patch.is_none() {
        return supplied_type(target, field);
    }
    let patch = patch_of(target, field);
    match ty::option(field.ty) {
        Some(_) => quote!(::core::option::Option<#patch>),
        None => patch,
    }
}

/// The type of a field of the patch.
fn held(target: &Target, field: &Field) -> TokenStream {
    if field.serde.flatten.is_some() {
        return patch_of(target, field);
    }
    let (odm, value) = (&target.odm, value_type(target, field));
    quote!(#odm::patch::Patch<#value>)
}

/// Puts a field into an update.
fn set(target: &Target, i: usize, field: &Field) -> TokenStream {
    let (odm, this, ty, name) = (&target.odm, &target.this, field.ty, field.ident());
    if field.serde.flatten.is_some() {
        return quote!(#odm::patch::PatchFields::set(self.#name, within););
    }
    let meta = quote!(&<#this as #odm::Fielded>::FIELDS[#i]);
    let codec = codec::of(target, field).unwrap_or_else(|| quote!(#odm::Plain));
    let inner = ty::option(field.ty);
    match (field.embed.patch.is_some(), field.entry().is_some(), inner) {
        (true, _, Some(inner)) => {
            quote!(within.merge_or_clear::<#inner, #codec, _>(#meta, self.#name);)
        }
        (true, _, None) => quote!(within.merge(#meta, self.#name);),
        (false, true, Some(inner)) => quote!(within.set_or_clear::<#inner, #codec, _>(#meta, self.#name);),
        _ => quote!(within.set::<#ty, #codec, _>(#meta, self.#name);),
    }
}
