//! `#[reference(any(Photo, Video))] media: MediaRef`: the enum of the references, and the enum `Media` of the documents that
//! a join gives for them.

use super::{Target, if_serde, stored};
use crate::ast::{Container, Data};
use crate::attr::reference::Reference;
use crate::ctxt::Ctxt;
use crate::ty;
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Ident, Path, Type, Visibility};

/// A union as a field declares it.
pub struct Union<'a> {
    /// `MediaRef`.
    pub ident: &'a Ident,
    /// `Media`.
    pub loaded: Ident,
    pub documents: Vec<(&'a Ident, &'a Path)>,
}

impl<'a> Union<'a> {
    /// The union that a field's attribute lists, if its type can be named by it.
    pub fn of(ty: &'a Type, declared: &'a Reference) -> Option<Union<'a>> {
        let any = declared.any.as_ref().filter(|any| !any.documents.is_empty())?;
        let ident = ty::union(ty)?;
        let text = ident.unraw().to_string();
        let mut documents: Vec<(&Ident, &Path)> = Vec::new();
        for path in &any.documents {
            if let Some(last) = path.segments.last()
                && !documents.iter().any(|(ident, _)| **ident == last.ident)
            {
                documents.push((&last.ident, path));
            }
        }
        Some(Union {
            ident,
            loaded: Ident::new(text.strip_suffix("Ref")?, ident.span()),
            documents,
        })
    }

    /// How the reference is written and read: as the enum that is defined below.
    fn coded(&self, krate: &Path, refs: &[TokenStream]) -> TokenStream {
        let ident = self.ident;
        let variants = self.documents.iter().map(|(variant, _)| *variant);
        let input: syn::DeriveInput = syn::parse_quote! {
            #[serde(tag = "type", content = "id")]
            enum #ident {
                #(#variants(#refs)),*
            }
        };
        let cx = Ctxt::new();
        let container = Container::read(&cx, &input);
        let _ = cx.check(); // nothing is wrong with it
        match &container.data {
            Data::Enum(variants) => stored::of_enum(&Target::new(&container, Some(krate.clone())), variants),
            _ => TokenStream::new(),
        }
    }

    /// Both enums and what is implemented for them.
    pub fn define(&self, vis: &Visibility, krate: &Path) -> TokenStream {
        let odm = quote!(#krate::__private);
        let serde = ty::text(quote!(#odm::serde));
        let Union {
            ident,
            loaded,
            documents,
        } = self;
        let name = ident.unraw().to_string();
        let variants: Vec<&Ident> = documents.iter().map(|(variant, _)| *variant).collect();
        let paths: Vec<&Path> = documents.iter().map(|(_, path)| *path).collect();
        let tags: Vec<String> = variants
            .iter()
            .map(|variant| variant.unraw().to_string())
            .collect();
        let texts: Vec<String> = paths
            .iter()
            .map(|path| format!("Ref<{}>", ty::text(path)))
            .collect();
        // With the span of the document's name, for which the compiler may have something to say.
        let documents: Vec<TokenStream> = paths
            .iter()
            .map(|path| quote_spanned!(syn::spanned::Spanned::span(path)=> #path))
            .collect();
        let are_documents = paths.iter().map(|path| {
            let span = syn::spanned::Spanned::span(path);
            quote_spanned!(span=> #odm::check::document::<#path>())
        });
        let refs: Vec<TokenStream> = documents.iter().map(|path| quote!(#odm::Ref<#path>)).collect();
        let (doc, loaded_doc) = (
            format!(
                "A reference to one of several documents, stored as `{{ type, id }}`. A join gives [`{loaded}`]."
            ),
            format!("What a [`{ident}`] refers to."),
        );
        let each = |make: &dyn Fn(&Ident) -> TokenStream| -> TokenStream {
            variants.iter().map(|v| make(v)).collect()
        };
        let eq = each(&|v| {
            quote! {
                (#loaded::#v(a), #loaded::#v(b)) => #odm::Only::<'_, '_, _, 0>::new(a) == #odm::Only::<'_, '_, _, 0>::new(b),
            }
        });
        let debug = each(&|v| {
            let name = v.unraw().to_string();
            quote! {
                #loaded::#v(document) => f.debug_tuple(#name).field(&#odm::Only::<'_, '_, _, 0>::new(document)).finish(),
            }
        });
        let coded = self.coded(krate, &refs);
        let (bounds, with) = (if_serde::bounds(&odm, &refs), if_serde::field(&odm));
        let with = std::iter::repeat_n(with, refs.len());
        let hash = variants.iter().enumerate().map(|(i, v)| {
            quote! {
                #ident::#v(reference) => {
                    ::core::hash::Hash::hash(&#i, state);
                    ::core::hash::Hash::hash(&#odm::Only::<'_, '_, _, 0>::new(reference), state);
                }
            }
        });
        quote! {
            #[doc = #doc]
            #[derive(
                ::core::clone::Clone, ::core::fmt::Debug, ::core::cmp::PartialEq,
                #odm::serde::Serialize, #odm::serde::Deserialize,
            )]
            #[serde(crate = #serde, tag = "type", content = "id")]
            #bounds
            #vis enum #ident {
                #(
                    #[allow(missing_docs)]
                    #with
                    #variants(#refs),
                )*
            }

            #coded

            #[doc = #loaded_doc]
            #[derive(::core::clone::Clone)]
            #[allow(clippy::large_enum_variant, private_interfaces)]
            #vis enum #loaded {
                #(
                    #[allow(missing_docs)]
                    #variants(#documents),
                )*
            }

            // Each as far as the documents and their ids can do it.
            #[automatically_derived]
            impl<'odm> ::core::cmp::Eq for #ident
            where
                #(for<'x> #odm::Only<'x, 'odm, #refs>: ::core::cmp::Eq,)*
            {
            }
            #[automatically_derived]
            impl<'odm> ::core::hash::Hash for #ident
            where
                #(for<'x> #odm::Only<'x, 'odm, #refs>: ::core::hash::Hash,)*
            {
                fn hash<__H: ::core::hash::Hasher>(&self, state: &mut __H) {
                    match self {
                        #(#hash)*
                    }
                }
            }
            #[automatically_derived]
            impl<'odm> ::core::cmp::PartialEq for #loaded
            where
                #(for<'x> #odm::Only<'x, 'odm, #documents>: ::core::cmp::PartialEq,)*
            {
                fn eq(&self, other: &Self) -> bool {
                    match (self, other) {
                        #eq
                        #[allow(unreachable_patterns)]
                        _ => false,
                    }
                }
            }
            #[automatically_derived]
            impl<'odm> ::core::fmt::Debug for #loaded
            where
                #(for<'x> #odm::Only<'x, 'odm, #documents>: ::core::fmt::Debug,)*
            {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    match self {
                        #debug
                    }
                }
            }

            #(
                #[automatically_derived]
                impl ::core::convert::From<#refs> for #ident {
                    fn from(reference: #refs) -> Self {
                        #ident::#variants(reference)
                    }
                }
                #[automatically_derived]
                impl #odm::PointsTo<#documents> for #ident {}
            )*

            #[automatically_derived]
            impl #odm::Varied for #ident {
                const SHAPE: &'static #odm::EnumShape = &#odm::EnumShape {
                    ty: ::core::option::Option::Some(::core::any::type_name::<#ident>),
                    name: #name,
                    tagging: #odm::Tagging::Adjacent("type", "id"),
                    variants: &[#(
                        #odm::VariantMeta {
                            name: #tags,
                            json: ::core::option::Option::None,
                            body: #odm::Body::Newtype(
                                &#odm::FieldMeta::value::<#refs>("0", "0", #texts, #odm::Bounds::NONE),
                            ),
                        },
                    )*],
                };
            }
            #[automatically_derived]
            impl #odm::Compared for #ident {
                type As = #odm::ByValue;
            }
            #[automatically_derived]
            impl #odm::Value for #ident {
                const SIZE: #odm::Size = #odm::Size::known(#odm::size::variants(<#ident as #odm::Varied>::SHAPE));
                const REFERENCE: bool = true;
                fn shape() -> #odm::Shape {
                    #odm::Shape::Enum(<#ident as #odm::Varied>::SHAPE)
                }
            }
            #[automatically_derived]
            impl #odm::Pointer for #ident {
                const TARGETS: &'static [#odm::TargetMeta] = &[#(
                    #odm::TargetMeta {
                        tag: #tags,
                        document: || <#documents as #odm::NamedDocument>::META,
                    },
                )*];
                const UNION: bool = true;
            }
            #odm::reference_of_one!([] #ident);
            #[automatically_derived]
            impl #odm::Wrapped for #ident {}
            #(
                #[automatically_derived]
                impl #odm::Wraps<#documents> for #ident {
                    fn wrap(reference: #refs) -> #odm::BsonResult<#odm::Bson> {
                        #odm::to_bson(&#ident::#variants(reference))
                    }
                }
            )*
            #[automatically_derived]
            impl #odm::check::ById for #ident {}
            #[automatically_derived]
            impl #odm::check::ToDocuments for #ident {}
            #(const _: () = #are_documents;)*

            #[automatically_derived]
            impl #odm::Load for #ident {
                type Loaded = #loaded;

                fn want(
                    value: #odm::RawBsonRef<'_>,
                    _: &'static str,
                    hop: &mut #odm::Hop,
                ) -> ::core::option::Option<#odm::Slot> {
                    #[allow(unused_imports)]
                    use #odm::NoneOf as _;
                    let (tag, id) = #odm::union_parts(value)?;
                    match tag {
                        #(#tags => #odm::OneOf::<#documents>::want(id, hop),)*
                        _ => ::core::option::Option::None,
                    }
                }

                fn get(slot: #odm::Slot, hop: &mut #odm::Hop) -> ::core::option::Option<#loaded> {
                    #[allow(unused_imports)]
                    use #odm::NoneOf as _;
                    // Only one of them has asked for what the slot names.
                    #(
                        if let ::core::option::Option::Some(document) = #odm::OneOf::<#documents>::get(slot, hop) {
                            return ::core::option::Option::Some(#loaded::#variants(document));
                        }
                    )*
                    ::core::option::Option::None
                }
            }
            #[automatically_derived]
            impl #odm::LoadById for #ident {}
        }
    }
}

/// The unions of several fields, each once.
pub fn define<'a>(
    fields: impl IntoIterator<Item = (&'a Type, &'a Reference)>,
    vis: &Visibility,
    krate: &Path,
) -> TokenStream {
    let unions = all(fields);
    unions.iter().map(|union| union.define(vis, krate)).collect()
}

/// The same where something is wrong with the type that declares them.
pub fn define_anyway<'a>(
    fields: impl IntoIterator<Item = (&'a Type, &'a Reference)>,
    vis: &Visibility,
    krate: &Path,
) -> TokenStream {
    let mut unions = all(fields);
    for union in &mut unions {
        // Its name may be what is wrong.
        union.loaded = format_ident!("__{}", union.loaded.unraw());
    }
    unions.iter().map(|union| union.define(vis, krate)).collect()
}

fn all<'a>(fields: impl IntoIterator<Item = (&'a Type, &'a Reference)>) -> Vec<Union<'a>> {
    let mut all: Vec<Union> = Vec::new();
    for (ty, declared) in fields {
        if let Some(union) = Union::of(ty, declared)
            && !all.iter().any(|other| other.ident == union.ident)
        {
            all.push(union);
        }
    }
    all
}
