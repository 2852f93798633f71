//! How values are written and read without serde: `impl Fields`, `impl Row` and `impl Stored`.
//!
//! Each field has a constant with its name, its bounds and the functions of its type. The functions that are generated name those
//! constants, one after the other.

mod field;
mod implement;
mod variants;

use super::Target;
use crate::ast::{Data, Field, Style};
pub use field::patch_of;
use field::{Code, Part, member};
use implement::{embedded, items, read_items, read_row, value, write_fields};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Generics, Ident};
pub use variants::{of_documents, of_enum};

/// A struct with named fields: a document, a projection of one, an embedded struct.
pub fn of_fields(target: &Target) -> TokenStream {
    let mut code = Code::new(target, &target.fields);
    let parts = code.parts(target.container.fields());
    let ident = target.container.ident;
    let implementations = fields(&mut code, &quote!(#ident), &parts, &TokenStream::new());
    code.finish(&implementations)
}

/// A patch: what is not there is absent.
pub fn of_patch(target: &Target, ident: &Ident, typed: &[(&Field, TokenStream)]) -> TokenStream {
    let all: Vec<&Field> = typed.iter().map(|(field, _)| *field).collect();
    let mut code = Code::of_patch(target, quote!(#ident), &all);
    let parts: Vec<Part> = typed.iter().map(|(field, ty)| code.part(field, ty)).collect();
    let implementations = fields(&mut code, &quote!(#ident), &parts, &TokenStream::new());
    code.finish(&implementations)
}

/// What results are read as: its fields need no bound, and each has to be of a type that the library knows.
pub fn of_row(target: &Target) -> TokenStream {
    let mut code = Code::of_row(target);
    let parts = code.parts(target.container.fields());
    let ident = target.container.ident;
    let implementations = fields(&mut code, &quote!(#ident), &parts, &TokenStream::new());
    code.finish(&implementations)
}

/// Some fields of a document, whose names it has from there.
pub fn of_projection(target: &Target, of: &syn::Path) -> TokenStream {
    let mut code = Code::of_projection(target, of);
    let parts = code.parts(target.container.fields());
    let ident = target.container.ident;
    let implementations = fields(&mut code, &quote!(#ident), &parts, &TokenStream::new());
    code.finish(&implementations)
}

/// The struct of a new document, which JSON is read as. `more` are its fields that nothing is read of.
pub fn of_new(target: &Target, typed: &[(&Field, TokenStream)], more: &TokenStream) -> TokenStream {
    let all: Vec<&Field> = typed.iter().map(|(field, _)| *field).collect();
    let ident = target.new_ident();
    let (_, ty_generics, _) = target.container.generics.split_for_impl();
    let mut code = Code::new_document(target, quote!(#ident #ty_generics), &all);
    let parts: Vec<Part> = typed.iter().map(|(field, ty)| code.part(field, ty)).collect();
    let implementations = fields(&mut code, &quote!(#ident), &parts, more);
    code.finish(&implementations)
}

/// `#[derive(Embed)]` of a struct.
pub fn of_struct(target: &Target) -> TokenStream {
    match &target.container.data {
        Data::Struct(..) if target.container.serde.transparent => newtype(target),
        Data::Struct(Style::Named, _) => of_fields(target),
        Data::Struct(Style::Newtype, _) => newtype(target),
        Data::Struct(Style::Tuple, _) => tuple(target),
        _ => unit(target),
    }
}

/// `Fields`, `Row` and `Stored` of these fields.
fn fields(code: &mut Code, ident: &TokenStream, parts: &[Part], more: &TokenStream) -> TokenStream {
    let written: TokenStream = parts
        .iter()
        .map(|Part { field, constant }| {
            let name = field.ident();
            code.write(field, &quote!(&self.#name), constant.as_ref())
        })
        .collect();
    let read = code.made(ident, parts, more);
    let fields = write_fields(code, &quote!(#written ::core::result::Result::Ok(())));
    let row = read_row(code, &read);
    let value = embedded(code);
    quote!(#fields #row #value)
}

/// A struct of one field is stored as that field is.
fn newtype(target: &Target) -> TokenStream {
    let Some(field) = target.fields.first() else {
        return unit(target);
    };
    let mut code = Code::new(target, &target.fields);
    let (ident, ty) = (target.container.ident, field.ty);
    let constant = code.constant(field, &quote!(#ty), &field.name);
    let place = member(target, field);
    let others = target.container.fields().iter();
    let others: Vec<TokenStream> = others
        .filter(|other| !std::ptr::eq(*other, *field))
        .map(|other| {
            let (place, value) = (member(target, other), code.left_out(other));
            quote!(#place: #value)
        })
        .collect();
    let around = |value: TokenStream| quote!(#ident { #place: #value, #(#others),* });
    let read = around(quote!(#constant.value_of(kind, input)?));
    let missing = around(quote!(#constant.value_if_missing()?));
    // Only then does serde ask the type of the field.
    let missing = target
        .container
        .serde
        .transparent
        .then(|| quote!(::core::result::Result::Ok(#missing)));
    let value = value(
        &code,
        &quote!(#constant.write_alone(&self.#place, name, bound, out)),
        &quote!(::core::result::Result::Ok(#read)),
        missing,
    );
    let stored = &code.stored;
    let fields = write_fields(
        &code,
        &quote!((#stored::ByType::<#ty>::FLAT.write)(&self.#place, out)),
    );
    let row = read_row(&code, &quote!(fields.as_one()));
    let key = key(&code, field, &quote!(&self.#place), &around(quote!(inner)));
    code.finish(&quote!(#value #fields #row #key))
}

/// `impl KeyLike`: it is the key of a map where its field is.
fn key(code: &Code, field: &Field, inner: &TokenStream, around: &TokenStream) -> Option<TokenStream> {
    let is_key = code.target.container.serde.transparent
        && field.serde.with.is_none()
        && field.field.stored.is_none()
        && !field.field.opaque
        && field.reference.is_none();
    let ty = field.ty;
    let methods = quote! {
        fn inner(&self) -> &#ty {
            #inner
        }
        fn around(inner: #ty) -> Self {
            #around
        }
    };
    is_key.then(|| code.implement(&quote!(KeyLike<#ty>), methods))
}

fn tuple(target: &Target) -> TokenStream {
    let mut code = Code::new(target, &target.fields);
    let parts = items(&mut code, target.container.fields());
    let written: TokenStream = parts
        .iter()
        .map(|Part { field, constant }| {
            let place = member(target, field);
            code.write(field, &quote!(&self.#place), constant.as_ref())
        })
        .collect();
    let ident = target.container.ident;
    let read = read_items(&mut code, &parts);
    let stored = &code.stored;
    let write = quote! {
        let begin = out.begin_array(name);
        #written
        out.end(begin);
        out.check_parts(bound);
        ::core::result::Result::Ok(())
    };
    let read = quote! {
        let items = &mut #stored::Items::of(kind, input)?;
        ::core::result::Result::Ok(#ident(#read))
    };
    let value = value(&code, &write, &read, None);
    code.finish(&value)
}

fn unit(target: &Target) -> TokenStream {
    let code = Code::new(target, &[]);
    let ident = target.container.ident;
    let stored = &code.stored;
    let made = match &target.container.data {
        Data::Struct(Style::Unit, _) => quote!(#ident),
        _ => {
            let values = target.container.fields().iter().map(|field| {
                let place = member(target, field);
                quote!(#place: ::core::default::Default::default())
            });
            quote!(#ident { #(#values),* })
        }
    };
    let value = value(
        &code,
        &quote!(#stored::Stored::write(&(), name, bound, out)),
        &quote!(#stored::unit(kind, input).map(|()| #made)),
        None,
    );
    code.finish(&value)
}

/// `#[embed(repr = i32)]`: the number of the variant.
pub fn numbered(target: &Target, repr: &Ident) -> TokenStream {
    let (code, odm) = (Code::new(target, &[]), &target.odm);
    let write = if repr == "i32" {
        quote!(write_int)
    } else {
        quote!(write_long)
    };
    let value = value(
        &code,
        &quote!(#odm::numbered::#write(self, name, bound, out)),
        &quote!(#odm::numbered::read(kind, input)),
        None,
    );
    code.finish(&value)
}

/// `impl Fields` of the struct that a partial insert writes: these fields, each with its type there.
pub fn of_partial(target: &Target, ident: &Ident, fields: &[(&Field, TokenStream)]) -> TokenStream {
    let all: Vec<&Field> = fields.iter().map(|(field, _)| *field).collect();
    let mut code = Code::written(target, &all);
    let written: TokenStream = fields
        .iter()
        .map(|(field, ty)| {
            let name = field.ident();
            let is_beside = field.serde.flatten.is_some() || field.field.extra;
            let constant = (!is_beside && !field.skipped()).then(|| code.constant(field, ty, &field.name));
            code.write(field, &quote!(&self.#name), constant.as_ref())
        })
        .collect();
    let stored = &code.stored;
    let fields = quote! {
        #[allow(unused_variables)]
        impl #stored::Fields for #ident {
            fn write_fields(&self, out: &mut #stored::Out) -> #stored::Done {
                #written
                ::core::result::Result::Ok(())
            }
        }
    };
    code.finish(&fields)
}

/// What stands in for the implementations where the type has errors.
pub fn stand_in(odm: &TokenStream, this: &TokenStream, generics: &Generics, is_value: bool) -> TokenStream {
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let value = is_value.then(|| {
        quote! {
            impl #impl_generics #odm::stored::Stored for #this #where_clause {
                fn write(
                    &self,
                    _: &#odm::stored::Name<'_>,
                    _: #odm::stored::Bound<'_>,
                    _: &mut #odm::stored::Out,
                ) -> #odm::stored::Done {
                    ::core::unreachable!()
                }
                fn read(_: u8, _: &mut #odm::stored::Input<'_>) -> #odm::stored::Read<Self> {
                    ::core::unreachable!()
                }
            }
        }
    });
    quote! {
        #value
        impl #impl_generics #odm::stored::Fields for #this #where_clause {
            fn write_fields(&self, _: &mut #odm::stored::Out) -> #odm::stored::Done {
                ::core::unreachable!()
            }
        }
        impl #impl_generics #odm::stored::Row for #this #where_clause {
            fn read_row(_: &mut #odm::stored::Reader<'_>) -> #odm::stored::Read<Self> {
                ::core::unreachable!()
            }
        }
    }
}
