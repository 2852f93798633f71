//! `XPatch`, where `#[document(patch)]` or `#[embed(patch)]` asks for it: some of the fields, with the values that they get.

use super::new::supplied_type;
use super::{Target, codec};
use crate::ast::Field;
use crate::ty;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Path;
use syn::spanned::Spanned;

/// The derives that a patch has anyway, or that are for another form than its own.
const OWN: [&str; 3] = ["Default", "Serialize", "Deserialize"];

/// The struct of a document, or of an embedded struct.
pub fn define(target: &Target, is_document: bool, derives: &[&Path]) -> TokenStream {
    let (odm, this, vis) = (&target.odm, &target.this, target.container.vis);
    let ident = target.name(|name| format!("{name}Patch"));
    let text = ident.to_string();
    let mut kept: Vec<&Path> = Vec::new();
    for path in derives {
        let name = path.segments.last().map(|last| last.ident.to_string());
        if !name.is_some_and(|name| OWN.contains(&name.as_str())) && !kept.contains(path) {
            kept.push(path);
        }
    }
    let parts: Vec<(usize, &Field)> = target
        .fields
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, field)| field.in_patch(&target.container.roles))
        .collect();
    let fields = parts.iter().map(|(_, field)| {
        let (vis, name, ty) = (field.vis, field.ident(), held(target, field));
        let docs = field
            .original
            .attrs
            .iter()
            .filter(|attr| attr.path().is_ident("doc"));
        quote!(#(#docs)* #vis #name: #ty,)
    });
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
    let names = parts.iter().map(|(_, field)| match field.serde.flatten {
        Some(_) => {
            let patch = patch_of(target, field);
            quote!(<#patch as #odm::patch::PatchFields>::names(names);)
        }
        None => {
            let name = &field.name;
            quote!(names.push(#name);)
        }
    });
    let named = parts.iter().filter(|(_, field)| field.serde.flatten.is_none());
    let arms = named.map(|(_, field)| read(target, field));
    let flattened = parts.iter().filter(|(_, field)| field.serde.flatten.is_some());
    let within = flattened.map(|(_, field)| {
        let name = field.ident();
        quote! {
            if #odm::patch::PatchFields::read(&mut self.#name, name, map)? {
                return ::core::result::Result::Ok(true);
            }
        }
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
            fn names(names: &mut ::std::vec::Vec<&'static str>) {
                let _ = &names;
                #(#names)*
            }
            fn read<'de, __A: #odm::serde::de::MapAccess<'de>>(
                &mut self,
                name: &str,
                map: &mut __A,
            ) -> ::core::result::Result<bool, __A::Error> {
                let _ = &map;
                ::core::result::Result::Ok(match name {
                    #(#arms)*
                    _ => {
                        #(#within)*
                        false
                    }
                })
            }
            fn set<__R>(self, within: &mut #odm::patch::Within<'_, __R>) {
                let _ = &within;
                #(#sets)*
            }
        }
        #[automatically_derived]
        impl<'de> #odm::serde::Deserialize<'de> for #ident {
            fn deserialize<__D: #odm::serde::Deserializer<'de>>(
                deserializer: __D,
            ) -> ::core::result::Result<Self, __D::Error> {
                #odm::patch::deserialize(deserializer)
            }
        }
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

/// The same name, without content, where the type has errors.
pub fn stand_in(target: &Target) -> TokenStream {
    let (odm, vis) = (&target.odm, target.container.vis);
    let (ident, this) = (target.name(|name| format!("{name}Patch")), &target.this);
    quote! {
        #[doc(hidden)]
        #[derive(::core::default::Default)]
        #vis struct #ident {}
        impl #odm::patch::PatchFields for #ident {
            fn shape() -> #odm::Shape {
                #odm::Shape::Any
            }
            fn names(_: &mut ::std::vec::Vec<&'static str>) {}
            fn read<'de, __A: #odm::serde::de::MapAccess<'de>>(
                &mut self,
                _: &str,
                _: &mut __A,
            ) -> ::core::result::Result<bool, __A::Error> {
                ::core::unreachable!()
            }
            fn set<__R>(self, _: &mut #odm::patch::Within<'_, __R>) {}
        }
        impl<__R> #odm::patch::Patches<__R> for #ident {}
        impl #odm::patch::Patched for #this {
            type Patch = #ident;
        }
        impl<'de> #odm::serde::Deserialize<'de> for #ident {
            fn deserialize<__D: #odm::serde::Deserializer<'de>>(
                deserializer: __D,
            ) -> ::core::result::Result<Self, __D::Error> {
                #odm::patch::deserialize(deserializer)
            }
        }
    }
}

/// The patch of the struct that a field holds, alone or in an `Option`.
fn patch_of(target: &Target, field: &Field) -> TokenStream {
    let odm = &target.odm;
    let ty = ty::option(field.ty).unwrap_or(field.ty);
    quote_spanned!(ty.span()=> <#ty as #odm::patch::Patched>::Patch)
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

/// Reads a field by its name, or one of its previous names.
fn read(target: &Target, field: &Field) -> TokenStream {
    let (odm, ty, name, rust) = (&target.odm, field.ty, &field.name, field.ident());
    let aliases = &field.serde.aliases;
    let read = match (&field.serde.read_with, codec::of(target, field)) {
        _ if field.embed.patch.is_some() || field.entry().is_some() => quote!(#odm::patch::read_plain),
        (None, _) => quote!(#odm::patch::read_plain),
        (Some(_), Some(codec)) if field.serde.native => quote!(#odm::patch::read::<_, #codec, _>),
        (Some(function), _) => {
            let call = quote_spanned!(function.span()=> #function(deserializer));
            return quote! {
                #name #(| #aliases)* => {
                    struct __Read;
                    impl #odm::Decoder<#ty> for __Read {
                        fn deserialize<'de, __D: #odm::serde::Deserializer<'de>>(
                            deserializer: __D,
                        ) -> ::core::result::Result<#ty, __D::Error> {
                            #call
                        }
                    }
                    #odm::patch::read::<#ty, __Read, __A>(&mut self.#rust, #name, map)?;
                    true
                }
            };
        }
    };
    quote! {
        #name #(| #aliases)* => {
            #read(&mut self.#rust, #name, map)?;
            true
        }
    }
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
