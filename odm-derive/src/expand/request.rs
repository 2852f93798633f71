//! `#[derive(RequestQuery)]`: the parameters of a request, as a struct.

use super::generics;
use crate::ast::Container;
use crate::attr::Count;
use crate::attr::request::{Field, Reached, Request};
use crate::check::request::{Declared, Part, all, name};
use crate::ctxt::Ctxt;
use crate::{fallback, receiver};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{DeriveInput, Path};

pub fn derive(input: &DeriveInput) -> TokenStream {
    let input = &receiver::named(input);
    let cx = Ctxt::new();
    let request = Request::parse(&cx, &input.attrs);
    let container = Container::read(&cx, input);
    let fields = container.fields().iter();
    let fields: Vec<Declared> = fields
        .map(|field| (field, Field::parse(&cx, &field.original.attrs)))
        .collect();
    all(&cx, &container, &request, &fields);
    match (cx.check(), &request.of) {
        (Ok(()), Some(of)) => expand(&container, &request, of, &fields),
        (Ok(()), None) => TokenStream::new(),
        (Err(error), _) => fallback::request(&container, &request, &error),
    }
}

/// A field of the document, as a closure that the compiler reads the stored name of.
fn closure(krate: &Path, of: &Path, reached: &Reached, span: Span) -> TokenStream {
    let path = reached.from(quote_spanned!(span=> p));
    quote_spanned!(span=> |p: <#of as #krate::__private::NamedDocument>::Paths| #path)
}

fn expand(container: &Container, request: &Request, of: &Path, fields: &[Declared]) -> TokenStream {
    let krate = request.krate.clone().unwrap_or_else(super::default_crate);
    let odm = quote!(#krate::__private);
    let ident = container.ident;
    let conditions = || {
        fields
            .iter()
            .filter(|(field, _)| Part::of(field) == Part::Condition)
    };
    let reached = |(field, attrs): &Declared| {
        let own = field.ident().map(Reached::of);
        attrs.path.clone().or(own)
    };
    let sort = fields.iter().find(|(field, _)| Part::of(field) == Part::Sort);
    // Each by the name of a condition of the struct, or as a field of the document.
    let keys: Vec<(String, Reached, Span)> = sort
        .into_iter()
        .flat_map(|(_, attrs)| attrs.sort.iter().flatten())
        .map(|key| {
            let text = key.text();
            let same = conditions().find(|(field, _)| field.rust == text);
            let named = same.and_then(|same| Some((name(same), reached(same)?)));
            let (name, reached) = named.unwrap_or_else(|| (text, key.clone()));
            (name, reached, key.span())
        })
        .collect();

    let parameters = conditions().map(|declared| {
        let (name, ty) = (name(declared), declared.0.ty);
        quote_spanned!(ty.span()=> #odm::request::Parameter::of::<#ty>(#name))
    });
    let sorted = match sort {
        Some(declared) => {
            let keys = keys.iter().map(|(name, reached, span)| {
                let span = *span;
                let path = closure(&krate, of, reached, span);
                quote_spanned!(span=> #odm::request::sorted::<#of, _, _, _, _>(#name, &#path))
            });
            let name = name(declared);
            quote!(::core::option::Option::Some((#name, &[#(#keys),*])))
        }
        None => quote!(::core::option::Option::None),
    };
    let number = |count: &Option<Count>, default: u64| match count {
        Some(count) => count.value(&odm),
        None => quote!(#default),
    };
    let max_limit = number(&request.max_limit, 100);
    let max_conditions = number(&request.max_conditions, 20);
    let max_values = number(&request.max_values, 100);
    let pages = fields.iter().any(|(field, _)| Part::of(field) == Part::Page);

    let mut position = 0_usize;
    let read = fields.iter().map(|(field, _)| {
        let name = field.ident();
        match Part::of(field) {
            Part::Condition => {
                position += 1;
                let at = position - 1;
                quote_spanned!(field.ty.span()=> #name: given.conditions(#at),)
            }
            Part::Sort => quote_spanned!(field.ty.span()=> #name: given.sort(),),
            Part::Page => quote_spanned!(field.ty.span()=> #name: given.page(),),
        }
    });
    let read: TokenStream = read.collect();
    let filters = conditions().filter_map(|declared| {
        let (field, reached) = (declared.0, reached(declared)?);
        let (name, span) = (field.ident(), reached.span());
        let path = reached.from(quote_spanned!(span=> paths));
        Some(quote_spanned!(field.ty.span()=> self.#name.on(#path)))
    });
    let part = |part: Part| {
        let field = fields.iter().find(|(field, _)| Part::of(field) == part);
        match field.and_then(|(field, _)| field.ident()) {
            Some(name) => quote!(self.#name),
            None => quote!(::core::default::Default::default()),
        }
    };
    let (sort_part, page_part) = (part(Part::Sort), part(Part::Page));
    let mut generics = container.generics.clone();
    let document = generics::with_document(&mut generics, &krate, "__Document", of);
    let predicates = &mut generics.make_where_clause().predicates;
    predicates.push(syn::parse_quote!(#ident: #odm::request::IntoParts<#document>));
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let is_document = quote_spanned!(of.span()=> #odm::check::document::<#of>(););
    let asserts = asserts(container, (&krate, of), fields, &keys, reached);
    quote! {
        #asserts
        #[automatically_derived]
        impl #impl_generics #krate::request::RequestQuery for #ident #where_clause {
            type Document = #document;
            const DECLARED: &'static #odm::request::Parameters = &#odm::request::Parameters {
                max_limit: #odm::request::limit(#max_limit),
                max_conditions: #odm::request::limit(#max_conditions),
                max_values: #odm::request::limit(#max_values),
                conditions: &[#(#parameters),*],
                sort: #sorted,
                pages: #pages,
            };
            fn read(given: &mut #odm::request::Given) -> Self {
                #ident { #read }
            }
        }
        #[automatically_derived]
        impl #odm::request::IntoParts<#of> for #ident {
            fn into_parts(self) -> #odm::request::Parts<#of> {
                #is_document
                let paths = <#of as #odm::NamedDocument>::paths();
                #odm::request::Parts {
                    filter: #odm::Filter::and([#(#filters),*]),
                    sort: #sort_part,
                    page: #page_part,
                }
            }
        }
    }
}

/// That an index serves each field, and that it can be sorted by.
fn asserts(
    container: &Container,
    (krate, of): (&Path, &Path),
    fields: &[Declared],
    keys: &[(String, Reached, Span)],
    reached: impl Fn(&Declared) -> Option<Reached>,
) -> TokenStream {
    let odm = quote!(#krate::__private::request);
    let query = container.ident.unraw().to_string();
    // Each in a constant of its own, so that the compiler reports all of them.
    let message = |span: Span, call: TokenStream| {
        quote_spanned! {span=>
            const _: () = if let ::core::option::Option::Some(message) = #call {
                ::core::panic!("{}", message.as_str());
            };
        }
    };
    let mut out = TokenStream::new();
    for declared in fields {
        let (field, attrs) = declared;
        let (rust, span) = (&field.rust, field.ident().span());
        if let (Part::Condition, Some(reached)) = (Part::of(field), reached(declared)) {
            let path = closure(krate, of, &reached, span);
            out.extend(message(
                span,
                quote_spanned!(span=> #odm::hidden::<#of, _, _, _, _>(&#path, #query, #rust)),
            ));
        }
        match (Part::of(field), reached(declared)) {
            (Part::Condition, Some(reached)) if !attrs.scan => {
                let (path, ty) = (closure(krate, of, &reached, span), field.ty);
                let by = quote!(<#ty as #odm::Conditions>::USE);
                out.extend(message(
                    span,
                    quote_spanned!(span=> #odm::unserved::<#of, _, _, _, _>(&#path, #by, #query, #rust)),
                ));
            }
            (Part::Sort, _) => {
                for (_, reached, span) in keys {
                    let span = *span;
                    let path = closure(krate, of, reached, span);
                    out.extend(message(
                        span,
                        quote_spanned!(span=> #odm::hidden::<#of, _, _, _, _>(&#path, #query, #rust)),
                    ));
                    out.extend(message(
                        span,
                        quote_spanned!(span=> #odm::several::<#of, _, _, _, _>(&#path, #query, #rust)),
                    ));
                    if !attrs.scan {
                        let by = quote!(#odm::Use::Sort);
                        out.extend(message(
                            span,
                            quote_spanned!(span=> #odm::unserved::<#of, _, _, _, _>(&#path, #by, #query, #rust)),
                        ));
                    }
                }
            }
            _ => {}
        }
    }
    out
}
