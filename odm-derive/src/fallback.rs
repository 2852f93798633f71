//! The substitute for the generated code of a type with errors: the same names, with nothing in them that the compiler could have
//! something to say of, so that the errors are all that is reported.
//!
//! Names and types are made by the code of every type: structs of paths, of new documents, builders. The rest is
//! implemented without content, and what some types only have for an option of theirs, the substitute has anyway.

use crate::ast::{Container, Data, Field, Style};
use crate::attr::document::Document;
use crate::attr::embed::Container as Embed;
use crate::attr::projection::Projection;
use crate::attr::request::Request;
use crate::attr::row::Row;
use crate::check::bucket::Plan;
use crate::expand::{
    Target, bucket, builder, codec, copy, described, enums, fielded, generics, index, new, numbered, patch,
    paths, reference, several, stored, targets, union, value, variants,
};
use crate::ty;
use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Generics, Type, parse_quote};

/// A type with a lifetime gets the errors alone: nothing is implemented for it.
fn is_owned(container: &Container) -> bool {
    container.generics.lifetimes().next().is_none()
}

/// So does a document that can't be shared between threads.
fn is_shareable(container: &Container) -> bool {
    let fields = container.all_fields();
    fields.iter().all(|field| ty::in_one_thread(field.ty).is_none())
}

/// The target, with the fields that have names.
fn target<'a>(container: &'a Container<'a>, krate: Option<&syn::Path>) -> Target<'a> {
    let mut target = Target::new(container, krate.cloned());
    if !matches!(container.data, Data::Struct(Style::Named, _)) {
        target.fields = Vec::new();
    }
    target
}

/// `impl Fielded`, of fields of which nothing is known, and the functions of their defaults.
fn fields(target: &Target) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let generics = generics::owned(target.container.generics);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let fields = target.fields.iter().map(|field| opaque(target, field));
    let defaults = fielded::defaults(target);
    quote! {
        impl #impl_generics #odm::Fielded for #this #where_clause {
            const FIELDS: &'static [#odm::FieldMeta] = &[#(#fields),*];
        }
        #defaults
    }
}

fn opaque(target: &Target, field: &Field) -> TokenStream {
    let (odm, rust) = (&target.odm, &field.rust);
    quote!(#odm::FieldMeta::opaque(#rust, #rust, ""))
}

/// The traits of a value in a field, and of a result that is read.
fn value(target: &Target) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let generics = generics::owned(target.container.generics);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let coded = stored::stand_in(odm, this, &generics, true);
    quote! {
        #coded
        impl #impl_generics #odm::Compared for #this #where_clause {
            type As = #odm::ByValue;
        }
        impl #impl_generics #odm::Value for #this #where_clause {
            const SIZE: #odm::Size = #odm::Size::STAND_IN;
            fn shape() -> #odm::Shape {
                #odm::Shape::Any
            }
        }
    }
}

/// Types that references and copies make, on which other types may rely.
fn made(target: &Target) -> TokenStream {
    let (container, krate) = (target.container, &target.krate);
    let unions = union::define_anyway(target.references(), container.vis, krate);
    let entries = copy::define(container, container.vis, krate, &[]);
    quote!(#unions #entries)
}

/// A document.
pub fn document(container: &Container, declared: &Document, error: &syn::Error) -> TokenStream {
    let error = error.to_compile_error();
    if !is_owned(container) || !is_shareable(container) {
        return error;
    }
    let target = &target(container, declared.krate.as_ref());
    let paths = paths::define(target, |_| false);
    let codecs = codec::define(target);
    let new = new::define(target, declared);
    let has_builder = declared.builder.is_some() && builder::is_possible(container);
    let builder = has_builder.then(|| builder::define(target));
    let generics = generics::sendable(target);
    let of_new = of_new(target, &generics);
    let stored_with = several::stored_with(container, declared);
    let nested = several::nested(target, declared);
    let (fields, value, made) = (fields(target), value(target), made(target));
    let children = reference::implement_children(target, &generics, |_| quote!(::core::unreachable!()));
    let id = id(target);
    let targets = targets::named_by(target, &generics, &id);
    let patch = declared
        .patch
        .map(|_| patch::stand_in(target, &patch::derives(declared)));
    let implementation = implement(target, declared, &generics, &id);
    quote! {
        #error
        #paths
        #codecs
        #new
        #builder
        #of_new
        #stored_with
        #nested
        #fields
        #value
        #made
        #children
        #targets
        #patch
        #implementation
    }
}

/// An enum of documents, with the struct of the fields that all variants have.
pub fn several(
    container: &Container,
    common: &Container,
    declared: &Document,
    error: &syn::Error,
) -> TokenStream {
    let error = error.to_compile_error();
    if !container.generics.params.is_empty() {
        return error;
    }
    let mut target = target(common, declared.krate.as_ref());
    target.tag = Some(several::tag(container));
    let target = &target;
    let variants = several::distinct(several::each(container), common);
    let paths = several::define_paths(target, declared, &variants);
    let new = several::new(target, container, declared, &variants);
    let shape = several::implement_shape_of(target, container, &variants, |_| quote!(&[]));
    let inserted = several::insertable_variants_by(target, &variants, |_| {
        quote!({
            let _ = now;
            ::core::unreachable!()
        })
    });
    let variants_of = several::variants_of(target, container, &variants);
    let generics = Generics::default();
    let of_new = of_new(target, &generics);
    let (fields, value) = (fields(target), value(target));
    let id = id(target);
    let targets = targets::named_by(target, &generics, &id);
    let implementation = implement(target, declared, &generics, &id);
    quote! {
        #error
        #paths
        #new
        #shape
        #inserted
        #variants_of
        #of_new
        #fields
        #value
        #targets
        #implementation
    }
}

/// The type of the id, by which other types name the document. An `ObjectId` where the id is what is wrong.
fn id(target: &Target) -> Type {
    let odm = &target.odm;
    let fields = || target.fields.iter().copied();
    let id = fields()
        .find(|field| field.name == "_id")
        .or_else(|| fields().find(|field| field.rust == "id"))
        .filter(|field| !ty::is_option(field.ty) && ty::many(field.ty).is_none())
        .filter(|field| !ty::mentions(field.ty, &[target.container.ident]));
    id.map_or_else(|| parse_quote!(#odm::ObjectId), |field| field.ty.clone())
}

/// The codec of the `New…` struct.
fn of_new(target: &Target, generics: &Generics) -> TokenStream {
    let ident = target.new_ident();
    let (_, ty_generics, _) = target.container.generics.split_for_impl();
    let coded = stored::stand_in(&target.odm, &quote!(#ident #ty_generics), generics, true);
    let described = described::of_new(target, generics);
    quote!(#coded #described)
}

/// `impl Document`, and that everything can be done with one.
fn implement(target: &Target, declared: &Document, generics: &Generics, id: &Type) -> TokenStream {
    let (krate, odm, this, new) = (&target.krate, &target.odm, &target.this, target.new_ident());
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let (_, ty_generics, _) = target.container.generics.split_for_impl();
    let new = quote!(#new #ty_generics);
    let paths = paths::ty(target, quote!(#this), quote!(#odm::Root));
    let kind = if target.tag.is_some() {
        quote!(Enum)
    } else if declared.variant_of.is_some() {
        quote!(Variant)
    } else {
        quote!(Alone)
    };
    let can = [
        quote!(Replaceable),
        quote!(Deletable),
        quote!(PreAndPostImages),
        quote!(SoftDelete),
        quote!(patch::Versioned),
    ];
    let inserted = [quote!(#this), new.clone()];
    let keys = index::any_key(target, generics);
    let identified = targets::identified(target, id, &new, id.span());
    let ways = copy::no_ways(target);
    quote! {
        #keys
        #identified
        #ways
        impl #impl_generics #odm::Paths for #paths #where_clause {
            type Document = #this;
        }
        impl #impl_generics #krate::Document for #this #where_clause {
            type Paths = #paths;
            const KIND: #odm::several::Kind = #odm::several::Kind::#kind;
            const META: &'static #odm::DocumentMeta = &#odm::DocumentMeta::STAND_IN;
            fn paths() -> #paths {
                ::core::unreachable!()
            }
            fn id(&self) -> &#id {
                ::core::unreachable!()
            }
            fn fresh(_: #new, _: #odm::DateTime) -> #odm::Fresh<Self> {
                ::core::unreachable!()
            }
        }
        impl #impl_generics #odm::FromNew for #this #where_clause {
            fn from_new(_: #new, _: #odm::DateTime) -> Self {
                ::core::unreachable!()
            }
        }
        #(impl #impl_generics #odm::#can for #this #where_clause {})*
        #(
            impl #impl_generics #odm::Insertable<#this> for #inserted #where_clause {
                fn fresh(self, _: #odm::DateTime) -> #odm::Fresh<#this> {
                    ::core::unreachable!()
                }
            }
        )*
    }
}

/// An embedded struct or enum.
pub fn embed(
    container: &Container,
    declared: &Embed,
    plan: Option<&Plan>,
    error: &syn::Error,
) -> TokenStream {
    let error = error.to_compile_error();
    if !is_owned(container) {
        return error;
    }
    let target = &target(container, declared.krate.as_ref());
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let generics = generics::owned(container.generics);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let value = match (&container.data, &declared.repr) {
        (Data::Enum(variants), Some(repr)) if numbered::is_possible(container, variants, repr) => {
            let implementation = numbered::implement(target, variants, repr);
            let coded = stored::numbered(target, repr);
            quote!(#implementation #coded)
        }
        _ => value(target),
    };
    let parts = match &container.data {
        Data::Struct(Style::Named, _) if !container.serde.transparent => {
            let (paths, nested) = (paths::define(target, |_| false), paths::nested(target));
            let (codecs, fields) = (codec::define(target), fields(target));
            quote!(#paths #nested #codecs #fields)
        }
        Data::Struct(Style::Newtype, fields) => fields.iter().map(|field| around(target, field)).collect(),
        Data::Enum(all) if declared.repr.is_none() => {
            let distinct = variants::distinct(all);
            let shape = enums::shape(target, &distinct, |field| opaque(target, field));
            let paths = variants::implement(target, &distinct);
            quote! {
                impl #impl_generics #odm::Varied for #this #where_clause {
                    const SHAPE: &'static #odm::EnumShape = &#shape;
                }
                #paths
            }
        }
        _ => TokenStream::new(),
    };
    let no_document = targets::no_document(target, declared.patch.is_some());
    let ways = copy::no_ways(target);
    let described = (declared.repr.is_none()).then(|| described::of_embedded(target));
    let made = made(target);
    let copies = copy::implement_anyway(container, krate);
    let patch = declared
        .patch
        .map(|_| patch::stand_in(target, &declared.derives.iter().collect::<Vec<_>>()));
    let bucket = plan.map(|plan| bucket::stand_in(target, plan));
    quote! {
        #error
        #value
        #parts
        #described
        #made
        #copies
        #patch
        #bucket
        #no_document
        #ways
        impl #impl_generics #krate::Embed for #this #where_clause {}
        impl #impl_generics #odm::IdValue for #this #where_clause {}
    }
}

/// The traits that a struct around one value has like that value.
fn around(target: &Target, field: &Field) -> TokenStream {
    let (odm, this, ty) = (&target.odm, &target.this, field.ty);
    let generics = generics::owned(target.container.generics);
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let like = value::stored_like(target, field);
    quote! {
        #like
        impl #impl_generics #odm::stored::KeyLike<#ty> for #this #where_clause {
            fn inner(&self) -> &#ty {
                ::core::unreachable!()
            }
            fn around(_: #ty) -> Self {
                ::core::unreachable!()
            }
        }
    }
}

/// A projection; of any document, where it is not known of which.
pub fn projection(container: &Container, projection: &Projection, error: &syn::Error) -> TokenStream {
    let error = error.to_compile_error();
    if !is_owned(container) {
        return error;
    }
    let target = Target::new(container, projection.krate.clone());
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let generics = generics::owned(container.generics);
    let coded = stored::stand_in(odm, this, &generics, false);
    let mut of_projection = generics;
    let of = match &projection.of {
        Some(of) => quote!(#of),
        None => {
            of_projection.params.push(parse_quote!(__Of: #krate::Document));
            quote!(__Of)
        }
    };
    if target.is_generic() {
        let predicates = &mut of_projection.make_where_clause().predicates;
        predicates.push(parse_quote!(#this: ::core::marker::Send));
    }
    let (impl_generics, _, where_clause) = of_projection.split_for_impl();
    quote! {
        #error
        #coded
        impl #impl_generics #krate::Projection<#of> for #this #where_clause {
            fn fields() -> ::std::vec::Vec<&'static str> {
                ::core::unreachable!()
            }
        }
    }
}

/// The result of a pipeline.
pub fn row(container: &Container, row: &Row, error: &syn::Error) -> TokenStream {
    let error = error.to_compile_error();
    if !is_owned(container) {
        return error;
    }
    let target = Target::new(container, row.krate.clone());
    let coded = stored::stand_in(
        &target.odm,
        &target.this,
        &generics::owned(container.generics),
        true,
    );
    quote!(#error #coded)
}

/// The parameters of a request.
pub fn request(container: &Container, request: &Request, error: &syn::Error) -> TokenStream {
    let error = error.to_compile_error();
    let Some(of) = request
        .of
        .as_ref()
        .filter(|_| container.generics.params.is_empty())
    else {
        return error;
    };
    let target = Target::new(container, request.krate.clone());
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    quote! {
        #error
        impl #krate::request::RequestQuery for #this {
            type Document = #of;
            const DECLARED: &'static #odm::request::Parameters = &#odm::request::Parameters {
                max_limit: 0,
                max_conditions: 0,
                max_values: 0,
                conditions: &[],
                sort: ::core::option::Option::None,
                pages: false,
            };
            fn read(_: &mut #odm::request::Given) -> Self {
                ::core::unreachable!()
            }
        }
        impl #odm::request::IntoParts<#of> for #this {
            fn into_parts(self) -> #odm::request::Parts<#of> {
                ::core::unreachable!()
            }
        }
    }
}
