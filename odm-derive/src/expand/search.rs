//! The constants of declared search and vector indexes.

use super::{Target, index};
use crate::attr::document::Document;
use crate::attr::search::{FieldKind, SearchField, SearchIndex, SearchKind, Vector};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Ident;

/// An assertion that the program has the feature for these indexes, where one is declared.
pub fn enabled(target: &Target, document: &Document) -> Option<TokenStream> {
    let odm = &target.odm;
    let first = document.search_indexes.first()?;
    Some(quote_spanned!(first.span=> const _: () = #odm::check::search_indexes_are_enabled();))
}

/// One index. Its fields are reached through the typed paths, so that a wrong one does not compile.
pub fn meta(target: &Target, declared: &SearchIndex) -> TokenStream {
    let odm = &target.odm;
    let name = declared.name();
    let kind = match &declared.kind {
        SearchKind::Search {
            dynamic,
            analyzer,
            fields,
        } => {
            let analyzer = option(analyzer.as_ref());
            let fields = fields.iter().map(|declared| field(target, declared));
            quote! {
                Search(#odm::search::SearchMeta {
                    analyzer: #analyzer,
                    dynamic: #dynamic,
                    fields: &[#(#fields),*],
                })
            }
        }
        SearchKind::Vector(declared) => vector(target, declared),
    };
    quote! {
        #odm::search::SearchIndexMeta { name: #name, kind: #odm::search::SearchIndexKind::#kind }
    }
}

fn field(target: &Target, declared: &SearchField) -> TokenStream {
    let odm = &target.odm;
    let (kind, check) = match declared.kind {
        FieldKind::String => ("string", Some("searched_text")),
        FieldKind::Autocomplete => ("autocomplete", Some("searched_text")),
        FieldKind::Token => ("token", Some("searched_text")),
        FieldKind::Number => ("number", Some("searched_number")),
        FieldKind::Date => ("date", Some("searched_date")),
        FieldKind::Boolean => ("boolean", Some("searched_boolean")),
        FieldKind::ObjectId => ("objectId", None),
        FieldKind::Uuid => ("uuid", None),
    };
    let name = name(target, &declared.path, check);
    let analyzer = option(declared.analyzer.as_ref());
    quote!(#odm::search::SearchFieldMeta { path: || #name, kind: #kind, analyzer: #analyzer })
}

fn vector(target: &Target, declared: &Vector) -> TokenStream {
    let odm = &target.odm;
    let path = name(target, &declared.path, Some("vector"));
    let dimensions = u32::try_from(declared.dimensions.value).unwrap_or(u32::MAX);
    let (similarity, quantization) = (declared.similarity, option(declared.quantization));
    let filter = declared.filter.iter().map(|path| name(target, path, None));
    quote! {
        Vector(#odm::search::VectorMeta {
            path: || #path,
            dimensions: #dimensions,
            similarity: #similarity,
            quantization: #quantization,
            filter: &[#(|| #filter),*],
        })
    }
}

fn option(value: Option<impl quote::ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

/// The dotted name of a field, whose type is checked where it is known.
fn name(target: &Target, fields: &[Ident], check: Option<&str>) -> TokenStream {
    let odm = &target.odm;
    let path = index::path(target, fields);
    let span = fields
        .last()
        .map_or_else(proc_macro2::Span::call_site, Ident::span);
    match check.filter(|_| !target.is_generic()) {
        Some(check) => {
            let check = Ident::new(check, span);
            quote_spanned!(span=> #odm::check::#check(#path).name())
        }
        None => quote_spanned!(span=> #path.name()),
    }
}
