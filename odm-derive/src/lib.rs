//! Derives of the `odm` crate.
use proc_macro::TokenStream;

#[proc_macro_derive(Document, attributes(document, field, embed, index))]
pub fn document(_input: TokenStream) -> TokenStream {
    TokenStream::new()
}
#[proc_macro_derive(Embed, attributes(field, embed, index))]
pub fn embed(_input: TokenStream) -> TokenStream {
    TokenStream::new()
}
#[proc_macro_derive(Projection, attributes(projection))]
pub fn projection(_input: TokenStream) -> TokenStream {
    TokenStream::new()
}
