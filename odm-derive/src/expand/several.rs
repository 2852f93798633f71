//! An enum of documents in one collection, and what its variants have from it.

use super::meta::{self, InCollection};
use super::variants::path_ident;
use super::{Target, codec, copy, fielded, generics, index, names, paths, reference, stored, targets};
use crate::ast::{Container, Data, Style};
use crate::attr::document::Document;
use crate::ctxt::Ctxt;
use crate::{check, fallback};
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{DeriveInput, Ident, Path, Type};

pub fn derive(cx: Ctxt, input: &DeriveInput, document: &Document) -> TokenStream {
    let mut container = Container::read(&cx, input);
    if container.serde.tag.is_none() {
        container.serde.tag = Some(syn::LitStr::new("type", input.ident.span()));
        container.has_own_form = true;
    }
    let container = container;
    let fields = common(
        input,
        document,
        &document.krate.clone().unwrap_or_else(super::default_crate),
    );
    let common = Container::document(&cx, &fields, document);
    check::several(&cx, &container, &common, document);
    match cx.check() {
        Ok(()) => expand(&container, &common, document),
        Err(error) => fallback::several(&container, &common, document, &error),
    }
}

/// The struct of the fields that all variants have: the id, and those of `common(…)`.
fn common(input: &DeriveInput, document: &Document, krate: &Path) -> DeriveInput {
    let (vis, ident) = (&input.vis, &input.ident);
    let mut fields: Vec<syn::Field> = document.common.iter().flat_map(|at| at.value.clone()).collect();
    for field in &mut fields {
        if matches!(field.vis, syn::Visibility::Inherited) {
            field.vis = vis.clone();
        }
    }
    let is_id = |field: &syn::Field| field.ident.as_ref().is_some_and(|name| name == "id");
    let variants = match &input.data {
        syn::Data::Enum(data) => data.variants.iter().collect(),
        _ => Vec::new(),
    };
    let of_variant = |variant: &&syn::Variant| match &variant.fields {
        syn::Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Some(fields.unnamed[0].ty.clone()),
        _ => None,
    };
    let types: Vec<Type> = variants.iter().filter_map(of_variant).collect();
    let odm = quote!(#krate::__private);
    let id = match types.iter().find(|ty| !crate::ty::is_known(ty)) {
        Some(ty) => Some(quote_spanned!(ty.span()=> <#ty as #odm::Identified>::Id)),
        // Of variants that are visibly no documents an error says so.
        None => (!types.is_empty()).then(|| quote!(#odm::ObjectId)),
    };
    let id = id
        .filter(|_| !fields.iter().any(is_id))
        .map(|id| quote!(#[serde(rename = "_id")] #vis id: #id,));
    syn::parse_quote! {
        #vis struct #ident {
            #id
            #(#fields),*
        }
    }
}

/// A variant: its name in Rust and as it is stored, and its document.
pub struct Variant<'a> {
    ast: &'a crate::ast::Variant<'a>,
    ident: &'a Ident,
    name: &'a str,
    ty: &'a Type,
}

pub fn each<'a>(container: &'a Container<'a>) -> Vec<Variant<'a>> {
    let Data::Enum(variants) = &container.data else {
        return Vec::new();
    };
    let with_one = variants.iter().filter_map(|variant| {
        let [field] = variant.fields.as_slice() else {
            return None;
        };
        // Of a type that is visibly no document an error says so.
        if variant.style != Style::Newtype || crate::ty::is_known(field.ty) {
            return None;
        }
        Some(Variant {
            ast: variant,
            ident: variant.ident,
            name: &variant.name,
            ty: field.ty,
        })
    });
    with_one.collect()
}

/// Of variants of one type or with paths of one name the first, and none whose paths are called like a common field.
pub fn distinct<'a>(variants: Vec<Variant<'a>>, common: &Container) -> Vec<Variant<'a>> {
    let mut distinct: Vec<Variant> = Vec::new();
    for variant in variants {
        let (path, text) = (variant.ast.path(), crate::ty::text(variant.ty));
        let is_taken = common.fields().iter().any(|field| field.rust == path)
            || distinct
                .iter()
                .any(|other| other.ast.path() == path || crate::ty::text(other.ty) == text);
        if !is_taken {
            distinct.push(variant);
        }
    }
    distinct
}

/// The stored name of the field with the name of the variant.
pub fn tag(container: &Container) -> String {
    let tag = container.serde.tag.as_ref();
    tag.map(syn::LitStr::value).unwrap_or_default()
}

fn expand(container: &Container, common: &Container, declared: &Document) -> TokenStream {
    let mut target = Target::new(common, declared.krate.clone());
    target.unique = meta::unique(common, declared);
    target.tag = Some(tag(container));
    let variants = each(container);
    let managed = |field: &crate::ast::Field| meta::managed(&common.roles, field);
    let paths = define_paths(&target, declared, &variants);
    let codecs = codec::define(&target);
    let fielded = fielded::implement(&target, managed);
    let value = meta::never_embedded(&target);
    let new = new(&target, container, declared, &variants);
    let implementation = implement(&target, container, declared, &variants);
    let insertable = insertable(&target, declared, &variants);
    let targets = targets::targets(&target, &generics::document(&target));
    let references = reference::checks(&target, &target.fields);
    let checks = checks(&target, container, declared, &variants);
    let order = meta::id_order(&target, declared);
    let coded = match &container.data {
        Data::Enum(variants) => stored::of_documents(&target, variants, &tag(container)),
        _ => TokenStream::new(),
    };
    let variants = variants_of(&target, container, &variants);
    quote! {
        #paths
        #codecs
        #new
        #fielded
        #value
        #implementation
        #insertable
        #targets
        #references
        #checks
        #order
        #coded
        #variants
    }
}

/// The document of a variant as one of the enum's, named where its type is written.
fn as_variant(target: &Target, variant: &Variant) -> TokenStream {
    let (odm, this, ty) = (&target.odm, &target.this, variant.ty);
    quote_spanned!(ty.span()=> <#ty as #odm::several::StoredWith<#this>>)
}

/// The type of what the application supplies of a variant.
fn new_of(target: &Target, variant: &Variant) -> TokenStream {
    let (odm, ty) = (&target.odm, variant.ty);
    quote_spanned!(ty.span()=> <#ty as #odm::Identified>::New)
}

/// `NewEvent`: what the application supplies of one of the variants.
pub fn new(target: &Target, container: &Container, declared: &Document, variants: &[Variant]) -> TokenStream {
    let (vis, ident) = (container.vis, target.new_ident());
    let derives: Vec<&Path> = declared.new_derives.iter().chain(&declared.derives).collect();
    let derives = (!derives.is_empty()).then(|| quote!(#[derive(#(#derives),*)]));
    let doc = format!(
        "A new [`{}`]: what the application supplies to insert one.",
        container.name()
    );
    let each = variants.iter().map(|variant| {
        let (name, new) = (variant.ident, new_of(target, variant));
        quote!(#name(#new),)
    });
    quote! {
        #[doc = #doc]
        #[allow(missing_docs, dead_code, private_interfaces)]
        #derives
        #vis enum #ident {
            #(#each)*
        }
    }
}

/// One arm for each variant, with its document in `document`.
fn arms(target: &Target, variants: &[Variant], arm: impl Fn(&Variant) -> TokenStream) -> TokenStream {
    let ident = target.container.ident;
    let arms = variants.iter().map(|variant| {
        let (name, arm) = (variant.ident, arm(variant));
        quote!(#ident::#name(document) => #arm,)
    });
    quote!(#(#arms)*)
}

fn implement(
    target: &Target,
    container: &Container,
    declared: &Document,
    variants: &[Variant],
) -> TokenStream {
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let (ident, new) = (container.ident, target.new_ident());
    let id = target
        .fields
        .iter()
        .find(|field| target.container.roles.is_id(field));
    let id_ty = id.map(|field| field.ty);
    let span = variants.first().map(|variant| variant.ty).span();
    let identified = id_ty.map(|ty| targets::identified(target, ty, &quote!(#new), span));
    let paths = paths::ty(target, quote!(#this), quote!(#odm::Root));
    let paths_value = paths_value(target, variants);
    let shape = implement_shape(target, container, variants);
    let several = several(target, container, variants);
    let constants = meta::meta(
        target,
        declared,
        &InCollection::declared(target, declared, several),
    );
    let sizes = variants.iter().map(|variant| {
        let one = as_variant(target, variant);
        quote!(#one::VARIANT_SIZE)
    });
    let indexes = variants.iter().map(|variant| {
        let (name, one) = (variant.name, as_variant(target, variant));
        quote! {
            #odm::OtherIndexes {
                variant: ::core::option::Option::Some(#name),
                indexes: #one::VARIANT_META.indexes,
            }
        }
    });
    let of = |method: TokenStream| {
        arms(target, variants, |variant| {
            let one = as_variant(target, variant);
            quote!(#one::#method)
        })
    };
    let (ids, touched) = (
        of(quote!(variant_id(document))),
        of(quote!(variant_touch(document, now))),
    );
    let (versions, set) = (
        of(quote!(variant_version(document))),
        of(quote!(variant_set_version(document, version))),
    );
    let fresh = variants.iter().map(|variant| {
        let (name, one) = (variant.ident, as_variant(target, variant));
        quote!(#new::#name(new) => #odm::several::fresh(#one::variant_fresh(new, now), #ident::#name),)
    });
    let from_new = variants.iter().map(|variant| {
        let (name, one) = (variant.ident, as_variant(target, variant));
        quote!(#new::#name(new) => #ident::#name(#one::variant_from_new(new, now)),)
    });
    let one_name = names::checks_of_struct(target).item;
    let keys = index::any_key(target, &syn::Generics::default());
    let ways = copy::no_ways(target);
    quote! {
        #shape
        #ways
        #identified
        #[automatically_derived]
        impl #odm::Paths for #paths {
            type Document = #this;
        }
        #[automatically_derived]
        impl #krate::Document for #this {
            type Paths = #paths;
            const MAX_BSON_SIZE: ::core::option::Option<u64> = #odm::several::greatest(&[#(#sizes),*]);
            const KIND: #odm::several::Kind = #odm::several::Kind::Enum;
            const META: &'static #odm::DocumentMeta = #constants;
            const OTHER_INDEXES: &'static [#odm::OtherIndexes] = &[#(#indexes),*];
            fn paths() -> #paths {
                #paths_value
            }
            fn id(&self) -> &#id_ty {
                match self { #ids }
            }
            fn fresh(new: #new, now: #odm::DateTime) -> #odm::Fresh<Self> {
                match new { #(#fresh)* }
            }
            fn touch(&mut self, now: #odm::DateTime) {
                match self { #touched }
            }
            fn version(&self) -> ::core::option::Option<i64> {
                match self { #versions }
            }
            fn set_version(&mut self, version: i64) {
                match self { #set }
            }
        }
        #keys
        #[automatically_derived]
        impl #odm::FromNew for #this {
            fn from_new(new: #new, now: #odm::DateTime) -> Self {
                match new { #(#from_new)* }
            }
        }
        #one_name
    }
}

/// The documents as they are stored, by their variants.
fn implement_shape(target: &Target, container: &Container, variants: &[Variant]) -> TokenStream {
    implement_shape_of(target, container, variants, |variant| {
        let one = as_variant(target, variant);
        quote!(#one::VARIANT_FIELDS)
    })
}

/// The same with the fields of each variant.
pub fn implement_shape_of(
    target: &Target,
    container: &Container,
    variants: &[Variant],
    fields: impl Fn(&Variant) -> TokenStream,
) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let (name, tag) = (container.name(), tag(container));
    let shapes = variants.iter().map(|variant| {
        let (name, ty, fields) = (variant.name, variant.ty, fields(variant));
        let rust = variant.ident.unraw().to_string();
        let json = super::enums::json_name(variant.ast);
        quote! {
            #odm::VariantMeta {
                name: #name,
                json: #json,
                body: #odm::Body::Struct(&#odm::StructShape {
                    ty: ::core::option::Option::Some(::core::any::type_name::<#ty>),
                    name: #rust,
                    fields: #fields,
                    deny_unknown: false,
                }),
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #odm::Varied for #this {
            const SHAPE: &'static #odm::EnumShape = &#odm::EnumShape {
                ty: ::core::option::Option::Some(::core::any::type_name::<#this>),
                name: #name,
                tagging: #odm::Tagging::Internal(#tag),
                variants: &[#(#shapes),*],
            };
        }
    }
}

/// The variants in the constants of the enum.
fn several(target: &Target, container: &Container, variants: &[Variant]) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let tag = tag(container);
    let documents = variants.iter().map(|variant| {
        let one = as_variant(target, variant);
        quote!(|| #one::VARIANT_META)
    });
    quote! {
        #odm::Several::Enum {
            tag: #tag,
            shape: <#this as #odm::Varied>::SHAPE,
            documents: &[#(#documents),*],
        }
    }
}

/// The paths of the common fields and of what is in the variants, and the question which one a document is.
pub fn define_paths(target: &Target, declared: &Document, variants: &[Variant]) -> TokenStream {
    let (odm, this, vis) = (&target.odm, &target.this, target.container.vis);
    let (ident, paths::Own { root, parent }) = (paths::ident(target), paths::own(target));
    let read_only = |field: &crate::ast::Field| {
        !meta::managed(&target.container.roles, field).is_empty() || declared.append_only.is_some()
    };
    let mut members = paths::members(target, this, &target.fields, read_only);
    let mut questions = TokenStream::new();
    for (number, variant) in variants.iter().enumerate() {
        let (path, ty, rust) = (
            path_ident(variant.ast),
            variant.ty,
            variant.ident.unraw().to_string(),
        );
        let doc = format!("The fields of `{rust}`.");
        members.push(quote! {
            #[doc = #doc]
            #vis #path: #odm::Flattened<#root, #ty, #odm::In<#parent, #this, #number>>,
        });
        let is = format_ident!("is_{}", variant.ast.path(), span = variant.ident.span());
        let doc = format!("The documents of the variant `{rust}`.");
        questions.extend(quote! {
            #[doc = #doc]
            #[allow(dead_code)]
            #vis fn #is(self) -> #odm::Filter<#root> {
                #odm::is_variant::<#root, #odm::In<#parent, #this, #number>>()
            }
        });
    }
    let doc = format!(
        "The typed paths of [`{}`]: those of the fields that all variants have, and of the variants.",
        target.container.name()
    );
    let define = paths::define_named(target, &ident, &doc, &members, members.is_empty());
    quote! {
        #define
        impl<#root: 'static, #parent: #odm::Step> #ident<#root, #parent> {
            #questions
        }
    }
}

/// Their only value.
fn paths_value(target: &Target, variants: &[Variant]) -> TokenStream {
    let odm = &target.odm;
    let common = target.fields.iter().map(|field| {
        let name = field.ident();
        quote!(#name: #odm::Path::NEW,)
    });
    let variants = variants.iter().map(|variant| {
        let path = path_ident(variant.ast);
        quote!(#path: #odm::Flattened::NEW,)
    });
    let members: Vec<TokenStream> = common.chain(variants).collect();
    paths::with_none(&paths::ident(target), &members, false)
}

/// Of a struct in the collection of an enum the paths below another step than the document itself.
pub fn nested(target: &Target, declared: &Document) -> Option<TokenStream> {
    declared.variant_of.as_ref()?;
    let (odm, this) = (&target.odm, &target.this);
    let (ty, value) = (paths::ty(target, quote!(__R), quote!(__P)), paths::value(target));
    Some(quote! {
        #[automatically_derived]
        impl #odm::Nested for #this {
            type Form = #odm::OfFields;
            type Fields<__R: 'static, __P: 'static> = #ty;
            fn fields<__R: 'static, __P: 'static>() -> &'static #ty {
                const { &#value }
            }
        }
    })
}

/// The types that the collection takes in an insertion, and that its documents can be replaced.
fn insertable(target: &Target, declared: &Document, variants: &[Variant]) -> TokenStream {
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let (new, of_variants) = (target.new_ident(), insertable_variants(target, variants));
    let replaceable = declared.append_only.is_none().then(|| {
        quote! {
            #[automatically_derived]
            impl #krate::__private::Replaceable for #this {}
        }
    });
    let deletable = quote! {
        #[automatically_derived]
        impl #krate::__private::Deletable for #this {}
    };
    let images = declared.pre_and_post_images.is_some().then(|| {
        quote! {
            #[automatically_derived]
            impl #krate::__private::PreAndPostImages for #this {}
        }
    });
    quote! {
        #replaceable
        #deletable
        #images
        #[automatically_derived]
        impl #krate::__private::Insertable<#this> for #this {
            fn fresh(self, _: #odm::DateTime) -> #odm::Fresh<#this> {
                #odm::Fresh::Whole(self)
            }
        }
        #[automatically_derived]
        impl #krate::__private::Insertable<#this> for #new {
            fn fresh(self, now: #odm::DateTime) -> #odm::Fresh<#this> {
                <#this as #krate::Document>::fresh(self, now)
            }
        }
        #of_variants
    }
}

/// That a document and a new one of each variant can be inserted.
fn insertable_variants(target: &Target, variants: &[Variant]) -> TokenStream {
    let (odm, ident) = (&target.odm, target.container.ident);
    insertable_variants_by(target, variants, |variant| {
        let (name, one) = (variant.ident, as_variant(target, variant));
        quote!(#odm::several::fresh(#one::variant_fresh(self, now), #ident::#name))
    })
}

/// The same with the expression that makes a document of a new variant.
pub fn insertable_variants_by(
    target: &Target,
    variants: &[Variant],
    fresh: impl Fn(&Variant) -> TokenStream,
) -> TokenStream {
    let (krate, odm, this, ident) = (&target.krate, &target.odm, &target.this, target.container.ident);
    let each = variants.iter().map(|variant| {
        let (name, ty, fresh) = (variant.ident, variant.ty, fresh(variant));
        let new = new_of(target, variant);
        // The compiler names the place of the header where the type is no document.
        quote_spanned! {ty.span()=>
            #[automatically_derived]
            #[allow(private_interfaces)]
            impl #krate::__private::Insertable<#this> for #ty {
                fn fresh(self, _: #odm::DateTime) -> #odm::Fresh<#this> {
                    #odm::Fresh::Whole(#ident::#name(self))
                }
            }
            #[automatically_derived]
            #[allow(private_interfaces)]
            impl #krate::__private::Insertable<#this> for #new {
                fn fresh(self, now: #odm::DateTime) -> #odm::Fresh<#this> {
                    #fresh
                }
            }
        }
    });
    quote!(#(#each)*)
}

/// Each variant is declared as one, has the common fields with their types, and an id of the same type.
fn checks(target: &Target, container: &Container, declared: &Document, variants: &[Variant]) -> TokenStream {
    let (odm, this) = (&target.odm, &target.this);
    let (name, tag) = (container.name(), tag(container));
    let append_only = declared.append_only.is_some();
    let each = variants.iter().map(|variant| {
        let (ty, span, one) = (variant.ty, variant.ty.span(), as_variant(target, variant));
        let rust = crate::ty::text(ty);
        let fields = target.fields.iter().map(|field| {
            let (own, field_ty) = (field.ident(), field.ty);
            let span = field_ty.span();
            if target.container.roles.is_id(field) {
                let id = quote!(#one::variant_id(document));
                quote_spanned!(span=> let _: &#field_ty = #id;)
            } else {
                quote_spanned!(span=> let _: &#field_ty = &document.#own;)
            }
        });
        let unlike = format!(
            "`append_only` is declared for `{rust}` or for `{name}` alone: write it on the enum and on all variants, or on none"
        );
        quote_spanned! {span=>
            const _: () = {
                #[allow(dead_code)]
                fn has_common_fields(document: &#ty) {
                    #(#fields)*
                }
            };
            const _: () = {
                if let ::core::option::Option::Some(message) = #odm::several::unlike(
                    (#name, <#this as #odm::Fielded>::FIELDS),
                    (#rust, #one::VARIANT_FIELDS),
                    #tag,
                ) {
                    ::core::panic!("{}", message.as_str());
                }
                if #one::VARIANT_META.append_only != #append_only {
                    ::core::panic!(#unlike);
                }
            };
        }
    });
    quote!(#(#each)*)
}

/// The tag and the name of each variant, for the struct, which does not see the enum.
pub fn variants_of(target: &Target, container: &Container, variants: &[Variant]) -> TokenStream {
    let (odm, this, tag) = (&target.odm, &target.this, tag(container));
    let mut seen: Vec<String> = Vec::new();
    let each = variants.iter().filter_map(|variant| {
        let (ty, name, text) = (variant.ty, variant.name, crate::ty::text(variant.ty));
        if seen.contains(&text) {
            return None;
        }
        seen.push(text);
        Some(quote! {
            #[automatically_derived]
            impl #odm::several::VariantOf<#this> for #ty {
                const TAG: &'static str = #tag;
                const NAME: &'static str = #name;
            }
        })
    });
    let each: Vec<TokenStream> = each.collect();
    quote!(#(#each)*)
}

/// That a struct stands in the collection of an enum.
pub fn stored_with(container: &Container, declared: &Document) -> Option<TokenStream> {
    let of = declared.variant_of.as_ref()?;
    if !container.generics.params.is_empty() {
        return None;
    }
    let target = Target::new(container, declared.krate.clone());
    let (odm, this) = (&target.odm, &target.this);
    Some(quote! {
        #[automatically_derived]
        impl #odm::several::StoredWith<#of> for #this {}
    })
}

/// The constants of the collection of a struct: its own, or that of the enum of which it is a variant.
pub fn place_of_struct(target: &Target, declared: &Document) -> InCollection {
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let Some(of) = &declared.variant_of else {
        return InCollection::declared(target, declared, quote!(#odm::Several::No));
    };
    let meta = quote!(<#of as #krate::Document>::META);
    let variant = quote_spanned!(of.span()=> <#this as #odm::several::VariantOf<#of>>);
    InCollection {
        name: quote!(#meta.collection),
        validation: quote!(#meta.validation),
        collation: quote!(#meta.collation),
        shared: quote!(#meta.shared),
        pre_and_post_images: quote!(#meta.pre_and_post_images),
        shard_key: quote!(#meta.shard_key),
        several: quote! {
            #odm::Several::Variant { tag: #variant::TAG, name: #variant::NAME, of: || #meta }
        },
    }
}

/// That a struct is a variant, and its size with the name of the variant.
pub fn constants_of_variant(target: &Target, declared: &Document) -> Option<TokenStream> {
    let of = declared.variant_of.as_ref()?;
    let (krate, odm, this) = (&target.krate, &target.odm, &target.this);
    let variant = quote!(<#this as #odm::several::VariantOf<#of>>);
    Some(quote! {
        const KIND: #odm::several::Kind = #odm::several::Kind::Variant;
        const OTHER_INDEXES: &'static [#odm::OtherIndexes] = &[#odm::OtherIndexes {
            variant: ::core::option::Option::None,
            indexes: <#of as #krate::Document>::META.indexes,
        }];
        const MAX_BSON_SIZE: ::core::option::Option<u64> = #odm::several::tagged(
            #odm::size::whole(<#this as #odm::Fielded>::FIELDS),
            #variant::TAG,
            #variant::NAME,
        );
    })
}
