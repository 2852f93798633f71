//! `New…::builder()`, where `#[document(builder)]` asks for it: the fields that must be given are parameters of the builder's type.

use super::Target;
use super::new::{default, supplied, supplied_type};
use crate::ast::{Container, Field};
use crate::ty;
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Ident, Type};

/// A field in the builder.
struct Part<'a> {
    field: &'a Field<'a>,
    name: Option<&'a Ident>,
    ty: TokenStream,
    /// Its first value; `None` for one that must be given.
    begins: Option<TokenStream>,
    /// The parameter of one that must be given, and the trait that says whether it is.
    state: Ident,
    given: Ident,
}

pub fn define(target: &Target) -> TokenStream {
    let parts: Vec<Part> = supplied(target)
        .enumerate()
        .map(|(at, field)| Part {
            field,
            name: field.ident(),
            ty: supplied_type(target, field),
            begins: begins(target, field),
            state: format_ident!("__F{at}"),
            given: format_ident!("__Given{at}"),
        })
        .collect();
    let (odm, vis, new) = (&target.odm, target.container.vis, target.new_ident());
    let builder = target.name(|name| format!("New{name}Builder"));
    let states: Vec<&Ident> = needed(&parts).map(|part| &part.state).collect();
    let fields = parts.iter().map(|part| {
        let (name, ty, state) = (part.name, &part.ty, &part.state);
        match part.begins {
            Some(_) => quote!(#name: #ty,),
            None => quote!(#name: #state,),
        }
    });
    let first = parts.iter().map(|part| {
        let name = part.name;
        match &part.begins {
            Some(value) => quote!(#name: #value,),
            None => quote!(#name: #odm::Missing,),
        }
    });
    let setters = parts.iter().map(|part| setter(target, &builder, &parts, part));
    let traits = needed(&parts).map(|part| is_given(target, part));
    let values = parts.iter().map(|part| {
        let (name, given) = (part.name, &part.given);
        match part.begins {
            Some(_) => quote!(#name: self.#name,),
            None => quote!(#name: #given::given(self.#name),),
        }
    });
    let bounds = needed(&parts).map(|part| {
        let (state, given) = (&part.state, &part.given);
        quote!(#state: #given,)
    });
    let made_by = format!("Makes a [`{new}`] field by field: [`{new}::builder`].");
    let begin = "A builder. Without a field that must be given, `build` does not compile; the others begin with their defaults, and an \
                 `Option` with `None`.";
    let end = format!("The [`{new}`], with all fields.");
    quote! {
        #[doc = #made_by]
        #[must_use = "a builder makes nothing until `build`"]
        #[allow(dead_code, missing_debug_implementations, private_interfaces)]
        #vis struct #builder<#(#states = #odm::Missing),*> {
            #(#fields)*
        }
        impl #new {
            #[doc = #begin]
            #[allow(dead_code)]
            #vis fn builder() -> #builder {
                #builder { #(#first)* }
            }
        }
        #[allow(private_interfaces)]
        const _: () = {
            #(#traits)*
            #[allow(dead_code)]
            impl<#(#states),*> #builder<#(#states),*> {
                #(#setters)*
                #[doc = #end]
                #vis fn build(self) -> #new where #(#bounds)* {
                    #new { #(#values)* }
                }
            }
        };
    }
}

/// Whether the type can have a builder. Where it can't, an error says so.
pub fn is_possible(container: &Container) -> bool {
    container.generics.params.is_empty() && container.fields().iter().all(|field| field.rust != "build")
}

fn needed<'a>(parts: &'a [Part<'a>]) -> impl Iterator<Item = &'a Part<'a>> {
    parts.iter().filter(|part| part.begins.is_none())
}

/// The value of a field that need not be given: its default, or none.
fn begins(target: &Target, field: &Field) -> Option<TokenStream> {
    let this = target.container.ident;
    let has_default = field.serde.default.is_some() || target.container.serde.default.is_some();
    if field.field.default.is_some() {
        let function = format_ident!("default_{}", field.rust);
        return Some(quote!(#this::#function()));
    }
    match field.entry() {
        // The default of the copies is no reference.
        Some(entry) if entry.reference.many.is_some() && has_default => Some(quote!(::std::vec::Vec::new())),
        Some(_) => ty::is_option(field.ty).then(|| quote!(::core::option::Option::None)),
        None if has_default => Some(default(target, field)),
        None => ty::is_option(field.ty).then(|| quote!(::core::option::Option::None)),
    }
}

fn setter(target: &Target, builder: &Ident, parts: &[Part], part: &Part) -> TokenStream {
    let (odm, name, vis) = (&target.odm, part.name, part.field.vis);
    let docs = part
        .field
        .original
        .attrs
        .iter()
        .filter(|attr| attr.path().is_ident("doc"));
    let docs = quote!(#[allow(missing_docs)] #(#docs)*);
    let (ty, value) = argument(odm, part);
    if part.begins.is_some() {
        return quote! {
            #docs
            #vis fn #name(mut self, value: #ty) -> Self {
                self.#name = #value;
                self
            }
        };
    }
    let own = |other: &Part| other.state == part.state;
    let supplied = &part.ty;
    let states = needed(parts).map(|other| {
        let state = &other.state;
        if own(other) {
            quote!(#odm::Given<#supplied>)
        } else {
            quote!(#state)
        }
    });
    let values = parts.iter().map(|other| {
        let name = other.name;
        if own(other) {
            quote!(#name: #odm::Given(#value),)
        } else {
            quote!(#name: self.#name,)
        }
    });
    quote! {
        #docs
        #vis fn #name(self, value: #ty) -> #builder<#(#states),*> {
            #builder { #(#values)* }
        }
    }
}

/// The type that a setter takes, and the field's value made of it: a text of anything that becomes one, and of an `Option` what is
/// in it.
fn argument(odm: &TokenStream, part: &Part) -> (TokenStream, TokenStream) {
    let whole = &part.ty;
    if part.field.entry().is_some() && !ty::is_option(part.field.ty) {
        return (quote!(#whole), quote!(value));
    }
    let Ok(ty) = syn::parse2::<Type>(whole.clone()) else {
        return (quote!(#whole), quote!(value));
    };
    let inner = ty::option(&ty);
    let (ty, value) = match inner.unwrap_or(&ty) {
        text if ty::exactly(text, "String") => (
            quote!(impl #odm::IntoText<#text>),
            quote!(#odm::IntoText::into_text(value)),
        ),
        other => (quote!(#other), quote!(value)),
    };
    match inner {
        Some(_) => (ty, quote!(::core::option::Option::Some(#value))),
        None => (ty, value),
    }
}

/// The trait by which `build` asks for a field, with the message where it is not given.
fn is_given(target: &Target, part: &Part) -> TokenStream {
    let (odm, given, ty) = (&target.odm, &part.given, &part.ty);
    let (field, document) = (&part.field.rust, target.container.name());
    let message = format!("`{field}` of a new `{document}` is not given");
    let label = format!("`.{field}(…)` is missing");
    let note = format!(
        "write `.{field}(…)` before `.build()`, or give the field a default: `#[field(default = …)]`, `#[serde(default)]`"
    );
    quote_spanned! {part.field.ty.span()=>
        #[diagnostic::on_unimplemented(message = #message, label = #label, note = #note)]
        pub trait #given {
            fn given(self) -> #ty;
        }
        impl #given for #odm::Given<#ty> {
            fn given(self) -> #ty {
                self.0
            }
        }
    }
}
