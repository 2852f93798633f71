//! The same of enums, of all four taggings, and of enums of documents.

use super::field::{Code, Part, names_of};
use super::implement::{embedded, items, read_items, read_row, value, write_fields};
use crate::ast::{Field, Style, Variant};
use crate::expand::Target;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// Where the name of a variant stands.
enum Tagging {
    External,
    Internal(String),
    Adjacent(String, String),
    Untagged,
}

fn tagging(target: &Target) -> Tagging {
    let serde = &target.container.serde;
    match (&serde.tag, &serde.content, serde.untagged) {
        (Some(tag), Some(content), _) => Tagging::Adjacent(tag.value(), content.value()),
        (Some(tag), None, _) => Tagging::Internal(tag.value()),
        (None, _, true) => Tagging::Untagged,
        (None, _, false) => Tagging::External,
    }
}

/// A variant with the constants of its fields.
struct Known<'a> {
    variant: &'a Variant<'a>,
    parts: Vec<Part<'a>>,
}

impl Known<'_> {
    /// Whether nothing is stored but its name.
    fn is_unit(&self) -> bool {
        match (self.variant.style, self.parts.first()) {
            (Style::Unit, _) => true,
            (Style::Newtype, Some(part)) => part.field.skipped(),
            _ => false,
        }
    }
}

/// `#[derive(Embed)]` of an enum.
pub fn of_enum(target: &Target, variants: &[Variant]) -> TokenStream {
    let stored = variants.iter().filter(|variant| !variant.serde.skip);
    let all: Vec<&Field> = stored.flat_map(|variant| &variant.fields).collect();
    let mut code = Code::new(target, &all);
    let tagging = tagging(target);
    let known: Vec<Known> = variants
        .iter()
        .map(|variant| Known {
            variant,
            parts: constants(&mut code, variant, &tagging),
        })
        .collect();
    let fields = {
        let arms = arms(&mut code, &known, |code, known| {
            among_others(code, known, &tagging)
        });
        write_fields(
            &code,
            &quote!(match self { #arms } ::core::result::Result::Ok(())),
        )
    };
    let rest = match &tagging {
        Tagging::External => external(&mut code, &known),
        Tagging::Internal(tag) => internal(&mut code, &known, tag),
        Tagging::Adjacent(tag, content) => adjacent(&mut code, &known, tag, content),
        Tagging::Untagged => untagged(&mut code, &known),
    };
    code.finish(&quote!(#fields #rest))
}

fn constants<'a>(code: &mut Code, variant: &'a Variant<'a>, tagging: &Tagging) -> Vec<Part<'a>> {
    let none = |field| Part {
        field,
        constant: None,
    };
    if variant.serde.skip {
        return variant.fields.iter().map(none).collect();
    }
    match variant.style {
        Style::Named => code.parts(&variant.fields),
        Style::Tuple => items(code, &variant.fields),
        Style::Unit => Vec::new(),
        Style::Newtype => {
            let key = match tagging {
                Tagging::Adjacent(_, content) => content,
                _ => &variant.name,
            };
            let is_beside = matches!(tagging, Tagging::Internal(_));
            let field = variant.fields.iter();
            field
                .map(|field| {
                    let ty = field.ty;
                    let has_own = !is_beside && !field.skipped();
                    let constant = has_own.then(|| code.constant(field, &quote!(#ty), key));
                    Part { field, constant }
                })
                .collect()
        }
    }
}

/// One arm for each variant, in which its fields are `v0`, `v1` and so on.
fn arms(
    code: &mut Code,
    known: &[Known],
    mut arm: impl FnMut(&mut Code, &Known) -> TokenStream,
) -> TokenStream {
    let ident = code.target.container.ident;
    let stored = code.stored.clone();
    known
        .iter()
        .map(|known| {
            let name = known.variant.ident;
            if known.variant.serde.skip {
                let never = quote!(#stored::Fault::other("this variant is never stored"));
                return quote!(#ident::#name { .. } => return ::core::result::Result::Err(#never),);
            }
            let fields = bound(known);
            let arm = arm(code, known);
            quote!(#ident::#name { #(#fields),* } => { #arm })
        })
        .collect()
}

/// `name: v0`, for each of its fields.
fn bound(known: &Known) -> Vec<TokenStream> {
    let fields = known.parts.iter().enumerate();
    fields
        .map(|(i, part)| {
            let (name, bound) = (place(part.field, i), format_ident!("v{i}"));
            if part.field.skipped() {
                quote!(#name: _)
            } else {
                quote!(#name: #bound)
            }
        })
        .collect()
}

fn place(field: &Field, i: usize) -> syn::Member {
    match field.ident() {
        Some(ident) => syn::Member::Named(ident.clone()),
        None => syn::Member::Unnamed(syn::Index::from(i)),
    }
}

/// The statements that write its fields, one behind the other.
fn parts_written(code: &mut Code, known: &Known) -> TokenStream {
    let fields = known.parts.iter().enumerate();
    fields
        .map(|(i, part)| {
            let bound = format_ident!("v{i}");
            code.write(part.field, &quote!(#bound), part.constant.as_ref())
        })
        .collect()
}

/// The statements that write what it carries, as a value under this name.
fn under(code: &mut Code, known: &Known, name: &TokenStream) -> TokenStream {
    let stored = code.stored.clone();
    let written = parts_written(code, known);
    match known.variant.style {
        _ if known.is_unit() => {
            quote!(#stored::Stored::write(&(), #name, ::core::option::Option::None, out)?;)
        }
        Style::Unit | Style::Newtype => written,
        Style::Named => quote! {
            let begin = out.begin_document(#name);
            #written
            out.end(begin);
        },
        Style::Tuple => quote! {
            let begin = out.begin_array(#name);
            #written
            out.end(begin);
        },
    }
}

/// A name as it is written.
fn name(code: &Code, text: &str) -> TokenStream {
    let stored = &code.stored;
    quote!(const { &#stored::Name::of(#text) })
}

/// The statements that write it among the fields of a document.
fn among_others(code: &mut Code, known: &Known, tagging: &Tagging) -> TokenStream {
    let variant = &known.variant.name;
    match tagging {
        Tagging::External => {
            let name = name(code, variant);
            under(code, known, &name)
        }
        Tagging::Internal(tag) => {
            let (tag, written) = (name(code, tag), parts_written(code, known));
            quote!(out.tag(#tag, #variant); #written)
        }
        Tagging::Adjacent(tag, content) => {
            let (tag, content) = (name(code, tag), name(code, content));
            let written = (!known.is_unit()).then(|| under(code, known, &content));
            quote!(out.tag(#tag, #variant); #written)
        }
        Tagging::Untagged => match (known.variant.style, known.parts.first()) {
            (Style::Newtype, Some(part)) => {
                let (stored, ty) = (&code.stored, part.field.ty);
                quote!((#stored::ByType::<#ty>::FLAT.write)(v0, out)?;)
            }
            (Style::Tuple, _) => {
                let stored = &code.stored;
                let fault = quote!(#stored::Fault::other("an array can't stand among other fields"));
                let unused = (0..known.parts.len()).map(|i| format_ident!("v{i}"));
                quote!(let _ = (#(#unused),*); return ::core::result::Result::Err(#fault);)
            }
            _ => parts_written(code, known),
        },
    }
}

/// The variant that was found by its name, which is `variant`.
fn found(code: &mut Code, known: &[Known], tag: Option<&str>) -> TokenStream {
    let ident = code.target.container.ident;
    let arms: TokenStream = known
        .iter()
        .filter(|known| !known.variant.serde.skip)
        .map(|known| {
            let (names, name, stored) = (names_of(known.variant), known.variant.ident, &known.variant.name);
            let head = quote!(#ident::#name);
            let read = match (known.variant.style, known.parts.first()) {
                (
                    Style::Newtype,
                    Some(Part {
                        constant: Some(constant),
                        ..
                    }),
                ) => {
                    quote!(variant.value(#constant).map(#head))
                }
                (Style::Newtype, Some(part)) => {
                    let value = code.left_out(part.field);
                    quote!(variant.unit().map(|()| #head(#value)))
                }
                (Style::Named, _) => {
                    let made = code.made(&head, &known.parts, &TokenStream::new());
                    quote!(variant.fields(#stored, |fields| #made))
                }
                (Style::Tuple, _) => {
                    let items = read_items(code, &known.parts);
                    quote!(variant.items(#stored, |items| ::core::result::Result::Ok(#head(#items))))
                }
                _ => quote!(variant.unit().map(|()| #head)),
            };
            quote!(#names => #read,)
        })
        .collect();
    let unknown = unknown(code, known, tag);
    quote!(match variant.name() { #arms _ => #unknown })
}

fn all_names(known: &[Known]) -> TokenStream {
    let stored = known.iter().filter(|known| !known.variant.serde.skip);
    let names =
        stored.flat_map(|known| std::iter::once(&known.variant.name).chain(&known.variant.serde.aliases));
    quote!(&[#(#names),*])
}

/// The error of a name that no variant has; it stands in the field with the tag, if there is one.
fn unknown(code: &Code, known: &[Known], tag: Option<&str>) -> TokenStream {
    let (stored, names) = (&code.stored, all_names(known));
    let at = tag.map(|tag| quote!(.at(#stored::Step::Field(#tag))));
    quote!(::core::result::Result::Err(#stored::Fault::unknown_variant(#names) #at))
}

/// The function that makes a value of the variant that was found.
fn reads_found(code: &mut Code, known: &[Known], tag: Option<&str>) -> TokenStream {
    let found = found(code, known, tag);
    let (stored, this) = (&code.stored, &code.target.this);
    let function = quote! {
        fn read(variant: #stored::Variant<'_>) -> #stored::Read<#this> {
            #found
        }
    };
    code.add(function);
    code.path(&format_ident!("read"))
}

fn external(code: &mut Code, known: &[Known]) -> TokenStream {
    let ident = code.target.container.ident;
    let (read, names) = (reads_found(code, known, None), all_names(known));
    let stored = code.stored.clone();
    let is_unit = |known: &&Known| known.is_unit() && !known.variant.serde.skip;
    let units: TokenStream = known
        .iter()
        .filter(is_unit)
        .map(|known| {
            let (variant, name) = (known.variant.ident, &known.variant.name);
            quote!(#ident::#variant { .. } => out.tag(name, #name),)
        })
        .collect();
    let others = known
        .iter()
        .any(|known| !is_unit(&known))
        .then(|| quote!(_ => return #stored::embedded(self, name, bound, out),));
    let write = quote! {
        match self { #units #others }
        out.check_parts(bound);
        ::core::result::Result::Ok(())
    };
    let write = if units.is_empty() {
        quote!(#stored::embedded(self, name, bound, out))
    } else {
        write
    };
    let value = value(
        code,
        &write,
        &quote!(#read(#stored::external(kind, input)?)),
        None,
    );
    let row = read_row(code, &quote!(#read(fields.variant(#names)?)));
    quote!(#value #row)
}

fn adjacent(code: &mut Code, known: &[Known], tag: &str, content: &str) -> TokenStream {
    let (odm, read) = (code.target.odm.clone(), reads_found(code, known, Some(tag)));
    let finish = code
        .target
        .container
        .serde
        .deny_unknown_fields
        .then(|| quote!(fields.finish(const { &#odm::Names { own: &[#tag, #content], within: &[] } })?;));
    let row = read_row(
        code,
        &quote! {
            let variant = fields.adjacent(#tag, #content)?;
            #finish
            #read(variant)
        },
    );
    let value = embedded(code);
    quote!(#row #value)
}

fn internal(code: &mut Code, known: &[Known], tag: &str) -> TokenStream {
    let (row, value) = (internal_row(code, known, tag), embedded(code));
    quote!(#row #value)
}

fn internal_row(code: &mut Code, known: &[Known], tag: &str) -> TokenStream {
    let ident = code.target.container.ident;
    let arms: TokenStream = known
        .iter()
        .filter(|known| !known.variant.serde.skip)
        .map(|known| {
            let (names, name) = (names_of(known.variant), known.variant.ident);
            let head = quote!(#ident::#name);
            let read = match (known.variant.style, known.parts.first()) {
                (Style::Newtype, Some(part)) if !part.field.skipped() => {
                    let (stored, ty) = (&code.stored, part.field.ty);
                    quote!(#stored::ByType::<#ty>::FLAT.read_tagged(fields).map(#head))
                }
                (Style::Newtype, Some(part)) => {
                    let value = code.left_out(part.field);
                    quote!(::core::result::Result::Ok(#head(#value)))
                }
                (Style::Named, _) => code.made(&head, &known.parts, &TokenStream::new()),
                _ => quote!(::core::result::Result::Ok(#head)),
            };
            quote!(#names => #read,)
        })
        .collect();
    let unknown = unknown(code, known, Some(tag));
    read_row(code, &quote!(match fields.tag(#tag)? { #arms _ => #unknown }))
}

fn untagged(code: &mut Code, known: &[Known]) -> TokenStream {
    let ident = code.target.container.ident;
    let stored = code.stored.clone();
    let written = arms(code, known, |code, known| {
        match (known.variant.style, known.parts.first()) {
            (
                Style::Newtype,
                Some(Part {
                    constant: Some(constant),
                    ..
                }),
            ) => {
                quote!(#constant.write_alone(v0, name, bound, out)?;)
            }
            (Style::Unit | Style::Newtype, _) => quote!(#stored::Stored::write(&(), name, bound, out)?;),
            _ => {
                let written = under(code, known, &quote!(name));
                quote!(#written out.check_parts(bound);)
            }
        }
    });
    let attempts: TokenStream = known
        .iter()
        .filter(|known| !known.variant.serde.skip)
        .map(|known| {
            let name = known.variant.ident;
            let head = quote!(#ident::#name);
            let read = match (known.variant.style, known.parts.first()) {
                (
                    Style::Newtype,
                    Some(Part {
                        constant: Some(constant),
                        ..
                    }),
                ) => {
                    quote!(#constant.value_of(kind, input).map(#head))
                }
                (Style::Newtype, Some(part)) => {
                    let value = code.left_out(part.field);
                    quote!(#stored::unit(kind, input).map(|()| #head(#value)))
                }
                (Style::Named, _) => {
                    let made = code.made(&head, &known.parts, &TokenStream::new());
                    quote!(#stored::named(kind, input, |fields| #made))
                }
                (Style::Tuple, _) => {
                    let items = read_items(code, &known.parts);
                    quote!({
                        let items = &mut #stored::Items::of(kind, input)?;
                        ::core::result::Result::Ok(#head(#items))
                    })
                }
                _ => quote!(#stored::unit(kind, input).map(|()| #head)),
            };
            quote! {
                if let ::core::option::Option::Some(made) = variants.attempt(|kind, input| #read) {
                    return ::core::result::Result::Ok(made);
                }
            }
        })
        .collect();
    let read = quote! {
        let mut variants = #stored::Untagged::of(kind, input)?;
        loop {
            #attempts
            if !variants.again() {
                return ::core::result::Result::Err(variants.fault());
            }
        }
    };
    let write = quote! {
        match self { #written }
        ::core::result::Result::Ok(())
    };
    let value = value(code, &write, &read, None);
    let row = read_row(code, &quote!(fields.as_one()));
    quote!(#value #row)
}

/// An enum of documents: each with the name of its variant before its fields.
pub fn of_documents(target: &Target, variants: &[Variant], tag: &str) -> TokenStream {
    let mut code = Code::new(target, &[]);
    let tagging = Tagging::Internal(tag.to_owned());
    let known: Vec<Known> = variants
        .iter()
        .map(|variant| Known {
            variant,
            parts: constants(&mut code, variant, &tagging),
        })
        .collect();
    let arms = arms(&mut code, &known, |code, known| {
        among_others(code, known, &tagging)
    });
    let fields = write_fields(
        &code,
        &quote!(match self { #arms } ::core::result::Result::Ok(())),
    );
    let rest = internal_row(&mut code, &known, tag);
    code.finish(&quote!(#fields #rest))
}
