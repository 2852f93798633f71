//! serde of generated structs: they have it where the types of their fields have it.

use crate::ty;
use proc_macro2::TokenStream;
use quote::quote;

/// The attribute of a field.
pub fn field(odm: &TokenStream) -> TokenStream {
    let module = ty::text(quote!(#odm::if_serde));
    quote!(#[serde(with = #module)])
}

/// The bounds of a struct with fields of these types, as an attribute.
pub fn bounds(odm: &TokenStream, types: &[TokenStream]) -> TokenStream {
    let one = quote!(#odm::if_serde::IfSerde);
    let written = quote!(#(for<'x> #one<'x, &'x #types>: #odm::serde::Serialize),*).to_string();
    let read = quote!(#(for<'x> #one<'x, #types>: #odm::serde::Deserialize<'de>),*).to_string();
    quote!(#[serde(bound(serialize = #written, deserialize = #read))])
}
