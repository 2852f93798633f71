//! The constants of fields, and how one field is written and read.

use super::super::{Target, codec, fielded, generics, names};
use crate::ast::{Data, Field, Style, Variant};
use crate::attr::serde::Default_;
use crate::ty;
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Ident, Index, Member};

/// The generated code of one type. The constants of its fields are those of a struct with its parameters, which `code` names.
pub struct Code<'a> {
    pub target: &'a Target<'a>,
    /// The type that is written and read.
    this: TokenStream,
    /// The module with the traits.
    pub stored: TokenStream,
    generics: syn::Generics,
    /// The constants and the functions.
    items: Vec<TokenStream>,
    /// Types that write or read by functions of the application.
    by_functions: Vec<TokenStream>,
    /// Whether it is read at all.
    is_read: bool,
    /// Whether the defaults of the container are its own.
    has_defaults: bool,
    /// Whether few programs use the functions, so that they are compiled where they are.
    is_inline: bool,
    /// Whether each field is one of a patch.
    is_patch: bool,
    /// The document that it is a projection of.
    document: Option<&'a syn::Path>,
    /// Whether it is a result, of which nothing else says which types its fields have.
    is_row: bool,
}

impl<'a> Code<'a> {
    pub fn new(target: &'a Target<'a>, fields: &[&Field]) -> Code<'a> {
        let odm = &target.odm;
        Code {
            target,
            this: target.this.clone(),
            stored: quote!(#odm::stored),
            generics: generics::coded(target, fields),
            items: Vec::new(),
            by_functions: Vec::new(),
            is_read: true,
            has_defaults: true,
            is_patch: false,
            is_inline: false,
            is_row: false,
            document: None,
        }
    }

    /// The same for what is only written.
    pub fn written(target: &'a Target<'a>, fields: &[&Field]) -> Code<'a> {
        Code {
            is_read: false,
            ..Code::new(target, fields)
        }
    }

    /// The same for the struct of a new document, which has none of the container's defaults.
    pub fn new_document(target: &'a Target<'a>, this: TokenStream, fields: &[&Field]) -> Code<'a> {
        Code {
            this,
            has_defaults: false,
            is_inline: true,
            ..Code::new(target, fields)
        }
    }

    /// The same for a projection of a document.
    pub fn of_projection(target: &'a Target<'a>, of: &'a syn::Path) -> Code<'a> {
        Code {
            document: Some(of),
            ..Code::new(target, &target.fields)
        }
    }

    /// The same for a patch, whose fields may be absent.
    pub fn of_patch(target: &'a Target<'a>, this: TokenStream, fields: &[&Field]) -> Code<'a> {
        Code {
            is_patch: true,
            ..Code::new_document(target, this, fields)
        }
    }

    /// The same for results, where nothing else says which types there are.
    pub fn of_row(target: &'a Target<'a>) -> Code<'a> {
        Code {
            is_row: true,
            ..Code::new(target, &target.fields)
        }
    }

    /// The attribute of the functions.
    pub fn inline(&self) -> Option<TokenStream> {
        self.is_inline.then(|| quote!(#[inline]))
    }

    /// `impl … for …`, with `trait_` of the module.
    pub fn implement(&self, trait_: &TokenStream, methods: TokenStream) -> TokenStream {
        let (stored, this) = (&self.stored, &self.this);
        let (impl_generics, _, where_clause) = self.generics.split_for_impl();
        quote! {
            #[automatically_derived]
            #[allow(unused_variables)]
            impl #impl_generics #stored::#trait_ for #this #where_clause {
                #methods
            }
        }
    }

    /// All of it, with these implementations.
    pub fn finish(self, implementations: &TokenStream) -> TokenStream {
        let Code {
            target,
            this,
            stored,
            generics,
            items,
            by_functions,
            ..
        } = self;
        let declared = target.container.generics;
        let (params, conditions) = (&declared.params, &declared.where_clause);
        let params = (!params.is_empty()).then(|| quote!(<#params>));
        let (impl_generics, _, where_clause) = generics.split_for_impl();
        let (_, ty_generics, _) = declared.split_for_impl();
        let constants = (!items.is_empty()).then(|| {
            quote! {
                #[allow(dead_code)]
                struct __Code #params (::core::marker::PhantomData<fn() -> #this>) #conditions;
                #[allow(dead_code)]
                impl #impl_generics __Code #ty_generics #where_clause {
                    #(#items)*
                }
            }
        });
        quote! {
            const _: () = {
                #[allow(unused_imports)]
                use #stored::Otherwise as _;
                #(#by_functions)*
                #constants
                #implementations
            };
        }
    }

    /// The path of a constant or a function of the type.
    pub fn path(&self, name: &Ident) -> TokenStream {
        let (_, ty_generics, _) = self.target.container.generics.split_for_impl();
        let arguments = ty_generics.as_turbofish();
        quote!(__Code #arguments::#name)
    }

    /// Adds a function.
    pub fn add(&mut self, item: TokenStream) {
        self.items.push(item);
    }

    /// Declares the constant of a field that is stored under this name, and gives a reference to it.
    pub fn constant(&mut self, field: &Field, ty: &TokenStream, key: &str) -> TokenStream {
        let value = self.value(field, ty, key);
        let name = format_ident!("F{}", self.items.len());
        let stored = &self.stored;
        // As a reference: a block `const` at each use would be a body of its own for the compiler to check.
        self.items.push(quote! {
            #[allow(clippy::redundant_closure)]
            const #name: &'static #stored::Field<#ty> = &#value;
        });
        self.path(&name)
    }

    fn value(&mut self, field: &Field, ty: &TokenStream, key: &str) -> TokenStream {
        let key = format!("{key}\0");
        let functions = self.functions(field, ty);
        let (odm, stored) = (&self.target.odm, &self.stored);
        if self.is_patch {
            // Its values are checked by the update.
            let (aliases, absent) = (self.aliases(field), quote!(#odm::patch::Patch::Absent));
            let none = quote!(::core::option::Option::None);
            return quote! {
                #stored::Field::new(#key, #none, #functions)
                    .or(|| #absent)
                    .unless(#odm::patch::Patch::is_absent)
                    #aliases
            };
        }
        if let Some(of) = self.document {
            let name = format_ident!("N{}", self.items.len());
            let (rust, declared) = (&field.rust, quote!(<#of as #odm::Fielded>::FIELDS));
            let item = quote!(const #name: #stored::StoredName = #stored::StoredName::of(#declared, #rust););
            let (name, none) = (self.path(&name), quote!(::core::option::Option::None));
            let read = self.when_missing(field);
            let value = quote! {
                #stored::Field::new((&#name).with_zero(), #none, #functions)
                    .aliases(#stored::aliases(#declared, #rust))
                    #read
            };
            self.items.push(item);
            return value;
        }
        let derived = self.derived(field);
        let bound = match fielded::declared_bounds(self.target, field, true) {
            None if derived.is_none() => quote!(::core::option::Option::None),
            bounds => {
                let bounds = bounds.unwrap_or_else(|| quote!(#odm::Bounds::NONE));
                let limit = quote!(#stored::Limit::of(const { &#bounds }) #derived);
                quote!(::core::option::Option::Some(const { &#limit }))
            }
        };
        let left_out = field.serde.left_out_by.as_ref();
        let mut left_out = left_out
            .map(|path| quote_spanned!(path.span()=> .unless(|value| #path(value))))
            .filter(|_| field.serde.flatten.is_none());
        // Those of the document, and not of the struct of a new one.
        if field.is_deferred && self.has_defaults && self.is_read {
            left_out = Some(quote!(.or(#odm::Deferred::not_read).unless(#odm::Deferred::is_not_read)));
        }
        let read = self.is_read.then(|| self.when_missing(field));
        quote!(#stored::Field::new(#key, #bound, #functions) #read #left_out)
    }

    /// Of a reference and of a copy: the field, by which its strings are normalized.
    fn derived(&self, field: &Field) -> Option<TokenStream> {
        if field.reference.is_none() && field.copy.is_none() {
            return None;
        }
        let (odm, this) = (&self.target.odm, &self.target.this);
        let place = self
            .target
            .fields
            .iter()
            .position(|other| other.rust == field.rust);
        let meta = match place {
            Some(place) => quote!(<#this as #odm::Fielded>::FIELDS[#place]),
            // In a variant.
            None => fielded::meta(self.target, field, TokenStream::new()),
        };
        Some(quote!(.derived(|| const { &#meta })))
    }

    /// The value that is read where the field is not there.
    fn when_missing(&self, field: &Field) -> TokenStream {
        // A function that reads is not asked then.
        let needed = field.serde.deserialize_with.then(|| quote!(.needed()));
        let default = self.default(field).map(|value| quote!(.or(|| #value)));
        let aliases = self.aliases(field);
        quote!(#needed #default #aliases)
    }

    fn aliases(&self, field: &Field) -> Option<TokenStream> {
        let aliases = &field.serde.aliases;
        (!aliases.is_empty()).then(|| quote!(.aliases(&[#(#aliases),*])))
    }

    fn container_default(&self) -> Option<&Default_> {
        let default = self.target.container.serde.default.as_ref();
        default.filter(|_| self.has_defaults)
    }

    fn default(&self, field: &Field) -> Option<TokenStream> {
        let (this, ty, member) = (&self.target.this, field.ty, member(self.target, field));
        Some(match (&field.serde.default, self.container_default()) {
            (Some(Default_::Function(function)), _) => quote!(#function()),
            (Some(Default_::Trait), _) => {
                quote_spanned!(ty.span()=> <#ty as ::core::default::Default>::default())
            }
            (None, Some(Default_::Function(function))) => quote!({
                let whole: #this = #function();
                whole.#member
            }),
            (None, Some(Default_::Trait)) => {
                quote!(<#this as ::core::default::Default>::default().#member)
            }
            (None, None) => return None,
        })
    }

    fn functions(&mut self, field: &Field, ty: &TokenStream) -> TokenStream {
        let (odm, stored) = (self.target.odm.clone(), self.stored.clone());
        if !field.field.opaque && !field.is_foreign() {
            return if self.is_row {
                quote_spanned!(ty.span()=> #stored::functions::<#ty>())
            } else {
                quote!(#stored::ByType::<#ty>::FUNCTIONS)
            };
        }
        let writer = field.serde.serialize_with.as_ref();
        let held = if self.is_patch {
            field.ty.to_token_stream()
        } else {
            ty.clone()
        };
        let writer = writer.map(|function| self.writer(field, function, &held));
        let reader = field.serde.read_with.as_ref();
        let reader = reader.map(|function| self.reader(function, &held));
        if writer.is_none() && reader.is_none() && !self.is_patch {
            return quote!(#stored::ByType::<#ty>::SERDE);
        }
        let own = || quote!(#odm::OwnSerde);
        let (mut writer, mut reader) = (writer.unwrap_or_else(own), reader.unwrap_or_else(own));
        if self.is_patch {
            writer = quote!(#odm::patch::OfPatch<#writer>);
            reader = quote!(#odm::patch::OfPatch<#reader>);
        }
        quote!(#stored::BySerde::<#writer, #reader>::functions())
    }

    /// A type that writes as this function does: that of the field's path, if it has one.
    fn writer(&mut self, field: &Field, function: &syn::Path, ty: &TokenStream) -> TokenStream {
        if matches!(self.target.container.data, Data::Struct(Style::Named, _)) {
            return codec::own(self.target, field);
        }
        let odm = &self.target.odm;
        let call = quote_spanned!(function.span()=> #function(value, serializer));
        let method = quote! {
            fn serialize<__S: #odm::serde::Serializer>(
                value: &#ty,
                serializer: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                #call
            }
        };
        self.by_function(&quote!(#odm::stored::SerializeBy<#ty>), &method)
    }

    /// A type that reads as this function does.
    fn reader(&mut self, function: &syn::Path, ty: &TokenStream) -> TokenStream {
        let odm = &self.target.odm;
        let call = quote_spanned!(function.span()=> #function(deserializer));
        let method = quote! {
            fn deserialize<'de, __D: #odm::serde::Deserializer<'de>>(
                deserializer: __D,
            ) -> ::core::result::Result<#ty, __D::Error> {
                #call
            }
        };
        self.by_function(&quote!(#odm::stored::DeserializeBy<#ty>), &method)
    }

    /// A type with this method of a trait.
    fn by_function(&mut self, trait_: &TokenStream, method: &TokenStream) -> TokenStream {
        let name = format_ident!("__By{}", self.by_functions.len());
        let this = &self.target.this;
        let declared = self.target.container.generics;
        let (params, conditions) = (&declared.params, &declared.where_clause);
        let params = (!params.is_empty()).then(|| quote!(<#params>));
        let owned = generics::owned(declared);
        let (impl_generics, ty_generics, where_clause) = owned.split_for_impl();
        self.by_functions.push(quote! {
            struct #name #params (::core::marker::PhantomData<fn() -> #this>) #conditions;
            impl #impl_generics #trait_ for #name #ty_generics #where_clause {
                #method
            }
        });
        quote!(#name #ty_generics)
    }

    /// The functions of a type whose fields stand beside the others.
    fn flat(&self, ty: &TokenStream) -> TokenStream {
        let stored = &self.stored;
        if self.is_row {
            quote_spanned!(ty.span()=> #stored::flat::<#ty>())
        } else {
            quote!(#stored::ByType::<#ty>::FLAT)
        }
    }

    /// The type of a field whose own fields stand beside the others.
    fn beside(&self, field: &Field) -> TokenStream {
        if self.is_patch {
            return patch_of(self.target, field);
        }
        field.ty.to_token_stream()
    }

    /// The statement that writes a field among others; `value` is a reference to it.
    pub fn write(
        &mut self,
        field: &Field,
        value: &TokenStream,
        constant: Option<&TokenStream>,
    ) -> TokenStream {
        let (stored, ty) = (&self.stored, self.beside(field));
        if !self.is_patch && (field.serde.skip_serializing.is_some() || field.skipped()) {
            return TokenStream::new();
        }
        let Some(constant) = constant else {
            let functions = if field.field.extra {
                quote!(#stored::ByType::<#ty>::EXTRA)
            } else {
                self.flat(&ty)
            };
            let write = quote!((#functions.write)(#value, out)?;);
            return match &field.serde.left_out_by {
                None => write,
                Some(path) => quote!(if !#path(#value) { #write }),
            };
        };
        quote!(out.by(#value, #constant)?;)
    }

    /// The value of a field that is not in the database.
    pub fn left_out(&self, field: &Field) -> TokenStream {
        let ty = field.ty;
        let default = self.default(field);
        default.unwrap_or_else(|| quote_spanned!(ty.span()=> <#ty as ::core::default::Default>::default()))
    }

    /// The value of a field that is read among others.
    pub fn read(
        &mut self,
        field: &Field,
        names: &TokenStream,
        constant: Option<&TokenStream>,
    ) -> TokenStream {
        let (stored, ty) = (&self.stored, self.beside(field));
        if !self.is_patch && (field.skipped() || field.serde.skip_deserializing.is_some()) {
            return self.left_out(field);
        }
        match constant {
            Some(constant) => quote!(fields.by(#constant)?),
            None if field.field.extra => {
                quote!((#stored::ByType::<#ty>::EXTRA.read)(fields, const { &#names })?)
            }
            None => {
                let functions = self.flat(&ty);
                quote!(#functions.read(fields)?)
            }
        }
    }

    /// The names of fields and of what is flattened beside them.
    pub fn names(&self, fields: &[&Field]) -> TokenStream {
        names::of_fields(self.target, fields)
    }

    /// The expression that makes a value of named fields, as `Ok`, where `fields` are read; `more` are others.
    pub fn made(&mut self, head: &TokenStream, fields: &[Part], more: &TokenStream) -> TokenStream {
        let declared: Vec<&Field> = fields
            .iter()
            .map(|part| part.field)
            .filter(|field| !field.skipped())
            .collect();
        let names = self.names(&declared);
        let values = fields.iter().map(|part| {
            let name = part.field.ident();
            let value = self.read(part.field, &names, part.constant.as_ref());
            quote!(#name: #value,)
        });
        let made = quote!(#head { #(#values)* #more });
        if self.target.container.serde.deny_unknown_fields {
            quote! {{
                let made = #made;
                fields.finish(const { &#names })?;
                ::core::result::Result::Ok(made)
            }}
        } else {
            quote!(::core::result::Result::Ok(#made))
        }
    }

    /// Fields with their constants.
    pub fn parts<'f>(&mut self, fields: &'f [Field<'f>]) -> Vec<Part<'f>> {
        let part = |field: &'f Field<'f>| {
            let (odm, ty) = (&self.target.odm, field.ty);
            let held = if field.is_deferred {
                quote!(#odm::Deferred<#ty>)
            } else {
                quote!(#ty)
            };
            self.part(field, &held)
        };
        fields.iter().map(part).collect()
    }

    /// A field with its constant, where it has this type.
    pub fn part<'f>(&mut self, field: &'f Field<'f>, ty: &TokenStream) -> Part<'f> {
        let is_beside = field.serde.flatten.is_some() || field.field.extra;
        let constant = (!is_beside && !field.skipped()).then(|| self.constant(field, ty, &field.name));
        Part { field, constant }
    }
}

/// A field with its constant, if it has one.
pub struct Part<'f> {
    pub field: &'f Field<'f>,
    pub constant: Option<TokenStream>,
}

/// How a field of a struct is named in an expression.
pub fn member(target: &Target, field: &Field) -> Member {
    match field.ident() {
        Some(ident) => Member::Named(ident.clone()),
        None => {
            let place = target
                .container
                .fields()
                .iter()
                .position(|other| std::ptr::eq(other, field));
            Member::Unnamed(Index::from(place.unwrap_or_default()))
        }
    }
}

/// The names of a variant: its own and others that are read.
pub fn names_of(variant: &Variant) -> TokenStream {
    let (name, aliases) = (&variant.name, &variant.serde.aliases);
    quote!(#name #(| #aliases)*)
}

/// The patch of the struct that a field holds, alone or in an `Option`.
pub fn patch_of(target: &Target, field: &Field) -> TokenStream {
    let odm = &target.odm;
    let ty = ty::option(field.ty).unwrap_or(field.ty);
    quote_spanned!(ty.span()=> <#ty as #odm::patch::NamedPatched>::Patch)
}
