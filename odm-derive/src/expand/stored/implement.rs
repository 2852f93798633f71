//! The implementations of the traits, around the bodies of their functions.

use super::field::{Code, Part};
use crate::ast::Field;
use proc_macro2::TokenStream;
use quote::quote;

pub fn write_fields(code: &Code, body: &TokenStream) -> TokenStream {
    let (stored, inline) = (&code.stored, code.inline());
    let method = quote! {
        #inline
        fn write_fields(&self, out: &mut #stored::Out) -> #stored::Done {
            #body
        }
    };
    code.implement(&quote!(Fields), method)
}

pub fn read_row(code: &Code, body: &TokenStream) -> TokenStream {
    let stored = &code.stored;
    let oracle = (!code.target.container.has_own_form).then(|| {
        quote! {
            const ORACLE: ::core::option::Option<#stored::Oracle<Self>> = #stored::ByType::<Self>::ORACLE;
        }
    });
    let inline = code.inline();
    let method = quote! {
        #oracle
        #inline
        fn read_row(fields: &mut #stored::Reader<'_>) -> #stored::Read<Self> {
            #body
        }
    };
    code.implement(&quote!(Row), method)
}

/// `impl Stored`, with what is read of a value that is missing, where that is no error.
pub fn value(
    code: &Code,
    write: &TokenStream,
    read: &TokenStream,
    missing: Option<TokenStream>,
) -> TokenStream {
    stored(code, code.inline(), write, read, missing)
}

fn stored(
    code: &Code,
    inline: Option<TokenStream>,
    write: &TokenStream,
    read: &TokenStream,
    missing: Option<TokenStream>,
) -> TokenStream {
    let stored = &code.stored;
    let missing = missing.map(|missing| {
        quote! {
            fn missing() -> #stored::Read<Self> {
                #missing
            }
        }
    });
    let methods = quote! {
        #inline
        fn write(
            &self,
            name: &#stored::Name<'_>,
            bound: #stored::Bound<'_>,
            out: &mut #stored::Out,
        ) -> #stored::Done {
            #write
        }
        #inline
        fn read(kind: u8, input: &mut #stored::Input<'_>) -> #stored::Read<Self> {
            #read
        }
        #missing
    };
    code.implement(&quote!(Stored), methods)
}

/// `impl Stored` of a type with fields.
pub fn embedded(code: &Code) -> TokenStream {
    let module = &code.stored;
    stored(
        code,
        Some(quote!(#[inline])),
        &quote!(#module::embedded(self, name, bound, out)),
        &quote!(#module::document(kind, input)),
        None,
    )
}

/// The fields of a tuple, whose names are their places in the array.
pub fn items<'f>(code: &mut Code, fields: &'f [Field<'f>]) -> Vec<Part<'f>> {
    let mut place = 0;
    let parts = fields.iter().map(|field| {
        let ty = field.ty;
        let constant = (!field.skipped()).then(|| {
            place += 1;
            code.constant(field, &quote!(#ty), &(place - 1).to_string())
        });
        Part { field, constant }
    });
    parts.collect()
}

/// The values of a tuple, of which `items` are read.
pub fn read_items(code: &mut Code, parts: &[Part]) -> TokenStream {
    let values = parts.iter().map(|Part { field, constant }| match constant {
        Some(constant) => quote!(items.by(#constant)?,),
        None => {
            let default = code.left_out(field);
            quote!(#default,)
        }
    });
    values.collect()
}
